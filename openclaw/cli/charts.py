"""What a terminal can show, and how its columns are shared out."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from typing import TextIO

from openclaw.cli.formatting import LEAST_WIDTH, has_colours
from openclaw.frozen import frozen

PIPED_WIDTH = 100
HUES = tuple(f"\x1b[{code}m" for code in (36, 32, 34, 35, 33, 31))
"""Cyan, green, blue, magenta, yellow, red. They read on light and dark backgrounds; white and black
do not."""
DIM = "\x1b[2m"
BLOCKS = ("\u2588", "\u00b7", "\u254c")
ASCII = ("#", ".", "-")
"""The characters that plots are drawn with: of an amount, of free columns, and of columns that are
kept free."""


@frozen
class Canvas:
    """What an output can show: its width in columns, its characters, and colours or none."""

    width: int = PIPED_WIDTH
    marks: tuple[str, str, str] = BLOCKS
    coloured: bool = False

    def paint(self, text: str, code: str) -> str:
        return f"{code}{text}\x1b[m" if self.coloured and text else text


def canvas(out: TextIO) -> Canvas:
    """The canvas for a stream. One that is no terminal has no colours, and the width in COLUMNS.
    The user's locale tells, on POSIX, whether the terminal shows block characters."""
    width = shutil.get_terminal_size((PIPED_WIDTH, 24)).columns
    locale = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_CTYPE", "LANG"))), "")
    plain = locale in ("C", "POSIX") or os.environ.get("TERM") == "dumb"
    return Canvas(max(LEAST_WIDTH, width), ASCII if plain else BLOCKS, has_colours(out))


def share_columns(amounts: Sequence[float], columns: int) -> list[int]:
    """Share out columns among the amounts by largest remainder. Each amount above 0 gets at least
    one, as long as there are enough."""
    total = sum(amounts)
    if total <= 0 or columns <= 0:
        return [0] * len(amounts)
    exact = [amount * columns / total for amount in amounts]
    given = [max(int(value), int(value > 0)) for value in exact]

    def lacks(at: int) -> float:
        return exact[at] - given[at]

    while sum(given) < columns:
        given[max(range(len(given)), key=lacks)] += 1
    while sum(given) > columns:
        wide = [at for at in range(len(given)) if given[at] > 1]
        given[min(wide or [at for at in range(len(given)) if given[at]], key=lacks)] -= 1
    return given
