"""Holds the commands of root to a number of processes by a control group; the kernel's limit per
user (RLIMIT_NPROC) does not hold for root."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
LEAVING_SECONDS = 2.0
_JOIN = 'echo $$ >"$0/cgroup.procs"; exec "$@"'


@contextlib.contextmanager
def group(processes: int, root: Path = ROOT) -> Iterator[Path | None]:
    """A control group of so many processes (threads count) for the time of a command; None for
    others than root, and where the system lets nobody make one (most containers)."""
    made = _made(processes, root) if getattr(os, "geteuid", lambda: 1)() == 0 else None
    try:
        yield made
    finally:
        if made:
            _remove(made)


def joined(argv: Sequence[str], made: Path | None) -> list[str]:
    """The same program, which joins the group before it starts."""
    return ["/bin/sh", "-c", _JOIN, str(made), *argv] if made else list(argv)


def _made(processes: int, root: Path) -> Path | None:
    for parent in (root / "pids", root):  # version 1, then 2
        path = parent / f"openclaw-{os.getpid()}-{secrets.token_hex(4)}"
        if not (parent / "cgroup.procs").is_file():
            continue
        try:
            path.mkdir()
        except OSError:
            continue
        try:
            (path / "pids.max").write_text(str(processes))
        except OSError:  # this tree does not count processes
            _remove(path)
        else:
            return path
    return None


def _remove(path: Path) -> None:
    """Wait until the last process has left, and let the group go."""
    until = time.monotonic() + LEAVING_SECONDS
    while True:
        try:
            path.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > until:
                return
            time.sleep(0.002)
        else:
            return
