"""A blocking wait in a thread of its own, so that Ctrl-C and deadlines reach the one who waits."""

from __future__ import annotations

import contextlib
import contextvars
import queue
import threading
from collections.abc import Callable, Generator
from typing import Any, Literal

Feed = Callable[[Any], None]

BEAT_SECONDS = 0.05


class Stopped(Exception):
    """The call was stopped from outside while somebody waited for its next piece."""


class Call(threading.Thread):
    """Runs `work`, which feeds what it gets. `cancel` ends its wait from another thread; an OSError
    of it means that there is nothing left to end. A daemon: it never keeps a process alive."""

    def __init__(
        self,
        work: Callable[[Feed], None],
        cancel: Callable[[], object] | None = None,
        name: str = "llama.cpp",
    ) -> None:
        super().__init__(daemon=True, name=name)
        self._work, self._cancel = work, cancel
        self._context = contextvars.copy_context()
        self._queue: queue.SimpleQueue[tuple[Literal["piece", "error", "end"], Any]]
        self._queue = queue.SimpleQueue()
        self.is_stopped = False
        self.start()

    def run(self) -> None:
        try:
            self._context.run(self._work, lambda piece: self._queue.put(("piece", piece)))
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            self._queue.put(("error", error))
        self._queue.put(("end", None))

    @property
    def can_stop(self) -> bool:
        return self._cancel is not None

    def stop(self) -> None:
        if self._cancel is not None and self.is_alive():
            self.is_stopped = True
            with contextlib.suppress(OSError):
                self._cancel()

    def pieces(self) -> Generator[Any, None, None]:
        """What the call fed, as it comes, and None whenever 0.05 s have passed without anything.
        Leaving early stops the call. Raises what the work raised, Stopped when it was stopped."""
        ended = False
        try:
            while not ended:
                try:
                    # Without a time limit Ctrl-C would not end the wait on Windows.
                    kind, value = self._queue.get(timeout=BEAT_SECONDS)
                except queue.Empty:
                    kind, value = "piece", None
                ended = kind != "piece"
                if ended and self.is_stopped:
                    raise Stopped
                if kind == "error":
                    raise value
                if kind == "piece":
                    yield value
        finally:
            if not ended:
                self.stop()
