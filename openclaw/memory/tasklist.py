"""GFM task lists in Markdown: where they are, and nothing else.

Pure functions on text. A page is the text's lines with their newlines; joined, they are the text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date

DEFAULT_LIST = "Tasks"

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_MARKER = re.compile(
    r"(?P<indent>[ \t]*)(?P<bullet>[-*+]|(?P<number>\d{1,9})[.)])(?P<gap>[ \t]+|$)"
)
_BOX = re.compile(r"\[(?P<mark>[ xX])\][ \t]+(?P<text>\S.*?)[ \t]*$")
_ID = re.compile(r"(?:^|[ \t]+)\^(?P<id>[A-Za-z0-9-]+)$")
_DUE = re.compile(r"(?<!\S)due:(\d{4}-\d{2}-\d{2})(?!\S)")
_HEADING = re.compile(r" {0,3}(?P<level>#{1,6})(?:[ \t]+(?P<name>.*?))??(?:[ \t]+#+)?[ \t]*$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r"[ \t]*(`{3,}(?!.*`)|~{3,})")


@dataclass(frozen=True, slots=True)
class Item:
    """A task line: `at` is its index in the page, `indent` in columns, `given` whether the id
    stands in the text (else it is computed and stays the same while the text does)."""

    at: int
    indent: int
    bullet: str
    done: bool
    text: str
    id: str
    given: bool
    list: str


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what follows to the next one: line indexes `start` to before `end`. The text
    before the first heading is a section without a heading line (`level` 0)."""

    name: str
    level: int
    start: int
    end: int


@dataclass(slots=True)
class Page:
    """A text cut into lines, with its task lines and sections. `open_at` is the line of a code
    fence or comment that is never closed, else None."""

    lines: list[str]
    items: list[Item] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    open_at: int | None = None

    @property
    def newline(self) -> str:
        return next((ending(line) for line in self.lines if ending(line)), "\n")

    def items_of(self, section: Section) -> list[Item]:
        return [item for item in self.items if section.start <= item.at < section.end]


def ending(line: str) -> str:
    """The newline at a line's end, "" for a last line without one."""
    return line[len(line.rstrip("\r\n")) :]


def scan(text: str) -> Page:
    """Find the task lines and sections of a Markdown text."""
    page = Page(_LINE.findall(text))
    headings: list[tuple[int, int, str]] = []
    tasks: list[tuple[int, re.Match[str], re.Match[str]]] = []
    blocks = _Blocks()
    previous = ""
    for at, line in enumerate(page.lines):
        bare = line.rstrip("\r\n")
        if blocks.inside(at, bare):
            previous = ""
            continue
        if heading := _HEADING.match(bare):
            headings.append((at, len(heading["level"]), (heading["name"] or "").strip()))
            blocks.leave()
        elif previous and (underline := _UNDERLINE.match(bare)):
            headings.append((at - 1, 1 if underline[1][0] == "=" else 2, previous.strip()))
        elif (
            (marker := _MARKER.match(bare))
            and blocks.item(marker)
            and (box := _BOX.match(bare, marker.end()))
        ):
            tasks.append((at, marker, box))
        plain = not heading and bare.strip() and not blocks.depth and not bare.startswith("    ")
        previous = (
            bare if plain and not _MARKER.match(bare) and bare.lstrip()[:1] not in "|>" else ""
        )
    page.open_at = blocks.open_at
    page.sections = list(_sections(headings, len(page.lines)))
    page.items = _items(tasks, page.sections)
    return page


class _Blocks:
    """What the lines before mean for the next: fences, comments, front matter, list nesting."""

    def __init__(self) -> None:
        self.open_at: int | None = None
        self._close: re.Pattern[str] | None = None
        self._stack: list[int] = []
        self._blank = False

    @property
    def depth(self) -> int:
        return len(self._stack)

    def leave(self) -> None:
        self._stack.clear()

    def inside(self, at: int, bare: str) -> bool:
        """Whether the line belongs to a block that holds no Markdown."""
        if self._close is not None:
            if self._close.search(bare):
                self._close, self.open_at = None, None
            return True
        if not bare.strip():
            self._blank = True
            return True
        self._close = self._opens(bare)
        if self._close is not None:
            self.open_at = at
            return True
        self._outdent(bare)
        return False

    def _opens(self, bare: str) -> re.Pattern[str] | None:
        if fence := _FENCE.match(bare):
            return re.compile(rf"^[ \t]*{re.escape(fence[1][0])}{{{len(fence[1])},}}[ \t]*$")
        start = bare.lstrip()
        if start.startswith("<!--") and "-->" not in start[4:]:
            return re.compile("-->")
        return None

    def _outdent(self, bare: str) -> None:
        """A paragraph that is not indented ends the list, unless it goes on without a blank."""
        if self._blank and not _MARKER.match(bare):
            while self._stack and width(bare) < self._stack[-1]:
                self._stack.pop()
        self._blank = False

    def item(self, marker: re.Match[str]) -> bool:
        """Take a line that begins like a list item; False when it is indented code."""
        column = width(marker["indent"])
        while self._stack and column < self._stack[-1]:
            self._stack.pop()
        if column - (self._stack[-1] if self._stack else 0) >= 4:
            return False
        gap = width(marker["gap"])
        self._stack.append(column + len(marker["bullet"]) + (gap if 1 <= gap <= 4 else 1))
        return True


def width(text: str) -> int:
    """Columns of the blanks that a text begins with; tabs stop at every fourth."""
    blanks = text[: len(text) - len(text.lstrip(" \t"))]
    return len(blanks.expandtabs(4))


def _sections(headings: Sequence[tuple[int, int, str]], end: int) -> Iterator[Section]:
    starts = [(0, 0, DEFAULT_LIST), *headings] if not headings or headings[0][0] else headings
    for (start, level, name), following in zip(starts, [*starts[1:], (end, 0, "")], strict=True):
        yield Section(name or DEFAULT_LIST, level, start, following[0])


def _items(
    tasks: Sequence[tuple[int, re.Match[str], re.Match[str]]], sections: Sequence[Section]
) -> list[Item]:
    taken = {found["id"] for _, _, box in tasks if (found := _ID.search(box["text"]))}
    items, used = [], set()
    for at, marker, box in tasks:
        name = next(s.name for s in reversed(sections) if s.start <= at)
        found = _ID.search(box["text"])
        given = found is not None and found["id"] not in used
        text = box["text"][: found.start()] if found else box["text"]
        ident = found["id"] if found and given else new_id(name, text, taken)
        used.add(ident)
        taken.add(ident)
        done, indent = box["mark"] != " ", width(marker["indent"])
        items.append(Item(at, indent, marker["bullet"], done, text, ident, given, name))
    return items


def new_id(list_name: str, text: str, taken: set[str]) -> str:
    """Eight hex digits that follow from list and text, and are not among `taken`."""
    for count in range(len(taken) + 1):
        seed = f"{list_name}\n{text}\n{count}".encode("utf-8", "surrogatepass")
        ident = hashlib.md5(seed, usedforsecurity=False).hexdigest()[:8]
        if ident not in taken:
            return ident
    raise AssertionError("more ids than to-dos")


def due_of(text: str) -> str | None:
    """The date of `due:2026-12-01` in a to-do's text, None without one or for no real date."""
    found = _DUE.search(text)
    if found is None:
        return None
    try:
        return date.fromisoformat(found[1]).isoformat()
    except ValueError:
        return None


def stamped(page: Page) -> None:
    """Write the ids of all task lines into the page's lines."""
    for item in page.items:
        if not item.given:
            line = page.lines[item.at]
            bare = _ID.sub("", line.rstrip()) if _ID.search(line.rstrip()) else line.rstrip()
            page.lines[item.at] = f"{bare} ^{item.id}{ending(line)}"
