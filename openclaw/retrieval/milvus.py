"""Milvus as the vector store, through LlamaIndex's integration: a file of Milvus Lite, or a server.

Imports llama_index and pymilvus (three seconds): `engines` is the door.
"""

from __future__ import annotations

import logging
import platform
import secrets
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.vector_stores.milvus import MilvusVectorStore
from pymilvus.exceptions import MilvusException

from openclaw.errors import OpenclawError
from openclaw.retrieval.llama_vectors import Source
from openclaw.retrieval.sent import Sent

if TYPE_CHECKING:
    from openclaw.retrieval.embeddings import Embedder
    from openclaw.retrieval.snapshot import Snapshot
    from openclaw.retrieval.view import View

Item = TypeVar("Item")

# Most documents that a filter names; beyond that more is asked for and sorted out afterwards.
MOST_NAMED = 1_000
WIDE_POOL = 2_000
BATCH = 500
# Milvus takes 65,535 bytes of a text.
LONGEST_TEXT = 16_000
CONNECT_SECONDS = 5.0


class Milvus:
    """The vectors of one home in a collection of its own.

    `target` is a file (Milvus Lite, one process at a time) or the address of a server; `sent_path`
    is where the list of what was sent is kept; `owner` tells homes on one server apart. A
    collection that is lost, or does not hold what was sent, is filled anew.
    """

    def __init__(self, target: str, sent_path: Path, owner: str) -> None:
        self._target = target
        self._owner = "openclaw_" + _digest(f"{platform.node()}:{owner}".encode())
        self._sent = Sent(sent_path)
        self._store: MilvusVectorStore | None = None
        self._followed: Snapshot | None = None

    def vectors(self, view: View, embedder: Embedder) -> Source:
        """See `engines.Engine`."""
        store = self._current(view.snapshot, embedder.name)
        named = _documents(view)
        if named is None:
            return Source(store)
        if len(named) > MOST_NAMED:
            return Source(store, top_k=WIDE_POOL)
        return Source(store, named)

    def close(self) -> None:
        self._let_go()
        self._sent.close()

    def _current(self, snapshot: Snapshot, name: str) -> MilvusVectorStore:
        """The store with exactly the vectors that the snapshot has."""
        if self._store and self._followed is snapshot:
            return self._store
        store = self._store = self._opened(snapshot, name)
        ids = snapshot.node_ids()
        wanted = {ids[row]: row for row in snapshot.known(name).nonzero()[0].tolist()}
        sent = self._sent.nodes()
        self._delete(store, [node for node in sent if node not in wanted])
        self._add(store, snapshot, name, [wanted[n] for n in wanted if not sent.get(n)])
        self._followed = snapshot
        return store

    def _opened(self, snapshot: Snapshot, name: str) -> MilvusVectorStore:
        """The collection for the vectors of an embedder, as it was left or empty."""
        collection = self._sent.state("collection")
        if self._store and self._sent.state("embedder") == name:
            return self._store
        self._let_go()
        if not collection or self._sent.state("embedder") != name:
            return self._started(snapshot, name)
        store = _connected(self._target, collection, int(self._sent.state("width")))
        arrived = sum(self._sent.nodes().values())
        if _size(store) >= arrived:
            return store
        store.client.close()
        return self._started(snapshot, name)

    def _started(self, snapshot: Snapshot, name: str) -> MilvusVectorStore:
        """A new collection in place of all others of this home."""
        self._sent.clear()
        collection = f"{self._owner}_{secrets.token_hex(4)}"
        width = snapshot.vectors(name)[0].shape[1]
        store = _connected(self._target, collection, width)
        for other in store.client.list_collections():
            if other.startswith(self._owner) and other != collection:
                store.client.drop_collection(other)
        self._sent.set_state(collection=collection, embedder=name, width=str(width))
        return store

    def _let_go(self) -> None:
        store, self._store, self._followed = self._store, None, None
        if store:
            store.client.close()

    def _delete(self, store: MilvusVectorStore, nodes: Sequence[str]) -> None:
        for batch in _batches(nodes):
            store.delete_nodes(list(batch))
            self._sent.gone(batch)

    def _add(
        self, store: MilvusVectorStore, snapshot: Snapshot, name: str, rows: Sequence[int]
    ) -> None:
        if not rows:
            return
        held, places = snapshot.vectors(name)
        for batch in _batches(rows):
            nodes = [
                TextNode(
                    id_=chunk.node_id,
                    text=chunk.text[:LONGEST_TEXT],
                    metadata={"path": chunk.path},
                    relationships={NodeRelationship.SOURCE: _source(chunk.path)},
                    embedding=held[places[chunk.row]].astype("float32").tolist(),
                )
                for chunk in snapshot.rows(batch)
            ]
            ids = [node.node_id for node in nodes]
            self._sent.sending(ids)
            store.add(nodes)
            self._sent.arrived(ids)


def _connected(target: str, collection: str, width: int) -> MilvusVectorStore:
    """The opened collection, made when it is missing. Milvus Lite compares all vectors, which is
    exact; a server chooses its own index."""
    # What goes wrong is raised as well; its own lines on stderr would only repeat it.
    for name in ("pymilvus", "milvus_lite"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    if "://" not in target:
        Path(target).parent.mkdir(parents=True, exist_ok=True)
    try:
        store = MilvusVectorStore(
            uri=target,
            collection_name=collection,
            dim=width,
            similarity_metric="IP",
            consistency_level="Strong",
            index_config={"index_type": "AUTOINDEX" if "://" in target else "FLAT"},
            upsert_mode=True,
            use_async_client=False,
            output_fields=["_node_content", "_node_type"],
            timeout=CONNECT_SECONDS,
        )
        # One that another process left is on disk only.
        store.client.load_collection(collection)
    except MilvusException as error:
        raise OpenclawError(
            f"Milvus at {target}: {error.message}",
            "is it running?" if "://" in target else "a file serves one process at a time",
        ) from error
    return store


def _size(store: MilvusVectorStore) -> int:
    counted = store.client.query(store.collection_name, output_fields=["count(*)"])
    return int(counted[0]["count(*)"])


def _documents(view: View) -> list[str] | None:
    """The documents of a narrowed view, None when it is not narrowed."""
    if view.allowed is None:
        return None
    return [
        _document(file.path)
        for file in view.snapshot.files()
        if view.allowed[file.first_row : file.first_row + file.count].any()
    ]


def _source(path: str) -> RelatedNodeInfo:
    return RelatedNodeInfo(node_id=_document(path))


def _document(path: str) -> str:
    """What stands for a file: no quotes in it, as it is written into filters."""
    return _digest(path.encode("utf-8"))


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()


def _batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    return (items[start : start + BATCH] for start in range(0, len(items), BATCH))
