"""A home without skills, a skill that can be installed, and `openclaw skills` in that home."""

from __future__ import annotations

from pathlib import Path

import pytest

from openclaw.storage.home import Home
from openclaw.storage.trust_store import trust_home
from tests.fakes.files import write_files
from tests.fakes.skill_home import SKILL, Claw


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """The home that OPENCLAW_HOME names in every test."""
    home = Home(write_files(tmp_path / "home", {"workspace/SOUL.md": "# Soul\n"}))
    trust_home(home)
    return home


@pytest.fixture
def weather(tmp_path: Path) -> Path:
    """The folder of a skill with a script."""
    files = {"SKILL.md": SKILL.format("weather"), "scripts/run.sh": "#!/bin/sh\necho hi\n"}
    return write_files(tmp_path / "from" / "weather", files)


@pytest.fixture
def claw(home: Home) -> Claw:
    return Claw(home)
