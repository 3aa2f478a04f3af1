"""Tells when files of some folders change, so that the index can be made ready before a question.

It is a hint only: the upkeep of the index looks at the files themselves before every search.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent

# Folders that went away are looked for as often as this.
LOOK_SECONDS = 2.0
CHANGES = frozenset({"created", "modified", "moved", "deleted", "closed"})
CLOSED = frozenset({".openclaw", ".git"})


class Watch:
    """Calls `on_change` from a thread of its own, `delay` seconds after the last change of many.

    Folders that do not exist yet, or go and come back, are watched while they are there. `notice`
    is a line for the user when watching is not possible, "" otherwise. What `on_change` raises is
    kept in `error`, and the watch goes on.
    """

    def __init__(
        self,
        folders: Iterable[Path],
        on_change: Callable[[], None],
        delay: float = 0.5,
        *,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        self.notice = ""
        self.error: Exception | None = None
        self._folders = [str(folder) for folder in folders]
        self._on_change = on_change
        self._delay = delay
        self._look_seconds = look_seconds
        self._changed = threading.Event()
        self._closing = threading.Event()
        self._watched: dict[str, tuple[tuple[int, int], Any]] = {}
        self._observer: Any = None
        self._thread = threading.Thread(target=self._run, name="openclaw-watch", daemon=True)
        if self._start():
            self._thread.start()

    def close(self) -> None:
        """Stop watching; waits for a running `on_change`."""
        self._closing.set()
        self._changed.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()
        if self._observer is not None:
            self._observer.stop()
            self._observer.join()
            self._observer = None

    def _start(self) -> bool:
        """Start the observer; the lazy door of watchdog."""
        from watchdog.observers import Observer

        observer = Observer()
        try:
            observer.start()
        except (OSError, RuntimeError) as error:
            self.notice = f"files are not watched ({error}); they are still looked at when needed"
            return False
        self._observer = observer
        self._look()
        return True

    def _run(self) -> None:
        while not self._closing.is_set():
            if not self._changed.wait(self._look_seconds):
                if not self._look():
                    continue
                self._changed.set()
            while self._changed.is_set() and not self._closing.is_set():
                self._changed.clear()
                self._closing.wait(self._delay)
            if not self._closing.is_set():
                self._tell()

    def _tell(self) -> None:
        try:
            self._on_change()
        except Exception as error:  # noqa: BLE001 - a thread has nobody to raise to
            self.error = error

    def _look(self) -> bool:
        """Watch what is there now; True when that is not what was there before."""
        different = False
        for folder in self._folders:
            there = _identity(folder)
            before, watch = self._watched.get(folder, (None, None))
            if there == before:
                continue
            different = True
            if watch is not None:
                del self._watched[folder]
                self._unschedule(watch)
            if there is not None:
                self._schedule(folder, there)
        return different

    def _schedule(self, folder: str, there: tuple[int, int]) -> None:
        from watchdog.events import FileSystemEventHandler

        handler = FileSystemEventHandler()
        handler.on_any_event = self._note  # type: ignore[method-assign]
        try:
            watch = self._observer.schedule(handler, folder, recursive=True)
        except (OSError, RuntimeError) as error:
            reason = getattr(error, "strerror", None) or error
            self.notice = f"{folder} is not watched ({reason}); it is still looked at when needed"
            watch = None
        self._watched[folder] = (there, watch)

    def _unschedule(self, watch: Any) -> None:
        try:
            self._observer.unschedule(watch)
        except (KeyError, OSError, RuntimeError):
            return

    def _note(self, event: FileSystemEvent) -> None:
        """Reading is no change, nor is anything in the folders of the program and of git."""
        paths = [os.fsdecode(path) for path in (event.src_path, event.dest_path) if path]
        inner = all(CLOSED.intersection(Path(path).parts) for path in paths)
        if event.event_type in CHANGES and not inner:
            self._changed.set()


def _identity(folder: str) -> tuple[int, int] | None:
    try:
        status = Path(folder).stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino)
