"""Edits of a text as a model gives them: a passage and its replacement, or a text to append."""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import repeat

from openclaw.memory.markdown import read_page
from openclaw.memory.tables import CELL_END, NUMBER, is_table_rule, table_rows
from openclaw.storage.merge import count_same
from openclaw.types import ToolProblem

MAX_CHANGED = 8
NEWLINE = r"(?>\r\n|\n|\r)"  # taken apart, blank lines of Windows would take exponential time
_LIST_MARK = re.compile(r"\s*(?:(?:[-*+]|\d+[.)])(?:\s+\[[ xX]\])?\s*)?")
_NO_ROW = re.compile(r"^(?:[-*+>]|#+|\d+[.)])[ \t]|[.!?:]$")
"""A heading, an item of a list, a quotation or a sentence."""
_BULLET = re.compile(r"[-*+] (?:\[[ xX]\] )?(?=\S)")
_NO_ITEMS = re.compile(rf"^[\s|`~<]|{_NO_ROW.pattern}", re.MULTILINE)
_LETTER = re.compile(r"[^\W\d_]")
_COMMENTS = re.compile(r"\s*(?:<!--(?:(?!-->).)*-->\s*)*")
_AS_NEAR = 2 / 3
"""Lines that have less in common with a text than this share of what the nearest has are not it."""
WRITE_FOR_IT = "Write for it: "
FEW_WORDS = 2
_MAX_SHOWN = 3
_LONGEST_SHOWN = 160


def replace_passage(
    text: str, find: str, replace: str, *, everywhere: bool = False
) -> tuple[str, int]:
    """Replace the only passage that matches `find`, or the word `find` everywhere. Returns the text
    and the first changed line's number.

    Everything else stays, newlines and blanks included. Raises ToolProblem when the passage is
    missing or occurs more than once, with the places, and when it is only the name of a value.
    """
    find, replace = _normalize_newlines(find), _normalize_newlines(replace)
    if not find.strip():
        raise ToolProblem("find is empty: copy the text that is to be changed into it.")
    if find == replace:
        raise _same_problem(text, find)
    exact = re.compile(NEWLINE.join(map(re.escape, find.split("\n"))))
    for pattern, strict in ((exact, True), (_tolerant_pattern(find), False)):
        matches = _whole_words(text, list(pattern.finditer(text)))
        if len(matches) > 1 and everywhere and (first := re.search(rf"\b{find}\b", text)):
            return re.sub(rf"\b{find}\b", replace, text), _line_of(text, first.start())
        if len(matches) > 1:
            raise _ambiguous_problem(text, [match.start() for match in matches])
        if matches:
            start, end = matches[0].span()
            if replace and not everywhere and _is_name_of_value(text, start, end, replace):
                raise _misplaced_problem(text, start, "find is only the name of a value.")
            if other := _other_column(text, start, find.strip(), replace.strip()):
                reason = f"{replace.strip()} belongs into the column {other[0]}."
                raise _misplaced_problem(text, start, reason, f"{WRITE_FOR_IT}{other[1]}")
            if not strict:
                replace = replace.strip("\n").strip(" \t")
            if text[:start].rstrip("\r\n").endswith("|") and find.startswith("|"):
                replace = replace.lstrip("\n")  # an empty line would end the table
            newline = re.search(NEWLINE, text)
            new = replace.replace("\n", newline[0] if newline else "\n")
            if text[start:end] == new:
                raise ToolProblem("That is how it already stands; nothing would change.")
            only_mark = _LIST_MARK.fullmatch(new) and text[start:end].lstrip().startswith(
                new.strip()
            )
            if only_mark and _is_whole_line(text, start, end):  # no empty line or item stays
                rest = re.match(rf"[^\r\n]*{NEWLINE}?", text[end:])
                start = text.rfind("\n", 0, start) + 1
                new, end = "", end + (rest.end() if rest else 0)
            return text[:start] + new + text[end:], _line_of(text, start)
    raise _missing_problem(text, find, replace)


def with_newline(text: str) -> str:
    text = text.replace("\r\n", "\n")
    return text if not text or text.endswith("\n") else f"{text}\n"


def append_text(old: str, text: str, *, markdown: bool) -> str:
    """Append a text on lines of its own, as a small model means it: behind a table as a row, behind
    a list of Markdown as items, rows below the last table with as many columns, also where more
    text follows it. Raises ToolProblem for an empty text, and for a line with other than as many
    parts as the table that it stands behind."""
    lines, given = old.splitlines(), text.strip().splitlines()
    last = lines[-1] if lines else ""
    text = text.lstrip("\n") if old else text
    if last.startswith("|"):
        text = _as_rows(text, lines)
    elif 0 < (end := _end_of_table(old, given)) < len(old):
        return append_text(old[:end], text, markdown=markdown) + old[end:]
    elif markdown and (item := _BULLET.match(last)) and not _NO_ITEMS.search(text.rstrip()):
        text = "\n".join(item[0].lower().replace("x", " ") + line for line in given)
    newline = "\r\n" if "\r\n" in old else "\n"
    start = old + (newline if old and not old.endswith(("\n", "\r")) else "")
    new = start + with_newline(text).replace("\n", newline)
    if new == start:
        raise ToolProblem("text is empty: nothing to append.")
    return new


def _as_rows(text: str, lines: list[str]) -> str:
    """Return a text behind a table as it stands there: a line with as many parts between bars or
    commas as the table has columns is a row, and its headings are not repeated; another table comes
    behind an empty line. A sentence, a heading and an item of a list are none. Raises ToolProblem
    for another number of parts."""
    given = text.strip().splitlines()
    if _has_rule(given, 0):
        if given[0] not in lines:
            return f"\n{text}"  # without an empty line it would be rows of the other table
        text = "\n".join(given[2:])
    inner = text.strip().removeprefix("|").removesuffix("|")
    parts = CELL_END.split(inner) if "|" in inner else inner.split(",")
    is_text = "|" not in inner and (len(parts) == 1 or _NO_ROW.search(inner))
    if is_text or "\n" in inner:
        return text
    at, heads = [(at, heads) for at, heads, cells in table_rows(lines) if not cells][-1]
    if len(parts) == len(heads):
        return f"| {' | '.join(part.strip() for part in parts)} |"
    is_text = len(parts) <= len(heads) / 2 or ": " in inner  # "Paid: Ott, Seitz"
    if is_text or not _has_rule(lines, at):
        return text
    raise _misfit_problem(parts, heads)


def check_rows(name: str, old: str, new: str) -> None:
    """Raise ToolProblem for a new row with more or fewer cells than its table has columns, when all
    its rows of before have as many, or with words in a column of numbers; and for a .csv with fewer
    lines of which none is kept. A table that was not there before may have any rows."""
    is_csv, before, after = name.endswith(".csv"), old.splitlines(), new.splitlines()
    kept = {*before}.intersection(after)
    if is_csv and len(after) < len(before) and not kept:
        raise ToolProblem("No row would be left. edit_file changes one, append_file adds one.")
    read = _read_records if is_csv else _read_table_rows
    tables: dict[tuple[str, ...], list[Sequence[str]]] = {}
    for heads, cells, _ in read(before):
        tables.setdefault(heads, [])
        if cells:
            tables[heads].append(cells)
    columns = {
        heads: [*zip(heads, *rows, strict=True)]
        for heads, rows in tables.items()
        if all(len(row) == len(heads) for row in rows)
    }
    for heads, cells, line in read(after):
        if line in kept or not cells or heads not in columns:
            continue
        if len(cells) != len(heads):
            raise _misfit_problem(cells, heads)
        for head, cell, column in zip(heads, cells, columns[heads], strict=True):
            is_text = len(cell.split()) > FEW_WORDS and _LETTER.search(cell)  # not "12 kg", "n/a"
            if is_text and len(column) > 2 and all(map(NUMBER.fullmatch, column[1:])):
                raise ToolProblem(f"{head} is a column of numbers, and {_shorten(cell)} is none.")


_TableRow = tuple[tuple[str, ...], Sequence[str], str]
"""The headings, the cells and the line; no cells for the headings themselves."""


def _read_table_rows(lines: Sequence[str]) -> Iterator[_TableRow]:
    is_table = False
    for at, heads, cells in table_rows(lines):
        if not cells:
            is_table = _has_rule(lines, at)
        if is_table:
            yield tuple(heads), cells, lines[at]


def _has_rule(lines: Sequence[str], at: int) -> bool:
    """Return True when a rule follows a line, as it does headings: "|-- src" is a drawing."""
    return at + 1 < len(lines) and is_table_rule(lines[at + 1])


def _read_records(lines: Sequence[str]) -> Iterator[_TableRow]:
    lines = [line for line in lines if line.strip()]
    with suppress(csv.Error):  # a field is too long
        records = [tuple(next(csv.reader([line]))) for line in lines]
        if records and len(records[0]) > 1:
            yield from zip(repeat(records[0]), [(), *records[1:]], lines, strict=False)


def _misfit_problem(cells: Sequence[str], heads: Sequence[str]) -> ToolProblem:
    columns = _shorten(" | ".join(heads))
    return ToolProblem(f"A row has {len(heads)} cells: | {columns} |. {len(cells)} were given.")


def _end_of_table(text: str, rows: list[str]) -> int:
    """Return where the last table of a text ends that has as many columns as these rows, unless
    they are the first ones of another table; 0 for none. A table that is indented or stands in a
    block of code is none."""
    if not all(row.startswith("|") and row.endswith("|") for row in rows):
        return 0
    page = read_page(text)
    lines = [line.rstrip("\r\n") for line in page.lines]
    if any(map(is_table_rule, rows)) and rows[0] not in lines:
        return 0
    sizes = {len(cells) for _, _, cells in table_rows(["|", *rows])} - {0}
    ends = [
        at + 1
        for at, heads, _ in table_rows(lines)
        if {len(heads)} == sizes and lines[at].startswith("|") and at not in page.opaque
    ]
    end = max(ends, default=0)
    end += 0 < end < len(lines) and is_table_rule(lines[end])  # it has no rows yet
    return len("".join(page.lines[:end]))


def count_lines(text: str) -> str:
    lines = len(text.splitlines())
    return f"{lines} line{'' if lines == 1 else 's'}"


def format_diff_lines(old: str, new: str) -> str:
    """The changed lines with - and +, for the model to check."""
    before, after = old.splitlines(), new.splitlines()
    start = count_same(before, after)
    before, after = before[start:], after[start:]
    end = count_same(before[::-1], after[::-1])
    before, after = before[: len(before) - end], after[: len(after) - end]
    if len(before) == len(after):
        pairs = (pair for pair in zip(before, after, strict=True) if pair[0] != pair[1])
        lines = [line for old, new in pairs for line in (f"- {old}", f"+ {new}")]
    else:
        lines = [*(f"- {line}" for line in before), *(f"+ {line}" for line in after)]
    if len(lines) > MAX_CHANGED:
        more = f"... {len(lines) - MAX_CHANGED + 1} more changed lines"
        lines = [*lines[: MAX_CHANGED - 1], more]
    return "\n".join(line[:200] for line in lines)


def _whole_words(text: str, matches: list[re.Match[str]]) -> list[re.Match[str]]:
    """Pick the only match that neither begins nor ends inside a word; else return all matches."""
    whole = [
        match
        for match in matches
        if not re.fullmatch(r"\w\w", text[match.start() - 1 : match.start() + 1])
        and not re.fullmatch(r"\w\w", text[match.end() - 1 : match.end() + 1])
    ]
    return whole if len(whole) == 1 else matches


def _normalize_newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _tolerant_pattern(find: str) -> re.Pattern[str]:
    """Match the words as given, with any blanks between them, around lines, and any blank lines."""
    lines = [line.split() for line in find.strip().split("\n") if line.strip()]
    between = rf"[ \t]*(?:{NEWLINE}[ \t]*)+"
    return re.compile(between.join(r"[ \t]+".join(map(re.escape, words)) for words in lines))


def _line_of(text: str, at: int) -> int:
    return len(re.findall(NEWLINE, text[:at])) + 1


def is_renamed(find: str, replace: str, request: str) -> bool:
    """Return True when a request names two words like those of a program, such as parse_dt, one of
    which becomes the other: then it is changed everywhere."""
    return all(
        re.fullmatch(r"[^\W\d]\w*", word) and re.search(rf"\b{word}\b", request)
        for word in (find, replace)
    ) and bool(re.search(r"[a-z0-9]_|_[a-z0-9]|[a-z][A-Z]", find))


def _is_name_of_value(text: str, start: int, end: int, replace: str) -> bool:
    """Return True for a passage that is all that stands in front of a colon or a sign "=" in its
    line, with a value behind it, when what replaces it has neither: a small model means the value.
    """
    before, after = text[:start].rpartition("\n")[2], re.split(NEWLINE, text[end:])[0]
    begins = re.fullmatch(r"[ \t]*(?:[-*+][ \t]+)?[*\"'\[]*", before)
    has_value = re.match(r"[*\"'\]]*[ \t]*(?::|=(?!=))[ \t*]*\S", after)
    is_word = re.search(r"[^\W\d]", text[start:end])  # "10" is no name in "10:30"
    return bool(begins and has_value and is_word) and not re.search("[:=]", replace)


def _other_column(text: str, start: int, find: str, replace: str) -> tuple[str, str] | None:
    """Return the heading of another column of the table, where the name of a row is to become what
    stands in that column alone, and the row with it there; None for none. Other cells may have
    equal values: 5 pieces, 5 euros."""
    lines = re.split(NEWLINE, text)
    rows = [*table_rows(lines)]
    number = _line_of(text, start) - 1
    here = next(((heads, cells) for at, heads, cells in rows if at == number), ([], []))
    if find not in here[1][:1]:
        return None
    table = [cells for _, heads, cells in rows if heads is here[0]]
    places = {at for cells in table for at, cell in enumerate(cells) if cell == replace}
    if not places or 0 in places:
        return None
    cells = CELL_END.split(lines[number])
    cells[min(places) + 1] = " " + replace.replace("|", "\\|") + " "
    return here[0][min(places)], "|".join(cells)


def _misplaced_problem(
    text: str, start: int, reason: str, end: str = "Copy one exactly."
) -> ToolProblem:
    number = _line_of(text, start)
    line = re.split(NEWLINE, text)[number - 1]
    return ToolProblem(f"{reason} The nearest lines:\n{number}: {_shorten(line)}\n{end}")


def _ambiguous_problem(text: str, starts: list[int]) -> ToolProblem:
    lines = re.split(NEWLINE, text)
    numbers = [_line_of(text, start) for start in starts[:10]]
    shown = "\n".join(f"{n}: {_shorten(lines[n - 1])}" for n in dict.fromkeys(numbers[:_MAX_SHOWN]))
    return ToolProblem(
        f"find fits {len(starts)} places, lines {', '.join(map(str, numbers))}:\n{shown}\n"
        "Put more of the text around the right one into find and replace."
    )


def _missing_problem(text: str, find: str, replace: str) -> ToolProblem:
    whole_lines = rf"(?m)^[ \t]*{_tolerant_pattern(replace).pattern}[ \t]*\r?$"
    if replace.strip() and (already := re.search(whole_lines, text)):
        at = _line_of(text, already.start())
        return ToolProblem(
            f"find is not in the file, but the text of replace already stands in line {at}."
        )
    near = _nearest_lines(text, find)
    if find.strip() == replace.strip() or (not near and find.strip() in replace):
        return ToolProblem("find is not in the file; append_file adds a text to it.")
    if not near:
        return ToolProblem("find is not in the file. Read the file and copy the text exactly.")
    return ToolProblem(f"find is not in the file. The nearest lines:\n{near}\nCopy one exactly.")


def _is_whole_line(text: str, start: int, end: int) -> bool:
    """Return True when nothing but a list's mark and a comment stand beside a passage in its
    lines."""
    before, after = text[:start].rpartition("\n")[2], re.split(NEWLINE, text[end:])[0]
    return bool(_LIST_MARK.fullmatch(before) and _COMMENTS.fullmatch(after))


def _same_problem(text: str, find: str) -> ToolProblem:
    same = "find and replace are the same; nothing would change."
    if not _tolerant_pattern(find).search(text):  # a small model gives what is to be added twice
        return ToolProblem(f"{same} This text is not in the file; append_file adds it.")
    return ToolProblem(
        f"{same} The nearest lines:\n{_nearest_lines(text, find)}\nCopy one as find."
    )


def _nearest_lines(text: str, find: str) -> str:
    wanted = max(find.split("\n"), key=lambda line: len(line.strip())).strip().casefold()
    words = set(re.findall(r"\w+", wanted))
    scored = []
    for number, line in enumerate(re.split(NEWLINE, text)[:20_000], 1):
        shared = len(words & set(re.findall(r"\w+", line.casefold())))
        if shared:
            scored.append((shared, -number, line))
    ranked = []
    for _, number, line in sorted(scored, reverse=True)[:50]:
        matcher = difflib.SequenceMatcher(None, wanted, line.strip().casefold())
        ranked.append((matcher.ratio(), number, line))
    ranked.sort(reverse=True)
    near = [hit for hit in ranked[:_MAX_SHOWN] if hit[0] > ranked[0][0] * _AS_NEAR]
    return "\n".join(f"{-number}: {_shorten(line)}" for _, number, line in near)


def _shorten(line: str) -> str:
    return line if len(line) <= _LONGEST_SHOWN else f"{line[:_LONGEST_SHOWN]} ..."
