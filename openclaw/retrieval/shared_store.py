"""The vector store that `index.store` names, in which the clones of a home share their vectors.

A vector is found there by the hash of what was embedded, so a text is embedded once, by whichever
clone comes first. What is in the index is each clone's own list. docs/vector-stores.md.
"""

from __future__ import annotations

import contextlib
import inspect
import threading
import time
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from openclaw.config.mcp_settings import VARIABLE, fill_variables
from openclaw.errors import OpenclawError

if TYPE_CHECKING:
    from openclaw.retrieval.embedder_choice import Embedder
    from openclaw.retrieval.snapshot import Floats

# A store is not asked again for this long after a failure.
REST_SECONDS = 30.0
# A clone names its vectors again after so many days; what none has named for longer is swept.
NAMED_DAYS = 7
KEPT_DAYS = 30
MODULES = "llama_index."
# How the classes call the name of what holds the vectors, and the length of a vector.
NAME_ARGUMENTS = ("collection_name", "table_name", "index_name")
WIDTH_ARGUMENTS = {"dim", "embed_dim", "dimension", "embedding_dimension", "vector_size"}
NEEDED = {"get_nodes": "gives no vectors back by their ids", "delete_nodes": "removes none"}


class StoreFailed(OpenclawError):
    """The vector store cannot be used, for whatever reason."""


class SharedVector(NamedTuple):
    """A vector, and the day since 1970 on which a clone has last named it."""

    vector: Floats
    day: int


class _Closable(Protocol):
    def close(self) -> None: ...


T = TypeVar("T", bound=_Closable)
R = TypeVar("R")


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

    def ask(self, embedder: Embedder, do: Callable[[T], R]) -> R | None:
        """What `do` gives for the store with the vectors of this embedder; None when there is no
        store or it fails now."""
        try:
            opened = self._open(embedder)
            return do(opened) if opened else None
        except OpenclawError as error:  # of the store, or of an embedder that is asked its width
            self.failed(error)
            return None

    def _open(self, embedder: Embedder) -> T | None:
        with self._lock:
            if not self.is_ready or self._make is None:
                return None
            if self._opened is None or self._opened[0] != embedder.name:
                self.close()
                self._opened = embedder.name, self._make(embedder)
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
    except Exception as error:  # a package of another version fails in many ways
        package = "-".join(module.replace("_", "-").split(".")[:3])
        raise StoreFailed(f"{name} cannot be loaded: {error}", f"pip install {package}") from error
    if not (isinstance(found, type) and issubclass(found, base)):
        raise StoreFailed(f"index.store: {path} is no vector store")
    for call, what in NEEDED.items():
        if getattr(found, call) is getattr(base, call):
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
        store = getattr(found, "from_params", found)(**_fill(named, environment))
        if load := getattr(store.client, "load_collection", None):
            load(name + ending)  # Milvus has it only on disk after a new start
        return store

    return open_store


def _name_argument(found: type[Any]) -> str:
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


def run_for(seconds: float, do: Callable[[], R]) -> R:
    """What `do` gives, in a thread that is not waited for longer: some classes wait minutes for a
    server that hangs. Raises what it raises, or TimeoutError."""
    done: list[R] = []
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
