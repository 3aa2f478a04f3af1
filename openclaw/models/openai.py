"""Models of any server with an OpenAI-compatible `/chat/completions`: vLLM, llama.cpp, LM Studio,
hosted ones. Uses httpx directly: importing the `openai` package takes 0.6 s.

`request.think` is not sent: no field for it is accepted by all servers.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

from openclaw.errors import ModelFailed, ModelMissing, OpenclawError
from openclaw.messages import Image, Message, ToolCall, Usage, Waiting
from openclaw.models import http_client
from openclaw.models.base import (
    LIMIT,
    MOST_ERROR,
    Chunk,
    ModelCard,
    Reply,
    Request,
    StopReason,
    Text,
    Thinking,
    bytes_for,
    replace_surrogates,
)
from openclaw.models.http_client import Sockets
from openclaw.models.profile import with_profile

if TYPE_CHECKING:
    from pathlib import Path

    import httpx


HOSTED = "https://api.openai.com/v1"
START_IT = "start it, or set `openai.base_url` in openclaw.yaml"
WEAKER_FORMAT = {"json_schema": "json_object", "json_object": ""}


class OpenAIModel:
    """One model of one server. Connects at the first use.

    base_url     the part before `/chat/completions`; "" is OpenAI's own
    window       in tokens, used as it is, since these servers do not tell theirs
    api_key_env  only for error texts
    profiles     the folder of test results; None uses none

    These servers do not tell the file of a model, so the card's digest is of address and name.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str,
        api_key: str,
        window: int,
        api_key_env: str = "OPENAI_API_KEY",
        retry_waits: Sequence[float] = http_client.RETRY_WAITS,
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
            vision=True,  # unknown; a server without vision refuses the image
        )
        self._card = with_profile(card, profiles)
        http_client.lighten_httpx()

    @property
    def card(self) -> ModelCard:
        return self._card

    def stream(self, request: Request) -> Iterator[Chunk]:
        """See `Model`."""
        heard = _ReplyBuilder()
        response = yield from http_client.retry_refused(
            lambda: self._post(request), self._server, self._waits, self.cut
        )
        with closing(response):
            for event in self._events(response, heard):
                yield from heard.take(event)
        if not heard.deltas.finished:
            raise http_client.to_broken_stream(self._server, heard.pieces)
        yield heard.reply()

    def wire(self, request: Request) -> bytes:
        """See `Model`."""
        return self._build(self._body(request)).content

    def warm(self, request: Request) -> Iterator[Waiting]:
        """See `Model`. Does nothing: such a server may cost money, and caches prefixes itself."""
        return iter(())

    def cut(self) -> None:
        """See `openclaw.evals.model_probes.Cuttable`."""
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
            options = http_client.client_options(self._url, self._sockets.watch)
            self._opened = httpx.Client(headers=headers, **options)
        return self._opened

    def _post(self, request: Request) -> httpx.Response:
        """The open response. When the server refuses a field, asks without it, now and later."""
        while True:
            response = self._send(self._body(request), request.max_tokens)
            if response.status_code == 200:
                return response
            with closing(response):
                text = _read_error_text(response)
            if not self._weaken(response.status_code, text, request):
                raise self._to_openclaw_error(response.status_code, text)

    def _send(self, body: Mapping[str, Any], most: int) -> httpx.Response:
        import httpx

        try:
            request = self._build(body)
            request.extensions[LIMIT] = bytes_for(most)
            return self._client.send(request, stream=True)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise http_client.to_server_away(self._server, error, START_IT) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ModelFailed(
                f"{self._server} gave no answer: {http_client.one_line(str(error))}",
                "look at `openai.base_url` in openclaw.yaml and at the server's log",
            ) from error

    def _build(self, body: Mapping[str, Any]) -> httpx.Request:
        return self._client.build_request("POST", f"{self._url}/chat/completions", json=body)

    def _body(self, request: Request) -> dict[str, Any]:
        length = "max_completion_tokens" if "max_tokens" in self._refused else "max_tokens"
        body: dict[str, Any] = {
            "model": self._name,
            "messages": [message(said) for said in request.messages],
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

    def _weaken(self, status: int, text: str, request: Request) -> bool:
        """Drop or weaken the field that the server refuses. Returns False without such a field."""
        if status not in (400, 422) or http_client.is_too_large(text):
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

    def _events(self, response: httpx.Response, heard: _ReplyBuilder) -> Iterator[dict[str, Any]]:
        """The JSON objects of a stream of server-sent events."""
        import httpx

        try:
            for line in _split_lines(response):
                field, _, value = line.partition(b":")
                if field != b"data":
                    continue
                if value.strip() == b"[DONE]":
                    return
                yield self._event(value)
        except httpx.HTTPError as error:
            raise http_client.to_broken_stream(self._server, heard.pieces, str(error)) from error

    def _event(self, value: bytes) -> dict[str, Any]:
        try:
            event = json.loads(value.decode("utf-8", "replace"))
        except (ValueError, RecursionError) as error:
            raise ModelFailed(
                f"{self._server} sent a line that is not JSON: {error}", "ask again"
            ) from error
        if not isinstance(event, dict) or event.get("error") or event.get("object") == "error":
            raise http_client.failure(self._server, json.dumps(event, ensure_ascii=False))
        return event

    def _to_openclaw_error(self, status: int, text: str) -> OpenclawError:
        line = http_client.one_line(text)
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
        return http_client.failure(self._server, text, status)


class _ReplyBuilder:
    """Collects the events of one reply."""

    def __init__(self) -> None:
        self.pieces = 0
        self.deltas = Deltas()
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
        return self.deltas.reply(usage)


def _read_error_text(response: httpx.Response) -> str:
    """The text of an error response, at most `MOST_ERROR` bytes."""
    import httpx

    data = b""
    with suppress(httpx.HTTPError):
        for piece in response.iter_bytes():
            data += piece
            if len(data) > MOST_ERROR:
                break
    return data[:MOST_ERROR].decode("utf-8", "replace")


def _split_lines(response: httpx.Response) -> Iterator[bytes]:
    """Split at newlines only: `iter_lines` of httpx also splits at U+2028 or U+0085 inside JSON."""
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
    """Billions of parameters in a name such as "qwen2.5-7b-instruct", else 0.0."""
    found = re.search(r"(?<![\w.])(\d+(?:\.\d+)?)b(?!\w)", name.lower())
    return float(found[1]) if found else 0.0


def message(said: Message) -> dict[str, Any]:
    """One message as JSON."""
    body: dict[str, Any] = {"role": said.role, "content": said.content}
    if said.tool_calls:
        body["tool_calls"] = [_call_json(call) for call in said.tool_calls]
    if said.images:
        body["content"] = [{"type": "text", "text": said.content}, *map(_image_json, said.images)]
    if said.role == "tool":
        body |= {"tool_call_id": said.tool_call_id, "name": said.tool_name}
    return body


def _image_json(image: Image) -> dict[str, Any]:
    data = b64encode(image.data or b"").decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/{image.kind};base64,{data}"}}


class Deltas:
    """Puts the deltas of one reply together."""

    def __init__(self) -> None:
        self.finished = ""
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: dict[int, dict[str, str]] = {}

    @property
    def begun(self) -> bool:
        """Return True when any generated text has come."""
        return bool(self._text or self._thinking or self._calls)

    def take(self, chunk: Mapping[str, Any]) -> Iterator[Text | Thinking]:
        for choice in (chunk.get("choices") or ())[:1]:
            self.finished = choice.get("finish_reason") or self.finished
            delta = choice.get("delta") or {}
            for piece in delta.get("tool_calls") or ():
                self._add_call(piece)
            if thought := delta.get("reasoning_content") or delta.get("reasoning"):
                self._thinking.append(thought)
                yield Thinking(thought)
            if said := delta.get("content"):
                self._text.append(said)
                yield Text(said)

    def reply(self, usage: Usage) -> Reply:
        """The whole reply."""
        calls = tuple(_read_call(index, call) for index, call in sorted(self._calls.items()))
        ended: StopReason = "length" if self.finished == "length" else "stop"
        return Reply(
            text="".join(self._text),
            tool_calls=calls,
            thinking="".join(self._thinking),
            stop_reason="tool_calls" if calls else ended,
            usage=usage,
        )

    def _add_call(self, piece: Mapping[str, Any]) -> None:
        index = piece.get("index")
        if index is None:  # some servers send whole calls, unnumbered
            index = len(self._calls)
        call = self._calls.setdefault(index, {"id": "", "name": "", "arguments": ""})
        function = piece.get("function") or {}
        call["id"] = piece.get("id") or call["id"]
        call["name"] += function.get("name") or ""
        call["arguments"] += function.get("arguments") or ""


def _call_json(call: ToolCall) -> dict[str, Any]:
    arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
    function = {"name": call.name, "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function}


def _read_call(index: int, call: Mapping[str, str]) -> ToolCall:
    """Arguments that are no JSON object are the model's mistake. They get a name that no parameter
    has, so that the model is told what is valid."""
    try:
        arguments = json.loads(replace_surrogates(call["arguments"]) or "{}", strict=False)
    except (ValueError, RecursionError):
        arguments = call["arguments"]
    if not isinstance(arguments, dict):
        arguments = {"arguments": arguments}
    return ToolCall(call["id"] or f"call_{index + 1}", call["name"], arguments)
