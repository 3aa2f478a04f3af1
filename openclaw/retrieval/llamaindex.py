"""The index as LlamaIndex retrievers.

Importing llama_index takes about a second, so only `search.load_llama` loads this module, for a
program of the user's own. `ranking.by_words` finds the same rows; a test compares both lists.

Nothing here uses LlamaIndex's global `Settings`: the embedding model, callbacks and transformations
are always passed. So no vendor's default model, no tokenizer download and no progress bar appears.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import bm25s
import numpy as np
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.retrievers.bm25 import BM25Retriever

from openclaw.retrieval.database import StoredChunk
from openclaw.retrieval.question import topic_words
from openclaw.retrieval.ranking import (
    K1,
    NONE_FOUND,
    POOL,
    B,
    FusedRow,
    RowScores,
    respell,
    weigh_words,
)
from openclaw.retrieval.snapshot import SnapshotView, best

FindWords = Callable[[SnapshotView, str], RowScores]
Rank = Callable[[str, list[float] | None, FindWords], tuple[SnapshotView, list[FusedRow]]]


class HybridRetriever(BaseRetriever):
    """The index of a home as a LlamaIndex retriever, ranked by words and meaning.

    In your own program, with any query engine or agent of LlamaIndex:

        search = Search(home, IndexOptions(), lambda: embedder, home.private)
        retriever = search.retriever(k=5)
        for found in retriever.retrieve("Which port does staging use?"):
            print(found.score, found.metadata["path"], found.metadata["start_line"], found.text)

    `rank` is `Search.rank`. Nodes have path, start_line, end_line, date and headings as metadata;
    scores are between 0 and 1.
    """

    def __init__(self, rank: Rank, top_k: int) -> None:
        super().__init__(callback_manager=CallbackManager([]))
        self._rank, self._top_k = rank, top_k

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        def find_words(view: SnapshotView, text: str) -> RowScores:
            return StoredBM25(view).find(text)

        view, ranked = self._rank(query_bundle.query_str, query_bundle.embedding, find_words)
        found = ranked[: self._top_k]
        return _nodes(view, [one.row for one in found], [one.score for one in found])


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
    index = bm25s.BM25(k1=K1, b=B, method="lucene")
    found = list(weigh_words(view, terms))
    index.scores = {
        "data": np.concatenate([NONE_FOUND.scores, *(weights for _, _, weights in found)]),
        "indices": np.concatenate(
            [NONE_FOUND.rows, *(rows for _, rows, _ in found)], dtype=np.int32
        ),
        "indptr": np.cumsum([0, *(len(rows) for _, rows, _ in found)]),
        "num_docs": view.snapshot.count,
    }
    index.vocab_dict = {word: at for at, (word, *_) in enumerate(found)}
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
            return NONE_FOUND
        scores = self.bm25.get_scores(terms)
        allowed = self._view.allowed
        wanted = scores > 0 if allowed is None else (scores > 0) & allowed
        rows = best(scores, self.similarity_top_k, wanted)  # bm25s orders no equal scores
        return RowScores(rows, scores[rows])
