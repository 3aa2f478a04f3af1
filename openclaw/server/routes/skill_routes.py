"""Skills."""

from __future__ import annotations

from typing import Any

from openclaw.config import load_settings
from openclaw.server.api import OBJECT, TEXT, TRUTH, ApiCall, Routes, a_list, an_object, looking_up
from openclaw.skills.skill import find_skill, list_installed

ROUTES = Routes()
SKILL = an_object(
    "name description path source",
    required={"eligible": TRUTH},
    problems=a_list(OBJECT),
    compatibility=TEXT,
    allowed_tools=a_list(TEXT),
    model_invocable=TRUTH,
    user_invocable=TRUTH,
    body=TEXT,
)


@ROUTES.add("GET", "/api/skills", "read", answer=a_list(SKILL))
def list_skills(call: ApiCall) -> Any:
    """All skills, with the reason for those that cannot be used."""
    home = call.server.home
    return [
        entry.as_json(home)
        | {"user_invocable": entry.skill is not None and entry.skill.user_invocable}
        for entry in list_installed(home, load_settings(home))
    ]


@ROUTES.add("GET", "/api/skills/{name}", "read", answer=SKILL)
def show(call: ApiCall, name: str) -> Any:
    """A skill with its instructions."""
    home = call.server.home
    with looking_up():
        entry = find_skill(list_installed(home, load_settings(home)), name)
    return entry.as_json(home, whole=True)
