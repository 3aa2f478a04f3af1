"""Finds the new rows of tables, and the new lines of lists, that a request may be for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from itertools import chain
from pathlib import PurePath

from openclaw.frozen import frozen
from openclaw.memory.rows import (
    AMOUNT,
    DECIMAL,
    DIGIT,
    FIGURE,
    FRACTION,
    ISO_DAY,
    WORD,
    Request,
    Row,
    words_of,
)
from openclaw.nlp.skill_instructions import escape_literal

MOST_NEW, LONGEST_NUMBER = 50, 9
"""A number so little above the last one is that of a new row, and the digits that it may have."""
BEGINNING = 5  # letters that two forms of a word have in common ("Auftrag", "auftraege.csv")
_NUMBER = re.compile(r"(?<!\d )\b\d+\b(?! \d)")  # no part of a telephone number
FEWEST_CELLS = 3  # a request lists so many cells of a new row
MOST_WORDS, _CLAUSE_END = 8, re.compile(r"[,;.!?:] ?")


@frozen
class NewLine:
    """A regular expression for a new line at the end of a table or list of a file.

    last_of_log  the last of the lines that are there, if they begin with their days
    surely       the request is surely for it
    """

    path: str
    form: str
    last_of_log: str = ""
    surely: bool = False


def growing_tables(rows: Sequence[Row], end: str) -> Iterator[Sequence[Row]]:
    """Yield the tables that a new row may go to, of those with as many columns the last one, and
    the named values of which the last one ends the file, as its line `end`."""
    tables: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        tables.setdefault(row.heads, []).append(row)
    for heads in {len(row.heads): row.heads for row in rows}.values():
        if heads or tables[heads][-1].line == end:
            yield tables[heads]


def find_new_number(said: Request, rows: Sequence[Row]) -> str:
    """Return the number of a new row that a request names, with its file or a heading, where each
    row has one in its first cell and the request none of these; "" for none."""
    known = [row.cells[0] for row in rows]
    plain = all(each.isdecimal() and len(each) <= LONGEST_NUMBER for each in known)
    if not rows[0].heads or not plain or len({*known}) < max(2, len(rows)):
        return ""
    kinds = words_of(PurePath(rows[0].path).stem, *rows[0].heads)
    begins = {word[:BEGINNING] for word in said.words}
    if not begins.intersection(word[:BEGINNING] for word in kinds):  # "the dentist is on the 12th"
        return ""
    last = max(map(int, known))
    new = range(last + 1, last + MOST_NEW + 1)
    numbers = _NUMBER.findall(DECIMAL.sub(" ", said.text))
    found = [each for each in numbers if len(each) <= LONGEST_NUMBER and int(each) in new]
    return found[0] if len(found) == 1 and not {*known}.intersection(numbers) else ""


def _new_name(said: Request, rows: Sequence[Row]) -> str:
    """Return a regular expression, in any case, for the first cell of a new row whose cells a
    request lists behind the name of the file or of the first heading: "new dog: Luna, whippet, 40".
    "" for none, without a figure where the rows have some, and else without a word of them."""
    before, _, behind = said.text.partition(": ")
    cells, heads = behind.split(","), rows[0].heads
    kinds, words = words_of(PurePath(rows[0].path).stem, *heads[:1]), words_of(before)
    is_kind = {word[:BEGINNING] for word in kinds} & {word[:BEGINNING] for word in words}
    name = cells[0].split()
    if not is_kind or not FEWEST_CELLS <= len(cells) <= len(heads) or not name:
        return ""
    has_figures = any(DIGIT.search(cell) for row in rows for cell in row.cells)
    known = words_of(*heads, *chain.from_iterable(row.cells for row in rows))
    is_alike = DIGIT.search(behind) if has_figures else known & words_of(*cells[1:])
    if not is_alike or {'"', "\\", "|"} & {*cells[0]}:
        return ""
    if ISO_DAY.fullmatch(rows[-1].cells[0]):
        return ISO_DAY.pattern
    first = (f"[{each[0].upper()}{each[0].lower()}]{escape_literal(each[1:])}" for each in name)
    return " ".join(first) if all(each[0].isalpha() for each in name) else ""


def find_new_line(said: Request, rows: Sequence[Row], *, at_end: bool) -> NewLine | None:
    """Return a new line behind these, if one may follow. A request is surely for it when it lists
    the cells of a row; behind lines of days when it has a number and names all of the headings, or
    the file that ends with them, or has half of the words of the last one."""
    last = rows[-1]
    is_log = ISO_DAY.fullmatch(last.cells[0]) is not None
    if name := _new_name(said, rows):
        return NewLine(last.path, f"^{last.form({0: name})}$", surely=True)
    if last.heads:
        told, file = words_of(*last.heads[1:]), words_of(PurePath(last.path).stem)
        by_heads = bool(told) and told <= said.words
        is_named = by_heads or (at_end and bool(file & said.words))
        has_number = any(map(str.isdigit, said.words)) or bool(FRACTION.search(said.text))
        surely = is_log and is_named and has_number
    elif is_log:
        told = {word for word in words_of(last.cells[1]) if word.isalpha()}
        surely = 0 < len(told) <= 2 * len(told & said.words)
    else:
        return None
    form = last.form(_new_cells(said, rows) if is_log else {})
    return NewLine(last.path, f"^{form}$", last.line if is_log else "", surely)


def _new_cells(said: Request, rows: Sequence[Row]) -> dict[int, str]:
    """Return the forms of the cells of a new line of a log: the day, in a table also the number of
    the only column of numbers, and for a column of words what the request says of the number, or
    what stands there already and is said or stands there more than once."""
    new = {0: said.day_form()}
    if not rows[0].heads:
        return new
    words = words_of(said.without_days)
    about = words_of(PurePath(rows[0].path).stem, *rows[0].heads)
    said_of_it = _words_beside_number(said.without_days, about)
    columns = [*enumerate(zip(*(row.cells for row in rows), strict=True))][1:]
    for n, column in columns:
        known = Counter(column)
        kinds = [cell for cell in known if known[cell] > 1 or words_of(cell) <= words]
        texts = [*filter(None, (*kinds, said_of_it))]
        if texts and not any(map(DIGIT.search, column)):
            new[n] = "|".join(map(escape_literal, texts))
    counted = [n for n, column in columns if all(map(AMOUNT.fullmatch, column))]
    if len(counted) == len(said.numbers) == 1:
        new[counted[0]] = rows[-1].number_form(said.numbers[0])
    return new


def _words_beside_number(request: str, about: Set[str]) -> str:
    """Return the words of a clause behind the number of a request, else before it, from the first
    to the last that is neither small nor what the whole table is `about`."""
    before, _, behind = request.partition(next(iter(FIGURE.findall(request)), "\0"))
    clauses = _CLAUSE_END.split(behind)
    for part in (*clauses, *_CLAUSE_END.split(before)):
        words = WORD.findall(part)
        telling = [at for at, word in enumerate(words) if words_of(word) - about]
        if part is clauses[0] and telling[:1] == [0] and telling[1:2] > [1]:
            telling = telling[1:]  # "42 euros for dinner"
        if telling:
            return " ".join(words[telling[0] : telling[-1] + 1][:MOST_WORDS])
    return ""
