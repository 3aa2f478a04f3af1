"""Import skills, through the same checks as `openclaw skills install`. Nothing of one is run.

A skill with suspicious words, or with programs, waits in skills/.proposed until the user has looked
at it; one that cannot be used stays where it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from openclaw.errors import OpenclawError
from openclaw.maintenance.importers.detect import SourceItem
from openclaw.maintenance.importers.source import Source, decode_text
from openclaw.maintenance.importers.steps import ImportStep
from openclaw.security.credentials import why_name_denied
from openclaw.security.secrets import find_secrets
from openclaw.skills.inspect import MAX_FILE, find_review_points, is_script
from openclaw.skills.install import install_staged, stage_skill, strict_name
from openclaw.skills.proposals import save_proposal
from openclaw.skills.skill import read_skill_file
from openclaw.skills.skill_files import skill_files
from openclaw.skills.sources import Origin
from openclaw.skills.unpack import compare_fingerprints, fingerprints
from openclaw.storage.home import PROPOSED, Home
from openclaw.types import UNRECORDED, Recorder

MANIFEST = ".bundled_manifest"
"""Of Hermes: the skills that came with it, `name:hash` on each line (tools/skills_sync.py)."""
MOST_NAMED = 3
TAKE_OUT = ": take it out and import again, or: openclaw skills install FOLDER"


@dataclass(slots=True)
class Skills:
    """Plans and installs skills."""

    home: Home
    label: str
    recorder: Recorder = UNRECORDED
    _planned: dict[str, str] = field(default_factory=dict)

    def plan(self, source: Source, item: SourceItem) -> Iterator[ImportStep]:
        """Plan the import of each skill of a folder."""
        shipped = _manifest_names(source, item.path)
        for found, error in skill_files(source.root / item.path):
            folder = Path(found).parent
            path = folder.relative_to(source.root).as_posix()
            if error is not None:
                yield ImportStep("skill", path, "", "leave", str(error))
                continue
            try:
                yield self._skill(Path(found), path, shipped)
            except OpenclawError as problem:
                yield ImportStep("skill", path, "", "leave", str(problem))

    def _skill(self, found: Path, path: str, shipped: frozenset[str]) -> ImportStep:
        skill, problems = read_skill_file(found)
        if skill is None:
            return ImportStep(
                "skill", path, "", "leave", f"it cannot be used: {problems[0].message}"
            )
        if {skill.name, found.parent.name} & shipped:
            told = f"it comes with {self.label} and is made for its tools"
            return ImportStep("skill", path, "", "leave", told)
        name = strict_name(skill.name) or strict_name(found.parent.name) or "skill"
        if name in self._planned:
            told = f"another skill is called {name}: {self._planned[name]}"
            return ImportStep("skill", path, "", "leave", told)
        prints = fingerprints(found.parent)
        for place in (f"skills/{name}", f"{PROPOSED}/{name}"):
            if (there := self.home.root / place).exists():
                same = not compare_fingerprints(fingerprints(there), prints)
                told = "" if same else f"there is another skill {name}"
                return ImportStep("skill", path, place, "known" if same else "leave", told)
        if closed := _credential_reason(found.parent, sorted(prints)):
            return ImportStep("skill", path, "", "leave", f"{closed}{TAKE_OUT}")
        self._planned[name] = path
        reasons = _reasons(found.parent, sorted(prints))
        if reasons:
            told = f"is for you to review: {', '.join(reasons)}"
            return ImportStep("skill", path, f"{PROPOSED}/{name}", "hold", told)
        return ImportStep("skill", path, f"skills/{name}", "install", "")

    def carry_out(self, source: Source, step: ImportStep) -> ImportStep:
        """Install a skill, or have it wait. Raises as `stage` and `accept` do."""
        origin = Origin("folder", str(source.root / step.source))
        name = step.target.rpartition("/")[2]
        with stage_skill(self.home, origin, name=name) as staged:
            if step.deed == "hold":
                save_proposal(self.home, staged, self.recorder)
            else:
                install_staged(self.home, staged, self.recorder)
        return step


def _reasons(folder: Path, names: list[str]) -> list[str]:
    """Return what needs a look in a skill, each kind once; "" for nothing."""
    kinds = dict.fromkeys(look.kind for look in find_review_points(folder, names))
    programs = sum(is_script(folder / name) for name in names)
    told = [f"{programs} program{'s' if programs > 1 else ''}"] if programs else []
    return (told + list(kinds))[:MOST_NAMED]


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
    path = f"{folder}/{MANIFEST}"
    if not source.is_file(path):
        return frozenset()
    try:
        lines = source.text(path).splitlines()
    except OpenclawError:
        return frozenset()
    return frozenset(line.partition(":")[0].strip() for line in lines if line.strip())
