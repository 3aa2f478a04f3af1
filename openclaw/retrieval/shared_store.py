"""The vector store that `index.store` names, in which the clones of a home share their vectors.

A vector is found there by the hash of what was embedded, so a text is embedded once, by whichever
clone comes first. What is in the index is each clone's own list. docs/vector-stores.md.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from openclaw.errors import OpenclawError

if TYPE_CHECKING:
    from openclaw.retrieval.embedder_choice import Embedder
    from openclaw.retrieval.snapshot import Floats

# A store is not asked again for this long after a failure.
REST_SECONDS = 30.0
# A clone names its vectors again after so many days; what none has named for longer is swept.
NAMED_DAYS = 7
KEPT_DAYS = 30


class StoreFailed(OpenclawError):
    """The vector store cannot be used, for whatever reason."""


class SharedVector(NamedTuple):
    """A vector, and the day since 1970 on which a clone has last named it."""

    vector: Floats
    day: int


class _Closable(Protocol):
    def close(self) -> None: ...


T = TypeVar("T", bound=_Closable)
R = TypeVar("R")


class LazyStore(Generic[T]):
    """A vector store that is opened at first use, closed after a failure, and opened again later.

    make   opens it for an embedder; None when the settings name none
    place  tells this store from every other one
    keeps  the index has the vectors too, and answers
    tell   is called with each failure
    today  returns the number of days since 1970
    """

    def __init__(
        self,
        make: Callable[[Embedder], T] | None = None,
        place: str = "",
        *,
        keeps: bool = True,
        rest_seconds: float = REST_SECONDS,
        today: Callable[[], int] = lambda: int(time.time() // 86_400),
    ) -> None:
        self.place, self.today = place, today
        self.keeps = keeps or make is None
        self.tell: Callable[[Exception], None] = lambda error: None
        self._make, self._rest_seconds = make, rest_seconds
        self._opened: tuple[str, T] | None = None
        self._lock = threading.RLock()
        self._rest_until = 0.0

    @property
    def is_ready(self) -> bool:
        """Return True when there is a store that did not fail a moment ago."""
        return self._make is not None and time.monotonic() >= self._rest_until

    def ask(self, embedder: Embedder, do: Callable[[T], R]) -> R | None:
        """What `do` gives for the store with the vectors of this embedder; None when there is no
        store or it fails now."""
        try:
            opened = self._open(embedder)
            return do(opened) if opened else None
        except OpenclawError as error:  # of the store, or of an embedder that is asked its width
            self.failed(error)
            return None

    def _open(self, embedder: Embedder) -> T | None:
        with self._lock:
            if not self.is_ready or self._make is None:
                return None
            if self._opened is None or self._opened[0] != embedder.name:
                self.close()
                self._opened = embedder.name, self._make(embedder)
            return self._opened[1]

    def failed(self, error: Exception) -> None:
        """Close the store for `rest_seconds`, and say why."""
        self._rest_until = time.monotonic() + self._rest_seconds
        self.close()
        self.tell(error)

    def close(self) -> None:
        with self._lock:
            opened, self._opened = self._opened, None
            if opened:
                with contextlib.suppress(Exception):
                    opened[1].close()
