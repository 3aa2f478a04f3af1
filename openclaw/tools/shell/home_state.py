"""The files of a home, as they were before and after a command."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from openclaw.storage.home import CLOSED, PROGRAM_FOLDERS, Home
from openclaw.storage.safe_open import decode, read_bytes
from openclaw.tools.paths import MAX_FILES
from openclaw.tools.shell.sandbox import FIXED_FILES

UNSEEN = CLOSED | PROGRAM_FOLDERS
MAX_KEPT = 20_000
LARGEST = 5_000_000
MAX_BYTES = 100_000_000
MAX_CHANGES = 200
UNKNOWN = b"\0"  # stands for a content that was not kept
TICK_NS = 20_000_000  # how much a file system's clock may lag behind (ns)

Stamp = tuple[int, int, int, int]  # mtime and ctime (ns), size in bytes, inode


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
