"""Stops a turn that runs in a thread. Python raises a Ctrl-C in the main thread only."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_asked: ContextVar[threading.Event | None] = ContextVar("stop", default=None)


@contextmanager
def stopped_by(asked: threading.Event) -> Iterator[None]:
    """Within it `check_stop` raises in this thread as soon as the event is set."""
    token = _asked.set(asked)
    try:
        yield
    finally:
        _asked.reset(token)


@contextmanager
def stopped_after(seconds: float) -> Iterator[threading.Event]:
    """Within it `check_stop` raises once these seconds are over. The event tells that they are."""
    stop, over = threading.Event(), threading.Event()

    def end() -> None:
        over.set()
        stop.set()

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        with stopped_by(stop):
            yield over
    finally:
        timer.cancel()


def check_stop() -> None:
    """Raise KeyboardInterrupt, once, when this turn shall end. Whatever waits long calls this, some
    times a second."""
    asked = _asked.get()
    if asked is not None and asked.is_set():
        asked.clear()  # so that what is done at the end of the turn is not interrupted too
        raise KeyboardInterrupt
