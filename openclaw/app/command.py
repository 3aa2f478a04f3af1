"""Records what a command changes as a turn of the history, one without a conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from openclaw.config import load_settings
from openclaw.errors import OpenclawError
from openclaw.files.beneath import remove
from openclaw.files.home import Home
from openclaw.files.lock import locked
from openclaw.history.history import History
from openclaw.history.journal import Journal, new_id, now, subject_of
from openclaw.history.turn import State, Turn
from openclaw.safety.vault import Vault
from openclaw.shapes import Held


class Command:
    """A command that runs. `keep` and `altered` are for what writes files (see `shapes`); the
    record begins with the first of them, so that a command that changes nothing leaves none.

    `turn` is its id in the history once it is over, "" when nothing was changed, and `notices` what
    the user should know then.
    """

    def __init__(self, home: Home, words: str) -> None:
        self._home, self._words = home, words
        self._journal: Journal | None = None
        self._lock = ExitStack()
        self.turn = ""
        self.notices: list[str] = []

    def keep(self, path: Path, before: bytes | None, after: bytes | None) -> Callable[[], None]:
        """See `shapes.Keep`."""
        return self._begun().writes(path, before, after, at_once=False)

    def altered(
        self, names: Iterable[str], before: Callable[[str], Held], after: Callable[[str], Held]
    ) -> Callable[[str], None]:
        """See `shapes.Altered`."""
        return self._begun().changed(names, before, after)

    def _begun(self) -> Journal:
        if self._journal is None:
            words = Vault(self._home.private / "secrets.json").veiled(self._words)
            turn = Turn(new_id(), at=now(), subject=subject_of(words))
            path = self._home.private / "locks" / f"{turn.lock}.lock"
            with ExitStack() as lock:
                # Others take the record of a turn that nobody holds for one that was killed.
                lock.callback(_forget, path)
                lock.enter_context(locked(path, what="the command"))
                self._journal = Journal.begin(self._home, turn, History(self._home).head())
                self._lock = lock.pop_all()
        return self._journal

    def close(self, state: State) -> None:
        """The command is over: commit what it did. What it did was done, so that nothing is raised
        when that fails: the record is kept, and committed at the next occasion."""
        if self._journal is None:
            return
        try:
            with self._lock:
                self._journal.finish(state)
            record = self._journal.record
            self.turn = record.turn.id if record.finished else ""
            auto_commit = load_settings(self._home).git.auto_commit
        except OpenclawError as error:
            self.notices.append(f"not committed yet: {error}")
        else:
            notice = History(self._home, auto_commit=auto_commit).publish()
            self.notices += [notice] if notice else []


@contextmanager
def command(home: Home, words: str) -> Iterator[Command]:
    """What is changed in here is one turn of the history, which `words` stand for. When it raises,
    what it had done by then is kept as a turn that was broken off."""
    made = Command(home, words)
    state: State = "interrupted"
    try:
        yield made
        state = "done"
    finally:
        made.close(state)


def _forget(path: Path) -> None:
    """Remove the file of a lock that nobody will ask for again."""
    with suppress(OSError):
        remove(path)
