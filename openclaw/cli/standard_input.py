"""Standard input as material of the prompt. A loop or a script that reads it keeps it."""

from __future__ import annotations

import os
import select
import stat
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING

from openclaw.cli.formatting import warn
from openclaw.home.attachments import attach, missing_files, read_stdin
from openclaw.messages import Material

if TYPE_CHECKING:
    from openclaw.storage.home import Home

PATIENCE_SECONDS = 3.0
FORKED_ONLY = 0x40  # PF_FORKNOEXEC of Linux: a copy that a shell makes of itself, for a loop
LEFT_ALONE = (
    "standard input is left to the loop that reads it (--stdin takes it, --no-stdin hides this)"
)
WAITING = "reading standard input to its end (--no-stdin leaves it alone)"


def read_piped(wanted: bool | None, *, quiet: bool = False) -> str:
    """The text that is piped in, "" for none. `wanted` is the user's option, None when not given.
    Says on stderr when the input is left alone, and when its end does not come."""
    if wanted is False or not sys.stdin or (wanted is None and sys.stdin.isatty()):
        return ""
    if wanted is None and _is_read_by_others():
        if not quiet and _has_more():
            warn([LEFT_ALONE])
        return ""
    timer = Timer(PATIENCE_SECONDS, warn, [[WAITING]])
    timer.daemon = True
    timer.start()
    try:
        return read_stdin(sys.stdin.buffer)
    finally:
        timer.cancel()


def _is_read_by_others() -> bool:
    """Return True when another process has read the beginning of standard input."""
    with suppress(OSError):  # not a stream of the system, or its other readers are unknown
        kind = os.fstat(sys.stdin.fileno()).st_mode
        if stat.S_ISREG(kind):
            return os.lseek(sys.stdin.fileno(), 0, os.SEEK_CUR) > 0
        return stat.S_ISFIFO(kind) and sys.platform == "linux" and _is_read_by_loop()
    return False


def _is_read_by_loop() -> bool:
    """Return True when a parent process is a shell's copy of itself, has the same pipe and has read
    something. That is a loop; a script, `timeout` or `sudo` was started as a program."""
    pid, ours = os.getppid(), os.fstat(sys.stdin.fileno())
    while os.path.samestat(Path(f"/proc/{pid}/fd/0").stat(), ours):
        stated = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
        parent, flags = (stated.rpartition(")")[2].split()[at] for at in (1, 6))
        characters = Path(f"/proc/{pid}/task/{pid}/io").read_text("ascii").split()[1]
        if int(flags) & FORKED_ONLY and int(characters):
            return True
        pid = int(parent)
    return False


def _has_more() -> bool:
    """Return True when standard input is not at its end."""
    number = sys.stdin.fileno()
    size, kind = os.fstat(number).st_size, os.fstat(number).st_mode
    if stat.S_ISREG(kind):
        return os.lseek(number, 0, os.SEEK_CUR) < size
    poll = select.poll()
    poll.register(number, select.POLLIN)
    return all(state & select.POLLIN for _, state in poll.poll(0))


def material_of(prompt: str, piped: str, home: Home, *, quiet: bool) -> Sequence[Material]:
    """The material that goes with the prompt. Says on stderr which named files do not exist."""
    folders = (Path.cwd(), home.root)
    material = attach(prompt, piped, *folders)
    if not quiet:
        warn(f"there is no file '{name}'" for name in missing_files(prompt, *folders))
    return material
