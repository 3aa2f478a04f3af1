"""`openclaw sessions replay`, as a user types it, over the real HTTP."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.command import CommandLine
from tests.fakes.git_home import copy_home
from tests.fakes.ollama_server import Answer, FakeOllama

claw = CommandLine()


@pytest.fixture
def home(tmp_path: Path, fake_ollama: FakeOllama) -> Path:
    settings = "model: ollama/fake:1b\nprotocol: native\nrecall: tool\n"
    return copy_home(tmp_path / "home", settings, in_git=False)


def sum_of(body: dict[str, Any]) -> str:
    """An answer that differs when any byte of the request does."""
    return f"It is {hashlib.sha256(json.dumps(body).encode()).hexdigest()[:8]}."


def ask(*words: str) -> None:
    claw("ask", "--quiet", *words)


@pytest.fixture
def recorded(home: Path, fake_ollama: FakeOllama) -> Path:
    """Two turns of the session `one`, the first with a call."""
    fake_ollama.say(Answer(calls=[("list_files", {"path": "workspace"})]), sum_of, sum_of)
    ask("--session", "one", "What is there?")
    ask("--session", "one", "And now\x1b[31m?")
    return home


def again(server: FakeOllama) -> None:
    server.say(Answer(calls=[("list_files", {"path": "workspace"})]), sum_of, sum_of)


def test_the_same_model_over_http_is_sent_the_same_bytes(
    recorded: Path, fake_ollama: FakeOllama
) -> None:
    sent = [asked.raw for asked in fake_ollama.requests if asked.path == "/api/chat"]
    again(fake_ollama)
    out = claw("sessions", "replay", "one")
    assert out.splitlines() == [
        "one  2 turns, recorded with ollama/fake:1b",
        "",
        "turn 1  same      What is there?",
        "",
        "turn 2  same      And now\u241b[31m?",
        "",
        "2 turns: 2 same, 0 differ",
    ]
    now = [asked.raw for asked in fake_ollama.requests if asked.path == "/api/chat"]
    assert (len(sent), now[len(sent) :]) == (3, sent)


def test_a_changed_soul_leaves_with_1_and_is_shown(recorded: Path, fake_ollama: FakeOllama) -> None:
    (recorded / "workspace" / "SOUL.md").write_text("# Soul\n\nBe \x1b[2Jloud.\n", "utf-8")
    again(fake_ollama)
    out = claw("sessions", "replay", "one", code=1)
    assert "turn 1  differs   What is there?" in out
    assert "  head     workspace/SOUL.md\n" in out
    assert "+Be \u241b[2Jloud." in out
    assert "\x1b" not in out
    assert "[-" in out and "{+" in out
    assert out.endswith("2 turns: 0 same, 2 differ\n")


def test_one_turn_is_named_by_its_number_and_told_as_json(
    recorded: Path, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("Something else.")
    told = claw.json("sessions", "replay", "one:2", code=1)
    assert (told["id"], told["same"], told["differs"], told["not_run"]) == ("one", 0, 1, 0)
    (turn,) = told["turns"]
    assert (turn["turn"], turn["verdict"]) == (2, "differs")
    (difference,) = turn["differences"]
    assert (difference["kind"], difference["counts"]) == ("answer", True)
    assert turn["replayed"]["answer"] == "Something else."
    assert "no turn 3" in claw.error("sessions", "replay", "one:3", code=2)


def test_another_model_is_told_and_only_what_it_does_counts(
    recorded: Path, fake_ollama: FakeOllama
) -> None:
    from tests.fakes.ollama_server import FakeModel

    fake_ollama.models.append(FakeModel("other:9b", digest="def", parameter_size="9B"))
    session = json.loads((recorded / "sessions" / "one.json").read_text("utf-8"))
    answer = session["messages"][-1]["content"]
    fake_ollama.say(answer)
    out = claw("sessions", "replay", "one:2", "--model", "ollama/other:9b")
    assert "turn 2  same" in out
    assert "  (model)  ollama/fake:1b -> ollama/other:9b\n" in out


def test_a_model_that_is_gone_is_named_with_what_to_do(
    recorded: Path, fake_ollama: FakeOllama
) -> None:
    fake_ollama.models.clear()
    assert "--model NAME" in claw.error("sessions", "replay", "one", code=5)
