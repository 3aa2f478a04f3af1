"""Finds a model to talk to among those of an Ollama, without the library."""

from __future__ import annotations

import http.client
import json
import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from openclaw.errors import ServerAway
from openclaw.files.replies import MOST_LINE
from openclaw.models import remote

LOOPBACK_PROBE_SECONDS = 0.3
REMOTE_PROBE_SECONDS = 2.0
LISTING_SECONDS = 5.0

_EMBEDDING_NAME = re.compile(
    r"embed|minilm|(^|[/_-])(bge|gte|e5|paraphrase|rerank|jina-(clip|colbert))([._:-]|$)", re.I
)
_EMBEDDING_FAMILIES = ("bert", "nomic-bert", "xlm-roberta", "jina-bert")


def find_chat_model(host: str) -> str | None:
    """A chat model that the Ollama at `host` has: one that is loaded, else the newest. None when
    it has none. Raises ServerAway when nothing that speaks Ollama's API answers quickly."""
    from openclaw.models.ollama_facts import base_url

    url = base_url(host)
    loaded = [m for m in _listing(url, "/api/ps") if _chats(m)]
    if loaded:
        return str(loaded[0]["name"])
    return next(iter(chat_models(host)), None)


def chat_models(host: str) -> list[str]:
    """The chat models that the Ollama at `host` has, the newest first. ServerAway as above."""
    from openclaw.models.ollama_facts import base_url

    there = [m for m in _listing(base_url(host), "/api/tags") if _chats(m)]
    there.sort(key=lambda m: str(m.get("modified_at", "")), reverse=True)
    return [str(m["name"]) for m in there]


def _chats(model: Mapping[str, Any]) -> bool:
    family = (model.get("details") or {}).get("family", "")
    name = str(model.get("name", ""))
    return bool(name) and family not in _EMBEDDING_FAMILIES and not _EMBEDDING_NAME.search(name)


def _listing(url: str, path: str) -> list[Mapping[str, Any]]:
    """The models that an Ollama lists at `path`. By http.client: the ollama library would cost
    0.3 s of import before it is known whether it is needed."""
    parts = urlsplit(url)
    is_secure = parts.scheme == "https"
    kind = http.client.HTTPSConnection if is_secure else http.client.HTTPConnection
    patience = LOOPBACK_PROBE_SECONDS if remote.is_loopback(url) else REMOTE_PROBE_SECONDS
    connection = kind(parts.hostname or "127.0.0.1", parts.port, timeout=patience)
    key = os.environ.get("OLLAMA_API_KEY", "")
    try:
        connection.connect()
        if connection.sock is not None and path == "/api/tags":  # reads every manifest from disk
            connection.sock.settimeout(LISTING_SECONDS)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        connection.request("GET", parts.path + path, headers=headers)
        models = json.loads(connection.getresponse().read(MOST_LINE))["models"]
        return [model for model in models or () if isinstance(model, Mapping)]
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError) as error:
        raise ServerAway(
            f"no Ollama answers at {url}", "start it with `ollama serve`, or set OLLAMA_HOST"
        ) from error
    finally:
        connection.close()
