"""Shows one turn by a listener, and chooses the listener and the exit code."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import TextIO

from openclaw.cli.formatting import has_colours
from openclaw.cli.render import DoneJson, JsonLines, Listener, PlainText
from openclaw.errors import OpenclawError
from openclaw.events import Done, Error, Event

BELL_SECONDS = 10.0
"""After such a wait the user may be looking elsewhere."""


def show_turn(
    events: Iterator[Event],
    listener: Listener,
    seen: Callable[[Event], Event] = lambda event: event,
) -> Done | Error | None:
    """Show a whole turn by the listener, each event as changed by `seen`; returns the event that
    ended the turn.

    A Ctrl-C while the listener works goes to the turn, which ends as interrupted. When the turn
    raises an OpenclawError, the listener is closed and the error goes on to the caller.
    """
    end: Done | Error | None = None
    ahead: Callable[[], Event] = events.__next__
    interrupted = False
    try:
        listener.begin("getting ready")
        while True:
            try:
                event = ahead()
                ahead = events.__next__
                listener(seen(event))
            except StopIteration:
                return end
            except KeyboardInterrupt as interrupt:
                throw = getattr(events, "throw", None)
                if interrupted or not throw:
                    raise
                interrupted, ahead = True, partial(throw, interrupt)
            else:
                end = event if isinstance(event, Done | Error) else end
    finally:
        listener.close()
        if close := getattr(events, "close", None):
            close()


def exit_code(end: Done | Error | None) -> int:
    """Return the command's exit code for the event that ended a turn (README, Exit codes)."""
    if not isinstance(end, Done):
        return end.exit_code if end else OpenclawError.exit_code
    if end.stop_reason == "interrupted":
        return 130
    if end.stop_reason == "empty":
        return 1
    if end.unbacked:
        return 3
    return 7 if end.refused else 0


def choose_listener(
    output: str,
    out: TextIO,
    err: TextIO,
    *,
    quiet: bool = False,
    bell: bool = False,
    typed: Callable[[], str] | None = None,
) -> Listener:
    """The listener for an output format ("text", "json", "stream-json") and these streams. With
    `bell` a terminal rings after a long wait; for `typed` see `Screen`."""
    if output == "json":
        return DoneJson(out)
    if output == "stream-json":
        return JsonLines(out)
    if out.isatty() and os.environ.get("TERM") != "dumb":
        from openclaw.cli.terminal import Screen

        return Screen(out, err, notes=not quiet, typed=typed, bell=BELL_SECONDS if bell else 0.0)
    tools = err.isatty() and not quiet
    return PlainText(out, err, tools=tools, notes=not quiet, dim=has_colours(err))
