"""Changes to the index, made within one transaction of `IndexStore.write`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from openclaw.retrieval.database import DAY, DAY_TOLD, GROUP, ORDINALS, KnownFile, Stamp
from openclaw.retrieval.tokens import language_of, words

if TYPE_CHECKING:
    from openclaw.retrieval.chunking import Chunk


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


def context_key(*parts: str) -> int:
    """A hash of the parts of a context in 63 bits, 0 for none."""
    if not parts:
        return 0
    digest = blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") & _KEY or 1


def node_ids(path: str, chunks: Sequence[Chunk]) -> list[int]:
    """A hash of 64 bits for each chunk, which stays when its lines only move: of path, headings,
    text, context, and the number of equal chunks before it."""
    seen: dict[tuple[tuple[str, ...], str, tuple[str, ...]], int] = {}
    ids = []
    for chunk in chunks:
        own = (chunk.headings, chunk.text, chunk.parts)
        nth = seen[own] = seen.get(own, -1) + 1
        parts = json.dumps([path, *own, nth], ensure_ascii=False)
        digest = blake2b(parts.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        ids.append(int.from_bytes(digest, "little"))
    return ids


class Writer:
    """The statements of one transaction. Postings are written last and sorted: unsorted, they would
    take most of the time of a build.

    revision       the number of this transaction
    visible        searches may find something else afterwards
    lost_contexts  texts have left a file
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._postings: list[tuple[str, int, bytes]] = []
        self._waiting: set[int] = set()
        self.revision = int(db.execute("SELECT revision FROM state").fetchone()[0]) + 1
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
        terms = pack_postings(postings)
        self._put_postings(file, terms, old_terms)
        contexts = [context_key(*chunk.parts) for chunk in chunks]
        rows = pack_rows(node_ids(reading.path, chunks), contexts, lengths)
        self._note_departed(file, set(contexts))
        self._db.execute("INSERT OR REPLACE INTO file_rows VALUES (?, ?)", (file, rows))
        values = (file, "\n".join(terms))
        self._db.execute("INSERT OR REPLACE INTO file_terms VALUES (?, ?)", values)
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
        self._remove_rows(path)
        self._db.execute("DELETE FROM files WHERE path = ?", (path,))

    def write_meta(self, key: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def execute(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Run a statement of `vector_upkeep`."""
        return self._db.execute(statement, values)

    def finish(self) -> None:
        """Write the postings. The store calls this before it commits."""
        self._flush()
        self._db.execute(
            "UPDATE state SET revision = ?, generation = generation + ?",
            (self.revision, int(self.visible)),
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
                "read_at_ns = ?, recipe = ?, problem = ?, chunks = ?, changed = ? WHERE id = ?",
                (*values, chunks, self.revision, row[0]),
            )
            return int(row[0]), False
        cursor = self._db.execute(
            "INSERT INTO files VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (reading.path, *values, chunks, self.revision),
        )
        return int(cursor.lastrowid or 0), True

    def _terms_of(self, file: int) -> list[str]:
        if file in self._waiting:
            self._flush()
        row = self._db.execute("SELECT terms FROM file_terms WHERE file = ?", (file,)).fetchone()
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
        select = "SELECT term FROM postings WHERE term = ? AND file = ? AND data = ?"
        kept = ((term, file, new[term]) for term in old if term in new)
        same = {term for values in kept for (term,) in self._db.execute(select, values)}
        self._waiting.add(file)
        self._postings += [(t, file, data) for t, data in new.items() if t not in same]

    def _delete_postings(self, file: int, terms: Iterable[str]) -> None:
        pairs = ((term, file) for term in terms)
        self._db.executemany("DELETE FROM postings WHERE term = ? AND file = ?", pairs)

    def _note_departed(self, file: int, kept: Set[int] = frozenset()) -> None:
        """Note the contexts that leave a file; `vector_upkeep` keeps their vectors for a while."""
        row = self._db.execute("SELECT rows FROM file_rows WHERE file = ?", (file,)).fetchone()
        pairs = [(gone, self.revision) for gone in contexts_of(row[0]) - kept] if row else []
        self.lost_contexts = self.lost_contexts or bool(pairs)
        self._db.executemany("INSERT OR REPLACE INTO departed VALUES (?, ?)", pairs)

    def _remove_rows(self, path: str) -> None:
        """Delete all rows of a file except its row of `files`."""
        row = self._db.execute("SELECT id, chunks FROM files WHERE path = ?", (path,)).fetchone()
        if not row or not row[1]:
            return
        file = int(row[0])
        self._delete_postings(file, self._terms_of(file))
        self._note_departed(file)
        first = file * ORDINALS
        self._db.execute("DELETE FROM chunks WHERE id BETWEEN ? AND ?", (first, first + _LAST))
        for table in ("file_rows", "file_terms"):
            self._db.execute(f"DELETE FROM {table} WHERE file = ?", (file,))  # noqa: S608
        self.visible = True


def _chunk_row(key: int, chunk: Chunk) -> tuple[int, int, int, str, str, str, str, int]:
    headings = json.dumps(chunk.headings, ensure_ascii=False) if chunk.headings else ""
    place = (chunk.start_line, chunk.end_line)
    return (key, *place, chunk.text, headings, chunk.date, chunk.label, int(chunk.struck))


Posting = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]
Postings = Mapping[str, Posting]
MOST = 255
# `file_rows.rows`: the node's id, its context (0 for none), the words in the context.
ROW_TYPE = np.dtype([("node", "<u8"), ("context", "<i8"), ("length", "<u4")])


def pack_postings(postings: Postings) -> dict[str, bytes]:
    """Each word's ordinals and counts as `postings.data`."""
    if not postings:
        return {}
    pairs = list(postings.values())
    shifted = np.concatenate([ordinals for ordinals, _ in pairs]).astype(np.uint32) << 8
    counts = np.concatenate([counts for _, counts in pairs])
    packed = (shifted | np.clip(counts, 1, MOST).astype(np.uint32)).astype("<u4").tobytes()
    result, start = {}, 0
    for term, (ordinals, _) in postings.items():
        end = start + 4 * len(ordinals)
        result[term] = packed[start:end]
        start = end
    return result


def pack_rows(nodes: list[int], contexts: list[int], lengths: npt.NDArray[np.float32]) -> bytes:
    rows = np.empty(len(nodes), ROW_TYPE)
    rows["node"], rows["context"], rows["length"] = nodes, contexts, lengths
    return rows.tobytes()


def contexts_of(rows: bytes) -> set[int]:
    """The contexts of a file's chunks; chunks without one are left out."""
    found: set[int] = set(np.frombuffer(rows, ROW_TYPE)["context"].tolist())
    return found - {0}


OWN_WEIGHT = 2
_SAMPLE = 200


def postings(chunks: Sequence[Chunk]) -> tuple[dict[str, Posting], npt.NDArray[np.float32]]:
    """For each word: the chunks' ordinals (int32, ascending) and its counts in them (float32);
    and the lengths of all chunks (float32[n], words of the context).

    A word of the chunk's own line counts `OWN_WEIGHT` times, one of its headings and neighbours
    once. A piece of text that several chunks share is read once.
    """
    language = language_of(raw for chunk in chunks[:_SAMPLE] for raw in chunk.text.split())
    numbers: dict[str, int] = {}
    read: dict[str, npt.NDArray[np.int64]] = {}
    found: list[npt.NDArray[np.int64]] = []
    sizes = np.zeros(len(chunks), np.int64)
    for ordinal, chunk in enumerate(chunks):
        for at, part in enumerate(chunk.parts):
            ids = read.get(part)
            if ids is None:
                terms = words(part, language)
                ids = np.array([numbers.setdefault(t, len(numbers)) for t in terms], np.int64)
                read[part] = ids
            weight = 1 if at else OWN_WEIGHT
            found.extend([ids] * weight)
            sizes[ordinal] += len(ids) * weight
    return _by_word(found, sizes, list(numbers)) | _days(chunks), sizes.astype(np.float32)


def _days(chunks: Sequence[Chunk]) -> dict[str, Posting]:
    """The days of chunks and those that they tell of as words, which are not counted as the
    context's length."""
    found: dict[str, list[int]] = {}
    for ordinal, chunk in enumerate(chunks):
        for day in [DAY + chunk.date] * bool(chunk.date) + [DAY_TOLD + day for day in chunk.days]:
            found.setdefault(day, []).append(ordinal)
    return {
        word: (np.array(rows, np.int32), np.ones(len(rows), np.float32))
        for word, rows in found.items()
    }


def _by_word(
    found: list[npt.NDArray[np.int64]], sizes: npt.NDArray[np.int64], terms: list[str]
) -> dict[str, Posting]:
    """Word numbers in the order of the chunks, counted by word and chunk."""
    if not terms:
        return {}
    count = len(sizes)
    keys = np.concatenate(found) * count + np.repeat(np.arange(count), sizes)
    pairs, counts = np.unique(keys, return_counts=True)
    owners = (pairs % count).astype(np.int32)
    tfs = counts.astype(np.float32)
    ends = np.searchsorted(pairs // count, np.arange(len(terms)), side="right").tolist()
    starts = [0, *ends[:-1]]
    return {
        term: (owners[start:end], tfs[start:end])
        for term, start, end in zip(terms, starts, ends, strict=True)
    }


def add_vectors(
    execute: Callable[[str, Any], sqlite3.Cursor],
    embedder: int,
    contexts: npt.NDArray[np.int64],
    vectors: npt.NDArray[np.float16],
) -> list[int]:
    """Save vectors (float16[n, d]; d is 0 where only their list is kept). Returns the ids of their
    groups."""
    groups = []
    for start in range(0, len(contexts), GROUP):
        part = vectors[start : start + GROUP].astype("<f2")
        keys = contexts[start : start + GROUP].astype("<i8").tobytes()
        values = (embedder, keys, binary_codes(part).tobytes())
        group = execute("INSERT INTO vectors VALUES (NULL, ?, ?, ?)", values).lastrowid or 0
        for at, vector in enumerate(part if part.size else ()):
            execute(
                "INSERT INTO full_vectors VALUES (?, ?)", (group * GROUP + at, vector.tobytes())
            )
        groups.append(group)
    return groups


def binary_codes(vectors: npt.NDArray[np.floating]) -> npt.NDArray[np.uint64]:
    """One bit a dimension, 1 for a number above 0 (binary quantization): float[n, d] as
    uint64[n, ceil(d / 64)]."""
    bits = np.packbits(vectors > 0, axis=1)
    return np.pad(bits, ((0, 0), (0, -bits.shape[1] % 8))).view("<u8")
