"""Asks the user: yes or no, or one of several things by its number or a part of its name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from openclaw.cli.reply import read_reply
from openclaw.errors import Refused, UsageError
from openclaw.storage.program import is_started_by_agent
from openclaw.storage.text import write_text

MOST_CHOICES = 10
QUESTION = "Number or part of the name, Enter for none: "
Choice = tuple[str, str]
"""The value that is chosen, and the line that shows it."""
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
    shown = choices[:MOST_CHOICES]
    for number, (_, line) in enumerate(shown, 1):
        say(f"{number:>3}  {line}")
    if len(choices) > MOST_CHOICES:
        say(f"     and {len(choices) - MOST_CHOICES} more")
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
        raise UsageError("this asks first, and there is no terminal to ask on", "add --yes")

    with suppress(EOFError):
        while True:
            reply = read_reply(f"{question} [y/N]: ", sys.stderr).strip().lower()
            if reply in ("", "n", "no", "y", "yes"):
                return reply[:1] == "y"
    return False


def write_after_yes(files: Mapping[Path, str], then: str, *, ask: bool = True) -> None:
    """Print files, and write them after a yes; `then` is what starts them. Without `ask` they are
    only printed."""
    for path, text in files.items():
        sys.stdout.write(f"# {path}\n{text}\n")
    if not ask:
        return
    if not can_ask() or not confirm("Write these files?", yes=False):
        sys.stderr.write("nothing was written\n")
        return
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    sys.stderr.write(f"written; to start: {then}\n")


def refuse_inside_agent(what: str) -> None:
    """Raise Refused when a tool or a hook of ours started this process."""
    if is_started_by_agent():
        raise Refused(f"a program that the agent or a hook has started cannot allow {what}")
