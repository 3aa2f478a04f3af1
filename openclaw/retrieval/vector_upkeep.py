"""Adds vectors to the index in batches, each saved at once, and drops vectors no longer needed.

With a vector store (`vector_store.py`) they are looked for there first, and saved there
before here. Where the index keeps none, its rows list what the store has: their width is 0.
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from openclaw.errors import ModelFailed
from openclaw.retrieval.index_store import IndexStore
from openclaw.retrieval.snapshot import contexts_of
from openclaw.retrieval.vector_store import NAMED_DAYS, LazyStore, StoreFailed
from openclaw.retrieval.writer import Writer, context_key

if TYPE_CHECKING:
    from openclaw.retrieval.embedders import Embedder
    from openclaw.retrieval.shared_vectors import SharedVectors


BATCH = 32
# Texts of similar length make good batches; this many texts are sorted by length at a time.
WINDOW = 1024
# Beside other clones a batch is this part of what is left of a window.
PIECES = 64
T = TypeVar("T")


class VectorFiller:
    """Embeds the contexts without a vector. `contexts` gives the contexts of a file, `shared` the
    vectors that other clones have made."""

    def __init__(
        self,
        store: IndexStore,
        embedder: Embedder,
        contexts: Callable[[str], list[str]],
        shared: LazyStore[SharedVectors] | None = None,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._contexts = contexts
        self._shared = shared or LazyStore()
        self._keeps, self._today = self._shared.keeps, self._shared.today()

    def run(
        self,
        seconds: float | None,
        on_progress: Callable[[int, int], None] | None,
        stop: Callable[[], bool] | None,
    ) -> int:
        """Embed until all is done, time is up or `stop` returns True. Returns how many are left."""
        end = None if seconds is None else time.monotonic() + seconds

        def is_over() -> bool:
            return bool(stop and stop()) or (end is not None and time.monotonic() >= end)

        try:
            self._share(is_over)
            waiting = missing(self._store, self._embedder.name)
            if seconds is None and self._shared.is_ready:
                waiting = dict(random.sample(list(waiting.items()), len(waiting)))
            total, done = len(set().union(*waiting.values())), 0
            for count in self._fill(waiting, is_over):
                done += count
                if on_progress and count:
                    on_progress(done, total)
        except StoreFailed:  # and there is no other place for vectors
            pass
        except sqlite3.Error as error:
            self._store.recover(error)
        return self._left()

    def _ask(self, do: Callable[[SharedVectors], T]) -> T | None:
        """What `do` gives for the vector store; None when there is none. Raises StoreFailed when
        it fails and vectors have no other place."""
        given = self._shared.ask(self._embedder, do)
        if given is None and not self._keeps:
            raise StoreFailed("the vector store is away")
        return given

    def _left(self) -> int:
        """How many contexts have no vector. When none is left, drop other embedders' vectors."""
        name = self._embedder.name
        left = len(set().union(*missing(self._store, name).values()))
        if not left and self._store.query("SELECT 1 FROM embedders WHERE name <> ?", (name,)):
            with self._store.write() as writer:
                keep_only(writer, name)
        return left

    def _fill(self, waiting: dict[str, set[int]], is_over: Callable[[], bool]) -> Iterator[int]:
        """Embed in batches, and yield for how many texts each brought a vector.

        Clones that begin together find each other's vectors before each batch. While they do, each
        takes a random piece of what is left, the smaller the less that is (guided self-scheduling,
        Polychronopoulos and Kuck 1987), so two of them seldom embed the same text.
        """
        texts, shared = self._texts(waiting), self._shared.is_ready
        beside = None if shared else False  # other clones embed too; None: not known yet
        while window := list(islice(texts, WINDOW)):
            left = sorted(self._leave_to_others(window), key=lambda pair: len(pair[1]))
            yield len(window) - len(left)
            while before := len(left):
                if is_over():
                    return
                size = BATCH if beside is False else min(BATCH, 1 + before // PIECES)
                start = random.randrange(max(1, before - size)) if shared else 0  # noqa: S311
                self._embed(left[start : start + size])
                del left[start : start + size]
                rest = self._leave_to_others(left)
                beside = beside or len(rest) < len(left)
                left = rest
                yield before - len(left)

    def _texts(self, waiting: dict[str, set[int]]) -> Iterator[tuple[int, str]]:
        """Each waiting context once, read from the files, since the index stores none."""
        seen: set[int] = set()
        for path, keys in waiting.items():
            for context in self._contexts(path) if keys - seen else ():
                key = context_key(context)
                if key in keys and key not in seen:
                    seen.add(key)
                    yield key, context

    def _leave_to_others(self, texts: list[tuple[int, str]]) -> list[tuple[int, str]]:
        """Take the vectors that the store has. Returns the texts that it has none of."""
        found = self._ask(lambda store: store.find(key for key, _ in texts))
        if found:
            vectors = np.stack([each.vector for each in found.values()])
            self._save(list(found), vectors, min(each.day for each in found.values()))
        return [pair for pair in texts if pair[0] not in found] if found else texts

    def _embed(self, batch: list[tuple[int, str]]) -> None:
        keys, texts = [key for key, _ in batch], [text for _, text in batch]
        vectors = np.asarray(self._embedder.documents(texts), np.float32)
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise ModelFailed(
                f"{self._embedder.name} gave unusable vectors",
                "choose another model with `embedding` in openclaw.yaml",
            )
        vectors = vectors.astype(np.float16)
        sent = self._ask(lambda store: store.add(keys, vectors, self._today))
        self._save(keys, vectors, self._today if sent else 0)

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
        used: set[int] = set()
        while groups := due(self._store, name, self._shared, 8):
            used = used or _used(self._store.query(ALL_ROWS))
            share = partial(self._share_groups, groups=groups, used=used)
            if is_over() or not self._shared.ask(self._embedder, share):
                return
        if not self._keeps and _width(self._store, name):
            with self._store.write() as writer:  # all of them are in the store now
                leave_vectors(writer, name)

    def _share_groups(
        self, store: SharedVectors, groups: list[tuple[int, bytes, bytes]], used: set[int]
    ) -> bool:
        keys = [key for _, contexts, _ in groups for key in _keys(contexts) if key in used]
        found = store.find(keys)
        old = [key for key, (_, day) in found.items() if day <= self._today - NAMED_DAYS]
        if old:
            store.renew(old, np.stack([found[key].vector for key in old]), self._today)
        lost: list[tuple[bytes, int]] = []
        for group, contexts, data in groups:
            own = _keys(contexts)
            absent = [at for at, key in enumerate(own) if key in used and key not in found]
            if absent and data:
                vectors = np.frombuffer(data, "<f2").reshape(len(own), -1)[absent]
                store.add([own[at] for at in absent], vectors, self._today)
            elif absent:
                lost.append((np.delete(np.array(own, "<i8"), absent).tobytes(), group))
        with self._store.write() as writer:
            self._mark(writer, (group for group, _, _ in groups), self._today)
            for values in lost:
                writer.execute("UPDATE vectors SET contexts = ? WHERE id = ?", values)
                writer.changed()
        return True


# Contexts that left the index are kept up to this number, or to a fifth of all chunks.
LEAST_KEPT = 1000
KEPT_SHARE = 5
GROUP = 64
ALL_ROWS = "SELECT rows FROM file_rows"
_SMALL = 16


def missing(store: IndexStore, name: str) -> dict[str, set[int]]:
    """The contexts without a vector of the embedder `name`, by file path, newest files first."""
    held = _contexts_with_vectors(store, name)
    files = store.query("SELECT path, rows FROM files JOIN file_rows ON file = id ORDER BY id DESC")
    found = ((path, contexts_of(rows) - held) for path, rows in files)
    return {path: contexts for path, contexts in found if contexts}


def due(
    store: IndexStore, name: str, shared: LazyStore[SharedVectors], most: int = 1
) -> list[tuple[int, bytes, bytes]]:
    """Groups of vectors (id, contexts, data) that the vector store was not sent, or that were not
    named there for `NAMED_DAYS`."""
    return store.query(
        "SELECT v.id, contexts, data FROM vectors v JOIN embedders e ON e.id = embedder "
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
    select = "SELECT id FROM embedders WHERE name = ?"
    writer.execute(f"UPDATE vectors SET data = x'' WHERE embedder = ({select})", (name,))  # noqa: S608
    writer.execute("UPDATE embedders SET width = 0 WHERE name = ?", (name,))
    writer.changed()


def drop(writer: Writer, name: str) -> None:
    """Drop the vectors of an embedder."""
    select = "SELECT id FROM embedders WHERE name = ?"
    writer.execute(f"DELETE FROM vectors WHERE embedder = ({select})", (name,))  # noqa: S608
    writer.execute("DELETE FROM embedders WHERE name = ?", (name,))
    writer.changed()


def add(
    writer: Writer, name: str, contexts: Sequence[int], vectors: npt.NDArray[np.floating]
) -> list[int]:
    """Save the vectors (float[n, d]) of `contexts`, and return the ids of their groups. Drops
    earlier vectors of the embedder when they have another width."""
    embedder = _embedder(writer, name, vectors.shape[1])
    writer.changed()
    return _add(writer, embedder, np.array(contexts, "<i8"), vectors.astype("<f2"))


def keep_only(writer: Writer, name: str) -> None:
    """Drop the vectors of all other embedders."""
    others = "(SELECT id FROM embedders WHERE name <> ?)"
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
    used = _used(writer.execute(ALL_ROWS))
    writer.execute("DELETE FROM shared WHERE id NOT IN (SELECT id FROM vectors)")
    newest = writer.execute("SELECT context, at FROM departed ORDER BY at DESC").fetchall()
    kept = [(context, at) for context, at in newest if context not in used][:most]
    writer.execute("DELETE FROM departed")
    for pair in kept:
        writer.execute("INSERT INTO departed VALUES (?, ?)", pair)
    _rewrite(writer, used.union(context for context, _ in kept))


def _width(store: IndexStore, name: str) -> int | None:
    found = store.query("SELECT width FROM embedders WHERE name = ?", (name,))
    return int(found[0][0]) if found else None


def _used(all_rows: Iterable[tuple[bytes]]) -> set[int]:
    """All contexts of the index."""
    return set().union(*(contexts_of(rows) for (rows,) in all_rows))


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
        drop(writer, name)
    cursor = writer.execute("INSERT INTO embedders VALUES (NULL, ?, ?)", (name, width))
    return int(cursor.lastrowid or 0)


def _add(
    writer: Writer, embedder: int, contexts: npt.NDArray[np.int64], vectors: npt.NDArray[np.float16]
) -> list[int]:
    """Returns the ids of the new rows."""
    ids = []
    for start in range(0, len(contexts), GROUP):
        part = slice(start, start + GROUP)
        values = (embedder, contexts[part].tobytes(), vectors[part].tobytes())
        cursor = writer.execute("INSERT INTO vectors VALUES (NULL, ?, ?, ?)", values)
        ids.append(int(cursor.lastrowid or 0))
    return ids


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
            yield keys[mask], np.frombuffer(data, "<f2").reshape(len(keys), width)[mask]
    for key in gone:
        writer.execute("DELETE FROM vectors WHERE id = ?", (key,))
