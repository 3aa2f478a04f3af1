"""Ollama's API over `http.client`: where a server is, its models, their cards, and chats.

Importing the `ollama` library takes as long as everything else before a prompt's request, so it is
left to full batches of passages to embed, which nobody waits for. The body of a chat is the one
that the library writes, byte for byte, except that `truncate` asks for an error instead of a silent
cut.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, suppress
from datetime import datetime
from http.client import HTTPException
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from openclaw.config.settings import is_loopback
from openclaw.errors import ModelMissing, ServerAway, UsageError
from openclaw.models.base import ModelCard
from openclaw.models.http_client import (
    CONNECT_SECONDS,
    MAX_BYTES,
    HttpClient,
    ServerRefusal,
    error_line,
    read_object,
)

_NO_NETWORK = re.compile(r"dial tcp|no such host|i/o timeout|connection refused|unreachable")
"""What Ollama says, in Go's words, when it cannot reach the place that it fetches models from."""


class OllamaClient(HttpClient):
    def __init__(
        self, url: str, connect_seconds: float = CONNECT_SECONDS, read_seconds: float | None = None
    ) -> None:
        super().__init__(url, authorization(), connect_seconds, read_seconds)

    def running(self) -> list[Mapping[str, Any]]:
        """The running models, as `/api/ps` lists them."""
        return _models(self.ask("GET", "/api/ps"))

    def pull(self, name: str) -> Iterator[Mapping[str, Any]]:
        """The states of fetching a model."""
        return self.stream("/api/pull", {"model": name, "stream": True}, MAX_BYTES)

    def stream(
        self, path: str, body: Mapping[str, Any], most: int
    ) -> Generator[Mapping[str, Any], None, None]:
        """The parts of a streamed answer of at most so many bytes. Closing the generator early
        hangs up on the server."""
        with closing(self.lines(self.send("POST", path, body), most)) as lines:
            for line in lines:
                part = read_object(line)
                if error := part.get("error"):
                    raise ServerRefusal(error if isinstance(error, str) else json.dumps(error))
                yield part


def authorization() -> dict[str, str]:
    """The header with the key of OLLAMA_API_KEY, if there is one."""
    key = os.environ.get("OLLAMA_API_KEY", "")
    return {"Authorization": f"Bearer {key}"} if key else {}


T = TypeVar("T")
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
        if re.search(r"\s", given.strip()):
            raise ValueError("it holds a blank")
        if scheme not in ("http", "https"):
            raise ValueError("neither http nor https")
        parts = urlsplit(f"{scheme}://{rest}")
        port = parts.port or (DEFAULT_PORT if not separator else 443 if scheme == "https" else 80)
    except ValueError as error:
        raise UsageError(
            f"not a host: {given!r} ({error})", "write HOST:PORT or an http:// or https:// URL"
        ) from error
    name = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(  # noqa: S104
        parts.hostname or "", parts.hostname or ""
    )
    path = parts.path.rstrip("/")
    return f"{scheme}://{f'[{name}]' if ':' in name else name}:{port}{path}"


def read_card(name: str, window: int, shown: Mapping[str, Any]) -> ModelCard:
    """The card from the answer of `/api/show`; `window` is the configured one. Raises ValueError
    when the answer has another form."""
    facts, details = field(shown, "model_info", dict, {}), field(shown, "details", dict, {})
    own = next((n for key, n in facts.items() if key.endswith(".context_length")), 0) or window
    template = field(shown, "template", str, "")
    # Servers before 0.6.4 do not tell them.
    by_template = ["tools"] if ".Tools" in template else []
    capabilities: list[Any] = field(shown, "capabilities", list, by_template)
    return ModelCard(
        name=f"ollama/{name}",
        window=min(window, int(own)),
        tools="tools" in capabilities,
        thinking="thinking" in capabilities,
        family=field(details, "family", str, ""),
        parameters=_billions(facts, field(details, "parameter_size", str, "")),
        digest=_model_digest(shown, template),
        vision="vision" in capabilities,
    )


def field(value: Mapping[str, Any], key: str, kind: type[T], absent: Any) -> T:
    """A field of an answer, `absent` when it is missing or null. Raises ValueError when it is of
    another type, or `value` is no object."""
    found = value.get(key) if isinstance(value, Mapping) else value
    if found is None:
        return cast(T, absent)
    if not isinstance(found, kind):
        raise ValueError(f"{key} is no {kind.__name__}: {str(found)[:80]}")
    return found


def _model_digest(shown: Mapping[str, Any], template: str) -> str:
    """16 hex digits for exactly this model: of its weights' blob in the Modelfile, its template and
    its parameters; without a blob, the time of change as Python writes it, "None" for none."""
    told = re.findall(r"sha256[-:]([0-9a-f]{64})", field(shown, "modelfile", str, ""))
    if not told:
        told = [field(shown, "modified_at", str, "") or "None"]
        with suppress(ValueError):
            told = [str(datetime.fromisoformat(told[0]))]
    told += template, field(shown, "parameters", str, "")
    return hashlib.sha256("\0".join(told).encode()).hexdigest()[:16]


def _billions(facts: Mapping[str, Any], size: str) -> float:
    """The number of parameters, from the exact count or a text such as "1.5B" or "494.03M"."""
    if count := facts.get("general.parameter_count"):
        return float(count) / 1e9
    found = re.match(r"([\d.]+)\s*([KMBT])", size, re.IGNORECASE)
    return float(found[1]) * SCALES[found[2].upper()] if found else 0.0


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
    loaded = [str(m["name"]) for m in _models(_get_json(url, "GET", "/api/ps")) if may_chat(m)]
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
    return _models(_get_json(base_url(host), "GET", "/api/tags", seconds=seconds))


def pull_model(name: str, host: str, on_progress: Callable[[str, int, int], None]) -> None:
    """Have Ollama fetch a model. `on_progress` gets a part's name, its bytes so far and all."""
    url = base_url(host)
    try:
        with closing(OllamaClient(url)) as client:
            for state in client.pull(name):
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


def _models(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    models = answer.get("models")
    return [m for m in models if isinstance(m, Mapping)] if isinstance(models, list) else []


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
