"""Installs, updates and removes skills: staged in a hidden folder, inspected, then renamed.

Nothing of a skill runs here. A process that dies leaves a hidden folder, which the next one clears.
"""

from __future__ import annotations

import contextlib
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any, Literal

from openclaw.errors import OpenclawError, UsageError
from openclaw.frozen import frozen
from openclaw.security.display import count_of, some_lines
from openclaw.skills.frontmatter import SkillProblem
from openclaw.skills.review_points import ReviewPoint, find_review_points, is_script
from openclaw.skills.skill import MAX_NAME, NAME, Root, Skill, list_skills, read_skill_file
from openclaw.skills.source_records import read_source_records, record
from openclaw.skills.sources import Origin, fetch
from openclaw.skills.staging import recording_change, staging
from openclaw.skills.unpack import (
    SUFFIXES,
    compare_fingerprints,
    copy_folder,
    digest,
    hash_file,
    hash_files,
    make_folder,
    refusal,
    unpack,
)
from openclaw.storage.home import Home, name_trouble
from openclaw.storage.text import report_unwritable
from openclaw.types import UNRECORDED, Recorder

MAX_LISTED = 30


@frozen
class StagedSkill:
    """A skill that waits in a hidden folder.

    name: its future folder's name
    files: relative paths with slashes, and sizes in bytes
    problems: warnings about its SKILL.md
    provenance: its entry of .sources.yaml; without fields the entry that is there stays
    replaces: such a folder is there already
    """

    name: str
    skill: Skill
    folder: Path
    files: tuple[tuple[str, int], ...]
    scripts: tuple[str, ...]
    looks: tuple[ReviewPoint, ...]
    problems: tuple[SkillProblem, ...]
    provenance: Mapping[str, str]
    replaces: bool

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(size for _, size in self.files)

    def as_json(self, path: str) -> dict[str, Any]:
        """Return it for programs, as it was installed in this folder of the home."""
        return {
            "name": self.name,
            "path": path,
            **self.provenance,
            "replaced": self.replaces,
            "size": self.size,
            "files": [name for name, _ in self.files],
            "scripts": list(self.scripts),
            "looks": [asdict(look) for look in self.looks if not look.note],
            "notes": [asdict(look) for look in self.looks if look.note],
            "problems": [problem.as_json() for problem in self.problems],
        }


@contextlib.contextmanager
def stage_skill(
    home: Home, origin: Origin, *, choice: str = "", name: str = ""
) -> Iterator[StagedSkill]:
    """Fetch a skill and look at it, without installing it; gone again after the with-block.

    `choice` names one of several skills, `name` the folder if not the skill's own name is to
    decide. The skills folder is locked. Raises UsageError when the source has not exactly one
    skill, Refused when it breaks a rule, OpenclawError when it cannot be fetched or read.
    """
    with staging(home) as folder:
        yield _stage_skill(home, origin, folder, choice, name)


def install_staged(
    home: Home,
    staged: StagedSkill,
    recorder: Recorder = UNRECORDED,
    *,
    force: bool = False,
    pinned: bool = False,
) -> Path:
    """Put the staged skill into its place and note where it came from; returns its folder.

    UsageError when there is one of this name and not `force`. When it fails, all is as before.
    """
    target = home.skills / staged.name
    check_free(home, staged.name, force=force)
    fields = dict(staged.provenance) | ({"pinned": "true"} if pinned else {})
    read_source_records(home.skills)  # Damaged, before anything moves
    old = staged.folder.parent.parent / "old" / staged.name
    try:
        with (
            report_unwritable(target),
            recording_change(home, recorder, target, old=target, new=staged.folder),
        ):
            if os.path.lexists(target):
                make_folder(old.parent)
                target.rename(old)
            staged.folder.rename(target)
            if fields:
                record(home.skills, staged.name, fields, recorder.keep)
    except BaseException:
        with contextlib.suppress(OSError):
            if not staged.folder.exists() and target.exists():
                target.rename(staged.folder)
        with contextlib.suppress(OSError):
            if os.path.lexists(old):
                old.rename(target)
        raise
    return target


def check_free(home: Home, name: str, *, force: bool) -> None:
    """UsageError when the skill's folder is there already and must not be replaced."""
    if os.path.lexists(home.skills / name) and not force:
        raise UsageError(
            f"there is a skills/{name} already", "replace it with --force, or remove it first"
        )


def strict_name(name: str) -> str:
    """A name turned to the pattern of the standard, "" when nothing of it is left."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:MAX_NAME].strip("-")
    return f"{slug}-skill" if slug and name_trouble(slug, windows=True) else slug


def _stage_skill(
    home: Home, origin: Origin, temporary: Path, choice: str, name: str
) -> StagedSkill:
    top, provenance = _fetch_source(origin, temporary)
    found = _choose_skill_file(top / origin.path, choice)
    # The way from the top to the folder may not go through a link.
    expected = Path(os.path.realpath(top)) / found.parent.relative_to(top)
    if Path(os.path.realpath(found.parent)) != expected:
        raise refusal(f"{_folder_label(found.parent / 'SKILL.md', top)} is a link")
    original, _ = read_skill_file(found)
    own = strict_name(original.name) if original else ""
    folder_name = name or own or strict_name(found.parent.name) or "skill"
    folder = temporary / "new" / folder_name
    make_folder(folder)
    copy_folder(found.parent, folder)
    skill, problems = read_skill_file(folder / found.name)
    if skill is None:
        raise OpenclawError(
            f"its SKILL.md cannot be used: {problems[0].message} ({problems[0].code})",
            "the skill's author has to repair it; nothing was installed",
        )
    prints = hash_files(folder)
    names = sorted(prints)
    contents = digest(prints)
    fields = {"sha256": contents} if origin.kind == "folder" else {}
    fields = {**provenance, **fields, "contents": contents, "installed": str(date.today())}
    return StagedSkill(
        name=folder_name,
        skill=skill,
        folder=folder,
        files=tuple((one, (folder / one).stat().st_size) for one in names),
        scripts=tuple(one for one in names if is_script(folder / one)),
        looks=tuple(find_review_points(folder, names)),
        problems=tuple(problems),
        provenance=fields | ({"chosen": choice} if choice else {}),
        replaces=os.path.lexists(home.skills / folder_name),
    )


def _fetch_source(origin: Origin, temporary: Path) -> tuple[Path, dict[str, str]]:
    """The folder in which to look for skills, and the first fields of the provenance."""
    fields = {"source": str(origin), "kind": origin.kind}
    stem = Path(origin.place.replace(":", "/")).name
    for suffix in (*SUFFIXES, ".git"):
        stem = stem[: -len(suffix)] if stem.lower().endswith(suffix) else stem
    top = temporary / "from" / (strict_name(stem) or "skill")
    if origin.kind == "folder":
        return Path(origin.place), fields
    make_folder(top)
    if origin.kind == "archive":
        fields["sha256"] = hash_file(Path(origin.place))
        unpack(Path(origin.place), top)
    else:
        fields["commit"] = fetch(origin, top)
    return top, fields


def _choose_skill_file(top: Path, choice: str) -> Path:
    """The SKILL.md to install. One skill must lie at the top or in a folder there; another one, or
    one of several, must be named."""
    names = {one.path: one.name for one in list_skills([Root(top, "home")])}
    names = {path: own for path, own in names.items() if path.parent == top} or names
    if choice:
        found = [path for path, own in names.items() if choice in (own, path.parent.name)]
    else:
        found = list(names)
    if len(found) == 1 and (choice or len(found[0].relative_to(top).parts) <= 2):
        return found[0]
    if not names:
        raise UsageError("there is no SKILL.md in it", "a skill is a folder with a SKILL.md")
    places = sorted(f"{own}  ({_folder_label(path, top)})" for path, own in names.items())
    what = f"it holds {count_of(len(names), 'skill')}, none alone at its top"
    if choice:
        what = f"{count_of(len(found), 'skill')} in it are called {choice}"
    listed = ["choose one with --name:", *some_lines(places, MAX_LISTED)]
    raise UsageError(what, "\n".join(listed))


def _folder_label(path: Path, top: Path) -> str:
    return path.parent.relative_to(top).as_posix()


def find_installed(home: Home, name: str) -> Path:
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
        read_source_records(home.skills)  # Damaged, before anything moves
        away = temporary / "removed"
        with recording_change(home, recorder, folder, old=folder):
            with report_unwritable(folder):
                folder.rename(away)
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


def tracked_skills(home: Home, name: str = "") -> dict[str, dict[str, str]]:
    """The entries of .sources.yaml, or that of one name. UsageError when there is none such."""
    entries = read_source_records(home.skills).items()
    found = {key: one for key, one in entries if NAME.fullmatch(key) and one.get("source")}
    if not name:
        return found
    if name not in found:
        raise UsageError(
            f"it is not known where skills/{name} came from",
            "only what `openclaw skills install` brought can be updated",
        )
    return {name: found[name]}


def is_pinned(fields: Mapping[str, str]) -> bool:
    return fields.get("pinned", "").lower() in ("true", "yes", "on")


def check_update(
    home: Home, staged: StagedSkill, fields: Mapping[str, str]
) -> tuple[Literal["unchanged", "changed", "edited"], dict[str, list[str]]]:
    """Return the changes of a staged skill to the installed one of its name: `unchanged` when the
    source has what was installed, `edited` when the installed files were changed here since."""
    here = hash_files(home.skills / staged.name)
    there = hash_files(staged.folder)
    changes = compare_fingerprints(here, there)
    known = fields.get("contents", "")
    if here == there or digest(there) == known:
        return "unchanged", changes
    return "changed" if digest(here) == known else "edited", changes
