"""Two processes over one home: what one did while a command of the other ran stays its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openclaw.tools.shell import overlay, sandbox
from tests.fakes.command import openclaw
from tests.fakes.git_home import git, identity, needs_git
from tests.fakes.ollama_server import Answer, FakeOllama

pytestmark = [needs_git, pytest.mark.skipif(os.name == "nt", reason="the commands are of POSIX")]
SETTINGS = (
    "model: ollama/fake:1b\nprotocol: native\nrecall: tool\nembedding: none\npreload: false\n"
)
WISH = "I don't drink alcohol. Remember that."


@pytest.fixture(params=["layer", "sandbox", "bare"])
def kind(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """How commands run: the program for the rest fails."""
    if request.param != "bare" and sandbox.why_unavailable() is not None:
        pytest.skip("there is no sandbox")
    if request.param == "layer" and not overlay.is_overlay_available(tmp_path.resolve()):
        pytest.skip("there is no overlay")
    fails = tmp_path / "bin" / {"sandbox": "unshare", "bare": "bwrap"}.get(request.param, "none")
    fails.parent.mkdir()
    fails.write_text("#!/bin/sh\nexit 1\n", "utf-8")
    fails.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fails.parent}{os.pathsep}{os.environ['PATH']}")
    return str(request.param)


@pytest.fixture
def home(tmp_path: Path, fake_ollama: FakeOllama) -> Path:
    root = tmp_path / "home"
    assert openclaw("init", str(root)).returncode == 0
    (root / "openclaw.yaml").write_text(SETTINGS, "utf-8")
    identity(root)
    git(root, "commit", "-qam", "settings")
    return root


def talk(name: str, prompt: str, out: Path | None = None) -> subprocess.Popen[bytes]:
    options = ("--session", name, "--mode", "full")
    words = [sys.executable, "-m", "openclaw", *options, prompt]
    with (out or Path(os.devnull)).open("wb") as file:
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=file, stderr=file)


def answers(begun: list[str], last: float) -> Callable[[dict[str, Any]], Answer]:
    """Talk A runs a command and says its last words after so many seconds, talk B does nothing."""

    def line(body: dict[str, Any]) -> Answer:
        asked = [m["content"] for m in body["messages"] if m["role"] == "user"][-1]
        if WISH in asked:
            return Answer("I shall remember it.")
        if "run" not in begun:
            begun.append("run")
            return Answer(calls=[("run_shell", {"command": "sleep 4; echo x > workspace/out.txt"})])
        begun.append("ran")
        return Answer("It ran.", stall=last)

    return line


def wait_for(begun: list[str], word: str) -> None:
    until = time.monotonic() + 20
    while word not in begun and time.monotonic() < until:
        time.sleep(0.01)
    assert word in begun


def said(text: str) -> list[str]:
    return [message["content"] for message in json.loads(text)["messages"]]


@pytest.mark.slow
def test_undo_takes_back_what_the_command_did_and_nothing_of_others(
    home: Path, fake_ollama: FakeOllama, kind: str
) -> None:
    begun: list[str] = []
    fake_ollama.say(*[answers(begun, 0)] * 3)
    told = home.parent / "told"
    first = talk("A", "Run it.", told)
    wait_for(begun, "run")
    time.sleep(0.3)
    assert talk("B", WISH).wait(30) == 0
    assert openclaw("todo", "add", "call the bank").returncode == 0
    if kind == "layer":  # elsewhere nobody can tell
        (home / "workspace" / "diary.md").write_text("Dear diary\n", "utf-8")
    assert "ran" not in begun
    assert first.wait(30) == 0
    out = told.read_bytes()
    assert b"out.txt" in out and b"diary" not in out and b"TODO" not in out and b"B.json" not in out

    memory = {path: path.read_bytes() for path in (home / "memory").rglob("*") if path.is_file()}
    taken = openclaw("undo", "--session", "A")
    assert taken.returncode == 0 and not (home / "workspace" / "out.txt").exists()
    assert said((home / "sessions" / "B.json").read_text("utf-8")) == [WISH, "I shall remember it."]
    assert memory == {p: p.read_bytes() for p in (home / "memory").rglob("*") if p.is_file()}
    assert b"call the bank" in memory[home / "memory" / "TODO.md"]
    if kind == "layer":
        assert (home / "workspace" / "diary.md").read_text("utf-8") == "Dear diary\n"


@pytest.mark.slow
def test_a_commit_holds_no_older_state_of_what_others_committed_meanwhile(
    home: Path, fake_ollama: FakeOllama, kind: str
) -> None:
    begun: list[str] = []

    def line(body: dict[str, Any]) -> Answer:
        reply = answers(begun, 4)(body)
        return Answer(reply.text, stall=3) if reply.text == "I shall remember it." else reply

    fake_ollama.say(*[line] * 3)
    first = talk("A", "Run it.")
    wait_for(begun, "run")
    time.sleep(2)
    second = talk("B", WISH)
    wait_for(begun, "ran")  # the command ended while B was in its turn
    assert second.poll() is None
    assert second.wait(30) == 0 and first.poll() is None
    assert first.wait(30) == 0
    assert said(git(home, "show", "HEAD:sessions/B.json")) == [WISH, "I shall remember it."]
    assert "Edited outside" not in git(home, "log", "--format=%s")
    assert git(home, "status", "--porcelain") == ""
