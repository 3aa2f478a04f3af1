"""The vectors that the clones of a home share, in any vector store of LlamaIndex.

Imports llama_index (1 s): import this module only lazily.
"""

from __future__ import annotations

import inspect
import logging
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from hashlib import blake2b
from importlib import import_module
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

from openclaw.config.mcp_settings import VARIABLE, fill_variables
from openclaw.retrieval.shared_store import SharedVector, StoreFailed
from openclaw.security.masking import map_texts

if TYPE_CHECKING:
    from openclaw.retrieval.embedder_choice import Embedder
    from openclaw.retrieval.snapshot import Floats, Rows

T = TypeVar("T")
MAX_AT_ONCE = 512
WAIT_SECONDS, CLOSE_SECONDS = 10.0, 1.0
MAX_ASKED = 16_000  # Milvus gives at most 16,384.
MODULES = "llama_index."
# How the classes call the name of what holds the vectors, and the length of a vector.
NAME_ARGUMENTS = ("collection_name", "table_name", "index_name")
WIDTH_ARGUMENTS = {"dim", "embed_dim", "dimension", "embedding_dimension", "vector_size"}
NEEDED = {"get_nodes": "gives no vectors back by their ids", "delete_nodes": "removes none"}
LEASE_SECONDS = 60  # So long counts the claim of a clone that was killed.
NAMED, CLAIMS = "named", "_now"


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
    found = find_class(path)
    make = opener(found, name, width, given, environment)
    hidden = [environment[each] for each in VARIABLE.findall(str(given)) if environment[each]]
    return SharedVectors(found.__name__, make, width, hidden)


class SharedVectors:
    """The vectors of one home and one embedder, each a node whose id is the hash of what was
    embedded, and whose only content is the day on which a clone has last named it. Claims are in a
    table of their own, which is read as a whole.

    make    opens the table whose name ends so
    hidden  is left out of errors; all methods raise StoreFailed
    now     returns seconds since 1970
    """

    def __init__(
        self,
        name: str,
        make: Callable[[str], BasePydanticVectorStore],
        width: int,
        hidden: Sequence[str] = (),
        now: Callable[[], float] = time.time,
    ) -> None:
        self._name, self._make, self._width, self._hidden = name, make, width, hidden
        self._now = now
        self._tables: dict[str, BasePydanticVectorStore] = {}
        self._store = self._table("")

    def _table(self, ending: str, tries: int = 5) -> BasePydanticVectorStore:
        if ending not in self._tables:
            try:
                table = self._call(self._make, ending)
                self._call(table.get_nodes, node_ids=[_id(0)])
            except StoreFailed as error:
                if tries == 1 or isinstance(error.__cause__, TimeoutError):
                    raise
                # Of clones that begin at once one makes the table, and others fail to make it.
                time.sleep(secrets.randbelow(200) / 1e3)
                return self._table(ending, tries - 1)
            self._tables[ending] = table
        return self._tables[ending]

    def close(self) -> None:
        """End the connections, if the class can: the clients call it by several names."""
        for table in self._tables.values():
            for name in ("close", "dispose"):
                run_for(CLOSE_SECONDS, getattr(table.client, name, lambda: None))

    def find(self, contexts: Iterable[int]) -> dict[int, SharedVector]:
        """Those of these vectors that the store has."""
        ids = [_id(each) for each in contexts]
        found: dict[int, SharedVector] = {}
        for start in range(0, len(ids), MAX_AT_ONCE):
            part = ids[start : start + MAX_AT_ONCE]
            for node in self._call(self._store.get_nodes, node_ids=part):
                vector = np.asarray(node.embedding or (), np.float32)
                if len(vector) != self._width:
                    raise StoreFailed(
                        f"{self._name} gives {len(vector)} numbers a vector, not {self._width}",
                        "choose another index.id",
                    )
                found[UUID(node.node_id).int] = SharedVector(vector, int(node.metadata[NAMED]))
        return found

    def add(self, contexts: Sequence[int], vectors: npt.NDArray[np.floating], day: int) -> int:
        """Save vectors (float[n, d]; n at most `MAX_AT_ONCE`) as named on that day. Returns n."""
        nodes = [_node(*pair, day) for pair in zip(contexts, vectors, strict=True)]
        self._call(self._store.add, nodes)
        return len(nodes)

    def claim(self, contexts: Sequence[int]) -> int:
        """Tell other clones that at most `MAX_AT_ONCE` texts are embedded here. Gives a claim."""
        claim, text = secrets.randbits(63), " ".join(map(str, contexts))
        node = _node(claim, np.eye(1, self._width)[0], int(self._now()), text)
        self._call(self._table(CLAIMS).add, [node])
        return claim

    def rivals(self, claim: int) -> tuple[set[int], set[int]]:
        """The texts of other claims: of those that go before this one, and of those after it. As
        each clone has written its own, of two that claim a text at least one sees the other."""
        before, after, now = set[int](), set[int](), int(self._now())
        every = _named(FilterOperator.GTE, 0)
        for node in self._call(self._table(CLAIMS).get_nodes, filters=every):
            other, texts = UUID(node.node_id).int, map(int, node.get_content().split())
            if other != claim and abs(now - node.metadata[NAMED]) < LEASE_SECONDS:
                (before if other < claim else after).update(texts)
        return before, after

    def release(self, claim: int) -> bool:
        """End a claim, whose vectors are in the store now. Returns True."""
        self._call(self._table(CLAIMS).delete_nodes, [_id(claim)])
        return True

    def renew(self, contexts: Sequence[int], vectors: npt.NDArray[np.floating], day: int) -> None:
        """Save vectors that the store has as named on that day. As not every class replaces a node,
        it is removed first; as it is claimed meanwhile, nobody embeds its text."""
        claim = self.claim(contexts)
        others = set().union(*self.rivals(claim))
        if mine := [at for at, context in enumerate(contexts) if context not in others]:
            self._call(self._store.delete_nodes, [_id(contexts[at]) for at in mine])
            self.add([contexts[at] for at in mine], vectors[mine], day)
        self.release(claim)

    def sweep(self, day: int) -> bool:
        """Remove the vectors last named before that day, and old claims. Returns True."""
        ended = int(self._now()) - LEASE_SECONDS
        for table, value in ((self._store, day), (self._table(CLAIMS), ended)):
            self._call(table.delete_nodes, filters=_named(FilterOperator.LT, value))
        return True

    def nearest(self, mine: Rows, question: Floats, most: int) -> Rows:
        """The nearest of the contexts `mine` (int64[n], ascending), `most` or more if the store
        can: other clones' are left out, so more are asked for until enough remain."""
        asked = 4 * most
        while True:
            query = VectorStoreQuery(question.tolist(), similarity_top_k=asked)
            found = self._call(self._store.query, query)
            ids = found.ids or [node.node_id for node in found.nodes or ()]
            near = np.array([UUID(each).int for each in dict.fromkeys(ids)], np.int64)
            near = near[np.isin(near, mine)]
            if len(near) >= most or len(ids) < asked or asked >= MAX_ASKED:
                return near
            asked = min(4 * asked, MAX_ASKED)

    def _call(self, do: Callable[..., T], *given: Any, **named: Any) -> T:
        try:
            return run_for(WAIT_SECONDS, lambda: do(*given, **named))
        except Exception as error:
            text = re.sub(r"://[^@/\s]*@", "://", str(error) or type(error).__name__)
            for secret in self._hidden:
                text = text.replace(secret, "***")
            raise StoreFailed(f"{self._name}: {text}") from error


def _node(key: int, vector: npt.NDArray[np.floating], named: int, text: str = "") -> TextNode:
    """A node has a text, as some stores refuse one without."""
    numbers, text = np.asarray(vector, np.float32).tolist(), text or _id(key)
    return TextNode(id_=_id(key), text=text, metadata={NAMED: named}, embedding=numbers)


def _named(operator: FilterOperator, value: int) -> MetadataFilters:
    return MetadataFilters(filters=[MetadataFilter(key=NAMED, value=value, operator=operator)])


def _id(key: int) -> str:
    """Some stores take nothing but UUIDs."""
    return str(UUID(int=key))


# -------- the class of the store


def find_class(path: str) -> type[Any]:
    """The vector store of LlamaIndex of that name. Raises StoreFailed that says what it lacks.

    Nothing but LlamaIndex's own is imported: the name comes from a file that others may have
    written.
    """
    module, _, name = path.rpartition(".")
    if not path.startswith(MODULES):
        raise StoreFailed(f"index.store: not a class of LlamaIndex: {path or 'no class'}")
    try:
        found = getattr(import_module(module), name, None)
    except Exception as error:  # a package of another version fails in many ways
        package = "-".join(module.replace("_", "-").split(".")[:3])
        raise StoreFailed(f"{name} cannot be loaded: {error}", f"pip install {package}") from error
    if not (isinstance(found, type) and issubclass(found, BasePydanticVectorStore)):
        raise StoreFailed(f"index.store: {path} is no vector store")
    for call, what in NEEDED.items():
        if getattr(found, call) is getattr(BasePydanticVectorStore, call):
            raise StoreFailed(f"{name} lacks {call}: it {what}")
    if not _name_argument(found):
        raise StoreFailed(f"{name} takes no {' or '.join(NAME_ARGUMENTS)} to tell homes apart")
    return found


def opener(
    found: type[Any],
    name: str,
    width: int,
    given: Mapping[str, Any],
    environment: Mapping[str, str],
) -> Callable[[str], Any]:
    """A function that opens the store of that class whose name has an ending, and raises whatever
    the class raises. Raises StoreFailed that names a wrong argument, or a variable that is not
    set."""
    known = parameters(found)
    takes_all = any(each.kind is each.VAR_KEYWORD for each in known.values())
    for key in given.keys() - {"class", *known}:
        near = get_close_matches(key, known, 1, 0.8 if takes_all else 0.0)
        if near or not takes_all:
            raise StoreFailed(
                f"index.store: {found.__name__} takes no '{key}'", f"'{near[0]}' instead?"
            )
    for variable in VARIABLE.findall(str(given)):
        if variable not in environment:
            raise StoreFailed(f"index.store: the variable {variable} is not set")
    arguments = {key: each for key, each in given.items() if key != "class"}
    arguments |= dict.fromkeys(known.keys() & WIDTH_ARGUMENTS, width)

    def open_store(ending: str) -> Any:
        named = arguments | {_name_argument(found): name + ending}
        filled = map_texts(named, lambda text: fill_variables(text, environment))
        store = getattr(found, "from_params", found)(**filled)
        if load := getattr(store.client, "load_collection", None):
            load(name + ending)  # Milvus has it only on disk after a new start
        return store

    return open_store


def _name_argument(found: type[Any]) -> str:
    return next((name for name in NAME_ARGUMENTS if name in parameters(found)), "")


def parameters(found: type[Any]) -> Mapping[str, inspect.Parameter]:
    """The arguments that open a store of that class."""
    return inspect.signature(getattr(found, "from_params", found)).parameters


def run_for(seconds: float, do: Callable[[], T]) -> T:
    """What `do` gives, in a thread that is not waited for longer: some classes wait minutes for a
    server that hangs. Raises what it raises, or TimeoutError."""
    done: list[T] = []
    failed: list[Exception] = []

    def run() -> None:
        try:
            done.append(do())
        except Exception as error:  # noqa: BLE001 - it is raised below
            failed.append(error)

    thread = threading.Thread(target=run, name="vector-store", daemon=True)
    thread.start()
    thread.join(seconds)
    if not done:
        raise failed[0] if failed else TimeoutError(f"no answer in {seconds:.0f} s")
    return done[0]
