"""`openclaw sessions compact` and `restore`, as a user types them, against an Ollama server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from openclaw.messages import Entry
from openclaw.sessions.store import SessionStore
from openclaw.storage.home import Home
from openclaw.storage.new_home import create_home
from tests.fakes.command import CommandLine
from tests.fakes.ollama_server import FakeModel, FakeOllama

claw = CommandLine()

SUMMARY = json.dumps(
    {"goal": "bake bread", "done": [], "decisions": ["rye flour"], "open": [], "identifiers": []}
)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOllama]:
    with FakeOllama(models=[FakeModel("bread:8b")]) as server:
        settings = f"model: ollama/bread:8b\nprotocol: json\nollama:\n  host: {server.url}\n"
        create_home(tmp_path / "home", settings)
        monkeypatch.setenv("OPENCLAW_HOME", str(tmp_path / "home"))
        yield server


def stored(tmp_path: Path, exchanges: int = 5) -> SessionStore:
    home = Home(tmp_path / "home")
    store = SessionStore(home.sessions, home.private / "locks")
    session = store.new("bread")
    for n in range(exchanges):
        session.messages += [
            Entry("user", f"We bake bread number {n} with rye flour."),
            Entry("assistant", f"Bread {n} it is."),
        ]
    store.save(session)
    return store


def test_compact_sums_up_and_restore_takes_it_back(tmp_path: Path, server: FakeOllama) -> None:
    store = stored(tmp_path)
    before = store.load("bread").messages
    server.say(SUMMARY)
    out = claw("sessions", "compact", "bread", "--focus", "the flour")
    assert "Goal: bake bread" in out and "rye flour" in out
    assert "openclaw sessions restore bread" in claw.err
    assert "the flour" in server.chats[-1]["messages"][-1]["content"]
    assert len(store.load("bread").messages) == 4
    claw("sessions", "restore", "bread")
    assert store.load("bread").messages == before


def test_a_dry_run_and_json_change_nothing_but_what_is_asked(
    tmp_path: Path, server: FakeOllama
) -> None:
    store = stored(tmp_path)
    server.say(SUMMARY)
    shown = claw.json("sessions", "compact", "bread", "--dry-run")
    assert shown["id"] == "bread" and shown["messages"] == 6
    assert shown["before_tokens"] > 0 and "bake bread" in shown["summary"]
    assert len(store.load("bread").messages) == 10
