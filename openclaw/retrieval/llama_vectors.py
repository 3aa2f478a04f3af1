"""Vectors as a LlamaIndex vector store and embedding model. Imports llama_index: see `llama`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.indices.vector_store.base import VectorStoreIndex
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryResult,
)
from llama_index.core.vector_stores.utils import build_metadata_filter_fn

from openclaw.retrieval import vectors
from openclaw.retrieval.llama_nodes import nodes_of
from openclaw.retrieval.ranking import POOL
from openclaw.retrieval.vectors import Mask
from openclaw.retrieval.view import View

if TYPE_CHECKING:
    from openclaw.retrieval.embeddings import Embedder
    from openclaw.retrieval.snapshot import Snapshot


class SqliteVectorStore(BasePydanticVectorStore):
    """The vectors of a snapshot as a LlamaIndex vector store: all cosines, exactly.

    It is read only: the files are the truth, and `upkeep` writes what they say. `filters` may ask
    for "path" with any of LlamaIndex's operators; other keys raise ValueError. Rows that have no
    vector yet are not found.
    """

    stores_text: bool = True
    _view: Any = PrivateAttr()
    _name: str = PrivateAttr()

    def __init__(self, view: View, name: str) -> None:
        super().__init__(stores_text=True)
        self._view = view
        self._name = name

    @classmethod
    def class_name(cls) -> str:
        return "SqliteVectorStore"

    @property
    def client(self) -> Any:
        return self._view.snapshot

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        raise NotImplementedError("change the files; the index follows them")

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        raise NotImplementedError("change the files; the index follows them")

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """The `similarity_top_k` nearest nodes with their cosines, nearest first."""
        vector = np.asarray(query.query_embedding or (), np.float32)
        cosines, known = vectors.cosines(self._view.snapshot, self._name, vector)
        wanted = known & self._wanted(query.filters, query.node_ids)
        rows = vectors.best(cosines, query.similarity_top_k, wanted)
        nodes = nodes_of(self._view, rows.tolist())
        return VectorStoreQueryResult(
            nodes=nodes, similarities=cosines[rows].tolist(), ids=[node.node_id for node in nodes]
        )

    def get_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        return list(nodes_of(self._view, np.flatnonzero(self._wanted(filters, node_ids)).tolist()))

    def _wanted(self, filters: MetadataFilters | None, node_ids: list[str] | None) -> Mask:
        snapshot, allowed = self._view.snapshot, self._view.allowed
        mask = np.ones(snapshot.count, np.bool_) if allowed is None else allowed.copy()
        if filters and filters.filters:
            mask &= _rows_of_paths(snapshot, filters)
        if node_ids:
            named = np.zeros(snapshot.count, np.bool_)
            rows = [row for each in node_ids if (row := self._view.row_of(each)) is not None]
            named[rows] = True
            mask &= named
        return mask


def _rows_of_paths(snapshot: Snapshot, filters: MetadataFilters) -> Mask:
    """The rows of the files that the filters allow."""
    for part in filters.filters:
        if isinstance(part, MetadataFilter) and part.key != "path":
            raise ValueError(f"only 'path' can be filtered, not {part.key!r}")
    allows = build_metadata_filter_fn(lambda path: {"path": path}, filters)
    mask = np.zeros(snapshot.count, np.bool_)
    for file in snapshot.files():
        mask[file.first_row : file.first_row + file.count] = allows(file.path)
    return mask


class TextEmbedding(BaseEmbedding):
    """An embedder of ours as LlamaIndex's embedding model. It cuts texts to its own window."""

    _embedder: Any = PrivateAttr()

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(model_name=embedder.name, callback_manager=CallbackManager([]))
        self._embedder = embedder

    @classmethod
    def class_name(cls) -> str:
        return "TextEmbedding"

    def _get_query_embedding(self, query: str) -> list[float]:
        numbers: list[float] = vectors.question_vector(self._embedder, query).tolist()
        return numbers

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        rows: list[list[float]] = np.asarray(self._embedder.documents(texts)).tolist()
        return rows


@dataclass(frozen=True, slots=True)
class Source:
    """A vector store and what it is asked for: the `top_k` nearest, of `documents` when they are
    given (their ids, for a store that does not know what a view allows)."""

    store: BasePydanticVectorStore
    documents: list[str] | None = None
    top_k: int = POOL

    def retriever(self, embedder: Embedder) -> BaseRetriever:
        """`VectorStoreIndex.from_vector_store(store).as_retriever()`, no global default used."""
        model = TextEmbedding(embedder)
        index = VectorStoreIndex.from_vector_store(
            self.store,
            embed_model=model,
            callback_manager=CallbackManager([]),
            transformations=[model],
        )
        return index.as_retriever(similarity_top_k=self.top_k, doc_ids=self.documents)

    def cosines(self, node_ids: list[str], vector: list[float]) -> dict[str, float]:
        """The cosines of these nodes, as far as the store has them."""
        if not node_ids:
            return {}
        query = VectorStoreQuery(vector, similarity_top_k=len(node_ids), node_ids=node_ids)
        found = self.store.query(query)
        return dict(zip(found.ids or (), found.similarities or (), strict=True))


def stored_vectors(view: View, embedder: Embedder) -> Source:
    """The vectors of our own SQLite file."""
    return Source(SqliteVectorStore(view, embedder.name))
