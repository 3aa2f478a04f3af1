"""Import skills, through the same checks as `openclaw skills install`. Nothing of one is run.

A skill with suspicious words, or with programs, waits in skills/.proposed until the user has looked
at it; one that cannot be used stays where it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from openclaw.errors import OpenclawError
from openclaw.maintenance.importers.source import Source, decode_text
from openclaw.maintenance.importers.steps import ImportStep, SourceItem, Transfer
from openclaw.security.credentials import why_name_denied
from openclaw.security.display import count_of
from openclaw.security.secrets import find_secrets
from openclaw.skills.frontmatter import SkillError
from openclaw.skills.install import install_staged, stage_skill, strict_name
from openclaw.skills.proposals import save_proposal
from openclaw.skills.review_points import MAX_FILE, find_review_points, is_script
from openclaw.skills.skill import read_skill_file, skill_files
from openclaw.skills.sources import Origin
from openclaw.skills.unpack import hash_files
from openclaw.storage.home import PROPOSED

MANIFEST = ".bundled_manifest"
"""Of Hermes: the skills that came with it, `name:hash` on each line (tools/skills_sync.py)."""
MAX_NAMED = 3
TAKE_OUT = ": take it out and import again, or: openclaw skills install FOLDER"


def plan_skills(to: Transfer, item: SourceItem) -> Iterator[ImportStep]:
    shipped = _manifest_names(to.source, item.path)
    for found, error in skill_files(to.source.root / item.path):
        file = Path(found)
        skill = SourceItem("skill", file.parent.relative_to(to.source.root).as_posix())
        try:
            if error is not None:
                raise error
            yield _plan(to, skill, file, shipped)
        except (OpenclawError, SkillError) as problem:
            yield skill.step("leave", detail=str(problem))


def _plan(to: Transfer, item: SourceItem, file: Path, shipped: frozenset[str]) -> ImportStep:
    folder = file.parent
    skill, problems = read_skill_file(file)
    if skill is None:
        return item.step("leave", detail=f"it cannot be used: {problems[0].message}")
    if {skill.name, folder.name} & shipped:
        told = f"it comes with {to.label} and is made for its tools"
        return item.step("leave", detail=told)
    name = strict_name(skill.name) or strict_name(folder.name) or "skill"
    target = f"skills/{name}"
    if target in to.planned:
        told = f"another skill is called {name}: {to.planned[target]}"
        return item.step("leave", detail=told)
    prints = hash_files(folder)
    for place in (target, f"{PROPOSED}/{name}"):
        if (there := to.home.root / place).exists():
            if hash_files(there) == prints:
                return item.step("known", place)
            return item.step("leave", place, f"there is another skill {name}")
    if closed := _credential_reason(folder, sorted(prints)):
        return item.step("leave", detail=f"{closed}{TAKE_OUT}")
    to.planned[target] = item.path
    if reasons := _reasons(folder, sorted(prints)):
        told = f"is for you to review: {', '.join(reasons)}"
        return item.step("hold", f"{PROPOSED}/{name}", told)
    return item.step("install", target)


def take_skill(to: Transfer, step: ImportStep) -> ImportStep:
    """Install a skill, or have it wait. Raises as `stage` and `accept` do."""
    origin = Origin("folder", str(to.source.root / step.item.path))
    name = step.target.rpartition("/")[2]
    with stage_skill(to.home, origin, name=name) as staged:
        if step.deed == "hold":
            save_proposal(to.home, staged, to.recorder)
        else:
            install_staged(to.home, staged, to.recorder)
    return step


def _reasons(folder: Path, names: list[str]) -> list[str]:
    """Return what needs a look in a skill, each kind once; "" for nothing."""
    kinds = dict.fromkeys(look.kind for look in find_review_points(folder, names))
    programs = sum(is_script(folder / name) for name in names)
    told = [count_of(programs, "program")] if programs else []
    return (told + list(kinds))[:MAX_NAMED]


def _credential_reason(folder: Path, names: list[str]) -> str:
    """Return why a skill must not be copied: secrets in plain text; "" for none."""
    for name in names:
        if reason := why_name_denied(name):
            return f"it holds {name} ({reason})"
    for name in names:
        try:
            with (folder / name).open("rb") as file:
                text = decode_text(file.read(MAX_FILE))
        except (OSError, OpenclawError):
            continue  # no text
        if secrets := find_secrets(text):
            return f"{name} holds a secret ({secrets[0].kind})"
    return ""


def _manifest_names(source: Source, folder: str) -> frozenset[str]:
    with suppress(OpenclawError):
        lines = source.text(f"{folder}/{MANIFEST}").splitlines()
        return frozenset(line.partition(":")[0].strip() for line in lines if line.strip())
    return frozenset()
