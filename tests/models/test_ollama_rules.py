"""The stand-in keeps to what the real Ollama was seen to do (RULES of the stand-in).

Each rule is tried by a raw request, as it was tried with the real one; what openclaw makes of it is
tested in test_ollama_model.py, test_models_cli.py and test_one_reading.py.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.fakes.ollama_server import NO_NETWORK, RULES, Answer, FakeModel, FakeOllama, Launch

LONG = "word " * 2000
THINKER = FakeModel("deep:4b", capabilities=("completion", "thinking"))
EMBEDDER = FakeModel("embed:1b", dimensions=8)
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}


def post(fake: FakeOllama, path: str, body: Mapping[str, Any] | bytes) -> tuple[int, Any]:
    """(status, the last line of the answer)."""
    connection = http.client.HTTPConnection("127.0.0.1", int(fake.host.partition(":")[2]))
    method = "GET" if body == b"" else "POST"
    connection.request(method, path, body if isinstance(body, bytes) else json.dumps(body))
    answer = connection.getresponse()
    status, lines = answer.status, answer.read().decode().splitlines()
    connection.close()
    return status, json.loads(lines[-1])


def chat(fake: FakeOllama, text: str = "Hello.", **more: Any) -> tuple[int, Any]:
    said = {"messages": [{"role": "user", "content": text}], "stream": False}
    return post(fake, "/api/chat", {"model": "fake:1b", **said, **more})


def in_window(tokens: int) -> dict[str, Any]:
    return {"options": {"num_ctx": tokens}}


def reload(fake: FakeOllama) -> None:
    fake.say(*["yes"] * 5)
    chat(fake, LONG, **in_window(8192), shift=False)
    chat(fake, LONG, **in_window(8192), shift=False)
    chat(fake, LONG, **in_window(8192))  # absent is true
    chat(fake, LONG, **in_window(16384))
    status, told = chat(fake, LONG, **in_window(16384))
    assert [served.loaded for served in fake.served] == [True, False, True, True, False]
    assert [served.read > 1000 for served in fake.served] == [True, False, True, True, False]
    assert status == 200 and told["load_duration"] < 1e9


def cache(fake: FakeOllama) -> None:
    fake.say("one", "two", "three")
    for text in ("first " * 500, "second " * 500, "first " * 500):
        chat(fake, text)
    assert [served.read > 100 for served in fake.served] == [True, True, False]


def counts(fake: FakeOllama) -> None:
    fake.say("one", "two")
    first, again = (chat(fake, "word " * 400)[1] for _ in range(2))
    assert first["prompt_eval_count"] == again["prompt_eval_count"] > 400


def truncate_false(fake: FakeOllama) -> None:
    for shift in ({}, {"shift": False}, {"shift": True}):
        status, told = chat(fake, LONG, truncate=False, **in_window(512), **shift)
        inside = json.loads(told["error"])["error"]
        assert (status, inside["type"], inside["n_ctx"]) == (400, "exceed_context_size_error", 512)
        assert inside["n_prompt_tokens"] > 2000
    body = {"model": "fake:1b", "prompt": LONG, "truncate": False, **in_window(512)}
    assert post(fake, "/api/generate", body)[0] == 400


def shift_false(fake: FakeOllama) -> None:
    status, told = chat(fake, LONG, shift=False, **in_window(512))
    assert status == 400 and told["error"].startswith("the prompt is longer than the context")


def cut(fake: FakeOllama) -> None:
    fake.say("one", "two")
    assert chat(fake, LONG, **in_window(512))[1]["prompt_eval_count"] == 256
    said = [{"role": "user", "content": text} for text in (LONG, "Hello.")]
    assert chat(fake, messages=said, **in_window(512))[1]["prompt_eval_count"] <= 512


def shift(fake: FakeOllama) -> None:
    fake.say(Answer("on and on", generated_tokens=600))
    status, told = chat(fake, **in_window(512))
    assert (status, told["eval_count"]) == (200, 600)


def format_thinking(fake: FakeOllama) -> None:
    fake.models.append(THINKER)
    held: dict[str, Any] = {"model": "deep:4b", "format": SCHEMA}
    fake.say("{}", Answer("{}", unbound="Paris."), "{}", Answer("{}", thinking="hm"))
    texts = [chat(fake, **held)[1], chat(fake, **held, think=True)[1]]
    texts += [chat(fake, **held, think=False)[1], chat(fake, **held)[1]]
    said = [told["message"]["content"] for told in texts]
    assert said == ["```json\n{}\n```", "Paris.", "{}", "{}"]


def format(fake: FakeOllama) -> None:
    fake.say("{}")
    assert chat(fake, format="xml")[0] == 500
    assert chat(fake, format={"type": "nonsense"})[0] == 400
    assert chat(fake, format="json")[0] == 200


def capabilities(fake: FakeOllama) -> None:
    fake.models += [EMBEDDER, THINKER]
    tool = {"type": "function", "function": {"name": "x"}}
    wanting: tuple[tuple[str, dict[str, Any]], ...] = (
        ("chat", {"model": "embed:1b"}),
        ("tools", {"model": "deep:4b", "tools": [tool]}),
        ("thinking", {"think": True}),
    )
    for lacking, more in wanting:
        status, told = chat(fake, **more)
        assert (status, told["error"].partition(" ")[2]) == (400, f"does not support {lacking}")


def options(fake: FakeOllama) -> None:
    assert chat(fake, keep_alive="30")[0] == 400
    assert chat(fake, options={"num_ctx": "big"})[0] == 500


def unknown_model(fake: FakeOllama) -> None:
    body = {"model": "nosuch", "input": "x"}
    for path, error in (
        ("/api/chat", "model 'nosuch' not found"),
        ("/api/show", "model 'nosuch:latest' not found"),
        ("/api/embed", 'model "nosuch" not found, try pulling it first'),
    ):
        assert post(fake, path, body) == (404, {"error": error})


def embed_by_chat_model(fake: FakeOllama) -> None:
    status, told = post(fake, "/api/embed", {"model": "fake:1b", "input": "x"})
    assert status == 501 and "--embeddings" in told["error"]


def bad_json(fake: FakeOllama) -> None:
    status, told = post(fake, "/api/chat", b"broken")
    assert status == 400 and told["error"].startswith("invalid character 'b' looking for")


def tags(fake: FakeOllama) -> None:
    fake.models.append(EMBEDDER)
    chats, embeds = post(fake, "/api/tags", b"")[1]["models"]
    assert (chats["capabilities"], embeds["capabilities"]) == (
        ["completion", "tools"],
        ["completion"],
    )
    assert chats["details"]["context_length"] == 32768
    assert embeds["details"]["embedding_length"] == 8
    assert post(fake, "/api/show", {"model": "embed:1b"})[1]["capabilities"] == ["embedding"]


def pull(fake: FakeOllama) -> None:
    assert "file does not exist" in post(fake, "/api/pull", {"model": "nosuch"})[1]["error"]
    fake.pull_error = NO_NETWORK
    assert post(fake, "/api/pull", {"model": "x"}) == (200, {"error": NO_NETWORK})


def defaults(fake: FakeOllama) -> None:
    fake.say("yes")
    chat(fake)
    assert fake.loaded["fake:1b"] == Launch(4096)


TRIED: dict[str, Callable[[FakeOllama], None]] = {
    tried.__name__: tried
    for tried in (
        reload, cache, counts, truncate_false, shift_false, cut, shift, format_thinking, format,
        capabilities, options, unknown_model, embed_by_chat_model, bad_json, tags, pull, defaults,
    )
}  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_the_stand_in_keeps_to_what_was_seen(rule: str, fake_ollama: FakeOllama) -> None:
    TRIED[rule](fake_ollama)


def test_nothing_is_tried_that_is_not_in_the_list() -> None:
    assert TRIED.keys() == RULES.keys()
