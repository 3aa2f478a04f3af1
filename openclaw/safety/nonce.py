"""Numbers that nobody outside can guess, yet the same whenever the same is asked for."""

from __future__ import annotations

import hashlib
import hmac
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from openclaw.errors import OpenclawError
from openclaw.files.beneath import read_bytes
from openclaw.files.text import write_private

SIZE = 32
_here = os.urandom(SIZE)


@dataclass(frozen=True, slots=True)
class Nonces:
    """Draws by a key that lies in a file of the user's alone. Without the file, which may be
    deleted at any time, there is a new key; where none can be written each process has its own."""

    path: Path

    def draw(self, *words: object) -> bytes:
        """32 bytes for these words: HMAC-SHA256 (RFC 2104) under the key."""
        said = "\0".join(map(str, words)).encode(errors="backslashreplace")
        return hmac.digest(self._key(), said, hashlib.sha256)

    def _key(self) -> bytes:
        key = self._kept()
        if not key:
            with suppress(OSError, OpenclawError):
                write_private(self.path, os.urandom(SIZE).hex() + "\n")
            key = self._kept()  # another process may have been quicker
        return key or _here

    def _kept(self) -> bytes:
        try:
            key = bytes.fromhex(read_bytes(self.path).decode("ascii"))
        except (OSError, ValueError):
            return b""
        return key if len(key) == SIZE else b""
