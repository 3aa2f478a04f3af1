"""The history of a home: what its turns changed, in git's log or in .openclaw/history."""

from __future__ import annotations

import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from heapq import merge
from itertools import chain
from pathlib import Path

from openclaw.config import load_settings
from openclaw.errors import OpenclawError, UsageError
from openclaw.history import git_log
from openclaw.history.git_commits import Commits
from openclaw.history.record import (
    READY,
    RUNNING,
    Journal,
    Record,
    content,
    folders,
    foreign,
    new_turn,
    place_of,
    records,
)
from openclaw.history.turns import GIT, UNKNOWN, Scope, State, Turn
from openclaw.security.masking import Masker, tell_masked
from openclaw.storage import git
from openclaw.storage.git import note_git_locks, remove_stale_locks
from openclaw.storage.home import Home
from openclaw.storage.lock import hold_lock
from openclaw.storage.safe_open import check_no_links, make_folder, read_bytes, remove
from openclaw.storage.text import write_text
from openclaw.types import FileContent, to_timestamp

MAX_KEPT = 500  # records that are kept where no git holds them
LOCK_SECONDS = 5.0
FOREIGN = "foreign"  # the folder of records that were not written here
COMMITTING = "committing"  # the note that git is being asked to commit
ELSEWHERE = "elsewhere"  # the list of the turns of other devices
NEVER = "-"
"""In place of the commit of a record that becomes none: there are no commits, or git is told to
ignore all its files."""
SHORTEST = 4
MANY = 20  # contents for which git is asked once; fewer are not worth a way of their own


class History:
    """The turns of one home. They become commits with `auto_commit`, in its own repository."""

    def __init__(self, home: Home, *, auto_commit: bool = True) -> None:
        self.home = home
        self.root = home.real_root
        self.place = place_of(home)
        self._note = self.place.parent / COMMITTING
        self._auto_commit = auto_commit

    @cached_property
    def in_git(self) -> bool:
        """True when turns become commits."""
        return self._auto_commit and git.is_own(self.root)

    def head(self) -> str:
        """The commit that HEAD is at, "" without a repository or a commit. The files are looked at
        (`in_git`) when a commit is to be made, which nobody waits for."""
        is_top = self._auto_commit and git.folder_of(self.root)
        return git.Git(self.root).head() if is_top else ""

    # -------- reading

    def turns(self) -> Iterator[Turn]:
        """All turns, the newest first, with what of each was taken back."""
        undone: dict[str, set[Scope]] = defaultdict(set)
        redone: set[str] = set()
        for turn in self._all():
            if turn.kind == "redo" and turn.id not in redone:
                redone.update(turn.of)
            if turn.kind == "undo" and turn.id not in redone:
                for each in turn.of:
                    undone[each].add(turn.scope)
                yield turn
            elif turn.kind == "undo":
                yield replace(turn, undone="all")
            else:
                scopes = undone[turn.id] if turn.kind == "turn" else set()
                both: Scope | None = "all" if scopes else None
                yield replace(turn, undone=next(iter(scopes)) if len(scopes) == 1 else both)

    def turns_of(self, session: str = "", file: str = "") -> Iterator[Turn]:
        """Yield the turns of a conversation, of a file of the home, or all."""
        path = self.home.relative(self.home.root / file) if file else ""
        for turn in self.turns():
            if session in ("", turn.session) and (
                not path or any(step.path == path for step in turn.steps)
            ):
                yield turn

    def _all(self) -> Iterator[Turn]:
        """Records that wait to be committed, then what is in git or never will be."""
        found = records(self.place)
        fresh = [record for record in found if not record.commit]
        fresh.sort(key=lambda record: record.finished or float("inf"), reverse=True)
        yield from (record.turn for record in fresh)
        kept_here = [record.turn for record in reversed(found) if record.commit == NEVER]
        left = {record.turn.id: record for record in found if record.commit}
        yield from merge(
            kept_here, self._in_git(left), key=lambda turn: to_timestamp(turn.at), reverse=True
        )

    def _in_git(self, left: dict[str, Record]) -> Iterator[Turn]:
        """The turns that git has, each with its files that git does not hold."""
        seen: set[tuple[str, str]] = set()
        for turn in git_log.turns(self.root) if git.is_own(self.root) else ():
            if (turn.id, turn.kind) in seen:  # picked onto this branch from another
                continue
            seen.add((turn.id, turn.kind))
            record = left.get(turn.id) if turn.kind != "outside" else None
            if record:
                here = [step for step in turn.steps if step.path not in record.left]
                more = [step for step in record.turn.steps if step.path in record.left]
                turn = replace(turn, steps=(*here, *more))
            yield turn

    def find(self, ref: str = "") -> Turn:
        """The turn that `ref` names: its id or a unique beginning of that, its commit or the
        beginning of that, SESSION:N; "" the newest. UsageError when there is none."""
        ref = ref.strip()
        near: list[Turn] = []
        session, _, number = ref.rpartition(":")
        for turn in self.turns():
            if not ref and turn.kind != "outside":
                return turn
            if turn.kind == "outside" and not (ref and turn.commit.startswith(ref)):
                continue
            if ref == turn.id or (session, number) == (turn.session or None, str(turn.number)):
                return turn
            beginning = ref and (turn.id.startswith(ref) or turn.commit.startswith(ref))
            near += [turn] if beginning and len(ref) >= SHORTEST else []
        if len({turn.id for turn in near}) == 1:
            return near[0]
        if near:
            names = ", ".join(turn.id for turn in near[:5])
            raise UsageError(f"'{ref}' could be {len(near)} turns: {names}", "write more of it")
        raise UsageError(
            f"there is no turn '{ref}' in the history" if ref else "there is no turn yet",
            "see all: openclaw log" if ref else 'begin: openclaw "PROMPT"',
        )

    def read(self, name: str | None) -> bytes | None:
        """The content that a step names; None for none, and for one that was not kept."""
        if name is None or name == UNKNOWN:
            return None
        if name.startswith(GIT):
            return git_log.blob_content(self.root, name)
        return content(self.place, name)

    def reader(self, turns: Iterable[Turn]) -> Callable[[str | None], bytes | None]:
        """`read` for what these turns name, of which git is asked once for all."""
        names = {
            name for turn in turns for step in turn.steps for name in (step.before, step.after)
        }
        held = [name for name in names if name and name.startswith(GIT)]
        if len(held) < MANY:
            return self.read

        known = dict(git_log.contents(self.root, held))
        return lambda name: known[name] if name in known else self.read(name)

    def versions(self, path: str) -> Iterator[tuple[Turn | None, bytes | None]]:
        """What a file held, newest first, with the turn that made it so; the user's own commits
        have the kind "outside" and no id. The last is what was there before the first turn."""
        last: str | None = None
        found = records(self.place)
        fresh = [record.turn for record in found if not record.commit or path in record.left]
        is_own = git.is_own(self.root)
        committed = git_log.turns(self.root, path=path, ours=False) if is_own else ()
        for turn in chain(reversed(fresh), committed):
            for step in reversed([step for step in turn.steps if step.path == path]):
                yield turn, self.read(step.after)
                last = step.before
        if last is not None:
            yield None, self.read(last)

    # -------- committing

    def publish(self) -> str:
        """Commit all finished records, where turns become commits. Returns why some have to wait
        for the user, "" when none has; they are committed at the next occasion."""
        if not self.in_git:
            # A finished record stays where it is, for good: the user may begin to make commits
            # later, and what he has done until then is not to be done again.
            for record in records(self.place, READY):
                record.committed(NEVER, [step.path for step in record.turn.steps])
            self._prune()
            return ""
        if not self.has_waiting():
            return ""
        try:
            load_settings(self.home)  # such as cannot be read may say that nothing is committed
            with self._locked():
                waiting = self._commit_all()
        except OpenclawError as error:
            waiting = str(error)
        if waiting:
            return f"not committed yet: {waiting}; it is kept and committed later"
        git.pack_objects(self.root)
        return ""

    def commit_edits(self) -> list[str]:
        """Commit what the user has changed in the home, but for what running turns write; returns
        the paths. Finished turns are committed before. OpenclawError when it cannot be done now."""
        if notice := self.publish():
            raise OpenclawError(notice, f"see: git -C {self.root} status")
        with self._locked():
            if reason := git.busy(self.root):
                raise OpenclawError(reason, f"finish it: git -C {self.root} status")
            remove_stale_locks(self.root, self._note)
            running = self.unfinished()
            written = {step.path for record in running for step in record.turn.steps}
            skip = frozenset(written.union(*(record.talk for record in running)))
            with note_git_locks(self.root, self._note):
                return Commits(self.root, self.place).commit_edits(skip)

    def _locked(self) -> AbstractContextManager[None]:
        path = self.home.private / "locks" / "history.lock"
        return hold_lock(path, LOCK_SECONDS, what="the history")

    # -------- turns of other devices

    def elsewhere(self) -> frozenset[str]:
        """The ids of turns that came in from other devices: undo leaves these alone."""
        try:
            return frozenset(read_bytes(self.place.parent / ELSEWHERE).decode("ascii").split())
        except (OSError, ValueError):
            return frozenset()

    def note_elsewhere(self, turns: Iterable[Turn]) -> None:
        """Keep the ids of turns that are about to come in."""
        known = self.elsewhere()
        if new := {turn.id for turn in turns if turn.id} - known:
            make_folder(self.place.parent, 0o700)
            write_text(self.place.parent / ELSEWHERE, "\n".join(sorted(known | new)) + "\n")

    @property
    def waiting(self) -> str:
        """Why finished turns cannot be committed now, "" when they can or need not be."""
        return git.busy(self.root) if self.has_waiting() else ""

    def _commit_all(self) -> str:
        remove_stale_locks(self.root, self._note)
        ready = sorted(records(self.place, READY), key=lambda record: record.finished)
        found = [*ready, *records(self.place, RUNNING)]
        for record in ready:
            if reason := git.busy(self.root):
                return reason
            others = [other for other in found if other is not record]
            paths = frozenset(step.path for other in others for step in other.turn.steps)
            self._commit(record, paths)
            found.remove(record)
        return ""

    def _commit(self, record: Record, others: frozenset[str]) -> None:
        commits = Commits(self.root, self.place, others)
        with note_git_locks(self.root, self._note):
            try:
                commit, left = commits.commit(record)
            except git.GitDied:
                raise
            except git.GitError:  # the user may have committed at this very moment: look once more
                commit, left = commits.commit(record)
        if left:
            record.committed(commit or NEVER, sorted(left))
            self._prune()
        else:
            record.drop()

    def _prune(self) -> None:
        """Remove the oldest records that nothing waits for, where there are too many."""
        with suppress(OSError):
            folders = sorted(path for path in self.place.iterdir() if path.is_dir())
            for folder in folders[: max(0, len(folders) - MAX_KEPT)]:
                if not any((folder / mark).exists() for mark in (RUNNING, READY)):
                    shutil.rmtree(check_no_links(folder), ignore_errors=True)

    def has_waiting(self) -> bool:
        """Return True when finished records are not committed yet."""
        return bool(self.in_git and records(self.place, READY))

    def has_work(self) -> bool:
        """Return True when a turn waits to be committed, was left by a kill, or still runs."""
        return bool(folders(self.place, RUNNING, READY))

    # -------- what a kill has left

    def unfinished(self) -> list[Record]:
        """Records of turns that are not finished: they run, or were killed."""
        return records(self.place, RUNNING)

    # -------- what others have written

    def foreign(self) -> int:
        """The number of records that this user has not written here: none of them counts."""
        return len(foreign(self.place))

    def set_foreign_aside(self) -> str:
        """Move records that were not written here, and that something is to be done with, out of
        the way. Returns a line for the user, "" when there is none."""
        aside = self.place.parent / FOREIGN
        moved = 0
        for folder in foreign(self.place, RUNNING, READY):
            with suppress(OSError):
                make_folder(aside, 0o700)
                check_no_links(folder).rename(
                    check_no_links(aside) / f"{folder.name}-{time.time_ns()}"
                )
                moved += 1
        if not moved:
            return ""
        where = self.home.relative(aside)
        return f"records of turns that were not written on this machine: {moved}, now in {where}"


class Command:
    """A command that runs. `keep` and `altered` are for what writes files; the record begins with
    the first of them, so that a command that changes nothing leaves none.

    `turn` is its id in the history once it is over, "" when nothing was changed, and `notices` what
    the user should know then. `in_memory`: it has written a file directly in memory/.
    """

    def __init__(self, home: Home, words: str) -> None:
        self._home, self._words = home, words
        self._masker = Masker(home.private / "secrets.json")
        self._journal: Journal | None = None
        self._lock = ExitStack()
        self.turn = ""
        self.in_memory = False
        self.notices: list[str] = []

    def keep(self, path: Path, before: bytes | None, after: bytes | None) -> Callable[[], None]:
        """See `BeforeWrite`."""
        self.in_memory |= path.parent == self._home.memory
        return self._begun().writes(path, before, after, at_once=False)

    def mask(self, text: str) -> str:
        """Return the words of the user with names in place of secrets; notices tell of new ones."""
        masked = self._masker.mask(text)
        if notice := tell_masked(text, masked):
            self.notices.append(notice)
        return masked

    def altered(
        self,
        names: Iterable[str],
        before: Callable[[str], FileContent],
        after: Callable[[str], FileContent],
    ) -> Callable[[str], None]:
        """See `BeforeCommand`."""
        return self._begun().changed(names, before, after)

    def _begun(self) -> Journal:
        if self._journal is None:
            words = self._masker.mask_for_display(self._words)
            turn = new_turn(words)
            path = self._home.private / "locks" / f"{turn.lock}.lock"
            with ExitStack() as lock:
                # Others take the record of a turn that nobody holds for one that was killed.
                lock.callback(_forget, path)
                lock.enter_context(hold_lock(path, what="the command"))
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


def _forget(path: Path) -> None:
    """Remove the file of a lock that nobody will ask for again."""
    with suppress(OSError):
        remove(path)


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
