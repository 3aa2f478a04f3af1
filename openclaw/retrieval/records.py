"""What the index stores of files and chunks, as values."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import NamedTuple

# Chunk number n of file f has the key f * ORDINALS + n, so that a file's rows lie together.
ORDINALS = 1 << 24
_SIGNED = (1 << 63) - 1


class Stamp(NamedTuple):
    """What tells without reading that a file is still the same: size in bytes, times in
    nanoseconds, inode. On Windows a folder listing knows no inode and no time of change."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        if os.name == "nt":
            return cls(status.st_size, status.st_mtime_ns, 0, 0)
        inode = status.st_ino & _SIGNED
        return cls(status.st_size, status.st_mtime_ns, status.st_ctime_ns, inode)


class Known(NamedTuple):
    """A file as the index knows it. `md5` is "" when it could not be read, `problem` then says why;
    `recipe` names the code that made its chunks."""

    id: int
    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    md5: str
    read_at_ns: int
    recipe: str
    problem: str
    chunks: int

    @property
    def stamp(self) -> Stamp:
        return Stamp(*self[2:6])


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file with chunks: its first row of the snapshot, and how many rows it has."""

    id: int
    path: str
    mtime_ns: int
    first_row: int
    count: int


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as it was when its file was read. `row` is its place in the snapshot, lines count
    from 1 and are inclusive, `mtime_ns` is the file's."""

    row: int
    node_id: str
    path: str
    start_line: int
    end_line: int
    text: str
    headings: tuple[str, ...]
    date: str
    label: str
    struck: bool
    mtime_ns: int
