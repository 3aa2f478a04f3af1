"""Clients of OpenAI's API: the agent, with its memory and tools, as a model."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from openclaw.server.server_client import RunningServer
from tests.fakes.late import Late
from tests.fakes.ollama_server import Answer, FakeOllama

if TYPE_CHECKING:
    import openai
    from openai.types.chat import ChatCompletionChunk
else:
    openai = Late("openai")

WRITE = ("write_file", {"path": "workspace/a.md", "content": "one\n"})


@pytest.fixture
def client(server: RunningServer) -> Iterator[openai.OpenAI]:
    url = f"http://127.0.0.1:{server.port}/v1"
    with openai.OpenAI(base_url=url, api_key=server.token, max_retries=0) as client:
        yield client


def ask(client: openai.OpenAI, *said: str, **more: Any) -> Any:
    """The answer to a talk: the user's words and the assistant's in turn."""
    roles = ("user", "assistant")
    messages: Any = [{"role": roles[at % 2], "content": text} for at, text in enumerate(said)]
    return client.chat.completions.create(
        model=more.pop("model", "openclaw"), messages=messages, **more
    )


def said(answer: Any) -> str:
    return str(answer.choices[0].message.content)


def sessions(http: httpx.Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = http.get("/api/sessions").json()
    return found


def last_request(fake_ollama: FakeOllama) -> str:
    """What the model was last asked, as one text."""
    return "\n".join(m["content"] for m in fake_ollama.chats[-1]["messages"])


def test_there_are_the_agent_and_the_model_behind_it(client: openai.OpenAI) -> None:
    assert [each.id for each in client.models.list()] == ["openclaw", "openclaw-plain"]
    assert client.models.retrieve("openclaw").object == "model"
    with pytest.raises(openai.NotFoundError, match="there are: openclaw"):
        client.models.retrieve("gpt-9")


def test_the_agent_answers_with_its_tools(
    client: openai.OpenAI, fake_ollama: FakeOllama, home: Path
) -> None:
    fake_ollama.say(Answer(calls=[WRITE]), "I wrote one into workspace/a.md.")
    answer = ask(client, "Write one into workspace/a.md")
    assert said(answer) == "I wrote one into workspace/a.md."
    assert (home / "workspace/a.md").read_text() == "one\n"
    assert "write_file: created workspace/a.md" in answer.choices[0].message.reasoning_content
    assert [each["path"] for each in answer.openclaw["receipt"]["files"]] == ["workspace/a.md"]
    assert (answer.choices[0].finish_reason, answer.usage.total_tokens > 0) == ("stop", True)


def test_a_stream_has_the_tools_beside_the_text_and_the_counts_at_the_end(
    client: openai.OpenAI, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(Answer("I will write.", calls=[WRITE]), "I wrote one into workspace/a.md.")
    options = {"include_usage": True}
    chunks: list[ChatCompletionChunk] = [
        *ask(client, "Write one into workspace/a.md", stream=True, stream_options=options)
    ]
    deltas: list[Any] = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    told = "".join(delta.content or "" for delta in deltas)
    thought = "".join(getattr(delta, "reasoning_content", "") for delta in deltas)
    assert told == "I wrote one into workspace/a.md."
    assert "write_file" in thought
    assert chunks[-1].usage and chunks[-1].usage.completion_tokens > 0
    ends = [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices]
    assert (ends[-1], set(ends[:-1])) == ("stop", {None})


def test_a_talk_that_is_sent_again_and_again_is_one_conversation(
    client: openai.OpenAI, http: httpx.Client, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("One.", "Two.", "Three.")
    ask(client, "Say one.")
    ask(client, "Say one.", " One.\n", "Say two.")
    ask(client, "Say one.", "One.", "Say two.", "Two.", "Say three.")
    [session] = sessions(http)
    assert session["messages"] == 6
    history = http.get(f"/api/sessions/{session['id']}").json()["messages"]
    assert [m["content"] for m in history[::2]] == ["Say one.", "Say two.", "Say three."]


def test_an_edited_or_regenerated_message_is_a_fork(
    client: openai.OpenAI, http: httpx.Client, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("One.", "Two.", "Three.", "Four.")
    ask(client, "Say one.")
    ask(client, "Say one.", "One.", "Say two.")
    fork = ask(client, "Say one.", "One.", "Say three.").openclaw["session_id"]
    ask(client, "Say one.", "One.", "Say three.", "Three.", "Say four.")
    assert sorted(each["messages"] for each in sessions(http)) == [4, 6]
    history = http.get(f"/api/sessions/{fork}").json()["messages"]
    assert [m["content"] for m in history[::2]] == ["Say one.", "Say three.", "Say four."]


def test_a_talk_of_another_program_goes_along_as_text_of_others(
    client: openai.OpenAI, http: httpx.Client, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("Blue.")
    ask(client, "My boat is blue.", "Noted.", "Which colour has it?")
    assert "My boat is blue." in last_request(fake_ollama)
    [session] = sessions(http)
    assert session["messages"] == 2


@pytest.mark.parametrize("name", ["X-Openclaw-Session", "X-OpenWebUI-Chat-Id"])
def test_a_client_may_name_the_conversation(
    client: openai.OpenAI, http: httpx.Client, fake_ollama: FakeOllama, name: str
) -> None:
    fake_ollama.say("One.", "Two.", "Three.")
    named = {name: "5c1a-chat"}
    ask(client, "Say one.", extra_headers=named)
    ask(client, "Say two.", extra_headers=named)
    assert [each["id"] for each in sessions(http)] == ["5c1a-chat"]
    ask(client, "Say one.", "One.", "Say three.", extra_headers=named)  # edited
    assert sorted(each["messages"] for each in sessions(http)) == [4, 4]


@pytest.mark.parametrize(
    ("prompt", "model"),
    [
        ("### Task:\nGenerate a concise, 3-5 word title with an emoji.", "openclaw"),
        ("### Task:\nGenerate 1-3 broad tags categorizing the main themes.", "openclaw"),
        ("### Task:\nSuggest 3-5 relevant follow-up questions.", "openclaw"),
        ("I live in Lisbon now.", "openclaw-plain"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_tasks_of_a_client_leave_no_session_no_memory_and_no_commit(
    client: openai.OpenAI,
    http: httpx.Client,
    fake_ollama: FakeOllama,
    prompt: str,
    model: str,
    stream: bool,
) -> None:
    before = (http.get("/api/log").json(), http.get("/api/memory").json())
    fake_ollama.say("A title")
    answer = ask(client, prompt, model=model, stream=stream)
    if stream:
        told = "".join(chunk.choices[0].delta.content or "" for chunk in answer)
    else:
        told = said(answer)
    assert (told, sessions(http)) == ("A title", [])
    assert (http.get("/api/log").json(), http.get("/api/memory").json()) == before
    assert last_request(fake_ollama) == prompt


def test_words_of_the_clients_program_are_cut_and_are_not_the_beginning(
    client: openai.OpenAI, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("Yes.")
    system = {"role": "system", "content": "Speak like a pirate. " + "x" * 5000}
    messages: list[Any] = [system, {"role": "user", "content": "Are you there?"}]
    client.chat.completions.create(model="openclaw", messages=messages)
    first, *_, last = fake_ollama.chats[-1]["messages"]
    assert "pirate" not in first["content"]
    assert "Speak like a pirate." in last["content"] and "x" * 2000 not in last["content"]


def test_what_is_ignored_is_told(client: openai.OpenAI, fake_ollama: FakeOllama) -> None:
    fake_ollama.say("Yes.")
    tool: Any = {"type": "function", "function": {"name": "f", "parameters": {}}}
    answer = ask(client, "Are you there?", tools=[tool], temperature=0.9)
    assert answer.openclaw["warnings"] == ["tools is ignored"]


@pytest.fixture
def asking(home: Path) -> None:
    """A home whose tools ask before they write."""
    settings = home / "openclaw.yaml"
    settings.write_text(settings.read_text() + "mode: ask\n")


def test_a_call_that_nobody_allowed_is_refused_and_told_in_words(
    client: openai.OpenAI, fake_ollama: FakeOllama, home: Path, asking: None
) -> None:
    fake_ollama.say(Answer(calls=[WRITE]), "I could not write it.")
    answer = ask(client, "Write one into workspace/a.md")
    assert said(answer).startswith("I could not write it.\n\n(refused: write_file")
    assert len(answer.openclaw["refused"]) == 1
    assert not (home / "workspace/a.md").exists()


def test_a_client_that_waits_has_its_question_answered_by_another(
    client: openai.OpenAI, http: httpx.Client, fake_ollama: FakeOllama, home: Path, asking: None
) -> None:
    fake_ollama.say(Answer(calls=[WRITE]), "I wrote one into workspace/a.md.")
    with ThreadPoolExecutor() as threads:
        prompt = "Write one into workspace/a.md"
        answer = threads.submit(ask, client, prompt, extra_body={"wait": 30})
        while not (runs := http.get("/api/runs").json()["runs"]) or not runs[0]["question"]:
            assert not answer.done()
        reply = {"question": runs[0]["question"]["id"], "decision": "once"}
        http.post(f"/api/runs/{runs[0]['id']}/answer", json=reply)
        assert answer.result().openclaw["refused"] == []
    assert (home / "workspace/a.md").read_text() == "one\n"


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"n": 2}, "one answer"),
        ({"messages": []}, "no text of the user"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, "no text of the user"),
        ({"messages": ["x"]}, "no object"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "only texts"),
    ],
)
def test_a_request_that_cannot_be_answered_is_refused(
    client: openai.OpenAI, body: dict[str, Any], problem: str
) -> None:
    with pytest.raises(openai.BadRequestError, match=problem):
        ask(client, "Are you there?", extra_body=body)


def test_a_model_server_that_is_away_is_an_error_of_the_answer(
    client: openai.OpenAI, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(Answer(status=500, error="broken"), Answer(status=500, error="broken"))
    with pytest.raises(openai.InternalServerError, match="broken"):
        ask(client, "Are you there?")
    with pytest.raises(openai.APIError, match="broken"):
        list(ask(client, "Are you still there?", stream=True))


def test_an_answer_that_cannot_be_remembered_is_an_error_of_their_form(
    client: openai.OpenAI, fake_ollama: FakeOllama, home: Path
) -> None:
    (home / ".openclaw" / "cache" / "talks.json").mkdir(parents=True)
    fake_ollama.say("Yes.", "Yes.")
    with pytest.raises(openai.InternalServerError, match="cannot write") as told:
        ask(client, "Are you there?")
    assert isinstance(told.value.body, dict)
    assert told.value.body["type"] == "server_error"
    with pytest.raises(openai.APIError, match="cannot write"):
        list(ask(client, "Are you still there?", stream=True))


def test_what_is_not_served_says_so(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="use /v1/chat/completions"):
        client.responses.create(model="openclaw", input="x", previous_response_id="y")
    client.api_key = "wrong"
    with pytest.raises(openai.AuthenticationError):
        client.models.list()


def test_a_client_that_leaves_ends_the_answer(
    client: openai.OpenAI, http: httpx.Client, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(Answer([f"word{n} " for n in range(100)], pause=0.02))
    with ask(client, "Tell a long story", stream=True) as stream:
        for chunk in stream:
            if chunk.choices[0].delta.content:
                break
    while http.get("/api/runs").json()["runs"]:
        pass
    why = http.get(f"/api/sessions/{sessions(http)[0]['id']}/why").json()
    assert why["stop"] == "interrupted"


def test_a_client_that_does_not_read_keeps_the_model_from_nobody(
    server: RunningServer, http: httpx.Client, client: openai.OpenAI, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(Answer(["x" * 4000] * 2000), "Hello.")
    message = {"role": "user", "content": "Tell a long story."}
    body = json.dumps({"model": "openclaw-plain", "stream": True, "messages": [message]})
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", server.port))
        connection = HTTPConnection("127.0.0.1", server.port)
        connection.sock = slow
        connection.request("POST", "/v1/chat/completions", body, dict(http.headers))
        assert connection.getresponse().status == 200
        assert said(ask(client, "Say hello.", timeout=20)) == "Hello."
