"""Draws bars with characters, in ASCII where the terminal may have no others, and in the terminal's
own 16 colours where it shows any: never by colour alone."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO

from openclaw.cli.past_lines import colours

PIPED_WIDTH = 100
LEAST_WIDTH = 40
HUES = (36, 32, 34, 35, 33, 31)
"""SGR codes: cyan, green, blue, magenta, yellow, red. They read on light and dark backgrounds;
white and black do not."""
DIM, PLAIN = "\x1b[2m", "\x1b[m"


@dataclass(frozen=True, slots=True)
class Marks:
    """The characters that plots are drawn with: one for what counts, one for what counts half, one
    for what is free, one for what is kept free. `parts` are eighths of a column."""

    full: str
    light: str
    free: str
    kept: str
    parts: str


BLOCKS = Marks("\u2588", "\u2591", "\u00b7", "\u254c", "\u258f\u258e\u258d\u258c\u258b\u258a\u2589")
ASCII = Marks("#", ":", ".", "-", "")


@dataclass(frozen=True, slots=True)
class Canvas:
    """What is drawn on: its width in columns, its characters, whether it shows colours."""

    width: int = PIPED_WIDTH
    marks: Marks = BLOCKS
    coloured: bool = False

    def hue(self, text: str, number: int) -> str:
        """The text in one of the colours, which come round again."""
        return f"\x1b[{HUES[number % len(HUES)]}m{text}{PLAIN}" if self.coloured and text else text

    def dim(self, text: str) -> str:
        return f"{DIM}{text}{PLAIN}" if self.coloured and text else text


def canvas(out: TextIO | None = None, environ: Mapping[str, str] = os.environ) -> Canvas:
    """What standard output, or another stream, can show. What is not a terminal is given no
    colours, and a width that COLUMNS names."""
    out = out or sys.stdout
    fallback = (PIPED_WIDTH, 24)
    width = shutil.get_terminal_size(fallback).columns if out.isatty() else _named_width(environ)
    marks = BLOCKS if _draws_blocks(out, environ) else ASCII
    return Canvas(max(LEAST_WIDTH, width), marks, colours(out, environ))


def _named_width(environ: Mapping[str, str]) -> int:
    named = environ.get("COLUMNS", "")
    return int(named) if named.isascii() and named.isdigit() else PIPED_WIDTH


def _draws_blocks(out: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether block characters come out: the encoding has them, and the user's locale, which on
    POSIX says what the terminal shows, is not the plain one."""
    try:
        (BLOCKS.full + BLOCKS.parts).encode(out.encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    locale = next(filter(None, map(environ.get, ("LC_ALL", "LC_CTYPE", "LANG"))), "")
    return locale not in ("C", "POSIX") and environ.get("TERM") != "dumb"


def shares(amounts: Sequence[float], columns: int) -> list[int]:
    """So many columns given out by largest remainder, at least one to whatever is not nothing (as
    long as there are enough columns)."""
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


def bar(value: float, most: float, columns: int, marks: Marks, light: float = 0.0) -> str:
    """A bar of `value`, where `most` fills all columns; `light` of it, which comes last, is drawn
    lightly. Whatever is not nothing is seen."""
    if value <= 0 or most <= 0 or columns <= 0:
        return ""
    whole = max(value / most * columns, 1 / 8 if marks.parts else 1.0)
    dark = whole * (1 - min(1.0, light / value))
    if light > 0:
        cells = max(1, round(whole))
        solid = min(cells, round(dark))
        return marks.full * solid + marks.light * (cells - solid)
    eighths = round(whole * 8) if marks.parts else round(whole) * 8
    rest = marks.parts[eighths % 8 - 1] if eighths % 8 else ""
    return marks.full * (eighths // 8) + rest
