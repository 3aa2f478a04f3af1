"""The lines of a Markdown text: which are headings, list items, or inside of code and comments.

Pure functions on text. A page is the text's lines with their newlines; joined, they are the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

DEFAULT_NAME = "Tasks"

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_MARKER = re.compile(
    r"(?P<indent>[ \t]*)(?P<bullet>[-*+]|(?P<number>\d{1,9})[.)])(?P<gap>[ \t]+|$)"
)
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_HEADING = re.compile(r" {0,3}(?P<level>#{1,6})(?:[ \t]+(?P<name>.*?))??(?:[ \t]+#+)?[ \t]*$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r"[ \t]*(`{3,}(?!.*`)|~{3,})")
_YAML = re.compile(r"[\w-]+[ \t]*:(?:\s|$)|[ \t]+\S|-[ \t]|#|$")


@dataclass(frozen=True, slots=True)
class Bullet:
    """A list item's first line: its index in the page, its indent in columns, its depth in the
    list (0 at the top), its mark, and where in the line its text begins."""

    at: int
    indent: int
    depth: int
    mark: str
    start: int


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
    """A text cut into lines, with its list items and sections. `opaque` are the lines that hold no
    Markdown (blank ones, front matter, code fences, comments), each with the first line of its
    block. `open_at` is the line of a fence or comment that is never closed, else None."""

    lines: list[str]
    bullets: list[Bullet] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    opaque: dict[int, int] = field(default_factory=dict)
    open_at: int | None = None

    @property
    def newline(self) -> str:
        """What a new line ends with: a lone CR only where the text knows nothing else."""
        ends = [end for line in self.lines if (end := ending(line))]
        return next((end for end in ends if end != "\r"), ends[0] if ends else "\n")


def ending(line: str) -> str:
    """The newline at a line's end, "" for a last line without one."""
    return line[len(line.rstrip("\r\n")) :]


def width(text: str) -> int:
    """Columns of the blanks that a text begins with; tabs stop at every fourth."""
    blanks = text[: len(text) - len(text.lstrip(" \t"))]
    return len(blanks.expandtabs(4))


def read_page(text: str) -> Page:
    """Cut a text into lines and find its list items and headings."""
    page = Page(_LINE.findall(text))
    headings: list[tuple[int, int, str]] = []
    blocks = _Blocks()
    body = _front_matter_end(page.lines)
    page.opaque.update(dict.fromkeys(range(body), 0))
    previous = ""
    for at, line in enumerate(page.lines[body:], body):
        bare = line.rstrip("\r\n")
        if blocks.inside(at, bare):
            page.opaque[at] = at if blocks.began is None else blocks.began
            previous = ""
            continue
        marker = _MARKER.match(bare)
        if heading := _HEADING.match(bare):
            headings.append((at, len(heading["level"]), (heading["name"] or "").strip()))
            blocks.leave()
        elif previous and (underline := _UNDERLINE.match(bare)):
            headings.append((at - 1, 1 if underline[1][0] == "=" else 2, previous.strip()))
            previous = ""
            continue
        elif marker and not _RULE.match(bare):
            page.bullets += blocks.item(at, marker)
        plain = not heading and not blocks.depth and not bare.startswith("    ")
        previous = bare if plain and not marker and bare.lstrip()[:1] not in "|>" else ""
    page.open_at = blocks.open_at
    page.sections = list(_sections(headings, len(page.lines)))
    return page


class _Blocks:
    """What the lines before mean for the next: fences, comments, list nesting."""

    def __init__(self) -> None:
        self.open_at: int | None = None
        self.began: int | None = None
        self._close: re.Pattern[str] | None = None
        self._stack: list[int] = []
        self._blank = False

    @property
    def depth(self) -> int:
        return len(self._stack)

    def leave(self) -> None:
        self._stack.clear()

    def inside(self, at: int, bare: str) -> bool:
        """Whether the line belongs to a block that holds no Markdown; `began` is its first line."""
        if self._close is not None:
            if self._close.search(bare):
                self._close, self.open_at = None, None
            return True
        self.began = None
        if not bare.strip():
            self._blank = True
            return True
        self._close = self._opens(bare)
        if self._close is not None:
            self.open_at = self.began = at
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

    def item(self, at: int, marker: re.Match[str]) -> list[Bullet]:
        """Take a line that begins like a list item; none when it is indented code."""
        column = width(marker["indent"])
        while self._stack and column < self._stack[-1]:
            self._stack.pop()
        if column - (self._stack[-1] if self._stack else 0) >= 4:
            return []
        depth, gap = self.depth, width(marker["gap"])
        self._stack.append(column + len(marker["bullet"]) + (gap if 1 <= gap <= 4 else 1))
        return [Bullet(at, column, depth, marker["bullet"], marker.end())]


def _front_matter_end(lines: Sequence[str]) -> int:
    """The number of lines that YAML front matter takes at the top of a file, 0 without one."""
    bare = [line.rstrip() for line in lines]
    if len(bare) < 3 or bare[0] != "---" or "---" not in bare[1:]:
        return 0
    end = bare.index("---", 1)
    inner = bare[1:end]
    is_yaml = inner and ":" in inner[0] and all(_YAML.match(line) for line in inner)
    return end + 1 if is_yaml and _YAML.match(inner[0]) and inner[0][0] not in " \t-#" else 0


def _sections(headings: Sequence[tuple[int, int, str]], end: int) -> Iterator[Section]:
    top = [(0, 0, DEFAULT_NAME)]
    starts = [*top, *headings] if not headings or headings[0][0] else headings
    for (start, level, name), following in zip(starts, [*starts[1:], (end, 0, "")], strict=True):
        yield Section(name or DEFAULT_NAME, level, start, following[0])
