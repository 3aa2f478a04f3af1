"""Working notes as a text of bounded length for a prompt, by worth."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

Count = Callable[[str], int]

_EXACT = re.compile(r"\d|[/@`\"_\u201c\u201e]|[a-z][A-Z]|(?<=[a-z,] )[A-Z][a-z]")
"""Roughly: a line that has a number, a path, a quoted word or a name in it."""
_NEWEST_FIRST = ("To-dos", "Files", "Findings")
_BY_WORTH = ("Open questions", *_NEWEST_FIRST)
_LEFT_OUT_TOKENS = 32
"""Kept free for the line that says what is left out."""


def is_telling(line: str) -> bool:
    """Whether a line has an exact string in it."""
    return bool(_EXACT.search(line))


def brief_of(
    sections: Mapping[str, Sequence[str]],
    own: Sequence[tuple[str, Sequence[str]]],
    tokens: int,
    count: Count,
    place: str,
    lasting: Callable[[str], object] = bool,
) -> str:
    """The notes in at most so many tokens. `own` are headings and lines that the user has added;
    `place` says where the notes stand whole.

    The goal comes first, then what the user has written under headings of his own, then decisions
    and facts before anything else. When these do not fit,
    the lasting ones stay, then those with an exact string in them, the newest first.
    """
    blocks: list[str] = []
    left = _take(blocks, "## Goal", _items(sections["Goal"]), tokens, count, most_first=False)
    for heading, lines in own:
        left = _take(blocks, heading, lines, left, count, most_first=False)
    facts = _items(sections["Decisions and facts"])
    left, whole = _take_facts(blocks, facts, left, count, place, lasting)
    if whole:
        for name in _BY_WORTH:
            newest = name in _NEWEST_FIRST
            lines = _items(sections[name])
            left = _take(blocks, f"## {name}", lines, left, count, most_first=newest)
    return "\n".join(blocks)


def _items(lines: Sequence[str]) -> list[str]:
    return [f"- {line}" for line in lines]


def _take(
    blocks: list[str],
    heading: str,
    lines: Sequence[str],
    left: int,
    count: Count,
    *,
    most_first: bool,
) -> int:
    """Add as many lines as fit below their heading, in their order; the tokens that are left. With
    `most_first` the last lines are the ones that count most."""
    if not lines:
        return left
    cost = count(heading + "\n")
    kept: set[int] = set()
    for number in range(len(lines) - 1, -1, -1) if most_first else range(len(lines)):
        if (size := count(lines[number] + "\n")) > left - cost:
            break
        cost += size
        kept.add(number)
    if not kept:
        return left
    blocks.append("\n".join((heading, *(lines[number] for number in sorted(kept)))))
    return left - cost


def _take_facts(
    blocks: list[str],
    facts: Sequence[str],
    left: int,
    count: Count,
    place: str,
    lasting: Callable[[str], object],
) -> tuple[int, bool]:
    """Add the decisions and facts; the tokens that are left, and whether all of them fitted."""
    heading = "## Decisions and facts"
    sizes = [count(line + "\n") for line in facts]
    needed = count(heading + "\n") + sum(sizes) if facts else 0
    if needed <= left:
        if facts:
            blocks.append("\n".join((heading, *facts)))
        return left - needed, True
    room = left - count(heading + "\n") - _LEFT_OUT_TOKENS
    worth = [(not lasting(line[2:]), not is_telling(line)) for line in facts]
    newest = sorted(range(len(facts)), key=lambda number: (*worth[number], -number))
    kept: list[int] = []
    for number in newest:
        if sizes[number] <= room:
            room -= sizes[number]
            kept.append(number)
    if kept:
        more = f"({len(facts) - len(kept)} more stand in {place})"
        blocks.append("\n".join((heading, *(facts[number] for number in sorted(kept)), more)))
    return 0, False
