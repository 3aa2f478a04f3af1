"""Finds the row of a table, or the line with a name and a value, that a request names.

Told "butter is down to 9 kg", a small model writes the 9 behind the name, into another row, or
makes a to-do of it. The words alone tell which line it is, and what must stay in it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence, Set
from datetime import date
from decimal import Decimal
from itertools import chain, pairwise

from openclaw.frozen import frozen
from openclaw.memory.changed_figures import find_changed_figure
from openclaw.memory.new_rows import (
    LONGEST_NUMBER,
    NewLine,
    find_new_line,
    find_new_number,
    growing_tables,
)
from openclaw.memory.rows import (
    AMOUNT,
    DIGIT,
    FIGURE,
    ISO_DAY,
    MAX_CHARS,
    SHORTEST_PART,
    WORD,
    Request,
    Row,
    read_rows,
    share_said,
    words_of,
)
from openclaw.memory.tables import is_group, plain_number
from openclaw.nlp.dates import find_named_day
from openclaw.nlp.skill_instructions import escape_literal
from openclaw.nlp.words import denied_words, has_negation
from openclaw.storage.file_kinds import kind_by_name

MOST_NAMED = 3  # more rows than this are not named but meant together
BULLETS = ("- ", "* ", "+ ")
SHORTEST_VALUE = 4  # letters of a word that may be the value of a cell
HALF = 0.5  # the share of the words of a cell that name its row: of a person, the first name
_THOUSANDS = re.compile(r"[.,]\d{3}(?!\d)")
_PLAIN, _NEGATIVE = re.compile(r"\d+(?:[.,]\d+)?"), re.compile(r"[-\u2212]\d")
_JOIN = re.compile(r"[\s,&+]+(?:(?:and|und|et|y|e|en)\s+)?", re.IGNORECASE)


@frozen
class RowEdit:
    """A row that is named, and what may become of it.

    form  a regular expression for the lines that may replace it
    free  the columns that may differ
    sums  what its number is with the one that is said, less and more: "120 - 10 = 110"
    """

    row: Row
    form: str
    free: Collection[int] = ()
    sums: tuple[str, ...] = ()


@frozen
class NamedRows:
    """What a request may change in the tables that are about it.

    edits      the rows that it names
    new        the new lines of tables and lists
    surely     it says so more than once: by a heading, the file's name or another cell of the table
    all_meant  it names the rows side by side, and the one column that is to change
    """

    edits: tuple[RowEdit, ...] = ()
    new: tuple[NewLine, ...] = ()
    surely: bool = False
    all_meant: bool = False


@frozen
class _Named:
    """A row that a request names by the cell `at`, and all rows of its file.

    rank    whether all of several words of the cell are said, how many words of the row are, and
            the share of the cell's
    surely  others are said too
    """

    rank: tuple[bool, int, float]
    surely: bool
    rows: Sequence[Row]
    row: Row
    at: int


def tell_named_rows(path: str, text: str, first: int, last: int, request: str) -> list[str]:
    """Return the rows of tables in these lines of a text, from 1, whose first cell a request names,
    each with its headings; none where it names many, or all that are there."""
    said, lines = words_of(request), {*text.split("\n")[first - 1 : last]}
    rows = [row for row in read_rows(path, text) if row.heads and row.line in lines]
    named = [row.told() for row in rows if share_said(row.cells[0], said, is_first=True) == 1]
    return named if len(named) < min(len(rows), MOST_NAMED + 1) else []


def find_rows_not_asked(path: str, text: str, request: str) -> tuple[set[str], str]:
    """Return the lines of the rows that a question such as "who has not paid?" does not ask for,
    and what it asks for: behind the no it names a column of two values, or one of these. A small
    model tells of all rows. None where the question names a row, or where not all can be read."""
    denied, said = words_of(denied_words(request)), words_of(request)
    if not denied or len(text) > MAX_CHARS or (path.endswith(".csv") and '"' in text):
        return set(), ""
    rows = [row for row in read_rows(path, text) if row.heads]
    for heads in dict.fromkeys(row.heads for row in rows):
        table = [row for row in rows if row.heads == heads]
        columns = [*zip(*(row.cells for row in table), strict=True)]
        groups = {n: {*column} for n, column in enumerate(columns) if is_group(column)}
        others = (cell for n, column in enumerate(columns) if n not in groups for cell in column)
        if any(share_said(cell, said) >= HALF for cell in others):
            continue
        for n, values in groups.items():
            if asked := _asked_by_no(denied, heads[n], values):
                left_out = {row.line for row in table if row.cells[n] != asked}
                return left_out, f"rows with {heads[n]} {asked}: {columns[n].count(asked)}"
    return set(), ""


def _asked_by_no(denied: Set[str], head: str, values: Set[str]) -> str:
    """Return which of the two values of a column a question asks for that denies these words, ""
    for none."""
    named = {value for value in values if share_said(value, denied) == 1}
    noes = {value for value in values if has_negation(value)}
    if len(named) == 1:
        return next(iter(values - named))
    is_asked = share_said(head, denied) >= HALF and not has_negation(head)
    return noes.pop() if len(noes) == 1 and is_asked else ""


def find_named_rows(request: str, files: Collection[tuple[str, str]], today: date) -> NamedRows:
    """Find the lines of these files, (path, text), that a request names, or is like a new one of.
    Of several lines these are the ones with the most words of the request; where there is none, the
    line of a text of which it tells another number."""
    said = Request(request, today)
    named: list[_Named] = []
    new: list[NewLine] = []
    for path, text in files:
        rows = [row for row in read_rows(path, text) if not {'"', "\\"} & {*row.line}]
        if not rows:
            continue
        end = text.rstrip().rpartition("\n")[2]
        for table in growing_tables(rows, end):
            number = find_new_number(said, table)
            is_known = re.search(rf"^\W*{number}\b", text, re.MULTILINE)  # in a row not read
            if number and not is_known:
                form = table[-1].form({0: number})
                return NamedRows(new=(NewLine(path, f"^{form}$"),), surely=True)
            if line := find_new_line(said, table, at_end=table[-1].line == end):
                new.append(line)
        named += _find_named(said, rows)
    best = max((each.rank for each in named), default=None)
    named = [each for each in named if each.rank == best]
    named = named if len(named) <= MOST_NAMED else []
    in_one_file = len({each.row.path for each in named}) == 1  # "contact" stands in many
    surely = in_one_file and any(each.surely for each in named)
    meant = tuple(each for each in new if each.surely)
    if meant and (not surely or _are_of_other_days(said, [each.row for each in named])):
        return NamedRows(new=meant, surely=True)
    changed = None if surely else find_changed_figure(said, files)
    if changed and (changed.surely or not named):
        row = Row(changed.path, changed.line, ())
        return NamedRows((RowEdit(row, changed.form),), tuple(new), changed.surely)
    edits = tuple(_edit_of(said, each) for each in named)
    columns = {*chain.from_iterable(each.free for each in edits)}
    all_meant = surely and len(columns) == 1 and _are_joined(said, named)
    return NamedRows(edits, tuple(new), surely, all_meant)


def _are_joined(said: Request, named: Sequence[_Named]) -> bool:
    """Return True when several rows are named side by side: "Kieran and Finn", not "tell mum that
    the phone of Tom is broken"."""
    names = [words_of(each.row.cells[each.at]) for each in named]
    words = [*WORD.finditer(said.text)]
    spots = [[word.span() for word in words if name & words_of(word[0])] for name in names]
    if len(spots) < 2 or not all(spots):
        return False
    places = sorted((min(spot)[0], max(spot)[1]) for spot in spots)
    between = (said.text[end:start] for (_, end), (start, _) in pairwise(places))
    return all(map(_JOIN.fullmatch, between))


def _are_of_other_days(said: Request, rows: Sequence[Row]) -> bool:
    """Return True for rows that each have a day, none of which the request may mean by its own."""
    spans = [(first.isoformat(), last.isoformat()) for first, last in said.spans]
    days = [[*filter(ISO_DAY.fullmatch, row.cells)] for row in rows]
    is_said = any(first <= day <= last for day in chain(*days) for first, last in spans)
    return bool(spans) and all(days) and not is_said


def find_displaced(path: str, old: str, new: str, request: str) -> str:
    """Return the row that an edit of a file puts another one in the place of, when the request has
    no word of it but all of the other's name, when a third row has this name and no two had one, or
    a line with words of the request alone that is no row; or an item of a list; "" for none."""
    if kind_by_name(path) == "code" or max(len(old), len(new)) > MAX_CHARS:
        return ""  # a program has no end to add to; of a longer text only the beginning is read
    if item := _displaced_item(old, new, request):
        return item
    before, after = ({row.line: row for row in read_rows(path, text)} for text in (old, new))
    lost = [row for line, row in before.items() if line not in after]
    won = [row for line, row in after.items() if line not in before]
    if len(lost) != 1 or len(won) > 1:
        return ""
    if not won:
        added, about = {*new.splitlines()} - {*old.splitlines()}, words_of(lost[0].line)
        told, said = words_of(*added), words_of(request)
        return lost[0].line if said & told and not about & (said | told) else ""
    if lost[0].cells[0] == won[0].cells[0]:
        return ""
    if not lost[0].heads and lost[0].cells[1] == won[0].cells[1]:
        return ""  # only the name is another one: a day, a variable
    names = [row.cells[0] for row in before.values() if row.heads == won[0].heads != ()]
    if won[0].cells[0] in names and len({*names}) == len(names):
        return lost[0].line
    said, name = words_of(request), words_of(won[0].cells[0])
    shared = said & words_of(*lost[0].cells)
    telling = {word for word in shared if len(word) >= SHORTEST_PART or not word.isalpha()}
    is_named = set() < words_of(lost[0].cells[0]) <= said
    is_meant = telling or is_named or not name or not name <= said
    return "" if is_meant else lost[0].line


def _displaced_item(old: str, new: str, request: str) -> str:
    """Return the item of a list of which an edit takes most words, though the request says none of
    these, for words of the request alone: "bought an ice spray" is none for "first-aid bag, ice
    spray empty"; "" for none."""
    before, after = old.splitlines(), new.splitlines()
    lost, won = ([*{*one}.difference(other)] for one, other in ((before, after), (after, before)))
    if not len(lost) == len(won) == 1 or not lost[0].lstrip().startswith(BULLETS):
        return ""
    # Another day, hour or amount is the same item.
    was = {*filter(str.isalpha, words_of(lost[0]))}
    becomes, said = words_of(won[0]), words_of(request)
    added, gone = becomes - was, was - becomes - said
    return lost[0] if added and added <= said and 2 * len(gone) > len(was) else ""


def _find_named(said: Request, rows: Sequence[Row]) -> Iterator[_Named]:
    """Find the rows of a file that are named: by their first cell, where these are numbers or days
    also by another one, that no other row has in this column."""
    counts = Counter(each for row in rows for each in enumerate(row.cells))
    lines = Counter(row.line for row in rows)
    numbered = all(DIGIT.search(row.cells[0]) for row in rows)
    words: Set[str] | None = None  # most requests name no row, and then nobody needs them
    repeated: Set[str] = frozenset()
    for row in rows:
        for at, cell in enumerate(row.cells if numbered else row.cells[:1]):
            share = said.share_of_day(cell) or share_said(cell, said.words, is_first=at == 0)
            if share < HALF or counts[at, cell] > 1 or lines[row.line] > 1:
                continue
            if words is None:
                others = [each for other in rows if other.heads for each in other.cells[1:]]
                words = said.words & words_of(row.path, *row.heads, *others)
                common = (each for (at, each), n in counts.items() if at and n > 1)
                repeated = said.words & words_of(*common)
            name, own = words_of(cell), words_of(row.path, *row.heads, *row.cells)
            is_day = find_named_day(cell) == cell
            about = (said.words & own) | (repeated if is_day else words)
            other = {*filter(str.isalpha, about - name)}
            is_timed = any(_is_alike(time, each) for time in said.times for each in row.cells)
            if not (other or is_timed) and (is_day or (at and row.cells[0].isdigit())):
                continue  # "the dentist is on Monday", "the bill is paid"
            is_full = share == 1 and len(name) > 1
            is_clear = bool(other) or (is_full and not row.heads)
            surely = is_clear and len(_lacking_numbers(said, row)) < 2
            yield _Named((is_full, len(said.words & own), share), surely, rows, row, at)
            break


def _edit_of(said: Request, named: _Named) -> RowEdit:
    """Return the edit of a row that is named by a cell: of a heading or a value of another row that
    is said too only this column is free. A day that is said comes in place of the row's, and a
    number into a cell with one: a small model writes the row again as it was."""
    row, columns = named.row, {*range(len(named.row.cells))}
    table = [each.cells for each in named.rows if each.heads == row.heads]
    name = {named.at, 0} if row.cells[0].isdigit() else {named.at}
    by_head = {n for n, head in enumerate(row.heads) if share_said(head, said.words) >= HALF}
    by_value = {
        n
        for n in columns
        for other in {cells[n] for cells in table} - {row.cells[n]}
        if share_said(other, said.words) == 1
    }
    free = (by_head - name) or (by_value - name) or (columns - name)
    days = _new_days(said, table)
    dated = sorted(n for n in free & days.keys() if days[n])
    dated = [n for n in dated if not ISO_DAY.fullmatch(row.cells[n])][:1] or dated[:1]
    lacking = _lacking_numbers(said, row)
    number = lacking.pop() if len(lacking) == 1 else ""
    others = free - days.keys() if number else ()
    alike = [n for n in others if any(_is_alike(number, cells[n]) for cells in table)]
    counted = [n for n in alike if not row.cells[n] or _is_alike(number, row.cells[n])]
    counted = counted or [n for n in others if DIGIT.search(row.cells[n])]
    if not counted:
        free, new = {*dated} or free, {n: days[n] for n in dated}
        if not dated and len(free) == 1:
            new = {n: form for n in free if (form := _value_form(said, row, n, table))}
        return RowEdit(row, f"^{row.form(new, columns - free)}$", free)
    new = {n: f"{days[n]}|{row.cells[n]}" for n in dated}  # the day may stay as it is
    sums = _reckon(row.cells[counted[0]], number)
    forms = dict.fromkeys(counted, row.number_form(number))
    forms[counted[0]] = "|".join((forms[counted[0]], *map(row.number_form, sums)))
    if AMOUNT.sub("", number):  # a time or a score says nothing of other columns
        free = {*counted, *dated}
    kept = columns - (free - {*counted})  # only one of the numbers changes
    news = ({**new, n: _in_place_of(row.cells[n], forms[n])} for n in counted)
    either = "|".join(row.form(each, kept) for each in news)
    return RowEdit(row, f"^({either})$", free, tuple(sums.values()))


def _value_form(said: Request, row: Row, n: int, table: Sequence[tuple[str, ...]]) -> str:
    """Return the form of another cell in a column of two values: the other one, or a word that is
    said and is not the heading's: a small model writes "paid" where the others are "yes"."""
    values = {cells[n] for cells in table}
    if not row.heads or not is_group([cells[n] for cells in table]):
        return ""
    known = words_of(row.heads[n], *row.cells)
    words = (w for w in WORD.findall(said.text) if len(w) >= SHORTEST_VALUE and words_of(w) - known)
    return "|".join(map(escape_literal, dict.fromkeys((*sorted(values - {row.cells[n]}), *words))))


def _lacking_numbers(said: Request, row: Row) -> set[str]:
    """Return the numbers of a request that the row lacks. Of several nobody knows which one comes
    into it."""
    return {*said.numbers}.difference(FIGURE.findall(row.line))


def _new_days(said: Request, table: Sequence[tuple[str, ...]]) -> dict[int, str]:
    """Return the form of a new day of each column of days, some of which may be open, such as "no":
    the day that a request names, "" for none or several. In a column of days that are over it is
    over too."""
    spans = said.spans if len(said.days) == 1 else ()
    new = {}
    for n, column in enumerate(zip(*table, strict=True)):
        known = [*filter(ISO_DAY.fullmatch, column)]
        if known and len({*column}.difference(known)) <= 1:
            is_over = max(known) <= said.today.isoformat()
            days = (first for first, last in spans if first == last)
            new[n] = "|".join(str(each) for each in days if (each <= said.today) == is_over)
    return new


def _is_alike(number: str, cell: str) -> bool:
    """Return True when a cell has a number with the same marks: both are times, or scores."""
    return any(AMOUNT.sub("", number) == AMOUNT.sub("", each) for each in FIGURE.findall(cell))


def _reckon(cell: str, said: str) -> dict[str, str]:
    """Return the number of a cell less the one that is said, and more, each with how it came: a
    small model does not reckon. In place of a part of one the hundredth: "15p" is 0.15. Nothing for
    what is no plain number."""
    figures = [*FIGURE.findall(cell), said]
    if len(figures) != 2 or not all(map(_is_plain, figures)) or _NEGATIVE.search(cell):
        return {}
    old, new = (Decimal(plain_number(each)) for each in figures)
    if 0 < old < 1 <= new == int(new):
        return {f"{new / 100:.2f}": f"{new} / 100 = {new / 100:.2f}"}
    sums = {"-": old - new, "+": old + new}
    return {str(n): f"{old} {sign} {new} = {n}" for sign, n in sums.items() if n >= 0}


def _is_plain(figure: str) -> bool:
    """Return True for a number that is surely read as it is meant: "1.200" may be 1200, and "1.2.3"
    is a version."""
    is_short = len(figure) <= LONGEST_NUMBER
    return is_short and bool(_PLAIN.fullmatch(figure)) and not _THOUSANDS.search(figure)


def _in_place_of(cell: str, number: str) -> str:
    """Return a regular expression for a cell with a number of this form, in place of its own if it
    has one."""
    several = len(FIGURE.findall(cell)) > 1
    no = rf'"|\\\n{"," * ("," not in cell)}{"0-9" * (not several)}'
    return rf"([^{no}]{{0,39}}[^{no}0-9])?({number})([^{no}0-9][^{no}]{{0,39}})?"
