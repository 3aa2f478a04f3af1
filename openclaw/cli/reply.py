"""Reads the reply to a question. What was typed before it could be read is no reply to it."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from typing import TextIO

TOO_SOON_SECONDS = 0.3
PASTED_SECONDS = 0.05
"""A line that has more behind it so soon was pasted."""


def read_reply(question: str, out: TextIO) -> str:
    """Show the question and read one line; EOFError when there is none.

    On a terminal what was typed before is thrown away. A reply within 0.3 s and one that is a part
    of a pasted text do not count: the question is shown again.
    """
    while True:
        out.write(question)
        out.flush()
        if not sys.stdin.isatty():
            return _line()
        discard_typed(0.0)
        if discard_typed(TOO_SOON_SECONDS):
            out.write("\nThat came too soon to be a reply.\n")
            continue
        line = _line()
        if not discard_typed(PASTED_SECONDS):
            return line
        out.write("\nThat was pasted, or typed too fast to be a reply.\n")


def _line() -> str:
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line


if sys.platform == "win32":
    import msvcrt

    def discard_typed(seconds: float) -> bool:
        """Throw away what is typed until nothing came for so long; whether there was anything."""
        typed, until = False, time.monotonic() + seconds
        while msvcrt.kbhit() or time.monotonic() < until:
            if msvcrt.kbhit():
                msvcrt.getwch()
                typed, until = True, time.monotonic() + seconds
            else:
                time.sleep(0.01)
        return typed

else:
    import select
    import termios

    def discard_typed(seconds: float) -> bool:
        """Throw away what is typed until nothing came for so long; whether there was anything.

        Meanwhile the terminal gives single keys and shows none. Else a line would wait unseen for
        its Enter, and then be the reply.
        """
        terminal, typed = sys.stdin.fileno(), False
        with suppress(termios.error, OSError):  # the terminal is gone: the reply is missing
            before = termios.tcgetattr(terminal)
            keys = [*before[:3], before[3] & ~(termios.ICANON | termios.ECHO), *before[4:]]
            try:
                termios.tcsetattr(terminal, termios.TCSANOW, keys)
                while select.select([terminal], [], [], seconds)[0] and os.read(terminal, 4096):
                    typed = True
            finally:
                termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
        return typed
