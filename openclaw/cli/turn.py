"""What a one-shot prompt and a talk share: which session, and playing one turn to a listener."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from openclaw.agent.events import Done, Error, Event
from openclaw.cli.render import Listener, exit_code
from openclaw.errors import OpenclawError, UsageError

if TYPE_CHECKING:
    from openclaw.sessions.store import Session, SessionStore

_MADE_ID = re.compile(r"\d{4}-\d\d-\d\d-\d")


def is_made_id(session_id: str) -> bool:
    """Whether a session's id was made from the time, and is no name that the user gave."""
    return bool(_MADE_ID.match(session_id))


def open_session(store: SessionStore, latest: bool, name: str | None, model: str) -> Session:
    """The latest session, the one of this name or title (made when missing), or a new one. A name
    that looks like an id of ours must exist."""
    if latest and name:
        raise UsageError("--continue and --session exclude each other")
    if latest or (name and is_made_id(name)):
        return store.load("latest" if latest else str(name))
    if name is None:
        return store.new(None, model)
    with contextlib.suppress(UsageError):
        if store.find(name) == name:
            return store.load(name)
    titled = [s.id for s in store.list() if s.title.casefold() == name.strip().casefold()]
    return store.load(titled[0]) if titled else store.new(name, model)


def play(
    happenings: Iterator[Event],
    listener: Listener,
    seen: Callable[[Event], Event] = lambda event: event,
) -> Done | Error | None:
    """Let the listener hear a whole turn, each event as `seen` gives it; returns the event that
    ended it.

    Ctrl-C while the listener works goes to the turn, which ends as interrupted. OpenclawError may
    come out, with the listener closed.
    """
    end: Done | Error | None = None
    try:
        listener.begin("getting ready")
        for event in _interruptible(happenings, lambda event: listener(seen(event))):
            if isinstance(event, Done | Error):
                end = event
    finally:
        listener.close()
        if close := getattr(happenings, "close", None):
            close()
    return end


def code_of(end: Done | Error | None) -> int:
    """The exit code for the event that ended a turn."""
    if isinstance(end, Done):
        return exit_code(end)
    return end.exit_code if end else OpenclawError.exit_code


def _interruptible(happenings: Iterator[Event], hear: Callable[[Event], None]) -> Iterator[Event]:
    try:
        for event in happenings:
            hear(event)
            yield event
    except KeyboardInterrupt as interrupt:
        throw = getattr(happenings, "throw", None)
        if not throw:
            raise
        with contextlib.suppress(StopIteration):
            event = throw(interrupt)
            hear(event)
            yield event
        for event in happenings:
            hear(event)
            yield event


def by_name(skill: str) -> str:
    """The prompt when nothing but a skill is asked for."""
    return f"Do what the skill {skill} says."
