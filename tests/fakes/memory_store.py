"""A vector store of LlamaIndex in memory, which many clients share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryResult,
)


class MemoryStore(BasePydanticVectorStore):
    """As PostgreSQL's class it does not replace a node of the same id, but holds it twice.

    nodes  what is held; raises ConnectionError while the store is away
    asked  how many nodes each query wanted
    """

    stores_text: bool = True
    _away: bool = PrivateAttr(default=False)
    _nodes: list[BaseNode] = PrivateAttr(default_factory=list)
    _asked: list[int] = PrivateAttr(default_factory=list)

    def set_away(self, *, away: bool) -> None:
        self._away = away

    @property
    def nodes(self) -> list[BaseNode]:
        if self._away:
            raise ConnectionError("nobody at http://me:secret@there")
        return self._nodes

    @property
    def asked(self) -> list[int]:
        return self._asked

    @property
    def client(self) -> Any:
        return None

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        self.nodes.extend(nodes)
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id: str, **kwargs: Any) -> None:
        raise NotImplementedError

    def delete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **kwargs: Any,
    ) -> None:
        if filters is None:
            gone = set(node_ids or ())
            self.nodes[:] = [node for node in self.nodes if node.node_id not in gone]
            return
        [each] = filters.filters
        assert isinstance(each, MetadataFilter)
        assert each.operator.value == "<"
        self.nodes[:] = [node for node in self.nodes if node.metadata[each.key] >= each.value]

    def get_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        wanted = set(node_ids or ())
        return [node for node in self.nodes if node.node_id in wanted]

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        self._asked.append(query.similarity_top_k)
        vectors = np.array([node.get_embedding() for node in self.nodes])
        order = np.argsort(-(vectors @ np.array(query.query_embedding)), kind="stable")
        found = [self.nodes[at] for at in order[: query.similarity_top_k]]
        return VectorStoreQueryResult(nodes=found, ids=[node.node_id for node in found])
