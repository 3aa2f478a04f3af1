"""A server dies in mid-run: what it had told is there, and the next one goes on."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fakes.command import openclaw
from tests.fakes.ollama_server import Answer, FakeOllama
from tests.fakes.serving import start_server

WORDS = [f"word{number} " for number in range(60)]


def turns(home: Path) -> list[dict[str, Any]]:
    """The turns in the history, the newest first."""
    found = json.loads(openclaw("--home", str(home), "log", "--json").stdout)
    return [turn for turn in found if turn["kind"] == "turn"]


def die_in_mid_run(home: Path, seconds: float) -> None:
    """Begin a run whose tool adds a to-do, kill the server then, and look at what is left."""
    process, server = start_server(home)
    headers = {"Authorization": f"Bearer {server.token}"}
    url, told = f"http://127.0.0.1:{server.port}", list[dict[str, Any]]()
    try:
        with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
            body = {"message": "Add milk to my to-dos.", "session_id": "talk", "stream": False}
            run = client.post("/api/chat", json=body).json()["run_id"]
            until = time.monotonic() + seconds
            with client.stream("GET", f"/api/runs/{run}/events") as response:
                for line in response.iter_lines():
                    if line.startswith("data: "):
                        told.append(json.loads(line[6:]))
                    if time.monotonic() > until:
                        break
    finally:
        process.kill()
        process.wait()
    again, server = start_server(home)
    try:
        was_added = any(each["event"] == "tool_end" and each["ok"] for each in told)
        todos = (home / "memory" / "TODO.md").read_text("utf-8")
        assert not was_added or "buy milk" in todos
        if any(each["event"] == "new_response" for each in told):  # the call was saved before it
            saved = json.loads((home / "sessions" / "talk.json").read_text("utf-8"))
            assert [each["role"] for each in saved["messages"]][:2] == ["user", "assistant"]
        if "buy milk" in todos:
            newest = turns(home)[0]
            is_done = any(each["event"] == "done" for each in told)
            assert newest["state"] in (("done",) if is_done else ("interrupted", "done"))
            assert openclaw("--home", str(home), "undo").returncode == 0
            assert "buy milk" not in (home / "memory" / "TODO.md").read_text("utf-8")
    finally:
        server.call("POST", "/api/stop", {})
        again.wait()


def script(fake_ollama: FakeOllama) -> None:
    """A call, and a long answer."""
    fake_ollama.script.clear()
    calls = [("todo", {"action": "add", "text": "buy milk"})]
    fake_ollama.say(Answer(calls=calls), Answer(WORDS, pause=0.01))


@pytest.mark.skipif(os.name == "nt", reason="kills as POSIX does")
def test_a_killed_server_loses_nothing_that_it_told(home: Path, fake_ollama: FakeOllama) -> None:
    script(fake_ollama)
    die_in_mid_run(home, 0.4)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="kills as POSIX does")
def test_a_server_is_killed_at_a_hundred_moments(home: Path, fake_ollama: FakeOllama) -> None:
    drawn = random.Random(22)
    for _ in range(100):
        script(fake_ollama)
        die_in_mid_run(home, drawn.uniform(0.0, 1.2))
    fake_ollama.script.clear()
