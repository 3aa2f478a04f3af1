"""Opens the model, the search, the embedder and the vector store that the settings name."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from openclaw.config import Settings
from openclaw.errors import OpenclawError, UsageError
from openclaw.models.base import Model, ModelCard
from openclaw.storage.home import Home

if TYPE_CHECKING:
    from openclaw.retrieval.embedders import Choice
    from openclaw.retrieval.scan import IndexOptions
    from openclaw.retrieval.search import Search
    from openclaw.retrieval.vector_store import VectorEngine


def open_model(
    name: str, settings: Settings, home: Home, *, as_tested: bool = True, saving: bool = True
) -> Model:
    """The model of that name, or of "auto". `as_tested` adds the results of its test to its card.
    Without `saving` it stores no state of a conversation. Raises as `registry.choose` does."""
    from openclaw.models.registry import choose
    from openclaw.storage.program import profiles_folder

    return choose(
        name,
        host=settings.ollama.host,
        window=settings.window,
        keep_alive=settings.keep_alive,
        openai_base_url=settings.openai.base_url,
        api_key=os.environ.get(settings.openai.api_key_env, ""),
        threads=settings.embedded.threads,
        kv_folder=home.private / "cache" / "kv",
        kv_mb=settings.embedded.kv_cache_mb,
        api_key_env=settings.openai.api_key_env,
        fallbacks=settings.fallbacks,
        wanted=lambda session: saving and (home.sessions / f"{session}.json").exists(),
        profiles=profiles_folder() if as_tested else None,
    )


def open_search(home: Home, settings: Settings) -> Search:
    """The search of a home. It reads nothing before the first question."""
    from openclaw.retrieval.search import Search

    index = settings.index
    return Search(
        home,
        index_options(settings),
        lambda: open_embedder(settings),
        home.private,
        engine=choose_engine(index.vectors, index.vectors_uri, home),
    )


def index_options(settings: Settings) -> IndexOptions:
    """The index settings as values of the index."""
    from openclaw.retrieval.scan import IndexOptions

    index = settings.index
    return IndexOptions(index.paths, index.sessions, index.max_file_mb * 1_000_000)


def open_embedder(settings: Settings) -> Choice:
    """The embedder of the settings, or why there is none. Loads nothing yet."""
    from openclaw.models.catalog import embedding_files
    from openclaw.models.ollama_server import base_url
    from openclaw.retrieval.embedders import choose_embedder

    return choose_embedder(
        settings.embedding,
        minilm=embedding_files(),
        ollama_url=base_url(settings.ollama.host),
        threads=settings.embedded.threads,
    )


ROOM_TO_THINK = 4096
"""Tokens of a reply for a model whose thinking cannot be switched off."""


def bounds(settings: Settings, card: ModelCard) -> tuple[int, bool | None]:
    """(most tokens of a reply, `think` of the request: True, False, or None for the default).

    For a model that used up a whole reply by thinking in its test, thinking is switched off; where
    that is impossible, replies may be longer, at most half of the window. Settings that are not
    the default stay.
    """
    profile, most, think = card.profile, settings.max_tokens, settings.think
    if profile is None or not profile.only_thinks or think is not None:
        return most, think
    if profile.think_off:
        return most, False
    if most == Settings().max_tokens:
        most = max(most, min(ROOM_TO_THINK, card.window // 2))
    return most, None


def choose_engine(kind: str, uri: str, home: Home) -> Callable[[], VectorEngine] | None:
    """A function that opens the vector store of the settings `index.vectors` (`kind`) and
    `index.vectors_uri`; None for the index itself. `uri` is a file (relative to the home), an
    address, or "" for the default. Raises UsageError for an unknown kind or an invalid `uri`."""
    if kind == "embedded":
        return None
    if kind != "milvus":
        raise UsageError(f"no such vector store: {kind}", "index.vectors is embedded or milvus")
    if uri and "://" not in uri and not uri.endswith(".db"):
        raise UsageError(
            f"not a place for Milvus: {uri}",
            "index.vectors_uri is a file that ends in .db, or an address like http://host:19530",
        )

    def open_milvus() -> VectorEngine:
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
