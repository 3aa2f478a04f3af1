"""Milvus as the vector store, through LlamaIndex's integration: a file of Milvus Lite, or a server.

Imports llama_index (1 s) and pymilvus (0.5 s): import this module only lazily.
"""

from __future__ import annotations

import contextlib
import logging
import platform
import secrets
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from grpc import RpcError
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.vector_stores.milvus import MilvusVectorStore
from pymilvus import MilvusClient
from pymilvus.exceptions import MilvusException

from openclaw.errors import OpenclawError
from openclaw.retrieval.llamaindex import VectorSource
from openclaw.retrieval.ranking import POOL
from openclaw.retrieval.vector_store import SentVectors
from openclaw.storage.safe_open import check_no_links, make_folder

if TYPE_CHECKING:
    from openclaw.retrieval.embedders import Embedder
    from openclaw.retrieval.snapshot import Mask, Snapshot, SnapshotView


T = TypeVar("T")

# Most documents that a filter names. For more, or for parts of documents, a wider search is
# filtered afterwards.
MOST_NAMED = 1_000
WIDE_POOL = 2_000
BATCH = 500
# Most vectors that one search sends (about 1 s); later searches send the rest.
MOST_AT_ONCE = 2_000
# Milvus Lite is slow with vectors that are not flushed: with 10,000 of them a question took 0.7 s,
# after a flush 0.1 s.
FLUSH_FROM = 500
# Milvus accepts 65,535 bytes of a text.
LONGEST_TEXT = 16_000
WAIT_SECONDS = 5.0
COLLECTION_NOT_FOUND = 100
COUNT = "count(*)"


class Milvus:
    """The vectors of one home in a collection of its own.

    target     a file (Milvus Lite, one process at a time) or the address of a server
    sent_path  the file that lists the vectors that were sent
    owner      distinguishes homes on one server

    A collection that is lost or incomplete is filled again.
    """

    def __init__(self, target: str, sent_path: Path, owner: str) -> None:
        self._target, self._is_file = target, "://" not in target
        self._owner = "openclaw_" + _digest(f"{platform.node()}:{owner}".encode())
        self._sent = SentVectors(sent_path)
        self._store: MilvusVectorStore | None = None
        self._followed: Snapshot | None = None
        self._count = self._loose = 0

    def vectors(
        self, view: SnapshotView, embedder: Embedder, *, patient: bool = False
    ) -> VectorSource:
        """See `VectorEngine`."""
        store = self._current(view.snapshot, embedder.name, patient)
        if view.allowed is None:
            return VectorSource(store)
        paths, are_whole = _allowed_files(view.snapshot, view.allowed)
        if len(paths) > MOST_NAMED:
            return VectorSource(store, top_k=WIDE_POOL)
        named = [_document(path) for path in paths]
        return VectorSource(store, named, POOL if are_whole else WIDE_POOL)

    def close(self) -> None:
        self._close_store()
        self._sent.close()

    def _current(self, snapshot: Snapshot, name: str, patient: bool) -> MilvusVectorStore:
        """The store with exactly the vectors that the snapshot has."""
        store = self._store = self._open_collection(snapshot, name)
        if self._followed is snapshot:
            return store
        self._followed = None
        ids = snapshot.node_ids()
        wanted = {ids[row]: row for row in snapshot.known(name).nonzero()[0].tolist()}
        sent = self._sent.nodes()
        self._delete(store, [node for node in sent if node not in wanted])
        missing = [row for node, row in wanted.items() if not sent.get(node)]
        now = missing if patient else missing[:MOST_AT_ONCE]
        self._add(store, snapshot, name, now)
        self._count = len(wanted) - len(missing) + len(now)
        if len(now) < len(missing):
            raise OpenclawError(
                f"Milvus has only {self._count:,} of {len(wanted):,} vectors yet",
                "the others are sent by: openclaw memory index",
            )
        self._followed = snapshot
        return store

    def _open_collection(self, snapshot: Snapshot, name: str) -> MilvusVectorStore:
        """The collection for the vectors of an embedder: as it was left, else a new one."""
        collection = self._sent.state("collection")
        is_current = bool(collection) and self._sent.state("embedder") == name
        held = self._store if is_current else None
        if held and held.collection_name == collection and self._is_whole(held):
            return held
        self._close_store()
        if is_current:
            store = _connect(self._target, collection, int(self._sent.state("width")))
            if self._size(store) >= sum(self._sent.nodes().values()):
                return store
            store.client.close()
        return self._create_collection(snapshot, name)

    def _is_whole(self, held: MilvusVectorStore) -> bool:
        """Return True when the collection still holds every vector. A file belongs to this process
        alone; asking a server also shows early when it hangs."""
        return self._is_file or self._size(held) >= self._count

    def _size(self, store: MilvusVectorStore) -> int:
        """How many vectors the collection holds, -1 without one."""
        name = store.collection_name
        with _translate_errors(self._target):
            try:
                counted = store.client.query(name, output_fields=[COUNT], timeout=WAIT_SECONDS)
            except MilvusException as error:
                if error.code != COLLECTION_NOT_FOUND:
                    raise
                return -1
        return int(counted[0][COUNT])

    def _create_collection(self, snapshot: Snapshot, name: str) -> MilvusVectorStore:
        """Create a collection in place of all others of this home."""
        self._sent.clear()
        collection = f"{self._owner}_{secrets.token_hex(4)}"
        width = snapshot.vectors(name)[0].shape[1]
        store = _connect(self._target, collection, width)
        for other in store.client.list_collections():
            if other.startswith(self._owner) and other != collection:
                store.client.drop_collection(other)
        self._sent.set_state(collection=collection, embedder=name, width=str(width))
        return store

    def _close_store(self) -> None:
        store, self._store, self._followed = self._store, None, None
        self._count = self._loose = 0
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
        self._loose += len(rows)
        if self._is_file and self._loose >= FLUSH_FROM:
            store.client.flush(store.collection_name)
            self._loose = 0


def _connect(target: str, collection: str, width: int) -> MilvusVectorStore:
    """Open the collection, or create it. Milvus Lite compares all vectors, which is exact; a server
    chooses its own index."""
    # Errors are raised as well; the log lines on stderr would only repeat them.
    for name in ("pymilvus", "milvus_lite"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    is_file = "://" not in target
    with _translate_errors(target):
        if is_file:
            make_folder(check_no_links(Path(target)).parent)
        else:
            _wait_for_server(target)
        store = MilvusVectorStore(
            uri=target,
            collection_name=collection,
            dim=width,
            similarity_metric="IP",
            consistency_level="Strong",
            index_config={"index_type": "FLAT" if is_file else "AUTOINDEX"},
            upsert_mode=True,
            use_async_client=False,
            output_fields=["_node_content", "_node_type"],
            timeout=WAIT_SECONDS,
        )
        # A collection that another process left is only on disk.
        store.client.load_collection(collection)
    return store


def _wait_for_server(target: str) -> None:
    """Wait briefly for a server: the integration would wait a minute for one that hangs."""
    client = MilvusClient(uri=target, timeout=WAIT_SECONDS)
    try:
        client.get_server_version(timeout=WAIT_SECONDS)
    finally:
        client.close()


@contextlib.contextmanager
def _translate_errors(target: str) -> Iterator[None]:
    """Raise errors of Milvus as an OpenclawError that says where and what to do."""
    try:
        yield
    except (MilvusException, RpcError) as error:
        what = error.message if isinstance(error, MilvusException) else "no answer"
        raise OpenclawError(
            f"Milvus at {_hide_password(target)}: {what}",
            "is it running?" if "://" in target else "a file serves one process at a time",
        ) from error


def _hide_password(target: str) -> str:
    """An address without its password."""
    scheme, separator, rest = target.rpartition("://")
    return scheme + separator + rest.rpartition("@")[2] if separator else target


def _allowed_files(snapshot: Snapshot, allowed: Mask) -> tuple[list[str], bool]:
    """(files with allowed rows, True when all rows of these files are allowed)."""
    paths, are_whole = [], True
    for file in snapshot.files():
        part = allowed[file.first_row : file.first_row + file.count]
        if part.any():
            paths.append(file.path)
            are_whole = are_whole and bool(part.all())
    return paths, are_whole


def _source(path: str) -> RelatedNodeInfo:
    return RelatedNodeInfo(node_id=_document(path))


def _document(path: str) -> str:
    """An id for a file without quotes, since filters contain it."""
    return _digest(path.encode("utf-8"))


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[start : start + BATCH] for start in range(0, len(items), BATCH))
