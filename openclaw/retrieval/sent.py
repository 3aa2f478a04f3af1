"""What an engine was sent: a list of node ids in a small SQLite file beside the index."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

from openclaw.errors import OpenclawError
from openclaw.files.beneath import checked_database, make_folder, remove

TABLES = """
CREATE TABLE IF NOT EXISTS state (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sent (node TEXT PRIMARY KEY, arrived INTEGER) WITHOUT ROWID;
"""


class Sent:
    """The list of one engine. A node is noted before it is sent and marked when it has arrived, so
    that whatever a killed process left in the engine is known.

    A damaged file is made anew, and the engine is then filled anew. All methods raise OpenclawError
    when the file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        with _told():
            make_folder(path.parent)
            try:
                self._db = _open(path)
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError):
                    raise
                remove(path)
                self._db = _open(path)

    def state(self, key: str) -> str:
        with _told():
            row = self._db.execute("SELECT value FROM state WHERE key = ?", (key,)).fetchone()
            return str(row[0]) if row else ""

    def set_state(self, **values: str) -> None:
        with _told(), self._db:
            self._db.executemany("INSERT OR REPLACE INTO state VALUES (?, ?)", values.items())

    def nodes(self) -> dict[str, bool]:
        """All node ids that may be in the engine, and whether each has surely arrived."""
        with _told():
            return {node: bool(done) for node, done in self._db.execute("SELECT * FROM sent")}

    def sending(self, nodes: Iterable[str]) -> None:
        self._put(nodes, arrived=False)

    def arrived(self, nodes: Iterable[str]) -> None:
        self._put(nodes, arrived=True)

    def gone(self, nodes: Iterable[str]) -> None:
        with _told(), self._db:
            self._db.executemany("DELETE FROM sent WHERE node = ?", ((node,) for node in nodes))

    def clear(self) -> None:
        with _told(), self._db:
            self._db.execute("DELETE FROM sent")
            self._db.execute("DELETE FROM state")

    def close(self) -> None:
        self._db.close()

    def _put(self, nodes: Iterable[str], *, arrived: bool) -> None:
        with _told(), self._db:
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
def _told() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise OpenclawError(f"the list of what it was sent cannot be used: {error}") from error
