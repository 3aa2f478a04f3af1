"""Vectors for what has none yet, in batches that are kept one by one. Imports numpy: import this
module only lazily."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from openclaw.errors import ModelFailed
from openclaw.retrieval import kept
from openclaw.retrieval.store import Store
from openclaw.retrieval.writing import context_key

if TYPE_CHECKING:
    from openclaw.retrieval.embeddings import Embedder

BATCH = 32
# Texts of like length make good batches; so many are looked through for them at a time.
WINDOW = 1024


class Pending:
    """What an embedder has still to do. `contexts` gives the contexts of a file."""

    def __init__(
        self, store: Store, embedder: Embedder, contexts: Callable[[str], list[str]]
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
        """Embed until all is done, time is up or `stop` says so; how many are left."""
        end = None if seconds is None else time.monotonic() + seconds
        try:
            waiting = kept.missing(self._store, self._embedder.name)
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
        """How many contexts have no vector; when none is left, other embedders' vectors go."""
        name = self._embedder.name
        left = len(set().union(*kept.missing(self._store, name).values()))
        if not left and self._store.query("SELECT 1 FROM embedders WHERE name <> ?", (name,)):
            with self._store.write() as writer:
                kept.keep_only(writer, name)
        return left

    def _batches(self, waiting: dict[str, set[int]]) -> Iterator[list[tuple[int, str]]]:
        texts = self._texts(waiting)
        while window := list(islice(texts, WINDOW)):
            window.sort(key=lambda pair: len(pair[1]))
            for start in range(0, len(window), BATCH):
                yield window[start : start + BATCH]

    def _texts(self, waiting: dict[str, set[int]]) -> Iterator[tuple[int, str]]:
        """Each waiting context once, read from the files, as the index keeps none."""
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
            kept.add(writer, self._embedder.name, [key for key, _ in batch], vectors)
