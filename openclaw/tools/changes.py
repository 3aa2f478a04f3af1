"""Notices what a command changed in the home, by looking before and after."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from openclaw.files.home import Home
from openclaw.files.text import decode
from openclaw.safety.denied import denied_name
from openclaw.tools.paths import MAX_FILES, SKIPPED

UNSEEN = frozenset({".openclaw", ".git", *SKIPPED})
MOST_TEXTS = 2_000
LARGEST_TEXT = 200_000
MOST_CHARS = 20_000_000
MOST_CHANGES = 200

Stamp = tuple[int, int, int, int]
"""Times of the last change and of the last change of its state (ns), size in bytes, inode."""


@dataclass(slots=True)
class Look:
    """The files of a home at one moment, by home-relative path. `texts` are those of them that are
    small enough to be kept; hidden files have a stamp but no text. `secret` are files that hold
    credentials, `unsafe` those that act as their owner."""

    stamps: dict[str, Stamp] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    secret: list[Path] = field(default_factory=list)
    unsafe: list[Path] = field(default_factory=list)


def look(home: Home, earlier: Look | None = None, *, texts: bool = True) -> Look:
    """The home now; texts that an earlier look had are not read again."""
    root = Path(os.path.realpath(home.root))
    found = Look()
    for path, status in _files(root):
        name = path.relative_to(root).as_posix()
        found.stamps[name] = (
            status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino,
        )  # fmt: skip
        if denied_name(name):
            found.secret.append(path)
        if status.st_mode & (stat.S_ISUID | stat.S_ISGID):
            found.unsafe.append(path)
    if texts:
        _add_texts(root, found, earlier)
    return found


def changed(before: Look, after: Look) -> dict[str, str | None]:
    """The visible files that differ, with the text they had: None for a new one, "" where it is
    not known (large, not text, too many files)."""
    names = (*before.stamps, *(name for name in after.stamps if name not in before.stamps))
    return {
        name: before.texts.get(name, "") if name in before.stamps else None
        for name in names
        if before.stamps.get(name) != after.stamps.get(name) and not _hidden(name)
    }


def disarm(found: Look) -> None:
    """Take the right to act as their owner (setuid) from files that a command left."""
    for path in found.unsafe:
        with contextlib.suppress(OSError):
            path.chmod(stat.S_IMODE(path.lstat().st_mode) & 0o777, follow_symlinks=False)


def _add_texts(root: Path, found: Look, earlier: Look | None) -> None:
    names = [name for name in found.stamps if not _hidden(name)]
    if len(names) > MOST_TEXTS:
        return
    room = MOST_CHARS
    for name in names:
        size = found.stamps[name][2]
        if size > LARGEST_TEXT or size > room:
            continue
        if earlier and earlier.stamps.get(name) == found.stamps[name] and name in earlier.texts:
            found.texts[name] = earlier.texts[name]
        else:
            with contextlib.suppress(OSError):
                data = (root / name).read_bytes()
                if b"\0" not in data[:8192]:
                    found.texts[name] = decode(data)
        room -= size


def _files(root: Path, skipped: Collection[str] = UNSEEN) -> Iterator[tuple[Path, os.stat_result]]:
    """Regular files with their status, at most 20,000; links are neither followed nor given."""
    count = 0
    for top, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in skipped)
        for name in sorted(names):
            path = Path(top, name)
            with contextlib.suppress(OSError):
                status = path.lstat()
                if stat.S_ISREG(status.st_mode):
                    yield path, status
                    count += 1
            if count >= MAX_FILES:
                return


def _hidden(name: str) -> bool:
    return name.startswith(".") or "/." in name
