"""Limits of a server's reply, and text of it that files can hold."""

from __future__ import annotations

import gc
import gzip
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import repeat
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.agent.protocols.replies import read_step
from openclaw.errors import ModelFailed, OpenclawError, ServerAway, UsageError
from openclaw.messages import Message, Waiting
from openclaw.models.base import Model, Reply, Request, Text
from openclaw.models.embedding_models import InstalledModel
from openclaw.models.http_client import MAX_BYTES, error_line
from openclaw.models.ollama import OllamaClient, OllamaModel
from openclaw.models.openai import OpenAIModel
from openclaw.retrieval.server_embedders import OllamaEmbedder
from openclaw.stopping import stopped_by
from openclaw.storage.safe_open import replace_surrogates

ASKED = Request((Message("user", "Which port?"),), max_tokens=100)


class Server:
    """Sends what it is told to, until nobody listens any more; counts the bytes."""

    def __init__(self, status: int, headers: dict[str, str], body: Callable[[], Any]) -> None:
        self.sent = 0
        self.heard: list[dict[str, str]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.heard.append(dict(self.headers))
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                plain = self.path in ("/api/show", "/api/ps")
                self.send_response(200 if plain else status)
                for name, value in ({} if plain else headers).items():
                    self.send_header(name, value)
                self.end_headers()
                try:
                    for piece in [b'{"models": [], "model_info": {}}'] if plain else body():
                        self.wfile.write(piece)
                        server.sent += len(piece)
                except OSError:
                    pass

            do_POST = do_GET  # noqa: N815

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()


@contextmanager
def serving(body: Callable[[], Any], status: int = 200, **headers: str) -> Iterator[Server]:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    server = Server(status, given, body)
    try:
        yield server
    finally:
        server.http.shutdown()
        server.http.server_close()


def ollama(server: Server) -> Model:
    return OllamaModel("m", host=server.url, window=4096, keep_alive="5m", retry_waits=())


def openai(server: Server) -> Model:
    return OpenAIModel("m", base_url=server.url, api_key="", window=4096, retry_waits=())


def ask(model: Model) -> Reply:
    *_, reply = model.stream(ASKED)
    assert isinstance(reply, Reply)
    return reply


LINES: dict[Any, bytes] = {
    ollama: b'{"model": "m", "message": {"role": "assistant", "content": "a"}, "done": false}\n',
    openai: b'data: {"choices": [{"delta": {"content": "a"}}]}\n\n',
}
MAKES = pytest.mark.parametrize("make", [ollama, openai])


@MAKES
def test_a_reply_without_end_is_left(make: Callable[[Server], Model]) -> None:
    with serving(lambda: repeat(LINES[make] * 100)) as server:
        with pytest.raises(ModelFailed, match=r"it sent more than 2,200,000 bytes"):
            ask(make(server))
        assert server.sent < 20_000_000


@MAKES
@pytest.mark.parametrize("status", [200, 400, 500])
def test_a_line_or_an_error_without_end_is_left(
    make: Callable[[Server], Model], status: int
) -> None:
    with serving(lambda: repeat(b"x" * 65_536), status) as server:
        with pytest.raises(OpenclawError):
            ask(make(server))
        assert server.sent < 30_000_000


def test_a_connection_that_the_server_closes_after_each_reply_is_opened_again() -> None:
    with serving(lambda: [b'{"models": [{"name": "m"}]}']) as server:
        client = OllamaClient(server.url)
        assert [len(client.ask("GET", "/api/tags")["models"]) for _ in range(3)] == [1, 1, 1]
        client.close()


def test_the_socket_of_an_answer_that_was_read_is_closed() -> None:
    with serving(lambda: [b"{}"]) as server:
        client: Any = OllamaClient(server.url)
        client.ask("GET", "/api/tags")
        client.itself = client  # of a ring Python tells what was left open
        del client
        gc.collect()


def test_a_server_that_has_moved_says_where() -> None:
    moved = serving(lambda: [b""], 308, Location="https://new.example/")
    with moved as server, pytest.raises(ModelFailed, match=r"moved to https://new\.example/"):
        ask(ollama(server))


@pytest.mark.parametrize("key", ["caf\u00e9", "caf\n", "caf\r\nX: 1", "caf\udce9"])
def test_a_key_that_no_header_can_hold_is_neither_sent_nor_told(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", key)
    with serving(lambda: [b"{}"]) as server:
        with pytest.raises(UsageError) as sent:
            ask(OpenAIModel("m", base_url=server.url, api_key=key, window=4096))
        with pytest.raises(UsageError) as asked:
            ask(ollama(server))
        assert "caf" not in str(sent.value) + str(asked.value)
        assert not server.sent


def test_the_credentials_in_the_address_of_a_server_and_of_a_proxy_go_along(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving(lambda: [LINES[openai], b"data: [DONE]\n\n"]) as server:
        named = server.url.replace("//", "//ann:p%40ss@")
        monkeypatch.setenv("http_proxy", named)
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        for url in (f"{named}/v1", "http://models.example/v1"):
            model = OpenAIModel("m", base_url=url, api_key="k", window=4096, retry_waits=())
            with suppress(ModelFailed):
                ask(model)
            model.close()
    direct, by_proxy = server.heard
    assert direct["Authorization"] == "Basic YW5uOnBAc3M="
    assert by_proxy["Proxy-Authorization"] == "Basic YW5uOnBAc3M="
    assert (by_proxy["Authorization"], by_proxy["Host"]) == ("Bearer k", "models.example")


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000/v1", "models.example/v1", "ftp://a/v1", "http:///v1", "http://a:99999/v1",
        "http://a..b/v1", "http://[::1/v1", "http://a b/v1",
    ],
)  # fmt: skip
def test_what_is_no_address_of_a_server_is_refused_and_asked_nothing(url: str) -> None:
    with pytest.raises(UsageError, match="not the address of a server"):
        OpenAIModel("m", base_url=url, api_key="k", window=4096)


def test_a_proxy_that_speaks_no_http_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "socks5h://ann:secret@127.0.0.1:1")
    for name in ("http_proxy", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    model = OpenAIModel("m", base_url="http://a.example/v1", api_key="", window=4096)
    with pytest.raises(ServerAway, match="a socks5h proxy; set http_proxy") as caught:
        ask(model)
    assert "secret" not in str(caught.value)


@MAKES
def test_a_packed_reply_is_not_unpacked(make: Callable[[Server], Model]) -> None:
    packed = gzip.compress(LINES[make] * 100_000)
    with (
        serving(lambda: [packed], Content_Encoding="gzip") as server,
        pytest.raises(ModelFailed, match="it packs its reply"),
    ):
        ask(make(server))


def stream_of(*deltas: object, **event: object) -> list[bytes]:
    """A reply of an OpenAI-compatible server with these deltas."""
    events = [{"choices": [{"delta": delta}]} for delta in deltas]
    last = {"choices": [{"delta": {}, "finish_reason": "stop"}], **event}
    return [f"data: {json.dumps(each)}\n\n".encode() for each in (*events, last)]


def call_of(given: object, **piece: object) -> dict[str, object]:
    return {"tool_calls": [{**piece, "function": {"name": "t", "arguments": given}}]}


def rest_of(given: object, **piece: object) -> dict[str, object]:
    """A later piece of a call, which has no name."""
    return {"tool_calls": [{**piece, "function": {"arguments": given}}]}


@pytest.mark.parametrize(
    ("deltas", "calls"),
    [
        ([call_of({"a": 1}, index=0, id="x")], [{"a": 1}]),
        ([call_of('{"a":1}', index=0, id="x"), call_of("{}", index=0, id="y")], [{"a": 1}, {}]),
        ([call_of('{"a"', index=0, id="x"), call_of(":1}", index=0, id="x")], [{"a": 1}]),
        ([call_of("{}", index="0"), call_of('{"a":1}', id="y")], [{}, {"a": 1}]),
        ([call_of('{"a":1}'), call_of("{}")], [{"a": 1}, {}]),
        ([call_of('{"a"', index=0, id="x"), rest_of(":1}", index=0, id="y")], [{"a": 1}]),
    ],
    ids=[
        "an object",
        "one number for two",
        "the name again",
        "a number as text",
        "no number",
        "an id for each piece",
    ],
)
def test_calls_are_told_apart_however_they_are_sent(
    deltas: list[dict[str, object]], calls: list[object]
) -> None:
    with serving(lambda: stream_of(*deltas)) as server:
        reply = ask(openai(server))
    assert [(call.name, dict(call.arguments)) for call in reply.tool_calls] == [
        ("t", call) for call in calls
    ]


def test_texts_and_thoughts_may_come_in_parts() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    deltas = [{"content": [thought]}, {"content": [{"type": "text", "text": "yes"}]}]
    with serving(lambda: stream_of(*deltas)) as server:
        reply = ask(openai(server))
    assert (reply.thinking, reply.text) == ("hm", "yes")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (stream_of({"content": 7}), "not a chat reply"),
        (stream_of(usage={"prompt_tokens": 1, "prompt_tokens_details": [1]}), "not a chat reply"),
        ([b'{"error": {"message": "no credit"}}'], "said: no credit"),
        ([b'error: {"message": "no credit"}\n\n'], "said: no credit"),
        ([b"<html>\n<body>Sign in</body></html>"], "said: <html>"),
    ],
    ids=["a number", "a list of counts", "an error as JSON", "an error as a field", "a page"],
)
def test_what_is_no_reply_is_told(body: list[bytes], words: str) -> None:
    with serving(lambda: body) as server, pytest.raises(ModelFailed, match=words):
        ask(openai(server))


def test_a_wait_for_the_first_piece_can_be_stopped() -> None:
    """A server may send its headers at once, and then read the prompt for a minute."""
    end, asked, seen = threading.Event(), threading.Event(), list[object]()

    def body() -> Iterator[bytes]:
        end.wait(20)
        yield from stream_of({"content": "a"})

    with serving(body) as server, stopped_by(asked), pytest.raises(KeyboardInterrupt):
        for chunk in openai(server).stream(ASKED):
            seen.append(chunk)
            assert isinstance(chunk, Waiting) and "waiting for the server" in chunk.message
            asked.set()
    assert len(seen) == 1
    end.set()


@MAKES
def test_a_wait_for_the_next_piece_can_be_stopped(make: Callable[[Server], Model]) -> None:
    end, asked = threading.Event(), threading.Event()

    def body() -> Iterator[bytes]:
        yield LINES[make]
        end.wait(20)

    with serving(body) as server:
        model = make(server)
        with stopped_by(asked), pytest.raises(KeyboardInterrupt):
            for chunk in model.stream(ASKED):
                if isinstance(chunk, Text):
                    asked.set()
        assert not end.is_set()
    end.set()


def test_a_reply_that_says_that_it_is_done_needs_no_clean_end() -> None:
    body = [*stream_of({"content": "a"}), b"data: [DONE]\n\n"]
    with serving(lambda: body, Content_Length="9999") as server:
        assert ask(openai(server)).text == "a"


@pytest.mark.parametrize("beats", [b"", b": ping\n\n"], ids=["silent", "with a heartbeat"])
def test_a_reply_that_says_that_it_is_done_needs_no_end(beats: bytes) -> None:
    has_reply = threading.Event()

    def body() -> Iterator[bytes]:
        yield from (*stream_of({"content": "a"}), b"data: [DONE]\n\n")
        for _ in range(100):
            yield beats
            if has_reply.wait(0.1):
                return

    with serving(body) as server:
        began = time.monotonic()
        assert ask(openai(server)).text == "a"
        assert time.monotonic() - began < 5
        has_reply.set()


def test_vectors_without_end_are_left() -> None:
    with serving(lambda: repeat(b"1" * 65_536)) as server:
        embedder = OllamaEmbedder(InstalledModel("m", "", 0), server.url)
        with pytest.raises(OpenclawError):
            embedder.documents(["tea"])
        assert server.sent < MAX_BYTES


@MAKES
@pytest.mark.parametrize("half", ["\\ud83d", "\\udE00", "\\ud83d\\ud83d\\ude00"])
def test_a_lone_half_of_a_pair_in_text_or_call_is_replaced(
    make: Callable[[Server], Model], half: str
) -> None:
    mended = json.loads(f'"{half}"').encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if make is ollama:
        call = f'{{"function": {{"name": "t", "arguments": {{"a{half}": ["{half}"]}}}}}}'
        lines = [
            f'{{"message": {{"role": "assistant", "content": "{half}", "tool_calls": [{call}]}}, '
            '"done": true, "done_reason": "stop"}'
        ]
    else:
        inner = json.dumps(f'{{"a{half}": ["{half}"]}}')
        call = f'{{"index": 0, "function": {{"name": "t", "arguments": {inner}}}}}'
        delta = f'{{"content": "{half}", "tool_calls": [{call}]}}'
        lines = [
            f'data: {{"choices": [{{"delta": {delta}, "finish_reason": "stop"}}]}}',
            "data: [DONE]",
        ]
    with serving(lambda: [f"{line}\n".encode() for line in lines]) as server:
        reply = ask(make(server))
    assert reply.text == mended
    assert dict(reply.tool_calls[0].arguments) == {f"a{mended}": [mended]}


def test_an_error_that_a_server_reports_has_no_lone_half_either() -> None:
    assert error_line('{"error": "\\ud800 b"}') == "\ufffd b"


def test_a_call_written_as_text_has_no_lone_half_either() -> None:
    step = read_step('{"tool": "t", "arguments": {"a": "\\ud800 b"}}', {"t": ("a",)})
    assert [dict(call.arguments) for call in step.calls] == [{"a": "\ufffd b"}]


@given(st.text(st.sampled_from('\\ud83Ee0"a ')))
def test_mending_keeps_all_but_lone_halves(text: str) -> None:
    mended = replace_surrogates(text)
    assert len(mended) == len(text)
    try:
        value = json.loads(f'"{text}"', strict=False)
    except ValueError:
        return
    whole = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert json.loads(f'"{mended}"', strict=False) == whole
