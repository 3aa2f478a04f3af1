"""What goes over the line to an Ollama server, as the `ollama` library writes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from openclaw.files.replies import LIMIT, bytes_for
from openclaw.models import remote

if TYPE_CHECKING:
    import httpx
    import ollama

    from openclaw.models.sockets import Sockets


def client(url: str, sockets: Sockets | None = None, **options: Any) -> ollama.Client:
    """A client of the server at `url`; `options` are more of `httpx.Client`, `sockets` can cut its
    connections."""
    import ollama

    hooks = [_prepare_chat, *([sockets.watch] if sockets else [])]
    return ollama.Client(url, **(remote.client_options(url, *hooks) | options))


def caught(url: str, body: Mapping[str, Any]) -> bytes:
    """The body of the request that `client(url).chat(**body, stream=True)` sends."""
    import httpx

    def catch(request: httpx.Request) -> httpx.Response:
        raise _Caught(b"".join(request.stream))  # type: ignore[arg-type]

    sender = client(url, transport=httpx.MockTransport(catch))
    try:
        next(iter(sender.chat(**body, stream=True)))
    except _Caught as found:
        return found.body
    finally:
        sender.close()  # type: ignore[no-untyped-call]
    raise AssertionError("a request goes through its transport")


class _Caught(BaseException):
    """Carries a request past the library, which turns exceptions into its own."""

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self.body = body


def _prepare_chat(request: httpx.Request) -> None:
    """Asks for an error instead of a silent cut, for which `Client.chat` (ollama 0.6) has no
    argument, and notes how much may come back. `shift` is not sent: since Ollama 0.30 a model runs
    with the one it was loaded with, and a request with another one loads it anew."""
    import httpx

    if not request.url.path.endswith("/api/chat"):
        return
    body = {**json.loads(request.content), "truncate": False}
    request.extensions[LIMIT] = bytes_for(body["options"]["num_predict"])
    raw = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    request.headers["Content-Length"] = str(len(raw))
    request.stream = httpx.ByteStream(raw)
