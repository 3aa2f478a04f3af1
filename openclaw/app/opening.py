"""Opens what a home's settings name: the model that answers, the search, the embedder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from openclaw.config import Settings
from openclaw.files.home import Home
from openclaw.models.base import Model

if TYPE_CHECKING:
    from openclaw.retrieval.embeddings import Choice
    from openclaw.retrieval.scan import IndexOptions
    from openclaw.retrieval.search import Search


def open_model(
    name: str, settings: Settings, home: Home, *, as_tested: bool = True, saving: bool = True
) -> Model:
    """The model of that name ("auto" too), with what a test of it has found unless that is not
    wanted. Without `saving` it keeps nothing of a conversation. Raises what `models.choose`
    does."""
    from openclaw.models.choose import choose
    from openclaw.models.folder import profiles_folder

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
    """The search of a home. Nothing is read before it is asked."""
    from openclaw.retrieval.engines import choose_engine
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
    """What the index is made of."""
    from openclaw.retrieval.scan import IndexOptions

    index = settings.index
    return IndexOptions(index.paths, index.sessions, index.max_file_mb * 1_000_000)


def open_embedder(settings: Settings) -> Choice:
    """What turns text into vectors, or why there is none. Nothing is loaded yet."""
    from openclaw.models.catalog import embedding_files
    from openclaw.models.ollama_facts import base_url
    from openclaw.retrieval.embeddings import choose_embedder

    return choose_embedder(
        settings.embedding,
        minilm=embedding_files(),
        ollama_url=base_url(settings.ollama.host),
        threads=settings.embedded.threads,
    )
