"""Saved states: what llama.cpp computed for the beginning of a prompt, kept in files.

A file is the engine's own slot state followed by a seal (length and BLAKE2b of the state).
llama.cpp aborts the whole process on a cut file: nothing reaches it that was not checked here.
A head's state is named KEY.kv, that of a conversation `s-ID.KEY.kv`, so that whoever deletes the
conversation finds what belongs to it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import shutil
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from openclaw.files.beneath import checked, make_folder, open_file, reading, remove

_SEAL = struct.Struct("<16sQ32s")
_MAGIC = b"openclaw-kv-2\0\0\0"
_SUFFIX = ".kv"
_SPARE = 200_000_000  # bytes of the disk that are for other things than states
_STALE_SECONDS = 3600.0
_PART = ".part"
_PIECE = 1 << 20  # bytes
_UNFIT = re.compile(r'[\x00-\x1f/\\:*?"<>|]|^[ .]|[ .]$|\.\.')


def state_key(*parts: str) -> str:
    """The file name (without suffix) of a state that depends on all of `parts`."""
    return hashlib.sha256("\0".join(parts).encode("utf-8")).hexdigest()[:40]


def session_key(session: str, *parts: str) -> str:
    """As `state_key`, of a conversation; "" for an id that cannot stand in a file's name. The
    engine opens files by narrow names, which on Windows are not UTF-8."""
    if not session or _UNFIT.search(session) or (os.name == "nt" and not session.isascii()):
        return ""
    return f"s-{session}.{state_key(session, *parts)}"


class PrefixStates:
    """The folder of saved states, at most `megabytes` large; the least recently used go first.

    Several processes may share it: a state appears complete, by a rename, or not at all. Nothing
    here raises for a bad file or a full disk, a saved state is only a saving of time.
    """

    def __init__(self, folder: Path, megabytes: int) -> None:
        self.folder = folder
        self.limit = megabytes * 1_000_000

    def prepare(self) -> bool:
        """Make the folder, for this user only, and remove what killed processes left in it. False
        when it cannot be used."""
        try:
            make_folder(self.folder, 0o700)
        except OSError:
            return False
        with contextlib.suppress(OSError):
            for path in self.folder.glob(f"*{_PART}"):
                _remove_leaving(path)
        return os.access(self.folder, os.W_OK)

    def has_room(self) -> bool:
        """Whether the disk would hold the whole folder once more, as large as it may grow, and
        200 MB besides: how large a state will be nobody tells beforehand."""
        try:
            return shutil.disk_usage(self.folder).free >= self.limit + _SPARE
        except OSError:
            return False

    def find(self, key: str) -> str | None:
        """The file name of a state that is whole, None when there is none. A bad one is deleted."""
        path = self.folder / f"{key}{_SUFFIX}"
        try:
            if not _is_whole(path):
                self.discard(key)
                return None
            os.utime(path)
        except OSError:
            return None
        return path.name

    def touch(self, key: str) -> None:
        """Count a state as used, where there is one."""
        with contextlib.suppress(OSError):
            os.utime(checked(self.folder / f"{key}{_SUFFIX}"))

    def new_name(self) -> str:
        """A file name that no other process uses, for the engine to write to."""
        return f"{os.getpid()}-{secrets.token_hex(8)}{_PART}"

    def drop(self, name: str) -> None:
        """Remove what the engine began to write to `name`."""
        with contextlib.suppress(OSError):
            remove(self.folder / name)

    def accept(self, key: str, name: str) -> None:
        """Seal what the engine wrote to `name` and give it its place; make room for it. Of a
        conversation only the newest state is kept."""
        part = self.folder / name
        try:
            _seal(part)
            part.replace(self.folder / f"{key}{_SUFFIX}")
        except OSError:
            self.drop(name)
        self._make_room(keep=f"{key}{_SUFFIX}")

    def discard(self, key: str) -> None:
        with contextlib.suppress(OSError):
            remove(self.folder / f"{key}{_SUFFIX}")

    def _make_room(self, keep: str) -> None:
        used, session = 0, _session_of(keep)
        for size, path in self._newest_first(keep):
            older = bool(session) and path.name != keep and _session_of(path.name) == session
            used += 0 if older else size
            if older or used > self.limit:
                with contextlib.suppress(OSError):
                    remove(path)

    def _newest_first(self, keep: str) -> Iterator[tuple[int, Path]]:
        found = []
        with contextlib.suppress(OSError):
            for path in checked(self.folder).iterdir():
                with contextlib.suppress(OSError):
                    state = path.stat()
                    if path.suffix == _SUFFIX:
                        found.append((path.name == keep, state.st_mtime, state.st_size, path))
                    elif path.suffix == _PART:
                        _remove_leaving(path)
        for _, _, size, path in sorted(found, reverse=True):
            yield size, path


def _session_of(name: str) -> str:
    """`s-ID` of the file of a conversation's state, "" of a head's."""
    return name.removesuffix(_SUFFIX).rpartition(".")[0]


def _remove_leaving(part: Path) -> None:
    """Remove what a process began to write and never finished: when that process is gone, or has
    not touched it for an hour. Where it lives after all, in another container, it loses a state."""
    with contextlib.suppress(OSError):
        if _is_gone(part.name) or time.time() - part.stat().st_mtime > _STALE_SECONDS:
            remove(part)


def _is_gone(name: str) -> bool:
    """Whether the process that a name begins with has ended. On Windows, where the look at a
    process may end it, this is never known."""
    number = name.partition("-")[0]
    if os.name == "nt" or not number.isdecimal():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # another user's, or no process's number
        return False
    return False


def _seal(path: Path) -> None:
    """Without a flush to the disk: what a crash of the machine cuts is found by its seal."""
    with os.fdopen(open_file(path, os.O_RDWR), "r+b") as file:
        length = os.fstat(file.fileno()).st_size
        digest = _digest(file, length)
        file.seek(length)
        file.write(_SEAL.pack(_MAGIC, length, digest))


def _is_whole(path: Path) -> bool:
    with reading(path) as file:
        length = os.fstat(file.fileno()).st_size - _SEAL.size
        if length < 0:
            return False
        digest = _digest(file, length)
        return _SEAL.unpack(file.read(_SEAL.size)) == (_MAGIC, length, digest)


def _digest(file: BinaryIO, length: int) -> bytes:
    """BLAKE2b of the next `length` bytes, which needs no instructions of the processor's own to be
    quick (96 MB in 0.08 s when it was measured). In pieces, as a state may have 100 MB."""
    digest, buffer = hashlib.blake2b(digest_size=32), memoryview(bytearray(_PIECE))
    while length > 0:
        got = file.readinto(buffer[: min(length, _PIECE)])  # type: ignore[attr-defined]
        if not got:
            break
        digest.update(buffer[:got])
        length -= got
    return digest.digest()
