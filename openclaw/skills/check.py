"""Whether a skill keeps to the letter of the standard; being loaded takes less."""

from __future__ import annotations

import os
from pathlib import Path

from openclaw.skills.load import Problem, read_skill_file
from openclaw.skills.walk import skill_file


def check(path: Path) -> list[Problem]:
    """Every rule that a skill breaks; [] when it is valid. `path` is its folder or its SKILL.md.

    A warning is a broken rule of the standard with which a skill is loaded all the same.
    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 - for the folder's name; links stay
    file = skill_file(path)
    if file is None:
        text = "there is no SKILL.md in this folder" if path.is_dir() else "there is no such file"
        return [Problem(path, "error", "unreadable", text)]
    return read_skill_file(file)[1]
