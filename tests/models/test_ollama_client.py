"""OllamaClient, held against the `ollama` library: what it sends and what it reads."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import httpx
import ollama
import pytest

from openclaw.messages import Image, Message, ToolCall
from openclaw.models.base import Request
from openclaw.models.http_client import ServerRefusal
from openclaw.models.ollama import OllamaClient, OllamaModel, OllamaReply, read_card
from tests.fakes.ollama_server import FakeModel, FakeOllama

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "A file.", "minLength": 1},
        "lines": {"type": ["integer", "null"], "enum": [1, 2, None], "default": 1},
        "where": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/place"}]},
        "words": {"type": "array", "items": {"type": "string", "maxLength": 9}},
    },
    "required": ["path"],
    "$defs": {"place": {"type": "string"}},
    "additionalProperties": False,
}
TOOLS = (
    {
        "type": "function",
        "function": {"name": "read", "description": "A.", "parameters": SCHEMA},
    },
    {"type": "function", "function": {"name": "now", "parameters": {"properties": {}}}},
    {"function": {"name": "bare", "strict": True}},
)
PIXEL = Image("workspace/a.png", "image/png", "0" * 64, b"\x89PNG")
TALK = (
    Message("system", "Be brief."),
    Message("user", "Grüße \U0001f44b \u2028", images=(PIXEL,)),
    Message("assistant", "", (ToolCall("call_1", "read", {"path": "a", "lines": None}),)),
    Message("tool", "", tool_name="read", tool_call_id="call_1"),
    Message("user", "Which port?"),
)
SAID = [
    {"role": "system", "content": "Be brief."},
    {
        "role": "user",
        "content": "Grüße \U0001f44b \u2028",
        "images": [b64encode(b"\x89PNG").decode()],
    },
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"function": {"name": "read", "arguments": {"path": "a", "lines": None}}}],
    },
    {"role": "tool", "content": "", "tool_name": "read"},
    {"role": "user", "content": "Which port?"},
]


def sent_by_the_library(**chat: Any) -> bytes:
    """The body of the request that `ollama.Client.chat` sends."""
    caught: list[bytes] = []

    def catch(request: httpx.Request) -> httpx.Response:
        caught.append(request.content)
        return httpx.Response(200, json={"message": {"role": "assistant"}, "done": True})

    with ollama.Client(transport=httpx.MockTransport(catch)) as client:
        list(client.chat(**chat, stream=True))
    return caught[0]


@pytest.mark.parametrize(
    ("asked", "alive", "chat"),
    [
        (Request(TALK), "30m", {"keep_alive": "30m"}),
        (Request(TALK, tools=TOOLS), "-1", {"keep_alive": -1, "tools": TOOLS}),
        (Request(TALK, TOOLS, think=True), "0", {"keep_alive": 0, "tools": TOOLS, "think": True}),
        (
            Request(TALK, schema=SCHEMA, think=False),
            "5m",
            {"keep_alive": "5m", "format": SCHEMA, "think": False},
        ),
    ],
)
def test_a_chat_goes_out_as_the_library_writes_it(
    fake_ollama: FakeOllama, asked: Request, alive: str, chat: Mapping[str, Any]
) -> None:
    fake_ollama.models[:] = [FakeModel(capabilities=("completion", "tools", "thinking"))]
    model = OllamaModel("fake:1b", host=fake_ollama.url, window=8192, keep_alive=alive)
    ours = model.wire(asked)
    model.close()
    options = json.loads(ours)["options"]
    library = sent_by_the_library(model="fake:1b", messages=SAID, options=options, **chat)
    assert ours == library.removesuffix(b"}") + b',"truncate":false}'


@pytest.mark.parametrize(
    "shown",
    [
        {
            "model_info": {"qwen3.context_length": 4096, "general.parameter_count": 4_022_468_096},
            "details": {"family": "qwen3", "parameter_size": "4.0B", "families": ["qwen3"]},
            "template": "{{ .Tools }}",
            "capabilities": ["completion", "tools", "thinking", "vision"],
            "modelfile": f"FROM /models/blobs/sha256-{'ab' * 32}",
            "parameters": "temperature 0.6",
            "modified_at": "2026-11-20T10:00:00.123456789+01:00",
        },
        {
            "model_info": None,
            "details": {"family": "llama", "parameter_size": "494.03M"},
            "template": "{{ if .Tools }}",
            "modified_at": "2026-11-20T10:00:00Z",
        },
        {"model_info": {}, "details": None, "capabilities": None, "template": None},
    ],
)
def test_a_card_is_read_as_from_the_librarys_type(shown: dict[str, Any]) -> None:
    card = read_card("fake:1b", 8192, shown)
    known = ollama.ShowResponse(**shown)
    said, facts = known.capabilities, known.modelinfo or {}
    said = said if said is not None else ["tools"] if ".Tools" in (known.template or "") else []
    assert card.window == min(8192, facts.get("qwen3.context_length", 8192))
    assert (card.tools, card.thinking, card.vision) == tuple(
        able in said for able in ("tools", "thinking", "vision")
    )
    assert card.family == ((known.details and known.details.family) or "")
    size = (known.details and known.details.parameter_size) or ""
    assert round(card.parameters, 2) == {"4.0B": 4.02, "494.03M": 0.49, "": 0.0}[size]
    assert card.digest == read_card("other", 99, {**shown, "modified_at": moment(known)}).digest


def moment(known: ollama.ShowResponse) -> str | None:
    return str(known.modified_at) if known.modified_at else None


PARTS: list[dict[str, Any]] = [
    {"model": "m", "message": {"role": "assistant", "content": "a", "thinking": None}},
    {"message": {"role": "assistant", "content": None, "thinking": "hm"}, "done": False},
    {
        "message": {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"function": {"name": "read", "arguments": {"path": ["a"]}}}],
        }
    },
    {
        "message": {"role": "assistant", "content": "b"},
        "done": True,
        "done_reason": "length",
        "prompt_eval_count": 12,
        "prompt_eval_duration": 3_000_000_000,
        "eval_count": 7,
    },
]


def test_a_reply_is_read_as_from_the_librarys_type() -> None:
    heard = OllamaReply(())
    for part in PARTS:
        known = ollama.ChatResponse(**part)
        told = [known.message.thinking, known.message.content]
        assert [piece.text for piece in heard.take(part)] == [each for each in told if each]
    last = ollama.ChatResponse(**PARTS[-1])
    reply = heard.reply(heard.last or {})
    assert reply.text == "ab"
    assert reply.thinking == "hm"
    assert reply.tool_calls == (ToolCall("call_1", "read", {"path": ["a"]}),)
    assert reply.usage.prompt_tokens == last.prompt_eval_count
    assert reply.usage.generated_tokens == last.eval_count
    assert reply.usage.read_seconds == (last.prompt_eval_duration or 0) / 1e9


@pytest.mark.parametrize(
    "part",
    [
        {"message": "hello"},
        {"message": {"content": 7}},
        {"message": {"tool_calls": {"function": {}}}},
        {"message": {"tool_calls": ["read"]}},
        {"message": {"tool_calls": [{"function": {"name": "read", "arguments": "{}"}}]}},
        {"message": {}, "done": "yes"},
    ],
)
def test_what_is_no_part_of_a_chat_is_an_error(part: Mapping[str, Any]) -> None:
    with pytest.raises(ValueError, match=" is no "):
        OllamaReply(()).take(part)


def test_a_running_model_is_named_as_in_the_librarys_type(fake_ollama: FakeOllama) -> None:
    fake_ollama.say("Hello.")
    model = OllamaModel("fake:1b", host=fake_ollama.url, window=8192, keep_alive="30m")
    list(model.stream(Request((Message("user", "Hello."),))))
    model.close()
    client = OllamaClient(fake_ollama.url)
    [running] = client.running()
    client.close()
    known = ollama.ProcessResponse.Model(**running)
    assert (known.model, known.context_length) == ("fake:1b", 8192)
    assert (running["model"], running["context_length"]) == ("fake:1b", 8192)


def test_a_proxy_gets_the_whole_address(
    fake_ollama: FakeOllama, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", fake_ollama.url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    client = OllamaClient("http://ollama.example:11434/behind")
    with pytest.raises(ServerRefusal):
        client.ask("GET", "/api/tags")
    client.close()
    assert fake_ollama.paths == ["http://ollama.example:11434/behind/api/tags"]
