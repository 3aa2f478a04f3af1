"""Asks the user: yes or no, or one of several things by its number or a part of its name.

What was typed before a question could be read is no reply to it.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Protocol, TextIO

import typer

from openclaw.errors import Refused, UsageError
from openclaw.security.display import one_line
from openclaw.storage.program import is_started_by_agent
from openclaw.storage.text import write_text

TOO_SOON_SECONDS = 0.3
PASTED_SECONDS = 0.05  # a line that is followed by more input so soon was pasted
CONTINUED_SECONDS = 0.2


class Collector(Protocol):
    """Collects what is typed while nothing is asked."""

    def paused(self) -> AbstractContextManager[None]:
        """Let a question read the keys."""

    def keep(self, text: str) -> None:
        """Take text that was typed at a question and is no reply."""


_collector: ContextVar[Collector | None] = ContextVar("collector", default=None)


@contextmanager
def collected_by(collector: Collector) -> Iterator[None]:
    """Have questions pause this collector, and hand it what does not count."""
    token = _collector.set(collector)
    try:
        yield
    finally:
        _collector.reset(token)


def read_reply(question: str, out: TextIO) -> str:
    """Show the question and read one line. Raises EOFError when there is none.

    On a terminal text that was typed before does not count. Neither does a reply within 0.3 s or a
    part of a pasted text: the question is shown again.
    """
    collector = _collector.get()
    if collector is None:
        return _read_reply(question, out, lambda typed: None)
    with collector.paused():
        return _read_reply(question, out, collector.keep)


def _read_reply(question: str, out: TextIO, keep: Callable[[str], None]) -> str:
    while True:
        out.write(question)
        out.flush()
        if not sys.stdin.isatty():
            return _line()
        try:
            keep(take_typed(0.0))
            if early := take_typed(TOO_SOON_SECONDS):
                keep(early)
                out.write("\nThat came too soon to be a reply.\n")
                continue
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


MAX_CHOICES = 10
QUESTION = "Number or part of the name, Enter for none: "
Choice = tuple[str, str]  # the value that is chosen, and the line that shows it
LETTERS = {"yes": "y", "no": "n", "skip": "s", "quit": "q", "view": "v"}
YES_WORDS = frozenset("yes y yes,please yesplease ja ja,bitte jabitte oui sí si sì".split())


def pick(
    choices: Sequence[Choice], ask: Callable[[str], str], say: Callable[[str], None]
) -> str | None:
    """The value that the user chose; None for nothing. Words that fit several narrow the list."""
    shown = _show(choices, say)
    while True:
        try:
            # The Esc key alone chooses nothing.
            reply = "".join(filter(str.isprintable, ask(QUESTION))).strip().casefold()
        except (EOFError, KeyboardInterrupt):
            return None
        if not reply:
            return None
        if reply.isdecimal() and 0 < int(reply) <= len(shown):
            return shown[int(reply) - 1][0]
        near = [choice for choice in choices if reply in choice[1].casefold()]
        if len(near) == 1:
            return near[0][0]
        if near:
            shown = _show(near, say)
        else:
            say(f"nothing fits '{reply}'")


def _show(choices: Sequence[Choice], say: Callable[[str], None]) -> Sequence[Choice]:
    """Print the choices; returns those that a number may choose."""
    shown = choices[:MAX_CHOICES]
    for number, (_, line) in enumerate(shown, 1):
        say(f"{number:>3}  {line}")
    if len(choices) > MAX_CHOICES:
        say(f"     and {len(choices) - MAX_CHOICES} more")
    return shown


def is_yes(text: str) -> bool:
    """Return True when an input says yes to an offer."""
    return "".join(text.casefold().split()).rstrip(".!") in YES_WORDS


def can_ask() -> bool:
    """Return True when stdin and stderr are terminals, so that a question reaches the user."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def confirm(question: str, *, yes: bool) -> bool:
    """Return True when the user agrees: by `--yes`, or asked on a terminal. Raises UsageError when
    there is none."""
    if yes:
        return True
    if not can_ask():
        nowhere = "this asks first, and there is no terminal to ask on"
        raise UsageError(f"{nowhere}: {question}", "add --yes")

    with suppress(EOFError):
        return read_letter(f"{one_line(question)} [y/N]: ", "yn", "n") == "y"
    return False


def read_letter(question: str, letters: str, otherwise: str) -> str:
    """Ask until the reply is one of the letters, or its word; Enter means `otherwise`."""
    while True:
        reply = read_reply(question, sys.stderr).strip().lower()
        letter = LETTERS.get(reply, reply or otherwise)
        if letter in tuple(letters):
            return letter


def require_yes(question: str, *, yes: bool, otherwise: str) -> None:
    """Ask as `confirm`; a no prints what became of it and ends the command with 1."""
    if not confirm(question, yes=yes):
        sys.stderr.write(f"{otherwise}\n")
        raise typer.Exit(1)


def write_after_yes(files: Mapping[Path, str], then: str, *, ask: bool = True) -> None:
    """Print files, and write them after a yes; `then` is what starts them. Without `ask` they are
    only printed."""
    for path, text in files.items():
        sys.stdout.write(f"# {path}\n{text}\n")
    if not ask:
        return
    if not can_ask():
        raise UsageError(
            "these files are written after a yes, and there is no terminal to ask on",
            "run this in a terminal, or write them yourself",
        )
    require_yes("Write these files?", yes=False, otherwise="nothing was written")
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    sys.stderr.write(f"written; to start: {then}\n")


def refuse_inside_agent(what: str) -> None:
    """Raise Refused when a tool or a hook of ours started this process."""
    if is_started_by_agent():
        raise Refused(f"a program that the agent or a hook has started cannot allow {what}")
