"""Finds an Ollama server, lists its models, and reads the card of a model."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from openclaw.errors import ServerAway, UsageError
from openclaw.models.base import MOST_LINE, ModelCard
from openclaw.models.machine import is_loopback

if TYPE_CHECKING:
    import ollama


DEFAULT_PORT = 11434
SCALES = {"K": 1e-6, "M": 1e-3, "B": 1.0, "T": 1e3}


def base_url(host: str) -> str:
    """The URL of an Ollama host in the forms of `OLLAMA_HOST`; "" means that variable, else the
    default. The listening address 0.0.0.0 becomes loopback."""
    given = host or os.environ.get("OLLAMA_HOST", "")
    scheme, separator, rest = given.strip().partition("://")
    if not separator:
        scheme, rest = "http", scheme
    try:
        given.encode("utf-8")  # a variable may hold any bytes
        parts = urlsplit(f"{scheme}://{rest}")
        port = parts.port or (DEFAULT_PORT if not separator else 443 if scheme == "https" else 80)
    except ValueError as error:
        raise UsageError(f"not a host: {given!r} ({error})", "write HOST:PORT or a URL") from error
    if re.search(r"\s", given.strip()):
        raise UsageError(f"not a host: {given!r} (it holds a blank)", "write HOST:PORT or a URL")
    if scheme not in ("http", "https"):
        raise UsageError(f"not a host: {given!r}", "write HOST:PORT or an http:// or https:// URL")
    name = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(  # noqa: S104
        parts.hostname or "", parts.hostname or ""
    )
    path = parts.path.rstrip("/")
    return f"{scheme}://{f'[{name}]' if ':' in name else name}:{port}{path}"


def read_card(name: str, window: int, shown: ollama.ShowResponse) -> ModelCard:
    """The card from the answer of `/api/show`; `window` is the configured one."""
    facts = shown.modelinfo or {}
    own = next((n for key, n in facts.items() if key.endswith(".context_length")), 0) or window
    template = shown.template or ""
    capabilities = shown.capabilities
    if capabilities is None:  # servers before 0.6.4
        capabilities = ["tools"] if ".Tools" in template else []
    return ModelCard(
        name=f"ollama/{name}",
        window=min(window, int(own)),
        tools="tools" in capabilities,
        thinking="thinking" in capabilities,
        family=(shown.details.family if shown.details else None) or "",
        parameters=_billions(facts, shown.details.parameter_size if shown.details else None),
        digest=_model_digest(shown),
        vision="vision" in capabilities,
    )


def _model_digest(shown: ollama.ShowResponse) -> str:
    """16 hex digits for exactly this model: of its weights' blob in the Modelfile, its template and
    its parameters; without a blob, the time of change."""
    blobs = re.findall(r"sha256[-:]([0-9a-f]{64})", shown.modelfile or "")
    changed = [] if blobs else [str(shown.modified_at)]
    told = [*blobs, *changed, shown.template or "", shown.parameters or ""]
    return hashlib.sha256("\0".join(told).encode()).hexdigest()[:16]


def _billions(facts: Mapping[str, Any], size: str | None) -> float:
    """The number of parameters, from the exact count or a text such as "1.5B" or "494.03M"."""
    if count := facts.get("general.parameter_count"):
        return float(count) / 1e9
    found = re.match(r"([\d.]+)\s*([KMBT])", size or "", re.IGNORECASE)
    return float(found[1]) * SCALES[found[2].upper()] if found else 0.0


LOOPBACK_PROBE_SECONDS = 0.3
REMOTE_PROBE_SECONDS = 2.0
LISTING_SECONDS = 5.0

_EMBEDDING_NAME = re.compile(
    r"embed|minilm|(^|[/_-])(bge|gte|e5|paraphrase|rerank|jina-(clip|colbert))([._:-]|$)", re.I
)
_EMBEDDING_FAMILIES = ("bert", "nomic-bert", "xlm-roberta", "jina-bert")


def find_chat_model(host: str) -> str | None:
    """A chat model of the Ollama at `host`: a loaded one, else the newest; None without one.
    Raises ServerAway when no Ollama answers quickly."""

    url = base_url(host)
    loaded = [str(m["name"]) for m in _list_models(url, "/api/ps") if may_chat(m)]
    if found := next((name for name in loaded if _can_chat(url, name)), None):
        return found
    return next((name for name in chat_models(host) if _can_chat(url, name)), None)


def chat_models(host: str) -> list[str]:
    """The chat models of the Ollama at `host`, newest first. Raises ServerAway."""
    there = [m for m in list_models(host) if may_chat(m)]
    there.sort(key=lambda m: str(m.get("modified_at", "")), reverse=True)
    return [str(m["name"]) for m in there]


def list_models(host: str) -> list[Mapping[str, Any]]:
    """The models of the Ollama at `host`, as /api/tags lists them. Raises ServerAway."""

    return _list_models(base_url(host), "/api/tags")


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
        shown = _get_json(url, "POST", "/api/show", json.dumps({"model": name}))
    except ServerAway:  # it answered a moment ago: a real failure appears with the first request
        return True
    said = shown.get("capabilities")
    return not isinstance(said, list) or "completion" in said


def _list_models(url: str, path: str) -> list[Mapping[str, Any]]:
    """The models that an Ollama lists at `path`."""
    models = _get_json(url, "GET", path).get("models")
    return [m for m in models if isinstance(m, Mapping)] if isinstance(models, list) else []


def _get_json(url: str, method: str, path: str, body: str | None = None) -> Mapping[str, Any]:
    """The JSON answer of an Ollama, with http.client: importing the ollama library takes 0.3 s."""
    parts = urlsplit(url)
    is_secure = parts.scheme == "https"
    kind = http.client.HTTPSConnection if is_secure else http.client.HTTPConnection
    patience = LOOPBACK_PROBE_SECONDS if is_loopback(url) else REMOTE_PROBE_SECONDS
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
