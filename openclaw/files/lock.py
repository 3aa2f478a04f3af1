"""One process at a time: a lock file that the operating system frees when its holder dies."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from openclaw.errors import OpenclawError
from openclaw.files.text import unwritable

POLL_SECONDS = 0.05


@contextlib.contextmanager
def locked(path: Path, timeout: float = 10.0, what: str = "") -> Iterator[None]:
    """Hold the lock file `path`; wait at most `timeout` seconds for another holder.

    `what` is the locked thing in the user's words, for the error; the file's name otherwise.

    Raises OpenclawError when it stays held (naming the holder's pid when known) or when the lock
    file cannot be made. Not reentrant: a second `locked` of the same path waits like a stranger.
    """
    from filelock import FileLock, Timeout

    pid_file = path.with_name(path.name + ".pid")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path)
        lock.acquire(timeout=timeout, poll_interval=POLL_SECONDS)
    except Timeout as error:
        raise _held(what or path.stem, pid_file, timeout) from error
    except (OSError, NotImplementedError) as error:
        raise unwritable(path, error) from error
    except RuntimeError as error:  # filelock sees that this very process already holds it
        raise _held(what or path.stem, pid_file, timeout) from error
    try:
        # Beside the lock, not in it: whoever tries to lock empties the lock file.
        with contextlib.suppress(OSError):
            pid_file.write_text(str(os.getpid()), encoding="ascii")
        yield
    finally:
        with contextlib.suppress(OSError):
            pid_file.unlink()
        lock.release()


def _held(what: str, pid_file: Path, timeout: float) -> OpenclawError:
    try:
        pid = int(pid_file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        holder = "another process"
    else:
        holder = "this process itself" if pid == os.getpid() else f"process {pid}"
    return OpenclawError(
        f"{what} is in use by {holder} (waited {timeout:g} s)",
        "wait until it is done, or end that process, then try again",
    )
