"""What is done by code when a turn has been answered; it belongs to the turn, so `undo` takes it
back with it. No model is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from openclaw.agent import events
from openclaw.app.provenance import Provenance
from openclaw.app.rooms import Rooms
from openclaw.errors import OpenclawError
from openclaw.shapes import ToolProblem

Step = Callable[[Rooms, Provenance, str], Iterator[events.Event]]


def after(rooms: Rooms, watch: Provenance, answer: str) -> Iterator[events.Event]:
    """Keep what the user said of lasting worth and what the answer promises. What goes wrong is
    told: the turn itself is done and saved."""
    for step in _steps():
        try:
            yield from step(rooms, watch, answer)
        except (OpenclawError, OSError, ToolProblem) as error:
            yield events.Notice(str(error))


def _steps() -> tuple[Step, ...]:
    from openclaw.app.capturing import capture
    from openclaw.app.promises import promised

    return capture, promised
