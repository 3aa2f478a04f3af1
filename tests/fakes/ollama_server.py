"""A loopback stand-in for Ollama that speaks the real HTTP, and plays a script.

    with FakeOllama() as server:
        server.say("Hello.", Answer(calls=[("read_file", {"path": "a.md"})]), Answer(status=500))
        ...  # run something with OLLAMA_HOST=server.url
        assert server.chats[0]["options"]["num_ctx"] == 8192

Each chat request (`/api/chat` and `/v1/chat/completions` alike) takes the next item of the script:
a text, an `Answer`, or a function of the request's JSON body that returns one of both. When the
script has run out the server answers 500, and leaving the `with` block fails (see `failed`).
Everything that was asked is in `requests`; `chats` are the bodies of the chat requests.
A client that hangs up before its answer is complete sets `hung_up`.

A model with `dimensions` embeds (`/api/embed`, and the older `/api/embeddings`): each text gets the
vector of its words (see `vectors`), so what shares words is near. `vectors_said` is a script for
these: a `Vectors` is taken for the next request while there is one.
"""

from __future__ import annotations

import json
import select
import socket
import socketserver
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from tests.fakes.vectors import of_words

POLL_SECONDS = 0.01


@dataclass(frozen=True)
class Answer:
    """One scripted reply.

    `text` and `thinking` are sent piece by piece (a plain string is cut into words); `calls` are
    (tool name, arguments). `prompt_tokens` None counts the request's characters / 4, and
    `counts` False leaves both counts out. `stall` is seconds before the first byte, `pause`
    between pieces. `status` other than 200 answers with `error` at once. After `cut_after`
    pieces the connection breaks; after `end_after` the stream just ends; after `malformed_after`
    a line that is no JSON follows; after `error_after` an object with `error`.
    """

    text: str | Sequence[str] = ""
    calls: Sequence[tuple[str, Mapping[str, Any]]] = ()
    thinking: str | Sequence[str] = ""
    prompt_tokens: int | None = None
    generated_tokens: int | None = None
    read_seconds: float = 0.001
    cached_tokens: int = 0
    counts: bool = True
    done_reason: str = "stop"
    stall: float = 0.0
    pause: float = 0.0
    status: int = 200
    error: str = "something broke in the server"
    cut_after: int | None = None
    malformed_after: int | None = None
    error_after: int | None = None
    end_after: int | None = None


@dataclass(frozen=True)
class Vectors:
    """One scripted reply to a request for vectors: `rows` in place of the right ones, an error
    with `status`, or a connection that breaks (`cut`) in the middle of the right answer."""

    rows: Sequence[Sequence[float] | None] | None = None
    status: int = 200
    error: str = "something broke in the server"
    cut: bool = False
    stall: float = 0.0


Line = str | Answer | Callable[[dict[str, Any]], "str | Answer"]


@dataclass(frozen=True)
class FakeModel:
    """A model as /api/tags, /api/ps and /api/show tell of it."""

    name: str = "fake:1b"
    capabilities: Sequence[str] | None = ("completion", "tools")
    context_length: int = 32768
    parameter_size: str = "1.5B"
    family: str = "qwen2"
    modified_at: str = "2026-11-01T10:00:00Z"
    template: str = "{{ .Tools }}{{ .Prompt }}"
    digest: str = "abc"
    size: int = 1000
    dimensions: int = 0
    truncates: bool = True
    """False: a text of more than `context_length` words is refused, as by 0.13.5 and later."""

    def refuses(self, text: str) -> bool:
        return not self.truncates and len(text.split()) > self.context_length


@dataclass(frozen=True)
class Asked:
    """One request as it came. `body` is {} when there was none; `raw` are its bytes."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    raw: bytes


@dataclass
class FakeOllama:
    """See the module. `loaded` maps names of running models to their window; `pullable` models
    are listed only after /api/pull. With `start` False connections are refused until `listen()`.
    `generate_stall` are the seconds that /api/generate takes, which loads a model and reads a head;
    `generate_read` (tokens, seconds) what it tells of that.
    """

    models: list[FakeModel] = field(default_factory=lambda: [FakeModel()])
    loaded: dict[str, int] = field(default_factory=dict)
    pullable: list[FakeModel] = field(default_factory=list)
    requests: list[Asked] = field(default_factory=list)
    failed: str = ""
    start: bool = True
    generate_stall: float = 0.0
    generate_read: tuple[int, float] | None = None

    def __post_init__(self) -> None:
        self.script: deque[Line] = deque()
        self.vectors_said: deque[Vectors] = deque()
        self.hung_up = threading.Event()
        self.stopping = threading.Event()
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": POLL_SECONDS}, daemon=True
        )

    def __enter__(self) -> Self:
        if self.start:
            self.listen()
        return self

    def listen(self) -> None:
        """Begin to answer; before that connections are refused."""
        self.listen_only()
        self._thread.start()

    def listen_only(self) -> None:
        """Take connections, but never say a word."""
        self._server.server_activate()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stopping.set()
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()
        if kind is None and self.failed:
            raise AssertionError(self.failed)

    @property
    def host(self) -> str:
        """HOST:PORT."""
        return f"127.0.0.1:{self._server.server_port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}"

    @property
    def chats(self) -> list[dict[str, Any]]:
        return [asked.body for asked in self.requests if asked.path.endswith(CHAT_PATHS)]

    @property
    def embeds(self) -> list[dict[str, Any]]:
        return [asked.body for asked in self.requests if asked.path == "/api/embed"]

    @property
    def paths(self) -> list[str]:
        return [asked.path for asked in self.requests]

    def say(self, *lines: Line) -> None:
        """Add to the script."""
        self.script.extend(lines)

    def next_answer(self, body: dict[str, Any]) -> Answer:
        if not self.script:
            self.failed = f"the script has run out, but was asked: {last_words(body)!r}"
            return Answer(status=500, error=self.failed)
        line = self.script.popleft()
        said = line(body) if callable(line) else line
        return Answer(text=said) if isinstance(said, str) else said

    def find(self, name: str) -> FakeModel | None:
        tagged = name if ":" in name else f"{name}:latest"
        return next((m for m in self.models if m.name in (name, tagged)), None)


CHAT_PATHS = ("/api/chat", "/v1/chat/completions")


def last_words(body: Mapping[str, Any]) -> str:
    """The content of the newest message of a chat request."""
    messages = body.get("messages") or [{}]
    return str(messages[-1].get("content", ""))


def pieces(text: str | Sequence[str]) -> list[str]:
    if not isinstance(text, str):
        return list(text)
    words = text.split(" ")
    return [w if i == 0 else f" {w}" for i, w in enumerate(words)] if text else []


def counts(answer: Answer, body: Mapping[str, Any]) -> tuple[int, int]:
    """(prompt tokens, generated tokens)."""
    sent = json.dumps([body.get("messages"), body.get("tools")], ensure_ascii=False)
    prompt = len(sent) // 4 if answer.prompt_tokens is None else answer.prompt_tokens
    made = len(pieces(answer.text)) + len(pieces(answer.thinking)) + 10 * len(answer.calls)
    return prompt, made if answer.generated_tokens is None else answer.generated_tokens


class _HungUpError(Exception):
    """The client has hung up."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, fake: FakeOllama) -> None:
        super().__init__(("127.0.0.1", 0), _Handler, bind_and_activate=False)
        self.fake = fake
        self.server_bind()

    def server_bind(self) -> None:
        """Without asking for the name of the machine, which may take seconds."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.socket.getsockname()[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    @property
    def fake(self) -> FakeOllama:
        assert isinstance(self.server, _Server)
        return self.server.fake

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self._route()

    def do_POST(self) -> None:
        self._route()

    def _route(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.loads(raw) if raw else {}
        asked = Asked(self.command, self.path, dict(self.headers.items()), body, raw)
        self.fake.requests.append(asked)
        routes: dict[str, Callable[[dict[str, Any]], None]] = {
            "GET /": lambda _: self._send("Ollama is running"),
            "GET /api/version": lambda _: self._send({"version": "0.12.6"}),
            "GET /api/tags": lambda _: self._send({"models": list(map(listed, self.fake.models))}),
            "GET /api/ps": lambda _: self._send({"models": list(self._running())}),
            "GET /v1/models": lambda _: self._send(
                {"object": "list", "data": [{"id": m.name} for m in self.fake.models]}
            ),
            "POST /api/show": self._show,
            "POST /api/pull": self._pull,
            "POST /api/chat": self._chat,
            "POST /api/generate": self._generate,
            "POST /api/embed": self._embed,
            "POST /api/embeddings": self._embed,
            "POST /v1/chat/completions": self._chat,
        }
        route = routes.get(f"{self.command} {self.path}")
        try:
            if route is None:
                self._send("404 page not found", 404)
            else:
                route(body)
        except (_HungUpError, ConnectionError):
            self.fake.hung_up.set()
            self.close_connection = True

    # listing

    def _running(self) -> Iterator[dict[str, Any]]:
        for name, window in self.fake.loaded.items():
            model = self.fake.find(name)
            if model is not None:
                yield {**listed(model), "context_length": window, "size_vram": 0}

    def _generate(self, body: dict[str, Any]) -> None:
        self._wait(self.fake.generate_stall)
        told: dict[str, Any] = {"response": "", "done": True}
        if self.fake.generate_read is not None:
            count, seconds = self.fake.generate_read
            told |= {"prompt_eval_count": count, "prompt_eval_duration": round(seconds * 1e9)}
        self._send(told)

    def _show(self, body: dict[str, Any]) -> None:
        name = body.get("model") or body.get("name") or ""
        model = self.fake.find(name)
        if model is None:
            self._send({"error": f"model '{name}' not found"}, 404)
            return
        shown: dict[str, Any] = {
            "template": model.template,
            "details": listed(model)["details"],
            "model_info": {f"{model.family}.context_length": model.context_length},
            "modified_at": model.modified_at,
        }
        if model.capabilities is not None:
            shown["capabilities"] = list(model.capabilities)
        self._send(shown)

    def _pull(self, body: dict[str, Any]) -> None:
        name = body.get("model") or body.get("name") or ""
        known = [*self.fake.models, *self.fake.pullable]
        model = next((m for m in known if m.name in (name, f"{name}:latest")), None)
        self._start_stream("application/x-ndjson")
        self._line({"status": "pulling manifest"})
        if model is None:
            self._line({"error": "pull model manifest: file does not exist"})
        else:
            for done in (0, 500, 1000):
                part = {"status": "pulling abc", "digest": "sha256:abc", "total": 1000}
                self._line({**part, "completed": done})
            self._line({"status": "success"})
            if model not in self.fake.models:
                self.fake.models.append(model)
        self._chunk(b"")

    # vectors

    def _embed(self, body: dict[str, Any]) -> None:
        name = body.get("model", "")
        model = self.fake.find(name)
        if model is None:
            self._send({"error": f'model "{name}" not found, try pulling it first'}, 404)
            return
        said = self.fake.vectors_said.popleft() if self.fake.vectors_said else Vectors()
        self._wait(said.stall)
        is_old = self.path == "/api/embeddings"
        given = body.get("prompt" if is_old else "input", [])
        texts = [given] if isinstance(given, str) else given
        if said.status != 200:
            self._send({"error": said.error}, said.status)
        elif not model.dimensions:
            self._send({"error": "this model does not support embeddings"}, 501)
        elif any(map(model.refuses, texts)):
            self._send({"error": "the input length exceeds the context length"}, 400)
        else:
            size = min(body.get("dimensions") or model.dimensions, model.dimensions)
            rows = [of_words(text, size) for text in texts] if said.rows is None else said.rows
            self._send_vectors(rows, is_old, said.cut, name)

    def _send_vectors(
        self, rows: Sequence[Sequence[float] | None], is_old: bool, cut: bool, name: str
    ) -> None:
        timing = {"total_duration": 5_000_000, "load_duration": 1_000_000, "prompt_eval_count": 9}
        value = {"embedding": rows[0]} if is_old else {"model": name, "embeddings": rows, **timing}
        if not cut:
            self._send(value)
            return
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2])
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    # chat

    def _chat(self, body: dict[str, Any]) -> None:
        is_openai = self.path.startswith("/v1/")
        name = body.get("model", "")
        if self.fake.find(name) is None:
            self._refuse(404, f"model '{name}' not found")
            return
        answer = self.fake.next_answer(body)
        self._wait(answer.stall)
        if answer.status != 200:
            self._refuse(answer.status, answer.error)
            return
        self.fake.loaded[name] = (body.get("options") or {}).get("num_ctx", 4096)
        say = openai_events if is_openai else ollama_parts
        if not body.get("stream", not is_openai):
            self._send(whole(list(say(answer, body)), is_openai))
            return
        self._start_stream("text/event-stream" if is_openai else "application/x-ndjson")
        self._play(answer, say(answer, body), self._event if is_openai else self._line)

    def _play(
        self,
        answer: Answer,
        parts: Iterator[dict[str, Any]],
        send: Callable[[dict[str, Any]], None],
    ) -> None:
        for sent, part in enumerate(parts):
            if sent == answer.cut_after:
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
            if sent == answer.end_after:
                break
            if sent == answer.malformed_after:
                self._chunk(b'data: {"message": {"rol\n\n' if send == self._event else b'{"mess\n')
            if sent == answer.error_after:
                send({"error": answer.error})
                break
            send(part)
            self._wait(answer.pause)
        if send == self._event:
            self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _refuse(self, status: int, message: str) -> None:
        if self.path.startswith("/v1/"):
            self._send({"error": {"message": message, "type": "api_error", "code": None}}, status)
        else:
            self._send({"error": message}, status)

    def _wait(self, seconds: float) -> None:
        """Sleep, but notice a client that hangs up, and the end of the test."""
        until = time.monotonic() + seconds
        while not self.fake.stopping.is_set():
            left = max(until - time.monotonic(), 0.0)
            readable, _, _ = select.select([self.connection], [], [], min(left, POLL_SECONDS))
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                raise _HungUpError
            if left == 0.0:
                return

    # bytes

    def _send(self, value: object, status: int = 200) -> None:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        kind = "text/plain" if isinstance(value, str) else "application/json"
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _start_stream(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _line(self, value: dict[str, Any]) -> None:
        self._chunk(json.dumps(value, ensure_ascii=False).encode() + b"\n")

    def _event(self, value: dict[str, Any]) -> None:
        self._chunk(b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n")


def listed(model: FakeModel) -> dict[str, Any]:
    details = {"format": "gguf", "family": model.family, "parameter_size": model.parameter_size}
    return {
        "name": model.name,
        "model": model.name,
        "modified_at": model.modified_at,
        "size": model.size,
        "digest": model.digest,
        "details": details,
    }


def ollama_parts(answer: Answer, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The lines of a streamed /api/chat reply."""
    head = {"model": body.get("model"), "created_at": "2026-11-21T10:00:00Z"}

    def part(**message: Any) -> dict[str, Any]:
        return {**head, "message": {"role": "assistant", "content": "", **message}, "done": False}

    for piece in pieces(answer.thinking):
        yield part(thinking=piece)
    for piece in pieces(answer.text):
        yield part(content=piece)
    for name, arguments in answer.calls:
        yield part(tool_calls=[{"function": {"name": name, "arguments": dict(arguments)}}])
    last = {**part(), "done": True, "done_reason": answer.done_reason}
    if answer.counts:
        prompt, made = counts(answer, body)
        last |= {"prompt_eval_count": prompt, "eval_count": made}
    nanoseconds = round(answer.read_seconds * 1e9)
    yield {**last, "total_duration": 5_000_000, "prompt_eval_duration": nanoseconds}


def openai_events(answer: Answer, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The events of a streamed /v1/chat/completions reply; a call's arguments come in two."""

    def event(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    for piece in pieces(answer.thinking):
        yield event({"reasoning_content": piece})
    for piece in pieces(answer.text):
        yield event({"content": piece})
    for index, (name, arguments) in enumerate(answer.calls):
        text = json.dumps(dict(arguments), ensure_ascii=False)
        first = {"name": name, "arguments": text[:5]}
        call = {"index": index, "id": f"id_{index}", "type": "function", "function": first}
        yield event({"tool_calls": [call]})
        yield event({"tool_calls": [{"index": index, "function": {"arguments": text[5:]}}]})
    yield event({}, "tool_calls" if answer.calls else answer.done_reason)
    if answer.counts and (body.get("stream_options") or {}).get("include_usage"):
        prompt, made = counts(answer, body)
        details = {"cached_tokens": answer.cached_tokens}
        usage = {"prompt_tokens": prompt, "completion_tokens": made}
        yield {"choices": [], "usage": {**usage, "prompt_tokens_details": details}}


def whole(parts: list[dict[str, Any]], is_openai: bool) -> dict[str, Any]:
    """The parts of a stream as the one object of a reply that is not streamed."""
    if is_openai:
        deltas = [c["delta"] for part in parts for c in part["choices"]]
        text = "".join(delta.get("content", "") for delta in deltas)
        message = {"role": "assistant", "content": text}
        return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    messages = [part["message"] for part in parts]
    text = "".join(message["content"] for message in messages)
    calls = [call for message in messages for call in message.get("tool_calls", ())]
    called = {"tool_calls": calls} if calls else {}
    return {**parts[-1], "message": {"role": "assistant", "content": text, **called}}
