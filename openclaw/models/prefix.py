"""Saved prefix states: what llama.cpp computed for the beginning of a prompt, kept in files.

A file is the engine's own slot state followed by a seal (length and SHA-256 of the state).
llama.cpp aborts the whole process on a cut file: nothing reaches it that was not checked here.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import struct
import time
from collections.abc import Iterator
from pathlib import Path

_SEAL = struct.Struct("<16sQ32s")
_MAGIC = b"openclaw-kv-1\0\0\0"
_SUFFIX = ".kv"
_STALE_SECONDS = 3600.0


def state_key(*parts: str) -> str:
    """The file name (without suffix) of a state that depends on all of `parts`."""
    return hashlib.sha256("\0".join(parts).encode("utf-8")).hexdigest()[:40]


class PrefixStates:
    """The folder of saved states, at most `megabytes` large; the least recently used go first.

    Several processes may share it: a state appears complete, by a rename, or not at all. Nothing
    here raises for a bad file or a full disk, a saved state is only a saving of time.
    """

    def __init__(self, folder: Path, megabytes: int) -> None:
        self.folder = folder
        self.limit = megabytes * 1_000_000

    def prepare(self) -> bool:
        """Make the folder, for this user only. False when it cannot be used."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError:
            return False
        return os.access(self.folder, os.W_OK)

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

    def new_name(self, key: str) -> str:
        """A file name that no other process uses, for the engine to write to."""
        return f"{key}-{os.getpid()}-{secrets.token_hex(4)}.part"

    def accept(self, key: str, name: str) -> None:
        """Seal what the engine wrote to `name` and give it its place; make room for it."""
        part = self.folder / name
        try:
            _seal(part)
            part.replace(self.folder / f"{key}{_SUFFIX}")
        except OSError:
            part.unlink(missing_ok=True)
        self._make_room(keep=f"{key}{_SUFFIX}")

    def discard(self, key: str) -> None:
        with contextlib.suppress(OSError):
            (self.folder / f"{key}{_SUFFIX}").unlink(missing_ok=True)

    def _make_room(self, keep: str) -> None:
        used = 0
        for size, path in self._newest_first(keep):
            used += size
            if used > self.limit:
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)

    def _newest_first(self, keep: str) -> Iterator[tuple[int, Path]]:
        now, found = time.time(), []
        with contextlib.suppress(OSError):
            for path in self.folder.iterdir():
                with contextlib.suppress(OSError):
                    state = path.stat()
                    if path.suffix == _SUFFIX:
                        found.append((path.name == keep, state.st_mtime, state.st_size, path))
                    elif path.suffix == ".part" and now - state.st_mtime > _STALE_SECONDS:
                        path.unlink(missing_ok=True)
        for _, _, size, path in sorted(found, reverse=True):
            yield size, path


def _seal(path: Path) -> None:
    with path.open("r+b") as file:
        digest = hashlib.file_digest(file, "sha256").digest()
        file.write(_SEAL.pack(_MAGIC, file.tell(), digest))
        file.flush()
        os.fsync(file.fileno())


def _is_whole(path: Path) -> bool:
    data = path.read_bytes()
    if len(data) < _SEAL.size:
        return False
    magic, length, digest = _SEAL.unpack(data[-_SEAL.size :])
    state = memoryview(data)[: -_SEAL.size]
    return bool(
        magic == _MAGIC and length == len(state) and digest == hashlib.sha256(state).digest()
    )
