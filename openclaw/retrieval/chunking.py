"""Splits a document into chunks: lines small enough to cite, ranked with the lines around them,
which docs/memory.md compares with other ways."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import lru_cache

from openclaw.nlp.calendar_days import Span
from openclaw.nlp.dates import read_days, read_days_of_year
from openclaw.retrieval.units import WINDOW_BYTES, Unit, bare, day_in, scan, size

# Lines on each side that belong to what a speaker says, and to any other line.
IN_TALK, ELSEWHERE = 2, 1
MAX_DAYS = 7
DAY_OF_YEAR = "--"
PARENT_BYTES = 200
_DIGIT = re.compile(r"\d")
SENTENCE_ENDS = (". ", "! ", "? ", "; ", "\u3002")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines `start_line` to `end_line` (from 1, inclusive) of a file.

    text      the lines as they are in the file
    parts     what is ranked and embedded: the chunk's own words, then its headings (twice outside
              of talks) and neighbours, which share the same string objects (`writer.postings`
              relies on it); none for a line without words (a rule, a comment), which is never found
    headings  the headings above, outermost first
    date      the ISO day of the entry, its heading or its file, or ""
    days      other ISO days that the lines tell of ("yesterday"); of lines without a date the days
              of every year that they or their headings tell of: "--12-09" (ISO 8601, 2000)
    struck    the line is struck through as a whole

    Pieces of one very long line have the same line number; otherwise no two chunks share a line.
    """

    start_line: int
    end_line: int
    text: str
    parts: tuple[str, ...]
    headings: tuple[str, ...] = ()
    date: str = ""
    label: str = ""
    struck: bool = False
    days: tuple[str, ...] = ()


def split(text: str, kind: str, path: str = "") -> list[Chunk]:
    """The chunks of a document in order; each line that is not blank is in one.

    `kind` is one of `documents.Kind`. Lines end with a line feed, a carriage return or both; a form
    feed is a blank.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    units = [piece for unit in scan(lines, kind, path) for piece in _fit_window(unit, lines)]
    front = units[0].date if units and lines[units[0].start].rstrip() == "---" else ""
    return _chunks(units, lines, front or day_in(path.rpartition("/")[2]))


def _fit_window(unit: Unit, lines: list[str]) -> Iterator[Unit]:
    """A unit that fits the window, or its pieces: lines, or sentences of a single line."""
    if len(unit.said) <= WINDOW_BYTES // 3 or size(unit.said) <= WINDOW_BYTES:
        yield unit
    elif unit.start == unit.end:
        yield from _sentences(unit, lines[unit.start])
    else:
        yield from _rows(unit, lines)


def _rows(unit: Unit, lines: list[str]) -> Iterator[Unit]:
    start, room = unit.start, WINDOW_BYTES
    for at in range(unit.start, unit.end + 1):
        room -= size(lines[at]) + 1
        if room < 0 and at > start:
            yield from _part(unit, lines, start, at - 1)
            start, room = at, WINDOW_BYTES - size(lines[at])
    yield from _part(unit, lines, start, unit.end)


def _part(unit: Unit, lines: list[str], start: int, end: int) -> Iterator[Unit]:
    """Some lines of a unit, none when they are blank."""
    own = [line for line in lines[start : end + 1] if line.strip()]
    if not own:
        return
    said = "\n".join(own) if "\n" in unit.said else bare("\n".join(own))
    part = replace(unit, start=start, end=end, said=said)
    yield from _fit_window(part, lines) if start == end else [part]


def _sentences(unit: Unit, line: str) -> Iterator[Unit]:
    """Pieces of one long line, cut after a sentence, else after a word, else anywhere."""
    at, end = 0, len(line)
    while at < end:
        stop = min(end, at + _count_fitting(line, at))
        if stop < end:
            ends = [line.rfind(mark, at, stop) for mark in SENTENCE_ENDS]
            cut = max(ends) if max(ends) > at + (stop - at) // 3 else line.rfind(" ", at, stop)
            stop = cut + 1 if cut > at else stop
        piece = line[at:stop].strip()
        if piece:
            said = bare(piece)
            yield replace(unit, said=said, piece=piece, alone=unit.alone or not said)
        at = stop


def _count_fitting(line: str, at: int) -> int:
    """How many characters of a line from `at` fit half a window (at least one)."""
    sample = line[at : at + WINDOW_BYTES // 2]
    return max(1, len(sample) * len(sample) // max(1, size(sample)))


def _chunks(units: list[Unit], lines: list[str], day: str) -> list[Chunk]:
    dates = _dates(units, day)
    titles: dict[tuple[str, ...], str] = {}
    chunks = []
    for at, unit in enumerate(units):
        title = titles.setdefault(unit.headings, " > ".join(unit.headings))
        day = unit.date or dates[at]
        chunks.append(
            Chunk(
                unit.start + 1,
                unit.end + 1,
                unit.piece or "\n".join(lines[unit.start : unit.end + 1]),
                _parts(units, at, title),
                unit.headings,
                day,
                unit.label,
                unit.struck,
                _days_told(unit.said, day) if day else _days_of_year(f"{title}\n{unit.said}"),
            )
        )
    return chunks


@lru_cache(4096)  # a file is split once more when it is embedded
def _days_told(said: str, day: str) -> tuple[str, ...]:
    """The other days that a text of a day tells of; of a span longer than `MAX_DAYS` none."""
    try:
        own = date.fromisoformat(day)
    except ValueError:
        return ()
    days = _each_day(read_days(said, own, told=True).spans)
    return tuple(dict.fromkeys(each.isoformat() for each in days if each != own))


@lru_cache(4096)
def _days_of_year(said: str) -> tuple[str, ...]:
    days = _each_day(read_days_of_year(said)) if _DIGIT.search(said) else ()
    return tuple(dict.fromkeys(f"{DAY_OF_YEAR}{each:%m-%d}" for each in days))


def _each_day(spans: Iterable[Span]) -> Iterator[date]:
    for first, last in spans:
        if (last - first).days < MAX_DAYS:
            yield from (first + timedelta(n) for n in range((last - first).days + 1))


def _dates(units: list[Unit], day: str) -> list[str]:
    """The day of each unit: of the nearest heading above with a day, else `day`, the file's."""
    known: dict[tuple[str, ...], str] = {}
    dates = []
    for unit in units:
        if unit.headings not in known:
            named = (day_in(name) for name in reversed(unit.headings))
            known[unit.headings] = next(filter(None, named), day)
        dates.append(known[unit.headings])
    return dates


def _parts(units: list[Unit], at: int, title: str) -> tuple[str, ...]:
    """The context of a unit: itself, its headings, its parent, and neighbours while they fit."""
    unit = units[at]
    if not unit.said:
        return (title,) if title and unit.heading else ()
    room = WINDOW_BYTES - size(unit.said) - size(title)
    before = [] if unit.alone else list(_near_texts(units, at, -1, room // 2))[::-1]
    after = [] if unit.alone else list(_near_texts(units, at, 1, room // 2))
    parent = unit.parent[:PARENT_BYTES]
    titles = [title] * (1 if unit.label else 2)  # that of a talk seldom says what is talked of
    above = [part for part in (*titles, parent) if part and part not in before]
    return (unit.said, *above, *before, *after)


def _near_texts(units: list[Unit], at: int, step: int, room: int) -> Iterator[str]:
    """The texts of the nearest units on one side, in the same section, while `room` bytes hold."""
    headings, left = units[at].headings, IN_TALK if units[at].label else ELSEWHERE
    near = at + step
    while 0 <= near < len(units) and left:
        unit = units[near]
        near += step
        if unit.headings != headings:
            return
        if unit.alone:
            continue
        room -= size(unit.said)
        if room < 0:
            return
        yield unit.said
        left -= 1
