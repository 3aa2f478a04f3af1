"""Skills: folders with a SKILL.md, read tolerantly. A bad skill is a problem in the result."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from openclaw.errors import OpenclawError
from openclaw.files.home import Home
from openclaw.skills.cache import Cache
from openclaw.skills.frontmatter import parse, split
from openclaw.skills.gates import OPEN, Gate, flag, read_gate
from openclaw.skills.problems import Note, SkillError, warning
from openclaw.skills.problems import Problem as Problem
from openclaw.skills.source import read_source
from openclaw.skills.triggers import examples
from openclaw.skills.walk import skill_file, skill_files

MAX_NAME = 64
MAX_LABEL = 256
MAX_DESCRIPTION = 1024
MAX_COMPATIBILITY = 500
SHIPPED = Path(__file__).parent / "shipped"

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
SOURCES = ("home", "agents", "user", "shipped")
"""Where skills come from, the best first."""
_NO_VALUE = frozenset(("null", "Null", "NULL", "~"))  # YAML's words for it
_TOOLS = re.compile(r"[^\s,()]+(?:\([^()]*\))?")


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill that can be read. `path` is its SKILL.md; `source` is home, agents, user or shipped.

    `description` is for the catalogue: `about`, the field as it stands, and `when_to_use`.
    `examples` are requests that it is for, those of its trigger tests.
    """

    name: str
    description: str
    path: Path
    source: str = "home"
    gate: Gate = OPEN
    model_invocable: bool = True
    user_invocable: bool = True
    allowed_tools: tuple[str, ...] = ()
    compatibility: str = ""
    about: str = ""
    examples: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        return self.path.parent

    def body(self) -> str:
        """The text below the frontmatter as it is now, its names for the skill's folder replaced.

        Raises OpenclawError when the file can no longer be read.
        """
        try:
            _, body = split(read_source(self.path)[0])
        except SkillError as bad:
            raise OpenclawError(
                f"the skill {self.name} cannot be read: {bad}", f"look at {self.path}"
            ) from bad
        folder = shown_path(self.folder)
        for sign in ("{baseDir}", "${CLAUDE_SKILL_DIR}"):
            body = body.replace(sign, folder)
        return body.strip()


@dataclass(frozen=True, slots=True)
class Listed:
    """A SKILL.md that was found. `skill` is None when it is broken; then the name is that of its
    folder. `eligible`: it may be used now."""

    name: str
    description: str
    path: Path
    source: str
    eligible: bool
    problems: tuple[Problem, ...] = ()
    skill: Skill | None = None


@dataclass(frozen=True, slots=True)
class Root:
    """A folder of skills."""

    folder: Path
    source: str


def roots(home: Home, *, user: bool = False) -> list[Root]:
    """Where a home's skills are looked for, the best first; with `user` in ~/.agents/skills too."""
    found = [Root(home.skills, "home"), Root(home.root / ".agents" / "skills", "agents")]
    if user:
        own = Path("~/.agents/skills").expanduser()
        if os.path.realpath(own) != os.path.realpath(found[1].folder):
            found.append(Root(own, "user"))
    if SHIPPED.is_dir():
        found.append(Root(SHIPPED, "shipped"))
    return found


def no_gates(skill: Skill) -> list[Problem]:
    """Every skill may be used."""
    return []


def list_skills(
    roots: Sequence[Root],
    *,
    gates: Callable[[Skill], list[Problem]] = no_gates,
    cache: Path | None = None,
) -> list[Listed]:
    """Everything found in the roots, by name: broken, hidden and closed skills too.

    A skill hides those of its name in later roots and behind it in its own, before its gate is
    looked at. `gates` gives the reasons why a skill may not be used now; `cache` is a file that
    keeps what was read.
    """
    kept = Cache(cache)
    first: dict[str, Skill] = {}
    listed = []
    for root in roots:
        for path, bad in skill_files(root.folder):
            entry = _broken(Path(path), root.source, bad) if bad else _read(path, root, kept)
            if entry.skill:
                entry = _placed(entry, entry.skill, first, gates)
            listed.append(entry)
    kept.save()
    return sorted(listed, key=lambda entry: (entry.name, not entry.eligible))


def read_skill_file(path: Path, source: str = "home") -> tuple[Skill | None, list[Problem]]:
    """One SKILL.md and what is wrong with it; no skill when that is an error."""
    try:
        text, notes = read_source(path)
        fields, more = parse(split(text)[0])
        skill, found = _skill(fields, path, source)
    except SkillError as bad:
        return None, [Problem(path, "error", bad.code, str(bad))]
    return skill, [Problem(path, *note) for note in (*notes, *more, *found)]


def read_skills(folder: Path) -> tuple[list[Skill], list[Problem]]:
    """The skills of one folder, by name and without their gates, and all problems there: itself
    when it is a skill, else those below it."""
    if (file := skill_file(folder)) and file.parent == folder:
        skill, found = read_skill_file(file)
        return [skill] if skill else [], found
    listed = list_skills([Root(folder, "home")])
    skills = [entry.skill for entry in listed if entry.eligible and entry.skill]
    return skills, [problem for entry in listed for problem in entry.problems]


def shown_path(path: Path) -> str:
    """A path with slashes, as text that every encoding bears."""
    return os.fsencode(path.as_posix()).decode("utf-8", "replace")


def _read(path: str, root: Root, kept: Cache) -> Listed:
    known = kept.get(path)
    if known is None:
        found, problems = read_skill_file(Path(path), root.source)
        if found:
            found = replace(found, examples=examples(found.folder))
        known = kept.put(path, found, problems)
    skill, problems = known
    if skill is None:
        return Listed(_folder_name(Path(path)), "", Path(path), root.source, False, tuple(problems))
    if skill.source != root.source:
        skill = replace(skill, source=root.source)
    return Listed(skill.name, skill.about, skill.path, skill.source, True, tuple(problems), skill)


def _broken(path: Path, source: str, bad: SkillError) -> Listed:
    problem = Problem(path, "error", bad.code, str(bad))
    return Listed(_folder_name(path), "", path, source, False, (problem,))


def _placed(
    entry: Listed,
    skill: Skill,
    first: dict[str, Skill],
    gates: Callable[[Skill], list[Problem]],
) -> Listed:
    """The entry, not eligible when a better skill has its name or its gate is closed."""
    better = first.setdefault(skill.name, skill)
    if better is skill:
        reasons = gates(skill)
    else:
        text = f"hidden by {shown_path(better.path)}, which has the same name"
        reasons = [Problem(skill.path, "warning", "shadowed", text)]
    if not reasons:
        return entry
    return replace(entry, eligible=False, problems=(*entry.problems, *reasons))


def _skill(fields: dict[str, Any], path: Path, source: str) -> tuple[Skill, list[Note]]:
    about = _text(fields, "description")
    if not about:
        raise SkillError("description-missing", "the frontmatter has no description")
    notes: list[Note] = []
    name = _text(fields, "name")
    folder = _folder_name(path)
    if not name:
        notes.append(warning("name-missing", f"no name; that of its folder is used: {folder}"))
        name = folder
    elif _unsafe(name):
        notes.append(warning("name-unsafe", f"the name cannot be used; its folder's is: {folder}"))
        name = folder
    else:
        notes += _name_notes(name, folder)
    if len(about) > MAX_DESCRIPTION:
        text = f"the description has {len(about):,} characters, more than {MAX_DESCRIPTION:,}"
        notes.append(warning("description-too-long", text))
    compatibility = _text(fields, "compatibility")
    if len(compatibility) > MAX_COMPATIBILITY:
        text = f"compatibility has {len(compatibility):,} characters, more than {MAX_COMPATIBILITY}"
        notes.append(warning("compatibility-too-long", text))
    skill = Skill(
        name=name,
        description=" ".join(filter(None, (about, _text(fields, "when_to_use")))),
        path=path,
        source=source,
        gate=read_gate(fields.get("metadata")),
        model_invocable=not flag(fields.get("disable-model-invocation"), default=False),
        user_invocable=flag(fields.get("user-invocable"), default=True),
        allowed_tools=tuple(_tools(fields.get("allowed-tools"))),
        compatibility=compatibility,
        about=about,
    )
    return skill, notes


def _text(fields: dict[str, Any], key: str) -> str:
    value = fields.get(key)
    text = value.strip() if isinstance(value, str) else ""
    return "" if text in _NO_VALUE else text


def _tools(value: Any) -> Iterator[str]:
    """Names between blanks or commas, or a list of them: `Read`, `Bash(git log:*)`."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str):
            yield from (name for name in _TOOLS.findall(item) if name != "-")


def _unsafe(name: str) -> bool:
    control = any(unicodedata.category(c) == "Cc" for c in name)
    return control or "/" in name or "\\" in name or name in (".", "..") or len(name) > MAX_LABEL


def _name_notes(name: str, folder: str) -> Iterator[Note]:
    if not NAME.fullmatch(name):
        yield warning("name-format", "a name has lowercase letters, digits and single hyphens")
    if len(name) > MAX_NAME:
        yield warning("name-too-long", f"the name has more than {MAX_NAME} characters")
    if unicodedata.normalize("NFC", name) != unicodedata.normalize("NFC", folder):
        yield warning("name-mismatch", f"the name is not that of its folder {folder}")


def _folder_name(path: Path) -> str:
    return os.fsencode(path.parent.name).decode("utf-8", "replace") or "skill"
