"""The index: one SQLite file that several processes may read and write at once.

The index is derived from files and may be lost. A damaged file is created again; where no file can
be written, the index stays in memory. Both add a notice. Readers see the index before or after a
transaction and never wait for it.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from openclaw.retrieval import database
from openclaw.retrieval.database import KnownFile
from openclaw.retrieval.index_writer import Writer
from openclaw.retrieval.snapshot import Snapshot, SnapshotCache
from openclaw.storage.safe_open import NotOrdinary, checked_database, make_folder, remove

BUSY_SECONDS = 5.0
# Reasons why the index cannot be written, by SQLite's error names. All other errors mean damage.
HINDRANCES = {
    "SQLITE_BUSY": "another process holds its file",
    "SQLITE_LOCKED": "another process holds its file",
    "SQLITE_FULL": "the disk is full",
    "SQLITE_READONLY": "its folder cannot be written",
    "SQLITE_CANTOPEN": "its folder cannot be written",
    "SQLITE_PERM": "its folder cannot be written",
    "SQLITE_IOERR": "its file cannot be read or written",
}
# Two seconds are the coarsest clock of a file system that is still in use (FAT).
STAMPS = """
SELECT path, CASE WHEN md5 <> '' AND recipe = ? AND read_at_ns BETWEEN
    coalesce(nullif(ctime_ns, 0), mtime_ns) + 2000000000 AND ? THEN size END,
    mtime_ns, ctime_ns, inode
FROM files WHERE changed > ?
"""
Stamped = tuple[int, ...] | None
_NO_STAMPS: tuple[int, int, str, dict[str, Stamped]] = (0, 0, "", {})


class IndexDeleted(sqlite3.OperationalError):
    """The file was deleted before a write; a new, empty one is open."""


class IndexStore:
    """The opened index file at `path`.

    busy_seconds  how long a writer waits for another one
    max_pages     limits the size; 0 is no limit
    notices       where lines for the user are added, each once
    """

    def __init__(
        self,
        path: Path,
        *,
        busy_seconds: float = BUSY_SECONDS,
        max_pages: int = 0,
        notices: list[str] | None = None,
    ) -> None:
        self.path = path
        self.notices = [] if notices is None else notices
        self.in_memory = False
        self._busy = busy_seconds
        self._max_pages = max_pages
        self._writing = threading.RLock()
        self._reading = threading.RLock()
        self._stamps = _NO_STAMPS
        self._snapshot: Snapshot | None = None
        self._cache: SnapshotCache | None = None
        self._identity: tuple[int, int] | None = None
        self._open()

    def files(self) -> dict[str, KnownFile]:
        self._reopened_when_deleted()
        return {row[1]: KnownFile._make(row) for row in self.query("SELECT * FROM files")}

    def stamps(self, recipe: str, now_ns: int) -> dict[str, Stamped]:
        """The stamp that each file had when it was read, by path. None for one to be read again:
        it could not be read, another recipe has read it, or it may have changed under the same
        stamp, as it was read within the clock tick of its last change, or the clock has been set
        back since. The caller must not change the dictionary."""
        self._reopened_when_deleted()
        with self._reading:
            revision = self._state("revision")
            before, then, made_by, stamps = self._stamps
            # Of a later revision when another version of the program has made the tables anew.
            if before > revision or made_by != recipe or now_ns < then:
                before, stamps = 0, {}
            if before != revision:
                # A row may be newer than the revision read before it, never older.
                stamps = stamps | self._changed_since(before, recipe, now_ns)
                if len(stamps) != self._reader.execute("SELECT count(*) FROM files").fetchone()[0]:
                    stamps = self._changed_since(0, recipe, now_ns)
            self._stamps = revision, now_ns, recipe, stamps
            return stamps

    def _changed_since(self, revision: int, *settled: str | int) -> dict[str, Stamped]:
        rows = self._reader.execute(STAMPS, (*settled, revision))
        return {row[0]: row[1:] if row[1] is not None else None for row in rows}

    def known(self, path: str) -> KnownFile | None:
        """One file as the index knows it now."""
        rows = self.query("SELECT * FROM files WHERE path = ?", (path,))
        return KnownFile._make(rows[0]) if rows else None

    def query(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a statement that only reads."""
        with self._reading:
            return self._reader.execute(statement, values).fetchall()

    def read_meta(self, key: str) -> str:
        """The text saved by `Writer.write_meta`, "" without one."""
        rows = self.query("SELECT value FROM meta WHERE key = ?", (key,))
        return str(rows[0][0]) if rows else ""

    @contextlib.contextmanager
    def write(self) -> Iterator[Writer]:
        """One transaction: readers see all of its changes or none.

        Raises sqlite3.Error, which the caller hands to `recover`; then nothing has changed.
        """
        with self._writing:
            if self._reopened_when_deleted():
                raise IndexDeleted("the index was deleted by another program")
            db = self._writer
            db.execute("BEGIN IMMEDIATE")
            try:
                writer = Writer(db)
                yield writer
                writer.finish()
                db.execute("COMMIT")
                if writer.visible:
                    with self._reading:
                        self._snapshot = None  # an open one would keep the log from being emptied
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    db.execute("ROLLBACK")
                raise

    def snapshot(self) -> Snapshot:
        """The index as it is now; the same object as long as nothing changes.

        Its methods raise sqlite3.Error when the file is damaged: then call `recover`, refresh, and
        take a new snapshot.
        """
        with self._reading:
            if self._snapshot and self._snapshot.generation == self._state("generation"):
                return self._snapshot
            self._cache = self._cache or SnapshotCache()
            self._snapshot = None
            self._snapshot = Snapshot(self._open_view(), self._cache)
            return self._snapshot

    def recover(self, error: OSError | sqlite3.Error) -> None:
        """Make the index usable again after an error: as a new file when it is damaged, else in
        memory."""
        if isinstance(error, IndexDeleted | sqlite3.ProgrammingError):
            return  # another thread has recovered already
        with self._writing, self._reading:
            if self.in_memory:
                self._to_memory("", seed=False)
            elif reason := _write_obstacle(error):
                self._to_memory(reason, seed=True)
            else:
                self._start_over()

    def close(self) -> None:
        """End all connections. The last process to do so tidies the write-ahead log."""
        with self._writing, self._reading:
            self._snapshot = None
            self._close_quietly()

    def _open(self) -> None:
        """Open the file; create it again when it is damaged; use memory when that fails too."""
        try:
            self._open_file()
        except (OSError, sqlite3.Error) as error:
            self.recover(error)

    def _open_file(self) -> None:
        self._identity = _identity(self.path)
        make_folder(self.path.parent)
        writer = database.connect(checked_database(self.path), self._busy, self._max_pages)
        try:
            self._identity = _identity(self.path)
            reader = database.connect_reader(self.path, self._busy)
        except BaseException:
            writer.close()
            raise
        self._use(writer, reader)

    def _use(self, writer: sqlite3.Connection, reader: sqlite3.Connection) -> None:
        self._writer, self._reader = writer, reader
        self._stamps, self._snapshot, self._cache = _NO_STAMPS, None, None

    def _start_over(self) -> None:
        """Delete the damaged file and make a new one, unless another process has done so."""
        self._close_quietly()
        self.notices.append("the memory index was damaged and is built again")
        try:
            if self._identity in (None, _identity(self.path)):
                # First the log, then the file: SQLite drops an old log next to an empty file.
                for suffix in ("-wal", "-shm", ""):
                    remove(self.path.with_name(self.path.name + suffix))
            self._open_file()
        except (OSError, sqlite3.Error) as error:
            self._to_memory(_write_obstacle(error) or "its file stays damaged", seed=False)

    def _to_memory(self, reason: str, *, seed: bool) -> None:
        """Continue in memory, with the rows that can still be read from the file."""
        memory = database.connect(":memory:", 0)
        if seed:
            try:
                if hasattr(self, "_reader"):
                    self._reader.backup(memory)
                else:
                    database.copy_unwritable(checked_database(self.path), memory)
            except (OSError, sqlite3.Error):
                memory.close()
                memory = database.connect(":memory:", 0)
        self._close_quietly()
        if reason:
            self.notices.append(f"the memory index is kept in memory only: {reason}")
        self.in_memory = True
        self._identity = None
        self._use(memory, memory)
        # One connection for both, so one lock for both.
        self._reading = self._writing

    def _close_quietly(self) -> None:
        for name in ("_reader", "_writer"):
            db = getattr(self, name, None)
            if db is not None:
                with contextlib.suppress(sqlite3.Error):
                    db.close()

    def _reopened_when_deleted(self) -> bool:
        """Open a new file when the index was deleted. Returns True when it was."""
        if self._identity is None or self._identity == _identity(self.path):
            return False
        with self._writing, self._reading:
            self._close_quietly()
            self._open()
        return True

    def _state(self, column: str) -> int:
        row = self._reader.execute(f"SELECT {column} FROM state").fetchone()  # noqa: S608
        if row is None:
            raise sqlite3.DatabaseError("the index has no state")
        return int(row[0])

    def _open_view(self) -> sqlite3.Connection:
        """A read-only connection for one snapshot."""
        if not self.in_memory:
            return database.connect_reader(self.path, self._busy)
        copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._reader.backup(copy)
        return copy


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _write_obstacle(error: Exception) -> str:
    """Why the index cannot be written, in words for the user; "" when it is damaged."""
    if isinstance(error, NotOrdinary):
        return str(error.strerror)
    if isinstance(error, OSError):
        return "its folder cannot be written"
    name = getattr(error, "sqlite_errorname", "")
    if name == "SQLITE_IOERR_SHORT_READ":
        return ""
    return next((told for prefix, told in HINDRANCES.items() if name.startswith(prefix)), "")
