"""Reads the tables of Markdown, and adds up their columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

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
    found, end = [], 0
    for at, rule in enumerate(lines[1:], 1):
        if at < end or "|" not in rule or not _TABLE_RULE.match(rule):
            continue
        end = next((n for n in range(at + 1, len(lines)) if "|" not in lines[n]), len(lines))
        if at > last or end < first:
            continue
        rows = [_cells(row) for row in lines[at + 1 : end]]
        for column, name in enumerate(_cells(lines[at - 1])):
            cells = [row[column] for row in rows if column < len(row)]
            if len(cells) == len(rows) > 1 and (total := _sum_of(cells)):
                found.append(f"{name}: {total}")
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
        cells = _cells(bare)
        if not heads:
            heads = [cell.strip("*_`").casefold() for cell in cells]
            yield at, heads, []
        elif not is_table_rule(line):
            yield at, heads, cells


def _cells(row: str) -> list[str]:
    inner = row.removeprefix("|").removesuffix("|")
    return [cell.strip().replace("\\|", "|") for cell in _CELL.split(inner)]


def is_table_rule(line: str) -> bool:
    """Return True for the line below the headings of a table."""
    return _TABLE_RULE.match(line.strip()) is not None
