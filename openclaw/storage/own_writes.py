"""Notes the writes of openclaw to a home while a command runs there.

Any process of openclaw notes its writes, so that they are not taken for the command's. A write to a
file that is fixed for the command waits for its end: a replaced file is no longer fixed.

For commands without a layer of their own (`tools/shell/change_set.py`).
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import secrets
import time
from collections.abc import Collection, Iterator
from pathlib import Path

from openclaw.frozen import frozen
from openclaw.storage.readers import parse_foreign_json
from openclaw.storage.safe_open import (
    NotOrdinary,
    appending,
    home_of,
    is_folder,
    make_folder,
    reading,
)

PLACE = ".openclaw/locks/commands"
LONGEST_WAIT = 60.0
WAIT_SECONDS = 0.02


@frozen
class WriteNotes:
    """The writes to the home since a command began; `path` is the file with the notes."""

    path: Path

    def written(self) -> dict[str, str]:
        """The SHA-256 of what each file was last given, by home-relative path."""
        _, *lines = self.path.read_text("utf-8").splitlines()
        return dict(parse_foreign_json(line) for line in lines)


@contextlib.contextmanager
def watch_writes(root: Path, fixed: Collection[str] = ()) -> Iterator[WriteNotes]:
    """While a command runs over the home at `root`; files that are `fixed` are not written
    meanwhile. Raises OSError."""
    folder = root / PLACE
    make_folder(folder)
    path = folder / secrets.token_hex(6)
    with _remove_at_end(path), path.open("xb", buffering=0) as file:
        _lock(file.fileno())
        file.write(f"{json.dumps(sorted(fixed))}\n".encode())
        yield WriteNotes(path)


@contextlib.contextmanager
def _remove_at_end(path: Path) -> Iterator[None]:
    try:
        yield
    finally:  # Windows removes no file that is open
        path.unlink(missing_ok=True)


def announce(target: Path, data: bytes) -> None:
    """A file is about to be written: note it for the commands that run over its home. What is fixed
    for one of them waits. Raises OSError when that does not end."""
    root = home_of(target)
    if root is None or not is_folder(root / PLACE):
        return
    for name in os.listdir(root / PLACE):  # noqa: PTH208  nearly always there is none
        _note_write(root / PLACE / name, target.relative_to(root).as_posix(), data)


def _note_write(path: Path, name: str, data: bytes) -> None:
    until = time.monotonic() + LONGEST_WAIT
    while _is_running(path):
        with appending(path) as file:
            file.seek(0)
            if name not in parse_foreign_json(file.readline() or b"[]"):
                line = json.dumps([name, hashlib.sha256(data).hexdigest()])
                file.write(f"{line}\n".encode())
                return
        if time.monotonic() > until:
            raise TimeoutError(errno.EBUSY, "a command for which it is fixed does not end")
        time.sleep(WAIT_SECONDS)


def _lock(number: int) -> None:
    if os.name != "nt":
        import fcntl

        fcntl.flock(number, fcntl.LOCK_EX)


def _is_running(path: Path) -> bool:
    """Return True while the command runs; remove the notes of a killed one."""
    try:
        if os.name != "nt":
            import fcntl

            with reading(path) as file:
                fcntl.flock(file.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
        path.unlink()
    except (FileNotFoundError, NotOrdinary):
        return False
    except (BlockingIOError, PermissionError):  # locked, or open on Windows
        return True
    return False
