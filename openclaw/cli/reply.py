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
"""A line that is followed by more input so soon was pasted."""
CONTINUED_SECONDS = 0.2


def read_reply(question: str, out: TextIO, keep: Callable[[str], None] = lambda typed: None) -> str:
    """Show the question and read one line. Raises EOFError when there is none.

    On a terminal text that was typed before does not count. Neither does a reply within 0.3 s or a
    part of a pasted text: the question is shown again. `keep` gets what did not count.
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
        try:
            wait_for_line(question, out)
            line = _line()
        except (EOFError, KeyboardInterrupt):
            out.write("\n")  # the next output begins on a new line
            out.flush()
            raise
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
        """The text that is typed until nothing comes for `seconds`."""
        typed, until = "", time.monotonic() + seconds
        while msvcrt.kbhit() or time.monotonic() < until:
            if msvcrt.kbhit():
                typed, until = typed + msvcrt.getwch(), time.monotonic() + seconds
            else:
                time.sleep(0.01)
        return typed

    def wait_for_line(question: str, out: TextIO) -> None:
        """Do nothing, as Windows has no Ctrl-Z."""

else:
    import select
    import signal
    import termios

    def wait_for_line(question: str, out: TextIO) -> None:
        """Wait until a line was typed. When the process continues after Ctrl-Z, show the question
        again, as the reply typed so far is lost then."""

        def show(number: int, frame: object) -> None:
            out.write(question)
            out.flush()

        before = signal.signal(signal.SIGCONT, show)
        try:
            # The signal may go to another thread, and then does not interrupt select.
            while not select.select([sys.stdin], [], [], CONTINUED_SECONDS)[0]:
                pass
        finally:
            signal.signal(signal.SIGCONT, before)

    def take_typed(seconds: float) -> str:
        """The text that is typed until nothing comes for `seconds`.

        Meanwhile the terminal gives single keys and does not show them. Else a line without Enter
        would stay unseen and become the reply.
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
