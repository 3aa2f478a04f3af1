"""The index at one moment, as a search reads it. Imports numpy: import this module only lazily."""

from __future__ import annotations

import json
import sqlite3
import threading
import weakref
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from openclaw.retrieval.matrix import Matrix, Places, VectorCache
from openclaw.retrieval.packing import ROW_TYPE
from openclaw.retrieval.records import ORDINALS, IndexedFile, StoredChunk

Rows = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


class Snapshot:
    """One read transaction. Row r is the r-th chunk in the order of files and of lines in them.

    Many threads may use it. It ends with its last user, or with `close`.
    """

    def __init__(self, db: sqlite3.Connection, vectors: VectorCache) -> None:
        self._db = db
        # Not __del__: in a ring of garbage the connection could go first, and Python would warn.
        weakref.finalize(self, db.close).atexit = False
        self._vectors = vectors
        self._lock = threading.RLock()
        self._matrix: dict[str, tuple[Matrix, Places]] = {}
        self._known: dict[str, npt.NDArray[np.bool_]] = {}
        db.execute("BEGIN")
        self.generation = int(db.execute("SELECT generation FROM state").fetchone()[0])
        self._read_files()

    def close(self) -> None:
        """End the transaction; nothing can be read any more."""
        with self._lock:
            self._db.close()

    @property
    def count(self) -> int:
        """How many chunks there are."""
        return len(self._table)

    @property
    def lengths(self) -> Floats:
        """float32[count]: words of each chunk's context."""
        return self._lengths

    @property
    def mean_length(self) -> float:
        return float(self._lengths.mean()) if self.count else 0.0

    def files(self) -> Iterator[IndexedFile]:
        """The files that have chunks, in the order of their rows."""
        for (key, path, mtime_ns, count), first in zip(self._paths, self._starts, strict=True):
            yield IndexedFile(key, path, mtime_ns, int(first), count)

    def postings(self, term: str) -> tuple[Rows, Floats]:
        """The rows (int64[n], ascending) whose context has a word, and how often (float32[n])."""
        select = (
            "SELECT file, data FROM postings WHERE term = (SELECT id FROM terms WHERE term = ?)"
        )
        with self._lock:
            found = self._db.execute(select, (term,)).fetchall()
        if not found:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        files, blobs = zip(*found, strict=True)
        starts = self._start_of(np.array(files, np.int64))
        sizes = np.fromiter(map(len, blobs), np.int64, len(blobs)) >> 2
        packed = np.frombuffer(b"".join(blobs), "<u4")
        rows = np.repeat(starts, sizes) + (packed >> 8)
        return rows, (packed & 255).astype(np.float32)

    def matrix(self, embedder: str) -> tuple[Matrix, npt.NDArray[np.bool_]]:
        """float16[count, d] of unit vectors, and bool[count]: which rows have one. d is 0 when the
        embedder has given none yet."""
        held, places = self.vectors(embedder)
        known = places >= 0
        if len(held) == self.count and np.array_equal(places, np.arange(self.count)):
            return held, known
        if not len(held):
            return np.zeros((self.count, held.shape[1]), np.float16), known
        matrix = held[np.maximum(places, 0)]
        matrix[~known] = 0
        return matrix, known

    def vectors(self, embedder: str) -> tuple[Matrix, Places]:
        """The same without copying: float16[m, d], and int64[count] with each row's place or -1."""
        with self._lock:
            if embedder not in self._matrix:
                self._matrix[embedder] = self._vectors.find(self._db, embedder, self.contexts)
            return self._matrix[embedder]

    def known(self, embedder: str) -> npt.NDArray[np.bool_]:
        """bool[count]: which rows have a vector; the vectors themselves are not read."""
        with self._lock:
            if embedder in self._matrix:
                return self._matrix[embedder][1] >= 0
            if embedder not in self._known:
                select = (
                    "SELECT contexts FROM vectors "
                    "WHERE embedder = (SELECT id FROM embedders WHERE name = ?)"
                )
                found = b"".join(row[0] for row in self._db.execute(select, (embedder,)))
                self._known[embedder] = np.isin(self.contexts, np.frombuffer(found, "<i8"))
            return self._known[embedder]

    @property
    def contexts(self) -> npt.NDArray[np.int64]:
        """int64[count]: what stands for each chunk's context, 0 for an empty one."""
        contexts: npt.NDArray[np.int64] = self._table["context"]
        return contexts

    def rows(self, rows: Sequence[int]) -> list[StoredChunk]:
        """The chunks of these rows, in the order asked for."""
        return [self._chunk(int(row)) for row in rows]

    def dates(self) -> list[str]:
        """The ISO day of each chunk, "" where it has none."""
        with self._lock:
            return [row[0] for row in self._db.execute("SELECT date FROM chunks ORDER BY id")]

    def node_ids(self) -> list[str]:
        """The node id of each chunk."""
        return [f"{node:016x}" for node in self._table["node"].tolist()]

    def row_of(self, node_id: str) -> int | None:
        """The row of a chunk, None when there is none (any more)."""
        try:
            found = np.flatnonzero(self._table["node"] == np.uint64(int(node_id, 16)))
        except (ValueError, OverflowError):
            return None
        return int(found[0]) if len(found) else None

    def _chunk(self, row: int) -> StoredChunk:
        if not 0 <= row < self.count:
            raise IndexError(row)
        at = int(np.searchsorted(self._starts, row, side="right")) - 1
        file, path, mtime_ns, _ = self._paths[at]
        key = file * ORDINALS + row - int(self._starts[at])
        with self._lock:
            found = self._db.execute("SELECT * FROM chunks WHERE id = ?", (key,)).fetchone()
        if found is None:
            raise sqlite3.DatabaseError("a chunk is missing in the index")
        _, start, end, text, headings, date, label, struck = found
        try:
            above = tuple(json.loads(headings)) if headings else ()
        except ValueError as error:
            raise sqlite3.DatabaseError("headings that cannot be read") from error
        node = f"{int(self._table['node'][row]):016x}"
        line = (row, node, path, start, end, text, above, date, label)
        return StoredChunk(*line, struck=bool(struck), mtime_ns=mtime_ns)

    def _read_files(self) -> None:
        """What all searches need: about 20 bytes a chunk."""
        select = (
            "SELECT id, path, mtime_ns, chunks, rows FROM files JOIN file_rows ON file = id "
            "WHERE chunks > 0 ORDER BY id"
        )
        found = self._db.execute(select).fetchall()
        self._paths = [row[:4] for row in found]
        counts = np.array([row[3] for row in found], np.int64)
        try:
            self._table = np.frombuffer(b"".join(row[4] for row in found), ROW_TYPE)
        except ValueError as error:
            raise sqlite3.DatabaseError("rows of the wrong size") from error
        if len(self._table) != counts.sum():
            raise sqlite3.DatabaseError("rows are missing in the index")
        self._lengths = self._table["length"].astype(np.float32)
        self._files = np.array([row[0] for row in found], np.int64)
        self._starts = np.concatenate([[0], np.cumsum(counts)[:-1]]) if found else counts

    def _start_of(self, files: Rows) -> Rows:
        """The first row of each of these files."""
        at = np.searchsorted(self._files, files)
        if len(at) and (at[-1] >= len(self._files) or not np.array_equal(self._files[at], files)):
            raise sqlite3.DatabaseError("postings of a file that is not in the index")
        starts: Rows = self._starts[at]
        return starts
