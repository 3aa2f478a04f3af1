"""Tells of changes in folders, by the events of the system."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from openclaw.storage.home import CLOSED

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent

CHANGES = frozenset({"created", "modified", "moved", "deleted", "closed"})


@contextmanager
def watch_folders(
    folders: Iterable[Path], on_change: Callable[[], object], delay: float = 0.5
) -> Iterator[None]:
    """Call `on_change` from another thread `delay` seconds after a change in one of the folders,
    once for all changes in that time. It is a hint: a folder that cannot be watched is left out."""
    from watchdog.events import FileSystemEventHandler
    from watchdog.observers import Observer

    waiting = threading.Event()

    def tell() -> None:
        waiting.clear()
        on_change()

    def hear(event: FileSystemEvent) -> None:
        if _is_change(event) and not waiting.is_set():
            waiting.set()
            timer = threading.Timer(delay, tell)
            timer.daemon = True
            timer.start()

    handler = FileSystemEventHandler()
    handler.on_any_event = hear  # type: ignore[method-assign]
    observer = Observer()
    with suppress(OSError, RuntimeError):
        observer.start()
        for folder in folders:
            with suppress(OSError, RuntimeError):
                observer.schedule(handler, str(folder), recursive=True)
    try:
        yield
    finally:
        if observer.is_alive():
            observer.stop()
            observer.join()


def _is_change(event: FileSystemEvent) -> bool:
    """Return False for reads, and for changes in the folders of the program and of git."""
    paths = [os.fsdecode(path) for path in (event.src_path, event.dest_path) if path]
    inner = all(CLOSED.intersection(Path(path).parts) for path in paths)
    return event.event_type in CHANGES and not inner
