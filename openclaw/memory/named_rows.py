"""Finds the row of a table, or the line with a name and a value, that a request names.

Told "butter is down to 9 kg", a small model writes the 9 behind the name, into another row, or
makes a to-do of it. The words alone tell which line it is, and what must stay in it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from datetime import date
from decimal import Decimal
from functools import cached_property
from itertools import chain, pairwise
from pathlib import PurePath

from openclaw.frozen import frozen
from openclaw.memory.tables import CELL_END, is_group, plain_number, table_rows
from openclaw.nlp.calendar_days import Span
from openclaw.nlp.dates import NamedDays, find_named_day, name_each_day, without_days
from openclaw.nlp.skill_instructions import escape_literal
from openclaw.nlp.words import denied_words, has_negation, significant_words
from openclaw.storage.file_kinds import kind_by_name

MOST_NAMED = 3  # more rows than this are not named but meant together
MAX_CHARS = 100_000  # characters; a longer file is not read for rows
MOST_NEW, LONGEST_NUMBER = 50, 9
"""A number so little above the last one is that of a new row, and the digits that it may have."""
BEGINNING = 5  # letters that two forms of a word have in common ("Auftrag", "auftraege.csv")
HALF = 0.5  # the share of the words of a cell that name its row: of a person, the first name
SHORTEST, SHORTEST_PART = 2, 3
"""Letters of a word that may name a row, and of one that does where the name has more words: in "le
plombier" not the first."""
_LABELLED = re.compile(
    r"( *(?:[-*+] +)?[*_]{0,2}([^|:=#\s][^|:=#]{0,39}?)[*_]{0,2}(?:: +| *= *))(\S.*)"
)
_ISO_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_NUMBER = re.compile(r"(?<!\d )\b\d+\b(?! \d)")  # no part of a telephone number
_DIGIT = re.compile(r"\d")
_FIGURE = re.compile(r"\d+(?:[.,:/-]\d+)*")  # a number, a time, a score
_AMOUNT, _THOUSANDS = re.compile(r"\d+(?:[.,]\d+)*"), re.compile(r"[.,]\d{3}(?!\d)")
_PLAIN, _NEGATIVE = re.compile(r"\d+(?:[.,]\d+)?"), re.compile(r"[-\u2212]\d")
_DECIMAL, _FRACTION = re.compile(r"\d+(?:[.,:/-]\d+)+"), re.compile(r"\d[.,]\d")
_CELL, _FIELD, _VALUE = r'[^"\\|\n]{1,80}', r'[^",\\\n]{0,80}', r'[^"\\\n]{1,200}'
"""What a model may write for a cell, a field of a .csv, and a value behind a name."""
FEWEST_CELLS = 3  # a request lists so many cells of a new row
MOST_WORDS, _CLAUSE_END = 8, re.compile(r"[,;.!?:] ?")
_JOIN = re.compile(r"[\s,&+]+(?:(?:and|und|et|y|e|en)\s+)?", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_][\w'\u2019-]*")


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
        """Return a regular expression for a number in a cell: of a .csv, whose cells end with a
        comma, without one."""
        plain = escape_literal(plain_number(number))
        return plain if self.path.endswith(".csv") else re.sub("[.,]", "[.,]", number)


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
class NewLine:
    """A regular expression for a new line at the end of a table or list of a file.

    last_of_log  the last of the lines that are there, if they begin with their days
    surely       the request is surely for it
    """

    path: str
    form: str
    last_of_log: str = ""
    surely: bool = False


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


class _Request:
    """What a request says. Its days are only read when a table may be about one: "3 days ago" loads
    a large library."""

    def __init__(self, text: str, today: date) -> None:
        self.text = unicodedata.normalize("NFC", text)  # as the words of its days
        self.today = today
        self.words = _words(_DECIMAL.sub(" ", self.text))

    @cached_property
    def days(self) -> Sequence[NamedDays]:
        return name_each_day(self.text, self.today)

    @cached_property
    def without_days(self) -> str:
        return without_days(self.text, self.days)

    @cached_property
    def numbers(self) -> Sequence[str]:
        """Return its different numbers but those of its days."""
        return [*dict.fromkeys(_FIGURE.findall(self.without_days))]

    @property
    def spans(self) -> Sequence[Span]:
        """Return the times that the first of its days may be."""
        return self.days[0].spans if self.days else ()

    def day_form(self) -> str:
        """Return a regular expression for the days that it may mean, else for today."""
        spans = self.spans or [(self.today, self.today)]
        days = {first.isoformat(): first for first, last in spans if first == last}
        return "|".join(days) or _ISO_DAY.pattern


@frozen
class _Named:
    """A row that a request names by the cell `at`, and all rows of its file.

    rank    how many words of the row are said, and the share of the cell's that are
    surely  others are said too
    """

    rank: tuple[int, float]
    surely: bool
    rows: Sequence[Row]
    row: Row
    at: int


def tell_named_rows(path: str, text: str, first: int, last: int, request: str) -> list[str]:
    """Return the rows of tables in these lines of a text, from 1, whose first cell a request names,
    each with its headings; none where it names many, or all that are there."""
    said, lines = _words(request), {*text.split("\n")[first - 1 : last]}
    rows = [row for row in read_rows(path, text) if row.heads and row.line in lines]
    named = [row.told() for row in rows if _share_said(row.cells[0], said, is_first=True) == 1]
    return named if len(named) < min(len(rows), MOST_NAMED + 1) else []


def find_rows_not_asked(path: str, text: str, request: str) -> tuple[set[str], str]:
    """Return the lines of the rows that a question such as "who has not paid?" does not ask for,
    and what it asks for: behind the no it names a column of two values, or one of these. A small
    model tells of all rows. None where the question names a row, or where not all can be read."""
    denied, said = _words(denied_words(request)), _words(request)
    if not denied or len(text) > MAX_CHARS or (path.endswith(".csv") and '"' in text):
        return set(), ""
    rows = [row for row in read_rows(path, text) if row.heads]
    for heads in dict.fromkeys(row.heads for row in rows):
        table = [row for row in rows if row.heads == heads]
        columns = [*zip(*(row.cells for row in table), strict=True)]
        groups = {n: {*column} for n, column in enumerate(columns) if is_group(column)}
        others = (cell for n, column in enumerate(columns) if n not in groups for cell in column)
        if any(_share_said(cell, said) >= HALF for cell in others):
            continue
        for n, values in groups.items():
            if asked := _asked_by_no(denied, heads[n], values):
                left_out = {row.line for row in table if row.cells[n] != asked}
                return left_out, f"rows with {heads[n]} {asked}: {columns[n].count(asked)}"
    return set(), ""


def _asked_by_no(denied: Set[str], head: str, values: Set[str]) -> str:
    """Return which of the two values of a column a question asks for that denies these words, ""
    for none."""
    named = {value for value in values if _share_said(value, denied) == 1}
    noes = {value for value in values if has_negation(value)}
    if len(named) == 1:
        return next(iter(values - named))
    is_asked = _share_said(head, denied) >= HALF and not has_negation(head)
    return noes.pop() if len(noes) == 1 and is_asked else ""


def find_named_rows(request: str, files: Iterable[tuple[str, str]], today: date) -> NamedRows:
    """Find the lines of these files, (path, text), that a request names, or is like a new one of.
    Of several lines these are the ones with the most words of the request."""
    said = _Request(request, today)
    named: list[_Named] = []
    new: list[NewLine] = []
    for path, text in files:
        rows = [row for row in read_rows(path, text) if not {'"', "\\"} & {*row.line}]
        if not rows:
            continue
        end = text.rstrip().rpartition("\n")[2]
        for table in _growing_tables(rows, end):
            number = _new_number(said, table)
            if number and not re.search(rf"\b{number}\b", text):  # nor in a row that is not read
                form = table[-1].form({0: number})
                return NamedRows(new=(NewLine(path, f"^{form}$"),), surely=True)
            if line := _new_line(said, table, at_end=table[-1].line == end):
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
    edits = tuple(_edit_of(said, each) for each in named)
    columns = {*chain.from_iterable(each.free for each in edits)}
    all_meant = surely and len(columns) == 1 and _are_joined(said, named)
    return NamedRows(edits, tuple(new), surely, all_meant)


def _are_joined(said: _Request, named: Sequence[_Named]) -> bool:
    """Return True when several rows are named side by side: "Kieran and Finn", not "tell mum that
    the phone of Tom is broken"."""
    names = [_words(each.row.cells[each.at]) for each in named]
    words = [*_WORD.finditer(said.text)]
    spots = [[word.span() for word in words if name & _words(word[0])] for name in names]
    if len(spots) < 2 or not all(spots):
        return False
    places = sorted((min(spot)[0], max(spot)[1]) for spot in spots)
    between = (said.text[end:start] for (_, end), (start, _) in pairwise(places))
    return all(map(_JOIN.fullmatch, between))


def _growing_tables(rows: Sequence[Row], end: str) -> Iterator[Sequence[Row]]:
    """Yield the tables that a new row may go to, of those with as many columns the last one, and
    the named values of which the last one ends the file, as its line `end`."""
    tables: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        tables.setdefault(row.heads, []).append(row)
    for heads in {len(row.heads): row.heads for row in rows}.values():
        if heads or tables[heads][-1].line == end:
            yield tables[heads]


def _are_of_other_days(said: _Request, rows: Sequence[Row]) -> bool:
    """Return True for rows that each have a day, none of which the request may mean by its own."""
    spans = [(first.isoformat(), last.isoformat()) for first, last in said.spans]
    days = [[*filter(_ISO_DAY.fullmatch, row.cells)] for row in rows]
    is_said = any(first <= day <= last for day in chain(*days) for first, last in spans)
    return bool(spans) and all(days) and not is_said


def find_displaced(path: str, old: str, new: str, request: str) -> str:
    """Return the row that an edit of a file puts another one in the place of, when the request has
    no word of it but all of the other's name, or a line with words of the request alone that is
    no row; "" for none."""
    if kind_by_name(path) == "code" or max(len(old), len(new)) > MAX_CHARS:
        return ""  # a program has no end to add to; of a longer text only the beginning is read
    before, after = ({row.line: row for row in read_rows(path, text)} for text in (old, new))
    lost = [row for line, row in before.items() if line not in after]
    won = [row for line, row in after.items() if line not in before]
    if len(lost) != 1 or len(won) > 1:
        return ""
    if not won:
        added, about = {*new.splitlines()} - {*old.splitlines()}, _words(lost[0].line)
        told, said = _words(*added), _words(request)
        return lost[0].line if said & told and not about & (said | told) else ""
    if lost[0].cells[0] == won[0].cells[0]:
        return ""
    if not lost[0].heads and lost[0].cells[1] == won[0].cells[1]:
        return ""  # only the name is another one: a day, a variable
    said, name = _words(request), _words(won[0].cells[0])
    shared = said & _words(*lost[0].cells)
    telling = {word for word in shared if len(word) >= SHORTEST_PART or not word.isalpha()}
    is_named = set() < _words(lost[0].cells[0]) <= said
    is_meant = telling or is_named or not name or not name <= said
    return "" if is_meant else lost[0].line


def _find_named(said: _Request, rows: Sequence[Row]) -> Iterator[_Named]:
    """Find the rows of a file that are named: by their first cell, where these are numbers or days
    also by another one, that no other row has in this column."""
    counts = Counter(each for row in rows for each in enumerate(row.cells))
    lines = Counter(row.line for row in rows)
    numbered = all(_DIGIT.search(row.cells[0]) for row in rows)
    words: set[str] = set()  # most requests name no row, and then nobody needs them
    for row in rows:
        for at, cell in enumerate(row.cells if numbered else row.cells[:1]):
            share = _share_said(cell, said.words, is_first=at == 0)
            if share < HALF or counts[at, cell] > 1 or lines[row.line] > 1:
                continue
            words = words or _words(
                row.path,
                *row.heads,
                *(each for other in rows if other.heads for each in other.cells[1:]),
            )
            name, own = _words(cell), _words(row.path, *row.heads, *row.cells)
            is_day = find_named_day(cell) == cell
            about = own if is_day else words | own
            other = {*filter(str.isalpha, said.words & (about - name))}
            if not other and (is_day or (at and row.cells[0].isdigit())):
                continue  # "the dentist is on Monday", "the bill is paid"
            whole = not row.heads and share == 1 and len(name) > 1
            yield _Named((len(said.words & own), share), bool(other or whole), rows, row, at)
            break


def _edit_of(said: _Request, named: _Named) -> RowEdit:
    """Return the edit of a row that is named by a cell: of a heading or a value of another row that
    is said too only this column is free. A day that is said comes in place of the row's, and a
    number into a cell with one: a small model writes the row again as it was."""
    row, columns = named.row, {*range(len(named.row.cells))}
    table = [each.cells for each in named.rows if each.heads == row.heads]
    name = {named.at, 0} if row.cells[0].isdigit() else {named.at}
    by_head = {n for n, head in enumerate(row.heads) if _share_said(head, said.words) >= HALF}
    by_value = {
        n
        for n in columns
        for other in {cells[n] for cells in table} - {row.cells[n]}
        if _share_said(other, said.words) == 1
    }
    free = (by_head - name) or (by_value - name) or (columns - name)
    days = _new_days(said, table)
    dated = sorted(n for n in free & days.keys() if days[n])[:1]
    number = _lacking_number(said, row)
    others = free - days.keys() if number else ()
    alike = [n for n in others if any(_is_alike(number, cells[n]) for cells in table)]
    counted = [n for n in alike if not row.cells[n] or _is_alike(number, row.cells[n])]
    counted = counted or [n for n in others if _DIGIT.search(row.cells[n])]
    if not counted:
        free, new = {*dated} or free, {n: days[n] for n in dated}
        return RowEdit(row, f"^{row.form(new, columns - free)}$", free)
    new = {n: f"{days[n]}|{row.cells[n]}" for n in dated}  # the day may stay as it is
    sums = _reckon(row.cells[counted[0]], number)
    forms = dict.fromkeys(counted, row.number_form(number))
    forms[counted[0]] = "|".join((forms[counted[0]], *map(row.number_form, sums)))
    if _AMOUNT.sub("", number):  # a time or a score says nothing of other columns
        free = {*counted, *dated}
    kept = columns - (free - {*counted})  # only one of the numbers changes
    news = ({**new, n: _in_place_of(row.cells[n], forms[n])} for n in counted)
    either = "|".join(row.form(each, kept) for each in news)
    return RowEdit(row, f"^({either})$", free, tuple(sums.values()))


def _lacking_number(said: _Request, row: Row) -> str:
    """Return the only number of a request that the row lacks, "" for none or several."""
    lacking = {*said.numbers}.difference(_FIGURE.findall(row.line))
    return lacking.pop() if len(lacking) == 1 else ""


def _new_days(said: _Request, table: Sequence[tuple[str, ...]]) -> dict[int, str]:
    """Return the form of a new day of each column of days: the day that a request names, "" for
    none or several. In a column of days that are over it is over too."""
    spans = said.spans if len(said.days) == 1 else ()
    new = {}
    for n, column in enumerate(zip(*table, strict=True)):
        if all(map(_ISO_DAY.fullmatch, column)):
            is_over = max(column) <= said.today.isoformat()
            days = (first for first, last in spans if first == last)
            new[n] = "|".join(str(each) for each in days if (each <= said.today) == is_over)
    return new


def _is_alike(number: str, cell: str) -> bool:
    """Return True when a cell has a number with the same marks: both are times, or scores."""
    return any(_AMOUNT.sub("", number) == _AMOUNT.sub("", each) for each in _FIGURE.findall(cell))


def _reckon(cell: str, said: str) -> dict[str, str]:
    """Return the number of a cell less the one that is said, and more, each with how it came: a
    small model does not reckon. Nothing for what is no plain number."""
    figures = [*_FIGURE.findall(cell), said]
    if len(figures) != 2 or not all(map(_is_plain, figures)) or _NEGATIVE.search(cell):
        return {}
    old, new = (Decimal(plain_number(each)) for each in figures)
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
    several = len(_FIGURE.findall(cell)) > 1
    no = rf'"|\\\n{"," * ("," not in cell)}{"0-9" * (not several)}'
    return rf"([^{no}]{{0,39}}[^{no}0-9])?({number})([^{no}0-9][^{no}]{{0,39}})?"


def _new_number(said: _Request, rows: Sequence[Row]) -> str:
    """Return the number of a new row that a request names, with its file or a heading, where each
    row has one in its first cell and the request none of these; "" for none."""
    known = [row.cells[0] for row in rows]
    plain = all(each.isdecimal() and len(each) <= LONGEST_NUMBER for each in known)
    if not rows[0].heads or not plain or len({*known}) < max(2, len(rows)):
        return ""
    kinds = _words(PurePath(rows[0].path).stem, *rows[0].heads)
    begins = {word[:BEGINNING] for word in said.words}
    if not begins.intersection(word[:BEGINNING] for word in kinds):  # "the dentist is on the 12th"
        return ""
    last = max(map(int, known))
    new = range(last + 1, last + MOST_NEW + 1)
    numbers = _NUMBER.findall(_DECIMAL.sub(" ", said.text))
    found = [each for each in numbers if len(each) <= LONGEST_NUMBER and int(each) in new]
    return found[0] if len(found) == 1 and not {*known}.intersection(numbers) else ""


def _new_name(said: _Request, rows: Sequence[Row]) -> str:
    """Return a regular expression, in any case, for the first cell of a new row whose cells a
    request lists behind the name of the file or of the first heading: "new dog: Luna, whippet, 40".
    "" for none, without a figure where the rows have some, and else without a word of them."""
    before, _, behind = said.text.partition(": ")
    cells, heads = behind.split(","), rows[0].heads
    kinds, words = _words(PurePath(rows[0].path).stem, *heads[:1]), _words(before)
    is_kind = {word[:BEGINNING] for word in kinds} & {word[:BEGINNING] for word in words}
    name = cells[0].split()
    if not is_kind or not FEWEST_CELLS <= len(cells) <= len(heads) or not name:
        return ""
    has_figures = any(_DIGIT.search(cell) for row in rows for cell in row.cells)
    known = _words(*heads, *chain.from_iterable(row.cells for row in rows))
    is_alike = _DIGIT.search(behind) if has_figures else known & _words(*cells[1:])
    if not is_alike or {'"', "\\", "|"} & {*cells[0]}:
        return ""
    first = (f"[{each[0].upper()}{each[0].lower()}]{escape_literal(each[1:])}" for each in name)
    return " ".join(first) if all(each[0].isalpha() for each in name) else ""


def _new_line(said: _Request, rows: Sequence[Row], *, at_end: bool) -> NewLine | None:
    """Return a new line behind these, if one may follow. A request is surely for it when it lists
    the cells of a row; behind lines of days when it has a number and names all of the headings, or
    the file that ends with them, or has half of the words of the last one."""
    last = rows[-1]
    is_log = _ISO_DAY.fullmatch(last.cells[0]) is not None
    if name := _new_name(said, rows):
        return NewLine(last.path, f"^{last.form({0: name})}$", surely=True)
    if last.heads:
        told, file = _words(*last.heads[1:]), _words(PurePath(last.path).stem)
        by_heads = bool(told) and told <= said.words
        is_named = by_heads or (at_end and bool(file & said.words))
        has_number = any(map(str.isdigit, said.words)) or bool(_FRACTION.search(said.text))
        surely = is_log and is_named and has_number
    elif is_log:
        told = {word for word in _words(last.cells[1]) if word.isalpha()}
        surely = 0 < len(told) <= 2 * len(told & said.words)
    else:
        return None
    form = last.form(_new_cells(said, rows) if is_log else {})
    return NewLine(last.path, f"^{form}$", last.line if is_log else "", surely)


def _new_cells(said: _Request, rows: Sequence[Row]) -> dict[int, str]:
    """Return the forms of the cells of a new line of a log: the day, in a table also the number of
    the only column of numbers, and for a column of words what the request says of the number, or
    what stands there already and is said or stands there more than once."""
    new = {0: said.day_form()}
    if not rows[0].heads:
        return new
    words = _words(said.without_days)
    about = _words(PurePath(rows[0].path).stem, *rows[0].heads)
    said_of_it = _words_beside_number(said.without_days, about)
    columns = [*enumerate(zip(*(row.cells for row in rows), strict=True))][1:]
    for n, column in columns:
        known = Counter(column)
        kinds = [cell for cell in known if known[cell] > 1 or _words(cell) <= words]
        texts = [*filter(None, (*kinds, said_of_it))]
        if texts and not any(map(_DIGIT.search, column)):
            new[n] = "|".join(map(escape_literal, texts))
    counted = [n for n, column in columns if all(map(_AMOUNT.fullmatch, column))]
    if len(counted) == len(said.numbers) == 1:
        new[counted[0]] = rows[-1].number_form(said.numbers[0])
    return new


def _words_beside_number(request: str, about: Set[str]) -> str:
    """Return the words of a clause behind the number of a request, else before it, from the first
    to the last that is neither small nor what the whole table is `about`."""
    before, _, behind = request.partition(next(iter(_FIGURE.findall(request)), "\0"))
    clauses = _CLAUSE_END.split(behind)
    for part in (*clauses, *_CLAUSE_END.split(before)):
        words = _WORD.findall(part)
        telling = [at for at, word in enumerate(words) if _words(word) - about]
        if part is clauses[0] and telling[:1] == [0] and telling[1:2] > [1]:
            telling = telling[1:]  # "42 euros for dinner"
        if telling:
            return " ".join(words[telling[0] : telling[-1] + 1][:MOST_WORDS])
    return ""


def _share_said(cell: str, said: Set[str], *, is_first: bool = False) -> float:
    """Return the share of a cell's words that are said. A number names a row when it is all that
    stands in the first cell."""
    folded = cell.casefold()
    if not any(word in folded for word in said):  # quicker than all words of a long file
        return 0
    words = _words(cell)
    if _DIGIT.search(cell) and not (is_first and cell.strip().isdigit()):
        return 0
    if not words <= said and max(map(len, words & said), default=0) < SHORTEST_PART:
        return 0
    return len(words & said) / max(1, len(words))


def _words(*texts: str) -> set[str]:
    """Return the words of texts that may name something: numbers, and words that are not small."""
    words = (word for text in texts for word in significant_words(text))
    return {word for word in words if len(word) >= SHORTEST or word.isdigit()}
