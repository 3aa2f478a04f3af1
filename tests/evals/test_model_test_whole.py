"""The whole test of how a model fits, and `openclaw models test` as a user types it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from openclaw.config import Settings
from openclaw.errors import ModelMissing, ServerAway
from openclaw.evals.model_probes import GREETING, JSON_QUESTIONS, UNASKED
from openclaw.evals.model_test import ModelTest
from openclaw.models.base import Profile, Score
from openclaw.models.profile import known_profiles, write_profile
from openclaw.storage.program import profiles_folder
from tests.evals.test_model_test import CALLS
from tests.fakes.command import CommandLine
from tests.fakes.ollama_server import Answer, FakeModel, FakeOllama, last_words

# -------- the whole test


def _clever(body: dict[str, Any]) -> str | Answer:
    """Does what it is asked, in the shape that the request has."""
    words = last_words(body)
    if body.get("tools"):
        named = {"bus": 0, "alarm": 1, "kroner": 2}
        at = next((n for word, n in named.items() if word in words), None)
        made = [] if at is None else [(CALLS[at].name, CALLS[at].arguments)]
        return Answer("" if made else "Good morning!", made)
    for question, schema in (*JSON_QUESTIONS, (GREETING, UNASKED)):
        if words.startswith(question):
            return json.dumps(_value(schema))
    if body.get("format"):
        return json.dumps({"kind": "answer", "answer": "I do not know, Captain."})
    return Answer("It rained on the next day.", read_seconds=0.5, generated_tokens=9)


def found_profile(test: ModelTest) -> Profile:
    """What the whole test says of the model."""
    list(test.run())
    assert test.profile is not None
    return test.profile


def _value(schema: Mapping[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    if schema["type"] == "object":
        return {key: _value(inner) for key, inner in schema["properties"].items()}
    return {"string": "a", "integer": 1, "boolean": True, "array": []}[schema["type"]]


def _test(server: FakeOllama, name: str = "ollama/fake:1b", **changed: Any) -> ModelTest:
    settings = replace(Settings(), ollama=replace(Settings().ollama, host=server.url))
    return ModelTest(name, settings, **changed)


def test_a_whole_test_of_a_model_of_ollama_fills_its_profile(fake_ollama: FakeOllama) -> None:
    fake_ollama.say(*[_clever] * 60)
    test = _test(fake_ollama)
    steps = list(test.run())
    profile = test.profile
    assert profile is not None
    assert (test.faults, profile.complete) == ([], True)
    assert (profile.calls, profile.native, profile.needless) == ("native", Score(3, 3), False)
    assert (profile.json_forced, profile.json_free) == (Score(3, 3), Score(3, 3))
    assert profile.schema_holds
    assert (profile.thinking, profile.stops, profile.protocol) == ("none", True, "json")
    assert profile.tasks == {
        "right tool": False,
        "given text": False,
        "rule of SOUL.md": True,
        "exact to-do": False,
        "no false claim": True,
    }
    assert steps[0] == "loading"
    assert test.profile
    write_profile(profiles_folder(), test.profile)
    assert known_profiles(profiles_folder()) == [profile]


def test_a_quick_test_leaves_the_tasks_out(fake_ollama: FakeOllama) -> None:
    fake_ollama.say(*[_clever] * 30)
    profile = found_profile(_test(fake_ollama, quick=True))
    assert (profile.tasks, profile.complete) == ({}, False)
    assert profile.read_rate


def test_a_server_that_refuses_tools_has_a_model_without_calls(fake_ollama: FakeOllama) -> None:
    def refusing(body: dict[str, Any]) -> str | Answer:
        no = Answer(status=400, error="fake:1b does not support tools")
        return no if body.get("tools") else _clever(body)

    fake_ollama.models[0] = FakeModel(capabilities=("completion",))
    fake_ollama.say(*[refusing] * 30)
    test = _test(fake_ollama, quick=True)
    profile = found_profile(test)
    assert (profile.calls, profile.native) == ("none", Score(0, 3))
    assert profile.json_forced == Score(3, 3)
    assert test.faults == []


def test_a_server_whose_model_never_stops_is_left_soon_and_tries_no_task(
    fake_ollama: FakeOllama,
) -> None:
    fake_ollama.say("yes", *[Answer(["and on "] * 5000)] * 30)
    test = _test(fake_ollama)
    profile = found_profile(test)
    assert (profile.stops, profile.tasks) == (False, {})
    assert not profile.complete
    assert test.faults == ["tasks: skipped, the model does not stop by itself"]


@pytest.mark.slow
def test_a_missing_model_and_a_missing_server_are_told(
    fake_ollama: FakeOllama, closed_port: int
) -> None:
    with pytest.raises(ModelMissing):
        list(_test(fake_ollama, "ollama/other:7b").run())
    away = replace(Settings(), ollama=replace(Settings().ollama, host=f"127.0.0.1:{closed_port}"))
    with pytest.raises(ServerAway):
        list(ModelTest("ollama/fake:1b", away).run())


def test_a_model_of_an_openai_compatible_server_is_tested(fake_ollama: FakeOllama) -> None:
    fake_ollama.models.append(FakeModel(name="some-7b"))

    def clever(body: dict[str, Any]) -> str | Answer:
        shape = body.get("response_format")
        return _clever({**body, "format": shape} if shape else body)

    fake_ollama.say(*[clever] * 40)
    settings = Settings(openai=replace(Settings().openai, base_url=f"{fake_ollama.url}/v1"))
    profile = found_profile(ModelTest("openai/some-7b", settings, quick=True))
    assert (profile.native, profile.json_forced) == (Score(3, 3), Score(3, 3))
    assert (profile.window_fits, profile.load_seconds) == (None, None)


# -------- the command


claw = CommandLine("models", "test")


def test_the_command_prints_what_it_found_beside_what_was_known(fake_ollama: FakeOllama) -> None:
    write_profile(profiles_folder(), Profile("ollama/older:3b", "ab", "2026-11-01", read_rate=50.0))
    fake_ollama.say(*[_clever] * 30)
    out = claw("ollama/fake:1b", "--quick")
    assert claw.err == ""
    assert "ollama/fake:1b" in out.splitlines()[0]
    assert "ollama/older:3b" in out.splitlines()[0]
    assert "3 of 3 native" in out


def test_the_list_shows_what_is_known_and_asks_nobody() -> None:
    assert "No model was tested" in claw("--list")
    write_profile(profiles_folder(), Profile("ollama/older:3b", "ab", "2026-11-01", read_rate=50.0))
    (told,) = claw.json("--list")
    assert (told["model"], told["read_rate"]) == ("ollama/older:3b", 50.0)


def test_one_model_that_is_missing_does_not_keep_the_others_from_being_tested(
    fake_ollama: FakeOllama,
) -> None:
    fake_ollama.say(*[_clever] * 30)
    first, second = claw.json("ollama/other:7b", "ollama/fake:1b", "--quick", code=5)
    assert first["model"] == "ollama/fake:1b"
    assert "no model other:7b" in second["error"]


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C goes to a whole console there")
def test_ctrl_c_keeps_what_was_measured(fake_ollama: FakeOllama) -> None:
    fake_ollama.say(*[_clever] * 4, Answer("late", stall=30.0))
    done = subprocess.Popen(
        [sys.executable, "-m", "openclaw", "models", "test", "ollama/fake:1b"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
        encoding="utf-8",
    )  # fmt: skip
    while len(fake_ollama.chats) < 5:
        assert done.poll() is None
        time.sleep(0.02)
    done.send_signal(signal.SIGINT)
    out, err = done.communicate(timeout=20)
    assert done.returncode == 130
    assert "what was measured until then is kept" in err
    assert "reading" in out
    (kept,) = known_profiles(profiles_folder())
    assert kept.read_rate
    assert (kept.complete, kept.native) == (False, Score(0, 0))
