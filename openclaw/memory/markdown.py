"""Reads Markdown: headings, list items, code and comments; rewrites a Markdown file safely.

A page is the text's lines with their newlines; joined, they are the text.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Protocol, TypeVar

from openclaw.errors import OpenclawError
from openclaw.frozen import frozen
from openclaw.storage.atomic import read_settled
from openclaw.storage.merge import SIGN, conflicts
from openclaw.storage.safe_open import BOM
from openclaw.storage.text import UTF_16, check_not_utf_16, write_if_same
from openclaw.types import BeforeWrite, record_no_write

DEFAULT_LIST = "Tasks"

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_MARKER = re.compile(
    r"(?P<indent>[ \t]*)(?P<bullet>[-*+]|(?P<number>\d{1,9})[.)])(?P<gap>[ \t]+|$)"
)
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_HEADING = re.compile(r" {0,3}(?P<level>#{1,6})(?![^ \t])")
_CLOSING = re.compile(r"(?:^|(?<=[ \t]))#+$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r"[ \t]*(`{3,}(?!.*`)|~{3,})")
_ENDS_BLOCK = re.compile(r"\s*(?:[-*+#>|`~<=]|\d+[.)])")
_YAML = re.compile(r"[\w-]+[ \t]*:(?:\s|$)|[ \t]+\S|-[ \t]|#|$")


@frozen
class Bullet:
    """A list item's first line.

    at: index of the line in the page
    indent: in columns
    depth: in the list, 0 at the top
    start: where in the line the text begins
    """

    at: int
    indent: int
    depth: int
    mark: str
    start: int


@frozen
class Section:
    """A heading and what follows to the next one: line indexes `start` to before `end`. The text
    before the first heading is a section without a heading line (`level` 0)."""

    name: str
    level: int
    start: int
    end: int


@dataclass(slots=True)
class Page:
    """A text cut into lines, with its list items and sections.

    opaque: lines without Markdown (blank, front matter, code fence, comment), each with the first
        line of its block
    open_at: the line of a fence or comment that is never closed, else None
    """

    lines: list[str]
    bullets: list[Bullet] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    opaque: dict[int, int] = field(default_factory=dict)
    open_at: int | None = None

    @property
    def newline(self) -> str:
        """The newline for a new line: a lone CR only where the text has no other."""
        ends = [end for line in self.lines if (end := line_ending(line))]
        return next((end for end in ends if end != "\r"), ends[0] if ends else "\n")


def line_ending(line: str) -> str:
    """The newline at a line's end, "" for a last line without one."""
    return line[len(line.rstrip("\r\n")) :]


def end_line(page: Page, at: int) -> None:
    """Give the line before index `at` a newline if it has none."""
    if at and not line_ending(page.lines[at - 1]):
        page.lines[at - 1] += page.newline


def insert_block(page: Page, at: int, block: Sequence[str], *, tight: bool = False) -> int:
    """Insert lines before index `at`, with a blank line below text and, unless `tight`, above it.
    Returns the index of the first one."""
    if at and not tight and at < len(page.lines) and not page.lines[at].strip():
        at += 1
    end_line(page, at)
    above = [page.newline] if at and not tight and page.lines[at - 1].strip() else []
    below = [page.newline] if at < len(page.lines) and page.lines[at].strip() else []
    page.lines[at:at] = [*above, *block, *below]
    return at + len(above)


def indent_width(text: str) -> int:
    """Return the columns of the blanks at the beginning; tabs stop at every fourth."""
    blanks = text[: len(text) - len(text.lstrip(" \t"))]
    return len(blanks.expandtabs(4))


def block_end(page: Page, at: int, indent: int, end: int, stop: int, *, lazy: bool = False) -> int:
    """Return the line after what is indented beneath an item of line `at` and that indent, from
    line `end` to before `stop`, without blank lines at the end. With `lazy` a paragraph goes on in
    lines that are not indented."""
    for below in range(end, stop):
        line = page.lines[below]
        in_code = at < page.opaque.get(below, below) < below  # that began beneath the item
        goes_on = lazy and below == end and not _ENDS_BLOCK.match(line)
        if line.strip() and not (in_code or goes_on or indent_width(line) > indent):
            break
        end = below + 1 if line.strip() else end
    return end


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
        if blocks.is_inside(at, bare):
            page.opaque[at] = at if blocks.began is None else blocks.began
            previous = ""
            continue
        marker = _MARKER.match(bare)
        if heading := _HEADING.match(bare):
            name = _CLOSING.sub("", bare[heading.end() :].rstrip(" \t"))
            headings.append((at, len(heading["level"]), name.strip()))
            blocks.stack.clear()
        elif previous and (underline := _UNDERLINE.match(bare)):
            headings.append((at - 1, 1 if underline[1][0] == "=" else 2, previous.strip()))
            previous = ""
            continue
        elif marker and not _RULE.match(bare):
            page.bullets += blocks.add_item(at, marker)
        plain = not heading and not blocks.stack and not bare.startswith("    ")
        previous = bare if plain and not marker and bare.lstrip()[:1] not in "|>" else ""
    page.open_at = blocks.open_at
    if not headings or headings[0][0]:
        headings.insert(0, (0, 0, DEFAULT_LIST))
    ends = [*(start for start, _, _ in headings[1:]), len(page.lines)]
    page.sections = [
        Section(name or DEFAULT_LIST, level, start, end)
        for (start, level, name), end in zip(headings, ends, strict=True)
    ]
    return page


@dataclass(slots=True)
class _Blocks:
    """The state after a line that the next one depends on: fence, comment, list nesting. `stack`
    has the columns at which the text of the open list items begins."""

    open_at: int | None = None
    began: int | None = None
    stack: list[int] = field(default_factory=list)
    _close: re.Pattern[str] | None = None
    _blank: bool = False

    def is_inside(self, at: int, bare: str) -> bool:
        """Return True when the line is in a block without Markdown; `began` is its first line."""
        if self._close is not None:
            if self._close.search(bare):
                self._close, self.open_at = None, None
            return True
        self.began = None
        words = bare.strip()
        if not words:
            self._blank = True
            return True
        if fence := _FENCE.match(bare):
            mark, least = re.escape(fence[1][0]), len(fence[1])
            self._close = re.compile(rf"^[ \t]*{mark}{{{least},}}[ \t]*$")
        elif words.startswith("<!--") and "-->" not in words[4:]:
            self._close = re.compile("-->")
        if self._close is not None:
            self.open_at = self.began = at
            return True
        # A paragraph that is not indented ends the list, unless it goes on without a blank.
        if self._blank and not _MARKER.match(bare):
            while self.stack and indent_width(bare) < self.stack[-1]:
                self.stack.pop()
        self._blank = False
        return False

    def add_item(self, at: int, marker: re.Match[str]) -> list[Bullet]:
        """Add a line that begins like a list item; return [] when it is indented code."""
        column = indent_width(marker["indent"])
        while self.stack and column < self.stack[-1]:
            self.stack.pop()
        if column - (self.stack[-1] if self.stack else 0) >= 4:
            return []
        depth, gap = len(self.stack), indent_width(marker["gap"])
        self.stack.append(column + len(marker["bullet"]) + (gap if 1 <= gap <= 4 else 1))
        return [Bullet(at, column, depth, marker["bullet"], marker.end())]


def _front_matter_end(lines: Sequence[str]) -> int:
    """Count the lines of the YAML front matter at the top of a file, 0 without one."""
    bare = [line.rstrip() for line in lines]
    if len(bare) < 3 or bare[0] != "---" or "---" not in bare[1:]:
        return 0
    end = bare.index("---", 1)
    inner = bare[1:end]
    is_yaml = inner and ":" in inner[0] and all(_YAML.match(line) for line in inner)
    return end + 1 if is_yaml and _YAML.match(inner[0]) and inner[0][0] not in " \t-#" else 0


ATTEMPTS = 50
MAX_BYTES = 5_000_000  # size of the largest file that is read


def read_markdown(path: Path) -> str:
    """Return the file's text, "" for a missing one. Waits for a save in place to end."""
    return _decode(read_settled(path, MAX_BYTES))


def change_file(
    path: Path, change: Callable[[str], str], keep: BeforeWrite = record_no_write
) -> str:
    """Replace the file's text by the result of `change`, and return it. A missing file is empty.
    `keep` is called before the file is written.

    Another program may write the file at any time: then `change` is called again with the new
    text. Waits for a save in place to end. Raises OpenclawError when the file cannot be written.
    """
    for _ in range(ATTEMPTS):
        before = read_settled(path, MAX_BYTES)
        check_not_utf_16(before, path)
        _check_no_conflicts(before, path)
        text = change(_decode(before))
        data = text.encode("utf-8", "surrogateescape")
        if before and before.startswith(BOM):
            data = BOM + data
        if data == (before or b"") or write_if_same(path, before, data, keep):
            return text
    raise OpenclawError(
        f"cannot write {path}: another program writes it all the time",
        "let that program finish, then try again",
    )


def _check_no_conflicts(data: bytes | None, path: Path) -> None:
    """Raises OpenclawError for a file with a merge's conflicts. A line that is written into one is
    lost with the side that the user then takes out."""
    if data and SIGN in data and (found := conflicts(_decode(data))):
        raise OpenclawError(
            f"{path} has conflict markers in line {found[0].line}",
            "decide there what should stand, and take the markers out",
        )


def _decode(data: bytes | None) -> str:
    if data and data.startswith(UTF_16):  # it is only read: see check_not_utf_16
        return data.decode("utf-16", "replace")
    return (data or b"").removeprefix(BOM).decode("utf-8", "surrogateescape")


class _HasText(Protocol):
    @property
    def text(self) -> str: ...


T = TypeVar("T", bound=_HasText)

_WORD = re.compile(r"\w+[+#]*")
_SMALL_WORDS = frozenset(
    "a an the is are be to of in on at for my our your s really very quite also just"
    " please note that actually currently now still".split()
)
_MIN_RATIO = 0.85
_MIN_LENGTH = 5


def is_same_statement(left: str, right: str) -> bool:
    """Return True when two lines differ only in small words, endings, case, marks or a typo.

    A different number, name or short word makes two lines different.
    """
    first, second = _words_of_line(left), _words_of_line(right)
    stems = [*map(_stem, first)], [*map(_stem, second)]
    if not first or not second:
        return left.split() == right.split()
    if sorted(stems[0]) == sorted(stems[1]):
        return len(first) <= 2 or stems[0] == stems[1]
    return len(first) == len(second) and all(
        _stem(a) == _stem(b) or _is_typo(a, b) for a, b in zip(first, second, strict=True)
    )


def find_by_text(text: str, items: Iterable[T]) -> list[T]:
    """The items of that text, but for case and a full stop, else those with all of its words."""
    known, plain = [*items], _plain(text)
    words = set(re.findall(r"\w+", plain))
    exact = [item for item in known if _plain(item.text) == plain]
    return exact or [
        item for item in known if words and words <= set(re.findall(r"\w+", item.text.casefold()))
    ]


def _plain(text: str) -> str:
    return text.casefold().strip(" .")


def statement_stems(text: str) -> tuple[str, ...]:
    """Return the stems of a line's words, without small words."""
    return tuple(map(_stem, _words_of_line(text)))


@lru_cache(maxsize=4096)
def _words_of_line(text: str) -> Sequence[str]:
    words = _WORD.findall(text.replace("\u2019", "'").replace("'s ", " "))
    return [word for word in words if word.casefold() not in _SMALL_WORDS]


def _stem(word: str) -> str:
    plain = word.casefold()
    return plain[:-1] if len(plain) > 3 and plain.endswith("s") else plain


def _is_typo(left: str, right: str) -> bool:
    words = (left, right)
    if any(len(word) < _MIN_LENGTH or not word.islower() or not word.isalpha() for word in words):
        return False
    return difflib.SequenceMatcher(None, left, right).ratio() >= _MIN_RATIO


def first_item_line(page: Page, section: Section) -> int:
    """Return the line for a section's first to-do: below the heading, but after an indented text,
    which would become a part of the to-do."""
    top = section.start + heading_lines(page, section)
    below = next((line for line in page.lines[top : section.end] if line.strip()), "")
    if not below.startswith((" ", "\t")):
        return top
    end = section.end if page.open_at is None else max(top, min(section.end, page.open_at))
    while end > top and not page.lines[end - 1].strip():
        end -= 1
    return end


def next_bullet(bullet: str, step: int) -> str:
    return bullet if bullet in "-*+" else f"{int(bullet[:-1]) + step}{bullet[-1]}"


def heading_lines(page: Page, section: Section) -> int:
    if not section.level:
        return 0
    return 1 if page.lines[section.start].lstrip().startswith("#") else 2


def shift_line(line: str, columns: int) -> str:
    """The line with its indent changed by some columns."""
    text = line.lstrip(" \t")
    return " " * max(indent_width(line) + columns, 0) + text if text.strip() else line
