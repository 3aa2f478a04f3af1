"""OllamaModel against the loopback stand-in."""

from __future__ import annotations

import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.errors import ModelFailed, ModelMissing, PromptTooLarge, ServerAway, UsageError
from openclaw.messages import Message, ToolCall, Waiting
from openclaw.models.base import Chunk, Model, Reply, Request, Text, Thinking, without_retries
from openclaw.models.ollama import OllamaModel, base_url, estimate_cached, read_reading, update_rate
from tests.fakes.ollama_server import Answer, FakeModel, FakeOllama, Launch

QUESTION = Request((Message("system", "Be brief."), Message("user", "Which port?")))
TOOL = {
    "type": "function",
    "function": {
        "name": "read_file",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
    },
}
Make = Callable[..., OllamaModel]


@pytest.fixture
def make(fake_ollama: FakeOllama) -> Iterator[Make]:
    """Opens models of the fake server, and closes them."""
    made: list[OllamaModel] = []

    def _make(name: str = "fake:1b", **changed: Any) -> OllamaModel:
        given = {"host": fake_ollama.url, "window": 8192, "keep_alive": "30m"}
        model = OllamaModel(name, **{**given, "retry_waits": (0.01, 0.02), **changed})
        made.append(model)
        return model

    yield _make
    for model in made:
        model.close()


def ask(model: Model, request: Request = QUESTION) -> tuple[Reply, list[Chunk]]:
    """The reply, and what came before it."""
    *chunks, reply = model.stream(request)
    assert isinstance(reply, Reply)
    return reply, chunks


def said(chunks: list[Chunk], kind: type[Text] | type[Thinking]) -> list[str]:
    return [chunk.text for chunk in chunks if isinstance(chunk, kind)]


def notices(chunks: list[Chunk]) -> list[str]:
    return [chunk.message for chunk in chunks if isinstance(chunk, Waiting)]


def test_a_reply_streams_piece_by_piece_and_ends_with_its_counts(
    make: Make, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(Answer("The port is 8080.", prompt_tokens=321, generated_tokens=7))
    reply, chunks = ask(make())
    assert said(chunks, Text) == ["The", " port", " is", " 8080."]
    assert reply.text == "The port is 8080."
    assert (reply.stop_reason, reply.tool_calls) == ("stop", ())
    assert (reply.usage.prompt_tokens, reply.usage.generated_tokens) == (321, 7)
    assert reply.usage.calls == 1
    assert 0 < reply.usage.first_token_seconds <= reply.usage.total_seconds


def test_every_call_carries_the_window_and_forbids_silent_cuts(
    make: Make, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("one", "two")
    model = make()
    ask(model)
    ask(model, Request(QUESTION.messages, max_tokens=99, temperature=0.5, seed=7))
    first, second = fake_ollama.chats
    assert first["options"] == {
        "num_ctx": 8192,
        "num_predict": 1024,
        "temperature": 0.0,
        "repeat_penalty": 1.0,
    }
    assert second["options"] == {
        "num_ctx": 8192,
        "num_predict": 99,
        "temperature": 0.5,
        "repeat_penalty": 1.0,
        "seed": 7,
    }
    for body in (first, second):
        assert (body["truncate"], body["stream"]) == (False, True)
        assert "shift" not in body  # it would load the model anew for every other client
        assert body["keep_alive"] == "30m"
        assert body["messages"] == [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Which port?"},
        ]
        assert not {"think", "format"} & body.keys()


def test_what_goes_over_the_line_can_be_had_before_it_is_sent(
    make: Make, fake_ollama: FakeOllama
) -> None:
    parameters = {"type": "object", "properties": {"path": {"type": "string"}}}
    tool = {"type": "function", "function": {"name": "read_file", "parameters": parameters}}
    said = (*QUESTION.messages, Message("user", "Gr\u00fc\u00dfe \U0001f44b \u2028 <b>"))
    request = Request(said, tools=(tool,), seed=3, think=True)
    fake_ollama.models[:] = [FakeModel(capabilities=("completion", "tools", "thinking"))]
    model = make()
    raw = model.wire(request)
    assert not fake_ollama.chats
    fake_ollama.say("one")
    ask(model, request)
    [sent] = [asked.raw for asked in fake_ollama.requests if asked.path == "/api/chat"]
    assert raw == sent


def test_keep_alive_without_a_unit_is_sent_as_a_number(make: Make, fake_ollama: FakeOllama) -> None:
    fake_ollama.say("one")
    ask(make(keep_alive="-1"))
    assert fake_ollama.chats[0]["keep_alive"] == -1


def test_the_window_is_at_most_the_models_own_and_the_card_says_so(
    make: Make, fake_ollama: FakeOllama
) -> None:
    fake_ollama.models[:] = [FakeModel(context_length=2048, parameter_size="494.03M")]
    fake_ollama.say("one")
    model = make()
    ask(model)
    assert model.card.window == 2048
    assert fake_ollama.chats[0]["options"]["num_ctx"] == 2048
    assert (model.card.name, model.card.family) == ("ollama/fake:1b", "qwen2")
    assert model.card.parameters == pytest.approx(0.49403)
    assert (model.card.tools, model.card.thinking) == (True, False)


def test_a_server_without_capabilities_is_read_by_its_template(
    make: Make, fake_ollama: FakeOllama
) -> None:
    fake_ollama.models[:] = [
        FakeModel("with:1b", capabilities=None),
        FakeModel("without:1b", capabilities=None, template="{{ .Prompt }}"),
    ]
    assert make("with:1b").card.tools
    assert not make("without:1b").card.tools


def test_what_a_model_thought_before_a_call_is_not_sent_back(
    make: Make, fake_ollama: FakeOllama
) -> None:
    fake_ollama.models[:] = [FakeModel(capabilities=("completion", "tools", "thinking"))]
    fake_ollama.say(Answer(thinking="hm hm", calls=[("read_file", {"path": "a.md"})]), "8080")
    model = make()
    reply, _ = ask(model, replace(QUESTION, tools=(TOOL,)))
    made = Message("assistant", reply.text, reply.tool_calls)
    result = Message("tool", "port 8080", tool_name="read_file", tool_call_id="call_1")
    ask(model, Request((*QUESTION.messages, made, result), (TOOL,)))
    assert (reply.thinking, reply.text) == ("hm hm", "")
    assert fake_ollama.chats[1]["messages"][2].keys() == {"role", "tool_calls"}


def test_a_schema_goes_out_as_format_unchanged(make: Make, fake_ollama: FakeOllama) -> None:
    schema = {"anyOf": [{"type": "object", "properties": {"a": {"const": None}}}]}
    fake_ollama.say("{}")
    ask(make(), Request(QUESTION.messages, schema=schema))
    assert fake_ollama.chats[0]["format"] == schema


def test_tools_go_out_and_calls_come_back_with_ids_that_go_on_counting(
    make: Make, fake_ollama: FakeOllama
) -> None:
    parameters = {"type": "object", "properties": {"path": {"type": "string"}}}
    tool = {"type": "function", "function": {"name": "read_file", "parameters": parameters}}
    earlier = ToolCall("call_1", "list_files", {"depth": None})
    history = (
        *QUESTION.messages,
        Message("assistant", "", tool_calls=(earlier,)),
        Message("tool", "a.md", tool_name="list_files", tool_call_id="call_1"),
    )
    fake_ollama.say(Answer(calls=[("read_file", {"path": "a.md"}), ("read_file", {"path": "b"})]))
    reply, _ = ask(make(), Request(history, tools=(tool,)))
    assert reply.stop_reason == "tool_calls"
    assert reply.tool_calls == (
        ToolCall("call_2", "read_file", {"path": "a.md"}),
        ToolCall("call_3", "read_file", {"path": "b"}),
    )
    body = fake_ollama.chats[0]
    assert body["tools"][0]["function"]["name"] == "read_file"
    assert body["messages"][2]["tool_calls"] == [
        {"function": {"name": "list_files", "arguments": {"depth": None}}}
    ]
    assert body["messages"][3] == {"role": "tool", "content": "a.md", "tool_name": "list_files"}


def test_a_reply_at_its_token_limit_says_length(make: Make, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(Answer("half a", done_reason="length"))
    assert ask(make())[0].stop_reason == "length"


def test_counts_that_the_server_leaves_out_are_zero(make: Make, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(Answer("short", counts=False))
    usage = ask(make())[0].usage
    assert (usage.prompt_tokens, usage.generated_tokens, usage.calls) == (0, 0, 1)


def test_loading_is_said_before_the_first_token_and_only_when_the_model_is_not_loaded(
    make: Make, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(Answer("cold", stall=1), "warm")
    model = make()
    stream = model.stream(QUESTION)
    began = time.monotonic()
    assert next(stream) == Waiting("loading model fake:1b")
    assert time.monotonic() - began < 1
    assert isinstance(list(stream)[-1], Reply)
    assert notices(ask(model)[1]) == []
    asked_before_chat = ["/api/show", "/api/ps", "/api/chat", "/api/chat"]
    assert fake_ollama.paths == asked_before_chat


def test_getting_ready_loads_the_model_as_the_chat_wants_it_and_reads_what_it_begins_with(
    make: Make, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("Yes.")
    model = make()
    request = Request((Message("system", "Be brief. " * 200), Message("user", "Ready?")), (TOOL,))
    said = [waiting for waiting in model.warm(request) if waiting.message]
    assert said == [Waiting("loading model fake:1b")]
    ask(model, request)
    [ahead], [chat] = fake_ollama.ahead, fake_ollama.chats
    assert ahead["messages"] == [chat["messages"][0], {"role": "user", "content": "."}]
    for key in ("truncate", "tools", "keep_alive"):
        assert ahead[key] == chat[key]
    assert ahead["options"] == {**chat["options"], "num_predict": 1}
    first, second = fake_ollama.served
    assert (first.loaded, second.loaded) == (True, False)
    assert first.read > 500 and second.read < 20


def test_a_prompt_read_ahead_is_written_as_the_schema_will_have_it(
    make: Make, fake_ollama: FakeOllama
) -> None:
    fake_ollama.models[:] = [FakeModel(capabilities=("completion", "thinking"))]
    list(make().warm(replace(QUESTION, schema={"type": "object"})))
    [ahead] = fake_ollama.ahead
    assert ahead["think"] is False  # some templates write that into the system message
    assert "format" not in ahead


def test_getting_ready_leaves_the_error_of_a_server_that_is_away_to_the_chat(
    make: Make, fake_ollama: FakeOllama
) -> None:
    model = make()
    fake_ollama.__exit__(None, None, None)
    said = list(model.warm(Request((Message("system", "Be brief."),))))
    assert all("trying again" in waiting.message for waiting in said)
    with pytest.raises(ServerAway):
        ask(model)


def test_a_model_that_was_last_asked_in_this_conversation_is_ready(
    make: Make, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("one")
    model = make()
    ask(model, replace(QUESTION, session="trip"))
    history = (*QUESTION.messages, Message("assistant", "one"), Message("user", "."))
    assert list(model.warm(Request(history, session="trip"))) == []
    assert not fake_ollama.ahead
    list(model.warm(Request(history, session="another")))
    assert fake_ollama.ahead


def test_getting_ready_reads_the_history_too(make: Make, fake_ollama: FakeOllama) -> None:
    history = (*QUESTION.messages, Message("assistant", "one"), Message("user", "Why?"))
    said = [waiting.message for waiting in make().warm(Request(history)) if waiting.message]
    assert said == ["loading model fake:1b"]
    [ahead] = fake_ollama.ahead
    contents = [message["content"] for message in ahead["messages"]]
    assert contents == ["Be brief.", "Which port?", "one", "."]


def test_getting_ready_without_a_request_loads_nothing_that_leaving_would_unload(
    make: Make, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("one")
    model = make()
    assert list(model.warm(Request(()))) == []
    assert fake_ollama.paths == ["/api/show", "/api/ps"]
    list(model.stream(QUESTION))  # asks for neither again
    assert fake_ollama.paths == ["/api/show", "/api/ps", "/api/chat"]


def test_leaving_the_getting_ready_closes_the_connection(
    make: Make, fake_ollama: FakeOllama
) -> None:
    fake_ollama.ahead_stall = 20.0
    waiting = cast("Generator[Waiting]", make().warm(QUESTION))
    assert next(waiting).message == "loading model fake:1b"
    assert next(waiting) == Waiting("")
    waiting.close()
    assert fake_ollama.hung_up.wait(5)


# -------- how much of a prompt was read before


def test_what_was_read_before_is_estimated_from_the_time_that_reading_took(
    make: Make, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(
        Answer("cold", prompt_tokens=1000, read_seconds=10.0),
        Answer("warm", prompt_tokens=1100, read_seconds=1.0),
    )
    model = make()
    cold, warm = ask(model)[0].usage, ask(model)[0].usage
    assert model.reading_rate == 100
    assert (cold.cached_tokens, cold.read_seconds) == (0, 10.0)
    assert (warm.cached_tokens, warm.read_seconds) == (1000, 1.0)


def test_a_rate_that_an_earlier_process_has_learned_serves_the_first_call(
    make: Make, fake_ollama: FakeOllama
) -> None:
    fake_ollama.loaded["fake:1b"] = Launch(8192)
    fake_ollama.say(Answer("warm", prompt_tokens=1100, read_seconds=1.0))
    model = make()
    model.reading_rate = 100.0
    assert ask(model)[0].usage.cached_tokens == 1000


def test_the_rate_is_learned_while_the_model_is_loaded_ahead(
    make: Make, fake_ollama: FakeOllama
) -> None:
    fake_ollama.ahead_read = (1000, 10.0)
    fake_ollama.say(Answer("warm", prompt_tokens=1100, read_seconds=1.0))
    model = make()
    list(model.warm(QUESTION))
    assert model.reading_rate == 100
    usage = ask(model)[0].usage
    assert (model.reading_rate, usage.cached_tokens) == (100, 1000)


def test_no_rate_is_learned_from_a_head_that_may_have_been_read_before(
    make: Make, fake_ollama: FakeOllama
) -> None:
    fake_ollama.loaded["fake:1b"] = Launch(8192)
    fake_ollama.ahead_read = (1000, 0.1)
    fake_ollama.say(Answer("warm", prompt_tokens=1100, read_seconds=0.1))
    model = make()
    list(model.warm(QUESTION))
    ask(model)
    assert model.reading_rate == 0


def test_an_answer_that_tells_no_counts_teaches_no_rate() -> None:
    for told in ({}, {"prompt_eval_count": None}):
        assert read_reading(told) == (0, 0.0)


def test_who_reads_ahead_asks_a_server_that_refuses_only_once(closed_port: int, make: Make) -> None:
    model = make(host=f"127.0.0.1:{closed_port}")
    with without_retries():
        assert list(model.warm(QUESTION)) == []
    assert [chunk.message for chunk in model.warm(QUESTION)]


def test_without_a_rate_nothing_is_said_to_be_cached(make: Make, fake_ollama: FakeOllama) -> None:
    fake_ollama.loaded["fake:1b"] = Launch(8192)
    fake_ollama.say(Answer("warm", prompt_tokens=1100, read_seconds=0.1))
    assert ask(make())[0].usage.cached_tokens == 0


@pytest.mark.parametrize(
    ("rate", "count", "seconds", "is_whole", "then"),
    [
        (0.0, 1000, 10.0, True, 100.0),
        (100.0, 1000, 5.0, True, 150.0),
        (100.0, 1000, 5.0, False, 100.0),
        (100.0, 1000, 20.0, False, 50.0),
        (100.0, 10, 5.0, True, 100.0),
        (100.0, 1000, 0.0, True, 100.0),
        (0.0, 1000, 1.0, False, 0.0),
    ],
)
def test_the_rate_is_learned_from_prompts_that_were_surely_read(
    rate: float, count: int, seconds: float, is_whole: bool, then: float
) -> None:
    assert update_rate(rate, count, seconds, is_whole=is_whole) == then


@given(st.integers(0, 10**6), st.floats(0, 10**4), st.floats(0, 10**5))
def test_never_more_is_said_to_be_cached_than_was_sent(
    count: int, seconds: float, rate: float
) -> None:
    assert 0 <= estimate_cached(count, seconds, rate) <= count


def test_a_model_loaded_with_another_window_is_loaded_anew(
    make: Make, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("one", "two")
    fake_ollama.loaded["fake:1b"] = Launch(4096)
    assert notices(ask(make())[1]) == ["loading model fake:1b"]
    assert notices(ask(make())[1]) == []


def test_a_stalled_first_token_is_waited_for_in_one_request(
    make: Make, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(Answer("late", stall=0.5, pause=0.05))
    reply, _ = ask(make())
    assert reply.text == "late"
    assert reply.usage.first_token_seconds >= 0.5
    assert len(fake_ollama.chats) == 1


def test_a_refused_connection_is_tried_again_and_then_says_how_to_start_the_server(
    make: Make, closed_port: int
) -> None:
    chunks: list[Chunk] = []
    model = make(host=f"127.0.0.1:{closed_port}")
    with pytest.raises(ServerAway) as caught:
        chunks.extend(model.stream(QUESTION))
    assert f"127.0.0.1:{closed_port}" in str(caught.value)
    assert "connection refused" in str(caught.value)
    assert "ollama serve" in caught.value.hint
    assert caught.value.exit_code == 4
    with pytest.raises(ServerAway):
        _ = model.card


def test_each_try_at_a_refused_connection_is_told(make: Make, closed_port: int) -> None:
    told = []
    with pytest.raises(ServerAway):
        for chunk in make(host=f"127.0.0.1:{closed_port}").stream(QUESTION):
            told.append(chunk)
    assert [chunk.message.split(", ")[1] for chunk in told if isinstance(chunk, Waiting)] == [
        "trying again in 0.01 s",
        "trying again in 0.02 s",
    ]


def test_a_server_that_starts_meanwhile_is_used(make: Make, closed_port: int) -> None:
    with FakeOllama(start=False) as server:
        server.say("awake")
        model = make(host=server.url, retry_waits=(0.05, 0.05, 0.05))
        stream = model.stream(QUESTION)
        assert "refuses the connection" in cast(Waiting, next(stream)).message
        server.listen()
        assert cast(Reply, list(stream)[-1]).text == "awake"
        model.close()


def test_a_missing_model_names_the_command_that_pulls_it(make: Make) -> None:
    model = make("absent:7b")
    with pytest.raises(ModelMissing) as caught:
        ask(model)
    assert "absent:7b" in str(caught.value)
    assert caught.value.hint == "openclaw models pull ollama/absent:7b"


def test_a_model_deleted_meanwhile_is_missing_too(make: Make, fake_ollama: FakeOllama) -> None:
    model = make()
    assert model.card
    fake_ollama.models.clear()
    with pytest.raises(ModelMissing):
        ask(model)


def test_another_server_at_the_host_is_not_a_missing_model(
    make: Make, fake_ollama: FakeOllama
) -> None:
    with pytest.raises(ModelFailed, match="404 page not found"):
        ask(make(host=f"{fake_ollama.url}/elsewhere"))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(status=500, error="CUDA out of\nmemory"), "HTTP 500.*CUDA out of memory"),
        (Answer(status=503, error="server busy"), "HTTP 503.*server busy"),
        (Answer("a b c d", cut_after=2), "broke the reply off after 2 pieces"),
        (Answer("a b c d", malformed_after=1), "not a chat reply"),
        (Answer("a b c d", error_after=2, error="runner died"), "said: runner died"),
        (Answer("a b", status=400, error='"x" does not support tools'), "does not support tools"),
    ],
)
def test_a_failing_server_is_told_in_one_line_and_never_asked_again(
    make: Make, fake_ollama: FakeOllama, answer: Answer, words: str
) -> None:
    fake_ollama.say(answer)
    with pytest.raises(ModelFailed, match=words) as caught:
        ask(make())
    assert "\n" not in str(caught.value)
    assert caught.value.hint
    assert len(fake_ollama.chats) == 1


def test_what_came_before_a_cut_was_streamed(make: Make, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(Answer("a b c d", cut_after=2, pause=0.02))
    chunks: list[Chunk] = []
    with pytest.raises(ModelFailed):
        for chunk in make().stream(QUESTION):
            chunks.append(chunk)
    assert said(chunks, Text) == ["a", " b"]


def test_a_stream_that_ends_without_its_last_part_is_cut_too(
    make: Make, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(Answer("a b", end_after=2))
    with pytest.raises(ModelFailed, match="broke the reply off after 2 pieces"):
        ask(make())


@pytest.mark.parametrize(
    "answer",
    [
        Answer(status=400, error="the input length exceeds the context length"),
        Answer(
            status=400,
            error='{"error":{"code":400,"message":"request (8889 tokens) exceeds the available '
            'context size (4096 tokens), try increasing it","type":"exceed_context_size_error"}}',
        ),
        Answer(
            status=400,
            error="the prompt is longer than the context length currently available to the model",
        ),
        Answer("a b", error_after=0, error="input length exceeds maximum context length"),
    ],
)
def test_a_prompt_that_the_server_finds_too_large_is_told_apart(
    make: Make, fake_ollama: FakeOllama, answer: Answer
) -> None:
    fake_ollama.say(answer)
    with pytest.raises(PromptTooLarge) as caught:
        ask(make())
    assert "{" not in str(caught.value)
    assert "window" in caught.value.hint


def test_a_prompt_that_is_too_large_says_by_how_much_where_the_server_does(
    make: Make, fake_ollama: FakeOllama
) -> None:
    long = Request((Message("user", "word " * 2000),))
    with pytest.raises(PromptTooLarge, match=r"has 25\d\d tokens, the model's window 2048: ") as e:
        ask(make(window=2048), long)
    assert 2500 <= e.value.counted < 2600


def test_a_reply_that_left_the_window_is_told(make: Make, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(Answer("long", prompt_tokens=2000, generated_tokens=100))
    _, told = notices(ask(make(window=2048))[1])
    assert "2100 tokens, the window 2048" in told


def test_a_model_that_embeds_gets_a_hint_of_its_own(make: Make, fake_ollama: FakeOllama) -> None:
    fake_ollama.models[:] = [FakeModel(dimensions=8)]
    with pytest.raises(ModelFailed, match="does not support chat") as caught:
        ask(make())
    assert "set `model`" in caught.value.hint


def test_a_server_that_is_silent_is_told_of_once(make: Make, fake_ollama: FakeOllama) -> None:
    fake_ollama.loaded["fake:1b"] = Launch(8192)
    fake_ollama.say(Answer("late", stall=3.2), "soon")
    model = make()
    model.reading_rate = 1.0
    [told] = notices(ask(model)[1])
    assert told.startswith(f"waiting for Ollama at {fake_ollama.url} (reading the whole prompt")
    assert notices(ask(model)[1]) == []


# -------- thinking under a schema

SCHEMA = {
    "anyOf": [
        {
            "type": "object",
            "properties": {"kind": {"const": "answer"}, "answer": {"type": "string"}},
            "required": ["kind", "answer"],
        },
        {"type": "object", "properties": {"kind": {"const": "more"}}, "required": ["kind"]},
    ]
}
UNDER_A_SCHEMA = replace(QUESTION, schema=SCHEMA)
FITTING = '{"kind":"answer","answer":"8080"}'


@pytest.fixture
def thinker(fake_ollama: FakeOllama) -> FakeOllama:
    fake_ollama.models[:] = [FakeModel(capabilities=("completion", "thinking"))]
    return fake_ollama


def test_a_model_that_can_think_is_held_to_the_schema_by_not_thinking(
    make: Make, thinker: FakeOllama
) -> None:
    thinker.say(FITTING, "free")
    assert ask(make(), UNDER_A_SCHEMA)[0].text == FITTING
    ask(make())  # without a schema it thinks as it likes
    assert [body.get("think") for body in thinker.chats] == [False, None]


def test_a_user_who_wants_thinking_gets_it_when_the_reply_fits(
    make: Make, thinker: FakeOllama
) -> None:
    thinker.say(Answer(FITTING, thinking="let me see"))
    reply, chunks = ask(make(), replace(UNDER_A_SCHEMA, think=True))
    assert (reply.text, reply.thinking) == (FITTING, "let me see")
    assert "".join(said(chunks, Text)) == FITTING
    assert [body["think"] for body in thinker.chats] == [True]


@pytest.mark.parametrize("unbound", ["8080 it is.", '{"kind":"change","tool":"web_search"}'])
def test_a_reply_after_thinking_that_does_not_fit_is_asked_for_once_more_without(
    make: Make, thinker: FakeOllama, unbound: str
) -> None:
    thinker.say(Answer(FITTING, unbound=unbound), FITTING)
    reply, chunks = ask(make(), replace(UNDER_A_SCHEMA, think=True))
    assert [body["think"] for body in thinker.chats] == [True, False]
    assert (reply.text, reply.usage.calls) == (FITTING, 2)
    assert "".join(said(chunks, Text)) == FITTING  # nothing of the other one was shown
    assert "form that was asked for" in notices(chunks)[-1]


@pytest.mark.parametrize("think", [True, False])
def test_think_is_sent_only_to_models_that_can(
    make: Make, fake_ollama: FakeOllama, think: bool
) -> None:
    fake_ollama.models.append(FakeModel("deep:4b", capabilities=("completion", "thinking")))
    fake_ollama.say("one", "two", "three")
    request = Request(QUESTION.messages, think=think)
    ask(make("fake:1b"), request)
    ask(make("deep:4b"), request)
    ask(make("deep:4b"))
    assert [body.get("think") for body in fake_ollama.chats] == [None, think, None]


def test_thinking_is_streamed_apart_from_the_reply(make: Make, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(Answer("8080", thinking="let me see"))
    reply, chunks = ask(make())
    assert said(chunks, Thinking) == ["let", " me", " see"]
    assert (reply.text, reply.thinking) == ("8080", "let me see")


def test_a_reply_of_thinking_only_is_asked_for_once_more_without_thinking(
    make: Make, fake_ollama: FakeOllama
) -> None:
    fake_ollama.models[:] = [FakeModel(capabilities=("completion", "thinking"))]
    fake_ollama.say(Answer(thinking="hm hm", prompt_tokens=10), Answer("8080", prompt_tokens=11))
    reply, chunks = ask(make())
    assert (reply.text, reply.thinking) == ("8080", "hm hm")
    assert [body.get("think") for body in fake_ollama.chats] == [None, False]
    assert "only thought" in notices(chunks)[-1]
    assert (reply.usage.calls, reply.usage.prompt_tokens) == (2, 21)


def test_thinking_only_is_not_asked_for_a_third_time(make: Make, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(Answer(thinking="hm"), Answer(thinking="hm"))
    assert ask(make())[0].text == ""
    assert len(fake_ollama.chats) == 2


def test_gpt_oss_under_a_format_keeps_its_thinking(make: Make, fake_ollama: FakeOllama) -> None:
    fake_ollama.models[:] = [FakeModel("gpt-oss:20b", ("completion", "thinking"), family="gptoss")]
    fake_ollama.say(Answer(thinking="hm"))
    reply, _ = ask(make("gpt-oss:20b"), Request(QUESTION.messages, schema={"type": "object"}))
    assert (reply.text, reply.thinking) == ("", "hm")
    assert len(fake_ollama.chats) == 1


def test_closing_the_stream_hangs_up_on_the_server(make: Make, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(Answer("a b c d e f g h", pause=0.1))
    stream = cast("Generator[Chunk]", make().stream(QUESTION))
    assert any(isinstance(chunk, Text) for chunk in stream)
    assert not fake_ollama.hung_up.is_set()
    stream.close()
    assert fake_ollama.hung_up.wait(2.0)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a signal to one thread")
def test_an_interrupt_while_waiting_hangs_up_on_the_server(
    make: Make, fake_ollama: FakeOllama
) -> None:
    def answer(body: dict[str, Any]) -> Answer:
        signal.pthread_kill(main_thread, signal.SIGINT)
        return Answer("never", stall=5.0)

    main_thread = threading.get_ident()
    fake_ollama.say(answer)
    with pytest.raises(KeyboardInterrupt):
        ask(make())
    assert fake_ollama.hung_up.wait(2.0)


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("box", "http://box:11434"),
        ("box:99", "http://box:99"),
        ("http://box", "http://box:80"),
        ("https://box/ollama/", "https://box:443/ollama"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:99", "http://127.0.0.1:99"),
        ("[::1]:99", "http://[::1]:99"),
        (" box:99 ", "http://box:99"),
        (":99", "http://127.0.0.1:99"),
    ],
)
def test_hosts_are_read_as_ollama_reads_them(
    given: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OLLAMA_HOST")
    assert base_url(given) == url
    monkeypatch.setenv("OLLAMA_HOST", given)
    assert base_url("") == url


@pytest.mark.parametrize(
    "given",
    [
        "box:port",
        "ftp://box",
        "http://box:99999",
        "127.0.0.1 :11434",
        "http://a b",
        "box\t:1",
        "caf\udce9",
    ],
)
def test_a_host_that_is_none_is_named(given: str) -> None:
    with pytest.raises(UsageError, match="not a host"):
        base_url(given)


def test_the_network_is_out_of_reach() -> None:
    with pytest.raises(pytest.fail.Exception, match="reached out to 192"), socket.socket() as s:
        s.connect(("192.0.2.1", 80))
