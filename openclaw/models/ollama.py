"""Models of an Ollama server, through the `ollama` library's `/api/chat`.

Every call sends the window, also the one for preloading: Ollama's default is 4,096 tokens, and a
call with another window loads the model again. `usage.prompt_tokens` is the server's count of the
whole prompt, which the agent compares with its own (0 from an old server with all of it cached).

A schema binds a thinking model only when it does not think: without `think` Ollama ignores the
schema until a thought has come and ended. Thoughts are never sent back: templates drop them from
earlier turns, so that everything after them would be read again.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import time
from base64 import b64encode
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from openclaw.errors import ModelFailed, ModelMissing, OpenclawError
from openclaw.messages import Message, ToolCall, Usage, Waiting
from openclaw.models import http_client
from openclaw.models.base import (
    LIMIT,
    Chunk,
    ModelCard,
    Reply,
    Request,
    Text,
    Thinking,
    bytes_for,
    text_matches_schema,
)
from openclaw.models.http_client import Sockets
from openclaw.models.ollama_server import base_url, read_card
from openclaw.models.profile import full_name, with_profile

if TYPE_CHECKING:
    from pathlib import Path

    import httpx
    import ollama


START_IT = "start it with `ollama serve`, or name its host in OLLAMA_HOST"
CHARACTERS_A_TOKEN = 4  # about
ASK_AGAIN_SECONDS = 60.0  # after its last use; then the model may have been unloaded


class OllamaModel:
    """One model of one server. Connects at the first use.

    window       the configured window in tokens
    keep_alive   a duration ("30m") or seconds ("-1" is for ever)
    retry_waits  seconds between tries while the server refuses the connection
    profiles     the folder of test results; None uses none
    """

    def __init__(
        self,
        name: str,
        *,
        host: str,
        window: int,
        keep_alive: str,
        retry_waits: Sequence[float] = http_client.RETRY_WAITS,
        profiles: Path | None = None,
    ) -> None:
        self._name, self._profiles = name, profiles
        self._url = base_url(host)
        self._server = f"Ollama at {self._url}"
        self._window = window
        self._keep_alive = _duration(keep_alive)
        self._waits = retry_waits
        self._card: ModelCard | None = None
        self._opened: ollama.Client | None = None
        self._sockets = Sockets()
        self._last_used = float("-inf")
        self._session: str | None = None
        self.reading_rate = 0.0
        http_client.lighten_httpx()

    @property
    def card(self) -> ModelCard:
        """The card from `/api/show`. Raises ServerAway or ModelMissing."""
        asking = self._read_card()
        while True:
            try:
                next(asking)
            except StopIteration as end:
                return cast(ModelCard, end.value)

    def stream(self, request: Request) -> Iterator[Chunk]:
        """See `Model`. When a reply is only thinking, or does not match the schema after thinking,
        asks once more without thinking."""
        card = yield from self._read_card()
        loads = self._must_load(card)
        if loads:
            yield Waiting(f"loading model {self._name}")
        think = self._think_value(request, card)
        can_stop = think is not False and self._can_stop(request, card)
        schema = request.schema if think and can_stop else None
        asking = self._ask(request, think, card)
        reply = yield from asking if schema is None else _without_text(asking)
        reply = self._with_cached_tokens(reply, is_whole=loads)
        wrong = _find_fault(reply, schema) if can_stop else ""
        if wrong:
            yield Waiting(f"{wrong}, asking again without thinking")
            again = self._with_cached_tokens(
                (yield from self._ask(request, False, card)), is_whole=False
            )
            thinking = reply.thinking + again.thinking
            reply = replace(again, thinking=thinking, usage=reply.usage + again.usage)
        elif schema is not None:
            yield Text(reply.text)
        yield reply

    def wire(self, request: Request) -> bytes:
        """See `Model`. The `ollama` library makes the request; a transport catches it."""
        card = self.card
        return capture_body(self._url, self._body(request, self._think_value(request, card), card))

    def warm(self, request: Request) -> Iterator[Waiting]:
        """See `Model`. Sends a chat of one token, otherwise equal to the next one, so that the
        server loads the model once and caches the prompt. Does nothing when the model is loaded
        and its last request was in this conversation."""
        with suppress(OpenclawError, OSError, http.client.HTTPException):
            card = yield from self._read_card()
            if not request.messages:
                return
            loads = self._must_load(card)
            if loads:
                yield Waiting(f"loading model {self._name}")
            elif request.session == self._session:
                return
            first = replace(
                request, messages=shared_start(request.messages), schema=None, max_tokens=1
            )
            body = self._body(first, self._think_value(request, card), card)
            # Written by the library: its changes to the tools are part of the prompt.
            sent = {**json.loads(capture_body(self._url, body)), "stream": False}
            told = yield from http_client.post_json(f"{self._url}/api/chat", sent, _authorization())
            self._last_used, self._session = time.monotonic(), request.session
            if loads:  # nothing of the prompt can be cached
                count, seconds = parse_reading(told)
                self.reading_rate = update_rate(self.reading_rate, count, seconds, is_whole=True)

    def cut(self) -> None:
        """See `openclaw.evals.model_probes.Cuttable`."""
        self._sockets.cut()

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()  # type: ignore[no-untyped-call]
            self._opened = None

    @property
    def _client(self) -> ollama.Client:
        if self._opened is None:
            self._opened = client(self._url, self._sockets)
        return self._opened

    def _read_card(self) -> Generator[Waiting, None, ModelCard]:
        if self._card is None:
            shown = yield from http_client.retry_refused(self._show, self._server, self._waits)
            card = read_card(self._name, self._window, shown)
            self._card = with_profile(replace(card, server=self._url), self._profiles)
        return self._card

    def _show(self) -> ollama.ShowResponse:
        with self._translate_errors():
            return self._client.show(self._name)

    def _think_value(self, request: Request, card: ModelCard) -> bool | None:
        """The value to send as `think`. With None a schema would not bind; see the module."""
        if not card.thinking:
            return None
        if request.think is None and request.schema is not None and self._can_stop(request, card):
            return False
        return request.think

    def _must_load(self, card: ModelCard) -> bool:
        """Return True when the server will load the model first. Asks the server only when the last
        use was long ago, so that a conversation costs no further requests."""
        if time.monotonic() - self._last_used < ASK_AGAIN_SECONDS:
            return False
        try:
            with self._translate_errors():
                running = self._client.ps().models
        except (ModelFailed, ModelMissing):  # a server too old to know /api/ps
            return False
        return not any(self._is_this(model, card.window) for model in running)

    def _is_this(self, model: ollama.ProcessResponse.Model, window: int) -> bool:
        """Return True when a running model is this one with this window."""
        tagged = full_name(f"ollama/{self._name}").removeprefix("ollama/")
        return tagged in (model.model, model.name) and model.context_length in (None, 0, window)

    def _can_stop(self, request: Request, card: ModelCard) -> bool:
        """Return True unless it is gpt-oss with a schema, which then returns nothing without
        thinking."""
        is_gpt_oss = "gptoss" in card.family.replace("-", "") or "gpt-oss" in self._name
        return not (is_gpt_oss and request.schema is not None)

    def _ask(
        self, request: Request, think: bool | None, card: ModelCard
    ) -> Generator[Chunk, None, Reply]:
        heard = ReplyBuilder(calls_so_far(request.messages))
        body = self._body(request, think, card)
        parts, part = yield from http_client.retry_refused(
            lambda: self._open(body),
            self._server,
            self._waits,
            self.cut,
            self._reading_estimate(body),
        )
        with closing(parts):
            while part is not None:
                yield from heard.take(part)
                self._last_used = time.monotonic()
                part = self._next(parts, heard.pieces)
        if heard.last is None:
            raise http_client.to_broken_stream(self._server, heard.pieces)
        self._session = request.session
        reply = heard.reply(heard.last)
        used = reply.usage.prompt_tokens + reply.usage.generated_tokens
        if used > card.window:
            yield Waiting(
                f"prompt and reply have {used} tokens, the window {card.window}: the server forgot "
                "the oldest while it wrote (set a lower max_tokens or a larger window)"
            )
        return reply

    def _reading_estimate(self, body: Mapping[str, Any]) -> str:
        """How long the first token may take, "" when that is unknown or short. Ollama does not tell
        how much of the prompt is cached."""
        size = sum(len(said["content"]) for said in body["messages"])
        seconds = size / CHARACTERS_A_TOKEN / self.reading_rate if self.reading_rate else 0
        return f"reading the whole prompt takes about {seconds:.0f} s" if seconds >= 5 else ""

    def _with_cached_tokens(self, reply: Reply, *, is_whole: bool) -> Reply:
        """The reply with an estimate of the cached tokens in its usage."""
        count, seconds = reply.usage.prompt_tokens, reply.usage.read_seconds
        self.reading_rate = update_rate(self.reading_rate, count, seconds, is_whole=is_whole)
        known = 0 if is_whole else estimate_cached(count, seconds, self.reading_rate)
        return replace(reply, usage=replace(reply.usage, cached_tokens=known))

    def _body(self, request: Request, think: bool | None, card: ModelCard) -> dict[str, Any]:
        options: dict[str, Any] = {
            "num_ctx": card.window,
            "num_predict": min(request.max_tokens, card.window),
            "temperature": request.temperature,
            "repeat_penalty": 1.0,  # the default of 1.1 damages JSON
        }
        if request.seed is not None:
            options["seed"] = request.seed
        if request.stop:
            options["stop"] = list(request.stop)
        return {
            "model": self._name,
            "messages": [message(said) for said in request.messages],
            "tools": list(request.tools) or None,
            "format": None if request.schema is None else dict(request.schema),
            "think": think,
            "options": options,
            "keep_alive": self._keep_alive,
        }

    def _open(
        self, body: Mapping[str, Any]
    ) -> tuple[Generator[ollama.ChatResponse, None, None], ollama.ChatResponse | None]:
        """The stream and its first part. Only reading the first part connects."""
        parts = cast(
            "Generator[ollama.ChatResponse, None, None]", self._client.chat(**body, stream=True)
        )
        return parts, self._next(parts, 0)

    def _next(
        self, parts: Iterator[ollama.ChatResponse], pieces: int
    ) -> ollama.ChatResponse | None:
        with self._translate_errors(pieces):
            return next(parts, None)

    @contextmanager
    def _translate_errors(self, pieces: int = 0) -> Iterator[None]:
        """Turn the library's exceptions into our errors."""
        import httpx
        import ollama

        try:
            yield
        except ollama.ResponseError as error:
            raise self._to_openclaw_error(error) from error
        except (ConnectionError, httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise http_client.to_server_away(self._server, error, START_IT) from error
        except httpx.HTTPError as error:
            raise http_client.to_broken_stream(self._server, pieces, str(error)) from error
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise ModelFailed(
                f"{self._server} sent what is not a chat reply: {http_client.one_line(str(error))}",
                "ask again; if it stays, update Ollama or look at what stands between",
            ) from error

    def _to_openclaw_error(self, error: ollama.ResponseError) -> ModelFailed | ModelMissing:
        text = error.error if isinstance(error.error, str) else json.dumps(error.error)
        if error.status_code == 404 and "page not found" not in text:
            return ModelMissing(
                f"{self._server} has no model {self._name}",
                f"openclaw models pull ollama/{self._name}",
            )
        if error.status_code in (401, 403):
            return ModelFailed(
                f"{self._server} refuses the request (HTTP {error.status_code})",
                "for a cloud model `ollama signin`, else set OLLAMA_API_KEY",
            )
        return http_client.failure(self._server, text, error.status_code)


def _without_text(asking: Generator[Chunk, None, Reply]) -> Generator[Chunk, None, Reply]:
    """The same chunks without text, which must be checked first."""
    while True:
        try:
            chunk = next(asking)
        except StopIteration as end:
            return cast(Reply, end.value)
        if not isinstance(chunk, Text):
            yield chunk


def _find_fault(reply: Reply, schema: Mapping[str, Any] | None) -> str:
    """The fault of a reply after thinking, "" without one."""
    if only_thought(reply):
        return "the model only thought and said nothing"
    if schema is not None and not text_matches_schema(reply.text, schema):
        return "the reply does not have the form that was asked for"
    return ""


def _authorization() -> dict[str, str]:
    key = os.environ.get("OLLAMA_API_KEY", "")
    return {"Authorization": f"Bearer {key}"} if key else {}


def _duration(text: str) -> int | str:
    """Ollama reads seconds only as a number; as text they would lack a unit."""
    return int(text) if re.fullmatch(r"-?\d+", text) else text


LEAST = 64
"""Tokens of the shortest prompt that measures the reading rate."""


def message(said: Message) -> dict[str, Any]:
    """One message as JSON. Calls have no id in this API; results name their tool, in order."""
    body: dict[str, Any] = {"role": said.role, "content": said.content}
    if said.tool_calls:
        body["tool_calls"] = [
            {"function": {"name": call.name, "arguments": dict(call.arguments)}}
            for call in said.tool_calls
        ]
    if said.role == "tool":
        body["tool_name"] = said.tool_name
    if said.images:
        body["images"] = [b64encode(image.data or b"").decode() for image in said.images]
    return body


def shared_start(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages that a later request will share: all but the user's newest, which a short text
    replaces."""
    said = list(messages)
    while said and said[-1].role == "user":
        said.pop()
    return (*said, Message("user", "."))


def calls_so_far(messages: Sequence[Message]) -> int:
    return sum(len(message.tool_calls) for message in messages)


def only_thought(reply: Reply) -> bool:
    return bool(reply.thinking) and not reply.text.strip() and not reply.tool_calls


def estimate_cached(count: int, seconds: float, rate: float) -> int:
    """Estimate how many of a prompt's `count` tokens were cached. Ollama counts the whole prompt,
    but its `seconds` only cover the tokens it read, `rate` per second (0.0: unknown, then 0)."""
    return max(0, count - round(seconds * rate)) if rate and seconds else 0


def update_rate(rate: float, count: int, seconds: float, *, is_whole: bool) -> float:
    """The reading rate after one more call. `is_whole` means that nothing was cached. For other
    calls the quotient may be too high, so it can only lower a known rate."""
    if count < LEAST or seconds <= 0:
        return rate
    measured = round(count / seconds, 1)
    if is_whole:
        return round((rate + measured) / 2, 1) if rate else measured
    return min(rate, measured)


def parse_reading(told: bytes) -> tuple[int, float]:
    """(tokens of the prompt, seconds of reading) in an answer of the server; zeros without them."""
    try:
        answer = json.loads(told)
        return int(answer["prompt_eval_count"]), float(answer["prompt_eval_duration"]) / 1e9
    except (ValueError, TypeError, KeyError):
        return 0, 0.0


class ReplyBuilder:
    """Collects the parts of one reply."""

    def __init__(self, calls_so_far: int) -> None:
        self.pieces = 0
        self.last: ollama.ChatResponse | None = None
        self._calls_so_far = calls_so_far
        self._began = time.monotonic()
        self._first: float | None = None
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[ToolCall] = []

    def take(self, part: ollama.ChatResponse) -> Iterator[Text | Thinking]:
        said, thought = part.message.content or "", part.message.thinking or ""
        if part.done:
            self.last = part
        else:
            self.pieces += 1
        if self._first is None:
            self._first = time.monotonic() - self._began
        for call in part.message.tool_calls or ():
            number = self._calls_so_far + len(self._calls) + 1
            function = call.function
            self._calls.append(ToolCall(f"call_{number}", function.name, dict(function.arguments)))
        if thought:
            self._thinking.append(thought)
            yield Thinking(thought)
        if said:
            self._text.append(said)
            yield Text(said)

    def reply(self, last: ollama.ChatResponse) -> Reply:
        usage = Usage(
            prompt_tokens=last.prompt_eval_count or 0,
            generated_tokens=last.eval_count or 0,
            first_token_seconds=self._first or 0.0,
            total_seconds=time.monotonic() - self._began,
            calls=1,
            read_seconds=(last.prompt_eval_duration or 0) / 1e9,
        )
        return Reply(
            text="".join(self._text),
            tool_calls=tuple(self._calls),
            thinking="".join(self._thinking),
            stop_reason=(
                "tool_calls"
                if self._calls
                else "length"
                if last.done_reason == "length"
                else "stop"
            ),
            usage=usage,
        )


def client(url: str, sockets: Sockets | None = None, **options: Any) -> ollama.Client:
    """A client of the server at `url`. `options` go to `httpx.Client`; `sockets` can cut its
    connections."""
    import ollama

    hooks = [_prepare_chat, *([sockets.watch] if sockets else [])]
    return ollama.Client(url, **(http_client.client_options(url, *hooks) | options))


def capture_body(url: str, body: Mapping[str, Any]) -> bytes:
    """The body of the request that `client(url).chat(**body, stream=True)` sends."""
    import httpx

    def catch(request: httpx.Request) -> httpx.Response:
        raise _CapturedRequest(b"".join(request.stream))  # type: ignore[arg-type]

    sender = client(url, transport=httpx.MockTransport(catch))
    try:
        next(iter(sender.chat(**body, stream=True)))
    except _CapturedRequest as found:
        return found.body
    finally:
        sender.close()  # type: ignore[no-untyped-call]
    raise AssertionError("a request goes through its transport")


class _CapturedRequest(BaseException):
    """Carries a request past the library, which turns exceptions into its own."""

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self.body = body


def _prepare_chat(request: httpx.Request) -> None:
    """Ask for an error instead of a silent cut, which `Client.chat` (ollama 0.6) cannot, and set
    the limit of the reply. `shift` is not sent: since Ollama 0.30 another value than that at load
    time loads the model again."""
    import httpx

    if not request.url.path.endswith("/api/chat"):
        return
    body = {**json.loads(request.content), "truncate": False}
    request.extensions[LIMIT] = bytes_for(body["options"]["num_predict"])
    raw = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    request.headers["Content-Length"] = str(len(raw))
    request.stream = httpx.ByteStream(raw)
