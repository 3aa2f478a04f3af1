"""From the name in the settings to a model, and what happens when one is away."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, cast

import pytest

from openclaw.config.settings import OpenAI, Settings
from openclaw.errors import ModelFailed, ModelMissing, PromptTooLarge, ServerAway, UsageError
from openclaw.messages import Message, Waiting
from openclaw.models.base import Chunk, Model, ModelCard, Reply, Request, Text, without_retries
from openclaw.models.ollama import OllamaModel
from openclaw.models.ollama_models import LISTING_SECONDS, find_chat_model
from openclaw.models.openai import OpenAIModel
from openclaw.models.registry import FallbackModel, open_model, split_name
from openclaw.storage.home import Home
from tests.fakes.loaded import loaded_by
from tests.fakes.ollama_server import FakeModel, FakeOllama, Launch
from tests.fakes.scripted import ScriptedModel

QUESTION = Request((Message("user", "Which port?"),))


def pick(name: str, **changed: Any) -> Model:
    settings = Settings(openai=OpenAI(base_url="http://127.0.0.1:9/v1"), **changed)
    return open_model(name, settings, Home(Path("nowhere")), as_tested=False)


def ask(model: Model) -> tuple[Reply, list[str]]:
    """The reply, and the notices before it."""
    *chunks, reply = model.stream(QUESTION)
    assert isinstance(reply, Reply)
    return reply, [chunk.message for chunk in chunks if isinstance(chunk, Waiting)]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("auto", ("auto", "")),
        ("ollama/qwen3:4b", ("ollama", "qwen3:4b")),
        ("ollama/hf.co/user/model:Q4", ("ollama", "hf.co/user/model:Q4")),
        ("openai/org/gpt-x", ("openai", "org/gpt-x")),
        ("embedded/qwen", ("embedded", "qwen")),
        ("/models/Some.GGUF", ("embedded", "/models/Some.GGUF")),
        ("models/some.gguf", ("embedded", "models/some.gguf")),
    ],
)
def test_a_name_is_a_provider_and_its_own_name(name: str, parts: tuple[str, str]) -> None:
    assert split_name(name) == parts


@pytest.mark.parametrize("name", ["", "qwen3:4b", "ollama/", "ollama", "vllm/x"])
def test_a_name_without_a_provider_is_told_how_to_write_it(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        pick(name)
    assert "ollama/" in caught.value.hint
    assert ".gguf" in caught.value.hint


def test_a_wrong_fallback_is_found_at_once() -> None:
    with pytest.raises(UsageError, match=r"vllm/x.*fallbacks"):
        pick("ollama/fake:1b", fallbacks=("vllm/x",))


def test_choosing_a_named_model_contacts_nobody(fake_ollama: FakeOllama) -> None:
    assert isinstance(pick("ollama/fake:1b"), OllamaModel)
    assert isinstance(pick("openai/gpt-x"), OpenAIModel)
    assert fake_ollama.requests == []


def test_a_named_model_gets_the_settings(fake_ollama: FakeOllama) -> None:
    model = pick("ollama/fake:1b", window=4096, keep_alive="5m")
    fake_ollama.say("hello")
    assert ask(model)[0].text == "hello"
    assert fake_ollama.chats[0]["options"]["num_ctx"] == 4096
    assert fake_ollama.chats[0]["keep_alive"] == "5m"
    model.close()


def test_a_path_to_a_model_file_is_embedded(tmp_path: Path) -> None:
    path = tmp_path / "small.gguf"
    path.write_bytes(b"GGUF")
    assert type(pick(str(path))).__name__ == "EmbeddedModel"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("{}/absent.gguf", "path"),
        ("embedded/no-such-model", "openclaw models list"),
        ("embedded/qwen2.5-coder-1.5b-instruct", "models pull qwen2.5-coder-1.5b-instruct"),
    ],
)
def test_an_embedded_model_that_is_not_there_is_missing(
    name: str, hint: str, tmp_path: Path
) -> None:
    with pytest.raises(ModelMissing, match=name.rpartition("/")[2]) as caught:
        pick(name.format(tmp_path))
    assert hint in caught.value.hint


@pytest.mark.parametrize("name", ["auto", "embedded/small"])
def test_an_installed_model_is_taken_by_name_and_by_auto_without_ollama(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "small.gguf").write_bytes(b"GGUF")
    assert type(pick(name)).__name__ == "EmbeddedModel"


def test_auto_prefers_ollama_to_an_installed_model(fake_ollama: FakeOllama, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "small.gguf").write_bytes(b"GGUF")
    assert isinstance(pick("auto"), OllamaModel)


def test_auto_prefers_a_loaded_model(fake_ollama: FakeOllama) -> None:
    fake_ollama.models[:] = [
        FakeModel("new:1b", modified_at="2026-11-20T10:00:00Z"),
        FakeModel("old:1b", modified_at="2026-01-01T10:00:00Z"),
        FakeModel("nomic-embed-text:latest", family="nomic-bert"),
    ]
    fake_ollama.loaded.update({"nomic-embed-text:latest": Launch(2048), "old:1b": Launch(8192)})
    assert find_chat_model("") == "old:1b"
    model = pick("auto")
    assert model.card.name == "ollama/old:1b"
    model.close()


@pytest.mark.parametrize(
    "name",
    [
        "nomic-embed-text:latest",
        "mxbai-embed-large:latest",
        "all-minilm:22m",
        "bge-m3:567m",
        "hf.co/x/gte-small:latest",
        "embeddinggemma:300m",
        "snowflake-arctic-embed2:latest",
    ],
)
def test_auto_takes_the_newest_chat_model_and_never_one_for_embeddings(
    fake_ollama: FakeOllama, name: str
) -> None:
    fake_ollama.models[:] = [
        FakeModel("old:1b", modified_at="2026-01-01T10:00:00Z"),
        FakeModel("new:1b", modified_at="2026-02-01T10:00:00Z"),
        FakeModel(name, modified_at="2026-11-20T10:00:00Z"),
    ]
    assert find_chat_model("") == "new:1b"


@pytest.mark.parametrize("loaded", [True, False])
def test_auto_passes_over_a_model_that_only_embeds_though_neither_name_nor_list_say_so(
    fake_ollama: FakeOllama, loaded: bool
) -> None:
    fake_ollama.models[:] = [
        FakeModel("old:1b", modified_at="2026-01-01T10:00:00Z"),
        FakeModel("q:latest", modified_at="2026-11-20T10:00:00Z", dimensions=8),
    ]
    fake_ollama.loaded.update({"q:latest": Launch(2048)} if loaded else {})
    assert find_chat_model("") == "old:1b"


def test_auto_without_any_model_says_how_to_get_one() -> None:
    began = time.monotonic()
    with pytest.raises(ModelMissing) as caught:
        pick("auto")
    assert time.monotonic() - began < 5
    assert "openclaw models pull" in caught.value.hint
    assert "ollama pull" in caught.value.hint
    assert caught.value.exit_code == 5


def test_auto_says_that_ollama_has_no_chat_model(fake_ollama: FakeOllama) -> None:
    fake_ollama.models[:] = [FakeModel("nomic-embed-text:latest")]
    with pytest.raises(ModelMissing, match="Ollama has no chat model"):
        pick("auto")


def test_auto_does_not_wait_for_a_host_that_says_nothing() -> None:
    with FakeOllama(start=False) as silent:
        silent.listen_only()
        began = time.monotonic()
        with pytest.raises(ServerAway):
            find_chat_model(silent.url)
        assert time.monotonic() - began < LISTING_SECONDS


def test_something_else_at_the_host_is_no_ollama(fake_ollama: FakeOllama) -> None:
    with pytest.raises(ServerAway, match="no Ollama answers"):
        find_chat_model(f"{fake_ollama.url}/elsewhere")


def test_looking_for_a_model_imports_no_client_library(fake_ollama: FakeOllama) -> None:
    code = (
        "from openclaw.models.registry import find_chat_model\n"
        "assert find_chat_model('') == 'fake:1b'"
    )
    assert loaded_by(code, "ollama", "httpx", "pydantic") == []


# fallbacks


def chain(*ways: Model | Exception) -> FallbackModel:
    def opener(way: Model | Exception) -> Callable[[], Model]:
        def opened() -> Model:
            if isinstance(way, Exception):
                raise way
            return way

        return opened

    return FallbackModel([(f"model-{i}", opener(way)) for i, way in enumerate(ways)])


AWAY = ServerAway("Ollama does not answer", "ollama serve")


@pytest.mark.parametrize("failure", [AWAY, ModelMissing("gone"), ModelFailed("HTTP 500")])
@pytest.mark.parametrize("when", ["opening", "asking"])
def test_the_next_model_answers_when_one_fails_before_its_first_token(
    failure: Exception, when: str
) -> None:
    first = failure if when == "opening" else ScriptedModel(failure)
    second = ScriptedModel("hello", "again")
    model = chain(first, second)
    reply, notices = ask(model)
    assert reply.text == "hello"
    assert notices == [f"{failure}; taking model-1 instead"]
    assert ask(model) == (ask_like(reply, "again"), [])


def ask_like(reply: Reply, text: str) -> Reply:
    return Reply(text, usage=reply.usage)


def test_the_card_is_that_of_the_model_that_answers() -> None:
    card = ModelCard("spare/model", 2048, tools=False)
    model = chain(AWAY, ScriptedModel("hello", card=card))
    assert model.card == card
    assert ask(model)[1] == [f"{AWAY}; taking model-1 instead"]


def test_reading_ahead_takes_no_other_model_as_it_has_not_asked_patiently() -> None:
    tries: list[int] = []

    def opened() -> Model:
        tries.append(1)
        if len(tries) == 1:
            raise AWAY
        return ScriptedModel("I am back.")

    model = FallbackModel([("first", opened), ("spare", ScriptedModel)])
    with without_retries(), pytest.raises(ServerAway):
        _ = model.card
    assert ask(model)[0].text == "I am back."


def test_a_model_that_failed_is_closed_and_not_asked_again() -> None:
    first, second = ScriptedModel(AWAY), ScriptedModel("one", "two")
    model = chain(first, second)
    ask(model)
    ask(model)
    assert first.closed
    assert (len(first.requests), len(second.requests)) == (1, 2)
    model.close()
    assert second.closed


class Breaking(ScriptedModel):
    """Fails after its first token."""

    def stream(self, request: Request) -> Generator[Chunk, None, None]:
        yield Text("The po")
        raise ModelFailed("cut")


def test_a_failure_after_the_first_token_is_raised() -> None:
    spare = ScriptedModel("hello")
    with pytest.raises(ModelFailed, match="cut"):
        ask(chain(Breaking(), spare))
    assert spare.requests == []


def test_a_prompt_that_is_too_large_is_raised() -> None:
    spare = ScriptedModel("hello")
    with pytest.raises(PromptTooLarge):
        ask(chain(ScriptedModel(PromptTooLarge("too large")), spare))
    assert spare.requests == []


def test_when_all_fail_the_first_failure_is_told_and_the_others_named() -> None:
    model = chain(AWAY, ModelMissing("no file"), ScriptedModel(ModelFailed("HTTP 500")))
    with pytest.raises(ServerAway) as caught:
        ask(model)
    assert str(caught.value) == f"{AWAY}; fallback: no file; fallback: HTTP 500"
    assert caught.value.hint == "ollama serve"


def test_closing_the_stream_closes_that_of_the_model_behind() -> None:
    closed = []

    class Endless(ScriptedModel):
        def stream(self, request: Request) -> Generator[Chunk, None, None]:
            try:
                while True:
                    yield Text("more")
            finally:
                closed.append(True)

    stream = cast("Generator[Chunk]", chain(Endless()).stream(QUESTION))
    next(stream)
    stream.close()
    assert closed


def test_fallbacks_of_the_settings_are_tried_in_order(fake_ollama: FakeOllama) -> None:
    fake_ollama.say("hello")
    model = pick("ollama/absent:1b", fallbacks=("ollama/missing:2b", "ollama/fake:1b"))
    reply, notices = ask(model)
    assert reply.text == "hello"
    assert [notice.split("taking ")[-1] for notice in notices[:2]] == [
        "ollama/missing:2b instead",
        "ollama/fake:1b instead",
    ]
    assert model.card.name == "ollama/fake:1b"
    model.close()
