"""A model is probed only as long as it may take, also when it says nothing at all."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from openclaw.config import Settings
from openclaw.evals.model_probes import ProbedModel, ProbeLimits, TooLate, make_request
from openclaw.evals.model_test import LATE, TASKS, ModelTest, make_home, run_task
from openclaw.models.base import Model
from openclaw.models.embedded import EmbeddedModel
from openclaw.models.ollama import OllamaModel
from openclaw.models.openai import OpenAIModel
from tests.data.sample import sample
from tests.fakes.gguf import gguf
from tests.fakes.ollama_server import Answer, FakeOllama

FAKE_LLAMA = Path(__file__).parents[1] / "fakes" / "llama"
HOUR = 3600.0
ENOUGH = 15.0  # seconds in which everything here ends, when it does not wait for the model


def _ollama(url: str) -> OllamaModel:
    return OllamaModel("fake:1b", host=url, window=8192, keep_alive="5m")


def _openai(url: str) -> OpenAIModel:
    return OpenAIModel("fake:1b", base_url=f"{url}/v1", api_key="", window=8192)


@pytest.fixture(params=[_ollama, _openai])
def model(request: pytest.FixtureRequest, fake_ollama: FakeOllama) -> Iterator[Model]:
    made: Model = request.param(fake_ollama.url)
    yield made
    made.close()


def _settings(url: str) -> Settings:
    base = Settings()
    return replace(base, ollama=replace(base.ollama, host=url), recall="tool", protocol="json")


@pytest.mark.parametrize(
    "answer",
    sample(
        [
            Answer(["It "] * 10_000, pause=0.05),
            Answer("late", stall=HOUR),
            Answer(["It ", "rained"], pause=HOUR),
        ]
    ),
    ids=["dripping", "silent", "silent in the middle"],
)
def test_a_late_reply_is_cut_and_the_server_is_free_for_the_next(
    model: Model, fake_ollama: FakeOllama, answer: Answer
) -> None:
    fake_ollama.say(answer, "Yes.")
    assert model.card
    probed = ProbedModel(model, ProbeLimits(reply=0.8))
    said = probed.ask(make_request("Tell a story.", 5000))
    assert (said.is_whole, probed.endless) == (False, False)
    assert fake_ollama.hung_up.wait(ENOUGH)
    assert ProbedModel(model).ask(make_request("Say yes.", 4)).reply.text == "Yes."


def test_what_was_heard_before_a_cut_is_kept(model: Model, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(Answer(["It ", "rained"], pause=HOUR))
    assert model.card
    said = ProbedModel(model, ProbeLimits(reply=0.8)).ask(make_request("Tell a story.", 32))
    assert said.reply.text == "It "


def test_loading_has_a_bound_of_its_own_which_is_told(
    model: Model, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(Answer("late", stall=HOUR))
    probed = ProbedModel(model, ProbeLimits(load=0.3))
    with pytest.raises(TooLate, match="did not answer within 0 s"):
        probed.ask(make_request("Say yes.", 4), patient=True)


def test_a_server_that_only_takes_connections_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        limits = ProbeLimits(reply=0.3)
        settings = _settings(f"127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(TooLate):
            list(ModelTest("ollama/fake:1b", settings, limits=limits).run())


@pytest.mark.slow
def test_a_whole_test_of_a_server_that_falls_silent_ends_with_what_was_found(
    fake_ollama: FakeOllama,
) -> None:
    fake_ollama.say("Yes.", *[Answer("late", stall=HOUR)] * 60)
    limits = ProbeLimits(reply=0.2, probe=0.1, task=0.2)
    test = ModelTest("ollama/fake:1b", _settings(fake_ollama.url), limits=limits)
    list(test.run())
    assert test.profile is not None
    assert (test.profile.tasks, test.profile.complete) == ({}, False)
    assert "task right tool: given up after 0 s" in test.faults


@pytest.mark.parametrize(
    "answer",
    sample(
        [
            Answer('{"kind":"answer","answer":"ok"}', stall=HOUR),
            Answer(['{"kind":"answer","answer":"', *["word "] * 10_000], pause=0.05),
            Answer("done", thinking=["hm "] * 10_000, pause=0.05),
        ]
    ),
    ids=["silent", "dripping", "thinking"],
)
def test_a_task_is_given_up_when_its_time_is_over(
    fake_ollama: FakeOllama, tmp_path: Path, answer: Answer
) -> None:
    fake_ollama.say(answer)
    model, (task, *_) = _ollama(fake_ollama.url), TASKS
    home = make_home((tmp_path / "h").resolve())
    outcome = run_task(task, model, home, _settings(fake_ollama.url), 1.0)
    model.close()
    assert (outcome.stop, outcome.answer) == (LATE, "")


# -------- embedded


@pytest.fixture
def embedded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], EmbeddedModel]]:
    monkeypatch.setenv("FAKE_LLAMA_LOG", str(tmp_path / "log"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(FAKE_LLAMA), os.environ["PYTHONPATH"]]))
    monkeypatch.syspath_prepend(FAKE_LLAMA)
    made: list[EmbeddedModel] = []

    def make(behaviour: str) -> EmbeddedModel:
        path = tmp_path / "some.gguf"
        path.write_bytes(gguf({"general.architecture": "qwen2"}) + behaviour.encode())
        made.append(EmbeddedModel(path, window=4096))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_an_embedded_model_that_loads_for_ever_is_ended(
    embedded: Callable[[str], EmbeddedModel],
) -> None:
    model = embedded("slow")
    with pytest.raises(TooLate):
        ProbedModel(model, ProbeLimits(load=0.5)).ask(make_request("Say yes.", 4), patient=True)
    model.close()


def test_an_embedded_model_is_not_loaded_anew_for_a_reply_that_was_cut(
    embedded: Callable[[str], EmbeddedModel],
) -> None:
    model = embedded("good")
    probed = ProbedModel(model, ProbeLimits(reply=0.5))
    assert probed.ask(make_request("Say yes.", 4), patient=True).loaded
    assert not probed.ask(make_request("go on", 100_000)).is_whole
    again = probed.ask(make_request("Say yes.", 4), patient=True)
    assert (again.is_whole, again.loaded) == (True, False)
