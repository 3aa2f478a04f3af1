"""Records a turn while it runs, and makes it a part of the history when it is over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from openclaw.agent import events
from openclaw.app.rooms import Rooms
from openclaw.history.journal import Journal, new_id, now, subject_of
from openclaw.history.turn import State, Turn
from openclaw.sessions.store import Session
from openclaw.shapes import Ledger
from openclaw.tools.masks import in_texts

SHOWN = 3
NOT_SAVED = "(a prompt that was not saved)"
"""The subject of a turn that has changed files while nothing of what is said is kept."""


class Recording:
    """The record of the turn that runs."""

    def __init__(self, rooms: Rooms, session: Session, journal: Journal) -> None:
        self._rooms, self._session, self.journal = rooms, session, journal
        self._began_as = session.id
        self._open = True

    def hear(self, event: object) -> None:
        """Note the calls, each before it is made; without a conversation to put them into, none."""
        if not self._rooms.saving:
            return
        mask = self._rooms.vault.mask
        if isinstance(event, events.ToolStart):
            self.journal.call(event.id, event.tool, in_texts(event.input, mask))
        elif isinstance(event, events.ToolEnd):
            self.journal.ended(event.id, mask(event.output), event.ok)

    def close(self, state: State) -> list[str]:
        """The turn is over: commit it. Returns what the user should know."""
        if not self._open:
            return []
        self._open = False
        if self._session.id != self._began_as:  # another program has taken the file
            self.journal.forget_talk()
        self.journal.finish(state, self._rooms.sessions.files_of(self._session.id))
        return list(filter(None, [self._told(), self._rooms.history.publish()]))

    def _told(self) -> str:
        names = self.journal.unknown
        if not names:
            return ""
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        return f"not kept as before, so undo leaves it alone: {', '.join(names[:SHOWN])}{more}"


@contextmanager
def recorded(
    rooms: Rooms, session: Session, ledger: Ledger, request: str, number: int, commit: str
) -> Iterator[Recording]:
    """Record what is done in here as one turn of `session`, whose lock the caller holds; `commit`
    is the newest one of the home. What is not closed when it is left was interrupted."""
    turn = Turn(
        new_id(),
        at=now(),
        subject=subject_of(request) if rooms.saving else NOT_SAVED,
        session=session.id,
        number=number,
        model=session.model,
    )
    journal = Journal.begin(rooms.home, turn, commit)
    ledger.keeper, ledger.altered = journal.writes, journal.changed
    recording = Recording(rooms, session, journal)
    try:
        journal.talk(rooms.sessions.files_of(session.id))
        yield recording
    finally:
        recording.close("interrupted")
