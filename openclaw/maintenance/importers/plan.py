"""Import an OpenClaw, a nanobot, a Hermes or a folder of notes: plan it, then carry it out.

The source is only read. Planning writes nothing. Each step then writes one file in one go, and a
second import does what the first one did not finish.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from openclaw.errors import OpenclawError, UsageError
from openclaw.frozen import frozen
from openclaw.maintenance.importers.conversations import plan_conversation, take_conversation
from openclaw.maintenance.importers.layout import detect_layout, sort_items
from openclaw.maintenance.importers.memories import (
    add_memory,
    find_prose,
    plan_file,
    plan_memory,
    write_file,
)
from openclaw.maintenance.importers.skills import plan_skills, take_skill
from openclaw.maintenance.importers.source import Source
from openclaw.maintenance.importers.steps import DOES, Deed, ImportStep, SourceItem, Transfer
from openclaw.storage.home import Home
from openclaw.types import UNRECORDED, Recorder, ToolProblem


@frozen
class ImportPlan:
    """All steps of an import, with what is left out at the end."""

    transfer: Transfer
    steps: tuple[ImportStep, ...]

    def count(self, deeds: Sequence[Deed] = DOES) -> int:
        return sum(step.deed in deeds for step in self.steps)

    def as_json(self, *, done: bool) -> dict[str, Any]:
        """Return it for programs; `done` when it was carried out."""
        return {
            "format": self.transfer.format,
            "source": str(self.transfer.source.root),
            "home": str(self.transfer.home.root),
            "done": done,
            "steps": [
                {
                    "kind": step.item.kind,
                    "source": step.item.path,
                    "target": step.target,
                    "deed": step.deed,
                    "detail": step.detail,
                }
                for step in self.steps
            ],
        }


def plan_import(home: Home, folder: Path, wanted: str = "") -> ImportPlan:
    """Return what an import of a folder would do; nothing is written. `wanted` names its format.

    UsageError when the folder is missing, cannot be imported, holds the home or lies in it.
    """
    root = Path(os.path.realpath(folder))
    if not root.is_dir():
        raise UsageError(f"there is no folder {folder}", "give the folder to import from")
    own = home.real_root
    if root.is_relative_to(own):
        raise UsageError(f"{folder} lies in the home {own} already", "name another home: --home")
    if own.is_relative_to(root):
        raise UsageError(
            f"the home {own} lies in {folder}",
            "import a part of it, or name another home: --home DIR",
        )
    source = Source(root)
    layout = detect_layout(source, wanted)
    transfer = Transfer(source, home, layout.format)
    steps = [step for item in sort_items(source, layout) for step in _plan(transfer, item)]
    left = [SourceItem("", path).step("leave", detail=why) for path, why in source.left.items()]
    return ImportPlan(transfer, (*steps, *left))


def _plan(to: Transfer, item: SourceItem) -> Iterator[ImportStep]:
    try:
        if item.kind == "skills":
            yield from plan_skills(to, item)
        elif item.kind == "session":
            yield plan_conversation(to, item)
        elif item.kind in ("memory", "daily", "to-dos"):
            yield plan_memory(to, item)
            if prose := find_prose(to, item):
                yield plan_file(to, prose)
        else:
            yield plan_file(to, item)
    except OpenclawError as error:
        yield item.step("leave", detail=str(error))


def carry_out(plan: ImportPlan, recorder: Recorder = UNRECORDED) -> ImportPlan:
    """Carry out a plan; return it with the result of each step.

    `recorder` is called with each file before it is written. A step that fails says so in its
    detail, and the others are done all the same.
    """
    transfer = replace(plan.transfer, recorder=recorder)
    return replace(plan, steps=tuple(_carry_out(transfer, step) for step in plan.steps))


def _carry_out(to: Transfer, step: ImportStep) -> ImportStep:
    if step.deed not in DOES:
        return step
    try:
        if step.item.kind == "skill":
            return take_skill(to, step)
        if step.item.kind == "session":
            return take_conversation(to, step)
        return add_memory(to, step) if step.deed == "append" else write_file(to, step)
    except (OpenclawError, ToolProblem, OSError, ValueError) as error:
        return replace(step, deed="failed", detail=str(error))
