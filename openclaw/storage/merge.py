"""Three-way merge of lines (diff3 over difflib), and conflict markers.

The method is diff3 as Khanna, Kunal and Pierce describe it ("A formal investigation of diff3",
FSTTCS 2007); what counts as a conflict is what git's merge counts as one (xdiff/xmerge.c, level
"eager"): changes that overlap or touch and are not the same. merge3 does this too, but is under
the GPL (2.0 or later), and this program is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import takewhile
from typing import TypeVar

from openclaw.frozen import frozen

Line = TypeVar("Line", str, bytes)
Block = tuple[str, int, int, int, int]
"""As of difflib: equal, replace, delete or insert; from, to in the one; from, to in the other."""


@frozen
class Conflict:
    """A place that both sides changed, each in its own way. `at` is the index in the merged lines
    where `ours` stands."""

    at: int
    base: tuple[str, ...]
    ours: tuple[str, ...]
    theirs: tuple[str, ...]


@frozen
class Merged:
    """The lines with the changes of both sides; in a conflict they are ours."""

    lines: list[str]
    conflicts: tuple[Conflict, ...] = ()


@frozen
class LineChange:
    """base[start:end] became side[new_start:new_end]."""

    start: int
    end: int
    new_start: int
    new_end: int


def merge(
    base: Sequence[str], ours: Sequence[str], theirs: Sequence[str], *, touching: bool = False
) -> Merged:
    """The lines with what both sides changed since `base`.

    Two different changes at one place are a conflict; so are changes of directly neighbouring
    lines, as in git, unless `touching` allows them (only two insertions at the same place, or
    changes of the same line, are a conflict then). Takes O(lines + edits squared).
    """
    sides = (changes(base, ours), changes(base, theirs))
    lines: list[str] = []
    conflicts: list[Conflict] = []
    at = 0
    for group in _groups(*sides, touching):
        start = min(change.start for part in group for change in part)
        end = max(change.end for part in group for change in part)
        lines += base[at:start]
        mine, other = (
            _lines_of_side(part, side, base, start, end)
            for part, side in zip(group, (ours, theirs), strict=True)
        )
        if group[0] and group[1] and mine != other:
            conflicts.append(Conflict(len(lines), tuple(base[start:end]), mine, other))
        lines += mine if group[0] else other
        at = end
    return Merged([*lines, *base[at:]], tuple(conflicts))


def merge_bytes(
    base: bytes, ours: bytes, theirs: bytes, *, touching: bool = False
) -> tuple[bytes, Merged]:
    """`merge` for the lines of files, any bytes of which come out as they were.

    A line that had no end because it was the last gets one when it no longer is. Raises ValueError
    for what is not text: a NUL byte.
    """
    if any(b"\0" in data for data in (base, ours, theirs)):
        raise ValueError("it is not text")
    merged = merge(_lines(base), _lines(ours), _lines(theirs), touching=touching)
    lines = merged.lines
    newline = next((end for line in lines if (end := _END.findall(line))), ["\n"])[0]
    for index, line in enumerate(lines[:-1]):
        if not line.endswith(("\n", "\r")):
            lines[index] = line + newline
    return "".join(lines).encode("utf-8", "surrogateescape"), merged


_END = re.compile(r"\r\n\Z|\n\Z|\r\Z")


def _lines(data: bytes) -> list[str]:
    # Bytes know three line ends; text would be cut at U+2028 and form feeds too.
    return [line.decode("utf-8", "surrogateescape") for line in data.splitlines(keepends=True)]


def changes(base: Sequence[str], side: Sequence[str]) -> list[LineChange]:
    """The changes from `base` to `side` in the order of the lines, each as late as possible."""
    found = [LineChange(*block[1:]) for block in blocks(base, side) if block[0] != "equal"]
    return _slide_down(found, base, side)


def blocks(old: Sequence[Line], new: Sequence[Line]) -> list[Block]:
    """The equal and the different blocks of two lists of lines, in order. Of 200 changed lines and
    more difflib passes over frequent ones: it would be quadratic in them."""
    head = count_same(old, new)
    tail = count_same(old[head:][::-1], new[head:][::-1])
    inner_old, inner_new = old[head : len(old) - tail], new[head : len(new) - tail]
    found: list[Block] = [("equal", 0, head, 0, head)] if head else []
    for kind, a, b, c, d in SequenceMatcher(None, inner_old, inner_new).get_opcodes():
        found.append((kind, a + head, b + head, c + head, d + head))
    if tail:
        found.append(("equal", len(old) - tail, len(old), len(new) - tail, len(new)))
    return found


def count_same(one: Sequence[Line], other: Sequence[Line]) -> int:
    """The number of lines that both begin with."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return sum(1 for _ in same)


def _slide_down(
    found: list[LineChange], base: Sequence[str], side: Sequence[str]
) -> list[LineChange]:
    """Pure insertions and deletions among equal lines moved down, so that the two sides of a
    merge choose the same of several places; ones that meet become one."""
    done: list[LineChange] = []
    for change in reversed(found):
        old, new = (change.start, change.end), (change.new_start, change.new_end)
        after = done[-1] if done else LineChange(len(base), len(base), len(side), len(side))
        text, span = (base, old) if old[0] < old[1] else (side, new)
        steps = 0
        if old[0] == old[1] or new[0] == new[1]:
            room = after.start - old[1]
            while steps < room and text[span[0] + steps] == text[span[1] + steps]:
                steps += 1
        moved = LineChange(old[0] + steps, old[1] + steps, new[0] + steps, new[1] + steps)
        if done and moved.end == after.start and moved.new_end == after.new_start:
            moved = LineChange(moved.start, after.end, moved.new_start, after.new_end)
            done.pop()
        done.append(moved)
    return done[::-1]


def _groups(
    ours: list[LineChange], theirs: list[LineChange], touching: bool
) -> Iterator[tuple[list[LineChange], list[LineChange]]]:
    """Changes of both sides that have to be seen together, in the order of the lines."""
    marked = sorted(
        ((change, side) for side, part in enumerate((ours, theirs)) for change in part),
        key=lambda pair: (pair[0].start, pair[0].end, pair[1]),
    )
    group: tuple[list[LineChange], list[LineChange]] = ([], [])
    start = end = -1
    for change, side in marked:
        same = (change.start, change.end) == (start, end)
        joins = same or change.start < end or (change.start == end and not touching)
        if end >= 0 and not joins:
            yield group
            group, start, end = ([], []), -1, -1
        group[side].append(change)
        start, end = (change.start if end < 0 else start), max(end, change.end)
    if end >= 0:
        yield group


def _lines_of_side(
    part: list[LineChange], side: Sequence[str], base: Sequence[str], start: int, end: int
) -> tuple[str, ...]:
    """The lines that one side has for base[start:end]."""
    if not part:
        return tuple(base[start:end])
    first, last = part[0], part[-1]
    return tuple(side[first.new_start - (first.start - start) : last.new_end + end - last.end])


_OURS, _BASE, _MIDDLE, _THEIRS = (
    re.compile(rf"{sign}{{7}}(?: |$)") for sign in (r"<", r"\|", "=", ">")
)
SIGN = b"<<<<<<<"  # every file with markers contains this; a file without it need not be parsed


@dataclass(slots=True)
class Hunk:
    """One conflict: the line of its first marker, from 1, and what each side has there. `base` is
    None where the style of the markers does not tell it."""

    line: int
    ours: list[str] = field(default_factory=list)
    theirs: list[str] = field(default_factory=list)
    base: list[str] | None = None


def conflicts(text: str) -> list[Hunk]:
    """The whole conflicts of a text; one whose end is missing is none."""
    return [part for part in _parts(text) if isinstance(part, Hunk)]


def sides(text: str) -> tuple[str, str]:
    """The text as it was on both sides before the merge; twice the text when nothing is marked."""
    parts = list(_parts(text))
    ours = (line for part in parts for line in (part.ours if isinstance(part, Hunk) else (part,)))
    theirs = (
        line for part in parts for line in (part.theirs if isinstance(part, Hunk) else (part,))
    )
    return "".join(ours), "".join(theirs)


def _parts(text: str) -> Iterator[str | Hunk]:
    """The lines of a text, each whole conflict in one piece."""
    lines = text.splitlines(keepends=True)
    at = 0
    while at < len(lines):
        found = _hunk(lines, at) if _OURS.match(lines[at].rstrip("\r\n")) else None
        if found is None:
            yield lines[at]
            at += 1
        else:
            hunk, at = found
            yield hunk


def _hunk(lines: list[str], start: int) -> tuple[Hunk, int] | None:
    """The conflict that begins in this line and the line after it; None when it has no end."""
    hunk = Hunk(start + 1)
    into, middle = hunk.ours, False
    for at in range(start + 1, len(lines)):
        bare = lines[at].rstrip("\r\n")
        if _OURS.match(bare):
            return None
        if _BASE.match(bare) and not middle:
            into = hunk.base = []
        elif _MIDDLE.match(bare) and not middle:
            into, middle = hunk.theirs, True
        elif _THEIRS.match(bare) and middle:
            return hunk, at + 1
        else:
            into.append(lines[at])
    return None
