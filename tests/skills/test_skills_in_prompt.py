"""What the agent is told of skills follows the folder, the settings and the gates, turn by turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from openclaw.agent.agent import Agent
from openclaw.config import load_settings
from openclaw.inspection.context import context_report
from openclaw.storage.home import Home
from tests.fakes.scripted import ScriptedModel
from tests.fakes.skills import front, put


@pytest.fixture
def app(tmp_path: Path) -> Agent:
    home = Home(tmp_path / "home")
    (home.root / "workspace").mkdir(parents=True)
    home.skills.mkdir()
    made = Agent.open(home, load_settings(home))
    made.model = ScriptedModel()
    return made


def own(app: Agent) -> list[str]:
    return [skill.name for skill in app.skills() if skill.source == "home"]


def head(app: Agent) -> str:
    return context_report(app, None).request.messages[0].content


def test_a_new_a_changed_and_a_removed_skill_count_on_the_next_turn(app: Agent) -> None:
    assert own(app) == []
    path = put(app.home.skills, "s", front(description="One way."))
    assert "- s: One way." in head(app)
    path.write_text(front(description="Other way."), encoding="utf-8")
    assert "- s: Other way." in head(app)
    path.unlink()
    assert own(app) == []


def test_only_skills_that_can_be_used_are_told(app: Agent) -> None:
    put(app.home.skills, "fine", front(name="fine", description="Fine one."))
    put(app.home.skills, "broken", "no\n")
    put(app.home.skills, "gated", front('metadata: {"openclaw": {"os": "plan9"}}', name="gated"))
    put(app.home.skills, "off", front(name="off", description="Off one."))
    put(app.home.skills, "manual", front("disable-model-invocation: true", name="manual"))
    put(app.home.root / ".agents" / "skills", "fine", front(name="fine", description="Worse one."))
    app.home.settings.write_text("skills:\n  off: ['off']\n", encoding="utf-8")
    told = Agent.open(app.home, load_settings(app.home))
    told.model = ScriptedModel()
    assert own(told) == ["fine", "manual"]
    assert "- fine: Fine one." in head(told)
    assert not any(
        word in head(told) for word in ("Worse one.", "Off one.", "- gated:", "- manual:")
    )


def test_the_homes_own_skills_come_first_whatever_is_asked(app: Agent) -> None:
    for number in range(80):
        put(app.home.skills, f"s{number}", front(name=f"s{number}", description="Bakes bread."))
    put(app.home.root / ".agents" / "skills", "a", front(name="a", description="Bakes cakes."))
    plain, asked = app.turn_skills(), app.turn_skills("Bake me two cakes")
    assert plain.skills[-1].name == "a" and plain.skills[0].name == "s0"
    assert plain.listed == asked.listed and "a" not in asked.listed
    assert "a" in asked.offered and "a" not in plain.offered
