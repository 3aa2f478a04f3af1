"""The index as LlamaIndex retrievers.

This and its parts `llama_*` are the only modules that import llama_index, which costs about a
second: `search.load_llama` is the door.

Nothing here touches LlamaIndex's global `Settings`: what would fall back to them (embedding model,
callbacks, transformations) is always passed, so no default of another vendor, no tokenizer download
and no progress bar is ever reached.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING

import numpy as np
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle

from openclaw.errors import ModelFailed
from openclaw.retrieval import ranking
from openclaw.retrieval.engines import ENGINE
from openclaw.retrieval.hybrid import fused, scale
from openclaw.retrieval.llama_nodes import nodes_of, ranked, scored
from openclaw.retrieval.llama_vectors import (
    Source,
    SqliteVectorStore,
    TextEmbedding,
    stored_vectors,
)
from openclaw.retrieval.llama_words import StoredBM25
from openclaw.retrieval.vectors import Rows
from openclaw.retrieval.view import View

if TYPE_CHECKING:
    from openclaw.retrieval.embeddings import Embedder

__all__ = [
    "HybridRetriever",
    "QueryBundle",
    "Source",
    "SqliteVectorStore",
    "StoredBM25",
    "stored_vectors",
]


# Gives where the vectors of a view are searched. Raises when that is away.
Vectors = Callable[[View, "Embedder"], Source]
EMBEDDING = "embedding"
# Is told what failed, `EMBEDDING` or `ENGINE`, and how.
Trouble = Callable[[str, Exception], None]


class HybridRetriever(BaseRetriever):
    """Words and meaning, fused: the index of a home as a LlamaIndex retriever.

    In a program of your own, beside any query engine or agent of LlamaIndex:

        search = Search(home, IndexOptions(), lambda: embedder, home.private)
        retriever = search.retriever(k=5)
        for found in retriever.retrieve("Which port does staging use?"):
            print(found.score, found.metadata["path"], found.metadata["start_line"], found.text)

    `state` gives a view of the index as it is when a question comes. Nodes carry path, start_line,
    end_line, date and headings as metadata; scores are between 0 and 1. The vectors are searched in
    `engine`, else in our own file. When it fails our own file answers, when the question cannot be
    embedded the words do, and `on_trouble` is told.
    """

    def __init__(
        self,
        state: Callable[[], View],
        embedder: Embedder | None = None,
        *,
        engine: Vectors | None = None,
        top_k: int = 5,
        today: Callable[[], date] = date.today,
        on_trouble: Trouble = lambda what, error: None,
    ) -> None:
        super().__init__(callback_manager=CallbackManager([]))
        self._state, self._embedder, self._engine = state, embedder, engine
        self._top_k, self._today, self._on_trouble = top_k, today, on_trouble

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        view = self._state()
        found = self.fused(view, query_bundle)[: self._top_k]
        return scored(nodes_of(view, [one.row for one in found]), [one.score for one in found])

    def fused(
        self, view: View, query_bundle: QueryBundle, *, whole: bool = False
    ) -> list[ranking.Fused]:
        """The ranked rows, best first, at most `ranking.POOL`; what `retrieve` makes nodes of. With
        `whole` all rows of both rankings, however badly they answer."""
        if not view.snapshot.count:
            return []
        by_words = ranked(view, StoredBM25(view).retrieve(query_bundle))

        def by_meaning(others: Rows) -> ranking.Ranked | None:
            return self._by_meaning(view, query_bundle, others)

        return fused(
            view,
            query_bundle.query_str,
            self._today(),
            by_words,
            by_meaning,
            lambda: scale(view, self._embedder, query_bundle.embedding),
            self._top_k,
            whole=whole,
        )

    def _by_meaning(self, view: View, bundle: QueryBundle, others: Rows) -> ranking.Ranked | None:
        """The nearest rows, and the cosines of `others` beside them; None without vectors."""
        embedder = self._embedder
        if embedder is None or not self._has_vector(bundle, embedder):
            return None
        if self._engine:
            try:
                return _nearest(self._engine(view, embedder), embedder, view, bundle, others)
            except sqlite3.Error:
                raise
            except Exception as error:  # noqa: BLE001 - whatever an engine raises: it is a copy
                self._on_trouble(ENGINE, error)
        try:
            return _nearest(stored_vectors(view, embedder), embedder, view, bundle, others)
        except ModelFailed as error:
            self._on_trouble(EMBEDDING, error)
            return None

    def _has_vector(self, bundle: QueryBundle, embedder: Embedder) -> bool:
        """Whether the question has a vector now."""
        try:
            if bundle.embedding is None:
                text = bundle.query_str
                bundle.embedding = TextEmbedding(embedder).get_query_embedding(text)
        except Exception as error:  # noqa: BLE001 - whatever an embedder raises: the words answer
            self._on_trouble(EMBEDDING, error)
            return False
        return True


def _nearest(
    source: Source, embedder: Embedder, view: View, bundle: QueryBundle, others: Rows
) -> ranking.Ranked:
    near = ranked(view, source.retriever(embedder).retrieve(bundle))
    more = view.chunks(np.setdiff1d(others, near.rows).tolist())
    cosines = source.cosines([chunk.node_id for chunk in more], bundle.embedding or [])
    known = {chunk.row: cosines[chunk.node_id] for chunk in more if chunk.node_id in cosines}
    return ranking.Ranked(
        np.concatenate([near.rows, np.array(list(known), np.int64)]),
        np.concatenate([near.scores, np.array(list(known.values()), np.float32)]),
    )
