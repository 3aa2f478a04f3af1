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
from typing import TYPE_CHECKING, Any

import bm25s
import numpy as np
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.retrievers.bm25 import BM25Retriever

from openclaw.errors import ModelFailed
from openclaw.retrieval import ranking, snapshot
from openclaw.retrieval.question import topic_words
from openclaw.retrieval.ranking import (
    K1,
    POOL,
    B,
    RowScores,
    fused,
    respell,
    scale,
    weigh_words,
)
from openclaw.retrieval.records import StoredChunk
from openclaw.retrieval.snapshot import Rows, SnapshotView

if TYPE_CHECKING:
    from openclaw.retrieval.embedders import Embedder


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
        usual_cosine: ranking.UsualCosine = snapshot.usual_cosine,
        top_k: int = 5,
        today: Callable[[], date] = date.today,
        on_trouble: Callable[[Exception], None] = lambda error: None,
    ) -> None:
        super().__init__(callback_manager=CallbackManager([]))
        self._state, self._embedder = state, embedder
        self._nearest, self._usual_cosine = nearest, usual_cosine
        self._top_k, self._today, self._on_trouble = top_k, today, on_trouble

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        view = self._state()
        found = self.fused(view, query_bundle)[: self._top_k]
        return scored(nodes_of(view, [one.row for one in found]), [one.score for one in found])

    def fused(
        self, view: SnapshotView, query_bundle: QueryBundle, *, whole: bool = False
    ) -> list[ranking.FusedRow]:
        """The ranked rows of which `retrieve` makes nodes, best first, at most `ranking.POOL`. With
        `whole` all rows of both rankings."""
        if not view.snapshot.count:
            return []
        by_words = ranked(view, StoredBM25(view).retrieve(query_bundle))

        def by_meaning(others: Rows) -> ranking.RowScores | None:
            return self._by_meaning(view, query_bundle, others)

        return fused(
            view,
            query_bundle.query_str,
            self._today(),
            by_words,
            by_meaning,
            lambda: scale(view, self._embedder, query_bundle.embedding, self._usual_cosine),
            self._top_k,
            whole=whole,
        )

    def _by_meaning(
        self, view: SnapshotView, bundle: QueryBundle, others: Rows
    ) -> ranking.RowScores | None:
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
                text = bundle.query_str
                bundle.embedding = TextEmbedding(embedder).get_query_embedding(text)
        except Exception as error:  # noqa: BLE001 - whatever an embedder raises: the words answer
            self._on_trouble(error)
            return False
        return True


def node_of(chunk: StoredChunk) -> TextNode:
    """A chunk as a node; its place is metadata, not part of the text."""
    place = {
        "path": chunk.path,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "date": chunk.date,
        "headings": " > ".join(chunk.headings),
    }
    return TextNode(
        id_=chunk.node_id,
        text=chunk.text,
        metadata=place,
        excluded_embed_metadata_keys=list(place),
        excluded_llm_metadata_keys=["date", "headings"],
    )


def nodes_of(view: SnapshotView, rows: Sequence[int]) -> list[TextNode]:
    """The chunks of these rows as nodes, in the order asked for."""
    return [node_of(chunk) for chunk in view.chunks(rows)]


def scored(nodes: Sequence[TextNode], scores: Sequence[float]) -> list[NodeWithScore]:
    return [NodeWithScore(node=n, score=s) for n, s in zip(nodes, scores, strict=True)]


def ranked(view: SnapshotView, found: Sequence[NodeWithScore]) -> RowScores:
    """Nodes as rows and scores, without nodes that the view does not hold or allow."""
    pairs = [
        (row, each.score or 0.0)
        for each in found
        if (row := view.row_of(each.node.node_id)) is not None
        and (view.allowed is None or view.allowed[row])
    ]
    rows = np.array([row for row, _ in pairs], np.int64)
    return RowScores(rows, np.array([score for _, score in pairs], np.float32))


class TextEmbedding(BaseEmbedding):
    """Our embedder as a LlamaIndex embedding model. It cuts texts to its own window."""

    _embedder: Any = PrivateAttr()

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(model_name=embedder.name, callback_manager=CallbackManager([]))
        self._embedder = embedder

    @classmethod
    def class_name(cls) -> str:
        return "TextEmbedding"

    def _get_query_embedding(self, query: str) -> list[float]:
        numbers: list[float] = snapshot.question_vector(self._embedder, query).tolist()
        return numbers

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        rows: list[list[float]] = np.asarray(self._embedder.documents(texts)).tolist()
        return rows


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

    def __init__(self, view: SnapshotView, top_k: int = POOL) -> None:
        self._view = view
        super().__init__(
            existing_bm25=word_index(view, ()),
            similarity_top_k=min(top_k, view.snapshot.count),
            skip_stemming=True,
            callback_manager=CallbackManager([]),
        )

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        text = query_bundle.query_str
        terms = respell(self._view, topic_words(text), text)
        self.bm25 = word_index(self._view, terms)
        if not self.bm25.vocab_dict:
            return []
        scores = self.bm25.get_scores(terms)
        allowed = self._view.allowed
        wanted = scores > 0 if allowed is None else (scores > 0) & allowed
        rows = snapshot.best(scores, self.similarity_top_k, wanted)  # bm25s orders no equal scores
        return scored(nodes_of(self._view, rows.tolist()), scores[rows].tolist())
