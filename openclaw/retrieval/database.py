"""The index's tables, its connections, and its files and chunks as values."""

from __future__ import annotations

import os
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

# The name of an engine in notices, and their key.
ENGINE = "vector store"
# Chunk number n of file f has the key f * ORDINALS + n, so that a file's rows lie together.
ORDINALS = 1 << 24
# Vector number n of group g has the key g * GROUP + n in `full_vectors`.
GROUP = 64
_SIGNED = (1 << 63) - 1
# Begin the words for the day of a chunk and for one that it tells of; no word of a text begins so.
DAY, DAY_TOLD = "=", "@"


class Stamp(NamedTuple):
    """Shows without reading whether a file has changed: size in bytes, times in nanoseconds, inode.
    On Windows a folder listing has no inode and no time of change."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        modified = min(status.st_mtime_ns, _SIGNED)  # SQLite knows no number of the year 2263
        if os.name == "nt":
            return cls(status.st_size, modified, 0, 0)
        return cls(status.st_size, modified, status.st_ctime_ns, status.st_ino & _SIGNED)


class KnownFile(NamedTuple):
    """A file as the index knows it.

    md5      "" when the file could not be read
    recipe   names the code that made its chunks
    problem  why the file could not be read, else ""
    chunks   how many chunks it has
    changed  the revision of the index that wrote this
    """

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
    changed: int


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as it was when its file was read. `row` is its place in the snapshot; lines count
    from 1 and are inclusive; `mtime_ns` is the file's."""

    row: int
    path: str
    start_line: int
    end_line: int
    text: str
    headings: tuple[str, ...]
    date: str
    label: str
    struck: bool
    mtime_ns: int

    @property
    def is_heading(self) -> bool:
        """True for a heading alone, which says less than the text below it."""
        first = self.text.split("\n", 1)[0]
        return bool(self.headings) and first.strip("# \t") == self.headings[-1]


VERSION = 4
WAL_BYTES = 16 * 1024 * 1024
CHECKPOINT_PAGES = 4000
WRITER_CACHE_KIB, READER_CACHE_KIB = 32 * 1024, 2 * 1024
BUSY = ("SQLITE_BUSY", "SQLITE_LOCKED")

TABLES = """
CREATE TABLE state (id INTEGER PRIMARY KEY CHECK (id = 1), generation INTEGER, revision INTEGER);
INSERT INTO state VALUES (1, 1, 1);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE files (
    id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT UNIQUE NOT NULL,
    size INTEGER, mtime_ns INTEGER, ctime_ns INTEGER, inode INTEGER,
    md5 TEXT, read_at_ns INTEGER, recipe TEXT, problem TEXT, chunks INTEGER, changed INTEGER);
CREATE TABLE file_rows (file INTEGER PRIMARY KEY, rows BLOB);
CREATE TABLE file_terms (file INTEGER PRIMARY KEY, terms TEXT);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY, start_line INTEGER, end_line INTEGER, text TEXT,
    headings TEXT, date TEXT, label TEXT, struck INTEGER);
CREATE TABLE postings (
    term TEXT, file INTEGER, data BLOB, PRIMARY KEY (term, file)) WITHOUT ROWID;
CREATE TABLE embedders (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, width INTEGER);
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY AUTOINCREMENT, embedder INTEGER, contexts BLOB, codes BLOB);
CREATE INDEX vectors_of_embedder ON vectors (embedder);
CREATE TABLE full_vectors (id INTEGER PRIMARY KEY, data BLOB);
CREATE TABLE departed (context INTEGER PRIMARY KEY, at INTEGER);
CREATE TABLE shared (
    id INTEGER, place TEXT, day INTEGER, PRIMARY KEY (id, place)) WITHOUT ROWID;
"""


def connect(path: Path | str, busy_seconds: float, max_pages: int = 0) -> sqlite3.Connection:
    """Open the index. Creates its tables when they are missing or of another version.

    `max_pages` limits its size (0: no limit). Raises sqlite3.Error.
    """
    db = _open(path, busy_seconds)
    try:
        _journal(db, busy_seconds)
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")
        db.execute(f"PRAGMA cache_size = -{WRITER_CACHE_KIB}")
        db.execute("PRAGMA secure_delete = FAST")
        db.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        if max_pages:
            db.execute(f"PRAGMA max_page_count = {max_pages}")
        if _version(db) != VERSION:
            _make_tables(db)
    except BaseException:
        db.close()
        raise
    return db


def connect_reader(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """A second, read-only connection to an index that `connect` has prepared."""
    db = _open(path, busy_seconds)
    try:
        db.execute(f"PRAGMA cache_size = -{READER_CACHE_KIB}")
        db.execute("PRAGMA query_only = ON")
    except BaseException:
        db.close()
        raise
    return db


def copy_unwritable(path: Path, target: sqlite3.Connection) -> None:
    """Copy an index that cannot be written into `target`. Raises sqlite3.Error."""
    source = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        if _version(source) != VERSION or path.with_name(path.name + "-wal").exists():
            raise sqlite3.DatabaseError("not an index at rest")
        source.backup(target)
    finally:
        source.close()


def _open(path: Path | str, busy_seconds: float) -> sqlite3.Connection:
    return sqlite3.connect(
        path, timeout=busy_seconds, isolation_level=None, check_same_thread=False
    )


def _journal(db: sqlite3.Connection, busy_seconds: float) -> None:
    """Turn on the write-ahead log. SQLite does not wait for other processes that do the same."""
    end = time.monotonic() + busy_seconds
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith(BUSY) or time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _make_tables(db: sqlite3.Connection) -> None:
    db.execute("BEGIN IMMEDIATE")
    if _version(db) != VERSION:
        select = "SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite_%'"
        for (name,) in db.execute(select).fetchall():
            db.execute('DROP TABLE "{}"'.format(name.replace('"', '""')))
        for statement in filter(str.strip, TABLES.split(";")):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {VERSION}")
    db.execute("COMMIT")
