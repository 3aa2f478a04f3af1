"""The embedding models of an Ollama server, and the prefixes and windows of model families."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Sequence

from openclaw.config.settings import is_loopback
from openclaw.frozen import frozen
from openclaw.models.ollama_models import list_models

LOOPBACK_SECONDS = 0.05  # to connect; Windows tries a refused port for two seconds
HEAVY_BYTES = 2_000_000_000

_PASSAGES = "Represent this sentence for searching relevant passages:"


@frozen
class ModelFamily:
    """A family of embedding models.

    mark      a part of the names of its models
    window    in tokens
    query     prefix of a question, followed by a blank
    document  prefix of a passage, followed by a blank
    """

    mark: str
    window: int
    query: str = ""
    document: str = ""


# `auto` takes the first installed one: models for many languages before those for English only;
# among them the smaller first, because a processor must embed every line (0.3 billion parameters,
# 0.6, 0.6, 0.6 and more, 0.5); openclaw itself can fetch all-minilm. A special name precedes the
# general one. Prefixes and windows are those of the model cards.
FAMILIES = (
    ModelFamily("embeddinggemma", 2048, "task: search result | query:", "title: none | text:"),
    ModelFamily("bge-m3", 8192),
    ModelFamily("snowflake-arctic-embed2", 8192, "query:"),
    ModelFamily("snowflake-arctic-embed-l-v2", 8192, "query:"),
    ModelFamily("snowflake-arctic-embed-m-v2", 8192, "query:"),
    ModelFamily(
        "qwen3-embedding",
        32768,
        "Instruct: Given a web search query, retrieve relevant passages that answer the query\n"
        "Query:",
    ),
    ModelFamily("nomic-embed-text-v2", 512, "search_query:", "search_document:"),
    ModelFamily("multilingual-e5", 512, "query:", "passage:"),
    ModelFamily("granite-embedding", 512),
    ModelFamily("paraphrase-multilingual", 128),
    ModelFamily("nomic-embed-text", 2048, "search_query:", "search_document:"),
    ModelFamily("mxbai-embed-large", 512, _PASSAGES),
    ModelFamily("snowflake-arctic-embed", 512, _PASSAGES),
    ModelFamily("bge-large", 512, _PASSAGES),
    ModelFamily("bge-base", 512, _PASSAGES),
    ModelFamily("bge-small", 512, _PASSAGES),
    ModelFamily("e5-", 512, "query:", "passage:"),
    ModelFamily("all-minilm", 256),
)
UNKNOWN = ModelFamily("", 512)


@frozen
class InstalledModel:
    """A model that Ollama lists. `digest` is the manifest's, `size` is in bytes."""

    name: str
    digest: str
    size: int


def installed(url: str) -> list[InstalledModel]:
    """The models of the Ollama at `url`. Raises ServerAway when no Ollama answers quickly."""
    listed = list_models(url, LOOPBACK_SECONDS if is_loopback(url) else 0.0)
    return [
        InstalledModel(m["name"], str(m.get("digest") or ""), size if isinstance(size, int) else 0)
        for m in listed
        if isinstance(m.get("name"), str)
        for size in [m.get("size")]
    ]


def find(name: str, models: Sequence[InstalledModel]) -> InstalledModel | None:
    """The model of that name; a name without a tag means `latest`."""
    return next((m for m in models if m.name in (name, f"{name}:latest")), None)


def preferred(models: Sequence[InstalledModel]) -> InstalledModel | None:
    """The embedding model that `auto` takes: by the order of families, those over 2 GB last, since
    they need a machine of their own. None when no family is known."""
    known = [model for model in models if family(model.name) is not UNKNOWN]

    def rank(model: InstalledModel) -> tuple[bool, int, str]:
        return model.size > HEAVY_BYTES, FAMILIES.index(family(model.name)), model.name

    return min(known, key=rank, default=None)


def family(name: str) -> ModelFamily:
    """The family of a model by its name, else UNKNOWN."""
    lower = name.lower().replace("_", "-")
    return next((known for known in FAMILIES if known.mark in lower), UNKNOWN)


def embeds(name: str) -> bool:
    """Return True when a model's name is known as, or says, an embedding model."""
    return family(name) is not UNKNOWN or "embed" in name.lower()


def cut(text: str, window: int) -> str:
    """The beginning of `text` that fits `window` tokens, by a safe estimate: three ASCII letters a
    token, one token for any other letter, and 32 tokens for marks and prefix."""
    room = window - 32
    thirds = itertools.accumulate(1 if letter.isascii() else 3 for letter in text)
    return text if len(text) <= room else text[: bisect_right([*thirds], 3 * room)]
