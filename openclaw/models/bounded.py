"""A model that is heard only until a moment, whatever its server does: also when that is silent.

What waits for the model waits in a thread, which is ended by cutting the connection it waits at.
One that even that does not end (a name that is being looked up) is left behind; it does not keep
the process from ending.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from typing import Protocol, TypeVar, runtime_checkable

from openclaw.errors import ModelFailed
from openclaw.models.base import Chunk, Model, ModelCard, Request, Waiting
from openclaw.models.call import Call, Feed

T = TypeVar("T")

CUT_SECONDS, CUT_TRIES = 0.1, 50
"""How long to wait for a thread after a cut, and how often to cut: what it waits at may only come
into being."""


class TooLate(ModelFailed):
    """The model did not answer in the time that it was given."""


@runtime_checkable
class Cuttable(Protocol):
    """A model that can be cut off while another thread waits for it."""

    def cut(self) -> None:
        """End that wait at once; a stream that runs fails. The model can be asked again."""
        ...


class Bounded:
    """A `Model` that raises TooLate where its own model has not answered until `until` (seconds of
    time.monotonic). Closing it closes nothing."""

    def __init__(self, model: Model, until: float) -> None:
        self._model, self._until = model, until

    @property
    def reading_rate(self) -> float:
        return self._model.reading_rate

    @reading_rate.setter
    def reading_rate(self, rate: float) -> None:
        self._model.reading_rate = rate

    @property
    def card(self) -> ModelCard:
        return card_of(self._model, self._until)

    def stream(self, request: Request) -> Generator[Chunk, None, None]:
        return _until(self._model, lambda: self._model.stream(request), self._until)

    def wire(self, request: Request) -> bytes:
        return self._model.wire(request)

    def warm(self, request: Request) -> Generator[Waiting, None, None]:
        return _until(self._model, lambda: self._model.warm(request), self._until)

    def close(self) -> None:
        pass


def card_of(model: Model, until: float) -> ModelCard:
    """The model's card. TooLate when it is not told until then."""
    (card,) = _until(model, lambda: (model.card,), until)
    return card


def _until(model: Model, work: Callable[[], Iterable[T]], until: float) -> Generator[T, None, None]:
    """What `work` gives, as it comes. Leaving ends it."""
    began, gone = time.monotonic(), False

    def feed_all(feed: Feed) -> None:
        items = iter(work())
        try:
            for item in items:
                if gone:
                    return
                feed(item)
        finally:
            if close := getattr(items, "close", None):
                close()

    call = Call(feed_all, model.cut if isinstance(model, Cuttable) else None, "model")
    try:
        with closing(call.pieces()) as pieces:
            for piece in pieces:
                if time.monotonic() > until:
                    raise TooLate(_late(time.monotonic() - began), "look at the server's log")
                if piece is not None:
                    yield piece
    finally:
        gone = True
        _end(call)


def _late(seconds: float) -> str:
    return f"the model did not answer within {seconds:.0f} s"


def _end(call: Call) -> None:
    """Wait for the end of a call that nobody hears any more."""
    for _ in range(CUT_TRIES if call.can_stop else 1):
        call.join(CUT_SECONDS)
        if not call.is_alive():
            return
        call.stop()
