"""Reads the rows of tables and lines with a name and a value, and what a request says of one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from datetime import date
from functools import cached_property

from openclaw.frozen import frozen
from openclaw.memory.tables import CELL_END, plain_number, table_rows
from openclaw.nlp.calendar_days import Span
from openclaw.nlp.dates import NamedDays, name_each_day, without_days
from openclaw.nlp.skill_instructions import escape_literal
from openclaw.nlp.words import significant_words

MAX_CHARS = 100_000  # characters; a longer file is not read for rows
SHORTEST, SHORTEST_PART = 2, 3
"""Letters of a word that may name a row, and of one that does where the name has more words: in "le
plombier" not the first."""
_LABELLED = re.compile(
    r"( *(?:[-*+] +)?[*_]{0,2}([^|:=#\s][^|:=#]{0,39}?)[*_]{0,2}(?:: +| *= *))(\S.*)"
)
ISO_DAY = re.compile(r"\d{4}-\d\d-\d\d")
DIGIT = re.compile(r"\d")
FIGURE = re.compile(r"\d+(?:[.,:/-]\d+)*")  # a number, a time, a score
AMOUNT = re.compile(r"\d+(?:[.,]\d+)*")
DECIMAL, FRACTION = re.compile(r"\d+(?:[.,:/-]\d+)+"), re.compile(r"\d[.,]\d")
_CELL, _FIELD, _VALUE = r'[^"\\|\n]{1,80}', r'[^",\\\n]{0,80}', r'[^"\\\n]{1,200}'
"""What a model may write for a cell, a field of a .csv, and a value behind a name."""
WORD = re.compile(r"[^\W\d_][\w'\u2019-]*")


@frozen
class Row:
    """A row of a table with its cells and headings, or a line with a name and a value."""

    path: str
    line: str
    cells: tuple[str, ...]
    heads: tuple[str, ...] = ()

    def told(self) -> str:
        """Return the row with its headings: "Item butter, Amount 18"."""
        if not self.heads:
            return self.line
        pairs = zip(self.heads, self.cells, strict=True)
        return ", ".join(f"{head} {cell}" for head, cell in pairs)

    def form(self, new: Mapping[int, str], kept: Collection[int] = ()) -> str:
        """Return a regular expression for a line with as many cells: some have a `new` form, others
        are kept."""
        if not self.heads:
            name = escape_literal(self.line.removesuffix(self.cells[1]))
            name = name.replace(self.cells[0], f"({new[0]})") if 0 in new else name
            return name + (f"({new[1]})" if 1 in new else _VALUE)
        is_csv = self.path.endswith(".csv")
        cells = self.cells if is_csv else CELL_END.split(self.line)[1:-1]
        blank, end = (_FIELD, ",") if is_csv else (_CELL, r"\|")
        forms = [escape_literal(each) if at in kept else blank for at, each in enumerate(cells)]
        for at, form in new.items():
            forms[at] = f"({form})" if is_csv else f" ({form}) "
        return end.join(forms) if is_csv else rf"\|{end.join(forms)}\|"

    def number_form(self, number: str) -> str:
        """Return a regular expression for a number in a cell, with a mark as the others of the row
        have: of a .csv, whose cells end with a comma, without one."""
        plain = escape_literal(plain_number(number))
        has_points = "." in "".join(FRACTION.findall(self.line))
        return plain if self.path.endswith(".csv") or has_points else re.sub("[.,]", "[.,]", number)


def read_rows(path: str, text: str) -> Iterator[Row]:
    """Read the rows of a .csv or of the tables of Markdown, and lines such as "- Monday: soup"."""
    lines = [line.rstrip("\r") for line in text[:MAX_CHARS].split("\n")]
    if path.endswith(".csv"):
        heads, *rows = ((line, tuple(line.split(","))) for line in lines)
        found = [Row(path, line, cells, heads[1]) for line, cells in rows]
        yield from (row for row in found if len(row.cells) == len(heads[1]) > 1)
        return
    in_tables = {at: (tuple(heads), tuple(cells)) for at, heads, cells in table_rows(lines)}
    above: list[tuple[int, str]] = []  # the names that a line of YAML stands below
    for at, line in enumerate(lines):
        indent = len(line) - len(line.lstrip(" "))
        while above and line and above[-1][0] >= indent:
            above.pop()
        if line.endswith(":"):
            above.append((indent, line.strip(" :")))
        if at in in_tables:
            heads_here, cells = in_tables[at]
            if len(cells) == len(heads_here) and line.startswith("|") and line.endswith("|"):
                yield Row(path, line, cells, heads_here)
        elif labelled := _LABELLED.fullmatch(line):
            names = (*(name for _, name in above), labelled[2])
            yield Row(path, line, (" ".join(names), labelled[3]))


class Request:
    """What a request says. Its days are only read when a table may be about one: "3 days ago" loads
    a large library."""

    def __init__(self, text: str, today: date) -> None:
        self.text = unicodedata.normalize("NFC", text)  # as the words of its days
        self.today = today
        self.words = words_of(DECIMAL.sub(" ", self.text))

    @cached_property
    def days(self) -> Sequence[NamedDays]:
        return name_each_day(self.text, self.today)

    @cached_property
    def without_days(self) -> str:
        return without_days(self.text, self.days)

    @cached_property
    def numbers(self) -> Sequence[str]:
        """Return its different numbers but those of its days."""
        return [*dict.fromkeys(FIGURE.findall(self.without_days))]

    @property
    def times(self) -> Sequence[str]:
        """Return its times of day and scores."""
        return [each for each in self.numbers if AMOUNT.sub("", each)]

    @property
    def spans(self) -> Sequence[Span]:
        """Return the times that the first of its days may be."""
        return self.days[0].spans if self.days else ()

    def share_of_day(self, cell: str) -> int:
        """Return 1 for a day to come that the request names, else 0: a day that is over is that of
        another row of a log."""
        is_later = ISO_DAY.fullmatch(cell) and cell > self.today.isoformat()
        return int(
            bool(is_later) and any(str(first) == cell == str(last) for first, last in self.spans)
        )

    def day_form(self) -> str:
        """Return a regular expression for the days that it may mean, else for today."""
        spans = self.spans or [(self.today, self.today)]
        days = {first.isoformat(): first for first, last in spans if first == last}
        return "|".join(days) or ISO_DAY.pattern


def share_said(cell: str, said: Set[str], *, is_first: bool = False) -> float:
    """Return the share of a cell's words that are said. A number names a row when it is all that
    stands in the first cell."""
    folded = cell.casefold()
    if not any(word in folded for word in said):  # quicker than all words of a long file
        return 0
    words = words_of(cell)
    if DIGIT.search(cell) and not (is_first and cell.strip().isdigit()):
        return 0
    if not words <= said and max(map(len, words & said), default=0) < SHORTEST_PART:
        return 0
    return len(words & said) / max(1, len(words))


def words_of(*texts: str) -> set[str]:
    """Return the words of texts that may name something: numbers, and words that are not small."""
    words = (word for text in texts for word in significant_words(text))
    return {word for word in words if len(word) >= SHORTEST or word.isdigit()}
