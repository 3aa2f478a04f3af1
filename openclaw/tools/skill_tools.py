"""The tools that read, find and propose skills, and the skills of one turn (`TurnSkills`)."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from openclaw.errors import UsageError
from openclaw.frozen import frozen
from openclaw.nlp.relevance import SHORTLIST, Blurb, nearest_unlisted, search_skills, skills_in_head
from openclaw.security.display import some_of
from openclaw.skills.skill import Skill
from openclaw.storage.safe_open import decode, read_bytes
from openclaw.tools.file_tools import FileTools
from openclaw.tools.paths import new_file
from openclaw.tools.tool import CallForm, Tool, tool
from openclaw.types import Action, ToolProblem, TurnChanges

MAX_FILES = 20
MAX_FOUND = 5
MAX_NAMES = 12


@frozen
class SkillTools:
    """The tools for skills. They note which tools the last read skill permits."""

    turn_skills: TurnSkills
    turn_changes: TurnChanges

    def tools(self) -> list[Tool]:
        """`read_skill`, with an argument for a file only when a skill has files; `find_skill` only
        when not all skills are listed. What cannot be used must not cost tokens."""
        forms = [CallForm("read", arguments=("name",))]
        run = self.read_skill
        more = len(self.turn_skills.skills) > len(self.turn_skills.listed)
        if more or any(_files(skill.path.parent) for skill in self.turn_skills.skills):
            forms.append(CallForm("read", arguments=("name", "file")))
            run = self.read_skill_or_file
        read = tool(
            run, forms=forms, legal=lambda: {"name": self.turn_skills.offered}, action=self._act
        )
        return [replace(read, name="read_skill"), *([tool(self.find_skill)] if more else ())]

    def _act(self, arguments: Mapping[str, Any]) -> Action:
        skill = self._find(str(arguments["name"]))
        file = str(arguments.get("file") or "").strip() or "SKILL.md"
        return Action("read_skill", "read", f"skills/{skill.name}/{file}" if skill else "")

    def read_skill(self, name: str) -> str:
        """Read the instructions of a skill before a task it fits."""
        skill = self._named(name)
        text = f"Skill {skill.name}:\n{skill.body()}"
        self.turn_changes.allowed = skill.allowed_tools
        files = sorted(_files(skill.folder))
        if not files:
            return text
        return f"{text}\n\nFiles of this skill: {some_of(files, MAX_FILES)}"

    def read_skill_or_file(self, name: str, file: str = "") -> str:
        """Read the instructions of a skill before a task it fits, or a file of it."""
        if not file.strip():
            return self.read_skill(name)
        skill = self._named(name)
        wanted = re.sub(r"^(\./)+", "", file.strip().replace("\\", "/"))
        files = sorted(_files(skill.folder))
        near = [each for each in files if each.casefold().endswith(wanted.casefold())]
        chosen = [wanted] if wanted in files else near
        if len(chosen) != 1:
            names = ", ".join(files[:MAX_FILES]) or "none"
            raise ToolProblem(f"Skill {skill.name} has no file {file}. Its files: {names}.")
        data = read_bytes(skill.folder / chosen[0], MAX_BYTES)
        if b"\0" in data or len(data) > MAX_BYTES:
            raise ToolProblem(f"{chosen[0]} is no text, or too long to be read.")
        return f"{chosen[0]} of skill {skill.name}:\n{decode(data)}"

    def find_skill(self, words: str) -> str:
        """Find skills for a task."""
        found = self.turn_skills.find(words)[:MAX_FOUND]
        if not found:
            raise ToolProblem(f'No skill is about "{words}". Go on without one.')
        return "\n".join(f"{blurb.name}: {blurb.about}" for blurb in found)

    def _named(self, name: str) -> Skill:
        skill = self._find(name)
        if skill is None:
            known = self.turn_skills.offered[:MAX_NAMES]
            raise ToolProblem(f"There is no skill {name}. Skills: {', '.join(known) or 'none'}.")
        return skill

    def _find(self, name: str) -> Skill | None:
        """The skill that a model means."""
        plain = re.sub(r"[\s_]+", "-", name.strip().strip("\"'`").casefold())
        plain = re.sub(r"^(?:read|use|skill|the|skills/)[-/]|/skill\.md$|-skill$", "", plain)
        known = {skill.name.casefold(): skill for skill in self.turn_skills.skills}
        for candidate in (name.strip().casefold(), plain):
            if candidate in known:
                return known[candidate]
        near = difflib.get_close_matches(plain, known, n=1, cutoff=0.7)
        within = [each for each in known if each in plain]
        chosen = near or (within if len(within) == 1 else [])
        return known[chosen[0]] if chosen else None


LONGEST_NAME = 64


@frozen
class ProposeTools:
    """The tool `propose_skill`, which writes with the file tools."""

    files: FileTools

    def tools(self) -> list[Tool]:
        made = tool(self.propose_skill, effect="write", action=self._act, masks="own")
        return [replace(made, listed=False)]

    def propose_skill(self, name: str, content: str, description: str = "") -> str:
        """Propose a skill; its content waits as a SKILL.md until the user accepts it."""
        text = content.lstrip("\ufeff\r\n ")
        if not text.startswith("---"):
            about = " ".join(description.split()) or f"Use when the user asks for {_slug(name)}."
            quoted = json.dumps(about, ensure_ascii=False)  # JSON is YAML
            text = f"---\nname: {_slug(name)}\ndescription: {quoted}\n---\n\n{text}"
        return self.files.write_file(_path(name), text)

    def _act(self, arguments: Mapping[str, Any]) -> Action:
        target = new_file(self.files.home, _path(str(arguments["name"])))
        return Action("propose_skill", "write", self.files.home.relative(target))


def _path(name: str) -> str:
    return f"skills/{_slug(name)}/SKILL.md"


def _slug(name: str) -> str:
    """Convert a name to the form of the skills standard. Raises ToolProblem for an empty one."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:LONGEST_NAME].strip("-")
    if not slug:
        raise ToolProblem("name must hold letters or digits, for example water-plants.")
    return slug


MAX_BYTES = 1_000_000
DEEPEST = 3
# Models do not see a skill's tests, for `openclaw skills test`.
NOT_FOR_USE = frozenset({"evals", "__pycache__", "scripts/__pycache__"})


@dataclass
class TurnSkills:
    """The skills that the model may use in one turn. `request` is the user's request: of many
    skills the model only sees those that may fit it."""

    skills: Sequence[Skill]
    request: str = ""
    _found: list[str] = field(default_factory=list)

    @cached_property
    def blurbs(self) -> list[Blurb]:
        return [Blurb(each.name, each.description, each.examples) for each in self.skills]

    @cached_property
    def listed(self) -> list[str]:
        """The names in the head."""
        return [blurb.name for blurb in skills_in_head(self.blurbs)]

    @property
    def offered(self) -> list[str]:
        """The names that the model has seen: in the head, this request's shortlist, or a search."""
        return list(dict.fromkeys((*self.listed, *self._near, *self._found)))

    @cached_property
    def _near(self) -> list[str]:
        return [blurb.name for blurb in nearest_unlisted(self.request, self.blurbs)]

    def find(self, words: str) -> list[Blurb]:
        """The skills that match some words, best first."""
        near = search_skills(words, self.blurbs)[:SHORTLIST]
        self._found += [blurb.name for blurb in near]
        return near


FOLLOW = "Do what this skill says, in exactly the form that it gives."


def find_user_skill(skills: Sequence[Skill], name: str) -> Skill:
    """Find the skill that a user asks for by name. Raises UsageError when the user cannot call a
    skill of this name."""
    skill = next((each for each in skills if each.name == name and each.user_invocable), None)
    if skill is None:
        raise UsageError(f"there is no skill {name}", "see them all: openclaw skills list")
    return skill


def fill_instructions(skill: Skill, words: str) -> str:
    """The instructions of a skill as the user's order, with the user's words for `$ARGUMENTS`."""
    body = skill.body().replace("$ARGUMENTS", words)
    return f"{FOLLOW}\nSkill {skill.name}:\n{body}"


def _files(folder: Path, prefix: str = "", depth: int = 1) -> list[str]:
    """Return the files of a skill's folder but its SKILL.md and its tests."""
    names, inner = list[str](), list[Path]()
    with suppress(OSError):  # one folder that cannot be read must not end each prompt
        inner = [*folder.iterdir()]
    for path in inner:
        if path.name.startswith(".") or path.is_symlink() or prefix + path.name in NOT_FOR_USE:
            continue
        if path.is_dir() and depth < DEEPEST:
            names += _files(path, f"{prefix}{path.name}/", depth + 1)
        elif path.is_file() and prefix + path.name.casefold() != "skill.md":
            names.append(prefix + path.name)
    return names
