"""Tells of changes in folders, by the events of the system."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openclaw.storage.home import CLOSED

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent

# How often missing folders are looked for.
LOOK_SECONDS = 2.0
CHANGES = frozenset({"created", "modified", "moved", "deleted", "closed"})


class FolderWatcher:
    """Calls `on_change` from its own thread, `delay` seconds after the last of several changes.

    A folder that does not exist yet is watched as soon as it appears.

    notice  a line for the user when watching is not possible, else ""
    error   the last exception that `on_change` raised; watching goes on
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
        self._watched: dict[str, tuple[tuple[int, int] | None, Any]] = {}
        self._observer: Any = None
        self._thread = threading.Thread(target=self._run, name="openclaw-watch", daemon=True)
        if self._start():
            self._thread.start()

    def close(self) -> None:
        """Stop watching, and wait for a running `on_change`."""
        self._closing.set()
        self._changed.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()
        if self._observer is not None:
            self._observer.stop()
            self._observer.join()
            self._observer = None

    def _start(self) -> bool:
        """Start the observer. Loads watchdog."""
        from watchdog.observers import Observer

        observer = Observer()
        try:
            observer.start()
        except (OSError, RuntimeError) as error:
            self.notice = f"files are not watched ({error}); they are still looked at when needed"
            return False
        self._observer = observer
        self._update_watches()
        return True

    def _run(self) -> None:
        while not self._closing.is_set():
            if not self._changed.wait(self._look_seconds):
                if not self._update_watches():
                    continue
                self._changed.set()
            while self._changed.is_set() and not self._closing.is_set():
                self._changed.clear()
                self._closing.wait(self._delay)
            if not self._closing.is_set():
                try:
                    self._on_change()
                except Exception as error:  # noqa: BLE001 - a thread has nobody to raise to
                    self.error = error

    def _update_watches(self) -> bool:
        """Watch the folders that exist now. Returns True when they differ from those before."""
        different = False
        for folder in self._folders:
            there = _identity(folder)
            before, watch = self._watched.get(folder, (None, None))
            if there == before:
                continue
            different = True
            if watch is not None:
                with suppress(KeyError, OSError, RuntimeError):
                    self._observer.unschedule(watch)
            self._watched[folder] = (there, self._schedule(folder) if there else None)
        return different

    def _schedule(self, folder: str) -> Any:
        from watchdog.events import FileSystemEventHandler

        handler = FileSystemEventHandler()
        handler.on_any_event = self._on_event  # type: ignore[method-assign]
        try:
            return self._observer.schedule(handler, folder, recursive=True)
        except (OSError, RuntimeError) as error:
            reason = getattr(error, "strerror", None) or error
            self.notice = f"{folder} is not watched ({reason}); it is still looked at when needed"
            return None

    def _on_event(self, event: FileSystemEvent) -> None:
        """Ignore reads, and changes in the folders of the program and of git."""
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
