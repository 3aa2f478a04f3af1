"""Standard input as material: whether it is meant for this command, and reading it.

A prompt takes along what is piped in. Two things are not meant for it: what is left of a file that
somebody else has begun to read (`while read x; do openclaw "$x"; done < list`), and a pipe from
which a loop around the command reads its lines.
"""

from __future__ import annotations

import os
import select
import stat
import sys
from contextlib import suppress
from pathlib import Path
from threading import Timer

from openclaw.cli.attach import read_stdin
from openclaw.cli.common import warn

PATIENCE_SECONDS = 3.0
FORKED_ONLY = 0x40  # PF_FORKNOEXEC of Linux: a shell's copy of itself, as it makes for a loop
LEFT = "standard input is left to the loop that reads it (--stdin takes it, --no-stdin hides this)"
WAITING = "reading standard input to its end (--no-stdin leaves it alone)"


def piped_in(wanted: bool | None, *, quiet: bool = False) -> str:
    """What is piped in, "" for nothing. `wanted` is what the user has said of it, None for nothing.
    Told on stderr: that something is left alone, and that the end does not come."""
    if wanted is False or not sys.stdin or (wanted is None and sys.stdin.isatty()):
        return ""
    if wanted is None and _is_of_others():
        if not quiet and _holds_more():
            warn([LEFT])
        return ""
    timer = Timer(PATIENCE_SECONDS, warn, [[WAITING]])
    timer.daemon = True
    timer.start()
    try:
        return read_stdin(sys.stdin.buffer)
    finally:
        timer.cancel()


def _is_of_others() -> bool:
    """Whether somebody else has read the beginning of standard input."""
    with suppress(OSError):  # not a stream of the system, or nothing is known of its other readers
        kind = os.fstat(sys.stdin.fileno()).st_mode
        if stat.S_ISREG(kind):
            return os.lseek(sys.stdin.fileno(), 0, os.SEEK_CUR) > 0
        return stat.S_ISFIFO(kind) and sys.platform == "linux" and _is_of_a_loop()
    return False


def _is_of_a_loop() -> bool:
    """Whether a shell above this process has made a copy of itself, which has read something and
    has the same pipe. That is a loop; a script, `timeout` or `sudo` was started as a program."""
    pid, ours = os.getppid(), os.fstat(sys.stdin.fileno())
    while os.path.samestat(Path(f"/proc/{pid}/fd/0").stat(), ours):
        stated = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
        parent, flags = (stated.rpartition(")")[2].split()[at] for at in (1, 6))
        characters = Path(f"/proc/{pid}/task/{pid}/io").read_text("ascii").split()[1]
        if int(flags) & FORKED_ONLY and int(characters):
            return True
        pid = int(parent)
    return False


def _holds_more() -> bool:
    """Whether standard input is not at its end."""
    number = sys.stdin.fileno()
    size, kind = os.fstat(number).st_size, os.fstat(number).st_mode
    if stat.S_ISREG(kind):
        return os.lseek(number, 0, os.SEEK_CUR) < size
    poll = select.poll()
    poll.register(number, select.POLLIN)
    return all(state & select.POLLIN for _, state in poll.poll(0))
