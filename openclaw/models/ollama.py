"""Models of an Ollama server, through its `/api/chat` over `http.client`.

Importing the `ollama` library takes as long as everything else before a prompt's request, so it is
left to full batches of passages to embed, which nobody waits for. The body of a chat is the one
that the library writes, byte for byte, except that `truncate` asks for an error instead of a silent
cut.

Every call sends the window, also the one for preloading: Ollama's default is 4,096 tokens, and a
call with another window loads the model again. `usage.prompt_tokens` is the server's count of the
whole prompt, which the agent compares with its own (0 from an old server with all of it cached).

A schema binds a thinking model only when it does not think: without `think` Ollama ignores the
schema until a thought has come and ended. Thoughts are never sent back: templates drop them from
earlier turns, so that everything after them would be read again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from base64 import b64encode
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit

from openclaw.errors import ModelFailed, ModelMissing, OpenclawError, UsageError
from openclaw.messages import Message, ToolCall, Waiting
from openclaw.models.base import (
    Chunk,
    ModelCard,
    Reply,
    ReplyBuilder,
    Request,
    Text,
    Thinking,
    filtered,
    text_matches_schema,
)
from openclaw.models.http_client import (
    CONNECT_SECONDS,
    RETRY_WAITS,
    HttpClient,
    ServerModel,
    ServerRefusal,
    bytes_for,
    dump,
    read_object,
    run_beside,
)
from openclaw.models.profile import full_name, with_profile

if TYPE_CHECKING:
    from pathlib import Path


CHARACTERS_A_TOKEN = 4  # about
ASK_AGAIN_SECONDS = 60.0  # after its last use; then the model may have been unloaded
ASKED_SECONDS = 2.0  # what was asked ahead holds for the request that follows in a moment


class OllamaModel(ServerModel):
    """One model of one server. Connects at the first use.

    window       the configured window in tokens
    keep_alive   a duration ("30m") or seconds ("-1" is for ever)
    retry_waits  seconds between tries while the server refuses the connection
    profiles     the folder of test results; None uses none
    """

    advice = "start it with `ollama serve`, or name its host in OLLAMA_HOST"
    _client: OllamaClient

    def __init__(
        self,
        name: str,
        *,
        host: str,
        window: int,
        keep_alive: str,
        retry_waits: Sequence[float] = RETRY_WAITS,
        profiles: Path | None = None,
    ) -> None:
        self._name, self._profiles = name, profiles
        self._url = base_url(host)
        super().__init__(f"Ollama at {self._url}", OllamaClient(self._url), retry_waits)
        self._window = window
        # Ollama reads seconds only as a number; as text they would lack a unit.
        is_number = re.fullmatch(r"-?\d+", keep_alive)
        self._keep_alive = int(keep_alive) if is_number else keep_alive
        self._card: ModelCard | None = None
        self._last_used = float("-inf")
        self._asked_ahead: tuple[float, bool] | None = None
        self._session: str | None = None

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
        reply = yield from filtered(
            asking, lambda chunk: schema is None or not isinstance(chunk, Text)
        )
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
        """See `Model`."""
        card = self.card
        return dump(self._body(request, self._think_value(request, card), card))

    def warm(self, request: Request) -> Iterator[Waiting]:
        """See `Model`. Sends a chat of one token, otherwise equal to the next one, so that the
        server loads the model once and caches the prompt. Does nothing when the model is loaded
        and its last request was in this conversation. A request without messages asks the server
        what it would be asked before a chat."""
        with suppress(OpenclawError):
            card = yield from self._read_card()
            if not request.messages:
                self._asked_ahead = time.monotonic(), self._must_load(card)
                return
            loads = self._must_load(card)
            if loads:
                yield Waiting(f"loading model {self._name}")
            elif request.session == self._session:
                return
            first = replace(
                request, messages=shared_start(request.messages), schema=None, max_tokens=1
            )
            body = {**self._body(first, self._think_value(request, card), card), "stream": False}
            with closing(OllamaClient(self._url)) as client, self._translate_errors():
                told = yield from run_beside(
                    lambda: client.ask("POST", "/api/chat", body), client.cut
                )
                count, seconds = read_reading(told)
            self._last_used, self._session = time.monotonic(), request.session
            if loads:  # nothing of the prompt can be cached
                self.reading_rate = update_rate(self.reading_rate, count, seconds, is_whole=True)

    def _read_card(self) -> Generator[Waiting, None, ModelCard]:
        if self._card is None:
            card = yield from self.retry_refused(self._show)
            self._card = with_profile(replace(card, server=self._url), self._profiles)
        return self._card

    def _show(self) -> ModelCard:
        with self._translate_errors():
            shown = self._client.ask("POST", "/api/show", {"model": self._name})
            return read_card(self._name, self._window, shown)

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
        asked, self._asked_ahead = self._asked_ahead, None
        if asked and time.monotonic() - asked[0] < ASKED_SECONDS:
            return asked[1]
        try:
            with self._translate_errors():
                running = self._client.running()
        except (ModelFailed, ModelMissing):  # a server too old to know /api/ps
            return False
        return not any(self._is_this(model, card.window) for model in running)

    def _is_this(self, model: Mapping[str, Any], window: int) -> bool:
        """Return True when a running model is this one with this window."""
        tagged = full_name(f"ollama/{self._name}").removeprefix("ollama/")
        names = model.get("model"), model.get("name")
        return tagged in names and model.get("context_length") in (None, 0, window)

    def _can_stop(self, request: Request, card: ModelCard) -> bool:
        """Return False for gpt-oss with a schema, which says nothing without thinking."""
        is_gpt_oss = "gptoss" in card.family.replace("-", "") or "gpt-oss" in self._name
        return not (is_gpt_oss and request.schema is not None)

    def _ask(
        self, request: Request, think: bool | None, card: ModelCard
    ) -> Generator[Chunk, None, Reply]:
        heard = OllamaReply(request.messages)
        body = self._body(request, think, card)
        parts, part = yield from self.retry_refused(
            lambda: self._open(
                self._client.stream("/api/chat", body, bytes_for(body["options"]["num_predict"]))
            ),
            self._reading_estimate(body),
        )
        with self._translate_errors(heard), closing(self._follow(part, parts)) as followed:
            for part in followed:
                yield from heard.take(part)
                self._last_used = time.monotonic()
            if heard.last is None:
                raise self._broken_stream(heard.pieces)
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
        size = sum(len(said.get("content", "")) for said in body["messages"])
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
        body: dict[str, Any] = {"model": self._name, "stream": True, "options": options}
        if request.schema is not None:
            body["format"] = dict(request.schema)
        # The library writes a number of seconds so; it is part of no prompt.
        alive = self._keep_alive
        body["keep_alive"] = float(alive) if isinstance(alive, int) else alive
        body["messages"] = [message(said) for said in request.messages]
        body["tools"] = [known_fields(tool) for tool in request.tools]
        if think is not None:
            body["think"] = think
        # `shift` is not sent: since Ollama 0.30 another value than that at load time loads the
        # model again.
        return {**body, "truncate": False}

    def _to_openclaw_error(self, refusal: ServerRefusal) -> OpenclawError:
        if refusal.status == 404 and "page not found" not in str(refusal):
            return ModelMissing(
                f"{self._server} has no model {self._name}",
                f"openclaw models pull ollama/{self._name}",
            )
        if refusal.status in (401, 403):
            return ModelFailed(
                f"{self._server} refuses the request (HTTP {refusal.status})",
                "for a cloud model `ollama signin`, else set OLLAMA_API_KEY",
            )
        return super()._to_openclaw_error(refusal)


def _find_fault(reply: Reply, schema: Mapping[str, Any] | None) -> str:
    """The fault of a reply after thinking, "" without one."""
    if bool(reply.thinking) and not reply.text.strip() and not reply.tool_calls:
        return "the model only thought and said nothing"
    if schema is not None and not text_matches_schema(reply.text, schema):
        return "the reply does not have the form that was asked for"
    return ""


LEAST = 64  # tokens of the shortest prompt that measures the reading rate


def message(said: Message) -> dict[str, Any]:
    """One message as JSON. Calls have no id in this API; results name their tool, in order."""
    body: dict[str, Any] = {"role": said.role}
    if said.content:
        body["content"] = said.content
    if said.images:
        body["images"] = [b64encode(image.data or b"").decode() for image in said.images]
    if said.role == "tool":
        body["tool_name"] = said.tool_name
    if said.tool_calls:
        body["tool_calls"] = [
            {"function": {"name": call.name, "arguments": dict(call.arguments)}}
            for call in said.tool_calls
        ]
    return body


def known_fields(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A tool with the parts of its schema that the `ollama` library sends, in its order."""
    sent = _only(tool["function"], "name", "description")
    if (schema := tool["function"].get("parameters")) is not None:
        sent["parameters"] = {"type": "object", **_only(schema, "items", "required")}
        if (properties := schema.get("properties")) is not None:
            parts = "type", "items", "description", "enum"
            named = {name: _only(each, *parts) for name, each in properties.items()}
            sent["parameters"]["properties"] = named
        sent["parameters"] |= _only(schema, "$defs")
    return {"type": "function", "function": sent}


def _only(value: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value[name] for name in names if value.get(name) is not None}


def shared_start(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages that a later request will share; a short text stands for the user's newest."""
    said = list(messages)
    while said and said[-1].role == "user":
        said.pop()
    return (*said, Message("user", "."))


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


def read_reading(answer: Mapping[str, Any]) -> tuple[int, float]:
    """(tokens of the prompt, seconds of reading) in an answer of the server; zeros without them."""
    count = field(answer, "prompt_eval_count", int, 0)
    return count, field(answer, "prompt_eval_duration", int, 0) / 1e9


class OllamaReply(ReplyBuilder):
    def __init__(self, messages: Sequence[Message]) -> None:
        super().__init__()
        self.last: Mapping[str, Any] | None = None
        self._calls_so_far = sum(len(said.tool_calls) for said in messages)
        self._calls: list[ToolCall] = []

    def take(self, part: Mapping[str, Any]) -> list[Text | Thinking]:
        """Return the text of a part. Raises ValueError when it is no part of a chat."""
        told = field(part, "message", dict, {})
        said, thought = field(told, "content", str, ""), field(told, "thinking", str, "")
        if field(part, "done", bool, False):
            self.last = part
        else:
            self.pieces += 1
        self.first = self.first or self.seconds
        for call in field(told, "tool_calls", list, []):
            number = self._calls_so_far + len(self._calls) + 1
            function = field(call, "function", dict, {})
            name, given = field(function, "name", str, ""), field(function, "arguments", dict, {})
            self._calls.append(ToolCall(f"call_{number}", name, given))
        return [*self.add(thought, said)]

    def reply(self, last: Mapping[str, Any]) -> Reply:
        """The whole reply, with the counts of its last part."""
        count, seconds = read_reading(last)
        usage = self.usage(
            prompt_tokens=count,
            generated_tokens=field(last, "eval_count", int, 0),
            read_seconds=seconds,
        )
        return self.build(tuple(self._calls), usage, is_cut=last.get("done_reason") == "length")


# -------- the server: its address, its calls, its answers

DEFAULT_PORT = 11434
SCALES = {"K": 1e-6, "M": 1e-3, "B": 1.0, "T": 1e3}
T = TypeVar("T")


class OllamaClient(HttpClient):
    def __init__(
        self, url: str, connect_seconds: float = CONNECT_SECONDS, read_seconds: float | None = None
    ) -> None:
        super().__init__(url, authorization(), connect_seconds, read_seconds)

    def running(self) -> list[Mapping[str, Any]]:
        """The running models, as `/api/ps` lists them."""
        return models_of(self.ask("GET", "/api/ps"))

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


def models_of(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    models = answer.get("models")
    return [m for m in models if isinstance(m, Mapping)] if isinstance(models, list) else []
