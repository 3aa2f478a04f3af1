"""Takes a skill out of the home's skills folder."""

from __future__ import annotations

import os
from pathlib import Path

from openclaw.errors import UsageError
from openclaw.files.home import Home
from openclaw.files.text import unwritable
from openclaw.shapes import UNRECORDED, Recorder
from openclaw.skills.keeping import altering
from openclaw.skills.load import Root, list_skills
from openclaw.skills.provenance import record, sources
from openclaw.skills.staging import staging


def installed(home: Home, name: str) -> Path:
    """The folder of a skill in the home's skills folder, by its name or its folder's name.

    UsageError when there is none or several, or when it is not a real folder below it.
    """
    listed = list_skills([Root(home.skills, "home")])
    found = {one.path.parent for one in listed if one.name == name}
    found = found or {one.path.parent for one in listed if one.path.parent.name == name}
    if not found:
        raise UsageError(f"there is no skill {name} in skills/", "see: openclaw skills list")
    if len(found) > 1:
        raise UsageError(
            f"{name} is the name of {len(found)} skills",
            "delete the folder that you mean: " + ", ".join(sorted(map(home.relative, found))),
        )
    (folder,) = found
    _check_below(home, folder)
    return folder


def remove(home: Home, folder: Path, recorder: Recorder = UNRECORDED) -> None:
    """Delete a skill's folder, one that `installed` gave, and forget where it came from.

    It leaves its place in one step; OpenclawError, and nothing changed, when it cannot.
    """
    _check_below(home, folder)
    with staging(home) as temporary:
        sources(home.skills)  # Damaged, before anything moves
        away = temporary / "removed"
        with altering(home, recorder, folder, old=folder):
            try:
                folder.rename(away)
            except OSError as error:
                raise unwritable(folder, error) from error
            try:
                if folder.parent == home.skills:
                    record(home.skills, folder.name, None, recorder.keep)
            except BaseException:
                away.rename(folder)
                raise


def _check_below(home: Home, folder: Path) -> None:
    """UsageError unless the folder really lies below the home's skills folder."""
    top = Path(os.path.realpath(home.skills))
    real = Path(os.path.realpath(folder))
    expected = top / os.path.relpath(folder, home.skills)
    if real != expected or top not in real.parents:
        raise UsageError(
            f"{folder} is not a folder of its own below {home.skills}", "delete it by hand"
        )
