"""Import an OpenClaw, a nanobot, a Hermes or a folder of notes: plan it, then carry it out.

The source is only read. Planning writes nothing. Each step then writes one file in one go, and a
second import does what the first one did not finish.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from openclaw.errors import OpenclawError, UsageError
from openclaw.frozen import frozen
from openclaw.maintenance.importers.conversations import ConversationImporter
from openclaw.maintenance.importers.detect import (
    LABELS,
    Layout,
    SourceItem,
    detect_layout,
    sort_items,
)
from openclaw.maintenance.importers.memories import Files, Memories
from openclaw.maintenance.importers.skills import Skills
from openclaw.maintenance.importers.source import Source
from openclaw.maintenance.importers.steps import DOES, ImportPlan, ImportStep
from openclaw.maintenance.importers.texts import Places
from openclaw.security.vault import Vault
from openclaw.storage.home import Home
from openclaw.types import UNRECORDED, Recorder, ToolProblem


def _now() -> datetime:
    return datetime.now().astimezone()


@frozen
class _Rooms:
    """Who plans and does what."""

    files: Files
    memories: Memories
    talks: ConversationImporter
    skills: Skills

    @classmethod
    def of(
        cls,
        home: Home,
        layout: Layout,
        now: Callable[[], datetime],
        recorder: Recorder = UNRECORDED,
    ) -> _Rooms:
        vault = Vault(home.private / "secrets.json", now=now)
        places, label = Places(home, vault), LABELS[layout.format]
        return cls(
            Files(home, vault, places, label, recorder.keep),
            Memories(home, vault, places, label, now().date(), recorder.keep),
            ConversationImporter(home, vault, layout.format, label, now, recorder.keep),
            Skills(home, label, recorder),
        )

    def plan(self, source: Source, item: SourceItem) -> Iterator[ImportStep]:
        if item.kind == "skills":
            yield from self.skills.plan(source, item)
            return
        try:
            if item.kind == "session":
                yield self.talks.plan(source, item)
            elif item.kind in ("memory", "daily", "to-dos"):
                yield self.memories.plan(source, item)
                if prose := self.memories.prose(source, item):
                    yield self.files.plan(source, prose)
            else:
                yield self.files.plan(source, item)
        except OpenclawError as error:
            yield ImportStep(item.kind, item.path, "", "leave", str(error), item)

    def carry_out(self, source: Source, step: ImportStep) -> ImportStep:
        if step.kind == "skill":
            return self.skills.carry_out(source, step)
        if step.kind == "session":
            return self.talks.carry_out(source, step)
        if step.deed == "append":
            return self.memories.carry_out(source, step)
        return self.files.carry_out(source, step)


def plan_import(
    home: Home, folder: Path, wanted: str = "", *, now: Callable[[], datetime] = _now
) -> ImportPlan:
    """Return what an import of a folder would do; nothing is written. `wanted` names its format.

    UsageError when the folder is missing, cannot be imported, holds the home or lies in it.
    """
    root = Path(os.path.realpath(folder))
    if not root.is_dir():
        raise UsageError(f"there is no folder {folder}", "give the folder to import from")
    _check_apart(root, Path(os.path.realpath(home.root)), folder)
    source = Source(root)
    layout = detect_layout(source, wanted)
    open_home = _Rooms.of(home, layout, now)
    steps = [step for item in sort_items(source, layout) for step in open_home.plan(source, item)]
    left = [ImportStep("", left.path, "", "leave", left.reason) for left in source.left.values()]
    return ImportPlan(home, source, layout, (*steps, *left))


def carry_out(
    plan: ImportPlan,
    done: Callable[[ImportStep], None] = lambda step: None,
    *,
    now: Callable[[], datetime] = _now,
    recorder: Recorder = UNRECORDED,
) -> ImportPlan:
    """Carry out a plan; return it with the result of each step.

    `done` is called with each result, `recorder` with each file before it is written. A step that
    fails says so in its detail, and the others are done all the same.
    """
    open_home = _Rooms.of(plan.home, plan.layout, now, recorder)
    results = []
    for step in plan.steps:
        result = step
        if step.deed in DOES:
            try:
                result = open_home.carry_out(plan.source, step)
            except (OpenclawError, ToolProblem, OSError, ValueError) as error:
                result = step.with_result("failed", str(error))
            done(result)
        results.append(result)
    return replace(plan, steps=tuple(results))


def _check_apart(root: Path, home: Path, folder: Path) -> None:
    if root == home or root.is_relative_to(home):
        raise UsageError(f"{folder} lies in the home {home} already", "name another home: --home")
    if home.is_relative_to(root):
        raise UsageError(
            f"the home {home} lies in {folder}",
            "import a part of it, or name another home: --home DIR",
        )
