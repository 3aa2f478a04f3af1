"""BM25 as a LlamaIndex retriever over the stored postings. Imports llama_index: see `llama`."""

from __future__ import annotations

from collections.abc import Sequence

import bm25s
import numpy as np
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.retrievers.bm25 import BM25Retriever

from openclaw.retrieval.hybrid import weighted
from openclaw.retrieval.llama_nodes import nodes_of, scored
from openclaw.retrieval.ranking import K1, POOL, B
from openclaw.retrieval.tokens import words
from openclaw.retrieval.view import View


def word_index(view: View, terms: Sequence[str]) -> bm25s.BM25:
    """The part of a bm25s index of everything that these words need, from the stored postings.

    The scores are those of `bm25s.BM25(k1, b, method="lucene").index(all chunks)`.
    """
    snapshot, index = view.snapshot, bm25s.BM25(k1=K1, b=B, method="lucene")
    found, data, indices, ends = [], [], [], [0]
    for word, rows, weights in weighted(view, terms):
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


class StoredBM25(BM25Retriever):  # type: ignore[misc]
    """LlamaIndex's BM25Retriever over the stored postings, with our own words.

    Each question gets a bm25s index of its own words only, so nothing is loaded or built ahead. An
    index without chunks, a question without words and a word that nothing holds give no nodes, and
    no node has score 0.
    """

    def __init__(self, view: View, top_k: int = POOL) -> None:
        self._view = view
        super().__init__(
            existing_bm25=word_index(view, ()),
            similarity_top_k=min(top_k, view.snapshot.count),
            skip_stemming=True,
            callback_manager=CallbackManager([]),
        )

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        terms = list(dict.fromkeys(words(query_bundle.query_str)))
        self.bm25 = word_index(self._view, terms)
        if not self.bm25.vocab_dict:
            return []
        allowed = self._view.allowed
        found = self.bm25.retrieve(
            [terms],
            k=self.similarity_top_k,
            show_progress=False,
            backend_selection="numpy",
            weight_mask=None if allowed is None else allowed.astype(np.float32),
        )
        scores = found.scores[0]
        rows = found.documents[0][scores > 0].tolist()
        return scored(nodes_of(self._view, rows), scores[scores > 0].tolist())
