"""Changes to the index, made within one transaction of `IndexStore.write`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from openclaw.retrieval import snapshot
from openclaw.retrieval.records import ORDINALS, KnownFile, Stamp
from openclaw.retrieval.snapshot import contexts_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from openclaw.retrieval.chunking import Chunk
    from openclaw.retrieval.snapshot import Postings


_LAST = ORDINALS - 1
_COLUMNS = "id, start_line, end_line, text, headings, date, label, struck"
_KEY = 0x7FFF_FFFF_FFFF_FFFF


@dataclass(frozen=True, slots=True)
class FileReading:
    """The state of a file when it was read."""

    path: str
    stamp: Stamp
    md5: str
    read_at_ns: int
    recipe: str
    problem: str = ""


def context_key(context: str) -> int:
    """A hash of a context in 63 bits, 0 for the empty one."""
    if not context:
        return 0
    digest = blake2b(context.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") & _KEY or 1


def node_ids(path: str, chunks: Sequence[Chunk]) -> list[int]:
    """A hash of 64 bits for each chunk, which stays when its lines only move: of path, headings,
    text, context, and the number of equal chunks before it."""
    seen: dict[tuple[tuple[str, ...], str, str], int] = {}
    ids = []
    for chunk in chunks:
        own = (chunk.headings, chunk.text, chunk.context)
        nth = seen[own] = seen.get(own, -1) + 1
        parts = json.dumps([path, *own, nth], ensure_ascii=False)
        digest = blake2b(parts.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        ids.append(int.from_bytes(digest, "little"))
    return ids


class Writer:
    """The statements of one transaction. Postings are written last and sorted: unsorted, they would
    take most of the time of a build.

    visible        searches may find something else afterwards
    lost_contexts  texts have left a file
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._postings: list[tuple[str, int, bytes]] = []
        self._waiting: set[int] = set()
        self.visible = False
        self.lost_contexts = False

    def known(self, paths: Iterable[str]) -> dict[str, KnownFile]:
        """The files as this transaction sees them: another process may have changed them."""
        select = "SELECT * FROM files WHERE path = ?"
        rows = (self._db.execute(select, (path,)).fetchone() for path in paths)
        return {row[1]: KnownFile._make(row) for row in rows if row}

    def put(
        self,
        reading: FileReading,
        chunks: Sequence[Chunk],
        postings: Postings,
        lengths: npt.NDArray[Any],
    ) -> None:
        """Add or update a file. Writes only rows that differ."""
        file, new = self._put_file_row(reading, len(chunks))
        old_terms = [] if new else self._terms_of(file)
        self._put_chunks(file, new, chunks)
        terms = snapshot.pack_postings(postings)
        self._put_postings(file, terms, old_terms)
        contexts = [context_key(chunk.context) for chunk in chunks]
        rows = snapshot.pack_rows(node_ids(reading.path, chunks), contexts, lengths)
        self._note_departed(file, new, rows)
        self._db.execute(
            "INSERT OR REPLACE INTO file_rows VALUES (?, ?, ?)",
            (file, rows, "\n".join(terms)),
        )
        self.visible = True

    def put_problem(self, reading: FileReading) -> None:
        """Note a file that gives no text, and remove its rows."""
        self._remove_rows(reading.path)
        self._put_file_row(reading, 0)

    def touch(self, known: KnownFile, reading: FileReading) -> None:
        """Note that the file was read again with the same text."""
        self._put_file_row(reading, known.chunks)
        self.visible = self.visible or known.mtime_ns != reading.stamp.mtime_ns

    def remove(self, path: str) -> None:
        """Remove a file."""
        self._remove_rows(path)
        self._db.execute("DELETE FROM files WHERE path = ?", (path,))

    def remember(self, key: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def changed(self) -> None:
        """Note that searches may find something else from now on."""
        self.visible = True

    def execute(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Run a statement of `vector_upkeep`."""
        return self._db.execute(statement, values)

    def finish(self) -> None:
        """Write the postings. The store calls this before it commits."""
        self._flush()
        self._db.execute(
            "UPDATE state SET revision = revision + 1, generation = generation + ?",
            (int(self.visible),),
        )

    def _flush(self) -> None:
        self._postings.sort()
        self._db.executemany("INSERT OR REPLACE INTO postings VALUES (?, ?, ?)", self._postings)
        self._postings.clear()
        self._waiting.clear()

    def _put_file_row(self, reading: FileReading, chunks: int) -> tuple[int, bool]:
        """Write a row of `files`. Returns (its id, True when it is new)."""
        values = (*reading.stamp, reading.md5, reading.read_at_ns, reading.recipe, reading.problem)
        row = self._db.execute("SELECT id FROM files WHERE path = ?", (reading.path,)).fetchone()
        if row:
            self._db.execute(
                "UPDATE files SET size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, md5 = ?, "
                "read_at_ns = ?, recipe = ?, problem = ?, chunks = ? WHERE id = ?",
                (*values, chunks, row[0]),
            )
            return int(row[0]), False
        cursor = self._db.execute(
            "INSERT INTO files VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (reading.path, *values, chunks),
        )
        return int(cursor.lastrowid or 0), True

    def _terms_of(self, file: int) -> list[str]:
        """The words that a file had."""
        if file in self._waiting:
            self._flush()
        row = self._db.execute("SELECT terms FROM file_rows WHERE file = ?", (file,)).fetchone()
        return str(row[0]).split("\n") if row else []

    def _put_chunks(self, file: int, new: bool, chunks: Sequence[Chunk]) -> None:
        first = file * ORDINALS
        rows = [_chunk_row(first + ordinal, chunk) for ordinal, chunk in enumerate(chunks)]
        if not new:
            span = (first, first + _LAST)
            select = f"SELECT {_COLUMNS} FROM chunks WHERE id BETWEEN ? AND ?"  # noqa: S608
            old = set(self._db.execute(select, span))
            rows = [row for row in rows if row not in old]
            after = (first + len(chunks), first + _LAST)
            self._db.execute("DELETE FROM chunks WHERE id BETWEEN ? AND ?", after)
        self._db.executemany("INSERT OR REPLACE INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def _put_postings(self, file: int, new: dict[str, bytes], old: Sequence[str]) -> None:
        self._delete_postings(file, [term for term in old if term not in new])
        select = "SELECT data FROM postings WHERE term = ? AND file = ?"
        same = set()
        for term in old:
            if term in new:
                row = self._db.execute(select, (term, file)).fetchone()
                if row and row[0] == new[term]:
                    same.add(term)
        self._waiting.add(file)
        self._postings += [(t, file, data) for t, data in new.items() if t not in same]

    def _delete_postings(self, file: int, terms: Iterable[str]) -> None:
        pairs = ((term, file) for term in terms)
        self._db.executemany("DELETE FROM postings WHERE term = ? AND file = ?", pairs)

    def _note_departed(self, file: int, new: bool, rows: bytes) -> None:
        """Note the contexts that leave a file; `vector_upkeep` keeps their vectors for a while."""
        if new:
            return
        row = self._db.execute("SELECT rows FROM file_rows WHERE file = ?", (file,)).fetchone()
        gone = contexts_of(row[0]) - contexts_of(rows) if row else set()
        self._depart(gone)

    def _depart(self, contexts: Iterable[int]) -> None:
        at = self._db.execute("SELECT revision FROM state").fetchone()[0]
        pairs = [(context, at) for context in contexts]
        self.lost_contexts = self.lost_contexts or bool(pairs)
        self._db.executemany("INSERT OR REPLACE INTO departed VALUES (?, ?)", pairs)

    def _remove_rows(self, path: str) -> None:
        """Delete all rows of a file except its row of `files`."""
        row = self._db.execute("SELECT id, chunks FROM files WHERE path = ?", (path,)).fetchone()
        if not row or not row[1]:
            return
        file = int(row[0])
        if file in self._waiting:
            self._flush()
        found = self._db.execute("SELECT rows, terms FROM file_rows WHERE file = ?", (file,))
        rows, terms = found.fetchone() or (b"", "")
        self._depart(contexts_of(rows))
        self._delete_postings(file, terms.split("\n"))
        first = file * ORDINALS
        self._db.execute("DELETE FROM chunks WHERE id BETWEEN ? AND ?", (first, first + _LAST))
        self._db.execute("DELETE FROM file_rows WHERE file = ?", (file,))
        self.visible = True


def _chunk_row(key: int, chunk: Chunk) -> tuple[int, int, int, str, str, str, str, int]:
    headings = json.dumps(chunk.headings, ensure_ascii=False) if chunk.headings else ""
    place = (chunk.start_line, chunk.end_line)
    return (key, *place, chunk.text, headings, chunk.date, chunk.label, int(chunk.struck))
