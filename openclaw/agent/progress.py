"""What is known of a turn while it runs, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from openclaw.agent.receipt import Receipt
from openclaw.models.base import Reply
from openclaw.shapes import Usage
from openclaw.tools.toolbox import Outcome


@dataclass(slots=True)
class Made:
    """A call that was made: what came of it, how many writes, successes and entries of the turn
    there were then."""

    outcome: Outcome
    writes: int
    successes: int
    at: int
    count: int = 1


class Progress:
    """What the loop remembers during one turn."""

    def __init__(self) -> None:
        self.usage = Usage()
        self.last = Reply("")
        self.thought = ""
        self.made: dict[str, Made] = {}
        self.repeats = 0
        self.writes = 0
        self.successes = 0
        self.partial = ""
        self.shown = ""
        self.empty = False
        self.corrected = False
        self.stopped = ""


def ended(reason: str, receipt: Receipt, unbacked: Sequence[str] = ()) -> dict[str, Any]:
    """How a turn ended, for its last message."""
    changed = [*(file.path for file in receipt.files), *receipt.sent]
    return {"stop": reason, "unbacked": list(unbacked), "changed": changed}


def stamp() -> str:
    """Now, as ISO 8601 with offset, to the second."""
    return datetime.now().astimezone().isoformat(timespec="seconds")
