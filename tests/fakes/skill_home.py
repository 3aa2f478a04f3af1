"""The text of a skill, repositories of skills, and `openclaw skills` as a user types it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from openclaw.skills.source_records import read_source_records
from openclaw.storage.home import Home
from tests.fakes.command import CommandLine

SKILL = "---\nname: {0}\ndescription: Does {0}. Use when asked.\n---\n\n# {0}\n"


def tree(folder: Path) -> dict[str, str]:
    """All files below a folder with their texts."""
    return {
        path.relative_to(folder).as_posix(): path.read_text("utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def in_git(folder: Path, *words: str) -> str:
    """What git prints that is run in a folder."""
    own = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    words = ("git", "-C", str(folder), *own, *words)
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def repository(folder: Path) -> Path:
    """The folder with its files as the first commit of a repository."""
    in_git(folder, "init", "--quiet")
    in_git(folder, "add", "--all")
    in_git(folder, "commit", "--quiet", "--message", "one")
    return folder


class Claw(CommandLine):
    def __init__(self, home: Home) -> None:
        super().__init__("skills")
        self.home = home

    def skills(self) -> dict[str, str]:
        """All files below skills/ but the provenance."""
        found = tree(self.home.skills)
        found.pop(".sources.yaml", None)
        return found

    def sources(self) -> dict[str, dict[str, str]]:
        return read_source_records(self.home.skills)
