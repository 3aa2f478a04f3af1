"""The embedded model: any GGUF file, run by llama.cpp without a server.

The computed states of conversations, and of the system message that all conversations share, are
saved in files for later processes (`openclaw.models.prefix_cache`).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, suppress
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any

from openclaw.errors import ModelFailed, ModelMissing, OpenclawError, PromptTooLarge
from openclaw.messages import Waiting
from openclaw.models import openai
from openclaw.models.base import Chunk, ModelCard, Request, filtered
from openclaw.models.gguf import identity, read_header
from openclaw.models.llama_server import Engine, EngineError, wire
from openclaw.models.prefix_cache import (
    BEAT,
    STREAMED,
    EngineSlot,
    KeepsState,
    PrefixStates,
    ReadCost,
    share_read,
)
from openclaw.models.profile import with_profile

# Reading more tokens than this takes long enough for the user to wonder.
_LONG_READ = 256
# Fewer tokens do not measure the reading rate.
_MEASURED = 64
_IS_NO_BEAT = attrgetter("message")


class EmbeddedModel:
    """A model in a process of its own, which this process starts.

    path         a GGUF file
    window       tokens of one request and its reply, at most; the model's own window also limits it
    threads      0 takes what the machine has
    cache_folder where states of prefixes are kept between processes; None keeps none
    cache_mb     size of that folder, in megabytes
    wanted       returns True when the state of the conversation with that id may be saved
    profiles     the folder of test results; None uses none
    """

    def __init__(
        self,
        path: Path,
        *,
        window: int,
        threads: int = 0,
        cache_folder: Path | None = None,
        cache_mb: int = 512,
        wanted: KeepsState = lambda _: True,
        profiles: Path | None = None,
    ) -> None:
        self._path, self._window, self._threads = path, window, threads
        self._wanted, self._profiles = wanted, profiles
        self.reading_rate = 0.0
        self._states = PrefixStates(cache_folder, cache_mb) if cache_folder and cache_mb else None
        self._engine = Engine(path, threads)
        self._slot: EngineSlot | None = None

    @cached_property
    def card(self) -> ModelCard:
        """Read from the file's header, without loading it. ModelMissing when there is no file."""
        try:
            header, digest = read_header(self._path), identity(self._path)
        except OSError as error:
            raise ModelMissing(
                f"no model file at {self._path} ({error.strerror})", "openclaw models pull"
            ) from error
        card = ModelCard(
            name=f"embedded/{self._path.stem.lower()}",
            window=min(self._window, header.window or self._window),
            tools="tools" in header.template,
            thinking="<think>" in header.template or "enable_thinking" in header.template,
            family=header.architecture,
            parameters=round(header.parameters / 1e9, 2),
            digest=digest,
        )
        return with_profile(card, self._profiles)

    def stream(self, request: Request) -> Generator[Chunk, None, None]:
        """See `Model`."""
        heard = openai.StreamedReply()
        try:
            slot = yield from filtered(self._ready(), _IS_NO_BEAT)
            body = _body(request)
            fresh = yield from filtered(slot.prepare(body, request.session), _IS_NO_BEAT)
            slot.used()
            yield from self._answer(body, heard, fresh)
        except EngineError as error:
            raise self._as_openclaw_error(error) from error

    def wire(self, request: Request) -> bytes:
        """See `Model`."""
        return wire(_body(request))

    def load(self) -> None:
        """Load the model now instead of with the first request. Raises as `stream` does."""
        for _ in self._ready():
            pass

    def warm(self, request: Request) -> Iterator[Waiting]:
        """See `Model`."""
        with suppress(OpenclawError, EngineError):
            slot = yield from self._ready()
            if request.messages:
                body = _body(request)
                yield from slot.prepare(body, request.session)
                yield from slot.read(body)

    def close(self) -> None:
        """Save the state of the conversation if it has changed, and end the engine."""
        slot, self._slot = self._slot, None
        if slot:
            slot.keep()
        self._engine.close()

    def _ready(self) -> Generator[Waiting, None, EngineSlot]:
        """The slot of the loaded engine. A caller may stop while it loads, and call again."""
        card, engine = self.card, self._engine
        if self._slot is not None:
            if engine.is_alive:
                return self._slot
            self._slot = None  # llama.cpp has died: load it again
            engine.close()
        yield Waiting(f"loading model {card.name}")
        if self._states and not self._states.prepare():
            self._states = None
        folder = self._states.folder if self._states else None
        for _ in engine.load(card.window, folder):
            yield BEAT
        self._slot = EngineSlot(engine, self._states, self._wanted, card.digest, str(card.window))
        return self._slot

    def _answer(
        self, body: Mapping[str, Any], heard: openai.StreamedReply, fresh: ReadCost
    ) -> Generator[Chunk, None, None]:
        reading = ""
        timings: Mapping[str, Any] = {}
        with closing(self._engine.chat(body)) as chunks:
            for chunk in chunks:
                timings = chunk.get("timings") or timings
                unread, share = _unread(chunk), share_read(chunk)
                if reading and share is not None:
                    yield Waiting(reading, share)
                elif unread > _LONG_READ and not fresh.tokens:
                    reading = f"reading {unread:,} tokens"
                    yield Waiting(reading)
                yield from heard.take(chunk)
        if not heard.finished:
            self._engine.close()  # the next request loads anew
            raise ModelFailed(f"{self.card.name} broke the reply off", "ask again")
        count, milliseconds = timings.get("prompt_n", 0), timings.get("prompt_ms", 0)
        if count >= _MEASURED and milliseconds:
            self.reading_rate = round(1000 * count / milliseconds, 1)
        # The engine counts the `fresh` tokens of the head as cached, but they saved no work.
        yield heard.reply(
            cached_tokens=max(0, int(timings.get("cache_n", 0)) - fresh.tokens),
            read_seconds=fresh.seconds + milliseconds / 1000,
        )

    def _as_openclaw_error(self, error: EngineError) -> OpenclawError:
        detail = error.detail
        if detail.get("type") == "exceed_context_size_error":
            return PromptTooLarge(
                f"the request has {detail.get('n_prompt_tokens')} tokens, the window of"
                f" {self.card.name} holds {detail.get('n_ctx', self.card.window)}",
                "raise `window` in openclaw.yaml, or shorten the request",
            )
        return ModelFailed(
            f"{self.card.name}: {error}",
            "`openclaw models pull` fetches a damaged model file again",
        )


def _body(request: Request) -> dict[str, Any]:
    if any(message.images for message in request.messages):
        raise ModelFailed("the embedded model cannot see images", "ask a model of Ollama that can")
    think = None if request.think is None else {"enable_thinking": request.think}
    schema = None if request.schema is None else {"schema": _close_schema(request.schema)}
    body = {
        "messages": [openai.message(message) for message in request.messages],
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "repeat_penalty": 1.0,
        **STREAMED,
        "seed": request.seed,
        "tools": [dict(tool) for tool in request.tools] or None,
        "chat_template_kwargs": think,
        "response_format": schema and {"type": "json_schema", "json_schema": schema},
    }
    return {name: value for name, value in body.items() if value is not None}


def _close_schema(schema: Any) -> Any:
    """The schema with every object that names its properties closed to others, which the engine
    would allow by default."""
    if isinstance(schema, Mapping):
        closed = {key: _close_schema(value) for key, value in schema.items()}
        if isinstance(closed.get("properties"), dict):
            closed.setdefault("additionalProperties", False)
        return closed
    if isinstance(schema, list | tuple):
        return [_close_schema(value) for value in schema]
    return schema


def _unread(chunk: Mapping[str, Any]) -> int:
    """Tokens that are not read yet; 0 for a chunk without progress."""
    progress = chunk.get("prompt_progress") or {}
    return int(progress.get("total", 0)) - int(progress.get("processed", 0))
