"""The vector store that the settings may name, as a copy of the vectors in the index.

The index keeps all vectors itself. So an engine that cannot be reached, is held by another process
or was emptied costs a notice, never an answer; `docs/memory.md` says when an engine pays.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from openclaw.errors import OpenclawError
from openclaw.storage.safe_open import checked_database, make_folder, remove

if TYPE_CHECKING:
    from openclaw.retrieval.embedders import Embedder
    from openclaw.retrieval.llamaindex import VectorSource
    from openclaw.retrieval.snapshot import SnapshotView

# An engine is not asked again for this long after a failure.
REST_SECONDS = 30.0


class VectorEngine(Protocol):
    """A vector store that follows the index."""

    def vectors(
        self, view: SnapshotView, embedder: Embedder, *, patient: bool = False
    ) -> VectorSource:
        """Bring the store up to date with the view's vectors, and return it for a search. Raises
        whatever the store raises, and OpenclawError when this would take long and the caller is
        not `patient`: the next call goes on."""
        ...

    def close(self) -> None: ...


class LazyEngine:
    """An engine that is opened at first use, closed after a failure, and opened again later.
    Several threads may use it; one at a time asks the engine for its source."""

    def __init__(
        self, make: Callable[[], VectorEngine] | None, rest_seconds: float = REST_SECONDS
    ) -> None:
        self._make, self._rest_seconds = make, rest_seconds
        self._engine: VectorEngine | None = None
        self._lock = threading.RLock()
        self._rest_until = 0.0

    @property
    def is_ready(self) -> bool:
        """Return True when there is an engine that did not fail a moment ago."""
        return self._make is not None and time.monotonic() >= self._rest_until

    def vectors(
        self, view: SnapshotView, embedder: Embedder, *, patient: bool = False
    ) -> VectorSource:
        """See `VectorEngine.vectors`. Call it only when `is_ready`."""
        with self._lock:
            if self._engine is None:
                if self._make is None:
                    raise LookupError("no engine is set")
                self._engine = self._make()
            return self._engine.vectors(view, embedder, patient=patient)

    def failed(self) -> None:
        """Close the engine; it is opened again after `rest_seconds`."""
        self._rest_until = time.monotonic() + self._rest_seconds
        self.close()

    def close(self) -> None:
        with self._lock:
            engine, self._engine = self._engine, None
            if engine:
                with contextlib.suppress(Exception):
                    engine.close()


TABLES = """
CREATE TABLE IF NOT EXISTS state (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sent (node TEXT PRIMARY KEY, arrived INTEGER) WITHOUT ROWID;
"""


class SentVectors:
    """The list of the nodes in one engine. A node is noted before it is sent and marked when it has
    arrived, so that the nodes that a killed process left in the engine are known.

    A damaged file is created again, and the engine then filled again. All methods raise
    OpenclawError when the file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        with _translate_errors():
            make_folder(path.parent)
            try:
                self._db = _open(path)
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError):
                    raise
                remove(path)
                self._db = _open(path)

    def state(self, key: str) -> str:
        with _translate_errors():
            row = self._db.execute("SELECT value FROM state WHERE key = ?", (key,)).fetchone()
            return str(row[0]) if row else ""

    def set_state(self, **values: str) -> None:
        with _translate_errors(), self._db:
            self._db.executemany("INSERT OR REPLACE INTO state VALUES (?, ?)", values.items())

    def nodes(self) -> dict[str, bool]:
        """All node ids that may be in the engine; True for those that have surely arrived."""
        with _translate_errors():
            return {node: bool(done) for node, done in self._db.execute("SELECT * FROM sent")}

    def sending(self, nodes: Iterable[str]) -> None:
        self._put(nodes, arrived=False)

    def arrived(self, nodes: Iterable[str]) -> None:
        self._put(nodes, arrived=True)

    def gone(self, nodes: Iterable[str]) -> None:
        with _translate_errors(), self._db:
            self._db.executemany("DELETE FROM sent WHERE node = ?", ((node,) for node in nodes))

    def clear(self) -> None:
        with _translate_errors(), self._db:
            self._db.execute("DELETE FROM sent")
            self._db.execute("DELETE FROM state")

    def close(self) -> None:
        self._db.close()

    def _put(self, nodes: Iterable[str], *, arrived: bool) -> None:
        with _translate_errors(), self._db:
            rows = ((node, int(arrived)) for node in nodes)
            self._db.executemany("INSERT OR REPLACE INTO sent VALUES (?, ?)", rows)


def _open(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(checked_database(path), timeout=5.0, check_same_thread=False)
    try:
        db.executescript(TABLES)
    except BaseException:
        db.close()
        raise
    return db


@contextlib.contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise OpenclawError(f"the list of what it was sent cannot be used: {error}") from error
