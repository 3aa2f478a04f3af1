"""What can be wrong with a skill. One bad skill is a line in the list, never the end of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Level = Literal["error", "warning"]
Note = tuple[Level, str, str]
"""A problem without its path: level, code, message."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with the SKILL.md at `path`. An error means that it is not loaded."""

    path: Path
    level: Level
    code: str
    message: str


class SkillError(Exception):
    """An error that ends the reading of one skill; the text is its message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def warning(code: str, message: str) -> Note:
    """A note that does not keep a skill from being loaded."""
    return ("warning", code, message)
