"""Text of a model, a tool or a file made fit for a terminal: readable, but it gives no orders."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_BIDI = (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C)
_TAGS = range(0xE0000, 0xE0080)  # letters that nobody sees and a model reads
_TABLE = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t\r"},
    ord("\r"): "",
    0x7F: "\u2421",
    **{code: f"<{code:02X}>" for code in range(0x80, 0xA0)},
    **{code: f"<U+{code:04X}>" for code in (*_BIDI, *_TAGS)},
}
_ONE_LINE = {**_TABLE, ord("\n"): "\u240a", ord("\r"): "\u240d", ord("\t"): "\u2409"}


def harmless(text: str) -> str:
    """The text with control and direction characters replaced by signs that show them. Newlines
    and tabs stay; carriage returns, which could write over a line, are dropped."""
    return text.translate(_TABLE)


def one_line(text: str, width: int = 0) -> str:
    """The text on one line, every control character visible, cut to `width` characters if given."""
    flat = text.translate(_ONE_LINE)
    return flat if not width or len(flat) <= width else flat[: width - 1] + "\u2026"


def first_line(text: str, width: int) -> str:
    """The first line that is not blank, cut to `width` characters."""
    return one_line(next((line for line in text.splitlines() if line.strip()), ""), width)


def main_argument(arguments: Mapping[str, Any], width: int = 60) -> str:
    """The values of a call in a few words: what a person needs to recognise it."""
    words = [_value(value) for value in arguments.values() if value not in (None, "", [])]
    return one_line(" ".join(words), width)


def whole_call(tool: str, arguments: Mapping[str, Any]) -> str:
    """The call with every argument in full, one below the other."""
    lines = [one_line(tool)]
    for name, value in arguments.items():
        shown = harmless(_value(value)).split("\n")
        lines += [f"  {one_line(name)}: {shown[0]}", *(f"    {line}" for line in shown[1:])]
    return "\n".join(lines)


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
