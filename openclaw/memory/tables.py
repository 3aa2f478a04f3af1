"""Reads tables of Markdown and comma-separated values, and lists with amounts."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise

from openclaw.nlp.date_patterns import MONTH, has_date

_TABLE_RULE = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?$")
NUMBER = re.compile(r"-?\d[\d.,]*(?<![.,])")
_POINT = re.compile(r"-?(?:0|[1-9]\d*|[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d+)?")
_COMMA = re.compile(r"-?(?:0|[1-9]\d*|[1-9]\d{0,2}(?:\.\d{3})+)(?:,\d+)?")
NO_SUM = frozenset(("%", "am", "pm", "uhr"))
YEARS = range(1900, 2100)
MOST_DIGITS = 15
"""A longer number is no exact float, and seldom an amount."""
_ITEM = re.compile(r"(?:[-*+]|\d+[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(.*)")
_AMOUNT = re.compile(r"(?<![\d.,])\d[\d.,]*(?<![.,])[ \t]?(?:[^\W\d_]+|[€$£])")


def find_tables(text: str) -> Iterator[tuple[int, int, list[str], list[list[str]]]]:
    """The tables of a text: the first and the last line, from 1, the headings and the rows."""
    # Not by `splitlines`: a cell may hold U+2028, and the lines are counted without it.
    lines = [line.strip() for line in re.split(r"\r\n|\r|\n", text)]
    if records := _records(lines):
        yield 1, len(lines), records[0], records[1:]
        return
    yield from _lists(lines)
    end = 0
    for at, rule in enumerate(lines[1:], 1):
        if at < end or "|" not in rule or not is_table_rule(rule):
            continue
        end = next((n for n in range(at + 1, len(lines)) if "|" not in lines[n]), len(lines))
        yield at, end, _cells(lines[at - 1]), [_cells(row) for row in lines[at + 1 : end]]


def _lists(lines: Sequence[str]) -> Iterator[tuple[int, int, list[str], list[list[str]]]]:
    """The lists whose items have an amount each, such as "2. Overture (4 min)", as tables."""
    for is_list, numbered in groupby(enumerate(lines, 1), lambda each: bool(_ITEM.match(each[1]))):
        found = [(at, item[1]) for at, line in numbered if (item := _ITEM.match(line))]
        amounts = [_AMOUNT.findall(item) for _, item in found]
        if is_list and all(len(each) == 1 for each in amounts):
            rows = [[amount, item] for (amount,), (_, item) in zip(amounts, found, strict=True)]
            yield found[0][0], found[-1][0], ["whole list"], rows


def _records(lines: Sequence[str]) -> list[list[str]]:
    """The rows of comma-separated values, with the headings; nothing for another text."""
    if not lines or "," not in lines[0] or _ITEM.match(lines[0]):
        return []
    if any(map(NUMBER.fullmatch, lines[0].split(","))):
        return []
    try:
        rows = [*csv.reader(filter(None, lines), skipinitialspace=True)]
    except csv.Error:  # a field is too long
        return []
    if len({*map(len, rows)}) != 1 or len(rows) < 3:
        return []
    return [] if any(map(_has_no_heading, zip(*rows, strict=True))) else rows


def _has_no_heading(column: Sequence[str]) -> bool:
    """Return True when the first cell is one of the others ("paid"), or like them ("900 euros")."""
    first, second = column[:2]
    if not NUMBER.search(first):
        return first != "" and first in column[1:]
    same_words = NUMBER.sub("", first) == NUMBER.sub("", second)
    return same_words or (has_date(first) and has_date(second))


def read_column(cells: Sequence[str]) -> tuple[list[float], int, str]:
    """The amounts of a column, their most decimal places and their unit; no amounts for cells that
    are none, or that are not to be added."""
    nothing: tuple[list[float], int, str] = ([], 0, "")
    numbers = [NUMBER.findall(cell) for cell in cells]
    units = {NUMBER.sub("", cell).strip() for cell in cells}
    if len(units) != 1 or any(len(each) != 1 for each in numbers):
        return nothing
    unit = next(iter(units)).casefold()
    if re.fullmatch(MONTH, unit) or unit in NO_SUM:
        return nothing  # days, times, shares
    found = [number for (number,) in numbers]
    readings = [
        _read_amounts(found, form, *marks) for form, marks in ((_POINT, ",."), (_COMMA, ".,"))
    ]
    both = all(readings) and readings[0] != readings[1]
    amounts, places = readings[0] or readings[1] or ([], 0)
    if both or not amounts:
        return nothing  # "1.200" may be more than a thousand, or less than two
    steps = {later - earlier for earlier, later in pairwise(amounts)}
    summed = round(amounts[-1] - sum(amounts[:-1]), places) == 0
    if summed or steps == {1} or all(each in YEARS for each in amounts):
        return nothing
    return amounts, places, units.pop()


def _read_amounts(
    numbers: Sequence[str], form: re.Pattern[str], thousands: str, point: str
) -> tuple[list[float], int] | None:
    """The numbers as amounts, and the most decimal places; None when one has not this form."""
    if not all(len(each) <= MOST_DIGITS and form.fullmatch(each) for each in numbers):
        return None
    plain = [number.replace(thousands, "").replace(point, ".") for number in numbers]
    return [float(each) for each in plain], max(len(each.partition(".")[2]) for each in plain)


CELL_END = re.compile(r"(?<!\\)\|")


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
        cells = _cells(bare)
        if not heads:
            heads = [cell.strip("*_`").casefold() for cell in cells]
            yield at, heads, []
        elif not is_table_rule(line):
            yield at, heads, cells


def _cells(row: str) -> list[str]:
    inner = row.removeprefix("|").removesuffix("|")
    return [cell.strip().replace("\\|", "|") for cell in CELL_END.split(inner)]


def is_table_rule(line: str) -> bool:
    """Return True for the line below the headings of a table."""
    return _TABLE_RULE.match(line.strip()) is not None
