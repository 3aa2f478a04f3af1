"""Models of an Ollama server, through the `ollama` library's `/api/chat`.

The window is sent with every call, also with the one that reads ahead: Ollama's own default is
4,096 tokens, and a call with another window loads the model anew. `usage.prompt_tokens` is the
server's count of the whole prompt (0 when an old server that had all of it cached says nothing),
for the agent to compare with its own.

A model that can think is held to a schema only when it does not think: without `think` Ollama
leaves the schema out until a thought has come and ended. What a model thought is never sent back:
templates leave it out of earlier turns, so that everything behind it would be read anew.
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
from openclaw.models import http_client
from openclaw.models.base import Chunk, ModelCard, Reply, Request, Text, Thinking, fits_text
from openclaw.models.http_client import LIMIT, Sockets, bytes_for
from openclaw.models.ollama_server import base_url, read_card
from openclaw.models.profile import key_of, with_profile
from openclaw.types import Message, ToolCall, Usage, Waiting

if TYPE_CHECKING:
    from pathlib import Path

    import httpx
    import ollama


START_IT = "start it with `ollama serve`, or name its host in OLLAMA_HOST"
CHARACTERS_A_TOKEN = 4  # about
ASK_AGAIN_SECONDS = 60.0  # so long after its last use a model may have been unloaded


class OllamaModel:
    """One model of one server. Nothing is contacted before the first use.

    `window` is the configured one, in tokens; `keep_alive` a duration ("30m") or seconds ("-1" is
    for ever); `retry_waits` the seconds between tries at a server that refuses the connection;
    `profiles` the folder of what tests have found, None to go without.
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
        """What `/api/show` says. Raises ServerAway or ModelMissing."""
        asking = self._read_card()
        while True:
            try:
                next(asking)
            except StopIteration as end:
                return cast(ModelCard, end.value)

    def stream(self, request: Request) -> Iterator[Chunk]:
        """See `Model`. A reply that is nothing but thinking, or that after thinking does not fit
        the schema, is asked for once more without."""
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
        """See `Model`. Made by the `ollama` library itself, before a line that leads nowhere."""
        card = self.card
        return capture_body(self._url, self._body(request, self._think_value(request, card), card))

    def warm(self, request: Request) -> Iterator[Waiting]:
        """See `Model`: a chat of one token, else the same as the one that follows, so that the
        server loads the model once and keeps what it has read. Nothing is done when the model is
        loaded and was last asked in this very conversation."""
        with suppress(OpenclawError, OSError, http.client.HTTPException):
            card = yield from self._read_card()
            if not request.messages:
                return
            loads = self._must_load(card)
            if loads:
                yield Waiting(f"loading model {self._name}")
            elif request.session == self._session:
                return
            first = replace(request, messages=begun(request.messages), schema=None, max_tokens=1)
            body = self._body(first, self._think_value(request, card), card)
            # As the library writes it: what it does to the tools is a part of the prompt, too.
            sent = {**json.loads(capture_body(self._url, body)), "stream": False}
            told = yield from http_client.post_json(f"{self._url}/api/chat", sent, _authorization())
            self._last_used, self._session = time.monotonic(), request.session
            if loads:  # nothing of it can have been read before
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
        """What is sent as `think`. Under a schema None would be unbound; see the module."""
        if not card.thinking:
            return None
        if request.think is None and request.schema is not None and self._can_stop(request, card):
            return False
        return request.think

    def _must_load(self, card: ModelCard) -> bool:
        """Whether the server will load the model first. Asked only when it may have been unloaded
        since the last use, so that a conversation costs no further requests."""
        if time.monotonic() - self._last_used < ASK_AGAIN_SECONDS:
            return False
        try:
            with self._translate_errors():
                running = self._client.ps().models
        except (ModelFailed, ModelMissing):  # a server too old to know /api/ps
            return False
        return not any(self._is_this(model, card.window) for model in running)

    def _is_this(self, model: ollama.ProcessResponse.Model, window: int) -> bool:
        """A model that runs with another window is loaded anew."""
        tagged = key_of(f"ollama/{self._name}").removeprefix("ollama/")
        return tagged in (model.model, model.name) and model.context_length in (None, 0, window)

    def _can_stop(self, request: Request, card: ModelCard) -> bool:
        """gpt-oss returns nothing at all under a format when its thinking is switched off."""
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
            raise http_client.broken_off(self._server, heard.pieces)
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
        """How long the first token may take, where that is known and long; of what was read before
        Ollama tells nothing."""
        size = sum(len(said["content"]) for said in body["messages"])
        seconds = size / CHARACTERS_A_TOKEN / self.reading_rate if self.reading_rate else 0
        return f"reading the whole prompt takes about {seconds:.0f} s" if seconds >= 5 else ""

    def _with_cached_tokens(self, reply: Reply, *, is_whole: bool) -> Reply:
        """The reply with an estimate of the tokens that the server had read before."""
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
        """The stream and its first part; only asking for that one connects."""
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
        """Turns whatever the library lets through into our errors."""
        import httpx
        import ollama

        try:
            yield
        except ollama.ResponseError as error:
            raise self._to_openclaw_error(error) from error
        except (ConnectionError, httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise http_client.away(self._server, error, START_IT) from error
        except httpx.HTTPError as error:
            raise http_client.broken_off(self._server, pieces, str(error)) from error
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
    """The same without its text, which is still to be checked."""
    while True:
        try:
            chunk = next(asking)
        except StopIteration as end:
            return cast(Reply, end.value)
        if not isinstance(chunk, Text):
            yield chunk


def _find_fault(reply: Reply, schema: Mapping[str, Any] | None) -> str:
    """What is wrong with a reply that came after thinking, "" when nothing is."""
    if only_thought(reply):
        return "the model only thought and said nothing"
    if schema is not None and not fits_text(reply.text, schema):
        return "the reply does not have the form that was asked for"
    return ""


def _authorization() -> dict[str, str]:
    key = os.environ.get("OLLAMA_API_KEY", "")
    return {"Authorization": f"Bearer {key}"} if key else {}


def _duration(text: str) -> int | str:
    """Ollama reads seconds only as a number; as text they would lack a unit."""
    return int(text) if re.fullmatch(r"-?\d+", text) else text


LEAST = 64
"""A shorter prompt tells little of how many tokens are read in a second."""


def message(said: Message) -> dict[str, Any]:
    """Calls carry no id on this API; results are joined by the tool's name, in order."""
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


def begun(messages: Sequence[Message]) -> tuple[Message, ...]:
    """What of messages a later request has in common with this one: all but the newest of the user,
    in whose place something short stands."""
    said = list(messages)
    while said and said[-1].role == "user":
        said.pop()
    return (*said, Message("user", "."))


def calls_so_far(messages: Sequence[Message]) -> int:
    return sum(len(message.tool_calls) for message in messages)


def only_thought(reply: Reply) -> bool:
    return bool(reply.thinking) and not reply.text.strip() and not reply.tool_calls


def estimate_cached(count: int, seconds: float, rate: float) -> int:
    """How many of a prompt's `count` tokens the server had read before, when it worked `seconds` on
    them and reads `rate` tokens a second (0.0: not known, then none). Ollama tells the whole count,
    but the time only for what it really read."""
    return max(0, count - round(seconds * rate)) if rate and seconds else 0


def update_rate(rate: float, count: int, seconds: float, *, is_whole: bool) -> float:
    """The reading rate after one more call. `is_whole`: all of the prompt was surely read. Of other
    calls the quotient is too high by what was cached, so only one below the rate tells anything,
    and none is the first to tell it."""
    if count < LEAST or seconds <= 0:
        return rate
    measured = round(count / seconds, 1)
    if is_whole:
        return round((rate + measured) / 2, 1) if rate else measured
    return min(rate, measured)


def parse_reading(told: bytes) -> tuple[int, float]:
    """(tokens of the prompt, seconds in which they were read) that an answer of the server tells;
    zeros where it tells none."""
    try:
        answer = json.loads(told)
        return int(answer["prompt_eval_count"]), float(answer["prompt_eval_duration"]) / 1e9
    except (ValueError, TypeError, KeyError):
        return 0, 0.0


class ReplyBuilder:
    """What has come of one reply so far."""

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
    """A client of the server at `url`; `options` are more of `httpx.Client`, `sockets` can cut its
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
