"""While the user types, loads the model and reads the beginning of the next request."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass

from openclaw.errors import OpenclawError
from openclaw.models.base import Model, Request, without_retries

Ready = tuple[Model, Request]


@dataclass(slots=True)
class Preloader:
    """At most one preloading at a time, in a thread of its own.

    Call `end` before any other use of the model. An OpenclawError and an OSError of the thread are
    ignored, since the turn will meet them too; `end` raises any other exception. A server that
    refuses the connection is not asked again, so that nobody has to wait for it.
    """

    _reading: _PreloadThread | None = None

    @property
    def busy(self) -> bool:
        return self._reading is not None and self._reading.is_alive()

    def begin(self, make: Callable[[], Ready | None]) -> None:
        """Read the request that `make` returns, None for nothing. `make` is called in the thread:
        opening a model takes time too. Ends the last preloading first, without its exceptions."""
        with contextlib.suppress(Exception):
            self.end()
        self._reading = _PreloadThread(make)
        self._reading.start()

    def end(self) -> None:
        """Stop, and wait a moment until the model is free: it stops between two batches. Does
        nothing in the preloading thread itself. Ctrl-C ends the wait; call it again then."""
        reading = self._reading
        if reading is None or reading is threading.current_thread():
            return
        reading.stop()
        reading.join()
        self._reading = None
        if reading.failure is not None:
            raise reading.failure


class _PreloadThread(threading.Thread):
    def __init__(self, make: Callable[[], Ready | None]) -> None:
        super().__init__(daemon=True, name="reading ahead")
        self.failure: BaseException | None = None
        self._make = make
        self._stopped = threading.Event()

    def stop(self) -> None:
        self._stopped.set()

    def run(self) -> None:
        try:
            with without_retries():
                self._read()
        except (OpenclawError, OSError):
            pass
        except BaseException as error:  # noqa: BLE001 - raised again by `end`
            self.failure = error

    def _read(self) -> None:
        ready = self._make()
        if ready is None or self._stopped.is_set():
            return
        model, request = ready
        waiting = model.warm(request)
        try:
            for _ in waiting:
                if self._stopped.is_set():
                    return
        finally:
            if close := getattr(waiting, "close", None):
                close()
