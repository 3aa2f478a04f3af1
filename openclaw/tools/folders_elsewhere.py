"""The file tools for folders outside the home in which the user works, such as that of an editor.

Nothing that is done there is part of the home: no receipt counts its lines, and no undo takes it
back. So what these tools have read and written is noted apart.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from openclaw.storage.home import Home
from openclaw.tools.file_tools import FileTools
from openclaw.tools.paths import tidy
from openclaw.tools.tool import Tool, action_of
from openclaw.types import Action, Change, Effect, TurnChanges

Place = tuple[Path, Mapping[str, Tool]]  # a folder, and the file tools for it by their names


class FolderElsewhere(Home):
    """A folder that files are read and written in as in a home. Its files have whole paths."""

    def relative(self, path: Path) -> str:
        return (self.root / path).as_posix()


def with_folders(files: FileTools, folders: Sequence[Path]) -> list[Tool]:
    """Return the file tools of a home, which also take whole paths in these folders. What a call
    does there has the effect read-elsewhere or write-elsewhere."""
    tools, turn_changes = files.tools(), files.turn_changes
    elsewhere = TurnChanges(keeper=turn_changes.keep)
    places: list[Place] = []
    for folder in folders:
        there = replace(files, home=FolderElsewhere(folder), turn_changes=elsewhere)
        places.append((folder, {tool.name: tool for tool in there.tools()}))
    root = files.home.real_root
    return [_with_places(tool, places, root, turn_changes) for tool in tools]


def _with_places(tool: Tool, places: Sequence[Place], root: Path, changes: TurnChanges) -> Tool:
    """Return a tool that does a call with a whole path in one of the folders there."""

    def find(given: Mapping[str, Any]) -> tuple[str, Tool]:
        """Return the whole path and the tool for its folder; "" and that of the home for others."""
        path = Path(os.path.normpath(tidy(str(given.get("path") or given.get("folder") or ""))))
        if path.is_absolute() and not path.is_relative_to(root):
            for folder, there in places:
                if path.is_relative_to(folder):
                    return path.as_posix(), there[tool.name]
        return "", tool

    def run(**given: Any) -> str:
        path, chosen = find(given)
        said = chosen.run(**given)
        if path and action_of(chosen, given).effect == "write":
            changes.sent.append(f"{tool.name} {path}")
        return said

    def act(given: Mapping[str, Any]) -> Action:
        path, chosen = find(given)
        action = action_of(chosen, given)
        if not path:
            return action
        effect = cast(Effect, f"{action.effect}-elsewhere")
        return replace(action, effect=effect, target=action.target or path)

    def preview(given: Mapping[str, Any]) -> Change | None:
        chosen = find(given)[1]
        return chosen.preview(given) if chosen.preview else None

    return replace(tool, run=run, action=act, preview=preview if tool.preview else None)
