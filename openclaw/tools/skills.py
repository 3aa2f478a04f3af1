"""Skills as tools: their instructions, their files, and the search for one that fits."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from openclaw.shapes import Action, Ledger, ToolProblem
from openclaw.tools.toolbox import Form, Tool, tool

MOST_FILES = 20
MOST_FOUND = 5
MOST_NAMES = 12


class SkillShelf(Protocol):
    """The skills of one turn. `listed` are the names that stand in the head, of a few skills all;
    `offered` are all that the model has been told."""

    @property
    def names(self) -> Sequence[str]: ...
    @property
    def listed(self) -> Sequence[str]: ...
    @property
    def offered(self) -> Sequence[str]: ...
    def body(self, name: str, /) -> str: ...
    def allowed(self, name: str, /) -> tuple[str, ...]: ...
    def files(self, name: str, /) -> Sequence[str]: ...
    def read(self, name: str, file: str, /) -> str: ...
    def find(self, words: str, /) -> Sequence[tuple[str, str]]: ...


@dataclass(frozen=True, slots=True)
class SkillTools:
    """The tools; the ledger is told which tools the skill that was read last leaves."""

    shelf: SkillShelf
    ledger: Ledger

    def tools(self) -> list[Tool]:
        """`read_skill`, with an argument for a file only where a skill has one; `find_skill` only
        where not all skills are listed: what cannot be used costs no token."""
        forms = [Form("read", arguments=("name",))]
        run = self.read_skill
        more = len(self.shelf.names) > len(self.shelf.listed)
        if more or any(self.shelf.files(name) for name in self.shelf.names):
            forms.append(Form("read", arguments=("name", "file")))
            run = self.read_skill_or_file
        read = tool(run, forms=forms, legal=lambda: {"name": self.shelf.offered}, action=self._act)
        return [replace(read, name="read_skill"), *([tool(self.find_skill)] if more else ())]

    def _act(self, arguments: Mapping[str, Any]) -> Action:
        found = _skill_named(str(arguments["name"]), self.shelf.names)
        file = str(arguments.get("file") or "").strip() or "SKILL.md"
        return Action("read_skill", "read", f"skills/{found}/{file}" if found else "")

    def read_skill(self, name: str) -> str:
        """Read the instructions of a skill before a task it fits."""
        found = self._named(name)
        text = f"Skill {found}:\n{self.shelf.body(found)}"
        self.ledger.allowed = self.shelf.allowed(found)
        files = self.shelf.files(found)
        if not files:
            return text
        rest = f" and {len(files) - MOST_FILES} more" if len(files) > MOST_FILES else ""
        return f"{text}\n\nFiles of this skill: {', '.join(files[:MOST_FILES])}{rest}"

    def read_skill_or_file(self, name: str, file: str = "") -> str:
        """Read the instructions of a skill before a task it fits, or a file of it."""
        if not file.strip():
            return self.read_skill(name)
        found = self._named(name)
        wanted = re.sub(r"^(\./)+", "", file.strip().replace("\\", "/"))
        files = self.shelf.files(found)
        if wanted not in files:
            near = [each for each in files if each.casefold().endswith(wanted.casefold())]
            if len(near) != 1:
                names = ", ".join(files[:MOST_FILES]) or "none"
                raise ToolProblem(f"Skill {found} has no file {file}. Its files: {names}.")
            wanted = near[0]
        return f"{wanted} of skill {found}:\n{self.shelf.read(found, wanted)}"

    def find_skill(self, words: str) -> str:
        """Find skills for a task."""
        found = self.shelf.find(words)[:MOST_FOUND]
        if not found:
            raise ToolProblem(f'No skill is about "{words}". Go on without one.')
        return "\n".join(f"{name}: {about}" for name, about in found)

    def _named(self, name: str) -> str:
        found = _skill_named(name, self.shelf.names)
        if found is None:
            known = self.shelf.offered[:MOST_NAMES]
            raise ToolProblem(f"There is no skill {name}. Skills: {', '.join(known) or 'none'}.")
        return found


def _skill_named(name: str, names: Sequence[str]) -> str | None:
    plain = re.sub(r"[\s_]+", "-", name.strip().strip("\"'`").casefold())
    plain = re.sub(r"^(?:read|use|skill|the|skills/)[-/]|/skill\.md$|-skill$", "", plain)
    known = {each.casefold(): each for each in names}
    for candidate in (name.strip().casefold(), plain):
        if candidate in known:
            return known[candidate]
    near = difflib.get_close_matches(plain, known, n=1, cutoff=0.7)
    within = [each for each in known if each in plain]
    chosen = near or (within if len(within) == 1 else [])
    return known[chosen[0]] if chosen else None
