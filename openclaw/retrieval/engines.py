"""Where vectors are searched: in our own file, or in a vector store that a setting names.

An engine is only a copy. The index keeps all vectors itself, so an engine that is away, held by
another process or emptied costs a notice and never an answer; `docs/memory.md` says when one pays.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from openclaw.errors import OpenclawError, UsageError
from openclaw.files.home import Home

if TYPE_CHECKING:
    from openclaw.retrieval.embeddings import Embedder
    from openclaw.retrieval.llama import Source
    from openclaw.retrieval.view import View

# How a failing engine is called, and the key of its notice.
ENGINE = "vector store"
# After a failure it is not asked for this long.
REST_SECONDS = 30.0


class Engine(Protocol):
    """A vector store that follows the index."""

    def vectors(self, view: View, embedder: Embedder, *, patient: bool = False) -> Source:
        """Where the view's vectors are searched, after it was brought up to date with them.
        Raises whatever the store raises, and OpenclawError when that would take long and
        nobody is `patient`: the next call goes on."""
        ...

    def close(self) -> None: ...


class Attached:
    """An engine from when it is first needed to when it fails, and after a rest again. May be used
    by several threads; the engine is asked by one at a time for its source."""

    def __init__(
        self, make: Callable[[], Engine] | None, rest_seconds: float = REST_SECONDS
    ) -> None:
        self._make, self._rest_seconds = make, rest_seconds
        self._engine: Engine | None = None
        self._lock = threading.RLock()
        self._rest_until = 0.0

    @property
    def is_ready(self) -> bool:
        """Whether there is one that did not fail a moment ago."""
        return self._make is not None and time.monotonic() >= self._rest_until

    def vectors(self, view: View, embedder: Embedder, *, patient: bool = False) -> Source:
        """See `Engine.vectors`; only when `is_ready`."""
        with self._lock:
            if self._engine is None:
                if self._make is None:
                    raise LookupError("no engine is set")
                self._engine = self._make()
            return self._engine.vectors(view, embedder, patient=patient)

    def failed(self) -> None:
        """Let the engine go; it is opened again after its rest."""
        self._rest_until = time.monotonic() + self._rest_seconds
        self.close()

    def close(self) -> None:
        with self._lock:
            engine, self._engine = self._engine, None
            if engine:
                with contextlib.suppress(Exception):
                    engine.close()


def choose_engine(kind: str, uri: str, home: Home) -> Callable[[], Engine] | None:
    """What opens the engine of the settings `index.vectors` and `index.vectors_uri`; None for the
    index itself. `uri` is a file (relative to the home) or an address; empty for the default.
    Raises UsageError for an engine that does not exist or a place that cannot be one."""
    if kind == "embedded":
        return None
    if kind != "milvus":
        raise UsageError(f"no such vector store: {kind}", "index.vectors is embedded or milvus")
    if uri and "://" not in uri and not uri.endswith(".db"):
        raise UsageError(
            f"not a place for Milvus: {uri}",
            "index.vectors_uri is a file that ends in .db, or an address like http://host:19530",
        )

    def open_milvus() -> Engine:
        try:
            from openclaw.retrieval.milvus import Milvus
        except ImportError as error:
            raise OpenclawError(
                f"Milvus is not installed: {error}", "pip install 'openclaw[milvus]'"
            ) from error
        folder = home.private / "index"
        default = folder / "milvus.db"
        target = uri if "://" in uri else str(home.root / uri if uri else default)
        return Milvus(target, folder / "milvus.sqlite", str(home.root))

    return open_milvus
