"""Faults as a user meets them: `python -m openclaw` against a loopback Ollama that misbehaves, and
homes that cannot be read or written. Other exit codes are in test_cli.py."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.command import Result, openclaw
from tests.fakes.needs import posix
from tests.fakes.ollama_server import Answer, FakeOllama
from tests.fakes.process import COMMAND, common


def asked(*words: str, stdin: bytes = b"") -> Result:
    done = openclaw(*words, stdin=stdin)
    assert "Traceback" not in done.stderr
    return done


def said(home: Path) -> list[str]:
    """What stands in the one session of the home."""
    (path,) = home.glob("sessions/*.json")
    return [m["content"] for m in json.loads(path.read_text("utf-8"))["messages"]]


def called(tool: str, **arguments: Any) -> Answer:
    return Answer(calls=[(tool, arguments)])


# -------- the server


def test_a_failing_server_is_one_clear_line_and_what_was_asked_is_kept(
    home: Path, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(Answer(status=500, error="out of memory"))
    done = asked("Tell a story.")
    assert done.returncode == 1
    *_, message, hint = done.stderr.splitlines()
    assert message.startswith("openclaw: ") and "out of memory" in message
    assert hint.startswith("  ")
    assert len(fake_ollama.chats) == 1
    assert said(home) == ["Tell a story."]


def test_after_a_fault_the_conversation_goes_on(home: Path, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(called("list_files"), Answer("Once", cut_after=0), "Here I am.")
    assert asked("What is there?").returncode == 1
    done = asked("-c", "Are you there?")
    assert (done.returncode, done.stdout) == (0, "Here I am.\n")
    assert said(home) == ["What is there?", "", "Are you there?", "Here I am."]


# -------- the disk


@posix
def test_a_read_only_home_is_searched_and_a_prompt_in_it_is_one_clear_line(
    home: Path, fake_ollama: FakeOllama
) -> None:
    (home / "openclaw.yaml").write_text("embedding: none\n", "utf-8")
    (home / "memory" / "MEMORY.md").write_text("- The boat costs 640 euros.\n", "utf-8")
    folders = [home, *(path for path in home.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        done = common("Say hello.")
        found = common("memory", "search", "boat", "--json")
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert done.returncode == 1
    assert "read-only" in done.stderr.splitlines()[-2]
    assert str(home) in done.stderr
    assert not list(home.glob("sessions/*.json"))
    assert [passage["path"] for passage in json.loads(found.stdout)] == ["memory/MEMORY.md"]
    told = "the memory index is kept in memory only: its folder cannot be written"
    assert found.stderr == f"openclaw: {told}\n"


@posix
def test_an_unreadable_home_leaves_with_6(home: Path) -> None:
    home.chmod(0o000)
    try:
        done = common("Say hello.")
    finally:
        home.chmod(0o755)
    assert done.returncode == 6
    assert done.stderr.startswith("openclaw: ") and str(home) in done.stderr


# -------- processes


@pytest.mark.slow
def test_two_processes_in_one_session_take_turns(home: Path, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(Answer("One.", stall=0.3), Answer("Two."))
    words = [*COMMAND, "--session", "garden"]
    pair = [
        subprocess.Popen([*words, text], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        for text in ("first", "second")
    ]
    answers = [child.communicate(timeout=60)[0].decode() for child in pair]
    assert [child.returncode for child in pair] == [0, 0]
    assert sorted(answer.strip() for answer in answers) == ["One.", "Two."]
    stored = said(home)
    assert [stored[1], stored[3]] == ["One.", "Two."]
    assert sorted([stored[0], stored[2]]) == ["first", "second"]
    assert len(fake_ollama.chats[1]["messages"]) == 4
