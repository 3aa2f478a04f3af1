"""Findings of the checks of the memory: each has a line, and perhaps the edit that mends it."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

from openclaw.frozen import frozen
from openclaw.memory.entries import MemoryEntry, entries_of
from openclaw.memory.markdown import Page, line_ending, read_page
from openclaw.memory.notes import DAILY
from openclaw.security.secrets import without_secrets
from openclaw.storage.text import join_surrogates

FindingLevel = Literal["error", "warning", "advice"]
DocumentKind = Literal["lasting", "daily", "inbox", "todo"]

LEVELS: Mapping[str, FindingLevel] = {
    "secret": "error",
    "hidden": "error",
    "order": "error",
    "duplicate": "warning",
    "contradiction": "warning",
    "relative-date": "warning",
    "too-long": "warning",
    "dead-link": "warning",
}
"""The level of each check by its name. Errors and warnings are faults."""
MAX_QUOTED = 60  # characters of an entry that stand for it in a message
REDACTED = "[secret]"
_ISO = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)")


@frozen
class Edit:
    """Replaces the lines `start` to before `end` (indexes) of a file by `text`, "" for none."""

    path: str
    start: int
    end: int
    text: str


@frozen
class LintFinding:
    """One thing that a check found.

    line, last: first and last line, counted from 1
    advice: what the user can do when there are no edits
    other: the place (path, line) of the entry it is compared with
    edits: made together or not at all

    Only the text of an edit may hold the value of a secret.
    """

    check: str
    level: FindingLevel
    path: str
    line: int
    message: str
    advice: str = ""
    last: int = 0
    other: tuple[str, int] | None = None
    edits: tuple[Edit, ...] = ()

    def as_json(self) -> dict[str, Any]:
        shape = asdict(self)
        shape["end_line"] = shape.pop("last")
        shape["other"] = self.other and {"path": self.other[0], "line": self.other[1]}
        shape["fixable"] = bool(shape.pop("edits"))
        return shape


@dataclass(frozen=True)
class Document:
    """A file of the memory: its path in the home (with slashes) and its text."""

    path: str
    text: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def kind(self) -> DocumentKind:
        if "/inbox/" in self.path:
            return "inbox"
        if self.name == "TODO.md":
            return "todo"
        return "daily" if DAILY.fullmatch(self.name) else "lasting"

    @cached_property
    def page(self) -> Page:
        return read_page(self.text)

    @cached_property
    def entries(self) -> Sequence[MemoryEntry]:
        return entries_of(self.text)

    @cached_property
    def day(self) -> str:
        """The ISO day in the file's name or front matter, "" for none."""
        if found := DAILY.fullmatch(self.name):
            return found[1]
        page, front = self.page, ""
        if page.lines and page.lines[0].rstrip() == "---":
            front = "".join(page.lines[at] for at, first in page.opaque.items() if first == 0)
        named = re.search(r"^(?:date|day|created)\s*:.*?(\d{4}-\d{2}-\d{2})", front, re.MULTILINE)
        return named[1] if named else ""

    def date(self, entry: MemoryEntry) -> str:
        """Return the ISO day of an entry from its comment, its heading or its file; "" for none."""
        at = bisect(self.page.sections, entry.at, key=lambda section: section.start) - 1
        named = _ISO.search(self.page.sections[at].name)
        return entry.meta.date or (named[0] if named else "") or self.day

    def raw(self, entry: MemoryEntry) -> str:
        """Return the entry's own lines as they stand."""
        return "".join(self.page.lines[entry.at : entry.end])

    def finding(
        self, check: str, at: int, message: str, advice: str, last: int = 0, edit: str | None = None
    ) -> LintFinding:
        """Make a finding in the line of index `at`; `edit` is its new text without a newline."""
        edits: tuple[Edit, ...] = ()
        if edit is not None:
            edits = (Edit(self.path, at, at + 1, edit + line_ending(self.page.lines[at])),)
        return LintFinding(
            check, LEVELS[check], self.path, at + 1, message, advice, last or at + 1, edits=edits
        )


@frozen
class LintContext:
    """What the checks know of the home besides the texts.

    exists: tells whether the home has a file or folder of a path
    files: returns the paths of the home's notes, for links by name
    read: returns the text of a note
    """

    exists: Callable[[str], bool] = lambda path: False
    files: Callable[[], Collection[str]] = tuple
    read: Callable[[str], str] = lambda path: ""


def quote(text: str) -> str:
    """Return the beginning of a text in quotes, without secrets."""
    plain = without_secrets(" ".join(join_surrogates(text).split()), REDACTED)
    cut = len(plain) > MAX_QUOTED
    return f'"{plain[: MAX_QUOTED - 3].rstrip()}..."' if cut else f'"{plain}"'


def alike(keys: Iterable[tuple[tuple[str, ...], int]]) -> Iterator[list[int]]:
    """Yield the numbers of items with a common key: only those are compared with each other."""
    by_key: dict[tuple[str, ...], list[int]] = {}
    for key, number in keys:
        by_key.setdefault(key, []).append(number)
    return (group for group in by_key.values() if len(group) > 1)
