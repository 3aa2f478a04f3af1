"""Writes the SKILL.md of a new skill."""

from __future__ import annotations

import os
from pathlib import Path

from openclaw.errors import UsageError
from openclaw.files.home import name_trouble
from openclaw.files.text import write_if_same
from openclaw.shapes import Keep, keep_nothing
from openclaw.skills.install import strict_name
from openclaw.skills.load import MAX_DESCRIPTION, MAX_NAME, NAME

BODY = """
# {title}

Say here what to do, step by step, in the words of the task: what is needed, which tool for what,
how the answer looks, when to stop and ask. Short steps are followed better than long ones.

1. First step.
2. Second step.

## Example

What the user writes, and what a good answer to it is.
"""


def create(skills: Path, name: str, description: str = "", keep: Keep = keep_nothing) -> Path:
    """A new skill's SKILL.md, valid as it stands; returns its path. `keep` is told before.

    UsageError for a name or description that the standard does not allow, and when the folder is
    there already.
    """
    import yaml

    _check_name(name)
    title = name.replace("-", " ")
    about = " ".join(description.split()) or f"Does {title}. Use when the user asks for {title}."
    if len(about) > MAX_DESCRIPTION:
        raise UsageError(
            f"the description has {len(about):,} characters",
            f"at most {MAX_DESCRIPTION:,}; the rest belongs into the body",
        )
    path = skills / name / "SKILL.md"
    if os.path.lexists(path.parent):
        raise UsageError(f"there is a skills/{name} already", "choose another name, or edit it")
    fields = {"name": name, "description": about}
    front = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=10_000)
    text = f"---\n{front}---\n{BODY.format(title=title.capitalize())}"
    if not write_if_same(path, None, text.encode("utf-8", "replace"), keep):
        raise UsageError(f"there is a skills/{name} already", "choose another name, or edit it")
    return path


def _check_name(name: str) -> None:
    if NAME.fullmatch(name) and len(name) <= MAX_NAME and not name_trouble(name, windows=True):
        return
    better = strict_name(name)
    raise UsageError(
        f"{name!r} is not a skill's name: lowercase letters, digits and single hyphens, at most "
        f"{MAX_NAME}",
        f"for example: openclaw skills new {better}" if better else "",
    )
