"""Skill folders for tests."""

from __future__ import annotations

from pathlib import Path

from openclaw.skills.skill import Root, Skill, list_skills
from tests.fakes.files import write_file

GOOD = "---\nname: {0}\ndescription: Does {0}.\n---\n\n# {0}\n\nBody.\n"


def put(folder: Path, name: str, text: str | bytes = "", file: str = "SKILL.md") -> Path:
    """Write a SKILL.md into folder/name, a good one when nothing is given."""
    path = folder / name / file
    return write_file(path, text or GOOD.format(path.parent.name))


def front(*lines: str, name: str = "s", description: str = "Does it.") -> str:
    """A SKILL.md of a name, a description and more lines of frontmatter."""
    return "\n".join(["---", f"name: {name}", f"description: {description}", *lines, "---", ""])


def usable_skills(folder: Path) -> list[Skill]:
    """The skills of a folder, their requirements unchecked."""
    return [entry.skill for entry in list_skills([Root(folder, "home")]) if entry.skill]
