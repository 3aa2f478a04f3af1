"""Lets files hold what they are to hold, if they still hold what they did."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from openclaw.errors import OpenclawError
from openclaw.files.beneath import checked, reading, remove
from openclaw.files.home import is_inside
from openclaw.files.plain import LARGEST_KEPT, NotPlain, Plain, look
from openclaw.files.text import unwritable, write_if_same

KEPT_FOLDERS = frozenset({"workspace", "memory", "skills", "sessions"})
"""Of the home; they stay when the last file in them goes."""


def seen(root: Path, name: str) -> Plain | None:
    """A file of the home as `files.plain.look` sees it. NotPlain as there; OpenclawError for what
    cannot be read, or is no file of the home."""
    if not is_inside(name):
        raise OpenclawError(
            f"{name!r} is no file of the home and is left alone", "see the turn: openclaw log"
        )
    try:
        return look(root, name, LARGEST_KEPT)
    except OSError as error:
        raise OpenclawError(
            f"{root / name} cannot be read: {error.strerror}", "give this user access to it"
        ) from error


def put(
    root: Path, name: str, now: bytes | None, wanted: bytes | None, *, program: bool | None = None
) -> bool:
    """Let a file hold `wanted`, None for no file, if it still holds `now`; whether it did.
    `program` says whether it is to be one that can be run, None for as it is. OpenclawError when it
    cannot be written, also where a link or the like stands in the way by now."""
    path = root / name
    try:
        found = seen(root, name)
    except NotPlain:
        raise OpenclawError(
            f"{path} is or lies behind a link, a pipe or a device, which is not followed",
            "put a plain file or folder in its place",
        ) from None
    if (found.data if found else None) != now or (found and found.data is None):
        return False
    if wanted is None:
        _remove(root, path)
        return True
    with contextlib.suppress(OSError):
        checked(path).rmdir()  # what had files in it and has none any more
    if wanted != now and not write_if_same(path, now, wanted):
        return False
    if program is not None and os.name != "nt":
        _set_program(path, program)
    return True


def _set_program(path: Path, program: bool) -> None:
    try:
        with reading(path) as file:
            mode = os.fstat(file.fileno()).st_mode & 0o777
            wanted = mode | (mode & 0o444) >> 2 if program else mode & ~0o111
            if wanted != mode:
                os.fchmod(file.fileno(), wanted)
    except OSError as error:
        raise unwritable(path, error) from error


def _remove(root: Path, path: Path) -> None:
    """Remove a file, and the folders that are empty then."""
    try:
        remove(path)
    except OSError as error:
        raise unwritable(path, error) from error
    with contextlib.suppress(OSError):
        checked(path.parent)
        for folder in path.parents:
            if folder == root or folder.name in KEPT_FOLDERS:
                break
            folder.rmdir()
