"""Copies a skill's folder under the limits of what may come in, and compares two of them."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from openclaw.errors import OpenclawError
from openclaw.files.beneath import open_file, reading
from openclaw.skills.intake import Intake, put_file, refused, take_bytes

# Histories, and what programs make again when they need it.
LEFT_OUT = frozenset({
    ".git", ".hg", ".svn", ".openclaw", "__pycache__", "node_modules", "venv", ".venv", ".DS_Store",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs between two folders, as sorted paths with slashes."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


def copy_folder(source: Path, target: Path) -> None:
    """Copy files and folders to the new folder `target`.

    Refused for links, devices, pipes, odd names and too much; OpenclawError for what cannot be
    read. What was written by then is left to the caller.
    """
    intake = Intake()
    for path, info in _files(source, source):
        name = path.relative_to(source).as_posix()
        parts = intake.entry(name, folder=stat.S_ISDIR(info.st_mode))
        if not stat.S_ISDIR(info.st_mode):
            executable = os.name != "nt" and bool(info.st_mode & 0o111)
            put_file(target.joinpath(*parts), _bytes(path, intake), executable=executable)


def fingerprints(folder: Path) -> dict[str, str]:
    """SHA-256 of each file by its path with slashes; links and devices have their kind instead."""
    found = {}
    for path, info in _files(folder, folder, strict=False):
        name = path.relative_to(folder).as_posix()
        if stat.S_ISREG(info.st_mode):
            try:
                with reading(path) as file:
                    found[name] = hashlib.file_digest(file, "sha256").hexdigest()
            except OSError as error:
                raise _unreadable(path, error) from error
        elif not stat.S_ISDIR(info.st_mode):
            found[name] = "no file"
    return found


def digest(prints: Mapping[str, str]) -> str:
    """One SHA-256 over the names and contents of a folder's files."""
    lines = sorted(
        f"{name}\0{value}\n".encode("utf-8", "surrogateescape") for name, value in prints.items()
    )
    return hashlib.sha256(b"".join(lines)).hexdigest()


def compare(old: Mapping[str, str], new: Mapping[str, str]) -> Changes:
    """What changed between the fingerprints of two folders."""
    both = old.keys() & new.keys()
    return Changes(
        tuple(sorted(new.keys() - both)),
        tuple(sorted(name for name in both if old[name] != new[name])),
        tuple(sorted(old.keys() - both)),
    )


def _files(
    folder: Path, top: Path, *, strict: bool = True
) -> Iterator[tuple[Path, os.stat_result]]:
    """Everything below, folders before what is in them, by name; with `strict` Refused for links
    and whatever is neither file nor folder."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        known = [(Path(entry.path), entry.stat(follow_symlinks=False)) for entry in entries]
    except OSError as error:
        raise _unreadable(folder, error) from error
    for path, info in known:
        if path.name in LEFT_OUT:
            continue
        junction = getattr(os.path, "isjunction", lambda _: False)(path)
        real_folder = stat.S_ISDIR(info.st_mode) and not junction
        if strict and not (real_folder or stat.S_ISREG(info.st_mode)):
            name = path.relative_to(top).as_posix()
            raise refused(f"{name} is a link, a device or another thing that is no plain file")
        yield path, info
        if real_folder:
            yield from _files(path, top, strict=strict)


def _bytes(path: Path, intake: Intake) -> bytes:
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        with os.fdopen(open_file(path, flags), "rb") as file:
            return take_bytes(file, intake)
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> OpenclawError:
    return OpenclawError(
        f"cannot read {path}: {error.strerror or error}", "make it readable, then try again"
    )
