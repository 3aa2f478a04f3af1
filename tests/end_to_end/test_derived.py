"""Everything in `.openclaw/` is derived: it may be deleted at any time."""

from __future__ import annotations

import shutil
from pathlib import Path

from openclaw.agent.agent import Agent
from openclaw.config import Settings
from openclaw.events import Done
from openclaw.sessions.session import Session
from openclaw.storage.home import Home
from openclaw.storage.new_home import create_home
from tests.fakes.scripted import ScriptedModel


def _answer(app: Agent, text: str, session: Session) -> str:
    done = [event for event in app.ask(text, session) if isinstance(event, Done)]
    return done[0].answer


def test_a_conversation_goes_on_after_all_that_is_derived_was_deleted(tmp_path: Path) -> None:
    home = Home(tmp_path / "mine")
    create_home(home.root)
    app = Agent.open(home, Settings(protocol="native"))
    app.model = model = ScriptedModel("Hello.", "Still here.")
    session = app.sessions.new(None)
    _answer(app, "Good morning.", session)
    shutil.rmtree(home.private)
    assert _answer(app, "Are you there?", app.sessions.load("latest")) == "Still here."
    first, second = (request.messages for request in model.requests)
    assert second[: len(first)] == first
