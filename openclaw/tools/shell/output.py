"""The output of a program as plain text of limited length, and the files that it changed.

`Output`, `strip_terminal_codes` and `excerpt` handle what it printed. `scan_home` and
`changed_files` compare the files of a home before and after.
"""

from __future__ import annotations

import ast
import contextlib
import os
import re
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from openclaw.frozen import frozen
from openclaw.security.secrets import find_secrets
from openclaw.storage.home import Home
from openclaw.storage.safe_open import read_bytes
from openclaw.storage.text import decode
from openclaw.tools.paths import MAX_FILES, SKIPPED
from openclaw.tools.shell.sandbox import FIXED_FILES

KEPT = 10_000_000
"""Bytes of a program's output that are kept: the beginning, and the end of the rest."""
TAIL = 65_536
LONGEST_LINE = 1_500
"""Characters; `read_file` would show only the beginning of a longer line."""
SHORTEST_LINE, READABLE = 500, 2_000
AROUND = 80
"""Characters before a secret that may identify it as one."""

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


def wrap_lines(text: str, longest: int = LONGEST_LINE) -> str:
    """Wrap long lines, but not inside a secret, which would no longer be recognized."""
    if max(map(len, text.split("\n"))) <= longest:
        return text
    return "\n".join(piece for line in text.split("\n") for piece in _pieces(line, longest))


def _pieces(line: str, longest: int) -> Iterator[str]:
    start = 0
    while len(line) - start > longest:
        end = start + longest
        for secret in find_secrets(line[start : end + LONGEST_LINE]):
            begin = max(start + secret.start - AROUND, start)
            if begin < end < start + secret.end:
                whole = min(start + secret.end, start + READABLE)
                end = begin if begin >= start + min(SHORTEST_LINE, longest // 3) else whole
                break
        yield line[start:end]
        start = end
    yield line[start:]


@frozen
class Excerpt:
    """Beginning and end of a text. `gap` is the number of the first omitted line, 0 for none, and
    `rest` that of the first whole line after the gap."""

    text: str
    gap: int = 0
    rest: int = 0


def excerpt(text: str, limit: int) -> Excerpt:
    """Shorten a text to about `limit` characters: a third from its beginning, the rest from its
    end, where errors are; cut between lines if possible."""
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
    end = len(text) - len(tail)
    rest = text.count("\n", 0, end) + 1 + (text[end - 1] != "\n")
    return Excerpt(f"{head.rstrip()}\n{gap}\n{tail}", line, rest)


UNSEEN = frozenset({".openclaw", ".git", *SKIPPED})
MAX_KEPT = 20_000
LARGEST = 5_000_000
MAX_BYTES = 100_000_000
MAX_CHANGES = 200
UNKNOWN = b"\0"
"""Stands for a content that was not kept."""
TICK_NS = 20_000_000
"""How much a file system's clock may lag behind (ns)."""

Stamp = tuple[int, int, int, int]
"""mtime and ctime (ns), size in bytes, inode."""


@dataclass(slots=True)
class HomeFiles:
    """The files of a home at one moment, by home-relative path."""

    stamps: dict[str, Stamp] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)  # of small files that are not hidden
    unsafe: list[Path] = field(default_factory=list)  # setuid and setgid files
    special: list[Path] = field(default_factory=list)  # sockets and pipes
    programs: set[str] = field(default_factory=set)  # executable files
    whole: bool = True  # False when the home has more files than the limit
    root: Path = Path()
    at_ns: int = field(default_factory=time.time_ns)


def scan_home(home: Home, earlier: HomeFiles | None = None, *, contents: bool = True) -> HomeFiles:
    """Take stock of the home now; contents that `earlier` has are not read again."""
    root = home.real_root
    found = HomeFiles(root=root)
    for path, status in _files(root):
        if len(found.stamps) >= MAX_FILES:
            found.whole = False
            break
        if not stat.S_ISREG(status.st_mode):
            found.special.append(path)
            continue
        name = path.relative_to(root).as_posix()
        if name in FIXED_FILES and not status.st_size:
            continue  # a placeholder of a running command
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
    """A content as the receipt compares it: "" when it is unknown or not text."""
    if content is None:
        return None
    return "" if b"\0" in content[:8192] else decode(content)


def changed_files(before: HomeFiles, after: HomeFiles) -> dict[str, bytes | None]:
    """The visible files that differ, with their content before: None for a new file, UNKNOWN when
    it was not kept (large, too many files)."""
    names = (*before.stamps, *(name for name in after.stamps if name not in before.stamps))
    return {
        name: before.contents.get(name, UNKNOWN) if name in before.stamps else None
        for name in names
        if before.stamps.get(name) != after.stamps.get(name)
        and not is_hidden(name)
        and _is_certain(name, before, after)
    }


def _is_certain(name: str, before: HomeFiles, after: HomeFiles) -> bool:
    """Return True when a file that only one look has is really new or gone. In a home with too many
    files it may only have moved past the limit."""
    if name not in after.stamps:
        return after.whole or not os.path.lexists(after.root / name)
    return name in before.stamps or before.whole or after.stamps[name][1] >= before.at_ns - TICK_NS


def drop_setuid(found: HomeFiles) -> None:
    """Remove setuid and setgid from the files that a command left."""
    for path in found.unsafe:
        with contextlib.suppress(OSError):
            mode = stat.S_IMODE(path.lstat().st_mode) & 0o777
            try:
                path.chmod(mode, follow_symlinks=False)
            except NotImplementedError:  # in the C library, before glibc 2.32
                number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    os.fchmod(number, mode)
                finally:
                    os.close(number)


def _add_contents(root: Path, found: HomeFiles, earlier: HomeFiles | None) -> None:
    names = [name for name in found.stamps if not is_hidden(name)]
    if len(names) > MAX_KEPT:
        return
    room = MAX_BYTES
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


def _files(root: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Files with their status; links are neither followed nor included."""
    for top, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in UNSEEN)
        for name in sorted(names):
            path = Path(top, name)
            with contextlib.suppress(OSError):
                status = path.lstat()
                if not stat.S_ISLNK(status.st_mode):
                    yield path, status


def is_hidden(name: str) -> bool:
    """Return True when the name of a file or of a folder above it begins with a dot."""
    return name.startswith(".") or "/." in name


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
    return f"{head}\n_ = {ast.unparse(last.value)}\n_ is None or print(_)\n"
