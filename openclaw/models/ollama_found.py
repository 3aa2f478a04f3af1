"""Lists the models of an Ollama and finds one to talk to, without the library."""

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
    loaded = [str(m["name"]) for m in _asked(url, "/api/ps") if may_chat(m)]
    if found := next((name for name in loaded if _chats(url, name)), None):
        return found
    return next((name for name in chat_models(host) if _chats(url, name)), None)


def chat_models(host: str) -> list[str]:
    """The chat models that the Ollama at `host` lists, the newest first. ServerAway as above."""
    there = [m for m in listed(host) if may_chat(m)]
    there.sort(key=lambda m: str(m.get("modified_at", "")), reverse=True)
    return [str(m["name"]) for m in there]


def listed(host: str) -> list[Mapping[str, Any]]:
    """The models of the Ollama at `host`, as /api/tags tells of them. Raises ServerAway."""
    from openclaw.models.ollama_facts import base_url

    return _asked(base_url(host), "/api/tags")


def may_chat(model: Mapping[str, Any]) -> bool:
    """Whether a listed model is for chats, as far as the list tells: of some models for embedding
    it says that they complete texts."""
    family = (model.get("details") or {}).get("family", "")
    name = str(model.get("name", ""))
    said = model.get("capabilities")
    if not name.isprintable() or (said and "completion" not in said):
        return False
    return bool(name) and family not in _EMBEDDING_FAMILIES and not _EMBEDDING_NAME.search(name)


def _chats(url: str, name: str) -> bool:
    """Whether it is for chats by /api/show, which knows; servers before 0.6.4 do not say."""
    try:
        shown = _answer(url, "POST", "/api/show", json.dumps({"model": name}))
    except ServerAway:  # it answered a moment ago: whatever is wrong is told when it is asked
        return True
    said = shown.get("capabilities")
    return not isinstance(said, list) or "completion" in said


def _asked(url: str, path: str) -> list[Mapping[str, Any]]:
    """The models that an Ollama lists at `path`."""
    models = _answer(url, "GET", path).get("models")
    return [m for m in models if isinstance(m, Mapping)] if isinstance(models, list) else []


def _answer(url: str, method: str, path: str, body: str | None = None) -> Mapping[str, Any]:
    """What an Ollama answers. By http.client: the ollama library would cost 0.3 s of import before
    it is known whether it is needed."""
    parts = urlsplit(url)
    is_secure = parts.scheme == "https"
    kind = http.client.HTTPSConnection if is_secure else http.client.HTTPConnection
    patience = LOOPBACK_PROBE_SECONDS if remote.is_loopback(url) else REMOTE_PROBE_SECONDS
    connection = kind(parts.hostname or "127.0.0.1", parts.port, timeout=patience)
    key = os.environ.get("OLLAMA_API_KEY", "")
    try:
        connection.connect()
        if connection.sock is not None and path != "/api/ps":  # reads manifests from disk
            connection.sock.settimeout(LISTING_SECONDS)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        connection.request(method, parts.path + path, body, headers)
        answer = json.loads(connection.getresponse().read(MOST_LINE))
        if not isinstance(answer, dict):
            raise ValueError("no object")
        return answer
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError) as error:
        raise ServerAway(
            f"no Ollama answers at {url}", "start it with `ollama serve`, or set OLLAMA_HOST"
        ) from error
    finally:
        connection.close()
