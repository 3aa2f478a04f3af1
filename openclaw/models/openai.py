"""Models of any server with an OpenAI-compatible `/chat/completions`: vLLM, llama.cpp, LM Studio,
hosted ones. Spoken over httpx directly, the `openai` package alone takes 0.6 s to import.

`request.think` is not sent: there is no field for it that all of them accept.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

from openclaw.errors import ModelFailed, ModelMissing, OpenclawError
from openclaw.files.replies import LIMIT, MOST_ERROR, bytes_for
from openclaw.models import chat, remote
from openclaw.models.base import Chunk, ModelCard, Reply, Request, Text, Thinking, Waiting
from openclaw.models.sockets import Sockets
from openclaw.models.tested import with_profile
from openclaw.shapes import Usage

if TYPE_CHECKING:
    from pathlib import Path

    import httpx

HOSTED = "https://api.openai.com/v1"
START_IT = "start it, or set `openai.base_url` in openclaw.yaml"
WEAKER_FORMAT = {"json_schema": "json_object", "json_object": ""}


class OpenAIModel:
    """One model of one server. Nothing is contacted before the first use.

    `base_url` ends where `/chat/completions` follows ("" is OpenAI's own); `window` in tokens is
    taken as it is, since these servers do not tell theirs; `api_key_env` only serves error texts.
    `profiles` is the folder of what tests have found, None to go without. Nor do they tell which
    file a name stands for: the card's digest is of address and name.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str,
        api_key: str,
        window: int,
        api_key_env: str = "OPENAI_API_KEY",
        retry_waits: Sequence[float] = remote.RETRY_WAITS,
        profiles: Path | None = None,
    ) -> None:
        self._name = name
        self._url = (base_url or HOSTED).rstrip("/")
        self._server = f"the server at {self._url}"
        self._key = api_key
        self._key_env = api_key_env
        self._waits = retry_waits
        self._format = "json_schema"
        self._refused: set[str] = set()
        self._opened: httpx.Client | None = None
        self._sockets = Sockets()
        self.reading_rate = 0.0
        card = ModelCard(
            name=f"openai/{name}",
            window=window,
            tools=True,
            parameters=_billions(name),
            digest=hashlib.sha256(f"{self._url} {name}".encode()).hexdigest()[:16],
            server=self._url,
            vision=True,  # nobody tells; a server that cannot says so
        )
        self._card = with_profile(card, profiles)
        remote.lighten_httpx()

    @property
    def card(self) -> ModelCard:
        return self._card

    def stream(self, request: Request) -> Iterator[Chunk]:
        """See `Model`."""
        heard = _Heard()
        response = yield from remote.patiently(
            lambda: self._post(request), self._server, self._waits, self.cut
        )
        with closing(response):
            for event in self._events(response, heard):
                yield from heard.take(event)
        if not heard.deltas.finished:
            raise remote.broken_off(self._server, heard.pieces)
        yield heard.reply()

    def wire(self, request: Request) -> bytes:
        """See `Model`."""
        return self._built(self._body(request)).content

    def warm(self, request: Request) -> Iterator[Waiting]:
        """See `Model`; such a server may cost money, and keeps prefixes as it likes."""
        return iter(())

    def cut(self) -> None:
        """See `openclaw.models.bounded.Cuttable`."""
        self._sockets.cut()

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    @property
    def _client(self) -> httpx.Client:
        if self._opened is None:
            import httpx

            headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
            options = remote.client_options(self._url, self._sockets.watch)
            self._opened = httpx.Client(headers=headers, **options)
        return self._opened

    def _post(self, request: Request) -> httpx.Response:
        """The open response. A server that names a field it does not take is asked without it,
        which is remembered."""
        while True:
            response = self._send(self._body(request), request.max_tokens)
            if response.status_code == 200:
                return response
            with closing(response):
                text = _beginning(response)
            if not self._gives_way(response.status_code, text, request):
                raise self._answered(response.status_code, text)

    def _send(self, body: Mapping[str, Any], most: int) -> httpx.Response:
        import httpx

        try:
            request = self._built(body)
            request.extensions[LIMIT] = bytes_for(most)
            return self._client.send(request, stream=True)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise remote.away(self._server, error, START_IT) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ModelFailed(
                f"{self._server} gave no answer: {remote.one_line(str(error))}",
                "look at `openai.base_url` in openclaw.yaml and at the server's log",
            ) from error

    def _built(self, body: Mapping[str, Any]) -> httpx.Request:
        return self._client.build_request("POST", f"{self._url}/chat/completions", json=body)

    def _body(self, request: Request) -> dict[str, Any]:
        length = "max_completion_tokens" if "max_tokens" in self._refused else "max_tokens"
        body: dict[str, Any] = {
            "model": self._name,
            "messages": [chat.message(message) for message in request.messages],
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": request.temperature,
            length: request.max_tokens,
            "seed": request.seed,
            "stop": list(request.stop) or None,
            "tools": list(request.tools) or None,
            "response_format": _format(self._format, request.schema),
        }
        return {
            key: value
            for key, value in body.items()
            if value is not None and key not in self._refused
        }

    def _gives_way(self, status: int, text: str, request: Request) -> bool:
        """Whether the request can be made weaker in the field that the server complains of."""
        if status not in (400, 422) or remote.is_too_large(text):
            return False
        if request.schema is not None and self._format and _names_format(text):
            self._format = WEAKER_FORMAT[self._format]
            return True
        for field in ("max_tokens", "stream_options", "temperature", "seed"):
            named = re.search(rf"\b{field}\b", text) is not None
            if named and field not in self._refused:
                self._refused.add(field)
                return True
        return False

    def _events(self, response: httpx.Response, heard: _Heard) -> Iterator[dict[str, Any]]:
        """The JSON objects of a stream of server-sent events."""
        import httpx

        try:
            for line in _lines(response):
                field, _, value = line.partition(b":")
                if field != b"data":
                    continue
                if value.strip() == b"[DONE]":
                    return
                yield self._event(value)
        except httpx.HTTPError as error:
            raise remote.broken_off(self._server, heard.pieces, str(error)) from error

    def _event(self, value: bytes) -> dict[str, Any]:
        try:
            event = json.loads(value.decode("utf-8", "replace"))
        except (ValueError, RecursionError) as error:
            raise ModelFailed(
                f"{self._server} sent a line that is not JSON: {error}", "ask again"
            ) from error
        if not isinstance(event, dict) or event.get("error") or event.get("object") == "error":
            raise remote.failure(self._server, json.dumps(event, ensure_ascii=False))
        return event

    def _answered(self, status: int, text: str) -> OpenclawError:
        line = remote.one_line(text)
        if status in (401, 403):
            return ModelFailed(
                f"{self._server} does not accept the key (HTTP {status}): {line}",
                f"put a valid key into the environment variable {self._key_env}",
            )
        if status == 404:
            return ModelMissing(
                f"{self._server} has no model {self._name}: {line}",
                f"see what it has: curl {self._url}/models (a base_url usually ends in /v1)",
            )
        if status == 429:
            return ModelFailed(
                f"{self._server} says: too many requests or no quota left (HTTP 429): {line}",
                "wait a little, or use another model with --model",
            )
        return remote.failure(self._server, text, status)


class _Heard:
    """What has come of one reply so far."""

    def __init__(self) -> None:
        self.pieces = 0
        self.deltas = chat.Deltas()
        self._began = time.monotonic()
        self._first: float | None = None
        self._usage: Mapping[str, Any] = {}

    def take(self, event: Mapping[str, Any]) -> Iterator[Text | Thinking]:
        self._usage = event.get("usage") or self._usage
        self.pieces += 1
        pieces = tuple(self.deltas.take(event))
        if self._first is None and self.deltas.begun:
            self._first = time.monotonic() - self._began
        yield from pieces

    def reply(self) -> Reply:
        details = self._usage.get("prompt_tokens_details") or {}
        usage = Usage(
            prompt_tokens=self._usage.get("prompt_tokens") or 0,
            cached_tokens=details.get("cached_tokens") or 0,
            generated_tokens=self._usage.get("completion_tokens") or 0,
            first_token_seconds=self._first or 0.0,
            total_seconds=time.monotonic() - self._began,
            calls=1,
        )
        return Reply(
            text=self.deltas.text,
            tool_calls=self.deltas.tool_calls(),
            thinking=self.deltas.thinking,
            stop_reason=self.deltas.stop_reason,
            usage=usage,
        )


def _beginning(response: httpx.Response) -> str:
    """What a server says of an error, as far as anybody reads it."""
    import httpx

    data = b""
    with suppress(httpx.HTTPError):
        for piece in response.iter_bytes():
            data += piece
            if len(data) > MOST_ERROR:
                break
    return data[:MOST_ERROR].decode("utf-8", "replace")


def _lines(response: httpx.Response) -> Iterator[bytes]:
    """Split at newlines only: httpx's own `iter_lines` also splits inside a JSON text that holds
    U+2028 or U+0085."""
    rest = b""
    for piece in response.iter_bytes():
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines
    yield rest


def _format(kind: str, schema: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if schema is None or not kind:
        return None
    if kind == "json_object":
        return {"type": kind}
    return {"type": kind, "json_schema": {"name": "reply", "schema": dict(schema), "strict": True}}


def _names_format(text: str) -> bool:
    return re.search(r"response_format|json_schema|json_object|structured", text) is not None


def _billions(name: str) -> float:
    """Billions of parameters as names tell them ("qwen2.5-7b-instruct"), 0.0 when they do not."""
    found = re.search(r"(?<![\w.])(\d+(?:\.\d+)?)b(?!\w)", name.lower())
    return float(found[1]) if found else 0.0
