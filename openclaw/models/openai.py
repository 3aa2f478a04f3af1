"""Models of any server with an OpenAI-compatible `/chat/completions`: vLLM, llama.cpp, LM Studio,
hosted ones.

`request.think` is not sent: no field for it is accepted by all servers.
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from http.client import HTTPResponse
from typing import TYPE_CHECKING, Any

from openclaw.errors import ModelFailed, ModelMissing, OpenclawError
from openclaw.messages import Image, Message, ToolCall, Waiting
from openclaw.models import http_client
from openclaw.models.base import Chunk, ModelCard, Reply, ReplyBuilder, Request, Text, Thinking
from openclaw.models.http_client import HttpClient, ServerRefusal, bytes_for
from openclaw.models.profile import with_profile
from openclaw.storage.safe_open import replace_surrogates

if TYPE_CHECKING:
    from pathlib import Path


HOSTED = "https://api.openai.com/v1"
START_IT = "start it, or set `openai.base_url` in openclaw.yaml"
_NAMES_FORMAT = re.compile(r"response_format|json_schema|json_object|structured")
_FIELDS = ("", "data", "event", "id", "retry")
WEAKER_FORMAT = {"json_schema": "json_object", "json_object": ""}


class OpenAIModel(http_client.ServerModel):
    """One model of one server. Connects at the first use.

    base_url     the part before `/chat/completions`; "" is OpenAI's own
    window       in tokens, used as it is, since these servers do not tell theirs
    api_key_env  only for error texts
    profiles     the folder of test results; None uses none

    These servers do not tell the file of a model, so the card's digest is of address and name.
    """

    advice = START_IT

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
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        client = HttpClient(self._url, headers)
        super().__init__(f"the server at {self._url}", client, retry_waits)
        self._key_env = api_key_env
        self._format = "json_schema"
        self._refused: set[str] = set()
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

    @property
    def card(self) -> ModelCard:
        return self._card

    def stream(self, request: Request) -> Iterator[Chunk]:
        """See `Model`."""
        heard = StreamedReply()
        events, event = yield from self.retry_refused(lambda: self._open(self._events(request)))
        with self._translate_errors(heard), closing(self._follow(event, events)) as followed:
            for event in followed:
                yield from heard.take(event)
            if not heard.finished:
                raise self._broken_stream(heard.pieces)
            details = heard.told.get("prompt_tokens_details") or {}
            reply = heard.reply(cached_tokens=details.get("cached_tokens") or 0)
        yield reply

    def wire(self, request: Request) -> bytes:
        """See `Model`."""
        return http_client.dump(self._body(request))

    def warm(self, request: Request) -> Iterator[Waiting]:
        """See `Model`. Does nothing: such a server may cost money, and caches prefixes itself."""
        return iter(())

    def _post(self, request: Request) -> HTTPResponse:
        """The open response. When the server refuses a field, asks without it, now and later."""
        while True:
            with self._translate_errors():
                try:
                    body = self._body(request)
                    return self._client.send("POST", "/chat/completions", body)
                except ServerRefusal as refusal:
                    if not self._weaken(refusal.status, str(refusal), request):
                        raise

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
        if request.schema is not None and self._format and _NAMES_FORMAT.search(text):
            self._format = WEAKER_FORMAT[self._format]
            return True
        for field in ("max_tokens", "stream_options", "temperature", "seed"):
            named = re.search(rf"\b{field}\b", text) is not None
            if named and field not in self._refused:
                self._refused.add(field)
                return True
        return False

    def _events(self, request: Request) -> Generator[dict[str, Any], None, None]:
        """The JSON objects of a stream of server-sent events."""
        most = bytes_for(request.max_tokens)
        with closing(self._client.lines(self._post(request), most)) as lines:
            for line in lines:
                field, _, value = line.strip().partition(":")
                if field not in _FIELDS:  # the page of a proxy, or an error by itself
                    raise ServerRefusal(value if field == "error" else line)
                if field != "data" or not value.strip():
                    continue
                if value.strip() == "[DONE]":
                    self._client.end(lines)
                    return
                event = http_client.read_object(value)
                if event.get("error") or event.get("object") == "error":
                    raise ServerRefusal(json.dumps(event, ensure_ascii=False))
                yield event

    def _to_openclaw_error(self, refusal: ServerRefusal) -> OpenclawError:
        line, status = http_client.error_line(str(refusal)), refusal.status
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
        return super()._to_openclaw_error(refusal)


def _format(kind: str, schema: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if schema is None or not kind:
        return None
    if kind == "json_object":
        return {"type": kind}
    return {"type": kind, "json_schema": {"name": "reply", "schema": dict(schema), "strict": True}}


def _billions(name: str) -> float:
    """Billions of parameters in a name such as "qwen2.5-7b-instruct", else 0.0."""
    found = re.search(r"(?<![\w.])(\d+(?:\.\d+)?)b(?!\w)", name.lower())
    return float(found[1]) if found else 0.0


def message(said: Message) -> dict[str, Any]:
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


class StreamedReply(ReplyBuilder):
    """Collects the events of one reply.

    finished  why it ended, "" before that
    told      the server's count of the tokens
    """

    def __init__(self) -> None:
        super().__init__()
        self.finished = ""
        self.told: Mapping[str, Any] = {}
        self._calls: list[dict[str, str]] = []
        self._newest: dict[object, dict[str, str]] = {}

    def take(self, event: Mapping[str, Any]) -> Iterator[Text | Thinking]:
        self.told = event.get("usage") or self.told
        self.pieces += 1
        for choice in (event.get("choices") or ())[:1]:
            self.finished = choice.get("finish_reason") or self.finished
            delta = choice.get("delta") or {}
            for piece in delta.get("tool_calls") or ():
                self._add_call(piece)
            thought = delta.get("reasoning_content") or delta.get("reasoning") or ""
            said = delta.get("content") or ""
            if not isinstance(said, str):
                thought, said = thought + _texts(said, "thinking"), _texts(said, "text")
            if thought or said or self._calls:
                self.first = self.first or self.seconds
            yield from self.add(thought, said)

    def reply(self, **counts: Any) -> Reply:
        """The whole reply, with these counts beside the server's in its usage."""
        usage = self.usage(
            prompt_tokens=self.told.get("prompt_tokens") or 0,
            generated_tokens=self.told.get("completion_tokens") or 0,
            **counts,
        )
        calls = tuple(_read_call(index, call) for index, call in enumerate(self._calls))
        return self.build(calls, usage, is_cut=self.finished == "length")

    def _add_call(self, piece: Mapping[str, Any]) -> None:
        """Add a piece of a call. Some servers send whole calls, without a number or all with the
        same one; some repeat the name, give each piece an id of its own, or the arguments as an
        object."""
        index, own = piece.get("index"), piece.get("id") or ""
        function = piece.get("function") or {}
        name, given = function.get("name") or "", function.get("arguments") or ""
        call = self._newest.get(index)
        is_next = index is None or (own and call and call["id"] not in ("", own))
        if call is None or (name and is_next):
            call = self._newest[index] = {"id": "", "name": "", "arguments": ""}
            self._calls.append(call)
        call["id"] = own or call["id"]
        call["name"] += name if name != call["name"] else ""
        call["arguments"] += given if isinstance(given, str) else json.dumps(given)


def _texts(parts: Any, key: str) -> str:
    """The texts below a key in a list of parts, as Mistral sends texts and thoughts."""
    if isinstance(parts, str):
        return parts
    return "".join(_texts(part.get(key) or "", "text") for part in parts)


def _call_json(call: ToolCall) -> dict[str, Any]:
    arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
    function = {"name": call.name, "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function}


def _read_call(index: int, call: Mapping[str, str]) -> ToolCall:
    """Arguments that are no JSON object are the model's mistake. They get a name that no parameter
    has, so that the model is told what is valid."""
    try:
        text = replace_surrogates(call["arguments"]) or "{}"
        arguments = json.loads(text, strict=False, parse_constant=str)
    except (ValueError, RecursionError):
        arguments = call["arguments"]
    if not isinstance(arguments, dict):
        arguments = {"arguments": arguments}
    return ToolCall(call["id"] or f"call_{index + 1}", call["name"], arguments)
