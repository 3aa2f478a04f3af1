"""Requests of OpenAI clients: the conversation of each, and its answer in OpenAI's form.

A client sends the whole talk each time, and the agent keeps its own. They are matched by a hash of
what the client was told: a talk that we know goes on, an earlier state of one becomes a fork.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool

from openclaw import events
from openclaw.errors import OpenclawError
from openclaw.frozen import frozen
from openclaw.inspection.turn_lines import call_line, missing_part, verdict_lines
from openclaw.messages import Material, Message, Usage
from openclaw.models.base import Chunk, Model, Reply, Request, Text
from openclaw.server.runs import Run, follow
from openclaw.server.service import Service
from openclaw.server.wire import HttpError, PromptRequest, event_from_json, to_error
from openclaw.stopping import stopped_by
from openclaw.storage.home import Home
from openclaw.storage.safe_open import read_json_cache
from openclaw.storage.text import write_text
from openclaw.types import Mode

AGENT, PLAIN = "openclaw", "openclaw-plain"
TASK = "### Task:"
"""How Open WebUI begins its own prompts for titles, tags and follow-ups."""
SESSION_HEADERS = ("x-openclaw-session", "x-openwebui-chat-id")
IGNORED = ("tools", "tool_choice", "functions", "response_format", "stop", "logprobs")
_ROLES: Mapping[str, Any] = {"developer": "system", "system": "system", "assistant": "assistant"}
"""Ours for theirs; all others are the user's."""
LONGEST_SYSTEM = 2000  # characters of a client's system text that are passed on: about 500 tokens
MAX_TOKENS = 4096
PING_SECONDS = 10.0
WAIT_FOR_END = 5.0


@frozen
class ChatRequest:
    """A request of an OpenAI client.

    messages  all of them, (role, text)
    earlier   what was said before the prompt, without the client's own system text
    warnings  what of the request is not taken into account
    """

    messages: tuple[tuple[str, str], ...]
    model: str = AGENT
    named: str = ""
    stream: bool = False
    with_usage: bool = False
    max_tokens: int = MAX_TOKENS
    wait: float = 0.0
    warnings: tuple[str, ...] = ()

    @property
    def prompt(self) -> str:
        return self.messages[-1][1]

    @property
    def earlier(self) -> tuple[tuple[str, str], ...]:
        return tuple(each for each in self.messages[:-1] if each[0] in ("user", "assistant"))

    @property
    def system(self) -> str:
        return "\n".join(text for role, text in self.messages if role in ("system", "developer"))

    @property
    def is_plain(self) -> bool:
        """The model itself is asked: nothing is kept of it."""
        return self.model == PLAIN or self.prompt.lstrip().startswith(TASK)


def read_request(body: Any, headers: Mapping[str, str]) -> ChatRequest:
    """Return a request of OpenAI's form. HttpError for one that cannot be answered."""
    if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
        raise HttpError(400, "messages is no list")
    if (body.get("n") or 1) != 1:
        raise HttpError(400, "n: there is one answer to a prompt")
    model = str(body.get("model") or AGENT)
    if model not in (AGENT, PLAIN):
        raise HttpError(404, f"there is no model {model}", f"there are: {AGENT}, {PLAIN}")
    messages = tuple(_read_message(message) for message in body["messages"])
    if not messages or messages[-1][0] != "user" or not messages[-1][1].strip():
        raise HttpError(400, "the last message is no text of the user")
    metadata = body.get("metadata")
    named = next(filter(None, (headers.get(name) for name in SESSION_HEADERS)), "")
    if not named and isinstance(metadata, dict):
        named = str(metadata.get("session") or "")
    options = body.get("stream_options")
    most = body.get("max_completion_tokens") or body.get("max_tokens") or MAX_TOKENS
    wait = body.get("wait") or 0
    return ChatRequest(
        messages,
        model,
        named,
        bool(body.get("stream")),
        isinstance(options, dict) and bool(options.get("include_usage")),
        most if isinstance(most, int) and 0 < most <= MAX_TOKENS else MAX_TOKENS,
        float(wait) if isinstance(wait, int | float) and 0 < wait <= 600 else 0.0,
        tuple(f"{name} is ignored" for name in IGNORED if body.get(name)),
    )


def _read_message(message: Any) -> tuple[str, str]:
    if not isinstance(message, dict):
        raise HttpError(400, "a message is no object")
    content = message.get("content") or ""
    if isinstance(content, list):
        parts = [part if isinstance(part, dict) else {} for part in content]
        if any(part.get("type") != "text" for part in parts):
            raise HttpError(400, "only texts are taken here", "attach the file in openclaw chat")
        content = "\n".join(str(part.get("text") or "") for part in parts)
    return str(message.get("role")), str(content)


def make_prompt_request(service: Service, request: ChatRequest, mode: Mode | None) -> PromptRequest:
    """Return the prompt of a request in the conversation that it belongs to."""
    talks = known_talks(service.home)
    known = talks.get(key_of(request.earlier)) if request.earlier else None
    named = talks.get(f"name {request.named}") if request.named else None
    session = named[0] if named else request.named
    if known is not None and session in ("", known[0]) and service.sessions.exists(known[0]):
        session = _go_on(service, *known)
    material = []
    if request.earlier and known is None and not service.sessions.exists(session):
        told = "\n\n".join(f"{role}: {text}" for role, text in request.earlier)
        material.append(Material("what was said before, in another program", told))
    if request.system:
        material.append(Material("note of the program", request.system[:LONGEST_SYSTEM]))
    return PromptRequest(
        request.prompt,
        session=session or None,
        material=tuple(material),
        mode=mode,
        asks=request.wait > 0,
        wait=request.wait,
    )


def _go_on(service: Service, session: str, count: int) -> str:
    """Return the conversation, or a fork of it when more was said in it than `count` messages."""
    for run in service.runs.running(session):
        run.wait(WAIT_FOR_END)
    store = service.sessions
    held = store.load(session)
    if held.archived + len(held.messages) == count:
        return session
    with service.changing(f"sessions fork {session}", session, store=store):
        return store.fork(session, count).id


MAX_TALKS = 2000
_LOCK = threading.Lock()


def key_of(talk: Sequence[tuple[str, str]]) -> str:
    """Return the key of a talk, the role and text of each message: clients may change blanks in
    what they were told."""
    said = [(role, " ".join(text.split())) for role, text in talk]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def known_talks(home: Home) -> dict[str, tuple[str, int]]:
    """Return which conversation, up to which message, a client has when it has been told a talk;
    and which one a client's own name for a talk leads to."""
    found = read_json_cache(_talks_file(home))
    try:
        return {key: (str(name), int(count)) for key, (name, count) in found.items()}
    except (ValueError, TypeError):
        return {}  # it can be made again: a talk that is not known is material


def note_talk(home: Home, session: str, count: int, *keys: str) -> None:
    """Keep that these keys lead to a conversation with so many messages."""
    with _LOCK:
        known = known_talks(home)
        for key in keys:
            known.pop(key, None)
            known[key] = (session, count)
        newest = dict([*known.items()][-MAX_TALKS:])
        write_text(_talks_file(home), json.dumps(newest, indent=0) + "\n")


def _talks_file(home: Home) -> Path:
    return home.private / "cache" / "talks.json"


class ChatAnswer:
    """The answer to a request in OpenAI's form, made from the events of its run."""

    finish_reason = "stop"

    def __init__(self, service: Service, request: ChatRequest, run: Run) -> None:
        self._service, self._request, self._run = service, request, run
        self._calls: dict[str, events.ToolStart] = {}
        self._segment = self.text = ""
        self.usage = Usage()

    async def pieces(self) -> AsyncIterator[dict[str, str] | None]:
        """Yield what is to be added to the message, and None when nothing has come for a while.
        The run ends with its only reader. Raises the OpenclawError that ends it."""
        try:
            async for item in follow(self._run, ping=PING_SECONDS):
                if item is None:
                    yield None
                    continue
                if item[1].get("event") == "question":
                    yield {"reasoning_content": "waiting for an answer in another client\n"}
                event = event_from_json(item[1])
                for name, text in () if event is None else self._hear(event):
                    yield {name: text}
        finally:
            if not self._run.ended:
                self._run.stop()
        await run_in_threadpool(self._keep)

    def _hear(self, event: events.Event) -> Iterator[tuple[str, str]]:
        match event:
            case events.Token(text):
                yield from self._tell(text)
            case events.Thought(text):
                yield "reasoning_content", text
            case events.NewResponse():
                self._segment = ""
            case events.ToolStart():
                self._calls[event.id] = event
            case events.ToolEnd():
                line = call_line(self._calls.pop(event.id, None), event)
                yield "reasoning_content", f"{line}\n"
            case events.Done():
                self.usage = event.usage
                rest, anew = missing_part(self._segment, event.answer)
                if anew:
                    self._segment = ""
                yield from self._tell(rest)
                if lines := verdict_lines(event):
                    self._segment = ""
                    yield from self._tell(f"({'; '.join(lines)})")

    def _tell(self, text: str) -> Iterator[tuple[str, str]]:
        if not self._segment:
            text = text.lstrip("\n")
            if text and self.text:
                text = f"\n\n{text}"
        if text:
            self._segment += text
            self.text += text
            yield "content", text

    def _keep(self) -> None:
        """Remember what the client was told, to find the conversation again."""
        end = self._run.outcome
        if isinstance(end, events.Error):
            raise to_error(end.message, end.hint, end.exit_code)
        if end is None:
            raise OpenclawError("no answer")
        held = self._service.sessions.load(self._run.session.id)
        request = self._request
        told = (*request.earlier, ("user", request.prompt), ("assistant", self.text))
        names = [f"name {request.named}"] if request.named else []
        count = held.archived + len(held.messages)
        note_talk(self._service.home, held.id, count, key_of(told), *names)

    def describe(self) -> dict[str, Any]:
        """Return what OpenAI's form has no place for."""
        run, done = self._run, self._run.outcome
        assert isinstance(done, events.Done)  # noqa: S101  else there is no answer to describe
        names = ("stop_reason", "citations", "sources", "refused", "unbacked", "receipt")
        told = events.to_wire(done)
        shape = {"run_id": run.id, "session_id": run.session.id}
        return {**shape, "warnings": self._request.warnings, **{name: told[name] for name in names}}


class PlainAnswer:
    """The answer of the model itself in OpenAI's form."""

    def __init__(self, model: Model, request: ChatRequest) -> None:
        self._model, self._request = model, request
        self.usage, self.text, self.finish_reason = Usage(), "", "stop"

    async def pieces(self) -> AsyncIterator[dict[str, str] | None]:
        """Yield what is to be added to the message. Raises OpenclawError as the model does. The
        reply is read in a thread: a client that does not read keeps the model from nobody."""
        said = self._request.messages
        messages = [Message(_ROLES.get(role, "user"), text) for role, text in said]
        asked = Request(tuple(messages), max_tokens=self._request.max_tokens, think=False)
        loop, stop = asyncio.get_running_loop(), threading.Event()
        heard: asyncio.Queue[Chunk | None] = asyncio.Queue()

        def read() -> None:
            try:
                with stopped_by(stop), suppress(KeyboardInterrupt):
                    for chunk in self._model.stream(asked):
                        loop.call_soon_threadsafe(heard.put_nowait, chunk)
            finally:
                loop.call_soon_threadsafe(heard.put_nowait, None)

        reading = asyncio.create_task(asyncio.to_thread(read))
        try:
            while (chunk := await heard.get()) is not None:
                if isinstance(chunk, Text):
                    self.text += chunk.text
                    yield {"content": chunk.text}
                elif isinstance(chunk, Reply):
                    self.usage = chunk.usage
                    self.finish_reason = "length" if chunk.stop_reason == "length" else "stop"
            await reading
        finally:
            stop.set()


def usage_json(usage: Usage) -> dict[str, Any]:
    """Return token counts as OpenAI names them."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.generated_tokens,
        "total_tokens": usage.prompt_tokens + usage.generated_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }


def head_json(kind: str, model: str) -> dict[str, Any]:
    """Return the beginning of an answer, or of a piece of one."""
    name = f"chatcmpl-{secrets.token_hex(8)}"
    return {"id": name, "object": kind, "created": int(time.time()), "model": model}
