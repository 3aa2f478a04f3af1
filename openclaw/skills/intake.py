"""What may come into the skills folder: few entries, few bytes, names that are safe everywhere."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path
from typing import IO

from openclaw.errors import Refused
from openclaw.files.home import name_trouble
from openclaw.files.text import unwritable

MAX_ENTRIES = 1000
MAX_BYTES = 50_000_000
MAX_DEPTH = 16
MAX_NAME_BYTES = 240
CHUNK = 64 * 1024
NOTHING_DONE = "nothing was installed; install a skill only from a source that you trust"


class Intake:
    """Counts what comes in and compares its names; Refused for the first thing that may not."""

    def __init__(self) -> None:
        self._entries = 0
        self._bytes = 0
        self._seen: dict[tuple[str, ...], tuple[tuple[str, ...], bool]] = {}

    def entry(self, name: str, *, folder: bool) -> tuple[str, ...]:
        """The parts of an entry's path with slashes, () for the top itself."""
        self._entries += 1
        if self._entries > MAX_ENTRIES:
            raise refused(f"it has more than {MAX_ENTRIES:,} entries")
        parts = checked_parts(name)
        if not parts and not folder:
            raise refused("it has a file without a name")
        for depth in range(1, len(parts) + 1):
            self._compare(parts[:depth], folder=folder or depth < len(parts), last=depth)
        return parts

    def data(self, count: int) -> None:
        """So many bytes more."""
        self._bytes += count
        if self._bytes > MAX_BYTES:
            raise refused(f"it holds more than {MAX_BYTES // 1_000_000} MB")

    def _compare(self, path: tuple[str, ...], *, folder: bool, last: int) -> None:
        key = tuple(_folded(part) for part in path)
        known, known_folder = self._seen.setdefault(key, (path, folder))
        if known is path:
            return
        shown = "/".join(path)
        if known != path:
            raise refused(f"{'/'.join(known)} and {shown} are one name on some systems")
        if not (folder and known_folder):
            raise refused(f"{shown} comes twice")


def checked_parts(name: str) -> tuple[str, ...]:
    """The parts of a relative path; Refused when it leads elsewhere or fits not every system."""
    if any(unicodedata.category(c) in ("Cc", "Cs") for c in name):
        raise refused(f"the name {name!a} is not plain UTF-8 text")
    if "\\" in name:
        raise refused(f"{name} has a backslash in its name")
    if name.startswith("/"):
        raise refused(f"{name} is an absolute path")
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if len(parts) > MAX_DEPTH:
        raise refused(f"it has more than {MAX_DEPTH} folders in each other")
    for part in parts:
        _check_part(part, name)
    return parts


def take_bytes(data: IO[bytes], intake: Intake) -> bytes:
    """All bytes, counted while they come."""
    chunks = []
    while chunk := data.read(CHUNK):
        intake.data(len(chunk))
        chunks.append(chunk)
    return b"".join(chunks)


def make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error


def put_file(path: Path, data: bytes, *, executable: bool) -> None:
    """Write a file that was not there before; no other bit of a mode is taken over."""
    make_folder(path.parent)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(path, flags, 0o777 if executable else 0o666), "wb") as file:
            file.write(data)
    except OSError as error:
        raise unwritable(path, error) from error


def refused(reason: str) -> Refused:
    return Refused(f"the skill is refused: {reason}", NOTHING_DONE)


def _check_part(part: str, name: str) -> None:
    if part == "..":
        raise refused(f"{name} leads out of its folder")
    if ":" in part:
        raise refused(f"{name} has a colon in its name, as a drive has")
    if part != part.rstrip(" .") or name_trouble(part, windows=True):
        raise refused(f"{name} is a name that some system keeps for itself")
    if len(part.encode()) > MAX_NAME_BYTES:
        raise refused(f"{name[:40]}... is too long a name")


def _folded(part: str) -> str:
    """What the most lenient file system compares."""
    plain = unicodedata.normalize("NFC", part).casefold()
    return unicodedata.normalize("NFC", plain)
