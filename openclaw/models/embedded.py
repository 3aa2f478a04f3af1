"""The embedded model: any GGUF file, run by llama.cpp in this process.

Before the first request of a process the beginning that all its requests share (the system message)
is taken from a file that an earlier process saved, or read once and saved.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from openclaw.errors import ModelFailed, ModelMissing, OpenclawError, PromptTooLarge
from openclaw.models import chat
from openclaw.models.base import Chunk, ModelCard, Reply, Request, Waiting
from openclaw.models.gguf import identity, read_header
from openclaw.models.llama import Engine, EngineError
from openclaw.models.prefix import PrefixStates, state_key
from openclaw.shapes import Usage

# A shorter head is read again sooner than its file is checked.
_SHORTEST_HEAD = 600
# Reading more tokens than this takes long enough for the user to wonder.
_LONG_READ = 256
_STREAMED: Mapping[str, Any] = {
    "stream": True,
    "stream_options": {"include_usage": True},
    "return_progress": True,
    "cache_prompt": True,
    "id_slot": 0,
}


class EmbeddedModel:
    """A model in this process.

    path         a GGUF file
    window       tokens of one request and its reply, at most; the model's own window also limits it
    threads      0 takes what the machine has
    cache_folder where states of prefixes are kept between processes; None keeps none
    cache_mb     size of that folder, in megabytes
    """

    def __init__(
        self,
        path: Path,
        *,
        window: int,
        threads: int = 0,
        cache_folder: Path | None = None,
        cache_mb: int = 512,
    ) -> None:
        self._path, self._window, self._threads = path, window, threads
        self._states = PrefixStates(cache_folder, cache_mb) if cache_folder else None
        self._engine: Engine | None = None
        self._head: tuple[Any, ...] | None = None

    @cached_property
    def card(self) -> ModelCard:
        """Read from the file's header, without loading it. ModelMissing when there is no file."""
        try:
            header, digest = read_header(self._path), identity(self._path)
        except OSError as error:
            raise ModelMissing(
                f"no model file at {self._path} ({error.strerror})", "openclaw models pull"
            ) from error
        return ModelCard(
            name=f"embedded/{self._path.stem.lower()}",
            window=min(self._window, header.window or self._window),
            tools="tools" in header.template,
            thinking="<think>" in header.template or "enable_thinking" in header.template,
            family=header.architecture,
            parameters=round(header.parameters / 1e9, 2),
            digest=digest,
        )

    def stream(self, request: Request) -> Generator[Chunk, None, None]:
        began = time.perf_counter()
        yield from self._load()
        body = _body(request)
        try:
            fresh = yield from self._prepare_head(body)
            yield from self._answer(body, began, fresh)
        except EngineError as error:
            raise self._as_openclaw_error(error) from error

    def load(self) -> None:
        """Load the model now instead of with the first request. Raises as `stream` does."""
        for _ in self._load():
            pass

    def warm(self, request: Request) -> Iterator[Waiting]:
        """See `Model`."""
        with suppress(OpenclawError, EngineError):
            yield from self._load()
            yield from self._prepare_head(_body(request))

    def close(self) -> None:
        engine, self._engine, self._head = self._engine, None, None
        if engine:
            engine.close()

    def _load(self) -> Iterator[Waiting]:
        if self._engine is not None:
            return
        card = self.card
        yield Waiting(f"loading model {card.name}")
        if self._states and not self._states.prepare():
            self._states = None
        folder = self._states.folder if self._states else None
        engine = Engine(self._path, window=card.window, threads=self._threads, states=folder)
        engine.load()
        self._engine = engine

    def _prepare_head(self, body: Mapping[str, Any]) -> Generator[Waiting, None, int]:
        """Bring the engine's slot to the state after the head of `body`. Returns the number of
        tokens that had to be read for it."""
        identity_of_head = _head_of(body)
        if self._states is None or identity_of_head == self._head:
            return 0
        # An interrupted reading leaves the slot in between: it is prepared again next time.
        self._head = None
        head = self._render_head(body)
        fresh = 0
        if len(head) >= _SHORTEST_HEAD:
            fresh = yield from self._restore_or_read(self._states, head)
        self._head = identity_of_head
        return fresh

    def _restore_or_read(self, states: PrefixStates, head: str) -> Generator[Waiting, None, int]:
        engine = self._loaded()
        key = state_key(self.card.digest, str(self.card.window), engine.version, head)
        name = states.find(key)
        if name is not None:
            try:
                engine.post("/slots/0?action=restore", {"filename": name})
            except EngineError:
                states.discard(key)
            else:
                return 0
        yield Waiting("reading the instructions, once for this model")
        fresh = self._read(head)
        self._save(states, key)
        return fresh

    def _render_head(self, body: Mapping[str, Any]) -> str:
        """The text that every request with this system message begins with, as the model's own
        template writes it: what two requests with different users' texts have in common."""
        texts = [
            str(self._loaded().post("/apply-template", _with_user(body, text))["prompt"])
            for text in ("0", "A")
        ]
        return _common_start(*texts)

    def _read(self, head: str) -> int:
        fresh = 0
        body = {"prompt": head, "n_predict": 0, "temperature": 0.0, **_STREAMED}
        with closing(self._loaded().complete(body)) as chunks:
            for chunk in chunks:
                fresh = chunk.get("timings", {}).get("prompt_n", fresh)
        return int(fresh)

    def _save(self, states: PrefixStates, key: str) -> None:
        name = states.new_name(key)
        try:
            self._loaded().post("/slots/0?action=save", {"filename": name})
        except EngineError:
            return
        states.accept(key, name)

    def _answer(
        self, body: Mapping[str, Any], began: float, fresh: int
    ) -> Generator[Chunk, None, None]:
        deltas, first, told = chat.Deltas(), 0.0, fresh > 0
        last: Mapping[str, Any] = {}
        with closing(self._loaded().chat(body)) as chunks:
            for chunk in chunks:
                last = chunk if "usage" in chunk else last
                unread = _unread(chunk)
                if unread > _LONG_READ and not told:
                    told = True
                    yield Waiting(f"reading {unread:,} tokens")
                for piece in deltas.take(chunk):
                    first = first or time.perf_counter() - began
                    yield piece
        yield Reply(
            deltas.text,
            deltas.tool_calls(),
            deltas.thinking,
            deltas.stop_reason,
            _usage(last, fresh, first, time.perf_counter() - began),
        )

    def _loaded(self) -> Engine:
        if self._engine is None:
            raise ModelFailed("the model was closed while it worked")
        return self._engine

    def _as_openclaw_error(self, error: EngineError) -> OpenclawError:
        detail = error.detail
        if detail.get("type") == "exceed_context_size_error":
            return PromptTooLarge(
                f"the request has {detail.get('n_prompt_tokens')} tokens, the window of"
                f" {self.card.name} holds {detail.get('n_ctx', self.card.window)}",
                "raise `window` in openclaw.yaml, or shorten the request",
            )
        return ModelFailed(f"{self.card.name}: {error}", "`openclaw doctor` checks the model file")


def _body(request: Request) -> dict[str, Any]:
    body: dict[str, Any] = {
        "messages": [chat.message(message) for message in request.messages],
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "repeat_penalty": 1.0,
        **_STREAMED,
    }
    if request.seed is not None:
        body["seed"] = request.seed
    if request.stop:
        body["stop"] = list(request.stop)
    if request.tools:
        body["tools"] = [dict(tool) for tool in request.tools]
    if request.think is not None:
        body["chat_template_kwargs"] = {"enable_thinking": request.think}
    if request.schema is not None:
        schema = {"schema": _closed(request.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


def _closed(schema: Any) -> Any:
    """The schema with every object that names its properties closed to others, which the engine
    would allow by default."""
    if isinstance(schema, Mapping):
        closed = {key: _closed(value) for key, value in schema.items()}
        if isinstance(closed.get("properties"), dict):
            closed.setdefault("additionalProperties", False)
        return closed
    if isinstance(schema, list | tuple):
        return [_closed(value) for value in schema]
    return schema


def _leading(body: Mapping[str, Any]) -> list[Any]:
    """The system messages that a request begins with."""
    messages = body["messages"]
    return list(itertools.takewhile(lambda message: message["role"] == "system", messages))


def _head_of(body: Mapping[str, Any]) -> tuple[Any, ...]:
    return (_leading(body), body.get("tools"), body.get("chat_template_kwargs"))


def _with_user(body: Mapping[str, Any], text: str) -> dict[str, Any]:
    """What is rendered to find the head: the leading messages of `body`, then a user's `text`."""
    kept = {key: body[key] for key in ("tools", "chat_template_kwargs") if key in body}
    return {"messages": [*_leading(body), {"role": "user", "content": text}], **kept}


def _common_start(first: str, second: str) -> str:
    pairs = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    return first[: sum(1 for _ in pairs)]


def _unread(chunk: Mapping[str, Any]) -> int:
    """Tokens that are still to be read, 0 for a chunk that says nothing about it."""
    progress = chunk.get("prompt_progress") or {}
    return int(progress.get("total", 0)) - int(progress.get("processed", 0))


def _usage(last: Mapping[str, Any], fresh: int, first: float, total: float) -> Usage:
    """`fresh` tokens of the head were read by this very call: the engine found them in its slot,
    but no work was saved by that."""
    usage = last.get("usage", {})
    cached = int(last.get("timings", {}).get("cache_n", 0))
    return Usage(
        prompt_tokens=int(usage.get("prompt_tokens", 0)),
        cached_tokens=max(0, cached - fresh),
        generated_tokens=int(usage.get("completion_tokens", 0)),
        first_token_seconds=first or total,
        total_seconds=total,
        calls=1,
    )
