"""Conflict markers, as git and diff3 write them into a file that two have changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_OURS, _BASE, _MIDDLE, _THEIRS = (
    re.compile(rf"{sign}{{7}}(?: |$)") for sign in (r"<", r"\|", "=", ">")
)
SIGN = b"<<<<<<<"
"""Stands in every file with markers; what has it not need not be read."""


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
