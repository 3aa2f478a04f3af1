"""Which skills the user has accepted: those that came with the program or were installed."""

from __future__ import annotations

from contextlib import suppress

from openclaw.errors import OpenclawError
from openclaw.files.beneath import read_bytes
from openclaw.files.home import PROPOSED, Home
from openclaw.files.starter import starter_files
from openclaw.skills.provenance import sources


def accepted(home: Home, path: str) -> bool:
    """Whether a file of a skill may be believed. Its SKILL.md may: it stands in skills/ because the
    user put it there to be followed. Other files of a skill that nobody installed may be anybody's.
    """
    if path.startswith(f"{PROPOSED}/"):
        return False
    name, _, inner = path.removeprefix("skills/").partition("/")
    if inner in ("", "SKILL.md"):
        return True
    with suppress(OpenclawError, OSError):
        if name in sources(home.skills):
            return True
        return starter_files().get(path) == read_bytes(home.root / path)
    return False
