"""The vectors that the clones of a home share, in any vector store of LlamaIndex.

Imports llama_index (1 s): import this module only lazily.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

import numpy as np
import numpy.typing as npt
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
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
from openclaw.retrieval.vector_store import (
    Nearest,
    SharedVector,
    StoreFailed,
    constructor,
    find_class,
)

if TYPE_CHECKING:
    from openclaw.retrieval.embedders import Embedder
    from openclaw.retrieval.snapshot import Floats, Rows, Snapshot, SnapshotView

T = TypeVar("T")
BATCH = 500
WAIT_SECONDS = 15.0
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
    own, width = f"openclaw_{home}_{model}".lower(), len(embedder.query("width"))
    make = constructor(find_class(path, BasePydanticVectorStore), own, width, given)
    named = {name: environment.get(name) for name in VARIABLE.findall(str(given))}
    for name, value in named.items():
        if value is None:
            raise StoreFailed(f"index.store: the variable {name} is not set")
    secrets = [value for value in named.values() if value]
    return SharedVectors(path.rpartition(".")[2], lambda: make(environment), secrets)


class SharedVectors:
    """The vectors of one home and one embedder, each a node whose id is the hash of what was
    embedded, and whose only content is the day on which a clone has last named it.

    All methods raise StoreFailed. `secrets` are left out of what it says.
    """

    def __init__(
        self, name: str, make: Callable[[], BasePydanticVectorStore], secrets: Sequence[str] = ()
    ) -> None:
        self._name, self._secrets = name, secrets
        self._store: BasePydanticVectorStore = self._call(make)

    def close(self) -> None:
        """End the connections, if the class can: the clients call it by several names."""
        client = self._store.client
        for name in ("close", "dispose"):
            if hasattr(client, name):
                self._call(getattr(client, name))

    def find(self, contexts: Iterable[int]) -> dict[int, SharedVector]:
        """Those of these vectors that the store has."""
        found: dict[int, SharedVector] = {}
        for part in _batches(list(contexts)):
            for node in self._call(self._store.get_nodes, node_ids=[_id(each) for each in part]):
                if node.embedding is None:
                    raise StoreFailed(f"{self._name} gives no vectors back")
                vector = np.asarray(node.embedding, np.float32)
                found[UUID(node.node_id).int] = SharedVector(vector, int(node.metadata[NAMED]))
        return found

    def add(self, contexts: Sequence[int], vectors: npt.NDArray[np.floating], day: int) -> None:
        """Save vectors (float[n, d]) as named on that day."""
        for part in _batches(range(len(contexts))):
            self._call(self._store.add, [_node(contexts[at], vectors[at], day) for at in part])

    def renew(self, contexts: Sequence[int], vectors: npt.NDArray[np.floating], day: int) -> None:
        """Save vectors that the store has as named on that day. As not every class replaces a node,
        it is removed first: a clone that looks for it in this moment embeds its text again."""
        for part in _batches(range(len(contexts))):
            self._delete([_id(contexts[at]) for at in part])
            self.add([contexts[at] for at in part], vectors[list(part)], day)

    def sweep(self, day: int) -> int:
        """Remove the vectors last named before that day. Returns how many."""
        old = MetadataFilter(key=NAMED, value=day, operator=FilterOperator.LT)
        removed: set[str] = set()
        while True:
            nodes = self._call(self._store.get_nodes, filters=MetadataFilters(filters=[old]))
            ids = {node.node_id for node in nodes} - removed
            if not ids:
                return len(removed)
            for part in _batches(sorted(ids)):
                self._delete(list(part))
            removed |= ids

    def nearest(
        self, view: SnapshotView, embedder: Embedder, vector: Sequence[float], others: Rows
    ) -> Nearest:
        """See `ranking.nearest`."""
        contexts, allowed = view.snapshot.contexts, view.snapshot.known(embedder.name)
        if view.allowed is not None:
            allowed = allowed & view.allowed
        others = others[allowed[others]]
        question = np.asarray(vector, np.float32)
        mine = np.unique(contexts[allowed])
        wanted = mine if len(mine) <= 2 * POOL else self._nearest_of(mine, question)
        wanted = np.union1d(wanted, contexts[others])
        held = self.find(wanted.tolist())
        if not held:
            nothing = RowScores(np.empty(0, np.int64), np.empty(0, np.float32))
            return Nearest(nothing, len(wanted) > 0)
        keys = np.array(sorted(held), np.int64)
        scores = np.stack([held[key].vector for key in keys.tolist()]) @ question
        rows = np.flatnonzero(allowed & np.isin(contexts, keys))
        cosines = scores[np.searchsorted(keys, contexts[rows])].astype(np.float32)
        chosen = np.isin(rows, others)
        chosen[best(cosines, POOL)] = True
        return Nearest(RowScores(rows[chosen], cosines[chosen]), len(held) < len(wanted))

    def usual_cosine(self, snapshot: Snapshot, name: str, vector: Floats) -> float | None:
        """See `snapshot.usual_cosine`."""
        known = snapshot.contexts[snapshot.known(name)]
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

    def _delete(self, ids: list[str]) -> None:
        if type(self._store).delete_nodes is not BasePydanticVectorStore.delete_nodes:
            self._call(self._store.delete_nodes, ids)
            return
        for each in ids:
            self._call(self._store.delete, each)

    def _call(self, do: Callable[..., T], *given: Any, **named: Any) -> T:
        """Call the class in a thread that is not waited for longer than `WAIT_SECONDS`: some wait
        minutes for a server that hangs."""
        done: list[T] = []
        failed: list[BaseException] = []

        def run() -> None:
            try:
                done.append(do(*given, **named))
            except BaseException as error:  # noqa: BLE001 - it becomes StoreFailed
                failed.append(error)

        thread = threading.Thread(target=run, name="vector-store", daemon=True)
        thread.start()
        thread.join(WAIT_SECONDS)
        if done:
            return done[0]
        error = failed[0] if failed else TimeoutError(f"no answer in {WAIT_SECONDS:.0f} s")
        text = re.sub(r"://[^@/\s]*@", "://", str(error) or type(error).__name__)
        for secret in self._secrets:
            text = text.replace(secret, "***")
        if isinstance(error, NotImplementedError):
            text = f"it lacks {getattr(do, '__name__', 'what is needed')}"
        raise StoreFailed(f"{self._name}: {text}") from error


def _node(context: int, vector: npt.NDArray[np.floating], day: int) -> TextNode:
    """A node without text, and its own document for classes that delete documents only."""
    name = _id(context)
    source: Any = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=name)}
    numbers = np.asarray(vector, np.float32).tolist()
    return TextNode(
        id_=name, text=name, metadata={NAMED: day}, relationships=source, embedding=numbers
    )


def _id(context: int) -> str:
    """Some stores take nothing but UUIDs."""
    return str(UUID(int=context))


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[start : start + BATCH] for start in range(0, len(items), BATCH))
