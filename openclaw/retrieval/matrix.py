"""Vectors in memory, read once and then only what is new. Imports numpy: import only lazily."""

from __future__ import annotations

import sqlite3
import threading

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float16]
Places = npt.NDArray[np.int64]


class VectorCache:
    """The vectors of one embedder by context, shared by the snapshots of a store."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forget(0, 0)

    def find(
        self, db: sqlite3.Connection, name: str, contexts: npt.NDArray[np.int64]
    ) -> tuple[Matrix, Places]:
        """The matrix of all vectors of `name`, and for each context its row there, or -1."""
        with self._lock:
            self._load(db, name)
            return self._places(contexts)

    def _forget(self, embedder: int, width: int) -> None:
        self._embedder = embedder
        self._last = 0
        self._used = 0
        self._matrix: Matrix = np.empty((0, width), np.float16)
        self._contexts: list[npt.NDArray[np.int64]] = []

    def _load(self, db: sqlite3.Connection, name: str) -> None:
        """Read the vectors that were added since the last call."""
        row = db.execute("SELECT id, width FROM embedders WHERE name = ?", (name,)).fetchone()
        embedder, width = row or (0, 0)
        if embedder != self._embedder or width != self._matrix.shape[1] or self._is_wasteful(db):
            self._forget(embedder, width)
        if not embedder:
            return
        self._reserve(self._new_count(db))
        select = "SELECT id, contexts, data FROM vectors WHERE embedder = ? AND id > ? ORDER BY id"
        for key, contexts, data in db.execute(select, (embedder, self._last)):
            self._append(contexts, data)
            self._last = key

    def _places(self, contexts: npt.NDArray[np.int64]) -> tuple[Matrix, Places]:
        if not self._contexts:
            return self._matrix[:0], np.full(len(contexts), -1, np.int64)
        if len(self._contexts) > 1:
            self._contexts = [np.concatenate(self._contexts)]
        held = self._contexts[0]
        order = np.argsort(held, kind="stable")
        # The last of several equal ones, as it was added last.
        at = np.searchsorted(held, contexts, side="right", sorter=order) - 1
        places = order[np.maximum(at, 0)]
        return self._matrix[: self._used], np.where(held[places] == contexts, places, -1)

    def _new_count(self, db: sqlite3.Connection) -> int:
        select = "SELECT coalesce(sum(length(contexts)), 0) FROM vectors WHERE embedder=? AND id>?"
        return int(db.execute(select, (self._embedder, self._last)).fetchone()[0]) // 8

    def _is_wasteful(self, db: sqlite3.Connection) -> bool:
        """More than a third of what is held has been taken out of the index since."""
        if self._used < 1000:
            return False
        select = "SELECT coalesce(sum(length(contexts)), 0) FROM vectors WHERE embedder = ?"
        held = int(db.execute(select, (self._embedder,)).fetchone()[0]) // 8
        return self._used + self._new_count(db) > 1.5 * held

    def _reserve(self, more: int) -> None:
        """Make room. Snapshots go on with the old matrix when a new one is made."""
        need = self._used + more
        if need <= len(self._matrix):
            return
        room = need + need // (8 if self._used else 50)
        grown = np.empty((room, self._matrix.shape[1]), np.float16)
        grown[: self._used] = self._matrix[: self._used]
        self._matrix = grown

    def _append(self, contexts: bytes, data: bytes) -> None:
        keys = np.frombuffer(contexts, "<i8").astype(np.int64)
        try:
            block = np.frombuffer(data, "<f2").reshape(len(keys), self._matrix.shape[1])
            self._matrix[self._used : self._used + len(keys)] = block
        except ValueError as error:
            raise sqlite3.DatabaseError("vectors of the wrong size") from error
        self._used += len(keys)
        self._contexts.append(keys)
