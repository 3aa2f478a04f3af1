"""What a program printed, kept within bounds and made plain text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

KEPT = 10_000_000
"""Bytes of a program's output that are kept; of more only the end."""
TAIL = 65_536

# Colours, cursor moves, window titles, hyperlinks: CSI, then OSC and its kin, then two-letter ones.
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

    def text(self) -> str:
        """All that was kept, with a line for what was not."""
        lost = self.total - len(self._first) - len(self._last)
        gap = f"\n[{lost:,} bytes were not kept]\n" if lost else ""
        parts = (self._first.decode("utf-8", "replace"), self._last.decode("utf-8", "replace"))
        return plain(parts[0]) + gap + plain(parts[1])


def plain(text: str) -> str:
    """A terminal's text without what only a terminal understands: escapes, overwritten progress
    bars, overstruck letters, control characters other than newline and tab."""
    text = _ESCAPES.sub("", text)
    if "\r" in text:
        lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
        text = "\n".join(lines)
    return _CONTROLS.sub("", _OVERSTRUCK.sub("", text))


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Beginning and end of a text. `gap` is the number of the first line left out, 0 for none."""

    text: str
    gap: int = 0


def excerpt(text: str, limit: int) -> Excerpt:
    """At most about `limit` characters of a text: a third from its beginning, the rest from its
    end, where errors stand; cut between lines where that is possible."""
    if len(text) <= limit:
        return Excerpt(text)
    head, tail = text[: limit // 3], text[-(limit - limit // 3) :]
    head = head[: head.rfind("\n") + 1] or head
    after = tail.find("\n") + 1
    tail = tail[after:] if 0 < after < len(tail) else tail
    left = text[len(head) : len(text) - len(tail)]
    line = head.count("\n") + 1
    gap = f"[{len(left.splitlines()):,} lines ({len(left):,} characters) left out]"
    return Excerpt(f"{head.rstrip()}\n{gap}\n{tail}", line)
