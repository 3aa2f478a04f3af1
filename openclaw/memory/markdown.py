"""Reads Markdown: headings, list items, tasks, code and comments; rewrites a Markdown file safely.

A page is the text's lines with their newlines; joined, they are the text.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from openclaw.errors import OpenclawError
from openclaw.frozen import frozen
from openclaw.storage.atomic import read_settled
from openclaw.storage.text import BOM, check_not_utf_16, join_surrogates, write_if_same
from openclaw.types import BeforeWrite, record_no_write

DEFAULT_LIST = "Tasks"

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_MARKER = re.compile(
    r"(?P<indent>[ \t]*)(?P<bullet>[-*+]|(?P<number>\d{1,9})[.)])(?P<gap>[ \t]+|$)"
)
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_HEADING = re.compile(r" {0,3}(?P<level>#{1,6})(?:[ \t]+(?P<name>.*?))??(?:[ \t]+#+)?[ \t]*$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r"[ \t]*(`{3,}(?!.*`)|~{3,})")
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


def indent_width(text: str) -> int:
    """Return the columns of the blanks at the beginning; tabs stop at every fourth."""
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
        if blocks.is_inside(at, bare):
            page.opaque[at] = at if blocks.began is None else blocks.began
            previous = ""
            continue
        marker = _MARKER.match(bare)
        if heading := _HEADING.match(bare):
            headings.append((at, len(heading["level"]), (heading["name"] or "").strip()))
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


_BOX = re.compile(r"\[(?P<mark>[ xX])\][ \t]+(?P<text>\S.*?)[ \t]*$")
_ID = re.compile(r"(?:^|[ \t]+)\^(?P<id>[A-Za-z0-9-]+)$")
_DUE = re.compile(r"(?<![\w:-])due:(\d{4}-\d{2}-\d{2})(?![\w-])")


@frozen
class TaskItem:
    """A task line.

    at: index of the line in the page
    indent: in columns
    given: the id stands in the text; else it is computed, and is the same while the text is
    """

    at: int
    indent: int
    bullet: str
    done: bool
    text: str
    id: str
    given: bool
    list: str


@dataclass(slots=True)
class TaskPage(Page):
    """A page with its task lines."""

    items: list[TaskItem] = field(default_factory=list)

    def items_of(self, section: Section) -> list[TaskItem]:
        return [item for item in self.items if section.start <= item.at < section.end]


def read_task_page(text: str) -> TaskPage:
    """Find the task lines and sections of a Markdown text."""
    page = read_page(text)
    tasks = [
        (bullet, box)
        for bullet in page.bullets
        if (box := _BOX.match(page.lines[bullet.at].rstrip("\r\n"), bullet.start))
    ]
    taken = {found["id"] for _, box in tasks if (found := _ID.search(box["text"]))}
    items, used = [], set()
    starts = [section.start for section in page.sections]
    made: Counter[tuple[str, str]] = Counter()
    for bullet, box in tasks:
        name = join_surrogates(page.sections[bisect_right(starts, bullet.at) - 1].name)
        found = _ID.search(box["text"])
        given = found is not None and found["id"] not in used
        text = join_surrogates(box["text"][: found.start()] if found else box["text"])
        if found and given:
            ident = found["id"]
        else:
            ident = new_id(name, text, taken, made[name, text])
            made[name, text] += 1
        used.add(ident)
        taken.add(ident)
        done = box["mark"] != " "
        items.append(
            TaskItem(bullet.at, bullet.indent, bullet.mark, done, text, ident, given, name)
        )
    return TaskPage(page.lines, page.bullets, page.sections, page.opaque, page.open_at, items)


def new_id(list_name: str, text: str, taken: set[str], had: int = 0) -> str:
    """Compute an id of eight hex digits from list and text that is not among `taken`.

    `had` counts the ids of the same text in `taken`; so many tries are skipped.
    """
    for count in range(had, had + len(taken) + 1):
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


def without_due(text: str) -> str:
    """A to-do's text without the date that `due_of` finds."""
    return _DUE.sub("", text, count=1).strip() if due_of(text) else text


def write_ids(page: TaskPage) -> None:
    """Write the ids of all task lines into the page's lines."""
    for item in page.items:
        if not item.given:
            line = page.lines[item.at]
            full = line.rstrip("\r\n")
            bare = full.rstrip(" \t")
            page.lines[item.at] = (
                f"{_ID.sub('', bare)} ^{item.id}{full[len(bare) :]}{line_ending(line)}"
            )


ATTEMPTS = 50
MAX_BYTES = 5_000_000
"""Size of the largest file that is read."""


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


def _decode(data: bytes | None) -> str:
    return (data or b"").removeprefix(BOM).decode("utf-8", "surrogateescape")


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


_TABLE_RULE = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?$")
_NUMBER = re.compile(r"-?\d[\d.,]*(?<![.,])")
_POINT = re.compile(r"-?(?:0|[1-9]\d*|[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d+)?")
_COMMA = re.compile(r"-?(?:0|[1-9]\d*|[1-9]\d{0,2}(?:\.\d{3})+)(?:,\d+)?")
YEARS = range(1900, 2100)


def table_sums(text: str, first: int, last: int) -> list[str]:
    """What each column of numbers adds up to in the tables of a Markdown text of which a line lies
    within these, from 1, inclusive: "COLUMN: SUM UNIT".

    A column counts when each of at least two rows has one number with the same unit. Years and
    running numbers are not added, nor a column whose last row holds the sum already.
    """
    lines = [line.strip() for line in text.splitlines()]
    found = []
    for at, rule in enumerate(lines[1:], 1):
        if "|" not in rule or not _TABLE_RULE.match(rule):
            continue
        end = next((n for n in range(at + 1, len(lines)) if "|" not in lines[n]), len(lines))
        if at > last or end < first:
            continue
        rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in lines[at + 1 : end]]
        for column, name in enumerate(lines[at - 1].strip("|").split("|")):
            cells = [row[column] for row in rows if column < len(row)]
            if len(cells) == len(rows) > 1 and (total := _sum_of(cells)):
                found.append(f"{name.strip()}: {total}")
    return found


def show_sums(text: str, first: int, last: int) -> str:
    """A line below these lines of a text for a model, which adds badly: what the whole tables add
    up to that they are of; "" when there is nothing to add."""
    found = table_sums(text, first, last)
    return f"\n[added up: {', '.join(found)}]" if found else ""


def _sum_of(cells: Sequence[str]) -> str:
    """The sum of amounts with their unit, "" for cells that are no amounts."""
    numbers = [_NUMBER.findall(cell) for cell in cells]
    units = {_NUMBER.sub("", cell).strip() for cell in cells}
    if len(units) > 1 or any(len(each) != 1 for each in numbers):
        return ""
    found = [number for (number,) in numbers]
    readings = [
        _read_amounts(found, form, *marks) for form, marks in ((_POINT, ",."), (_COMMA, ".,"))
    ]
    both = all(readings) and readings[0] != readings[1]
    amounts, places = readings[0] or readings[1] or ([], 0)
    if both or not amounts:
        return ""  # "1.200" may be more than a thousand, or less than two
    steps = {later - earlier for earlier, later in pairwise(amounts)}
    summed = round(amounts[-1] - sum(amounts[:-1]), places) == 0
    if summed or steps == {1} or all(each in YEARS for each in amounts):
        return ""
    return f"{sum(amounts):.{places}f} {units.pop()}".strip()


def _read_amounts(
    numbers: Sequence[str], form: re.Pattern[str], thousands: str, point: str
) -> tuple[list[float], int] | None:
    """The numbers as amounts, and the most decimal places; None when one has not this form."""
    if not all(map(form.fullmatch, numbers)):
        return None
    plain = [number.replace(thousands, "").replace(point, ".") for number in numbers]
    return [float(each) for each in plain], max(len(each.partition(".")[2]) for each in plain)


_CELL = re.compile(r"(?<!\\)\|")


def table_rows(lines: Iterable[str]) -> Iterator[tuple[int, list[str], list[str]]]:
    """The rows of tables: the index of the line, the headings of its table in lower case and
    without marks, and the cells, none for the headings themselves. A table ends at a line that does
    not begin with a bar."""
    heads: list[str] = []
    for at, line in enumerate(lines):
        bare = line.strip()
        if not bare.startswith("|"):
            heads = []
            continue
        cells = [cell.strip().replace("\\|", "|") for cell in _CELL.split(bare.strip("|"))]
        if not heads:
            heads = [cell.strip("*_`").casefold() for cell in cells]
            yield at, heads, []
        elif not is_table_rule(line):
            yield at, heads, cells


def is_table_rule(line: str) -> bool:
    """Return True for the line below the headings of a table."""
    return _TABLE_RULE.match(line.strip()) is not None
