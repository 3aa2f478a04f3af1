"""Finds out what a file of the home held when a recorded turn began."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from openclaw.app.replay_turns import Recorded
from openclaw.history.history import History
from openclaw.history.turn import Turn


@dataclass(slots=True)
class Past:
    """The history of a home as far as it was read yet, newest first."""

    history: History
    _read: list[Turn] = field(default_factory=list)
    _rest: Iterator[Turn] | None = None

    def held(self, path: str, session: str, turn: Recorded) -> tuple[bool, bytes | None]:
        """Whether it is known what the file held, and that content (None: there was no file): what
        the first turn since found there, this one included. When it was edited outside the program
        nobody can tell, so such an edit is taken to be older than the turn."""
        found = None
        for each in self._turns():
            if each.kind == "outside":
                continue
            is_it = (each.session, each.number) == (session, turn.number) and each.kind == "turn"
            if not is_it and _seconds(each.at) < _seconds(turn.user.at):
                break
            found = next((step for step in each.steps if step.path == path), found)
            if is_it:
                break
        if found is None:
            return False, None
        content = self.history.read(found.before)
        return content is not None or found.before is None, content

    def _turns(self) -> Iterator[Turn]:
        yield from self._read
        if self._rest is None:
            self._rest = self.history.turns()
        for turn in self._rest:
            self._read.append(turn)
            yield turn


def _seconds(at: str) -> float:
    """A time as whole seconds since 1970, 0.0 for none."""
    try:
        return datetime.fromisoformat(at).replace(microsecond=0).timestamp()
    except ValueError:
        return 0.0
