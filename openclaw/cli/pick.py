"""Lets the user choose one of several things by its number or a part of its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

SHOWN = 10
QUESTION = "Number or part of the name, Enter for none: "

Choice = tuple[str, str]
"""What is chosen, and the line that shows it."""


def pick(
    choices: Sequence[Choice], ask: Callable[[str], str], say: Callable[[str], None]
) -> str | None:
    """What the user chose, None for nothing. Words that fit several narrow the list."""
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
    """Those that a number may choose."""
    shown = choices[:SHOWN]
    for number, (_, line) in enumerate(shown, 1):
        say(f"{number:>3}  {line}")
    if len(choices) > SHOWN:
        say(f"     and {len(choices) - SHOWN} more")
    return shown
