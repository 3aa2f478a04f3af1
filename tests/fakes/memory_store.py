"""A vector store of LlamaIndex in memory, which many clients share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

    nodes   what is held; raises ConnectionError while the store is away
    asked   how many nodes each query wanted
    before  is called before each call of a client
    same    the store whose nodes this one has too
    """

    stores_text: bool = True
    _away: bool = PrivateAttr(default=False)
    _nodes: list[BaseNode] = PrivateAttr(default_factory=list)
    _asked: list[int] = PrivateAttr(default_factory=list)
    _before: Callable[[], object] = PrivateAttr()

    def __init__(
        self, before: Callable[[], object] = lambda: None, same: MemoryStore | None = None
    ) -> None:
        super().__init__(stores_text=True)
        self._before = before
        self._nodes = same._nodes if same else []

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
        self._before()
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
        self._before()
        if filters is None:
            gone = set(node_ids or ())
            self.nodes[:] = [node for node in self.nodes if node.node_id not in gone]
            return
        gone = {node.node_id for node in self._chosen("<", filters)}
        self.nodes[:] = [node for node in self.nodes if node.node_id not in gone]

    def get_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        self._before()
        if filters is not None:
            return self._chosen(">=", filters)
        wanted = set(node_ids or ())
        return [node for node in self.nodes if node.node_id in wanted]

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        self._asked.append(query.similarity_top_k)
        vectors = np.array([node.get_embedding() for node in self.nodes])
        order = np.argsort(-(vectors @ np.array(query.query_embedding)), kind="stable")
        found = [self.nodes[at] for at in order[: query.similarity_top_k]]
        return VectorStoreQueryResult(nodes=found, ids=[node.node_id for node in found])

    def _chosen(self, operator: str, filters: MetadataFilters) -> list[BaseNode]:
        [each] = filters.filters
        assert isinstance(each, MetadataFilter)
        assert each.operator.value == operator
        holds = {"<": lambda value: value < each.value, ">=": lambda value: value >= each.value}
        return [node for node in self.nodes if holds[operator](node.metadata[each.key])]
