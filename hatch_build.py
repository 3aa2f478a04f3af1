"""Puts the starter home into a wheel as it is committed: a clone that serves as a home has to-dos
and files of its own, which are nobody else's."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

STARTER = ("workspace", "skills", "memory/MEMORY.md", "memory/TODO.md")


class Starter(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from openclaw.files.git import committed_files

        top = Path(self.root)
        if files := committed_files(top, STARTER):
            self._folder = tempfile.TemporaryDirectory()
            top = Path(self._folder.name)
            for name, data in files.items():
                (top / name).parent.mkdir(parents=True, exist_ok=True)
                (top / name).write_bytes(data)
        for name in STARTER:
            build_data["force_include"][str(top / name)] = f"openclaw/starter/{name}"
