"""What Ollama has for embedding, and how each family of models wants to be asked.

Light: choosing must not wait for numpy, httpx or llama_index.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from openclaw.errors import ServerAway
from openclaw.models.http_client import MOST_LINE

LOOPBACK_SECONDS = 0.05  # to connect; Windows tries a refused port for two seconds
REMOTE_SECONDS = 2.0
LISTING_SECONDS = 5.0  # Ollama reads every manifest from disk
HEAVY_BYTES = 2_000_000_000

_PASSAGES = "Represent this sentence for searching relevant passages:"


@dataclass(frozen=True, slots=True)
class Family:
    """`mark` is a part of the names of its models. `query` and `document` go before a text, with a
    blank between; `window` is in tokens."""

    mark: str
    window: int
    query: str = ""
    document: str = ""


# `auto` takes the first that is there: those that read many languages before those that read
# English only; among them the smaller ones first, because a processor must embed every line (0.3
# billion parameters, 0.6, 0.6, 0.6 and more, 0.5); all-minilm is what openclaw brings itself.
# A special name stands before the general one. Prefixes and windows are those of the model cards.
FAMILIES = (
    Family("embeddinggemma", 2048, "task: search result | query:", "title: none | text:"),
    Family("bge-m3", 8192),
    Family("snowflake-arctic-embed2", 8192, "query:"),
    Family("snowflake-arctic-embed-l-v2", 8192, "query:"),
    Family("snowflake-arctic-embed-m-v2", 8192, "query:"),
    Family(
        "qwen3-embedding",
        32768,
        "Instruct: Given a web search query, retrieve relevant passages that answer the query\n"
        "Query:",
    ),
    Family("nomic-embed-text-v2", 512, "search_query:", "search_document:"),
    Family("multilingual-e5", 512, "query:", "passage:"),
    Family("granite-embedding", 512),
    Family("paraphrase-multilingual", 128),
    Family("nomic-embed-text", 2048, "search_query:", "search_document:"),
    Family("mxbai-embed-large", 512, _PASSAGES),
    Family("snowflake-arctic-embed", 512, _PASSAGES),
    Family("bge-large", 512, _PASSAGES),
    Family("bge-base", 512, _PASSAGES),
    Family("bge-small", 512, _PASSAGES),
    Family("e5-", 512, "query:", "passage:"),
    Family("all-minilm", 256),
)
UNKNOWN = Family("", 512)


@dataclass(frozen=True, slots=True)
class Installed:
    """A model that Ollama lists; `digest` is of its manifest, `size` in bytes."""

    name: str
    digest: str
    size: int


def installed(url: str) -> list[Installed]:
    """What Ollama at `url` has. ServerAway when nothing that speaks its API answers quickly."""
    try:
        listed = _ask(url)
        return [
            Installed(str(m["name"]), str(m.get("digest") or ""), int(m.get("size") or 0))
            for m in listed
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ServerAway(
            f"no Ollama answers at {url}", "start it with `ollama serve`, or set OLLAMA_HOST"
        ) from error


def find(name: str, models: Sequence[Installed]) -> Installed | None:
    """The model of that name; without a tag, its `latest`."""
    return next((m for m in models if m.name in (name, f"{name}:latest")), None)


def preferred(models: Sequence[Installed]) -> Installed | None:
    """The embedding model that `auto` takes: by the order of families, those of more than 2 GB
    last, since embedding with them takes a machine of its own. None when no family is known."""
    known = [model for model in models if family(model.name) is not UNKNOWN]
    return min(known, key=lambda m: (m.size > HEAVY_BYTES, _rank(m.name), m.name), default=None)


def family(name: str) -> Family:
    """The family of a model by its name, UNKNOWN for none of them."""
    lower = name.lower().replace("_", "-")
    return next((known for known in FAMILIES if known.mark in lower), UNKNOWN)


def embeds(name: str) -> bool:
    """Whether a model is known, or calls itself, one for embedding."""
    return family(name) is not UNKNOWN or "embed" in name.lower()


def cut(text: str, window: int) -> str:
    """The beginning of `text` that surely fits `window` tokens, by a careful guess: three ASCII
    letters a token, any other letter one, and 32 tokens for marks and prefix."""
    room = window - 32
    if len(text) <= room:
        return text
    thirds = 3 * room
    for position, letter in enumerate(text):
        thirds -= 1 if letter.isascii() else 3
        if thirds < 0:
            return text[:position]
    return text


def _rank(name: str) -> int:
    return FAMILIES.index(family(name))


def _ask(url: str) -> list[Mapping[str, Any]]:
    """/api/tags by http.client: the ollama library would cost 0.3 s of import before it is known
    whether it is needed."""
    import http.client

    parts = urlsplit(url)
    host = parts.hostname or "127.0.0.1"
    is_near = host in ("localhost", "::1") or host.startswith("127.")
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(host, parts.port, timeout=LOOPBACK_SECONDS if is_near else REMOTE_SECONDS)
    key = os.environ.get("OLLAMA_API_KEY", "")
    try:
        connection.connect()
        if connection.sock is not None:
            connection.sock.settimeout(LISTING_SECONDS)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        connection.request("GET", f"{parts.path}/api/tags", headers=headers)
        models = json.loads(connection.getresponse().read(MOST_LINE))["models"]
    except http.client.HTTPException as error:
        raise OSError(str(error)) from error
    finally:
        connection.close()
    return [model for model in models or () if isinstance(model, Mapping)]
