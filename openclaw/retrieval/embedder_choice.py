"""The protocol of an embedder, and the choice of one by the settings.

Choosing loads nothing: it only checks for files, or asks a server for its list (50 ms when none
runs on this machine). The embedder loads its model with the first text.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from openclaw.errors import ServerAway, UsageError
from openclaw.models.catalog import embedding_files
from openclaw.retrieval.minilm import NAME as MINILM
from openclaw.retrieval.minilm import PULL, MiniLM

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openclaw.config import Settings


ONLY_WORDS = "search goes by words only"


class Embedder(Protocol):
    """Turns texts into vectors of length 1. Their scalar product measures how close in meaning two
    texts are."""

    @property
    def name(self) -> str:
        """Names the model and its exact version; vectors of different names are not comparable."""
        ...

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row for each text, shape (n, d). Texts of similar length together are fastest.
        Raises ServerAway, ModelMissing or ModelFailed."""
        ...

    def query(self, text: str) -> NDArray[np.float32]:
        """The vector of a question, shape (d,). Raises as `documents` does."""
        ...

    def load(self) -> None:
        """Load the model before the first text, if this process holds it. Raises any Exception."""
        ...

    def close(self) -> None:
        """Free the model; the next use loads it again."""
        ...


class EmbedderChoice(NamedTuple):
    """The embedder, or None with a line that says why and one that says what to do. Both lines are
    empty when `embedding: none` asks for words only."""

    embedder: Embedder | None
    why_not: str = ""
    advice: str = ""


def choose_embedder(
    setting: str,
    *,
    minilm: tuple[Path, Path] | None,
    ollama_host: str,
    threads: int = 0,
    openai_url: str = "",
    api_key: str = "",
) -> EmbedderChoice:
    """The embedder of the setting `embedding`.

    `minilm` are the installed network and tokenizer, None when they are not installed;
    `ollama_host` and `openai_url` are as in the settings. `auto` takes the installed files, else an
    embedding model of Ollama. Raises UsageError for an unknown setting.
    """
    kind, _, name = setting.partition("/")
    if setting == "none":
        return EmbedderChoice(None)
    if setting in ("auto", "embedded", MINILM):
        if minilm:
            return EmbedderChoice(MiniLM(*minilm, threads))
        if setting != "auto":
            return EmbedderChoice(None, f"the embedding model is not installed, {ONLY_WORDS}", PULL)
    elif kind not in ("ollama", "openai") or not name:
        raise UsageError(
            f"not an embedding: {setting!r}",
            "set `embedding` in openclaw.yaml to auto, embedded, ollama/NAME, openai/NAME or none",
        )
    # The client of a server takes an eighth of the start of a search, and MiniLM needs none.
    from openclaw.retrieval.server_embedders import OpenAIEmbedder, find_ollama_embedder

    if kind == "openai":
        return EmbedderChoice(OpenAIEmbedder(name, openai_url, api_key))
    why, advice = f"Ollama has no model {name}", f"ollama pull {name}"
    try:
        if found := find_ollama_embedder(ollama_host, name):
            return EmbedderChoice(found)
    except ServerAway as error:
        why, advice = str(error), error.hint
    if not name:
        why, advice = "no embedding model is installed", PULL
    return EmbedderChoice(None, f"{why}, {ONLY_WORDS}", advice)


def open_embedder(settings: Settings) -> EmbedderChoice:
    """The embedder of the settings, or why there is none. Loads nothing yet."""
    return choose_embedder(
        settings.embedding,
        minilm=embedding_files(),
        ollama_host=settings.ollama.host,
        threads=settings.embedded.threads,
        openai_url=settings.openai.base_url,
        api_key=os.environ.get(settings.openai.api_key_env, ""),
    )
