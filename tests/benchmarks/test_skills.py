"""benchmarks/skills.py counts what skills add to a request."""

from __future__ import annotations

from pathlib import Path

from benchmarks.skills import put_skills, tokens
from openclaw.config import Settings
from openclaw.skills.skill import list_installed
from openclaw.storage.home import Home
from openclaw.storage.new_home import create_home


def test_made_up_skills_can_all_be_used_and_many_cost_little_more_than_some(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    create_home(home.root)
    put_skills(home, 100)
    found = [entry for entry in list_installed(home, Settings()) if entry.source == "home"]
    assert sum(entry.skill is not None for entry in found) == 100
    assert [p.code for entry in found for p in entry.problems if p.code != "requires"] == [
        "yaml-repaired"
    ]
    some, many = tokens(30, home), tokens(120, home)
    assert 0 < many[0] < 1.2 * some[0]
    assert many[0] < 500
