"""The index as LlamaIndex retrievers.

Importing llama_index takes about a second, so this module is loaded by `search.load_llama` only:
for a program of the user's own. The search ranks the same rows
without it (`ranking.py`); a test compares both lists.

Nothing here uses LlamaIndex's global `Settings`: the embedding model, callbacks and transformations
are always passed. So no vendor's default model, no tokenizer download and no progress bar appears.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from typing import TYPE_CHECKING

import bm25s
import numpy as np
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.retrievers.bm25 import BM25Retriever

from openclaw.errors import ModelFailed
from openclaw.retrieval import ranking
from openclaw.retrieval.database import StoredChunk
from openclaw.retrieval.question import topic_words
from openclaw.retrieval.ranking import (
    K1,
    POOL,
    B,
    RowScores,
    fused,
    respell,
    weigh_words,
)
from openclaw.retrieval.snapshot import Rows, SnapshotView, best, question_vector

if TYPE_CHECKING:
    from openclaw.retrieval.embedder_choice import Embedder


# As `ranking.nearest`; None when the vectors cannot be asked for.
FindNearest = Callable[[SnapshotView, "Embedder", list[float], Rows], "RowScores | None"]


class HybridRetriever(BaseRetriever):
    """The index of a home as a LlamaIndex retriever, ranked by words and meaning.

    In your own program, with any query engine or agent of LlamaIndex:

        search = Search(home, IndexOptions(), lambda: embedder, home.private)
        retriever = search.retriever(k=5)
        for found in retriever.retrieve("Which port does staging use?"):
            print(found.score, found.metadata["path"], found.metadata["start_line"], found.text)

    `state` gives a view of the index for each question. Nodes have path, start_line, end_line, date
    and headings as metadata; scores are between 0 and 1. `nearest` searches the vectors. When the
    question cannot be embedded, only words are searched, and `on_trouble` is called.
    """

    def __init__(
        self,
        state: Callable[[], SnapshotView],
        embedder: Embedder | None = None,
        *,
        nearest: FindNearest = ranking.nearest,
        top_k: int = 5,
        today: Callable[[], date] = date.today,
        on_trouble: Callable[[Exception], None] = lambda error: None,
    ) -> None:
        super().__init__(callback_manager=CallbackManager([]))
        self._state, self._embedder = state, embedder
        self._nearest, self._top_k = nearest, top_k
        self._today, self._on_trouble = today, on_trouble

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        view = self._state()
        found = self.fused(view, query_bundle)[: self._top_k]
        return _nodes(view, [one.row for one in found], [one.score for one in found])

    def fused(
        self, view: SnapshotView, bundle: QueryBundle, *, whole: bool = False
    ) -> list[ranking.FusedRow]:
        """The ranked rows of which `retrieve` makes nodes, best first, at most `ranking.POOL`. With
        `whole` all rows of both rankings."""
        if not view.snapshot.count:
            return []
        return fused(
            view,
            bundle.query_str,
            self._today(),
            StoredBM25(view).find(bundle.query_str),
            lambda others: self._by_meaning(view, bundle, others),
            whole=whole,
        )

    def _by_meaning(
        self, view: SnapshotView, bundle: QueryBundle, others: Rows
    ) -> RowScores | None:
        """The nearest rows and the rows `others` with their cosines; None without vectors."""
        embedder = self._embedder
        if embedder is None or not self._embed_question(bundle, embedder):
            return None
        try:
            return self._nearest(view, embedder, bundle.embedding or [], others)
        except ModelFailed as error:
            self._on_trouble(error)
            return None

    def _embed_question(self, bundle: QueryBundle, embedder: Embedder) -> bool:
        """Embed the question when it has no vector yet. Returns True when it has one."""
        try:
            if bundle.embedding is None:
                bundle.embedding = question_vector(embedder, bundle.query_str).tolist()
        except Exception as error:  # noqa: BLE001 - whatever an embedder raises: the words answer
            self._on_trouble(error)
            return False
        return True


def _nodes(view: SnapshotView, rows: Sequence[int], scores: Sequence[float]) -> list[NodeWithScore]:
    """The chunks of these rows as nodes, in the order asked for."""
    nodes = map(_node, view.chunks(rows), view.snapshot.node_ids(rows))
    return [NodeWithScore(node=n, score=s) for n, s in zip(nodes, scores, strict=True)]


def _node(chunk: StoredChunk, node_id: str) -> TextNode:
    """A chunk as a node; its place is metadata, not part of the text."""
    place = {
        "path": chunk.path,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "date": chunk.date,
        "headings": " > ".join(chunk.headings),
    }
    return TextNode(
        id_=node_id,
        text=chunk.text,
        metadata=place,
        excluded_embed_metadata_keys=list(place),
        excluded_llm_metadata_keys=["date", "headings"],
    )


def word_index(view: SnapshotView, terms: Sequence[str]) -> bm25s.BM25:
    """A bm25s index of these words only, from the stored postings.

    The scores are those of `bm25s.BM25(k1, b, method="lucene").index(all chunks)`.
    """
    snapshot, index = view.snapshot, bm25s.BM25(k1=K1, b=B, method="lucene")
    found, data, indices, ends = [], [], [], [0]
    for word, rows, weights in weigh_words(view, terms):
        found.append(word)
        data.append(weights)
        indices.append(rows.astype(np.int32))
        ends.append(ends[-1] + len(rows))
    index.scores = {
        "data": np.concatenate(data) if data else np.empty(0, np.float32),
        "indices": np.concatenate(indices) if indices else np.empty(0, np.int32),
        "indptr": np.array(ends, np.int64),
        "num_docs": snapshot.count,
    }
    index.vocab_dict = {word: at for at, word in enumerate(found)}
    index.unique_token_ids_set = set(index.vocab_dict.values())
    index.nonoccurrence_array = None
    return index


class StoredBM25(BM25Retriever):  # type: ignore[misc, unused-ignore]
    """LlamaIndex's BM25Retriever over the stored postings, with our own tokens.

    Each question gets a bm25s index of its own words, so nothing is built in advance. An index
    without chunks, a question without words and an unknown word give no nodes; no node has score 0.
    """

    def __init__(self, view: SnapshotView) -> None:
        self._view = view
        super().__init__(
            existing_bm25=word_index(view, ()),
            similarity_top_k=min(POOL, view.snapshot.count),
            skip_stemming=True,
            callback_manager=CallbackManager([]),
        )

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self.find(query_bundle.query_str)
        return _nodes(self._view, found.rows.tolist(), found.scores.tolist())

    def find(self, text: str) -> RowScores:
        """The rows that `retrieve` makes nodes of, best first."""
        terms = respell(self._view, topic_words(text), text)
        self.bm25 = word_index(self._view, terms)
        if not self.bm25.vocab_dict:
            return RowScores(np.empty(0, np.int64), np.empty(0, np.float32))
        scores = self.bm25.get_scores(terms)
        allowed = self._view.allowed
        wanted = scores > 0 if allowed is None else (scores > 0) & allowed
        rows = best(scores, self.similarity_top_k, wanted)  # bm25s orders no equal scores
        return RowScores(rows, scores[rows])
