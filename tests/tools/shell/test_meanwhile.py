"""Two processes over one home: what one did while a command of the other ran stays its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from openclaw.tools.shell import overlay, sandbox
from tests.fakes.command import openclaw
from tests.fakes.git_home import git, identity, needs_git
from tests.fakes.ollama_server import Answer, FakeOllama

pytestmark = [needs_git, pytest.mark.skipif(os.name == "nt", reason="the commands are of POSIX")]
SETTINGS = (
    "model: ollama/fake:1b\nprotocol: native\nrecall: tool\nembedding: none\npreload: false\n"
    "shell:\n  timeout: 300\n"
)
WISH = "I don't drink alcohol. Remember that."
LONG = 60
SLEEP = f"299.{os.getpid()}"
"""Seconds that no other process sleeps, so that the test finds the process and ends it."""


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


@dataclass
class Course:
    """Talk A runs a command, talk B does nothing. If `b_ends_first`, B answers when the command has
    ended, and A says its last words when B has ended."""

    b_ends_first: bool
    b_asked: threading.Event = field(default_factory=threading.Event)
    ran: threading.Event = field(default_factory=threading.Event)
    b_ended: threading.Event = field(default_factory=threading.Event)
    is_begun: bool = False

    def reply(self, body: dict[str, Any]) -> Answer:
        asked = [m["content"] for m in body["messages"] if m["role"] == "user"][-1]
        if WISH in asked:
            self.b_asked.set()
            assert not self.b_ends_first or self.ran.wait(LONG)
            return Answer("I shall remember it.")
        if not self.is_begun:
            self.is_begun = True
            command = f"sleep {SLEEP}; echo x > workspace/out.txt"
            return Answer(calls=[("run_shell", {"command": command})])
        self.ran.set()
        assert not self.b_ends_first or self.b_ended.wait(LONG)
        return Answer("It ran.")


def find_sleep() -> psutil.Process:
    """The command of A, when it runs."""
    until = time.monotonic() + LONG
    while time.monotonic() < until:
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.cmdline() == ["sleep", SLEEP]:
                    return process
        time.sleep(0.01)
    raise AssertionError("the command did not begin")


def said(text: str) -> list[str]:
    return [message["content"] for message in json.loads(text)["messages"]]


@pytest.mark.slow
def test_undo_takes_back_what_the_command_did_and_nothing_of_others(
    home: Path, fake_ollama: FakeOllama, kind: str
) -> None:
    course = Course(b_ends_first=False)
    fake_ollama.say(*[course.reply] * 3)
    told = home.parent / "told"
    first = talk("A", "Run it.", told)
    sleep = find_sleep()
    assert talk("B", WISH).wait(LONG) == 0
    assert openclaw("todo", "add", "call the bank").returncode == 0
    if kind == "layer":  # elsewhere nobody can tell
        (home / "workspace" / "diary.md").write_text("Dear diary\n", "utf-8")
    assert not course.ran.is_set()
    sleep.terminate()
    assert first.wait(LONG) == 0
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
    course = Course(b_ends_first=True)
    fake_ollama.say(*[course.reply] * 3)
    first = talk("A", "Run it.")
    sleep = find_sleep()
    second = talk("B", WISH)
    assert course.b_asked.wait(LONG)
    sleep.terminate()  # the command ends while B is in its turn
    assert second.wait(LONG) == 0 and first.poll() is None
    course.b_ended.set()
    assert first.wait(LONG) == 0
    assert said(git(home, "show", "HEAD:sessions/B.json")) == [WISH, "I shall remember it."]
    assert "Edited outside" not in git(home, "log", "--format=%s")
    assert git(home, "status", "--porcelain") == ""
