"""What a program printed, kept within bounds and made plain text."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from openclaw.security.secrets import find
from openclaw.storage.home import Home
from openclaw.storage.safe_open import read_bytes
from openclaw.storage.text import decode
from openclaw.tools.paths import MAX_FILES, SKIPPED
from openclaw.tools.shell.sandbox import FIXED_FILES

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


UNSEEN = frozenset({".openclaw", ".git", *SKIPPED})
MOST_KEPT = 20_000
LARGEST = 5_000_000
MOST_BYTES = 100_000_000
MOST_CHANGES = 200
UNKNOWN = b"\0"
"""Stands for a content that was not kept."""
TICK_NS = 20_000_000
"""How much a file system's clock may lag behind."""

Stamp = tuple[int, int, int, int]
"""Times of the last change and of the last change of its state (ns), size in bytes, inode."""


@dataclass(slots=True)
class Look:
    """The files of a home at one moment, by home-relative path. `contents` are those of them that
    are small enough to be kept; hidden files have a stamp but no content. `unsafe` are files that
    act as their owner, `special` sockets and pipes, `programs` files that can be run; `whole` says
    that there are not more files than are looked at."""

    stamps: dict[str, Stamp] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)
    unsafe: list[Path] = field(default_factory=list)
    special: list[Path] = field(default_factory=list)
    programs: set[str] = field(default_factory=set)
    whole: bool = True
    root: Path = Path()
    at_ns: int = field(default_factory=time.time_ns)


def look(home: Home, earlier: Look | None = None, *, contents: bool = True) -> Look:
    """The home now; contents that an earlier look had are not read again."""
    root = Path(os.path.realpath(home.root))
    found = Look(root=root)
    for path, status in _files(root):
        if len(found.stamps) >= MAX_FILES:
            found.whole = False
            break
        if not stat.S_ISREG(status.st_mode):
            found.special.append(path)
            continue
        name = path.relative_to(root).as_posix()
        if name in FIXED_FILES and not status.st_size:
            continue  # the placeholder of some command that runs
        found.stamps[name] = stamp_of(status)
        if status.st_mode & 0o100:
            found.programs.add(name)
        if status.st_mode & (stat.S_ISUID | stat.S_ISGID):
            found.unsafe.append(path)
    if contents:
        _add_contents(root, found, earlier)
    return found


def stamp_of(status: os.stat_result) -> Stamp:
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def as_text(content: bytes | None) -> str | None:
    """A content as the receipt compares it: "" where it is not known or no text."""
    if content is None:
        return None
    return "" if b"\0" in content[:8192] else decode(content)


def changed(before: Look, after: Look) -> dict[str, bytes | None]:
    """The visible files that differ, with what they held: None for a new one, UNKNOWN where that
    was not kept (large, too many files)."""
    names = (*before.stamps, *(name for name in after.stamps if name not in before.stamps))
    return {
        name: before.contents.get(name, UNKNOWN) if name in before.stamps else None
        for name in names
        if before.stamps.get(name) != after.stamps.get(name)
        and not hidden(name)
        and _surely(name, before, after)
    }


def _surely(name: str, before: Look, after: Look) -> bool:
    """Whether a file that only one look has is new or gone; with too many files in the home it may
    only have got beyond the last one that is looked at."""
    if name not in after.stamps:
        return after.whole or not os.path.lexists(after.root / name)
    return name in before.stamps or before.whole or after.stamps[name][1] >= before.at_ns - TICK_NS


def disarm(found: Look) -> None:
    """Take the right to act as their owner (setuid) from files that a command left."""
    for path in found.unsafe:
        with contextlib.suppress(OSError):
            mode = stat.S_IMODE(path.lstat().st_mode) & 0o777
            try:
                path.chmod(mode, follow_symlinks=False)
            except NotImplementedError:  # by the C library, below glibc 2.32
                _disarm_open(path, mode)


def _disarm_open(path: Path, mode: int) -> None:
    number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        os.fchmod(number, mode)
    finally:
        os.close(number)


def _add_contents(root: Path, found: Look, earlier: Look | None) -> None:
    names = [name for name in found.stamps if not hidden(name)]
    if len(names) > MOST_KEPT:
        return
    room = MOST_BYTES
    for name in names:
        size = found.stamps[name][2]
        if size > LARGEST or size > room:
            continue
        if earlier and earlier.stamps.get(name) == found.stamps[name] and name in earlier.contents:
            found.contents[name] = earlier.contents[name]
        else:
            with contextlib.suppress(OSError):
                found.contents[name] = read_bytes(root / name)
        room -= size


def _files(root: Path, skipped: Collection[str] = UNSEEN) -> Iterator[tuple[Path, os.stat_result]]:
    """Files with their status; links are neither followed nor given."""
    for top, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in skipped)
        for name in sorted(names):
            path = Path(top, name)
            with contextlib.suppress(OSError):
                status = path.lstat()
                if not stat.S_ISLNK(status.st_mode):
                    yield path, status


def hidden(name: str) -> bool:
    """Whether a file or a folder above it is hidden by its name."""
    return name.startswith(".") or "/." in name
