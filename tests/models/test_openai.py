"""OpenAIModel against the loopback stand-in."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any, cast

import pytest

from openclaw.errors import ModelFailed, ModelMissing, OpenclawError, PromptTooLarge, ServerAway
from openclaw.messages import Message, ToolCall, Waiting
from openclaw.models.base import Chunk, Model, Reply, Request, Text, Thinking
from openclaw.models.openai import OpenAIModel
from tests.fakes.ollama_server import Answer, FakeOllama

QUESTION = Request((Message("system", "Be brief."), Message("user", "Which port?")))
SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}}
STEP = Request(QUESTION.messages, schema=SCHEMA)
Make = Callable[..., OpenAIModel]


@pytest.fixture
def make(fake_ollama: FakeOllama) -> Iterator[Make]:
    """Opens models of the fake server, and closes them."""
    made: list[OpenAIModel] = []

    def _make(name: str = "fake:1b", **changed: Any) -> OpenAIModel:
        given = {"base_url": f"{fake_ollama.url}/v1", "api_key": "", "window": 8192}
        model = OpenAIModel(name, **{**given, "retry_waits": (0.01, 0.02), **changed})
        made.append(model)
        return model

    yield _make
    for model in made:
        model.close()


def ask(model: Model, request: Request = QUESTION) -> tuple[Reply, list[Chunk]]:
    *chunks, reply = model.stream(request)
    assert isinstance(reply, Reply)
    return reply, chunks


def rejecting(*fields: str) -> Callable[[dict[str, Any]], Answer | str]:
    """A server that answers 400, naming the first of these fields that a request holds."""

    def answer(body: dict[str, Any]) -> Answer | str:
        for name in fields:
            if name in body:
                return Answer(status=400, error=f"Unsupported parameter: '{name}'")
        return "fine"

    return answer


def test_what_goes_over_the_line_can_be_had_before_it_is_sent(
    make: Make, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("{}")
    model = make()
    raw = model.wire(STEP)
    assert not fake_ollama.requests
    ask(model, STEP)
    assert raw == fake_ollama.requests[-1].raw


def test_a_reply_streams_piece_by_piece_and_ends_with_its_counts(
    make: Make, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(
        Answer("The port is 8080.", prompt_tokens=321, generated_tokens=7, cached_tokens=300)
    )
    reply, chunks = ask(make())
    assert chunks == [Text("The"), Text(" port"), Text(" is"), Text(" 8080.")]
    assert (reply.text, reply.stop_reason) == ("The port is 8080.", "stop")
    usage = reply.usage
    assert (usage.prompt_tokens, usage.cached_tokens, usage.generated_tokens) == (321, 300, 7)
    assert 0 < usage.first_token_seconds <= usage.total_seconds
    assert fake_ollama.paths == ["/v1/chat/completions"]


def test_a_request_holds_what_was_asked_and_nothing_that_was_not(
    make: Make, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("one", "two")
    model = make()
    ask(model)
    ask(model, Request(QUESTION.messages, schema=SCHEMA, seed=7, max_tokens=9))
    first, second = fake_ollama.chats
    assert first == {
        "model": "fake:1b",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Which port?"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.0,
        "max_tokens": 1024,
    }
    assert (second["seed"], second["max_tokens"]) == (7, 9)
    assert second["response_format"]["type"] == "json_schema"
    assert second["response_format"]["json_schema"]["schema"] == SCHEMA


def test_the_key_is_optional(make: Make, fake_ollama: FakeOllama) -> None:
    fake_ollama.say("one", "two")
    ask(make())
    ask(make(api_key="secret-1"))
    sent = [asked.headers.get("Authorization") for asked in fake_ollama.requests]
    assert sent == [None, "Bearer secret-1"]


def test_calls_are_put_together_from_their_pieces(make: Make, fake_ollama: FakeOllama) -> None:
    tool = {"type": "function", "function": {"name": "read_file", "parameters": {}}}
    earlier = ToolCall("id_9", "list_files", {"depth": 1})
    history = (
        *QUESTION.messages,
        Message("assistant", "", tool_calls=(earlier,)),
        Message("tool", "a.md", tool_name="list_files", tool_call_id="id_9"),
    )
    fake_ollama.say(Answer(calls=[("read_file", {"path": "ä.md"}), ("read_file", {"path": "b"})]))
    reply, _ = ask(make(), Request(history, tools=(tool,)))
    assert reply.stop_reason == "tool_calls"
    assert reply.tool_calls == (
        ToolCall("id_0", "read_file", {"path": "ä.md"}),
        ToolCall("id_1", "read_file", {"path": "b"}),
    )
    body = fake_ollama.chats[0]
    assert body["tools"] == [tool]
    assert body["messages"][2]["tool_calls"][0] == {
        "id": "id_9",
        "type": "function",
        "function": {"name": "list_files", "arguments": '{"depth": 1}'},
    }
    assert body["messages"][3]["tool_call_id"] == "id_9"


def test_reasoning_is_streamed_apart_from_the_reply(make: Make, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(Answer("8080", thinking="let me"))
    reply, chunks = ask(make())
    assert chunks == [Thinking("let"), Thinking(" me"), Text("8080")]
    assert (reply.text, reply.thinking) == ("8080", "let me")


def test_a_reply_at_its_token_limit_says_length(make: Make, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(Answer("half a", done_reason="length"))
    assert ask(make())[0].stop_reason == "length"


def test_odd_line_separators_in_a_reply_do_not_break_it(
    make: Make, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(Answer(["one\u2028two", "\u0085three"]))
    assert ask(make())[0].text == "one\u2028two\u0085three"


def test_a_server_without_json_schema_is_asked_for_less_and_that_is_remembered(
    make: Make, fake_ollama: FakeOllama
) -> None:
    def no_schema(body: dict[str, Any]) -> Answer | str:
        if body["response_format"]["type"] == "json_schema":
            return Answer(status=400, error="response_format.type must be json_object or text")
        return "{}"

    fake_ollama.say(no_schema, no_schema, no_schema)
    model = make()
    assert ask(model, STEP)[0].text == "{}"
    assert ask(model, STEP)[0].text == "{}"
    kinds = [body["response_format"]["type"] for body in fake_ollama.chats]
    assert kinds == ["json_schema", "json_object", "json_object"]


def test_a_server_without_any_response_format_is_asked_without(
    make: Make, fake_ollama: FakeOllama
) -> None:
    answer = rejecting("response_format")
    fake_ollama.say(answer, answer, answer, answer)
    model = make()
    assert ask(model, STEP)[0].text == "fine"
    assert ask(model, STEP)[0].text == "fine"
    assert ["response_format" in body for body in fake_ollama.chats] == [True, True, False, False]


@pytest.mark.parametrize("field", ["max_tokens", "stream_options", "temperature", "seed"])
def test_a_field_that_the_server_does_not_take_is_left_out_from_then_on(
    make: Make, fake_ollama: FakeOllama, field: str
) -> None:
    answer = rejecting(field)
    fake_ollama.say(answer, answer, answer)
    model = make()
    request = Request(QUESTION.messages, seed=1, max_tokens=77)
    assert ask(model, request)[0].text == "fine"
    assert ask(model, request)[0].text == "fine"
    assert [field in body for body in fake_ollama.chats] == [True, False, False]
    if field == "max_tokens":
        assert fake_ollama.chats[-1]["max_completion_tokens"] == 77


def test_a_server_that_rejects_everything_is_not_asked_for_ever(
    make: Make, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(*[Answer(status=400, error="temperature, seed: no")] * 3)
    with pytest.raises(ModelFailed, match="HTTP 400"):
        ask(make())
    assert len(fake_ollama.chats) == 3


@pytest.mark.parametrize(
    ("answer", "kind", "words", "hint"),
    [
        (Answer(status=401, error="bad key"), ModelFailed, "key.*401", "MY_KEY"),
        (Answer(status=403, error="no"), ModelFailed, "key.*403", "MY_KEY"),
        (
            Answer(status=404, error="no such model"),
            ModelMissing,
            "has no model fake:1b",
            "/models",
        ),
        (Answer(status=429, error="slow down"), ModelFailed, "too many requests.*slow", "wait"),
        (Answer(status=500, error="CUDA\nfault"), ModelFailed, "500.*CUDA fault", "log"),
        (
            Answer(
                status=400,
                error="This model's maximum context length is 4096 tokens. However, you requested "
                "5000 tokens (4000 in the messages, 1000 in max_tokens)",
            ),
            PromptTooLarge,
            "maximum context length is 4096",
            "window",
        ),
        (
            Answer(status=400, error="request (9000 tokens) exceeds the available context size"),
            PromptTooLarge,
            "9000 tokens",
            "window",
        ),
        (Answer("a b c", cut_after=2), ModelFailed, "broke the reply off after 2", "again"),
        (Answer("a b c", end_after=2), ModelFailed, "broke the reply off after 2", "again"),
        (Answer("a b c", malformed_after=1), ModelFailed, "not a chat reply", "again"),
        (Answer("a b c", error_after=1, error="died"), ModelFailed, "said: died", "log"),
    ],
)
def test_a_failing_server_is_told_in_one_line_and_never_asked_again(
    make: Make,
    fake_ollama: FakeOllama,
    answer: Answer,
    kind: type[OpenclawError],
    words: str,
    hint: str,
) -> None:
    fake_ollama.say(answer)
    with pytest.raises(kind, match=words) as caught:
        ask(make(api_key="secret-1", api_key_env="MY_KEY"))
    assert hint in caught.value.hint
    assert "\n" not in str(caught.value)
    assert "secret-1" not in f"{caught.value} {caught.value.hint}"
    assert len(fake_ollama.chats) == 1


def test_a_refused_connection_is_tried_again_and_then_said(make: Make, closed_port: int) -> None:
    told = []
    with pytest.raises(ServerAway, match="connection refused") as caught:
        for chunk in make(base_url=f"http://127.0.0.1:{closed_port}/v1").stream(QUESTION):
            told.append(chunk)
    assert len(told) == 2
    assert all(isinstance(chunk, Waiting) for chunk in told)
    assert "base_url" in caught.value.hint


def test_one_connection_serves_one_reply_after_the_other(
    make: Make, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("one", "two", "three")
    model = make()
    assert [ask(model)[0].text for _ in range(3)] == ["one", "two", "three"]
    assert len({asked.port for asked in fake_ollama.requests}) == 1


def test_closing_the_stream_hangs_up_on_the_server(make: Make, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(Answer("a b c d e f g h", pause=0.1))
    stream = cast("Generator[Chunk]", make().stream(QUESTION))
    assert next(stream) == Text("a")
    assert not fake_ollama.hung_up.is_set()
    stream.close()
    assert fake_ollama.hung_up.wait(2.0)


@pytest.mark.parametrize(
    ("name", "billions"), [("qwen2.5-7b-instruct", 7.0), ("Llama-3.2-1.5B", 1.5), ("gpt-x", 0.0)]
)
def test_the_card_is_known_without_asking(
    make: Make, fake_ollama: FakeOllama, name: str, billions: float
) -> None:
    card = make(name).card
    assert (card.name, card.window, card.parameters) == (f"openai/{name}", 8192, billions)
    assert fake_ollama.requests == []
