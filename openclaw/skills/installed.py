"""The skills of a home, as settings and machine are now: what everybody else calls."""

from __future__ import annotations

from openclaw.config.settings import Settings
from openclaw.files.home import Home
from openclaw.skills.gates import gatekeeper
from openclaw.skills.load import Listed, list_skills, roots


def installed(home: Home, settings: Settings) -> list[Listed]:
    """Everything that is found, by name. Quick enough for every turn: a file is read once."""
    return list_skills(
        roots(home, user=settings.skills.user),
        gates=gatekeeper(settings),
        cache=home.private / "skills.json",
    )
