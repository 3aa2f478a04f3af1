"""Adds vectors to the index in batches, each saved at once, and drops vectors no longer needed.

With a vector store (`shared_store.py`) they are looked for there first, and saved there
before here. Where the index keeps none, its rows list what the store has: their width is 0.
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from openclaw.errors import ModelFailed
from openclaw.retrieval.database import GROUP
from openclaw.retrieval.index_store import IndexStore
from openclaw.retrieval.index_writer import ROW_TYPE, Writer, add_vectors, context_key
from openclaw.retrieval.minilm import TAKE_ANOTHER
from openclaw.retrieval.shared_store import NAMED_DAYS, LazyStore, StoreFailed

if TYPE_CHECKING:
    from openclaw.retrieval.embedder_choice import Embedder
    from openclaw.retrieval.shared_vectors import SharedVectors
    from openclaw.retrieval.snapshot import Snapshot


# So many contexts at a time; they follow each other in a file, and so share their lines. Without a
# time limit more, while a batch takes less than a second, as a kill loses one: among more texts
# those of a run of the network are more alike in length.
BATCH, LARGE_BATCH, QUICK_SECONDS = 32, 128, 1.0
WINDOW = 1024
# The weight of each line and heading around a passage, beside 1 for its own, in its vector: a sum
# of vectors, as mean pooling would make of one long text, at a fifth of the time. Between 0.15 and
# 0.33 nothing changes by more than the noise.
AROUND = 0.25
# So many vectors of lines are kept, for the contexts to come (15 MB with MiniLM).
MAX_PARTS = 10_000
# Beside other clones a batch is what takes so long, of so many texts at most. It ends with a file
# where it can, since the lines around a passage are embedded with it.
CLAIM_SECONDS, MAX_CLAIMED = 2.0, 512
# Who waits for a claim that goes after its own looks so many times.
ROUNDS = 3
# Who waits for other clones looks again after a random time up to this.
PAUSE_SECONDS = 1.0
T = TypeVar("T")
Parts = tuple[str, ...]
Waiting = list[tuple[str, npt.NDArray[np.int64]]]


class VectorFiller:
    """Embeds the contexts without a vector. `contexts` gives the parts of each context of a file,
    `shared` the vectors that other clones have made."""

    def __init__(
        self,
        store: IndexStore,
        embedder: Embedder,
        contexts: Callable[[str], list[Parts]],
        shared: LazyStore[SharedVectors],
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._contexts = contexts
        self._shared = shared
        self._keeps, self._today = self._shared.keeps, self._shared.today()
        self._parts: dict[str, npt.NDArray[np.float32]] = {}

    def run(
        self, seconds: float | None = None, on_progress: Callable[[int, int], None] | None = None
    ) -> None:
        """Embed until all is done or `seconds` are over. Each batch is saved at once. Raises the
        OpenclawError of the embedder."""
        end = None if seconds is None else time.monotonic() + seconds

        def is_over() -> bool:
            return end is not None and time.monotonic() >= end

        try:
            self._share(is_over)
            waiting = missing(self._store.snapshot(), self._embedder.name)
            texts = np.unique(np.concatenate([_NONE, *(contexts for _, contexts in waiting)]))
            done = 0
            if seconds is None and self._shared.is_ready:
                random.shuffle(waiting)
            for count in self._fill(waiting, is_over, waits=seconds is None):
                done += count
                if on_progress and count:
                    on_progress(done, len(texts))
        except StoreFailed:  # and there is no other place for vectors
            pass
        except sqlite3.Error as error:
            self._store.recover(error)

    def _ask(self, do: Callable[[SharedVectors], T]) -> T | None:
        """What `do` gives for the vector store; None when there is none. Raises StoreFailed when
        it fails and vectors have no other place."""
        given = self._shared.ask(self._embedder, do)
        if given is None and not self._keeps:
            raise StoreFailed("the vector store is away")
        return given

    def _fill(self, waiting: Waiting, is_over: Callable[[], bool], *, waits: bool) -> Iterator[int]:
        """Embed in batches, and yield for how many texts each brought a vector.

        A batch is claimed from the other clones of the vector store, and what they have claimed is
        left to them. With `waits` its vectors are waited for when nothing else is left to do.
        """
        texts, shared = self._texts(waiting), self._shared.is_ready
        size = 2 * BATCH if shared else BATCH
        left: dict[int, tuple[str, Parts]] = {}
        free: list[int] = []
        while True:
            if not free:
                more = list(islice(texts, WINDOW))
                if not more and not (left and waits):
                    return
                time.sleep(0 if more else random.uniform(0, PAUSE_SECONDS))  # noqa: S311
                left |= more
                free = [key for key, _ in more]
            if is_over():
                return
            start, end = 0, size
            if shared and free:
                files = [left[key][0] for key in free]
                begins = [at for at, file in enumerate(files) if not at or file != files[at - 1]]
                start = random.choice(begins)  # noqa: S311
                ends = (at for at in (*begins, len(free)) if start < at <= start + size)
                end = max(ends, default=start + size)
            batch = free[start:end]
            before = len(left)
            with self._claimed(batch) as claim:
                for _ in range(ROUNDS):
                    rivals = self._ask(lambda store: store.rivals(claim))
                    lost, contested = rivals or (set(), set())
                    self._take_over(left)
                    batch = [key for key in batch if key in left and key not in lost]
                    mine = {key: left.pop(key)[1] for key in batch if key not in contested}
                    took = self._embed(mine) if mine else 0
                    if took and shared and waits:
                        size = max(1, min(MAX_CLAIMED, int(len(mine) * CLAIM_SECONDS / took)))
                    elif took and waits:
                        size = LARGE_BATCH if took < QUICK_SECONDS else BATCH
                    if len(mine) == len(batch):
                        break
            free = [key for key in left if key not in lost and key not in contested]
            yield before - len(left)

    @contextmanager
    def _claimed(self, batch: Sequence[int]) -> Iterator[int]:
        """Claim these texts meanwhile; gives the claim."""
        claim = self._ask(lambda store: store.claim(batch)) if batch else 0
        try:
            yield claim or 0
        finally:
            if claim:
                self._ask(lambda store: store.release(claim))

    def _texts(self, waiting: Waiting) -> Iterator[tuple[int, tuple[str, Parts]]]:
        """Each waiting context once with its file, from which it is read: the index stores none."""
        seen: set[int] = set()
        for path, contexts in waiting:
            keys = set(contexts.tolist())
            for parts in self._contexts(path) if keys - seen else ():
                key = context_key(*parts)
                if key in keys and key not in seen:
                    seen.add(key)
                    yield key, (path, parts)

    def _take_over(self, left: dict[int, tuple[str, Parts]]) -> None:
        """Save the vectors that the store has, and remove their texts from `left`."""
        if found := self._ask(lambda store: store.find(left)):
            vectors = np.stack([each.vector for each in found.values()])
            self._save(list(found), vectors, min(each.day for each in found.values()))
            for key in found:
                del left[key]

    def _embed(self, batch: dict[int, Parts]) -> float:
        """Embed contexts, save their vectors, and return how many seconds the embedder took."""
        keys, began = list(batch), time.monotonic()
        self._embed_parts({part for parts in batch.values() for part in parts})
        took = time.monotonic() - began
        vectors = np.stack([self._sum(*parts) for parts in batch.values()])
        sent = self._ask(lambda store: store.add(keys, vectors, self._today))
        self._save(keys, vectors, self._today if sent else 0)
        return took

    def _embed_parts(self, parts: set[str]) -> None:
        """Embed the texts that this run has not embedded yet."""
        if len(self._parts) > MAX_PARTS:
            self._parts.clear()
        new = sorted(parts - self._parts.keys())
        if not new:
            return
        vectors = np.asarray(self._embedder.documents(new), np.float32)
        if vectors.ndim != 2 or len(vectors) != len(new) or not np.isfinite(vectors).all():
            raise ModelFailed(f"{self._embedder.name} gave unusable vectors", TAKE_ANOTHER)
        self._parts.update(zip(new, vectors, strict=True))

    def _sum(self, own: str, *around: str) -> npt.NDArray[np.float16]:
        """The vector of a context, at length 1."""
        near = [AROUND * self._parts[part] for part in around]
        vector: npt.NDArray[np.float32] = np.sum([self._parts[own], *near], axis=0)
        return (vector / (np.linalg.norm(vector) or 1)).astype(np.float16)

    def _save(self, keys: list[int], vectors: npt.NDArray[np.floating], day: int = 0) -> None:
        """Save vectors that the vector store has as named on that day, 0 for never."""
        if not self._keeps:
            vectors = vectors[:, :0]
        with self._store.write() as writer:
            groups = add(writer, self._embedder.name, keys, vectors)
            if day:
                self._mark(writer, groups, day)

    def _mark(self, writer: Writer, groups: Iterable[int], day: int) -> None:
        for group in groups:
            values = (group, self._shared.place, day)
            writer.execute("INSERT OR REPLACE INTO shared VALUES (?, ?, ?)", values)

    def _share(self, is_over: Callable[[], bool]) -> None:
        """Send the vector store what it was not sent, and name what was named too long ago."""
        name = self._embedder.name
        if self._keeps and _width(self._store, name) == 0:  # the list of what was kept elsewhere
            with self._store.write() as writer:
                drop(writer, name)
        if not self._shared.is_ready:
            return
        used = _NONE
        while groups := due(self._store, name, self._shared, 8):
            used = used if len(used) else np.unique(self._store.snapshot().contexts)
            share = partial(self._share_groups, groups=groups, used=used)
            if is_over() or not self._shared.ask(self._embedder, share):
                return
        if not self._keeps and _width(self._store, name):
            with self._store.write() as writer:  # all of them are in the store now
                leave_vectors(writer, name)

    def _share_groups(
        self, store: SharedVectors, groups: list[tuple[int, bytes]], used: npt.NDArray[np.int64]
    ) -> bool:
        listed = {group: np.frombuffer(contexts, "<i8") for group, contexts in groups}
        needed = np.intersect1d(np.concatenate(list(listed.values())), used)
        found = store.find(needed.tolist())
        old = [key for key, (_, day) in found.items() if day <= self._today - NAMED_DAYS]
        if old:
            store.renew(old, np.stack([found[key].vector for key in old]), self._today)
        width, lost = _width(self._store, self._embedder.name), []
        for group, contexts in listed.items():
            absent = np.isin(contexts, used) & np.isin(contexts, list(found), invert=True)
            if absent.any() and width:
                vectors = _read(self._store.query, group, absent, width)
                store.add(contexts[absent].tolist(), vectors, self._today)
            elif absent.any():
                lost.append((group, contexts[~absent]))
        with self._store.write() as writer:
            self._mark(writer, listed, self._today)
            for group, contexts in lost:
                _delete_group(writer, group)
                rest = add(writer, self._embedder.name, contexts, np.empty((len(contexts), 0)))
                self._mark(writer, rest, self._today)
        return True


# Contexts that left the index are kept up to this number, or to a fifth of all chunks.
LEAST_KEPT = 1000
KEPT_SHARE = 5
_SMALL = 16
_NONE = np.empty(0, np.int64)


def missing(snapshot: Snapshot, name: str) -> Waiting:
    """The contexts without a vector of the embedder `name`, by file path, newest files first."""
    lacking = (snapshot.contexts != 0) & ~snapshot.vectors(name).known
    by_file = snapshot.by_file(np.flatnonzero(lacking))
    return [(path, snapshot.contexts[rows]) for path, rows in reversed(by_file)]


def due(
    store: IndexStore, name: str, shared: LazyStore[SharedVectors], most: int = 1
) -> list[tuple[int, bytes]]:
    """Groups of vectors (id, contexts) that the vector store was not sent, or that were not
    named there for `NAMED_DAYS`."""
    return store.query(
        "SELECT v.id, contexts FROM vectors v JOIN embedders e ON e.id = embedder "
        "LEFT JOIN shared s ON s.id = v.id AND place = ? "
        "WHERE name = ? AND coalesce(day, 0) <= ? LIMIT ?",
        (shared.place, name, shared.today() - NAMED_DAYS, most),
    )


def is_behind(store: IndexStore, name: str, shared: LazyStore[SharedVectors]) -> bool:
    """Return True when vectors are kept here that should be elsewhere, or the other way round."""
    width = _width(store, name)
    moves = width is not None and shared.keeps != (width > 0)
    return moves or (shared.is_ready and bool(due(store, name, shared)))


def leave_vectors(writer: Writer, name: str) -> None:
    """Keep only the list of an embedder's vectors."""
    for group, _ in _groups(writer, "name = ?", name):
        _delete_numbers(writer, group)
        writer.execute("UPDATE vectors SET codes = x'' WHERE id = ?", (group,))
    writer.execute("UPDATE embedders SET width = 0 WHERE name = ?", (name,))
    writer.visible = True


def add(
    writer: Writer,
    name: str,
    contexts: Sequence[int] | npt.NDArray[np.int64],
    vectors: npt.NDArray[np.floating],
) -> list[int]:
    """Save the vectors (float[n, d]) of `contexts`, and return the ids of their groups. Drops
    earlier vectors of the embedder when they have another width."""
    width = vectors.shape[1]
    row = writer.execute("SELECT id, width FROM embedders WHERE name = ?", (name,)).fetchone()
    if row and row[1] != width:
        drop(writer, name)
        row = None
    insert = "INSERT INTO embedders VALUES (NULL, ?, ?)"
    embedder = row[0] if row else writer.execute(insert, (name, width)).lastrowid or 0
    writer.visible = True
    keys = np.asarray(contexts, np.int64)
    return add_vectors(writer.execute, embedder, keys, vectors.astype(np.float16))


def prune(writer: Writer) -> None:
    """Drop the vectors of contexts that left the index first, when enough have left."""
    departed = int(writer.execute("SELECT count(*) FROM departed").fetchone()[0])
    chunks = int(writer.execute("SELECT coalesce(sum(chunks), 0) FROM files").fetchone()[0])
    most = max(LEAST_KEPT, chunks // KEPT_SHARE)
    if departed <= 2 * most:
        return
    rows = b"".join(row[0] for row in writer.execute("SELECT rows FROM file_rows"))
    used = np.unique(np.frombuffer(rows, ROW_TYPE)["context"])
    writer.execute("DELETE FROM shared WHERE id NOT IN (SELECT id FROM vectors)")
    newest = writer.execute("SELECT context, at FROM departed ORDER BY at DESC").fetchall()
    gone = np.isin([context for context, _ in newest], used, invert=True)
    kept = [pair for pair, is_gone in zip(newest, gone, strict=True) if is_gone][:most]
    writer.execute("DELETE FROM departed")
    for pair in kept:
        writer.execute("INSERT INTO departed VALUES (?, ?)", pair)
    _rewrite(writer, np.union1d(used, np.array([context for context, _ in kept], np.int64)))


def _width(store: IndexStore, name: str) -> int | None:
    found = store.query("SELECT width FROM embedders WHERE name = ?", (name,))
    return int(found[0][0]) if found else None


def _groups(writer: Writer, which: str, value: str | int) -> list[tuple[int, bytes]]:
    """The groups (id, contexts) of the embedders for which the condition `which` holds."""
    select = "SELECT v.id, contexts FROM vectors v JOIN embedders e ON e.id = embedder WHERE "
    return writer.execute(select + which, (value,)).fetchall()


def _read(
    query: Callable[[str, Sequence[Any]], Iterable[Any]],
    group: int,
    kept: npt.NDArray[np.bool_],
    width: int,
) -> npt.NDArray[np.float16]:
    """These vectors of a group, float16[n, width]."""
    select = "SELECT data FROM full_vectors WHERE id = ?"
    keys = (group * GROUP + np.flatnonzero(kept)).tolist() if width else ()
    data = b"".join(row[0] for key in keys for row in query(select, (key,)))
    return np.frombuffer(data, "<f2").reshape(int(kept.sum()), width)


def drop(writer: Writer, name: str) -> None:
    """Drop the vectors of an embedder."""
    for group, _ in _groups(writer, "name = ?", name):
        _delete_group(writer, group)
    writer.execute("DELETE FROM embedders WHERE name = ?", (name,))
    writer.visible = True


def keep_only(writer: Writer, *names: str) -> None:
    """Drop the vectors of all other embedders."""
    for (name,) in writer.execute("SELECT name FROM embedders").fetchall():
        if name not in names:
            drop(writer, name)


def _delete_group(writer: Writer, group: int) -> None:
    _delete_numbers(writer, group)
    writer.execute("DELETE FROM vectors WHERE id = ?", (group,))


def _delete_numbers(writer: Writer, group: int) -> None:
    span = (group * GROUP, group * GROUP + GROUP - 1)
    writer.execute("DELETE FROM full_vectors WHERE id BETWEEN ? AND ?", span)


def _rewrite(writer: Writer, wanted: npt.NDArray[np.int64]) -> None:
    """Rewrite the groups with unwanted vectors, or with few vectors, without the unwanted ones."""
    for embedder, width in writer.execute("SELECT id, width FROM embedders").fetchall():
        contexts, vectors = _NONE, np.empty((0, width), np.float16)
        for group, listed in _groups(writer, "e.id = ?", embedder):
            keys = np.frombuffer(listed, "<i8")
            kept = np.isin(keys, wanted)
            if kept.all() and len(keys) >= _SMALL:
                continue
            contexts = np.append(contexts, keys[kept])
            vectors = np.append(vectors, _read(writer.execute, group, kept, width), axis=0)
            _delete_group(writer, group)
            if len(contexts) >= GROUP:
                add_vectors(writer.execute, embedder, contexts[:GROUP], vectors[:GROUP])
                contexts, vectors = contexts[GROUP:], vectors[GROUP:]
        add_vectors(writer.execute, embedder, contexts, vectors)
