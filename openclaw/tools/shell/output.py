"""The output of a program as plain text."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

KEPT = 10_000_000
"""Bytes of a program's output that are kept: the beginning, and the end of the rest."""
TAIL = 65_536

# Colours, cursor moves, window titles, hyperlinks: CSI, then OSC and similar, then two-letter ones.
_ESCAPES = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)|\x1b[ -/]*[0-~]"
)
_OVERSTRUCK = re.compile("[^\n\b]\b")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(slots=True)
class Output:
    """Collects bytes; memory stays below about `KEPT`, however many come."""

    total: int = 0
    _first: bytearray = field(default_factory=bytearray)
    _last: bytes = b""

    def feed(self, data: bytes) -> None:
        self.total += len(data)
        room = KEPT - len(self._first)
        self._first += data[:room]
        if len(data) > room:
            self._last = (self._last + data[room:])[-TAIL:]

    @property
    def lost(self) -> int:
        return self.total - len(self._first) - len(self._last)

    def tail(self) -> str:
        """The newest whole lines, as many as a long secret may have and more."""
        newest = bytes((self._first + self._last)[-TAIL:])
        return strip_terminal_codes(newest.rpartition(b"\n")[0].decode("utf-8", "replace"))

    def text(self) -> str:
        """All that was kept, with a line about the lost bytes."""
        gap = f"\n[{self.lost:,} bytes were not kept]\n" if self.lost else ""
        parts = (self._first.decode("utf-8", "replace"), self._last.decode("utf-8", "replace"))
        return strip_terminal_codes(parts[0]) + gap + strip_terminal_codes(parts[1])


def strip_terminal_codes(text: str) -> str:
    """Remove what only a terminal understands: escapes, overwritten progress bars, overstruck
    letters, control characters other than newline and tab."""
    text = _ESCAPES.sub("", text)
    if "\r" in text:
        lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
        text = "\n".join(lines)
    return _CONTROLS.sub("", _OVERSTRUCK.sub("", text))


def with_print(code: str) -> str:
    """Return code that prints nothing with its last expression printed, as the prompt of Python
    does: a small model forgets it, and then makes the result up."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr) or "print" in code:
        return code
    lines = code.encode().splitlines()[: last.lineno]  # in bytes, as `ast` counts
    lines[-1] = lines[-1][: last.col_offset]  # what stands before a semicolon
    head = b"\n".join(lines).decode()
    value = ast.get_source_segment(code, last.value)  # `unparse` takes no sum of 500 numbers
    return f"{head}\n_ = (\n{value}\n)\n_ is None or print(_)\n"
