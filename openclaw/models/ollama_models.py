"""The models of an Ollama server: which there are, which can chat, and fetching one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import closing
from http.client import HTTPException
from typing import Any

from openclaw.config.settings import is_loopback
from openclaw.errors import ModelMissing, ServerAway
from openclaw.models.http_client import MAX_BYTES, ServerRefusal, error_line
from openclaw.models.ollama import OllamaClient, base_url, models_of

_NO_NETWORK = re.compile(r"dial tcp|no such host|i/o timeout|connection refused|unreachable")
"""What Ollama says, in Go's words, when it cannot reach the place that it fetches models from."""


LOOPBACK_CONNECT_SECONDS = 0.3
REMOTE_CONNECT_SECONDS = 2.0
PROBE_SECONDS = 2.0  # a busy machine may let a server that is there wait for a second
LISTING_SECONDS = 5.0

_EMBEDDING_NAME = re.compile(
    r"embed|minilm|(^|[/_-])(bge|gte|e5|paraphrase|rerank|jina-(clip|colbert))([._:-]|$)", re.I
)
_EMBEDDING_FAMILIES = ("bert", "nomic-bert", "xlm-roberta", "jina-bert")


def find_chat_model(host: str) -> str | None:
    """A chat model of the Ollama at `host`: a loaded one, else the newest; None without one.
    Raises ServerAway when no Ollama answers quickly."""
    url = base_url(host)
    loaded = [str(m["name"]) for m in models_of(_get_json(url, "GET", "/api/ps")) if may_chat(m)]
    if found := next((name for name in loaded if _can_chat(url, name)), None):
        return found
    return next((name for name in chat_models(host) if _can_chat(url, name)), None)


def chat_models(host: str) -> list[str]:
    """The chat models of the Ollama at `host`, newest first. Raises ServerAway."""
    there = [m for m in list_models(host) if may_chat(m)]
    there.sort(key=lambda m: str(m.get("modified_at", "")), reverse=True)
    return [str(m["name"]) for m in there]


def list_models(host: str, seconds: float = 0.0) -> list[Mapping[str, Any]]:
    """The models of the Ollama at `host`, as /api/tags lists them. Raises ServerAway. `seconds` is
    how long connecting may take, 0.0 for as long as usual."""
    return models_of(_get_json(base_url(host), "GET", "/api/tags", seconds=seconds))


def pull_model(name: str, host: str, on_progress: Callable[[str, int, int], None]) -> None:
    """Have Ollama fetch a model. `on_progress` gets a part's name, its bytes so far and all."""
    url = base_url(host)
    try:
        with closing(OllamaClient(url)) as client:
            body = {"model": name, "stream": True}
            for state in client.stream("/api/pull", body, MAX_BYTES):
                if total := state.get("total"):
                    part = f"{name} {state.get('digest', '')[7:19]}"
                    on_progress(part, state.get("completed", 0), total)
    except (OSError, HTTPException, ValueError) as error:
        raise ServerAway(f"Ollama does not answer at {url}", "ollama serve") from error
    except ServerRefusal as error:
        said = error_line(str(error))
        if _NO_NETWORK.search(said):
            raise ServerAway(
                f"Ollama cannot reach the network to fetch {name}", "look at its connection"
            ) from error
        raise ModelMissing(
            f"Ollama cannot fetch {name}: {said}", "https://ollama.com/library has the names"
        ) from error


def may_chat(model: Mapping[str, Any]) -> bool:
    """Return True when a listed model may be for chats. The list calls some embedding models
    completion models."""
    family = (model.get("details") or {}).get("family", "")
    name = str(model.get("name", ""))
    said = model.get("capabilities")
    if not name.isprintable() or (said and "completion" not in said):
        return False
    return bool(name) and family not in _EMBEDDING_FAMILIES and not _EMBEDDING_NAME.search(name)


def _can_chat(url: str, name: str) -> bool:
    """Return False when /api/show says that a model cannot chat (not before server 0.6.4)."""
    try:
        shown = _get_json(url, "POST", "/api/show", {"model": name})
    except ServerAway:  # it answered a moment ago: a real failure appears with the first request
        return True
    said = shown.get("capabilities")
    return not isinstance(said, list) or "completion" in said


def _get_json(
    url: str, method: str, path: str, body: object = None, seconds: float = 0.0
) -> Mapping[str, Any]:
    usual = LOOPBACK_CONNECT_SECONDS if is_loopback(url) else REMOTE_CONNECT_SECONDS
    # Reading the list of models takes long, as the server reads manifests from the disk.
    reading = PROBE_SECONDS if path == "/api/ps" else LISTING_SECONDS
    client = OllamaClient(url, seconds or usual, reading)
    try:
        return client.ask(method, path, body)
    except (ServerRefusal, OSError, HTTPException, ValueError) as error:
        raise ServerAway(
            f"no Ollama answers at {url}", "start it with `ollama serve`, or set OLLAMA_HOST"
        ) from error
    finally:
        client.close()
