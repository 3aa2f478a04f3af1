"""The index at one moment, as a search reads it."""

from __future__ import annotations

import json
import sqlite3
import threading
import weakref
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from openclaw.errors import ModelFailed
from openclaw.retrieval.chunking import Chunk
from openclaw.retrieval.records import ORDINALS, IndexedFile, StoredChunk
from openclaw.retrieval.tokens import language_of, words

if TYPE_CHECKING:
    from openclaw.retrieval.embedders import Embedder


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

    def files(self) -> Iterator[IndexedFile]:
        """The files that have chunks, in the order of their rows."""
        for (key, path, mtime_ns, count), first in zip(self._paths, self._starts, strict=True):
            yield IndexedFile(key, path, mtime_ns, int(first), count)

    def postings(self, term: str) -> tuple[Rows, Floats]:
        """The rows (int64[n], ascending) whose context has a word, and how often (float32[n])."""
        return self._read_postings(term, term)

    def words_like(self, beginning: str) -> list[str]:
        """The words of the index that begin so."""
        select = "SELECT DISTINCT term FROM postings WHERE term BETWEEN ? AND ?"
        with self._lock:
            found = self._db.execute(select, (beginning, beginning + "\U0010ffff"))
            return [term for (term,) in found]

    def telling_of(self, first: str, last: str) -> Rows:
        """The rows that tell of one of these ISO days, the last one included."""
        return np.unique(self._read_postings(DAY + first, DAY + last)[0])

    def _read_postings(self, first: str, last: str) -> tuple[Rows, Floats]:
        """The postings of all words from the first to the last."""
        select = "SELECT file, data FROM postings WHERE term BETWEEN ? AND ? ORDER BY term, file"
        with self._lock:
            found = self._db.execute(select, (first, last)).fetchall()
        if not found:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        files, blobs = zip(*found, strict=True)
        starts = self._start_of(np.array(files, np.int64))
        sizes = np.fromiter(map(len, blobs), np.int64, len(blobs)) >> 2
        packed = np.frombuffer(b"".join(blobs), "<u4")
        rows = np.repeat(starts, sizes) + (packed >> 8)
        return rows, (packed & 255).astype(np.float32)

    def vectors(self, embedder: str) -> tuple[Matrix, Places]:
        """float16[m, d] of unit vectors (d is 0 when the embedder has given none yet), and
        int64[count]: the place of each row's vector there, or -1."""
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
        """Read the columns that all searches need: about 20 bytes a chunk."""
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
        if (at >= len(self._files)).any() or not np.array_equal(self._files[at], files):
            raise sqlite3.DatabaseError("postings of a file that is not in the index")
        starts: Rows = self._starts[at]
        return starts


class SnapshotView:
    """A snapshot for one search, which reads each row and each word once.

    `allowed` narrows the search to those rows (bool[count]); None allows all.
    """

    def __init__(self, snapshot: Snapshot, allowed: Mask | None = None) -> None:
        self.snapshot = snapshot
        self.allowed = allowed
        self._chunks: dict[int, StoredChunk] = {}
        self._rows: dict[str, int] = {}
        self._postings: dict[str, tuple[Rows, Floats]] = {}

    def postings(self, word: str) -> tuple[Rows, Floats]:
        """The rows that hold a word (int64[n]) and how often (float32[n])."""
        if word not in self._postings:
            self._postings[word] = self.snapshot.postings(word)
        return self._postings[word]

    def chunks(self, rows: Sequence[int]) -> list[StoredChunk]:
        """The chunks of these rows, in the order asked for."""
        missing = [row for row in rows if row not in self._chunks]
        for chunk in self.snapshot.rows(missing) if missing else ():
            self._chunks[chunk.row] = chunk
            self._rows[chunk.node_id] = chunk.row
        return [self._chunks[row] for row in rows]

    def rows_of(self, spans: Sequence[tuple[str, str]]) -> Rows:
        """The rows (int64[n]) of one of the spans of ISO days, ends included, and those that tell
        of one."""
        if not spans:
            return np.empty(0, np.int64)
        days = np.array(self.snapshot.dates(), dtype="U10")
        within = np.any([(first <= days) & (days <= last) for first, last in spans], axis=0)
        for first, last in spans:
            within[self.snapshot.telling_of(first, last)] = True
        if self.allowed is not None:
            within &= self.allowed
        return np.flatnonzero(within)

    def row_of(self, node_id: str) -> int | None:
        """The row of a node, None when there is none (any more)."""
        row = self._rows.get(node_id)
        return self.snapshot.row_of(node_id) if row is None else row


def allowed_rows(
    snapshot: Snapshot,
    prefix: str = "",
    since: str = "",
    skip: Collection[str] = (),
    only: Collection[str] = (),
) -> Mask | None:
    """The rows (bool[count]) that a search may use; None when all are allowed.

    prefix  the beginning of the file's path
    since   the first day (ISO); the day of a row is its own date, else its file's last change
    skip    files to leave out
    only    when not empty, the only files to search
    """
    if not (prefix or since or skip or only):
        return None
    mask = np.zeros(snapshot.count, np.bool_)
    for file in snapshot.files():
        wanted = file.path not in skip and (not only or file.path in only)
        if wanted and file.path.startswith(prefix):
            mask[file.first_row : file.first_row + file.count] = True
    if since:
        mask &= _since(snapshot, since)
    return mask


def _since(snapshot: Snapshot, day: str) -> Mask:
    dates = np.array(snapshot.dates(), dtype="U10")
    recent = dates >= day
    midnight = datetime.combine(date.fromisoformat(day), datetime.min.time())
    start_ns = int(midnight.timestamp()) * 1_000_000_000
    for file in snapshot.files():
        rows = slice(file.first_row, file.first_row + file.count)
        if file.mtime_ns >= start_ns:
            recent[rows] |= dates[rows] == ""
    return recent


Mask = npt.NDArray[np.bool_]

# OpenBLAS uses several threads for a larger product, which costs 40 ms instead of 1 ms when the
# other core is busy (measured, 2 cores). Half a MiB also stays in the cache.
BLOCK_NUMBERS = 300_000
SAMPLE, FEWEST = 200, 30
_SIGN_AND_REST = np.int32(-0x70002000)  # 0x8FFFE000: what is a number's own after the shift
_SCALE = np.float32(2.0**112)


def products(matrix: npt.NDArray[np.float16], vector: Floats) -> Floats:
    """`matrix` (float16[n, d]) times `vector` (float32[d]) as float32[n], summed in float32.

    The bits of a float16, shifted to their place in a float32, are the number times 2^-112. So the
    vector is scaled up instead: exact for all finite numbers, and five times faster than numpy's
    conversion (100,000 x 384: 10 ms instead of 54).
    """
    count, width = matrix.shape
    result = np.empty(count, np.float32)
    if not count or not width:
        result[:] = 0.0
        return result
    bits = np.ascontiguousarray(matrix).view(np.int16)
    scaled = vector * _SCALE
    step = max(1, BLOCK_NUMBERS // width)
    buffer = np.empty((min(step, count), width), np.int32)
    for start in range(0, count, step):
        block = bits[start : start + step]
        wide = buffer[: len(block)]
        np.copyto(wide, block)
        np.left_shift(wide, 13, out=wide)
        np.bitwise_and(wide, _SIGN_AND_REST, out=wide)
        np.dot(wide.view(np.float32), scaled, out=result[start : start + len(block)])
    return result


def best(scores: Floats, most: int, allowed: Mask | None = None) -> Rows:
    """The positions of the `most` highest scores, best first; equal scores in their order."""
    positions = np.arange(len(scores)) if allowed is None else np.flatnonzero(allowed)
    if not len(positions) or most <= 0:
        return np.empty(0, np.int64)
    if len(positions) > most:
        part = np.argpartition(scores[positions], -most)[-most:]
        positions = np.sort(positions[part])
    return positions[np.argsort(-scores[positions], kind="stable")].astype(np.int64)


def question_vector(embedder: Embedder, text: str) -> Floats:
    """The question as a vector of length 1. Raises ModelFailed when the vector is unusable."""
    return usable(np.asarray(embedder.query(text), dtype=np.float32), embedder.name)


def usable(vector: Floats, name: str) -> Floats:
    """The vector at length 1, or ModelFailed when it is empty, zero or not finite."""
    length = float(np.linalg.norm(vector)) if vector.ndim == 1 and vector.size else 0.0
    if not length or not np.isfinite(length):
        raise ModelFailed(
            f"{name} gave an unusable vector",
            "choose another model with `embedding` in openclaw.yaml",
        )
    return (vector / np.float32(length)).astype(np.float32)


def usual_cosine(snapshot: Snapshot, embedder: Embedder, vector: Floats) -> float | None:
    """The median cosine of a unit vector and `SAMPLE` stored ones; None when fewer than `FEWEST`
    are stored, or they have another length."""
    held, places = snapshot.vectors(embedder.name)
    places = places[places >= 0]  # vectors of former texts are kept too
    if len(places) < FEWEST or len(vector) != held.shape[1]:
        return None
    sample = places[:: -(-len(places) // SAMPLE)]
    return float(np.median(products(held[sample], vector)))


def cosines(snapshot: Snapshot, name: str, vector: Floats) -> tuple[Floats, Mask]:
    """The cosine of a unit vector and each row (float32[count], 0 for a row without a vector), and
    which rows have one. Raises ModelFailed when the stored vectors have another length."""
    held, places = snapshot.vectors(name)
    known = places >= 0
    if not len(held):
        return np.zeros(len(places), np.float32), known
    if len(vector) != held.shape[1]:
        raise ModelFailed(
            f"{name} gives {len(vector)} numbers a text, the index holds {held.shape[1]}",
            "build it again: openclaw memory reindex",
        )
    return np.where(known, products(held, vector)[places], np.float32(0)), known


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
        # The last of several equal contexts: it was added last.
        at = np.searchsorted(held, contexts, side="right", sorter=order) - 1
        places = order[np.maximum(at, 0)]
        return self._matrix[: self._used], np.where(held[places] == contexts, places, -1)

    def _new_count(self, db: sqlite3.Connection) -> int:
        select = "SELECT coalesce(sum(length(contexts)), 0) FROM vectors WHERE embedder=? AND id>?"
        return int(db.execute(select, (self._embedder, self._last)).fetchone()[0]) // 8

    def _is_wasteful(self, db: sqlite3.Connection) -> bool:
        """Return True when more than a third of the vectors here have left the index."""
        if self._used < 1000:
            return False
        select = "SELECT coalesce(sum(length(contexts)), 0) FROM vectors WHERE embedder = ?"
        held = int(db.execute(select, (self._embedder,)).fetchone()[0]) // 8
        return self._used + self._new_count(db) > 1.5 * held

    def _reserve(self, more: int) -> None:
        """Enlarge the matrix when needed. Earlier snapshots keep the old matrix."""
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


# `file_rows.rows`: the node's id, its context (0 for none), the words in the context.
ROW_TYPE = np.dtype([("node", "<u8"), ("context", "<i8"), ("length", "<u4")])
Postings = Mapping[str, tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]]
MOST = 255


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
DAY = "@"  # begins the word for a day that a chunk tells of; no word of a text begins so
_SAMPLE = 200

Posting = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]


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
        for at, part in enumerate(chunk.parts or ((chunk.context,) if chunk.context else ())):
            ids = read.get(part)
            if ids is None:
                terms = words(part, language)
                ids = np.array([numbers.setdefault(t, len(numbers)) for t in terms], np.int64)
                read[part] = ids
            weight = 1 if at else OWN_WEIGHT
            found.extend([ids] * weight)
            sizes[ordinal] += len(ids) * weight
    return _by_word(found, sizes, list(numbers)) | _days_told(chunks), sizes.astype(np.float32)


def _days_told(chunks: Sequence[Chunk]) -> dict[str, Posting]:
    """The days that chunks tell of as words, which are not counted as the context's length."""
    found: dict[str, list[int]] = {}
    for ordinal, chunk in enumerate(chunks):
        for day in chunk.days:
            found.setdefault(DAY + day, []).append(ordinal)
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
