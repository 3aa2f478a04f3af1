"""Records what a turn changes: in the history, with a commit at its end, and in its receipt."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from openclaw import events
from openclaw.history.record import Journal, new_turn
from openclaw.history.turns import State
from openclaw.home.open_home import OpenHome
from openclaw.memory.todos import parse_todos
from openclaw.receipt import INBOX, TODO_FILE, Receipt, changed_lines, file_change
from openclaw.security.display import some_of
from openclaw.security.masking import map_texts
from openclaw.sessions.session import Session
from openclaw.storage.home import Home
from openclaw.storage.safe_open import decode
from openclaw.tools.paths import current_text
from openclaw.types import Change, TurnChanges

NOT_SAVED = "(a prompt that was not saved)"
"""The subject of a turn that changed files while conversations are not saved."""
MAX_SHOWN = 200_000  # bytes of a file before and after a change; a change of more is not shown


class Recording:
    def __init__(self, open_home: OpenHome, session: Session, journal: Journal) -> None:
        self._open_home, self._session, self.journal = open_home, session, journal
        self._began_as = session.id
        self._open = True

    def hear(self, event: object) -> None:
        """Note each call before it is made; no calls when conversations are not saved."""
        if not self._open_home.saving:
            return
        mask = self._open_home.masker.mask
        if isinstance(event, events.ToolStart):
            self.journal.call(event.id, event.tool, map_texts(event.input, mask))
        elif isinstance(event, events.ToolEnd):
            self.journal.ended(event.id, mask(event.output), event.ok)

    def close(self, state: State) -> list[str]:
        """Commit the turn at its end; return notices for the user."""
        if not self._open:
            return []
        self._open = False
        if self._session.id != self._began_as:  # another program has taken the file
            self.journal.forget_talk()
        self.journal.finish(state, self._open_home.sessions.files_of(self._session.id))
        notices = [self._open_home.history.publish()]
        if names := self.journal.unknown:
            notices.insert(0, f"not kept as before, so undo leaves it alone: {some_of(names)}")
        return list(filter(None, notices))


@contextmanager
def record_turn(
    open_home: OpenHome,
    session: Session,
    turn_changes: TurnChanges,
    request: str,
    number: int = 0,
    commit: str = "",
) -> Iterator[Recording]:
    """Record the work inside as one turn of `session`, whose lock the caller holds; `commit` is the
    home's newest commit, if known. A recording that is not closed at the end was interrupted."""
    turn = new_turn(
        request if open_home.saving else NOT_SAVED,
        session=session.id,
        number=number,
        model=session.model,
    )
    talk = open_home.sessions.files_of(session.id)
    journal = Journal.begin(open_home.home, turn, commit or open_home.history.head(), talk)
    turn_changes.keeper, turn_changes.altered = journal.writes, journal.changed
    if open_home.on_change is not None:
        journal.show = partial(_show_change, open_home, open_home.on_change)
    recording = Recording(open_home, session, journal)
    try:
        yield recording
    finally:
        recording.close("interrupted")


def _show_change(
    open_home: OpenHome,
    show: Callable[[Change], None],
    name: str,
    before: bytes | None,
    after: bytes | None,
) -> None:
    """Call `show` with the change of a file, in text without secrets."""
    whole = (before or b"") + (after or b"")
    if len(whole) > MAX_SHOWN or b"\0" in whole:
        return
    mask = open_home.masker.mask_for_display
    was, new = (data if data is None else mask(decode(data)) for data in (before, after))
    if was != new:
        show(Change(name, was, new))


# -------- what it has changed


def list_changes(home: Home, turn_changes: TurnChanges) -> list[Change]:
    """Return the files that the tools of a turn wrote, with their content before and now."""
    return [Change(p, before, current_text(home, p)) for p, before in turn_changes.before.items()]


def receipt_of(home: Home, turn_changes: TurnChanges) -> Receipt:
    """Return what a turn has changed until now."""
    changes = list_changes(home, turn_changes)
    return make_receipt(changes, turn_changes.searches, turn_changes.sent)


def make_receipt(
    changes: Iterable[Change], searches: Sequence[str] = (), sent: Sequence[str] = ()
) -> Receipt:
    """Make the receipt of a turn that changed these files."""
    real = [change for change in changes if change.before != change.after]
    todos: list[tuple[str, str]] = []
    memories: list[str] = []
    for change in real:
        if change.path == TODO_FILE:
            todos += _todo_changes(change)
        elif change.path.startswith("memory/") and not change.path.startswith(INBOX):
            memories += [m for line in changed_lines(change)[0] if (m := _item(line))]
    return Receipt(
        tuple(file_change(change) for change in real),
        tuple(todos),
        tuple(memories),
        tuple(searches),
        tuple(dict.fromkeys(sent)),
    )


def _item(line: str) -> str:
    found = re.match(r"\s*[-*+] (.+)", line)
    text = re.sub(r"[ \t]*<!--.*?-->", "", found.group(1)).strip() if found else ""
    return "" if text.startswith("~~") else text  # a superseded item is no new memory


def _todo_changes(change: Change) -> list[tuple[str, str]]:
    before, after = (parse_todos(text or "") for text in (change.before, change.after))
    # A to-do without an id in its line gets another one with its words, and is matched by these.
    old, kept = {todo.id: todo for todo in before}, {todo.id for todo in after}
    texts = {todo.text: todo for todo in before if todo.id not in kept}
    found, seen = [], set()
    for todo in after:
        was = old.get(todo.id) or texts.get(todo.text)
        if was is None:
            found.append(("added", todo.text))
            continue
        seen.add(was.id)
        if was.done != todo.done:
            found.append(("done" if todo.done else "undone", todo.text))
    return found + [("removed", todo.text) for todo in before if todo.id not in seen]
