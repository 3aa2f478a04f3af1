"""Text of a model, a tool or a file made fit for a terminal: readable, but it gives no orders."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from unicodedata import combining, east_asian_width

from openclaw.safety.hidden import visible, visible_piece

MOST_BLANKS = 40
_LINES = str.maketrans(
    {"\n": "\u240a", "\r": "\u240d", "\t": "\u2409", "\u2028": "<U+2028>", "\u2029": "<U+2029>"}
)
_BLANK = r"[^\S\n]|\u2800"  # a braille pattern without a dot is a blank too
_EMPTY = re.compile(rf"^(?:{_BLANK})+$", re.MULTILINE)
_BLANKS = re.compile(rf"(?:{_BLANK}){{{MOST_BLANKS + 1},}}")
_EMPTY_LINES = re.compile(r"\n{4,}")


def harmless(text: str) -> str:
    """The text, which may be a piece of a longer one, with signs for what is hidden in it. Newlines
    and tabs stay; carriage returns, which could write over a line, are dropped."""
    return visible_piece(text)


def one_line(text: str, width: int = 0) -> str:
    """The text on one line, every control character visible, cut to `width` characters if given."""
    flat = visible_piece(text.translate(_LINES))
    return flat if not width or len(flat) <= width else flat[: width - 1] + "\u2026"


def first_line(text: str, width: int) -> str:
    """The first line that is not blank, cut to `width` characters."""
    return one_line(next((line for line in text.splitlines() if line.strip()), ""), width)


def main_argument(arguments: Mapping[str, Any], width: int = 60) -> str:
    """The values of a call in a few words: what a person needs to recognise it."""
    values = (value for value in arguments.values() if value not in (None, "", []))
    words = [
        ", ".join(map(_value, each)) if isinstance(each, list) else _value(each) for each in values
    ]
    return one_line(" ".join(words), width)


def whole_call(tool: str, arguments: Mapping[str, Any]) -> str:
    """The call with every argument in full, one below the other, nothing hidden."""
    lines = [one_line(tool)]
    for name, value in arguments.items():
        shown = visible(_value(value)).split("\n")
        lines += [f"  {one_line(name)}: {shown[0]}", *(f"    {line}" for line in shown[1:])]
    return "\n".join(lines)


def folded(text: str) -> str:
    """The text with a count in the place of many blanks or empty lines, behind which the rest of it
    would be out of sight."""
    text = _BLANKS.sub(_count("blanks", " "), _EMPTY.sub("", text))
    return _EMPTY_LINES.sub(_count("line ends", "\n"), text)


def rows(text: str, width: int) -> Iterator[str]:
    """The lines of a visible text as a terminal of so many columns would break them."""
    for line in text.expandtabs(4).split("\n"):
        row, used = "", 0
        for character in line:
            needed = columns(character)
            # What is set over a letter takes no column, but not without end.
            if used + needed > width or len(row) >= 4 * width:
                yield row
                row, used = "", 0
            row += character
            used += needed
        yield row


def columns(text: str) -> int:
    """Columns that a terminal gives to the text; East Asian characters take two."""
    if text.isascii():
        return len(text)
    return sum((2 if east_asian_width(c) in "WF" else 1) for c in text if not combining(c))


def _count(what: str, around: str) -> Callable[[re.Match[str]], str]:
    return lambda found: f"{around}\u27e8{len(found[0]):,} {what}\u27e9{around}"


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
