"""One file read for the index: its bytes and its stamp belong together."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

from openclaw.files.beneath import open_file
from openclaw.files.text import md5
from openclaw.retrieval.readers import too_large
from openclaw.retrieval.records import Known, Stamp

ATTEMPTS = 3
# The coarsest clock of a file system that is still in use (FAT: two seconds).
COARSEST_NS = 2_000_000_000
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class Content:
    """A file's bytes, what it looked like then, and when that was; `read_at_ns` is 0 when it was
    written while it was read, so that it is looked at again."""

    data: bytes
    stamp: Stamp
    md5: str
    read_at_ns: int


def is_young(known: Known, now_ns: int) -> bool:
    """Whether the file may have changed after it was read without its stamp telling: it was read
    within the tick of its last change, or the clock has been set back since."""
    changed_ns = known.ctime_ns or known.mtime_ns
    return changed_ns + COARSEST_NS > known.read_at_ns or known.read_at_ns > now_ns


def read_file(name: str, max_bytes: int, now_ns: int) -> Content:
    """The whole file. Raises Unreadable (too large, no regular file any more) or OSError."""
    for _ in range(ATTEMPTS):
        with os.fdopen(open_file(name, _FLAGS), "rb", buffering=0) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise FileNotFoundError(name)
            if status.st_size > max_bytes:
                raise too_large(max_bytes)
            data = file.read() or b""
            unchanged = Stamp.of(os.fstat(file.fileno())) == Stamp.of(status)
        if len(data) > max_bytes:
            raise too_large(max_bytes)
        if unchanged:
            return Content(data, Stamp.of(status), md5(data), now_ns)
    return Content(data, Stamp.of(status), md5(data), 0)
