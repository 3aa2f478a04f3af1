"""The receipt of a turn: what it has really changed."""

from __future__ import annotations

import difflib

from openclaw.frozen import frozen
from openclaw.types import Change

TODO_FILE = "memory/TODO.md"
INBOX = "memory/inbox/"  # entries there wait for the user's yes and are no memory yet


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


def changed_lines(change: Change) -> tuple[list[str], list[str]]:
    """Return the lines that a change added, and those that it removed."""
    before, after = (change.before or "").splitlines(), (change.after or "").splitlines()
    diff = list(difflib.unified_diff(before, after, lineterm="", n=0))[2:]
    return [d[1:] for d in diff if d[:1] == "+"], [d[1:] for d in diff if d[:1] == "-"]


def file_change(change: Change) -> FileChange:
    """Return a change of a file with its line counts."""
    added, removed = changed_lines(change)
    action = (
        "created" if change.before is None else "deleted" if change.after is None else "changed"
    )
    return FileChange(change.path, action, len(added), len(removed))
