"""The receipt of a turn: what it has really changed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from openclaw.frozen import frozen
from openclaw.types import Change

TODO_FILE = "memory/TODO.md"
INBOX = "memory/inbox/"
"""Entries there wait for the user's yes and are no memory yet."""


class TodoLike(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def list(self) -> str: ...
    @property
    def done(self) -> bool: ...


@frozen
class FileChange:
    """A changed file: lines added and removed; `action` is created, changed or deleted."""

    path: str
    action: str
    added: int
    removed: int


@frozen
class Receipt:
    """The changes of a turn.

    files: changed files with line counts
    todos: pairs of added, done, undone or removed, and the to-do's text
    memories: texts of new memories
    sent: tools that did something elsewhere
    """

    files: tuple[FileChange, ...] = ()
    todos: tuple[tuple[str, str], ...] = ()
    memories: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    sent: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Return True when something was changed, here or elsewhere; a search changes nothing."""
        return bool(self.files or self.sent)


NO_CHANGES = Receipt()


def make_receipt(
    changes: Iterable[Change],
    read_todos: Callable[[str], Sequence[TodoLike]],
    searches: Sequence[str] = (),
    sent: Sequence[str] = (),
) -> Receipt:
    """Make the receipt of a turn that changed these files. `read_todos` parses a to-do file."""
    real = [change for change in changes if change.before != change.after]
    todos: list[tuple[str, str]] = []
    memories: list[str] = []
    for change in real:
        if change.path == TODO_FILE:
            todos += _todo_changes(read_todos(change.before or ""), read_todos(change.after or ""))
        elif change.path.startswith("memory/") and not change.path.startswith(INBOX):
            memories += [m for line in _lines(change)[0] if (m := _item(line))]
    return Receipt(
        tuple(file_change(change) for change in real),
        tuple(todos),
        tuple(memories),
        tuple(searches),
        tuple(dict.fromkeys(sent)),
    )


def _lines(change: Change) -> tuple[list[str], list[str]]:
    before, after = (change.before or "").splitlines(), (change.after or "").splitlines()
    diff = list(difflib.unified_diff(before, after, lineterm="", n=0))[2:]
    return [d[1:] for d in diff if d[:1] == "+"], [d[1:] for d in diff if d[:1] == "-"]


def file_change(change: Change) -> FileChange:
    """Return a change of a file with its line counts."""
    added, removed = _lines(change)
    action = (
        "created" if change.before is None else "deleted" if change.after is None else "changed"
    )
    return FileChange(change.path, action, len(added), len(removed))


def _item(line: str) -> str:
    found = re.match(r"\s*[-*+] (.+)", line)
    text = re.sub(r"[ \t]*<!--.*?-->", "", found.group(1)).strip() if found else ""
    return "" if text.startswith("~~") else text  # a superseded item is no new memory


def _todo_changes(before: Sequence[TodoLike], after: Sequence[TodoLike]) -> list[tuple[str, str]]:
    # A line may get its id only now, so a to-do without a partner by id is matched by its text.
    old = {todo.id or todo.text: todo for todo in before}
    kept = {todo.id for todo in after}
    texts = {todo.text: todo for todo in before if not todo.id or todo.id not in kept}
    found, seen = [], set()
    for todo in after:
        was = old.get(todo.id) or texts.get(todo.text)
        if was is None:
            found.append(("added", todo.text))
            continue
        seen.add(was.id or was.text)
        if was.done != todo.done:
            found.append(("done" if todo.done else "undone", todo.text))
    return found + [("removed", t.text) for key, t in old.items() if key not in seen]
