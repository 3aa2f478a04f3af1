"""The skills of one turn, as the tools see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from openclaw.agent.shortlist import SHORTLIST, Blurb, found, listed, nearest
from openclaw.errors import UsageError
from openclaw.files.beneath import read_bytes
from openclaw.files.text import decode
from openclaw.shapes import ToolProblem
from openclaw.skills.load import Skill

MOST_BYTES = 1_000_000
DEEPEST = 3
NOT_FOR_USE = frozenset({"evals", "__pycache__", "scripts/__pycache__"})
TESTS = "evals/"
"""A skill's tests are for `openclaw skills test`; no model is told of them."""


@dataclass
class Shelf:
    """The skills that the model may use in one turn. `request` is what the user asked for: of many
    skills the model is only told of those that may fit it."""

    skills: Sequence[Skill]
    request: str = ""
    _found: list[str] = field(default_factory=list)

    @cached_property
    def blurbs(self) -> list[Blurb]:
        return [Blurb(each.name, each.description, each.examples) for each in self.skills]

    @property
    def names(self) -> list[str]:
        return [skill.name for skill in self.skills]

    @cached_property
    def listed(self) -> list[str]:
        """The names that stand in the head."""
        return [blurb.name for blurb in listed(self.blurbs)]

    @property
    def offered(self) -> list[str]:
        """The names that the model has been told: in the head, in the shortlist of this request, or
        when it looked for some."""
        return list(dict.fromkeys((*self.listed, *self._near, *self._found)))

    @cached_property
    def _near(self) -> list[str]:
        return [blurb.name for blurb in nearest(self.request, self.blurbs)]

    def body(self, name: str) -> str:
        return self._skill(name).body()

    def allowed(self, name: str) -> tuple[str, ...]:
        """The skill's `allowed-tools`, empty when it leaves all."""
        return self._skill(name).allowed_tools

    def files(self, name: str) -> list[str]:
        """The skill's other files, as paths below its folder."""
        found = _files(self._skill(name).folder)
        return sorted(file for file in found if not file.startswith(TESTS))

    def read(self, name: str, file: str) -> str:
        """A text file of a skill. Raises ToolProblem for one that is none or leaves the folder."""
        folder = self._skill(name).folder.resolve()
        path = (folder / file).resolve()
        if not path.is_relative_to(folder) or not path.is_file():
            raise ToolProblem(f"Skill {name} has no file {file}.")
        data = read_bytes(path, MOST_BYTES)
        if b"\0" in data or len(data) > MOST_BYTES:
            raise ToolProblem(f"{file} is no text, or too long to be read.")
        return decode(data)

    def find(self, words: str) -> list[tuple[str, str]]:
        """Names and descriptions of skills that are about some words, best first."""
        near = found(words, self.blurbs)[:SHORTLIST]
        self._found += [blurb.name for blurb in near]
        return [(blurb.name, blurb.about) for blurb in near]

    def _skill(self, name: str) -> Skill:
        return next(skill for skill in self.skills if skill.name == name)


def wanted(skills: Sequence[Skill], name: str) -> Skill:
    """The skill that a user asks for by name. Raises UsageError when there is none of this name
    that a user may ask for."""
    skill = next((each for each in skills if each.name == name and each.user_invocable), None)
    if skill is None:
        raise UsageError(f"there is no skill {name}", "see them all: openclaw skills list")
    return skill


def instructions(skill: Skill, words: str) -> str:
    """What a skill says to do, as the user's order, `$ARGUMENTS` filled with the user's words."""
    body = skill.body().replace("$ARGUMENTS", words)
    order = "Do what this skill says, in exactly the form that it gives."
    return f"{order}\nSkill {skill.name}:\n{body}"


def _files(folder: Path, prefix: str = "", depth: int = 1) -> list[str]:
    names = []
    for path in folder.iterdir():
        if path.name.startswith(".") or path.is_symlink() or prefix + path.name in NOT_FOR_USE:
            continue
        if path.is_dir() and depth < DEEPEST:
            names += _files(path, f"{prefix}{path.name}/", depth + 1)
        elif path.is_file() and prefix + path.name.casefold() != "skill.md":
            names.append(prefix + path.name)
    return names
