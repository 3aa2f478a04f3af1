"""To-dos in a Markdown file: task lists under one heading per list.

A line is `- [ ] text ^1a2b3c4d`; an id that is missing is written with the next change. Every byte
that is not a task line stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path

from openclaw.files.lock import locked
from openclaw.memory.rewrite import rewrite, text_of
from openclaw.memory.similar import same
from openclaw.memory.taskedit import (
    added,
    clean,
    list_names,
    marked,
    removed,
    same_list,
    with_due,
    without_list,
)
from openclaw.memory.tasklist import Item, due_of, scan
from openclaw.shapes import Keep, keep_nothing

LOCK_SECONDS = 10.0

_BOX = re.compile(r"^(?:[-*]\s+)?\[[ xX]\]\s*")


@dataclass(frozen=True, slots=True)
class Todo:
    """One to-do. `due` is an ISO date or None; `line` counts from 1. `text` is as it is written,
    with `due:...` and without the id."""

    id: str
    list: str
    text: str
    done: bool
    due: str | None
    line: int


def is_overdue(todo: Todo, today: date) -> bool:
    """Whether it is open and its day is over."""
    return not todo.done and todo.due is not None and todo.due < today.isoformat()


def parse(text: str) -> list[Todo]:
    """The to-dos of a Markdown text, in its order."""
    return [_todo(item) for item in scan(text).items]


def matching(text: str, items: Sequence[Todo]) -> list[Todo]:
    """The to-dos that a few words mean: that id, else that text, else all words in the text.

    A misspelt text means none: `call Mario` must not tick off `call Maria`."""
    wanted = " ".join(text.split())
    ident = wanted.rpartition("^")[2].strip("() ").casefold()
    by_id = [todo for todo in items if todo.id.casefold() == ident]
    if by_id:
        return by_id[:1]
    folded = _plain(_BOX.sub("", wanted).partition(" ^")[0])
    exact = [todo for todo in items if _plain(todo.text) == folded]
    words = set(re.findall(r"\w+", folded))
    return exact or [
        todo for todo in items if words and words <= set(re.findall(r"\w+", todo.text.casefold()))
    ]


@lru_cache(maxsize=2)  # a turn asks some thirty times
def _parsed(text: str) -> tuple[Todo, ...]:
    return tuple(parse(text))


@lru_cache(maxsize=2)
def _lists(text: str) -> tuple[str, ...]:
    return tuple(list_names(scan(text)))


class TodoFile:
    """The to-do file of a home. A missing file is an empty one; the first to-do makes it. `keep` is
    told of each change before it is made.

    Changes are made under a lock; OpenclawError when it stays held or the file cannot be written.
    """

    def __init__(
        self,
        path: Path,
        lock: Path | None = None,
        today: Callable[[], date] = date.today,
        keep: Keep = keep_nothing,
    ) -> None:
        self.path = path
        self._today = today
        self.lock_seconds = LOCK_SECONDS
        self.keep = keep
        self._lock = lock or path.parent.parent / ".openclaw" / "locks" / "todo.lock"

    def items(self) -> list[Todo]:
        return list(_parsed(self._text()))

    def lists(self) -> list[str]:
        return list(_lists(self._text()))

    def find(self, text: str) -> list[Todo]:
        """The to-dos that an id, a text or some of its words mean; see `matching`."""
        return matching(text, self.items())

    def add(self, list_name: str, texts: Sequence[str]) -> list[Todo]:
        """Add to-dos to a list ("" is the default one); returns them as they now stand.

        `due:tomorrow` or `due:next friday` in a text becomes an ISO date. Raises ToolProblem for a
        `due:` that is no date and for a text that is empty or too long.
        """
        ids: list[str] = []
        dated = [self._dated(text) for text in texts]

        def change(text: str) -> str:
            new, ids[:] = added(text, list_name, dated)
            return new

        new = self._change(change)
        return [todo for todo in parse(new) if todo.id in ids]

    def similar(self, list_name: str, text: str) -> Todo | None:
        """The open to-do of a list that says the same as a text."""
        wanted = clean(self._dated(text))
        for todo in self.items():
            if not todo.done and same_list(todo.list, list_name) and same(todo.text, wanted):
                return todo
        return None

    def set_done(self, ident: str, done: bool) -> None:
        self._change(lambda text: marked(text, ident, done))

    def set_due(self, ident: str, due: str) -> Todo:
        """Give a to-do a date (ISO), instead of one it has; returns it as it now stands. Raises
        ToolProblem for an unknown id."""
        new = self._change(lambda text: with_due(text, ident, due))
        return next(todo for todo in parse(new) if todo.id.casefold() == ident.casefold())

    def remove(self, ident: str) -> None:
        self._change(lambda text: removed(text, ident))

    def remove_list(self, name: str) -> list[Todo]:
        """Remove a list; returns what was on it."""
        gone: list[Todo] = []

        def change(text: str) -> str:
            new, items = without_list(text, name)
            gone[:] = map(_todo, items)
            return new

        self._change(change)
        return gone

    def _dated(self, text: str) -> str:
        # Reading dates needs a library that is loaded only when there is one to read.
        if "due:" not in text or due_of(text):
            return text
        from openclaw.memory.dates import with_iso_due

        return with_iso_due(text, self._today())

    def _text(self) -> str:
        return text_of(self.path)

    def _change(self, change: Callable[[str], str]) -> str:
        with locked(self._lock, self.lock_seconds):
            return rewrite(self.path, change, self.keep)


def _todo(item: Item) -> Todo:
    return Todo(item.id, item.list, item.text, item.done, due_of(item.text), item.at + 1)


def _plain(text: str) -> str:
    return text.casefold().strip(" .")
