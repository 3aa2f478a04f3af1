"""What a program printed, kept within bounds and made plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

KEPT = 10_000_000
"""Bytes of a program's output that are kept; of more only the end."""
TAIL = 65_536
LONGEST_LINE = 1_500
"""Characters; of longer ones `read_file` would show only the beginning."""
SHORTEST_LINE, READABLE = 500, 2_000
AROUND = 80
"""Characters before a secret that may tell that it is one."""

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

    @property
    def lost(self) -> int:
        return self.total - len(self._first) - len(self._last)

    def tail(self) -> str:
        """The newest whole lines, as many as a long secret may have and more."""
        newest = bytes((self._first + self._last)[-TAIL:])
        return plain(newest.rpartition(b"\n")[0].decode("utf-8", "replace"))

    def text(self) -> str:
        """All that was kept, with a line for what was not."""
        gap = f"\n[{self.lost:,} bytes were not kept]\n" if self.lost else ""
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


def wrapped(text: str, longest: int = LONGEST_LINE) -> str:
    """The text with its long lines cut, though in no secret, which could not be told any more."""
    if max(map(len, text.split("\n"))) <= longest:
        return text
    return "\n".join(piece for line in text.split("\n") for piece in _pieces(line, longest))


def _pieces(line: str, longest: int) -> Iterator[str]:
    from openclaw.safety.secrets import find

    start = 0
    while len(line) - start > longest:
        end = start + longest
        for secret in find(line[start : end + LONGEST_LINE]):
            begin = max(start + secret.start - AROUND, start)
            if begin < end < start + secret.end:
                whole = min(start + secret.end, start + READABLE)
                end = begin if begin >= start + min(SHORTEST_LINE, longest // 3) else whole
                break
        yield line[start:end]
        start = end
    yield line[start:]


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
    count = len(left.splitlines())
    lines = "1 line" if count == 1 else f"{count:,} lines"
    gap = f"[{lines} ({len(left):,} characters) left out]"
    return Excerpt(f"{head.rstrip()}\n{gap}\n{tail}", line)
