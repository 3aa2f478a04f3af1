"""Looks at files of a folder as they are, no link followed: what a command leaves there may lead
anywhere, or never end."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path, PurePosixPath


class NotPlain(Exception):
    """A link, a pipe or a device stands in the way; the text is the path."""


@dataclass(frozen=True, slots=True)
class Plain:
    """A regular file: its bytes, None when they are more than was asked for; whether it can be
    run."""

    data: bytes | None
    program: bool


def look(root: Path, name: str, most: int) -> Plain | None:
    """The file `name` (relative, with slashes) below `root`; None when there is no file of that
    name. Raises NotPlain, and OSError for what cannot be read."""
    folder = root
    parts = PurePosixPath(name).parts
    for part in parts[:-1]:
        folder = folder / part
        found = _status(folder)
        if found is None or stat.S_ISREG(found.st_mode):
            return None
        if not stat.S_ISDIR(found.st_mode) or _is_junction(folder):
            raise NotPlain(name)
    path = folder / parts[-1]
    found = _status(path)
    if found is None or (stat.S_ISDIR(found.st_mode) and not _is_junction(path)):
        return None
    if not stat.S_ISREG(found.st_mode):
        raise NotPlain(name)
    return _read(path, name, most)


def _read(path: Path, name: str, most: int) -> Plain | None:
    flags = os.O_RDONLY
    for wanted in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY", "O_CLOEXEC"):
        flags |= getattr(os, wanted, 0)
    try:
        number = os.open(path, flags)
    except FileNotFoundError:
        return None
    with os.fdopen(number, "rb") as file:
        found = os.fstat(number)
        if not stat.S_ISREG(found.st_mode):
            raise NotPlain(name)
        data = file.read(most + 1) if found.st_size <= most else None
        if data is not None and len(data) > most:
            data = None
        return Plain(data, os.name != "nt" and bool(found.st_mode & 0o100))


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _is_junction(path: Path) -> bool:
    return bool(getattr(path, "is_junction", bool)())  # from Python 3.12 on
