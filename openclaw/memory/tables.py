"""Reads tables of Markdown and comma-separated values, and lists with amounts; adds them up."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from functools import lru_cache
from itertools import chain, compress, groupby, islice, pairwise
from typing import TypeVar

from openclaw.nlp.date_patterns import MONTH, has_date
from openclaw.nlp.dates import SIDES, NamedDays, find_named_day, name_days, parse_day
from openclaw.nlp.words import WORD, content_words

_TABLE_RULE = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?$")
NUMBER = re.compile(r"-?\d[\d.,]*(?<![.,])")
_POINT = re.compile(r"-?(?:0|[1-9]\d*|[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d+)?")
_COMMA = re.compile(r"-?(?:0|[1-9]\d*|[1-9]\d{0,2}(?:\.\d{3})+)(?:,\d+)?")
_MARKS = ((_POINT, ",", "."), (_COMMA, ".", ","))
"""The forms of a number, each with its mark of thousands and its point."""
NO_SUM = frozenset(("%", "am", "pm", "uhr"))
YEARS = range(1900, 2100)
MOST_DIGITS = 15  # a longer number is no exact float, and seldom an amount
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
    readings = [_read_amounts(found, *marks) for marks in _MARKS]
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


def plain_number(number: str) -> str:
    """Return a number without marks of thousands and with a point: "1200.50" for "1.200,50"."""
    marks = ((thousands, point) for form, thousands, point in _MARKS if form.fullmatch(number))
    thousands, point = next(marks, ("", ","))
    return number.replace(thousands, "").replace(point, ".")


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


# -------- what a model would have to add up, count or compare in a table: it does so badly

ADDED_UP = "[added up: "
MAX_SUMS = 12
MAX_COMPARED = 20
MAX_SIDES = 6
MAX_DAYS = 1_000
LONGEST_NAME = 80  # characters; a longer heading or first cell of a row is not repeated
LONGEST_DAY = 20
_OURS = frozenset(("rows", "where", "is", "with"))
_YEAR = re.compile(r"\d{4}")
_PARTS = re.compile(r"[^\W\d_]+|\d+")
Value = TypeVar("Value", date, float)
_FIGURE = re.compile(r"(?<![\w.,:/-])\d+(?:\.\d+)?(?![\w:/-]|[.,]\d)")


def show_table_facts(text: str, first: int, last: int, request: str, today: date) -> str:
    """Lines to stand below these lines of a text, from 1, inclusive: what the whole tables add up
    to of which one is there, and which rows are of or before a day or under a number, else ""."""
    sums = add_up(text, first, last, request, today)
    sides = compare_rows(text, first, last, request, today)
    added = f"\n{ADDED_UP}{', '.join(sums)}]" if sums else ""
    return added + (f"\n[{'; '.join(sides)}]" if sides else "")


def show_columns(text: str, first: int) -> str:
    """A line to stand below a row of a text, from 1, with the headings of its table, else ""; none
    of a table with very many or very long ones."""
    tables = ((begin, end, heads) for begin, end, heads, _ in find_tables(text))
    inside = (heads for begin, end, heads in tables if begin < first <= end)
    found = (each for each in inside if 1 < len(each) <= MAX_COMPARED and _are_names(each))
    return "".join(f"\n[columns: {', '.join(heads)}]" for heads in found)


def add_up(text: str, first: int, last: int, request: str, today: date) -> list[str]:
    """What each column of numbers adds up to in the tables of a text, Markdown or comma-separated,
    of which a line lies within these, from 1, inclusive: "COLUMN: SUM UNIT", and "COLUMN
    where OTHER is VALUE: SUM UNIT" for each value of another column that has two; of several rows
    with a word of the request or a day that it names "rows with WORD: COUNT" and "COLUMN with WORD:
    SUM UNIT".

    A column counts when each of at least two rows has one number with the same unit, a list when
    each of its items has: "whole list: SUM UNIT". Each sum is followed by its mean, that of a
    column by the rows with the least and the most. Years and running numbers are not added, nor a
    column whose last row holds the sum already. What has most words of the request comes first, and
    stands alone when these are several: a small model takes the first.
    """
    asked = {*_PARTS.findall(request.lower())} - _OURS

    def shared(told: str) -> int:
        return len(asked.intersection(_PARTS.findall(told.partition(": ")[0].lower())))

    found = [*islice(_find_sums(text, first, last, request, today), MAX_SUMS**2)]
    found.sort(key=shared, reverse=True)
    best = shared(found[0]) if found else 0
    return [each for each in found if best < 2 or shared(each) == best][:MAX_SUMS]


def _find_sums(text: str, first: int, last: int, request: str, today: date) -> Iterator[str]:
    said = {stem: word for word in WORD.findall(request) for stem in content_words(word)}
    for begin, end, heads, rows in find_tables(text):
        if begin > last or end < first:
            continue
        columns = [*zip(*rows, strict=False)] if len(rows) > 1 else []  # as far as all rows go
        known = [each for each in zip(heads, columns, strict=False) if _are_names(each[:1])]
        groups = [(head, cells) for head, cells in known if is_group(cells)]
        row_words = [said.keys() & content_words(" ".join(row)) for row in rows]
        counts = Counter(chain.from_iterable(row_words))
        by_rows: dict[tuple[bool, ...], list[str]] = {}  # the words that stand in the same rows
        for stem, word in said.items():
            if 1 < counts[stem] < len(rows):
                by_rows.setdefault(tuple(stem in each for each in row_words), []).append(word)
        some = {f"with {' '.join(words)}": [*own] for own, words in by_rows.items()}
        for head, cells in known:
            if days := _read_days(cells, today):
                named = name_days(request, today)
                if 1 < sum(own := named.find_in(days)) < len(rows):
                    some[f"with {head} {named.words}"] = own
        yield from (f"rows {told}: {sum(own)}" for told, own in some.items())
        names = _row_names(rows)
        for name, cells in known:
            amounts, places, unit = read_column(cells)
            counts_rows = cells is columns[0] and names is not cells and len(heads) > 1
            if not amounts or (counts_rows and amounts == sorted(amounts)):
                continue
            ends = _name_ends(names, amounts, places) if cells is not columns[0] else ""
            yield f"{name}: {_show_sum(amounts, places, unit, ends)}"
            for head, keys in groups:
                for key in dict.fromkeys(keys):
                    of_key = [n for k, n in zip(keys, amounts, strict=True) if k == key]
                    yield f"{name} where {head} is {key}: {_show_sum(of_key, places, unit)}"
            for told, own in some.items():
                yield f"{name} {told}: {_show_sum([*compress(amounts, own)], places, unit)}"


def _row_names(rows: Sequence[Sequence[str]]) -> Sequence[str]:
    """The cells of the first column in which all are different, not all are numbers and the first
    is no day; where there is none, a day may be it."""
    columns = [*zip(*rows, strict=False)]
    named = [
        cells
        for cells in columns
        if len({*cells}) == len(cells) and not all(map(str.isdecimal, cells))
    ]
    no_days = (cells for cells in named if not has_date(cells[0]))
    return next(no_days, (*named, *columns, ())[0])


def is_group(cells: Sequence[str]) -> bool:
    """Return True for a column with two values in more rows, such as yes and no."""
    values = {*cells}
    return (
        len(values) == 2 < len(cells) and _are_names(values) and not any(map(NUMBER.search, values))
    )


def _name_ends(names: Sequence[str], amounts: Sequence[float], places: int) -> str:
    """The rows with the least and the most; "" where several have so much."""
    ends = [(word, end(amounts)) for word, end in (("least", min), ("most", max))]
    if len(amounts) < 3 or not names or any(amounts.count(amount) > 1 for _, amount in ends):
        return ""
    told = [(word, names[amounts.index(n)], n) for word, n in ends]
    return "".join(
        f", {word} {name} {n:.{places}f}" for word, name, n in told if _are_names([name])
    )


def _are_names(cells: Iterable[str]) -> bool:
    return all(len(cell) <= LONGEST_NAME for cell in cells)


def _show_sum(amounts: Sequence[float], places: int, unit: str, ends: str = "") -> str:
    total, mean = sum(amounts), sum(amounts) / len(amounts)
    return f"{f'{total:.{places}f} {unit}'.strip()} (mean {mean:.{places + 1}f}{ends})"


def compare_rows(text: str, first: int, last: int, request: str, today: date) -> list[str]:
    """The rows of the tables as in `add_up`, by their names, whose days are before and after the
    one that the request names, in its words, else today: "rows with COLUMN before DAY (2): ROW,
    ROW"; those of the day with all their cells; those under and over the only number that it names,
    those with 0 where it names none; and those with each of the two values of a column. A column
    counts when it has rows on both sides, one of days without years only beside a day, and one of
    numbers that the request names before the others."""
    figures = _FIGURE.findall(request.replace(find_named_day(request) or " ", " "))
    told: list[str] = []
    for begin, end, heads, rows in find_tables(text):
        if begin > last or end < first:
            continue
        names, asked = _row_names(rows), {*_PARTS.findall(request.lower())}
        meant = {head for head in heads if asked & {*_PARTS.findall(head.lower())}}
        for at, head in enumerate(heads if _are_names(names) else ()):
            if not _are_names([head]):
                continue
            cells = tuple(row[at] if at < len(row) else "" for row in rows)
            if days := _read_days(cells, today):
                told += _compare_days(head, rows, cells, days, name_days(request, today), today)
            elif len({*filter(None, names)}) == len(rows) <= MAX_COMPARED and is_group(cells):
                for value in dict.fromkeys(cells):
                    own = [*compress(names, [cell == value for cell in cells])]
                    told.append(_tell_rows(f"{head} {value}", own))
            elif (
                len(rows) <= MAX_COMPARED
                and (not meant or head in meant)
                and len(figures) < 2
                and (amounts := read_column(cells)[0])
            ):
                if figures:
                    number = float(figures[0])
                    words = (f"under {figures[0]}", f"over {figures[0]}")
                    told += _split(head, names, amounts, (number, number), words)
                elif any(amounts) and 0 in amounts:  # what a stock has none of
                    told.append(
                        _tell_rows(f"{head} 0", [*compress(names, (not n for n in amounts))])
                    )
            if len(told) >= MAX_SIDES:
                return told
    return told


def _compare_days(
    head: str,
    rows: Sequence[Sequence[str]],
    cells: Sequence[str],
    days: Sequence[date],
    named: NamedDays,
    today: date,
) -> Iterator[str]:
    sides: list[str] = []
    if len(rows) <= MAX_COMPARED and (named.marks or all(map(_YEAR.search, cells))):
        said, marks = (named.words, named.marks) if named.marks else ("today", [(today, today)])
        names, words = _row_names(rows), (f"before {said}", f"after {said}")
        split = (_split(head, names, days, mark, words) for mark in marks)
        sides = next(filter(None, split), [])
    own = [", ".join(row) for row in compress(rows, named.find_in(days))]
    if 0 < len(own) <= min(MAX_SIDES, len(rows) - 1) and _are_names(own):
        yield _tell_rows(f"{head} {named.words}", own, "; ")
    yield from sides


@lru_cache(8)  # they are added up and compared
def _read_days(cells: tuple[str, ...], today: date) -> list[date]:
    """The days of a column, those without a year near today; none where a cell is no day."""
    if len(cells) > MAX_DAYS or not all(
        len(each) < LONGEST_DAY and has_date(each) for each in cells
    ):
        return []
    read = ([parse_day(each, today, prefer) for prefer in SIDES] for each in cells)
    days = [
        min(filter(None, each), key=lambda day: abs(day - today), default=None) for each in read
    ]
    return [day for day in days if day] if all(days) else []


def _split(
    head: str,
    names: Sequence[str],
    values: Sequence[Value],
    middle: tuple[Value, Value],
    words: tuple[str, str],
) -> list[str]:
    below = [name for name, value in zip(names, values, strict=True) if value < middle[0]]
    above = [name for name, value in zip(names, values, strict=True) if value > middle[1]]
    if not below or not above:
        return []
    sides = zip(words, (below, above), strict=True)
    return [_tell_rows(f"{head} {word}", rows) for word, rows in sides]


def _tell_rows(what: str, rows: Sequence[str], between: str = ", ") -> str:
    """Tell the rows and how many they are."""
    return f"rows with {what} ({len(rows)}): {between.join(rows)}"
