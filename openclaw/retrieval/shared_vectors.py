"""The vectors that the clones of a home share, in any vector store of LlamaIndex.

Imports llama_index (1 s): import this module only lazily.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

import numpy as np
import numpy.typing as npt
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
)

from openclaw.config.mcp_settings import VARIABLE
from openclaw.retrieval.ranking import POOL, RowScores
from openclaw.retrieval.snapshot import FEWEST, SAMPLE, best
from openclaw.retrieval.vector_store import SharedVector, StoreFailed, find_class, opener, run_for

if TYPE_CHECKING:
    from openclaw.retrieval.embedders import Embedder
    from openclaw.retrieval.snapshot import Floats, Rows, Snapshot, SnapshotView

T = TypeVar("T")
BATCH = 500
WAIT_SECONDS = 10.0
CLOSE_SECONDS = 1.0
# Milvus gives at most 16,384.
MOST_ASKED = 16_000
NAMED = "named"


def open_shared(
    given: Mapping[str, Any], home: str, embedder: Embedder, environment: Mapping[str, str]
) -> SharedVectors:
    """The vectors of the home `index.id` and of one embedder in the store of `index.store`."""
    path = str(given.get("class", ""))
    # Errors are raised as well; log lines on stderr would only repeat them.
    for library in ("pymilvus", "milvus_lite", path.rpartition(".")[0]):
        logging.getLogger(library).setLevel(logging.CRITICAL)
    model = blake2b(embedder.name.encode(), digest_size=6).hexdigest()
    name, width = f"openclaw_{home}_{model}".lower(), len(embedder.query("width"))
    found = find_class(path, BasePydanticVectorStore)
    make = opener(found, name, width, given, environment)
    secrets = [environment[each] for each in VARIABLE.findall(str(given)) if environment[each]]
    return SharedVectors(found.__name__, make, width, secrets)


class SharedVectors:
    """The vectors of one home and one embedder, each a node whose id is the hash of what was
    embedded, and whose only content is the day on which a clone has last named it.

    All methods raise StoreFailed. `secrets` are left out of what it says.
    """

    def __init__(
        self,
        name: str,
        make: Callable[[], BasePydanticVectorStore],
        width: int,
        secrets: Sequence[str] = (),
    ) -> None:
        self._name, self._width, self._secrets = name, width, secrets
        self._store = self._call(make)
        try:
            self.find([0])
        except StoreFailed as error:
            if isinstance(error.__cause__, TimeoutError):
                raise
            # Of clones that begin at once one makes the table, and another fails to make it.
            self._store = self._call(make)
            self.find([0])

    def close(self) -> None:
        """End the connections, if the class can: the clients call it by several names."""
        client = self._store.client
        for name in ("close", "dispose"):
            run_for(CLOSE_SECONDS, getattr(client, name, lambda: None))

    def find(self, contexts: Iterable[int]) -> dict[int, SharedVector]:
        """Those of these vectors that the store has."""
        found: dict[int, SharedVector] = {}
        for part in _batches(list(contexts)):
            found |= self._call(self._read, [_id(each) for each in part])
        return found

    def _read(self, ids: list[str]) -> dict[int, SharedVector]:
        found = {}
        for node in self._store.get_nodes(node_ids=ids):
            vector = np.asarray(node.embedding or (), np.float32)
            if len(vector) != self._width:
                raise ValueError(
                    f"it gives vectors of {len(vector)} numbers, the embedding model of "
                    f"{self._width}: choose another index.id"
                )
            found[UUID(node.node_id).int] = SharedVector(vector, int(node.metadata[NAMED]))
        return found

    def add(self, contexts: Sequence[int], vectors: npt.NDArray[np.floating], day: int) -> int:
        """Save vectors (float[n, d]) as named on that day. Returns how many."""
        for part in _batches(range(len(contexts))):
            self._call(self._store.add, [_node(contexts[at], vectors[at], day) for at in part])
        return len(contexts)

    def renew(self, contexts: Sequence[int], vectors: npt.NDArray[np.floating], day: int) -> None:
        """Save vectors that the store has as named on that day. As not every class replaces a node,
        it is removed first: a clone that looks for it in this moment embeds its text again."""
        for part in _batches(range(len(contexts))):
            self._call(self._store.delete_nodes, [_id(contexts[at]) for at in part])
            self.add([contexts[at] for at in part], vectors[list(part)], day)

    def sweep(self, day: int) -> bool:
        """Remove the vectors last named before that day. Returns True."""
        old = MetadataFilter(key=NAMED, value=day, operator=FilterOperator.LT)
        self._call(self._store.delete_nodes, filters=MetadataFilters(filters=[old]))
        return True

    def nearest(
        self, view: SnapshotView, embedder: Embedder, vector: Sequence[float], others: Rows
    ) -> tuple[RowScores, bool]:
        """See `ranking.nearest`; and whether the store no longer has vectors that it had."""
        contexts, allowed = view.snapshot.contexts, view.snapshot.vectors(embedder.name).known
        if view.allowed is not None:
            allowed = allowed & view.allowed
        others = others[allowed[others]]
        question = np.asarray(vector, np.float32)
        mine = np.unique(contexts[allowed])
        wanted = mine if len(mine) <= 2 * POOL else self._nearest_of(mine, question)
        wanted = np.union1d(wanted, contexts[others])
        held = self.find(wanted.tolist())
        keys = np.array(sorted(held), np.int64)
        vectors = [held[key].vector for key in keys.tolist()]
        scores = np.array(vectors, np.float32).reshape(len(keys), len(question)) @ question
        rows = np.flatnonzero(allowed & np.isin(contexts, keys))
        cosines = scores[np.searchsorted(keys, contexts[rows])]
        chosen = np.isin(rows, others)
        chosen[best(cosines, POOL)] = True
        return RowScores(rows[chosen], cosines[chosen]), len(held) < len(wanted)

    def usual_cosine(self, snapshot: Snapshot, embedder: Embedder, vector: Floats) -> float | None:
        """See `snapshot.usual_cosine`."""
        known = snapshot.contexts[snapshot.vectors(embedder.name).known]
        if len(known) < FEWEST:
            return None
        held = self.find(known[:: -(-len(known) // SAMPLE)].tolist()).values()
        return float(np.median([each.vector @ vector for each in held])) if held else None

    def _nearest_of(self, mine: npt.NDArray[np.int64], question: Floats) -> npt.NDArray[np.int64]:
        """The nearest of these contexts, at least `POOL` if the store can: other clones' are left
        out, so more are asked for until enough remain."""
        asked = 4 * POOL
        while True:
            query = VectorStoreQuery(question.tolist(), similarity_top_k=asked)
            found = self._call(self._store.query, query)
            ids = found.ids or [node.node_id for node in found.nodes or ()]
            near = np.array([UUID(each).int for each in dict.fromkeys(ids)], np.int64)
            near = near[np.isin(near, mine)]
            if len(near) >= POOL or len(ids) < asked or asked >= MOST_ASKED:
                return near
            asked = min(4 * asked, MOST_ASKED)

    def _call(self, do: Callable[..., T], *given: Any, **named: Any) -> T:
        try:
            return run_for(WAIT_SECONDS, lambda: do(*given, **named))
        except Exception as error:
            text = re.sub(r"://[^@/\s]*@", "://", str(error) or type(error).__name__)
            for secret in self._secrets:
                text = text.replace(secret, "***")
            raise StoreFailed(f"{self._name}: {text}") from error


def _node(context: int, vector: npt.NDArray[np.floating], day: int) -> TextNode:
    """A node without text of its own, which some stores refuse."""
    numbers = np.asarray(vector, np.float32).tolist()
    return TextNode(id_=_id(context), text=_id(context), metadata={NAMED: day}, embedding=numbers)


def _id(context: int) -> str:
    """Some stores take nothing but UUIDs."""
    return str(UUID(int=context))


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[start : start + BATCH] for start in range(0, len(items), BATCH))
