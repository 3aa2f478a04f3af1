"""Looks at files of a folder as they are, no link followed: what a command leaves there may lead
anywhere, or never end."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from openclaw.files.beneath import NotOrdinary, descend
from openclaw.shapes import Held

LARGEST_KEPT = 50_000_000
"""Bytes of the largest content that is recorded."""


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
    *folders, last = name.split("/")
    try:
        with closing(descend(str(root), folders)) as folder:
            number = folder.open(last)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except NotOrdinary as error:
        raise NotPlain(name) from error
    with os.fdopen(number, "rb") as file:
        found = os.fstat(number)
        data = file.read(most + 1) if found.st_size <= most else None
        if data is not None and len(data) > most:
            data = None
        return Plain(data, os.name != "nt" and bool(found.st_mode & 0o100))


def held(root: Path, name: str, most: int = LARGEST_KEPT) -> Held:
    """What a file below `root` holds, if it is not larger than that; no link is followed."""
    try:
        found = look(root, name, most)
    except (NotPlain, OSError):
        return None, False
    return (found.data, found.program) if found else None
