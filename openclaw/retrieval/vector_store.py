"""The vector store that `index.store` names, in which the clones of a home share their vectors.

A vector is found there by the hash of what was embedded, so a text is embedded once, by whichever
clone comes first. What is in the index is each clone's own list. docs/vector-stores.md.
"""

from __future__ import annotations

import contextlib
import inspect
import re
import threading
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from openclaw.config.mcp_settings import fill_variables
from openclaw.errors import OpenclawError

if TYPE_CHECKING:
    from openclaw.retrieval.embedders import Embedder
    from openclaw.retrieval.ranking import RowScores
    from openclaw.retrieval.snapshot import Floats

# A store is not asked again for this long after a failure.
REST_SECONDS = 30.0
# A clone names its vectors again after so many days; what none has named for longer is swept.
NAMED_DAYS = 7
KEPT_DAYS = 30
MODULES = "llama_index."
# How the classes call the name of what holds the vectors, and the length of a vector.
NAME_ARGUMENTS = ("collection_name", "table_name", "index_name")
WIDTH_ARGUMENTS = ("dim", "embed_dim", "dimension", "embedding_dimension", "vector_size")


class StoreFailed(OpenclawError):
    """The vector store cannot be used, for whatever reason."""


class SharedVector(NamedTuple):
    """A vector, and the day since 1970 on which a clone has last named it."""

    vector: Floats
    day: int


class Nearest(NamedTuple):
    """Rows with their cosines. `lost`: the store no longer has vectors that it had."""

    scores: RowScores
    lost: bool


class _Closable(Protocol):
    def close(self) -> None: ...


T = TypeVar("T", bound=_Closable)


class LazyStore(Generic[T]):
    """A vector store that is opened at first use, closed after a failure, and opened again later.

    make   opens it for an embedder; None when the settings name none
    place  tells this store from every other one
    keeps  the index has the vectors too, and answers
    tell   is called with each failure
    today  returns the number of days since 1970
    """

    def __init__(
        self,
        make: Callable[[Embedder], T] | None = None,
        place: str = "",
        *,
        keeps: bool = True,
        rest_seconds: float = REST_SECONDS,
        today: Callable[[], int] = lambda: int(time.time() // 86_400),
    ) -> None:
        self.place, self.today = place, today
        self.keeps = keeps or make is None
        self.tell: Callable[[Exception], None] = lambda error: None
        self._make, self._rest_seconds = make, rest_seconds
        self._opened: tuple[str, T] | None = None
        self._lock = threading.RLock()
        self._rest_until = 0.0

    @property
    def is_ready(self) -> bool:
        """Return True when there is a store that did not fail a moment ago."""
        return self._make is not None and time.monotonic() >= self._rest_until

    def use(self, embedder: Embedder) -> T | None:
        """The store for the vectors of this embedder; None while there is none."""
        with self._lock:
            if not self.is_ready or self._make is None:
                return None
            if self._opened is None or self._opened[0] != embedder.name:
                self.close()
                try:
                    self._opened = embedder.name, self._make(embedder)
                except StoreFailed as error:
                    self.failed(error)
                    return None
            return self._opened[1]

    def failed(self, error: Exception) -> None:
        """Close the store for `rest_seconds`, and say why."""
        self._rest_until = time.monotonic() + self._rest_seconds
        self.close()
        self.tell(error)

    def close(self) -> None:
        with self._lock:
            opened, self._opened = self._opened, None
            if opened:
                with contextlib.suppress(Exception):
                    opened[1].close()


def find_class(path: str, base: Any) -> type[Any]:
    """The class of that name, a vector store of LlamaIndex as `base` is. Raises StoreFailed that
    says what it lacks.

    Nothing but LlamaIndex's own is imported: the name comes from a file that others may have
    written.
    """
    module, _, name = path.rpartition(".")
    if not path.startswith(MODULES):
        raise StoreFailed(f"index.store: not a class of LlamaIndex: {path or 'no class'}")
    try:
        found = getattr(import_module(module), name, None)
    except ImportError as error:
        package = re.sub(r"[._]", "-", module)
        raise StoreFailed(f"{name} is not installed: {error}", f"pip install {package}") from error
    if not (isinstance(found, type) and issubclass(found, base)):
        raise StoreFailed(f"index.store: {path} is no vector store")
    if getattr(found, "get_nodes", None) is base.get_nodes:
        raise StoreFailed(f"{name} lacks get_nodes: it gives no vectors back by their ids")
    if not _named(found):
        raise StoreFailed(f"{name} takes no {' or '.join(NAME_ARGUMENTS)} to tell homes apart")
    return found


def constructor(
    found: type[Any], name: str, width: int, given: Mapping[str, Any]
) -> Callable[[Mapping[str, str]], Any]:
    """A function that opens the store with the variables of an environment; it raises whatever the
    class raises."""
    make = getattr(found, "from_params", found)
    arguments = {key: each for key, each in given.items() if key != "class"}
    arguments[_named(found)] = name
    arguments |= {key: width for key in WIDTH_ARGUMENTS if key in parameters(found)}

    def open_store(environment: Mapping[str, str]) -> Any:
        store = make(**_fill(arguments, environment))
        if load := getattr(store.client, "load_collection", None):
            load(name)  # Milvus has it only on disk after a new start
        return store

    return open_store


def _named(found: type[Any]) -> str:
    return next((name for name in NAME_ARGUMENTS if name in parameters(found)), "")


def parameters(found: type[Any]) -> Mapping[str, inspect.Parameter]:
    """The arguments that open a store of that class."""
    return inspect.signature(getattr(found, "from_params", found)).parameters


def _fill(value: Any, environment: Mapping[str, str]) -> Any:
    """The value with each `${NAME}` in it as the environment has it."""
    if isinstance(value, str):
        return fill_variables(value, environment)
    if isinstance(value, Mapping):
        return {key: _fill(each, environment) for key, each in value.items()}
    return [_fill(each, environment) for each in value] if isinstance(value, list) else value
