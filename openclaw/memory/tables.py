"""Reads tables of Markdown and comma-separated values, and adds up their columns."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import chain, groupby, islice, pairwise

from openclaw.nlp.dates import MONTH, find_named_day, has_date, parse_day
from openclaw.nlp.words import content_words

_TABLE_RULE = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?$")
_NUMBER = re.compile(r"-?\d[\d.,]*(?<![.,])")
_POINT = re.compile(r"-?(?:0|[1-9]\d*|[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d+)?")
_COMMA = re.compile(r"-?(?:0|[1-9]\d*|[1-9]\d{0,2}(?:\.\d{3})+)(?:,\d+)?")
YEARS = range(1900, 2100)
MAX_SUMS = 12
MAX_COMPARED = 20
LONGEST_DAY = 20
_OURS = frozenset(("rows", "where", "is", "with"))
_PARTS = re.compile(r"[^\W\d_]+|\d+")
ADDED_UP = "[added up: "
_ITEM = re.compile(r"(?:[-*+]|\d+[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(.*)")
_AMOUNT = re.compile(r"\d[\d.,]*(?<![.,])[ \t]?(?:[^\W\d_]+|[€$£])")


def table_sums(text: str, first: int, last: int, request: str = "") -> list[str]:
    """What each column of numbers adds up to in the tables of a text, Markdown or comma-separated,
    of which a line lies within these, from 1, inclusive: "COLUMN: SUM UNIT", and "COLUMN
    where OTHER is VALUE: SUM UNIT" for each value of another column that has two; of several rows
    with a word of the request "rows with WORD: COUNT" and "COLUMN with WORD: SUM UNIT".

    A column counts when each of at least two rows has one number with the same unit, a list when
    each of its items has: "whole list: SUM UNIT". Each sum is followed by its mean. Years and
    running numbers are not added, nor a column whose last row holds the sum already. What has most
    words of the request comes first, and stands alone when these are several: a small model takes
    the first.
    """
    asked = {*_PARTS.findall(request.lower())} - _OURS

    def shared(told: str) -> int:
        return len(asked.intersection(_PARTS.findall(told.partition(": ")[0].lower())))

    found = [*islice(_find_sums(text, first, last, request), MAX_SUMS**2)]
    found.sort(key=shared, reverse=True)
    best = shared(found[0]) if found else 0
    return [each for each in found if best < 2 or shared(each) == best][:MAX_SUMS]


def _find_sums(text: str, first: int, last: int, request: str) -> Iterator[str]:
    words = dict.fromkeys(content_words(request))
    for begin, end, heads, rows in _tables(text):
        if begin > last or end < first:
            continue
        columns = [[row[at] for row in rows if at < len(row)] for at in range(len(heads))]
        columns = [cells if len(cells) == len(rows) > 1 else [] for cells in columns]
        groups = [(heads[at], cells) for at, cells in enumerate(columns) if _is_group(cells)]
        row_words = [words.keys() & content_words(" ".join(row)) for row in rows]
        counts = Counter(chain.from_iterable(row_words))
        some = [word for word in words if 1 < counts[word] < len(rows)]
        yield from (f"rows with {word}: {counts[word]}" for word in some)
        for name, cells in zip(heads, columns, strict=True):
            amounts, places, unit = _read_column(cells)
            if not amounts:
                continue
            yield f"{name}: {_show_sum(amounts, places, unit)}"
            for head, keys in groups:
                for key in dict.fromkeys(keys):
                    own = [n for k, n in zip(keys, amounts, strict=True) if k == key]
                    yield f"{name} where {head} is {key}: {_show_sum(own, places, unit)}"
            for word in some:
                own = [n for n, said in zip(amounts, row_words, strict=True) if word in said]
                yield f"{name} with {word}: {_show_sum(own, places, unit)}"


def compare_days(text: str, first: int, last: int, request: str, today: date) -> list[str]:
    """The rows, by their first cells, of the tables as in `table_sums` whose days are before and
    after the one that the request names, else before today: "COLUMN before DAY: ROW, ROW". A
    column of days counts when it has some on both sides, and without years only beside a day."""
    said = find_named_day(request)
    named = parse_day(said, today) if said else None
    told = []
    for begin, end, heads, rows in _tables(text):
        if begin > last or end < first or len(rows) > MAX_COMPARED:
            continue
        for at, head in enumerate(heads):
            cells = [row[at] if at < len(row) else "" for row in rows]
            if not all(len(each) < LONGEST_DAY and has_date(each) for each in cells):
                continue
            days = [parse_day(each, today) for each in cells]
            known = named or all(re.search(r"\d{4}", each) for each in cells)
            mark = named or today
            before = [row[0] for row, day in zip(rows, days, strict=True) if day and day < mark]
            after = [row[0] for row, day in zip(rows, days, strict=True) if day and day > mark]
            if known and all(days) and before and after:
                told.append(f"{head} before {mark}: {', '.join(before)}")
                told += [f"{head} after {mark}: {', '.join(after)}"] if named else []
    return told


def show_sums(text: str, first: int, last: int, request: str, today: date) -> str:
    """Lines below these lines of a text for a model, which adds and compares badly: what the whole
    tables add up to that they are of, their rows with a word of the request, and those before a
    day; "" for nothing of that."""
    found = table_sums(text, first, last, request)
    days = compare_days(text, first, last, request, today)
    added = f"\n{ADDED_UP}{', '.join(found)}]" if found else ""
    return added + (f"\n[{'; '.join(days)}]" if days else "")


def _tables(text: str) -> Iterator[tuple[int, int, list[str], list[list[str]]]]:
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
            yield found[0][0], found[-1][0], ["whole list", ""], rows


def _records(lines: Sequence[str]) -> list[list[str]]:
    """The rows of comma-separated values, with the headings; nothing for another text."""
    if not lines or "," not in lines[0] or any(map(_NUMBER.fullmatch, lines[0].split(","))):
        return []
    try:
        rows = [*csv.reader(filter(None, lines), skipinitialspace=True)]
    except csv.Error:  # a field is too long
        return []
    return rows if len({*map(len, rows)}) == 1 < len(rows) - 1 else []


def _is_group(cells: Sequence[str]) -> bool:
    """Return True for a column with two values in more rows, such as yes and no."""
    return len({*cells}) == 2 < len(cells) and not any(map(_NUMBER.search, cells))


def _show_sum(amounts: Sequence[float], places: int, unit: str) -> str:
    total, mean = sum(amounts), sum(amounts) / len(amounts)
    return f"{f'{total:.{places}f} {unit}'.strip()} (mean {mean:.{places + 1}f})"


def _read_column(cells: Sequence[str]) -> tuple[list[float], int, str]:
    """The amounts of a column, their most decimal places and their unit; no amounts for cells that
    are none, or that are not to be added."""
    nothing: tuple[list[float], int, str] = ([], 0, "")
    numbers = [_NUMBER.findall(cell) for cell in cells]
    units = {_NUMBER.sub("", cell).strip() for cell in cells}
    if len(units) != 1 or any(len(each) != 1 for each in numbers):
        return nothing
    if re.fullmatch(MONTH, next(iter(units)), re.I):
        return nothing  # days
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
    if not all(map(form.fullmatch, numbers)):
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
