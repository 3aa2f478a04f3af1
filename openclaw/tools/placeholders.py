"""Empty files and folders that stand where a fixed one of the home is missing, while a command runs
in the sandbox: only what exists can be fixed."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from openclaw.files.beneath import appending, checked, folder_of, make_folder, open_file, remove

LOCK = ".openclaw/locks/sandbox.lock"
LONGEST_WAIT = 5.0
"""Seconds; the lock is only held alone while a handful of files is removed."""


@contextlib.contextmanager
def standing(root: Path, folders: Sequence[str], files: Sequence[str]) -> Iterator[None]:
    """The named folders and files exist meanwhile; what was missing is taken away afterwards when
    it is still empty, by the last command that runs over this home: were it taken away earlier, the
    kernel would take the mount off it that fixes it for the others. The lock file names what was
    made, so that after a crash the next one tidies up.

    Raises OSError when the lock cannot be had.
    """
    path = root / LOCK
    make_folder(path.parent)
    with appending(path) as lock:
        _share(lock.fileno())
        try:
            missing = [name for name in (*folders, *files) if not os.path.lexists(root / name)]
            lock.write("".join(f"{name}\n" for name in missing).encode())
            lock.flush()  # before it is killed
            for name in missing:
                (_make_folder if name in folders else _make_file)(root / name)
            yield
        finally:
            if _alone(lock.fileno()):
                _take_away(lock, root, (*folders, *files))


def tidy(root: Path, names: Sequence[str]) -> None:
    """Take away what of these files and folders a killed command has left, unless one runs."""
    path = root / LOCK
    with contextlib.suppress(OSError):
        if path.lstat().st_size:
            with appending(path) as lock:
                if _alone(lock.fileno()):
                    _take_away(lock, root, names)


def _take_away(lock: BinaryIO, root: Path, names: Sequence[str]) -> None:
    lock.seek(0)
    for name in reversed((lock.read() or b"").decode("utf-8", "replace").split("\n")):
        if name in names:
            _remove(root / name)
    lock.truncate(0)


def _share(number: int) -> None:
    import fcntl

    until = time.monotonic() + LONGEST_WAIT
    while True:
        try:
            return fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise BlockingIOError("another command over this home does not end") from None
            time.sleep(0.005)


def _alone(number: int) -> bool:
    """Whether nobody else holds the lock; then it is held alone, else not any more."""
    import fcntl

    with contextlib.suppress(OSError):
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _make_folder(path: Path) -> None:
    with contextlib.suppress(OSError), folder_of(path) as folder:
        folder.make(path.name)


def _make_file(path: Path) -> None:
    with contextlib.suppress(OSError):
        os.close(open_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        if checked(path).is_dir():
            path.rmdir()
        elif path.lstat().st_size == 0:
            remove(path)
