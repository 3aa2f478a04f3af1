"""Files for tests, in folders that need not be there yet."""

from __future__ import annotations

import atexit
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


def write_file(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files that are given by their paths below a folder; the folder."""
    for path, content in files.items():
        write_file(folder / path, content)
    return folder


def kept_folder() -> Path:
    """A new folder that is there until this process ends."""
    top = tempfile.TemporaryDirectory()
    atexit.register(top.cleanup)
    return Path(top.name)


@contextmanager
def exchanged(script: Path, bad: Path) -> Iterator[None]:
    """A thread exchanges the two files, and back, all the time."""
    other, over = script.with_name("other"), threading.Event()

    def exchange() -> None:
        while not over.is_set():
            script.rename(other)
            bad.rename(script)
            script.rename(bad)
            other.rename(script)

    racing = threading.Thread(target=exchange)
    racing.start()
    try:
        yield
    finally:
        over.set()
        racing.join()
