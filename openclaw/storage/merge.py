"""Three-way merge of lines (diff3 over Myers' shortest edit scripts), and conflict markers.

The method is diff3 as Khanna, Kunal and Pierce describe it ("A formal investigation of diff3",
FSTTCS 2007); what counts as a conflict is what git's merge counts as one (xdiff/xmerge.c, level
"eager"): changes that overlap or touch and are not the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from openclaw.frozen import frozen

MAX_EDITS = 600
"""Where two texts differ in more common lines than this, a rougher comparison is good enough."""


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
    found: list[LineChange] = []
    old = new = 0
    for match in (*_matches(base, side), (len(base), len(side))):
        if match != (old, new):
            found.append(LineChange(old, match[0], new, match[1]))
        old, new = match[0] + 1, match[1] + 1
    return _slide_down(found, base, side)


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


def _matches(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The index pairs of lines that stayed, in order."""
    head, shortest = 0, min(len(old), len(new))
    while head < shortest and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shortest - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    yield from ((at, at) for at in range(head))
    yield from _middle(old, new, head, tail)
    yield from ((len(old) - left, len(new) - left) for left in range(tail, 0, -1))


def _middle(old: Sequence[str], new: Sequence[str], head: int, tail: int) -> list[tuple[int, int]]:
    """The pairs between a common head and tail. Lines that one side does not have cannot stay and
    are left out first, which is most of the work saved."""
    here, there = set(old[head : len(old) - tail]), set(new[head : len(new) - tail])
    a = [at for at in range(head, len(old) - tail) if old[at] in there]
    b = [at for at in range(head, len(new) - tail) if new[at] in here]
    pairs = _find_longest_common([old[at] for at in a], [new[at] for at in b])
    return [(a[x], b[y]) for x, y in pairs]


def _find_longest_common(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """The pairs of a longest common subsequence (Myers 1986, "An O(ND) difference algorithm"),
    or of a good one where that would take too long."""
    ends = {1: 0}
    trace: list[dict[int, int]] = []
    for edits in range(min(len(a) + len(b), MAX_EDITS) + 1):
        trace.append(ends)
        reached: dict[int, int] = {}
        for diagonal in range(-edits, edits + 1, 2):
            x = _furthest(ends, diagonal, edits)
            y = x - diagonal
            while x < len(a) and y < len(b) and a[x] == b[y]:
                x, y = x + 1, y + 1
            reached[diagonal] = x
            if x >= len(a) and y >= len(b):
                return _walk_back(trace, len(a), len(b))
        ends = reached
    return _match_roughly(a, b)


def _furthest(ends: dict[int, int], diagonal: int, edits: int) -> int:
    if _goes_down(ends, diagonal, edits):
        return ends[diagonal + 1]
    return ends[diagonal - 1] + 1


def _goes_down(ends: dict[int, int], diagonal: int, edits: int) -> bool:
    return diagonal == -edits or (diagonal != edits and ends[diagonal - 1] < ends[diagonal + 1])


def _walk_back(trace: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    for edits in range(len(trace) - 1, -1, -1):
        ends, diagonal = trace[edits], x - y
        before = diagonal + 1 if _goes_down(ends, diagonal, edits) else diagonal - 1
        from_x = ends[before] if edits else 0
        from_y = from_x - before if edits else 0
        while x > from_x and y > from_y:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        x, y = from_x, from_y
    return pairs[::-1]


def _match_roughly(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    blocks = SequenceMatcher(None, a, b).get_matching_blocks()
    return [(x + step, y + step) for x, y, size in blocks for step in range(size)]


_OURS, _BASE, _MIDDLE, _THEIRS = (
    re.compile(rf"{sign}{{7}}(?: |$)") for sign in (r"<", r"\|", "=", ">")
)
SIGN = b"<<<<<<<"
"""Every file with markers contains this; a file without it need not be parsed."""


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
