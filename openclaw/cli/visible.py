"""Text of a model, a tool or a file made fit for a terminal: readable, but it gives no orders."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from openclaw.safety.hidden import visible, visible_piece

_LINES = str.maketrans("\n\r\t", "\u240a\u240d\u2409")


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
    words = [_value(value) for value in arguments.values() if value not in (None, "", [])]
    return one_line(" ".join(words), width)


def whole_call(tool: str, arguments: Mapping[str, Any]) -> str:
    """The call with every argument in full, one below the other, nothing hidden."""
    lines = [one_line(tool)]
    for name, value in arguments.items():
        shown = visible(_value(value)).split("\n")
        lines += [f"  {one_line(name)}: {shown[0]}", *(f"    {line}" for line in shown[1:])]
    return "\n".join(lines)


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
