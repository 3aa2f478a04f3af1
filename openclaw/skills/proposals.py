"""Skills that the agent has written: kept apart in skills/.proposed until the user accepts them."""

from __future__ import annotations

import difflib
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from openclaw.errors import UsageError
from openclaw.frozen import frozen
from openclaw.skills.frontmatter import SkillProblem
from openclaw.skills.install import StagedSkill, stage_skill, strict_name
from openclaw.skills.install import install_staged as install
from openclaw.skills.review_points import ReviewPoint, find_review_points
from openclaw.skills.skill import MAX_DESCRIPTION, MAX_NAME, NAME, read_skill_file
from openclaw.skills.sources import read_origin
from openclaw.skills.staging import recording_change
from openclaw.skills.unpack import make_folder
from openclaw.storage.home import PROPOSED, Home, name_trouble
from openclaw.storage.safe_open import check_no_links, read_text
from openclaw.storage.text import report_unwritable, write_if_same
from openclaw.types import UNRECORDED, BeforeWrite, Recorder, record_no_write


@frozen
class Proposal:
    """A skill that waits for the user.

    diff: unified diff lines against the skill of this name
    looks: lines that the user should see
    """

    name: str
    folder: Path
    diff: tuple[str, ...]
    problems: tuple[SkillProblem, ...]
    looks: tuple[ReviewPoint, ...]

    def as_json(self, home: Home) -> dict[str, Any]:
        return {
            "name": self.name,
            "path": home.relative(self.folder),
            "diff": list(self.diff),
            "problems": [problem.as_json() for problem in self.problems],
            "looks": [str(look) for look in self.looks],
        }


def proposals(home: Home) -> list[Proposal]:
    """Return the waiting proposals by name."""
    folder = home.root / PROPOSED
    if not folder.is_dir():
        return []
    found = sorted(
        path for path in check_no_links(folder).iterdir() if path.is_dir() and not path.is_symlink()
    )
    return [_proposal(home, path) for path in found]


def find_proposal(home: Home, name: str) -> Proposal:
    """The proposal of a name. Raises UsageError when there is none."""
    for proposal in proposals(home):
        if proposal.name == name:
            return proposal
    raise UsageError(f"no skill {name} was proposed", "see them all: openclaw skills review")


def accept_proposal(home: Home, name: str, recorder: Recorder = UNRECORDED) -> Path:
    """Make a proposal a skill, in place of the one of its name; returns the skill's folder. Raises
    as `install.stage` does, with everything as it was."""
    proposal = find_proposal(home, name)
    with stage_skill(home, read_origin(str(proposal.folder), home.root), name=name) as staged:
        # Where the skill itself was installed from, if it was, stays known.
        folder = install(home, replace(staged, provenance={}), recorder, force=True)
    reject_proposal(home, name, recorder)
    return folder


def save_proposal(home: Home, staged: StagedSkill, recorder: Recorder = UNRECORDED) -> Path:
    """Have a staged skill wait as a proposal; returns its folder. UsageError when one of its name
    waits already."""
    target = home.root / PROPOSED / staged.name
    if os.path.lexists(target):
        raise UsageError(f"a skill {staged.name} was proposed already", "openclaw skills review")
    with report_unwritable(target):
        make_folder(check_no_links(target.parent))
        with recording_change(home, recorder, target, new=staged.folder):
            staged.folder.rename(target)
    return target


def reject_proposal(home: Home, name: str, recorder: Recorder = UNRECORDED) -> None:
    """Delete a proposal."""
    folder = check_no_links(find_proposal(home, name).folder)
    with recording_change(home, recorder, folder, old=folder):
        shutil.rmtree(folder)


def _proposal(home: Home, folder: Path) -> Proposal:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    names = sorted(path.relative_to(folder).as_posix() for path in files)
    _, problems = read_skill_file(folder / "SKILL.md")
    diff = [line for name in names for line in _diff(home, folder, name)]
    found = tuple(find_review_points(folder, names))
    return Proposal(folder.name, folder, tuple(diff), tuple(problems), found)


def _diff(home: Home, folder: Path, name: str) -> list[str]:
    current = home.skills / folder.name / name
    before = read_text(current).splitlines() if current.is_file() else []
    after = read_text(folder / name).splitlines()
    label = f"skills/{folder.name}/{name}"
    return list(difflib.unified_diff(before, after, label, label, lineterm=""))


BODY = """
# {title}

Say here what to do, step by step, in the words of the task: what is needed, which tool for what,
how the answer looks, when to stop and ask. Short steps are followed better than long ones.

1. First step.
2. Second step.

## Example

What the user writes, and what a good answer to it is.
"""


def create_skill(
    skills: Path, name: str, description: str = "", keep: BeforeWrite = record_no_write
) -> Path:
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
    fields = {"name": name, "description": about}
    front = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=10_000)
    text = f"---\n{front}---\n{BODY.format(title=title.capitalize())}"
    data = text.encode("utf-8", "replace")
    if os.path.lexists(path.parent) or not write_if_same(path, None, data, keep):
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
