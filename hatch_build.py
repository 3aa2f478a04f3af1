"""Puts the starter home into a wheel, and into the archive of the source, as the program ships it:
a clone that serves as a home has to-dos and files of its own, which are nobody else's."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Starter(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from openclaw.storage.new_home import starter_files

        self._folder = tempfile.TemporaryDirectory()
        inside = "openclaw/starter/" if self.target_name == "wheel" else ""
        for number, (path, data) in enumerate(starter_files().items()):
            file = Path(self._folder.name, str(number))
            file.write_bytes(data)
            build_data["force_include"][str(file)] = inside + path
