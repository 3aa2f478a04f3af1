"""The steps of an import: the plan that is shown, and the report of what was done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Literal

from openclaw.frozen import frozen
from openclaw.maintenance.importers.detect import LABELS, Layout, SourceItem
from openclaw.maintenance.importers.source import Source
from openclaw.storage.home import Home

Deed = Literal["write", "append", "install", "hold", "known", "leave", "failed"]
DOES: tuple[Deed, ...] = ("write", "append", "install", "hold")
"""The deeds that change the home; the others say why nothing is done."""
NOTHING = SourceItem("file", "")


@frozen
class ImportStep:
    """What is done with one file or skill of the source.

    `source`: its path in the source.
    `target`: the path in the home, "" when it goes nowhere.
    `deed`: "write" a new file, "append" to one, "install" a skill, "hold" it until the user has
    looked at it, "known" when all of it is there already, "leave" what is not imported, "failed"
    what could not be done.
    `detail`: why or how much.
    `item`: what the source has there.
    """

    kind: str
    source: str
    target: str
    deed: Deed
    detail: str = ""
    item: SourceItem = field(default=NOTHING, repr=False, compare=False)

    def with_result(self, deed: Deed, detail: str) -> ImportStep:
        return replace(self, deed=deed, detail=detail)


@frozen
class ImportPlan:
    """All steps of an import, with what is left out at the end."""

    home: Home
    source: Source
    layout: Layout
    steps: tuple[ImportStep, ...]

    @property
    def label(self) -> str:
        """The name of the program that the folder belongs to."""
        return LABELS[self.layout.format]

    def count(self, deeds: Sequence[Deed] = DOES) -> int:
        return sum(step.deed in deeds for step in self.steps)
