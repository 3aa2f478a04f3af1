"""Signs the lines of records, so that only what this user wrote on this machine is done again.

A home may come from elsewhere, and records of turns with it. The key lies in the user's data
folder, in no home; whoever brings a home does not know it. Each line is signed together with the
one before it, and the first one together with the name of its record: lines cannot be changed, left
out, reordered or put into another record. The place of the home is no part of it, as a home may be
moved.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from contextlib import suppress
from functools import cache
from pathlib import Path

from openclaw.errors import OpenclawError
from openclaw.files.lock import locked
from openclaw.files.text import write_private
from openclaw.files.user_folders import data_folder

FILE = "openclaw-history.key"
SIZE = 32


def key_file() -> Path:
    """Where this user's key is kept. Without it the records until then do not count any more."""
    return data_folder() / FILE


def sign(before: str, line: bytes) -> str:
    """The signature of a line that follows the one with the signature `before`."""
    data = b"%s\0%s" % (before.encode(), line)
    return hmac.digest(_key(key_file()), data, hashlib.sha256).hex()


def is_signed(signature: str, before: str, line: bytes) -> bool:
    return hmac.compare_digest(signature.encode(), sign(before, line).encode())


@cache
def _key(file: Path) -> bytes:
    """The key, made at its first use. Where none can be kept each process has its own, and what a
    killed one has left is not completed."""
    with suppress(OSError, OpenclawError):
        if not (key := _kept(file)):
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with locked(file.with_suffix(".lock")):
                if not (key := _kept(file)):  # another process may have been quicker
                    write_private(file, os.urandom(SIZE).hex() + "\n")
                    key = _kept(file)
        if key:
            return key
    return os.urandom(SIZE)


def _kept(file: Path) -> bytes:
    try:
        key = bytes.fromhex(file.read_text("ascii"))
    except (OSError, ValueError):
        return b""
    return key if len(key) == SIZE else b""
