"""Proposes a skill. What write_file puts below skills/ becomes a proposal as well, so that no
prompt spends a token on this tool; skills and models that know it by name may call it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from openclaw.shapes import Action, ToolProblem
from openclaw.tools.files import FileTools
from openclaw.tools.paths import new_file
from openclaw.tools.toolbox import Tool, tool

LONGEST_NAME = 64


@dataclass(frozen=True, slots=True)
class ProposeTools:
    """The tool, over the tools for files."""

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
    """A name as the standard for skills wants it. Raises ToolProblem when nothing is left of it."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:LONGEST_NAME].strip("-")
    if not slug:
        raise ToolProblem("name must hold letters or digits, for example water-plants.")
    return slug
