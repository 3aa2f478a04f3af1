"""Loads the model, and reads the beginning of the next request, while the user types."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from openclaw.errors import OpenclawError
from openclaw.models.base import Model, Request, without_retries


@dataclass(slots=True)
class Preloader:
    """At most one preloading at a time, in a thread of its own.

    Call `end` before any other use of the model. An OpenclawError and an OSError of the thread are
    ignored, since the turn will meet them too; `end` raises any other exception. A server that
    refuses the connection is not asked again, so that nobody has to wait for it.
    """

    _thread: threading.Thread | None = None
    _stopped: threading.Event = field(default_factory=threading.Event)
    _failure: BaseException | None = None

    @property
    def busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def begin(self, make: Callable[[], tuple[Model, Request]]) -> None:
        """Read the request that `make` returns. `make` is called in the thread: opening a model
        takes time too. Ends the last preloading first, without its exceptions."""
        with suppress(Exception):
            self.end()
        self._stopped, self._failure = threading.Event(), None
        self._thread = threading.Thread(target=self._read, args=(make,), daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop, and wait a moment until the model is free: it stops between two batches. Does
        nothing in the preloading thread itself. Ctrl-C ends the wait; call it again then."""
        if self._thread is None or self._thread is threading.current_thread():
            return
        self._stopped.set()
        self._thread.join()
        self._thread = None
        if self._failure is not None:
            raise self._failure

    def _read(self, make: Callable[[], tuple[Model, Request]]) -> None:
        try:
            with suppress(OpenclawError, OSError), without_retries():
                model, request = make()
                if self._stopped.is_set():
                    return
                for _ in model.warm(request):
                    if self._stopped.is_set():
                        return  # which closes the iterator, and so ends the request
        except BaseException as error:  # noqa: BLE001 - raised again by `end`
            self._failure = error
