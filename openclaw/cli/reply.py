"""Reads the reply to a question. What was typed before it could be read is no reply to it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

TOO_SOON_SECONDS = 0.3
PASTED_SECONDS = 0.05
"""A line that has more behind it so soon was pasted."""


def read_reply(question: str, out: TextIO, keep: Callable[[str], None] = lambda typed: None) -> str:
    """Show the question and read one line; EOFError when there is none.

    On a terminal what was typed before is no reply. A reply within 0.3 s and one that is a part of
    a pasted text do not count either: the question is shown again. `keep` gets what did not count.
    """
    while True:
        out.write(question)
        out.flush()
        if not sys.stdin.isatty():
            return _line()
        keep(take_typed(0.0))
        if early := take_typed(TOO_SOON_SECONDS):
            keep(early)
            out.write("\nThat came too soon to be a reply.\n")
            continue
        line = _line()
        more = take_typed(PASTED_SECONDS)
        if not more:
            return line
        keep(line + more)
        out.write("\nThat was pasted, or typed too fast to be a reply.\n")


def _line() -> str:
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line


if sys.platform == "win32":
    import msvcrt

    def take_typed(seconds: float) -> str:
        """What is typed until nothing came for so long."""
        typed, until = "", time.monotonic() + seconds
        while msvcrt.kbhit() or time.monotonic() < until:
            if msvcrt.kbhit():
                typed, until = typed + msvcrt.getwch(), time.monotonic() + seconds
            else:
                time.sleep(0.01)
        return typed

else:
    import select
    import termios

    def take_typed(seconds: float) -> str:
        """What is typed until nothing came for so long.

        Meanwhile the terminal gives single keys and shows none. Else a line would wait unseen for
        its Enter, and then be the reply.
        """
        terminal, typed = sys.stdin.fileno(), b""
        with suppress(termios.error, OSError):  # the terminal is gone: the reply is missing
            before = termios.tcgetattr(terminal)
            keys = [*before[:3], before[3] & ~(termios.ICANON | termios.ECHO), *before[4:]]
            try:
                termios.tcsetattr(terminal, termios.TCSANOW, keys)
                while select.select([terminal], [], [], seconds)[0] and (
                    data := os.read(terminal, 4096)
                ):
                    typed += data
            finally:
                termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
        return typed.decode(errors="replace")
