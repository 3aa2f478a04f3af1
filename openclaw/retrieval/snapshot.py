"""The index at one moment, as a search reads it."""

from __future__ import annotations

import json
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from datetime import date, datetime
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from openclaw.errors import ModelFailed
from openclaw.retrieval.chunking import DAY_OF_YEAR
from openclaw.retrieval.database import DAY, DAY_TOLD, GROUP, ORDINALS, StoredChunk
from openclaw.retrieval.index_writer import ROW_TYPE, binary_codes
from openclaw.retrieval.minilm import TAKE_ANOTHER

if TYPE_CHECKING:
    from openclaw.retrieval.embedder_choice import Embedder
    from openclaw.retrieval.question import Query


Rows = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Counts = npt.NDArray[np.uint8]


class Snapshot:
    """One read transaction. Row r is the r-th chunk in the order of files and of lines in them.

    Many threads may use it. It ends with its last user.

    paths, mtimes  of each file: its path, and int64[files], its last change in nanoseconds
    contexts       int64[count]: what stands for each chunk's context, 0 for an empty one
    lengths        float32[count]: words of each chunk's context
    """

    def __init__(self, db: sqlite3.Connection, cache: SnapshotCache) -> None:
        self._db = db
        # Not __del__: in a ring of garbage the connection could go first, and Python would warn.
        weakref.finalize(self, db.close).atexit = False
        self._cache = cache
        self._lock = threading.RLock()
        self._vectors: dict[str, Vectors] = {}
        db.execute("BEGIN")
        select = "SELECT generation, revision FROM state"
        self.generation, revision = map(int, db.execute(select).fetchone())
        rows = cache.read_rows(db, revision)
        self.paths, self.mtimes, self._files, self._starts = rows[1:5]
        self.contexts, self.lengths = rows.contexts, rows.lengths

    @property
    def count(self) -> int:
        return len(self.contexts)

    def rows_of_files(self, wanted: Mask) -> Mask:
        """The rows (bool[count]) of the files (bool[files])."""
        return np.repeat(wanted, np.diff(self._starts, append=self.count))

    def by_file(self, rows: Rows) -> list[tuple[str, Rows]]:
        """These rows (ascending) of each file that has some of them, by the files' paths."""
        files = np.searchsorted(self._starts, rows, side="right") - 1
        found, begin = np.unique(files, return_index=True)
        parts = np.split(rows, begin[1:])
        return [(self.paths[at], part) for at, part in zip(found, parts, strict=False)]

    def postings(self, term: str) -> tuple[Rows, Counts]:
        """The rows (int64[n], ascending) whose context has a word, and how often (uint8[n])."""
        return self._read_postings(term, term)

    def words_like(self, beginning: str) -> list[str]:
        """The words of the index that begin so."""
        select = "SELECT DISTINCT term FROM postings WHERE term BETWEEN ? AND ?"
        with self._lock:
            found = self._db.execute(select, (beginning, beginning + "\U0010ffff"))
            return [term for (term,) in found]

    def dated(self, first: str, last: str, mark: str = DAY) -> Rows:
        """The rows of one of these ISO days, the last one included; with `DAY_TOLD` those that tell
        of one, which may come twice."""
        return self._read_postings(mark + first, mark + last)[0]

    def _read_postings(self, first: str, last: str) -> tuple[Rows, Counts]:
        """The postings of all words from the first to the last."""
        select = "SELECT file, data FROM postings WHERE term BETWEEN ? AND ? ORDER BY term, file"
        files, blobs = [], []
        with self._lock:  # row by row: Python looks for garbage among many tuples, for 20 ms
            for file, data in self._db.execute(select, (first, last)):
                files.append(file)
                blobs.append(data)
        at = np.searchsorted(self._files, files)
        if (at >= len(self._files)).any() or not np.array_equal(self._files[at], files):
            raise sqlite3.DatabaseError("postings of a file that is not in the index")
        sizes = np.fromiter(map(len, blobs), np.int64, len(blobs)) >> 2
        packed = np.frombuffer(b"".join(blobs), "<u4")
        del blobs  # a common word has megabytes of them
        rows = np.repeat(self._starts[at], sizes)
        rows += packed >> 8
        return rows, (packed & 255).astype(np.uint8)

    def vectors(self, embedder: str) -> Vectors:
        with self._lock:
            if embedder not in self._vectors:
                codes = self._cache.codes(self._db, embedder, self.contexts)
                self._vectors[embedder] = Vectors(embedder, codes, self._read)
            return self._vectors[embedder]

    def rows(self, rows: Sequence[int]) -> list[StoredChunk]:
        """The chunks of these rows, in the order asked for."""
        wanted = np.asarray(rows, np.int64)
        if ((wanted < 0) | (wanted >= self.count)).any():
            raise IndexError(rows)
        at = np.searchsorted(self._starts, wanted, side="right") - 1
        keys = (self._files[at] * ORDINALS + wanted - self._starts[at]).tolist()
        found = self._read("SELECT * FROM chunks", keys)
        chunks = []
        for row, key, file in zip(wanted.tolist(), keys, at.tolist(), strict=True):
            start, end, text, headings, day, label, struck = found[key]
            try:
                above = tuple(json.loads(headings)) if headings else ()
            except ValueError as error:
                raise sqlite3.DatabaseError("headings that cannot be read") from error
            line = (row, self.paths[file], start, end, text, above, day, label, bool(struck))
            chunks.append(StoredChunk(*line, int(self.mtimes[file])))
        return chunks

    def node_ids(self, rows: Sequence[int]) -> list[str]:
        """The ids of these rows' nodes, 16 hexadecimal digits each."""
        at = np.searchsorted(self._starts, rows, side="right") - 1
        found = self._read("SELECT file, rows FROM file_rows", self._files[at].tolist())
        places = zip(self._files[at].tolist(), rows - self._starts[at], strict=True)
        return [f"{np.frombuffer(found[file][0], ROW_TYPE)[n]['node']:016x}" for file, n in places]

    def _read(self, select: str, keys: Sequence[int]) -> dict[int, tuple[Any, ...]]:
        """What a table holds for these keys."""
        where = "WHERE rowid IN (SELECT value FROM json_each(?))"
        with self._lock:
            rows = self._db.execute(f"{select} {where}", (json.dumps(keys),))
            found = {row[0]: row[1:] for row in rows}
        if not found.keys() >= set(keys):
            raise sqlite3.DatabaseError("a row is missing in the index")
        return found


class SnapshotView:
    """A snapshot for one search, which reads each row and each word once.

    `allowed` narrows the search to those rows (bool[count]); None allows all.
    """

    def __init__(self, snapshot: Snapshot, allowed: Mask | None = None) -> None:
        self.snapshot = snapshot
        self.allowed = allowed
        self._chunks: dict[int, StoredChunk] = {}
        self.postings, self.words_like = cache(snapshot.postings), cache(snapshot.words_like)

    def narrowed(self, allowed: Mask | None) -> SnapshotView:
        """A view of these rows, which shares what was read."""
        view = copy(self)
        view.allowed = allowed
        return view

    def chunks(self, rows: Sequence[int]) -> list[StoredChunk]:
        """The chunks of these rows, in the order asked for."""
        missing = [row for row in rows if row not in self._chunks]
        for chunk in self.snapshot.rows(missing) if missing else ():
            self._chunks[chunk.row] = chunk
        return [self._chunks[row] for row in rows]

    def rows_of(self, spans: Sequence[tuple[str, str]]) -> Rows:
        """The rows (int64[n]) of one of the spans of ISO days, ends included, and those that tell
        of one, also in every year."""
        if not spans:
            return _NONE
        dated, marks = self.snapshot.dated, (DAY, DAY_TOLD)
        of_year = {part for span in spans for part in _parts_of_year(*span)}
        rows = union(
            *(dated(*span, mark) for mark in marks for span in spans),
            *(dated(*part, DAY_TOLD + DAY_OF_YEAR) for part in of_year),
        )
        return rows if self.allowed is None else rows[self.allowed[rows]]


def _parts_of_year(first: str, last: str) -> list[tuple[str, str]]:
    """The days of the year between two ISO days, as one part or as one before and one after New
    Year; none of a whole year, which all of them are of."""
    begin, end = first[5:], last[5:]
    if first[:4] == last[:4]:
        return [(begin, end)] if (begin, end) != ("01-01", "12-31") else []
    return [(begin, "12-31"), ("01-01", end)] if end < begin else []


def allowed_rows(snapshot: Snapshot, query: Query) -> Mask | None:
    """The rows (bool[count]) that a search may use; None when all are allowed."""
    skip, only, since = query.skip, query.only, query.since
    if not (query.path or since or skip or only):
        return None
    place = query.path
    if place and not any(f"{path}/".startswith(place) for path in snapshot.paths):
        place = place[:-1]  # "memory/2026-05" is the beginning of names
    wanted = [
        path not in skip and (not only or path in only) and f"{path}/".startswith(place)
        for path in snapshot.paths
    ]
    mask = snapshot.rows_of_files(np.array(wanted, bool))
    if since:
        first = date.fromisoformat(max(since, "1970-01-02"))  # the year 1 has no timestamp
        midnight = datetime.combine(first, datetime.min.time())
        start_ns = int(midnight.timestamp()) * 1_000_000_000
        recent = snapshot.rows_of_files(snapshot.mtimes >= start_ns)
        recent[snapshot.dated("", since)] = False
        recent[snapshot.dated(since, "9999-12-31")] = True
        mask &= recent
    return mask


Mask = npt.NDArray[np.bool_]

SAMPLE, FEWEST = 200, 30
# So many numbers of vectors are kept in memory (32 MB, 20,000 vectors of MiniLM). Of more the
# nearest binary codes are compared with the question's numbers, and of those so many by all numbers
# of both.
IN_MEMORY = 7_680_000
CODES, RESCORED = 20_000, 2000
# So many codes at a time stay in the processor's cache.
BLOCK = 65_536
# OpenBLAS uses several threads for a larger product, which costs 40 ms instead of 1 ms when the
# other core is busy (measured, 2 cores).
BLOCK_NUMBERS = 300_000


def best(scores: npt.NDArray[Any], most: int, allowed: Mask | None = None) -> Rows:
    """The positions of the `most` highest scores, best first; equal scores in their order."""
    wanted = np.ones(len(scores), bool) if allowed is None else allowed
    if np.count_nonzero(wanted) > most:
        high = scores[wanted]
        high.partition(-most)
        wanted = wanted & (scores >= high[-most])
    positions = np.flatnonzero(wanted)
    return positions[np.argsort(-scores[positions], kind="stable")[:most]]


def union(*rows: Rows) -> Rows:
    """The different rows, ascending. `np.union1d` would import numpy.ma, which takes 10 ms."""
    return np.unique(np.concatenate(rows), return_counts=True)[0]


def question_vector(embedder: Embedder, text: str) -> Floats:
    """The question as a vector of length 1. Raises ModelFailed when it is empty, zero or not
    finite."""
    vector = np.asarray(embedder.query(text), dtype=np.float32)
    length = float(np.linalg.norm(vector)) if vector.ndim == 1 and vector.size else 0.0
    if not length or not np.isfinite(length):
        raise ModelFailed(f"{embedder.name} gave an unusable vector", TAKE_ANOTHER)
    return (vector / np.float32(length)).astype(np.float32)


def sample(known: Mask) -> Rows:
    """Up to `SAMPLE` of these rows, at even distances; none of fewer than `FEWEST`."""
    rows = np.flatnonzero(known)
    return rows[:: -(-len(rows) // SAMPLE)] if len(rows) >= FEWEST else rows[:0]


Read = Callable[[str, Sequence[int]], dict[int, tuple[Any, ...]]]


class Vectors:
    """The vectors of one embedder in a snapshot. `known` (bool[count]) are the rows that have one,
    `width` is its length (0 where the index keeps none).

    Of many vectors the nearest are looked for by one bit a dimension (binary quantization with
    rescoring, Shakir et al. 2024, huggingface.co/blog/embedding-quantization).
    """

    def __init__(self, name: str, codes: _Codes, read: Read) -> None:
        self.known: Mask = codes.places >= 0
        self.width = codes.width
        self._name, self._codes, self._read = name, codes, read

    @cached_property
    def usual(self) -> Floats:
        """The vectors of `sample`, which every question is compared with."""
        return self.read(sample(self.known))

    def nearest(self, vector: Floats, most: int, allowed: Mask | None = None) -> Rows:
        """The `most` rows with the highest cosine, best first. Raises ModelFailed as `cosines`."""
        self._check(vector)
        wanted = self.known if allowed is None else self.known & allowed
        if self._codes.matrix is None and np.count_nonzero(wanted) > RESCORED:
            rows = best(self._bits_alike(vector)[self._codes.places], CODES, wanted)
            rows = np.sort(rows[best(self._by_bits(rows, vector), RESCORED)])
        else:
            rows = np.flatnonzero(wanted)
        return rows[best(self.cosines(rows, vector), most)]

    def cosines(self, rows: Rows, vector: Floats) -> Floats:
        """The cosine (float32[n]) of a unit vector and each of these rows, which have a vector.
        Raises ModelFailed when the stored vectors have another length."""
        self._check(vector)
        matrix = self._codes.matrix
        if matrix is not None and len(rows) > len(matrix) // 2:
            return _products(matrix, vector)[self._codes.places[rows]]
        return _products(self.read(rows), vector)

    def read(self, rows: Rows) -> Floats:
        """The vectors of these rows, float32[n, width]."""
        groups, starts, places = self._codes.groups, self._codes.starts, self._codes.places[rows]
        if self._codes.matrix is not None:
            return self._codes.matrix[places]
        at = np.searchsorted(starts, places, side="right") - 1
        keys = (groups[at] * GROUP + places - starts[at]).tolist()
        found = self._read("SELECT id, data FROM full_vectors", keys)
        return _matrix((found[key][0] for key in keys), len(keys), self.width)

    def _bits_alike(self, vector: Floats) -> npt.NDArray[np.int16]:
        """Minus the number of bits in which each code differs from the vector's."""
        (code,), bits = binary_codes(vector[None]), self._codes.bits
        alike = np.zeros(bits.shape[1], np.int16)
        for start in range(0, len(alike), BLOCK):
            part = slice(start, start + BLOCK)
            for word, own in zip(bits, code, strict=True):
                alike[part] -= np.bitwise_count(word[part] ^ own)
        return alike

    def _by_bits(self, rows: Rows, vector: Floats) -> Floats:
        """The scalar product of the vector and each code, whose bits stand for 0 and 1: read from
        a table of all bytes."""
        codes = np.ascontiguousarray(self._codes.bits[:, self._codes.places[rows]].T).view(np.uint8)
        numbers = np.pad(vector, (0, 8 * codes.shape[1] - len(vector))).reshape(-1, 8)
        table = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) @ numbers.T
        scores: Floats = table[codes, np.arange(codes.shape[1])].sum(axis=1)
        return scores

    def _check(self, vector: Floats) -> None:
        if self.known.any() and len(vector) != self.width:
            raise ModelFailed(
                f"{self._name} gives {len(vector)} numbers a text, the index holds {self.width}",
                "build it again: openclaw memory reindex",
            )


class _Codes(NamedTuple):
    """The binary codes of all vectors of an embedder.

    width   numbers of a vector
    bits    uint64[words, n]: column p is the code at place p
    groups  int64[g]: the groups of vectors in the index
    starts  int64[g]: the place of the first vector of each group
    places  int32[count]: the place of each row's vector, or -1
    matrix  float32[n, width]: the vectors themselves, None for more numbers than `IN_MEMORY`
    """

    width: int
    bits: npt.NDArray[np.uint64]
    groups: Rows
    starts: Rows
    places: npt.NDArray[np.int32]
    matrix: Floats | None


class _Rows(NamedTuple):
    """The rows of a revision.

    paths, mtimes      as in `Snapshot`, of each file that has some
    files, starts      int64[f]: their ids and first rows
    contexts, lengths  columns of `ROW_TYPE`
    """

    revision: int
    paths: Sequence[str]
    mtimes: Rows
    files: Rows
    starts: Rows
    contexts: Rows
    lengths: Floats


_NONE = np.empty(0, np.int64)
_NO_ROWS = _Rows(0, (), _NONE, _NONE, _NONE, _NONE, _NONE.astype(np.float32))


class SnapshotCache:
    """What the snapshots of a store share: the rows of the last one, and the binary codes of one
    embedder. So a snapshot reads only what changed. The vector of a text is known by its rows, and
    by `_spare` where it has none: a table of all texts would take 12 MB for a million."""

    def __init__(self) -> None:
        self._rows = _NO_ROWS
        self._lock = threading.Lock()
        self._forget(0, 0)

    def read_rows(self, db: sqlite3.Connection, revision: int) -> _Rows:
        """The rows of `db`, which is at this revision."""
        former = self._rows if self._rows.revision <= revision else _NO_ROWS
        select = "SELECT coalesce(max(changed), 0), count(*) FROM files WHERE chunks > 0"
        newest, count = db.execute(select).fetchone()
        if newest > former.revision or count != len(former.files):
            former = _merge_rows(db, revision, former)
        self._rows = former
        return former

    def codes(self, db: sqlite3.Connection, name: str, contexts: Rows) -> _Codes:
        """The codes of the vectors of `name`, and the place of each context's vector."""
        with self._lock:
            row = db.execute("SELECT id, width FROM embedders WHERE name = ?", (name,)).fetchone()
            embedder, width = row or (0, 0)
            select = "SELECT count(*), coalesce(max(id), 0) FROM vectors WHERE embedder = ?"
            held = db.execute(select, (embedder,)).fetchone()
            if (embedder, width) != (self._embedder, self._width):
                self._forget(embedder, width)
            self._add(db, held[0])
            # Ids are never given twice: so the groups are those of `db`, or some have left it, or
            # are younger than it.
            if (len(self._groups), self._groups.max(initial=0)) != held:
                self._forget(embedder, width)
                self._add(db, held[0])
            self._find(contexts)
            bits = self._bits[:, : self._used]
            return _Codes(width, bits, self._groups, self._starts, self._found[1], self._matrix)

    def _forget(self, embedder: int, width: int) -> None:
        self._embedder, self._width = embedder, width
        self._used = 0
        self._bits = np.empty((-(-width // 64), 0), "<u8")
        self._groups = self._starts = _NONE
        self._found = self._spare = _NONE, np.empty(0, np.int32)
        self._matrix: Floats | None = np.empty((0, width), np.float32)

    def _add(self, db: sqlite3.Connection, groups: int) -> None:
        """Read the groups that were added since the last call; `groups` are there in all."""
        begin, most = self._used, (groups + groups // 8) * GROUP
        if groups * GROUP > self._bits.shape[1]:  # memory that is not written to is not taken
            grown = np.empty((len(self._bits), most), "<u8")
            grown[:, :begin] = self._bits[:, :begin]  # earlier snapshots keep the old ones
            self._bits = grown
        select = "SELECT id, contexts, codes FROM vectors WHERE embedder = ? AND id > ? ORDER BY id"
        last = int(self._groups.max(initial=0))
        cursor = db.execute(select, (self._embedder, last))
        new = [self._append(found) for found in iter(lambda: cursor.fetchmany(128), [])]
        if new:
            places = np.arange(begin, self._used, dtype=np.int32)
            self._spare = np.concatenate([self._spare[0], *new]), np.append(self._spare[1], places)
            if self._used * self._width > IN_MEMORY:
                self._matrix = None
            elif self._matrix is not None:
                select = (
                    "SELECT data FROM vectors v JOIN full_vectors f "
                    "ON f.id >= v.id * :group AND f.id < v.id * :group + :group "
                    "WHERE embedder = :embedder AND v.id > :last ORDER BY f.id"
                )
                given = {"group": GROUP, "embedder": self._embedder, "last": last}
                data = (row[0] for row in db.execute(select, given))
                more = _matrix(data, len(places), self._width)
                self._matrix = np.append(self._matrix, more, axis=0)

    def _append(self, found: Sequence[tuple[int, bytes, bytes]]) -> Rows:
        """Add groups. Returns their contexts."""
        groups, blobs, codes = zip(*found, strict=True)
        contexts = np.frombuffer(b"".join(blobs), "<i8")
        sizes = np.array([len(blob) // 8 for blob in blobs])
        begin, self._used = self._used, self._used + len(contexts)
        try:
            bits = np.frombuffer(b"".join(codes), "<u8").reshape(len(contexts), len(self._bits))
            self._bits[:, begin : self._used] = bits.T
        except ValueError as error:
            raise sqlite3.DatabaseError("vectors of the wrong size") from error
        self._groups = np.append(self._groups, np.array(groups, np.int64))
        self._starts = np.append(self._starts, begin + np.cumsum(sizes) - sizes)
        return contexts

    def _find(self, contexts: Rows) -> None:
        """Look up the place of each context. After an edit most rows are those of the last time,
        before and after the others."""
        former, places = self._found
        head = _alike(former, contexts)
        tail = _alike(former[head:][::-1], contexts[head:][::-1])
        gone = slice(head, len(former) - tail)
        found = np.full_like(contexts, -1, np.int32)
        found[:head], found[len(found) - tail :] = places[:head], places[gone.stop :]
        unknown = (found < 0) & (self._used > 0)
        keys, owners = np.unique(contexts[unknown], return_inverse=True)
        held = np.full(len(keys), -1, np.int32)
        for known, at in self._spare, self._found:  # most have come since the last time
            for start in range(0, len(known) if (held < 0).any() else 0, BLOCK):
                order = start + np.flatnonzero(at[start : start + BLOCK] >= 0)
                if 4 * len(keys) > len(order):  # sorted, the search is three times as fast
                    order = order[np.argsort(known[order])]
                part = known[order]
                near = np.searchsorted(keys, part)
                hit = keys.take(near, mode="clip") == part
                held[near[hit]] = at[order[hit]]
        found[unknown] = held[owners]
        is_free = np.ones(self._used + 1, bool)
        is_free[found] = is_free[-1] = False  # the last stands for no place, -1
        known, at = np.append(self._spare[0], former[gone]), np.append(self._spare[1], places[gone])
        self._spare = known[is_free[at]], at[is_free[at]]
        self._found = contexts, found


def _matrix(vectors: Iterable[bytes], count: int, width: int) -> Floats:
    """Stored vectors as float32[count, width]."""
    try:
        matrix = np.frombuffer(b"".join(vectors), "<f2").reshape(count, width)
    except ValueError as error:
        raise sqlite3.DatabaseError("vectors of the wrong size") from error
    return matrix.astype(np.float32)


def _products(matrix: Floats, vector: Floats) -> Floats:
    """`matrix` (float32[n, d]) times `vector` (float32[d])."""
    step = max(1, BLOCK_NUMBERS // max(1, len(vector)))
    parts = [matrix[start : start + step] @ vector for start in range(0, len(matrix), step)]
    return np.concatenate(parts) if parts else np.empty(0, np.float32)


def _alike(one: Rows, other: Rows) -> int:
    """How many numbers at the beginning are the same."""
    most = min(len(one), len(other))
    differ = one[:most] != other[:most]
    return int(differ.argmax()) if differ.any() else most


def _merge_rows(db: sqlite3.Connection, revision: int, former: _Rows) -> _Rows:
    """The rows of a former revision with those of the files that were changed after it."""
    select = "SELECT path, mtime_ns, id, chunks, changed FROM files WHERE chunks > 0 ORDER BY id"
    paths, *columns = list(zip(*db.execute(select), strict=True)) or [()] * 5
    mtimes, files, counts, changed = (np.array(column, np.int64) for column in columns)
    starts = np.cumsum(counts) - counts
    is_new = changed > former.revision
    select = (
        "SELECT rows FROM files JOIN file_rows ON file = id "
        "WHERE changed > ? AND chunks > 0 ORDER BY id"
    )
    data = b"".join(row[0] for row in db.execute(select, (former.revision,)))
    try:
        new = np.frombuffer(data, ROW_TYPE)
    except ValueError as error:
        raise sqlite3.DatabaseError("rows of the wrong size") from error
    if len(new) != counts[is_new].sum():
        raise sqlite3.DatabaseError("rows are missing in the index")
    # Where the rows of each file begin in the former rows with the new ones behind them.
    begin = np.cumsum(counts * is_new) - counts * is_new + len(former.contexts)
    begin[~is_new] = former.starts[np.searchsorted(former.files, files[~is_new])]
    at = np.repeat(begin - starts, counts) + np.arange(counts.sum())

    contexts, lengths = new["context"], new["length"].astype(np.float32)
    if former.revision:
        contexts = np.append(former.contexts, contexts)[at]
        lengths = np.append(former.lengths, lengths)[at]
    return _Rows(revision, paths, mtimes, files, starts, contexts.copy(), lengths)
