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

It behaves as the real server was seen to: `RULES` lists what it keeps to, `VERSION` which one that
was. `served` tells of each request that a model answered how many tokens were read for it and
whether the model was loaded.
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
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import takewhile
from types import TracebackType
from typing import Any, NamedTuple, Self

from tests.fakes.vectors import of_words

POLL_SECONDS = 0.01
VERSION = "0.32.15"

RULES = {
    "reload": "num_ctx and shift (absent: true) are what the model was started with: a request with"
    " another value of one loads it anew, and what it had read is lost",
    "cache": "what was read is kept, also of other conversations: a prompt is read from where it"
    " parts from all earlier ones",
    "counts": "prompt_eval_count is the whole prompt, read before or not",
    "truncate_false": "a prompt that is too long, truncate false: 400, llama-server's JSON as text"
    " inside `error`, with n_prompt_tokens and n_ctx; also of /api/generate",
    "shift_false": "a prompt that is too long, shift false alone: 400 in Ollama's own words",
    "cut": "a prompt that is too long, neither: 200, cut in silence, a single message to half of"
    " the window",
    "shift": "a reply that reaches the end of the window goes on, the oldest is forgotten",
    "format_thinking": "a model that can think, think absent: format does not hold until thinking"
    " has come and ended",
    "format": "format is a schema or `json`: 500 for another text, 400 for an unknown type",
    "capabilities": "chat of a model without completion, tools without tools, think true without"
    " thinking: 400",
    "options": "num_ctx that is no integer: 500; keep_alive as a text without a unit: 400",
    "unknown_model": "404, in other words by /api/chat, /api/show (with the tag) and /api/embed",
    "embed_by_chat_model": "501",
    "bad_json": "400, in Go's words",
    "tags": "/api/tags tells capabilities, context_length and embedding_length; of an embedding"
    " model it may say completion, where /api/show says embedding",
    "pull": "what goes wrong comes inside a 200 stream, without a network in Go's words",
    "defaults": "num_ctx 4096 where none is sent",
}
"""What the real server was seen to do, each tried by the test of that name in
tests/models/test_ollama_rules.py."""

WINDOW = 4096
LOAD_NANOSECONDS, LOADED_NANOSECONDS = 4_000_000_000, 10_000_000
NO_NETWORK = (
    'pull model manifest: Get "https://registry.ollama.ai/v2/library/x/manifests/latest":'
    " dial tcp: lookup registry.ollama.ai: no such host"
)


@dataclass(frozen=True)
class Answer:
    """One scripted reply.

    `text` and `thinking` are sent piece by piece (a plain string is cut into words); `calls` are
    (tool name, arguments). `prompt_tokens` None counts the request's characters / 4, and
    `counts` False leaves both counts out. `stall` is seconds before the first byte, `pause`
    between pieces; after the first one the server waits for the event `go_on`, if there is one.
    `status` other than 200 answers with `error` at once. After `cut_after` pieces the connection
    breaks; after `end_after` the stream just ends; after `malformed_after` a line that is no JSON
    follows; after `error_after` an object with `error`. `unbound` is what it says in place of
    `text` where the format of the request does not hold (see RULES); without it the text comes in
    a fence.
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
    go_on: threading.Event | None = None
    status: int = 200
    error: str = "something broke in the server"
    cut_after: int | None = None
    malformed_after: int | None = None
    error_after: int | None = None
    end_after: int | None = None
    unbound: str = ""
    load_nanoseconds: int = LOADED_NANOSECONDS


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

    @property
    def abilities(self) -> Sequence[str] | None:
        """The capabilities; None of a server that is too old to know them."""
        return ("embedding",) if self.dimensions else self.capabilities

    def lacks(self, ability: str) -> bool:
        return self.abilities is not None and ability not in self.abilities


class Launch(NamedTuple):
    """What a running model was started with."""

    window: int
    shift: bool = True


@dataclass(frozen=True)
class Served:
    """A request that a model answered: tokens of its prompt, those that were really read, and
    whether the model was loaded for it."""

    path: str
    model: str
    tokens: int
    read: int
    loaded: bool


@dataclass(frozen=True)
class Asked:
    """One request as it came. `body` is {} when there was none; `raw` are its bytes; `port` is that
    of the client's connection."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    raw: bytes
    port: int


@dataclass
class FakeOllama:
    """See the module. `loaded` maps names of running models to what they were started with;
    `pullable` models are listed only after /api/pull, which ends with `pull_error` if that is set.
    With `start` False connections are refused until `listen()`. A chat of one token that is not
    streamed only reads ahead: it takes nothing of the script, and stands in `ahead` instead of
    `chats`; `ahead_stall` are the seconds that it takes, `ahead_read` (tokens, seconds) what it
    tells of them.
    """

    models: list[FakeModel] = field(default_factory=lambda: [FakeModel()])
    loaded: dict[str, Launch] = field(default_factory=dict)
    served: list[Served] = field(default_factory=list)
    pullable: list[FakeModel] = field(default_factory=list)
    pull_error: str = ""
    requests: list[Asked] = field(default_factory=list)
    failed: str = ""
    start: bool = True
    ahead_stall: float = 0.0
    ahead_read: tuple[int, float] | None = None

    def __post_init__(self) -> None:
        self.script: deque[Line] = deque()
        self.vectors_said: deque[Vectors] = deque()
        self.read: dict[str, list[str]] = {}
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
        return [body for body in self._chats if not reads_ahead(body)]

    @property
    def ahead(self) -> list[dict[str, Any]]:
        """The bodies of the chats that only read ahead."""
        return [body for body in self._chats if reads_ahead(body)]

    @property
    def _chats(self) -> list[dict[str, Any]]:
        return [asked.body for asked in self.requests if asked.path.endswith(CHAT_PATHS)]

    @property
    def embeds(self) -> list[dict[str, Any]]:
        return [asked.body for asked in self.requests if asked.path == "/api/embed"]

    @property
    def paths(self) -> list[str]:
        return [asked.path for asked in self.requests]

    @property
    def loads(self) -> int:
        """How often a model was loaded."""
        return sum(served.loaded for served in self.served)

    def prompt_tokens(self, body: Mapping[str, Any]) -> int:
        """How many tokens the prompt of a request has."""
        return len(rendered(body)) // 4

    def take_in(self, path: str, body: Mapping[str, Any], tokens: int) -> Served:
        """Load the model as the request wants it, and read what it has not read yet."""
        name, launch = body["model"], launch_of(body)
        loads = self.loaded.get(name) != launch
        if loads:
            self.loaded[name] = launch
            self.read[name] = []
        text = rendered(body)
        known = max((common(text, earlier) for earlier in self.read.get(name, ())), default=0)
        self.read.setdefault(name, []).append(text)
        unread = max(1, round(tokens * (1 - known / len(text)))) if text else 0
        self.served.append(Served(path, name, tokens, unread, loads))
        return self.served[-1]

    def say(self, *lines: Line) -> None:
        """Add to the script."""
        self.script.extend(lines)

    def answer_to(self, body: dict[str, Any]) -> Answer:
        if not reads_ahead(body):
            return self.next_answer(body)
        tokens, seconds = self.ahead_read or (None, 0.0)
        return Answer(".", prompt_tokens=tokens, read_seconds=seconds, stall=self.ahead_stall)

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


JSON_TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
CHAT_PATHS = ("/api/chat", "/v1/chat/completions")


def reads_ahead(body: Mapping[str, Any]) -> bool:
    """Whether a chat only wants the model to be loaded and the prompt to be read."""
    is_short = (body.get("options") or {}).get("num_predict") == 1
    return is_short and body.get("stream") is False


def last_words(body: Mapping[str, Any]) -> str:
    """The content of the newest message of a chat request."""
    messages = body.get("messages") or [{}]
    return str(messages[-1].get("content", ""))


def pieces(text: str | Sequence[str]) -> list[str]:
    if not isinstance(text, str):
        return list(text)
    words = text.split(" ")
    return [w if i == 0 else f" {w}" for i, w in enumerate(words)] if text else []


def rendered(body: Mapping[str, Any]) -> str:
    """The prompt of a request, as a template writes it."""
    messages = body.get("messages")
    if messages is None:  # /api/generate; without a prompt the model is only loaded
        if not body.get("prompt"):
            return ""
        given = (("system", body.get("system")), ("user", body["prompt"]))
        messages = [{"role": role, "content": text} for role, text in given if text]
    tools = json.dumps(body["tools"], ensure_ascii=False) if body.get("tools") else ""
    return tools + "".join(map(_written, messages))


def _written(message: Mapping[str, Any]) -> str:
    calls = message.get("tool_calls")
    said = f"{message.get('content') or ''}{json.dumps(calls, ensure_ascii=False) if calls else ''}"
    return f"<|im_start|>{message.get('role')}\n{said}<|im_end|>\n"


def common(first: str, second: str) -> int:
    """How many characters two texts begin with alike."""
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    return sum(1 for _ in alike)


def launch_of(body: Mapping[str, Any]) -> Launch:
    window: Any = (body.get("options") or {}).get("num_ctx", WINDOW)
    return Launch(window, body.get("shift") is not False)


def is_bound(answer: Answer, body: Mapping[str, Any], model: FakeModel) -> bool:
    """Whether the reply is held to the format of a request, if it has one."""
    can_think = "thinking" in (model.abilities or ())
    return not can_think or body.get("think") is False or bool(answer.thinking)


def counts(answer: Answer, body: Mapping[str, Any]) -> tuple[int, int]:
    """(prompt tokens, generated tokens)."""
    prompt = len(rendered(body)) // 4 if answer.prompt_tokens is None else answer.prompt_tokens
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
        try:
            body = json.loads(raw) if raw else {}
        except ValueError:
            first = raw.decode(errors="replace")[:1]
            self._send(
                {"error": f"invalid character {first!r} looking for beginning of value"}, 400
            )
            return
        port = self.client_address[1]
        asked = Asked(self.command, self.path, dict(self.headers.items()), body, raw, port)
        self.fake.requests.append(asked)
        routes: dict[str, Callable[[dict[str, Any]], None]] = {
            "GET /": lambda _: self._send("Ollama is running"),
            "GET /api/version": lambda _: self._send({"version": VERSION}),
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
            "POST /v1/embeddings": self._embed,
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
        for name, launch in self.fake.loaded.items():
            model = self.fake.find(name)
            if model is not None:
                yield {**running(model), "context_length": launch.window, "size_vram": 0}

    def _generate(self, body: dict[str, Any]) -> None:
        model = self._asked_model(body)
        if model is None or self._is_refused(body, model):
            return
        if body.get("keep_alive") == 0:
            self.fake.loaded.pop(model.name, None)
        else:
            self.fake.take_in(self.path, body, self.fake.prompt_tokens(body))
        self._send({"response": "", "done": True})

    def _show(self, body: dict[str, Any]) -> None:
        name = body.get("model") or body.get("name") or ""
        model = self.fake.find(name)
        if model is None:
            tagged = name if ":" in name else f"{name}:latest"
            self._send({"error": f"model '{tagged}' not found"}, 404)
            return
        shown: dict[str, Any] = {
            "template": model.template,
            "details": listed(model)["details"],
            "model_info": {f"{model.family}.context_length": model.context_length},
            "modified_at": model.modified_at,
        }
        if model.abilities is not None:
            shown["capabilities"] = list(model.abilities)
        self._send(shown)

    def _pull(self, body: dict[str, Any]) -> None:
        name = body.get("model") or body.get("name") or ""
        known = [*self.fake.models, *self.fake.pullable]
        model = next((m for m in known if m.name in (name, f"{name}:latest")), None)
        self._start_stream("application/x-ndjson")
        self._line({"status": "pulling manifest"})
        if model is None or self.fake.pull_error:
            error = self.fake.pull_error or "pull model manifest: file does not exist"
            self._line({"error": error})
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
            error = "This server does not support embeddings. Start it with `--embeddings`"
            self._send({"error": error}, 501)
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
        value: Any = {"model": name, "embeddings": rows, **timing}
        if is_old:
            value = {"embedding": rows[0]}
        elif self.path.startswith("/v1/"):
            listed = [{"index": at, "embedding": row} for at, row in enumerate(rows)]
            value = {"object": "list", "data": listed[::-1], "model": name}
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
        model = self._asked_model(body)
        if model is None or (not is_openai and self._is_refused(body, model)):
            return
        answer = self.fake.answer_to(body)
        self._wait(answer.stall)
        if answer.status != 200:
            self._refuse(answer.status, answer.error)
            return
        if not is_openai:
            answer = self._taken_in(answer, body, model)
        say = openai_events if is_openai else ollama_parts
        if not body.get("stream", not is_openai):
            self._send(whole(list(say(answer, body)), is_openai))
            return
        self._start_stream("text/event-stream" if is_openai else "application/x-ndjson")
        self._play(answer, say(answer, body), self._event if is_openai else self._line)

    def _asked_model(self, body: dict[str, Any]) -> FakeModel | None:
        name = body.get("model", "")
        model = self.fake.find(name)
        if model is None:
            self._refuse(404, f"model '{name}' not found")
        return model

    def _is_refused(self, body: dict[str, Any], model: FakeModel) -> bool:
        """Whether the server refuses the request before anything is read."""
        refused = refusal(body, model, self.fake.prompt_tokens(body))
        if refused is not None:
            self._refuse(*refused)
        return refused is not None

    def _taken_in(self, answer: Answer, body: dict[str, Any], model: FakeModel) -> Answer:
        """The answer as it comes of this request."""
        tokens = self.fake.prompt_tokens(body)
        if answer.prompt_tokens is not None:
            tokens = answer.prompt_tokens
        elif tokens > (window := launch_of(body).window):
            spoken = sum(message["role"] != "system" for message in body["messages"])
            tokens = window if spoken > 1 else window // 2
        served = self.fake.take_in(self.path, body, tokens)
        if body.get("format") and not is_bound(answer, body, model):
            text = answer.text if isinstance(answer.text, str) else "".join(answer.text)
            answer = replace(answer, text=answer.unbound or f"```json\n{text}\n```")
        said = "".join((*pieces(answer.thinking), *pieces(answer.text)))
        calls = [{"function": {"name": n, "arguments": dict(a)}} for n, a in answer.calls]
        made = {"role": "assistant", "content": said, "tool_calls": calls}
        self.fake.read[body["model"]][-1] += _written(made)
        load = LOAD_NANOSECONDS if served.loaded else LOADED_NANOSECONDS
        return replace(answer, prompt_tokens=tokens, load_nanoseconds=load)

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
            while answer.go_on and not (answer.go_on.is_set() or self.fake.stopping.is_set()):
                self._wait(POLL_SECONDS)
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


def running(model: FakeModel) -> dict[str, Any]:
    """A model as /api/ps tells of it."""
    details = {"format": "gguf", "family": model.family, "parameter_size": model.parameter_size}
    return {
        "name": model.name,
        "model": model.name,
        "modified_at": model.modified_at,
        "size": model.size,
        "digest": model.digest,
        "details": details,
    }


def listed(model: FakeModel) -> dict[str, Any]:
    """A model as /api/tags tells of it."""
    told = running(model)
    if model.abilities is not None:
        told["capabilities"] = ["completion"] if model.dimensions else list(model.abilities)
        told["details"]["context_length"] = model.context_length
        told["details"]["embedding_length"] = model.dimensions or 1536
    return told


def refusal(body: Mapping[str, Any], model: FakeModel, tokens: int) -> tuple[int, str] | None:
    """(status, error) for a request of so many tokens that the server does not take."""
    for is_asked, ability in (
        (True, "completion"),
        (body.get("tools"), "tools"),
        (body.get("think"), "thinking"),
    ):
        if is_asked and model.lacks(ability):
            wanted = "chat" if ability == "completion" else ability
            return 400, f'"{model.name}" does not support {wanted}'
    keep_alive = body.get("keep_alive")
    if isinstance(keep_alive, str) and keep_alive.lstrip("-").isdigit():
        return 400, f'time: missing unit in duration "{keep_alive}"'
    launch = launch_of(body)
    if not str(launch.window).isdigit():
        return 500, 'option "num_ctx" must be of type integer'
    held_to = body.get("format")
    if isinstance(held_to, str) and held_to not in ("", "json"):
        return 500, f'invalid format: "{held_to}"; expected "json" or a valid JSON Schema object'
    if isinstance(held_to, Mapping) and held_to.get("type", "object") not in JSON_TYPES:
        return 400, "JSON schema conversion failed"
    if tokens <= launch.window:
        return None
    if body.get("truncate") is False:
        told = {
            "code": 400,
            "message": f"request ({tokens} tokens) exceeds the available context size"
            f" ({launch.window} tokens), try increasing it",
            "type": "exceed_context_size_error",
            "n_prompt_tokens": tokens,
            "n_ctx": launch.window,
        }
        return 400, json.dumps({"error": told}, separators=(",", ":"))
    if not launch.shift:
        return 400, (
            "the prompt is longer than the context length currently available to the model; "
            "shorten it or raise num_ctx"
        )
    return None


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
    last["load_duration"] = answer.load_nanoseconds
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
