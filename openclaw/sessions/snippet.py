"""Cuts texts: into passages of some lines, and to what stands around the words of a search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

PIECE = 800
LONE_LINE = 160
BEFORE = 40


def pieces(text: str) -> Iterator[str]:
    """A text as passages of at most 800 characters, cut at line ends where there are any; one that
    is only a little longer stays whole."""
    if len(text) <= PIECE + PIECE // 4:
        yield text
        return
    start = 0
    while len(text) - start > PIECE:
        end = text.rfind("\n", start, start + PIECE) + 1
        if end <= start:
            end = text.rfind(" ", start, start + PIECE) + 1
        if end <= start:
            end = start + PIECE
        yield text[start:end]
        start = end
    yield text[start:]


def around(text: str, words: Sequence[str], length: int) -> str:
    """What stands around the folded words in a text, in one line of at most `length` characters and
    the dots of a cut: the line with the most of them, and its neighbours where it is short."""
    lines = [line for line in (" ".join(line.split()) for line in text.splitlines()) if line]
    if not lines:
        return ""
    best = max(range(len(lines)), key=lambda index: _held(lines[index], words))
    if len(lines[best]) > length:
        return _cut(lines[best], words, length)
    first = last = best
    if length > LONE_LINE:
        first, last = _widened(lines, best, length)
    return " / ".join(lines[first : last + 1])


def _widened(lines: Sequence[str], best: int, length: int) -> tuple[int, int]:
    """The first and last of the lines around one that fit together, those below first."""
    first = last = best
    left = length - len(lines[best])
    while True:
        below = len(lines[last + 1]) + 3 if last + 1 < len(lines) else length + 1
        above = len(lines[first - 1]) + 3 if first else length + 1
        if last - best <= best - first and below <= left:
            last, left = last + 1, left - below
        elif above <= left:
            first, left = first - 1, left - above
        elif below <= left:
            last, left = last + 1, left - below
        else:
            return first, last


def _cut(line: str, words: Sequence[str], length: int) -> str:
    """The part of a long line with the most of the words."""
    folded = line.casefold()
    places = sorted(_places(folded, words)) or [0]
    starts = [max(0, min(place - BEFORE, len(line) - length)) for place in places]
    start = max(starts, key=lambda at: _held(folded[at : at + length], words))
    end = start + length
    return ("..." if start else "") + line[start:end] + ("..." if end < len(line) else "")


def _places(folded: str, words: Sequence[str]) -> Iterator[int]:
    for word in words:
        at = folded.find(word)
        for _ in range(20):
            if at < 0:
                break
            yield at
            at = folded.find(word, at + 1)


def _held(line: str, words: Sequence[str]) -> int:
    folded = line.casefold()
    return sum(word in folded for word in words)
