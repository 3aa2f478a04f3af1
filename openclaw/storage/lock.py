"""One process at a time: a lock file that the operating system frees when its holder dies.

Next to a held lock is `<name>.owner`, one line of JSON that names the holder. It only serves error
messages: that of a killed holder is ignored, and the next holder overwrites it.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import secrets
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from openclaw.errors import OpenclawError
from openclaw.frozen import frozen
from openclaw.storage.safe_open import (
    bytes_or_none,
    make_folder,
    open_file,
    parse_foreign_json,
    read_bytes,
    remove,
    writing,
)
from openclaw.storage.text import report_unwritable

SHORTEST_POLL, LONGEST_POLL = 0.001, 0.05
LONG_WAIT = 2.0
PATIENCE = 30
"""While the holders change, one waits up to this many times as long as for a single one."""
LONGEST_COMMAND = 40


@frozen
class Owner:
    """Who holds a lock. `since` is seconds since 1970, `command` one line ("openclaw chat")."""

    pid: int
    host: str = ""
    since: float = 0.0
    command: str = ""

    @property
    def alive(self) -> bool:
        """Return True when that process may still run; always for another computer."""
        return self.host != socket.gethostname() or is_running(self.pid)

    def __str__(self) -> str:
        start = datetime.fromtimestamp(self.since)
        today = start.date() == datetime.now().date()
        since = f"since {start:%H:%M}" if today else f"since {start:%Y-%m-%d %H:%M}"
        return f"process {self.pid} ({self.command or 'openclaw'} on {self.host} {since})"


def owner(path: Path) -> Owner | None:
    """Who holds the lock file `path`, as far as he has written it and still lives."""
    try:
        said = parse_foreign_json(read_bytes(_owner_file(path)))
        found = Owner(int(said["pid"]), str(said["host"]), float(said["since"]), said["command"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if found.alive else None


@contextlib.contextmanager
def hold_lock(path: Path, timeout: float = 10.0, what: str = "") -> Iterator[None]:
    """Hold the lock file `path`; wait at most `timeout` seconds for one other holder, longer only
    while it passes from hand to hand.

    `what` is the locked thing in the user's words, for the error; the file's name otherwise.

    Raises OpenclawError when it stays held (naming the holder when known) or when the lock file
    cannot be made. Not reentrant: a second `locked` of the same path waits like a stranger.
    """
    with try_lock(path, timeout) as held:
        if not held:
            raise _to_in_use_error(what or path.stem, path, timeout)
        try:
            holder = Owner(os.getpid(), socket.gethostname(), time.time(), command())
            # Beside the lock, not in it: whoever tries to lock may empty the lock file.
            with contextlib.suppress(OSError), writing(_owner_file(path)) as file:
                file.write(json.dumps(asdict(holder)).encode())
            yield
        finally:
            with contextlib.suppress(OSError):
                remove(_owner_file(path))


@contextlib.contextmanager
def try_lock(path: Path, timeout: float = 0.0) -> Iterator[bool]:
    """Hold the lock file `path`, and yield True; False when others hold it (see `hold_lock`).
    Raises OpenclawError when it cannot be made. The file stays: others may wait for it."""
    with report_unwritable(path):
        make_folder(path.parent)
        number = _acquire(path, timeout)
    try:
        yield number is not None
    finally:
        if number is not None:
            _lock(number, free=True)
            os.close(number)


def _acquire(path: Path, timeout: float) -> int | None:
    """The descriptor of the locked file, None when others hold it. Tries again and again, at random
    moments, more often when it has waited long."""
    start = patient = time.monotonic()
    seen, held = b"", False
    while True:
        number = open_file(path, os.O_RDWR | os.O_CREAT)
        try:
            if held := _lock(number):
                return number
        finally:
            if not held:
                os.close(number)
        now, holder = time.monotonic(), bytes_or_none(_owner_file(path)) or b""
        if holder != seen:
            seen, patient = holder, now
        if now - patient >= timeout or now - start >= timeout * PATIENCE:
            return None
        time.sleep(min(_pause(now - start), timeout - (now - patient)))


def _lock(number: int, *, free: bool = False) -> bool:
    """Lock or free an open file; False when another process or thread has locked it. (The library
    filelock does the same, but takes 10 ms of each prompt to import.)"""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(number, msvcrt.LK_UNLCK if free else msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(number, fcntl.LOCK_UN if free else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
            raise
        return False
    return True


def _pause(waited: float) -> float:
    """Seconds until the next try: short at first, as most locks are held for some milliseconds,
    then longer, as the holder needs the processor; who waits long asks twice as often as others."""
    usual = min(SHORTEST_POLL + waited, LONGEST_POLL) / (2 if waited > LONG_WAIT else 1)
    return usual * (0.5 + secrets.randbelow(1000) / 1000)


def _owner_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.owner")


def _to_in_use_error(what: str, path: Path, timeout: float) -> OpenclawError:
    found = owner(path)
    who = "another process"
    if found:
        mine = found.pid == os.getpid() and found.host == socket.gethostname()
        who = "this process itself" if mine else str(found)
    return OpenclawError(
        f"{what} is in use by {who} (waited {timeout:g} s)",
        "wait until it is done, or end that process, then try again",
    )


def command() -> str:
    """The command of this process, such as "openclaw config get", without other arguments."""
    words = ["openclaw"]
    for word in sys.argv[1:3]:
        if not re.fullmatch(r"[a-z][a-z-]{1,15}", word):
            break
        words.append(word)
    return " ".join(words)[:LONGEST_COMMAND]


def is_running(pid: int) -> bool:
    """Return True when this computer runs a process of this number."""
    if pid <= 0:
        return False
    if os.name == "nt":  # os.kill would end it there
        import psutil

        return bool(psutil.pid_exists(pid))
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # another user's process, or no process number
        return True
    return True
