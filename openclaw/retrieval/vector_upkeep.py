"""Adds vectors to the index in batches, each saved at once, and drops vectors no longer needed."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from openclaw.errors import ModelFailed
from openclaw.retrieval.index_store import IndexStore
from openclaw.retrieval.snapshot import contexts_of
from openclaw.retrieval.writer import Writer, context_key

if TYPE_CHECKING:
    from openclaw.retrieval.embedders import Embedder


BATCH = 32
# Texts of similar length make good batches; this many texts are sorted by length at a time.
WINDOW = 1024


class VectorFiller:
    """Embeds the contexts without a vector. `contexts` gives the contexts of a file."""

    def __init__(
        self, store: IndexStore, embedder: Embedder, contexts: Callable[[str], list[str]]
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._contexts = contexts

    def run(
        self,
        seconds: float | None,
        on_progress: Callable[[int, int], None] | None,
        stop: Callable[[], bool] | None,
    ) -> int:
        """Embed until all is done, time is up or `stop` returns True. Returns how many are left."""
        end = None if seconds is None else time.monotonic() + seconds
        try:
            waiting = missing(self._store, self._embedder.name)
            total, done = len(set().union(*waiting.values())), 0
            for batch in self._batches(waiting):
                if (stop and stop()) or (end is not None and time.monotonic() >= end):
                    break
                self._embed(batch)
                done += len(batch)
                if on_progress:
                    on_progress(done, total)
            return self._left()
        except sqlite3.Error as error:
            self._store.recover(error)
            return self._left()

    def _left(self) -> int:
        """How many contexts have no vector. When none is left, drop other embedders' vectors."""
        name = self._embedder.name
        left = len(set().union(*missing(self._store, name).values()))
        if not left and self._store.query("SELECT 1 FROM embedders WHERE name <> ?", (name,)):
            with self._store.write() as writer:
                keep_only(writer, name)
        return left

    def _batches(self, waiting: dict[str, set[int]]) -> Iterator[list[tuple[int, str]]]:
        texts = self._texts(waiting)
        while window := list(islice(texts, WINDOW)):
            window.sort(key=lambda pair: len(pair[1]))
            for start in range(0, len(window), BATCH):
                yield window[start : start + BATCH]

    def _texts(self, waiting: dict[str, set[int]]) -> Iterator[tuple[int, str]]:
        """Each waiting context once, read from the files, since the index stores none."""
        seen: set[int] = set()
        for path, keys in waiting.items():
            for context in self._contexts(path) if keys - seen else ():
                key = context_key(context)
                if key in keys and key not in seen:
                    seen.add(key)
                    yield key, context

    def _embed(self, batch: Sequence[tuple[int, str]]) -> None:
        texts = [text for _, text in batch]
        vectors = np.asarray(self._embedder.documents(texts), np.float32)
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise ModelFailed(
                f"{self._embedder.name} gave unusable vectors",
                "choose another model with `embedding` in openclaw.yaml",
            )
        with self._store.write() as writer:
            add(writer, self._embedder.name, [key for key, _ in batch], vectors)


# Contexts that left the index are kept up to this number, or to a fifth of all chunks.
LEAST_KEPT = 1000
KEPT_SHARE = 5
GROUP = 64
_SMALL = 16


def missing(store: IndexStore, name: str) -> dict[str, set[int]]:
    """The contexts without a vector of the embedder `name`, by file path, newest files first."""
    held = _contexts_with_vectors(store, name)
    files = store.query("SELECT path, rows FROM files JOIN file_rows ON file = id ORDER BY id DESC")
    found = ((path, contexts_of(rows) - held) for path, rows in files)
    return {path: contexts for path, contexts in found if contexts}


def add(
    writer: Writer, name: str, contexts: Sequence[int], vectors: npt.NDArray[np.float32]
) -> None:
    """Save the vectors (float32[n, d]) of `contexts`. Drops earlier vectors of the embedder when
    they have another width."""
    embedder = _embedder(writer, name, vectors.shape[1])
    _add(writer, embedder, np.array(contexts, "<i8"), vectors.astype("<f2"))
    writer.changed()


def keep_only(writer: Writer, name: str) -> None:
    """Drop the vectors of all other embedders."""
    others = "(SELECT id FROM embedders WHERE name <> ?)"
    if writer.execute(f"SELECT EXISTS {others}", (name,)).fetchone()[0]:
        writer.execute(f"DELETE FROM vectors WHERE embedder IN {others}", (name,))  # noqa: S608
        writer.execute("DELETE FROM embedders WHERE name <> ?", (name,))
        writer.changed()


def prune(writer: Writer) -> None:
    """Drop the vectors of contexts that left the index first, when enough have left."""
    departed = int(writer.execute("SELECT count(*) FROM departed").fetchone()[0])
    chunks = int(writer.execute("SELECT coalesce(sum(chunks), 0) FROM files").fetchone()[0])
    most = max(LEAST_KEPT, chunks // KEPT_SHARE)
    if departed <= 2 * most:
        return
    used: set[int] = set()
    for (rows,) in writer.execute("SELECT rows FROM file_rows"):
        used |= contexts_of(rows)
    newest = writer.execute("SELECT context, at FROM departed ORDER BY at DESC").fetchall()
    kept = [(context, at) for context, at in newest if context not in used][:most]
    writer.execute("DELETE FROM departed")
    for pair in kept:
        writer.execute("INSERT INTO departed VALUES (?, ?)", pair)
    _rewrite(writer, used.union(context for context, _ in kept))


def _contexts_with_vectors(store: IndexStore, name: str) -> set[int]:
    select = "SELECT contexts FROM vectors JOIN embedders ON embedders.id = embedder WHERE name = ?"
    return {key for (data,) in store.query(select, (name,)) for key in _keys(data)}


def _keys(data: bytes) -> list[int]:
    keys: list[int] = np.frombuffer(data, "<i8").tolist()
    return keys


def _embedder(writer: Writer, name: str, width: int) -> int:
    row = writer.execute("SELECT id, width FROM embedders WHERE name = ?", (name,)).fetchone()
    if row and row[1] == width:
        return int(row[0])
    if row:
        writer.execute("DELETE FROM vectors WHERE embedder = ?", (row[0],))
        writer.execute("DELETE FROM embedders WHERE id = ?", (row[0],))
    cursor = writer.execute("INSERT INTO embedders VALUES (NULL, ?, ?)", (name, width))
    return int(cursor.lastrowid or 0)


def _add(
    writer: Writer, embedder: int, contexts: npt.NDArray[np.int64], vectors: npt.NDArray[np.float16]
) -> None:
    for start in range(0, len(contexts), GROUP):
        part = slice(start, start + GROUP)
        values = (embedder, contexts[part].tobytes(), vectors[part].tobytes())
        writer.execute("INSERT INTO vectors VALUES (NULL, ?, ?, ?)", values)


def _rewrite(writer: Writer, wanted: set[int]) -> None:
    """Rewrite the groups with unwanted vectors, or with few vectors, without the unwanted ones."""
    for embedder, width in writer.execute("SELECT id, width FROM embedders").fetchall():
        kept = list(_take_out_unwanted(writer, embedder, width, wanted))
        if kept:
            contexts = np.concatenate([keys for keys, _ in kept])
            _add(writer, embedder, contexts, np.concatenate([block for _, block in kept]))


def _take_out_unwanted(
    writer: Writer, embedder: int, width: int, wanted: set[int]
) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.float16]]]:
    select = "SELECT id, contexts, data FROM vectors WHERE embedder = ?"
    gone = []
    for key, contexts, data in writer.execute(select, (embedder,)):
        keys = np.frombuffer(contexts, "<i8")
        mask = np.fromiter((each in wanted for each in keys.tolist()), np.bool_, len(keys))
        if not mask.all() or len(keys) < _SMALL:
            gone.append(key)
            yield keys[mask], np.frombuffer(data, "<f2").reshape(-1, width)[mask]
    _delete(writer, gone)


def _delete(writer: Writer, keys: Iterable[int]) -> None:
    for key in keys:
        writer.execute("DELETE FROM vectors WHERE id = ?", (key,))
