"""Reads ahead: while the user types, the model loads and reads how the next request begins."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass

from openclaw.errors import OpenclawError
from openclaw.models.base import Model, Request

Ready = tuple[Model, Request]


@dataclass(slots=True)
class Ahead:
    """At most one reading at a time, in a thread beside the user's.

    Whatever else wants the model calls `end` first. An OpenclawError and an OSError are left for
    the turn, which will meet them too; any other exception of the thread comes out of `end`. A
    server that refuses is not asked again, so that nobody has to wait for that.
    """

    _reading: _Reading | None = None

    @property
    def busy(self) -> bool:
        return self._reading is not None and self._reading.is_alive()

    def begin(self, make: Callable[[], Ready | None]) -> None:
        """Read what `make` gives, which is called in the thread: opening a model takes time too.
        None: there is nothing to read. What was being read is ended before; whatever became of it
        raises nothing here, as nobody has asked for anything yet."""
        with contextlib.suppress(Exception):
            self.end()
        self._reading = _Reading(make)
        self._reading.start()

    def end(self) -> None:
        """Stop, and wait until the model is free: a moment, as it is stopped between two batches.
        Called by the reading thread itself it does nothing. Ctrl-C leaves the wait; it may be
        called again then."""
        reading = self._reading
        if reading is None or reading is threading.current_thread():
            return
        reading.stop()
        reading.join()
        self._reading = None
        if reading.failure is not None:
            raise reading.failure


class _Reading(threading.Thread):
    def __init__(self, make: Callable[[], Ready | None]) -> None:
        super().__init__(daemon=True, name="reading ahead")
        self.failure: BaseException | None = None
        self._make = make
        self._stopped = threading.Event()

    def stop(self) -> None:
        self._stopped.set()

    def run(self) -> None:
        from openclaw.models.http_client import asked_once

        try:
            with asked_once():
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
