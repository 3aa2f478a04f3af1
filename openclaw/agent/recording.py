"""Records in the history what a turn changes while it runs, and commits it at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from openclaw import events
from openclaw.history.record import Journal, new_turn
from openclaw.history.turns import State
from openclaw.home.open_home import OpenHome
from openclaw.security.display import some_of
from openclaw.security.masking import map_texts
from openclaw.sessions.session import Session
from openclaw.storage.safe_open import decode
from openclaw.types import Change, TurnChanges

NOT_SAVED = "(a prompt that was not saved)"
"""The subject of a turn that changed files while conversations are not saved."""
MAX_SHOWN = 200_000
"""Bytes of a file before and after a change; a change of more is not shown."""


class Recording:
    def __init__(self, open_home: OpenHome, session: Session, journal: Journal) -> None:
        self._open_home, self._session, self.journal = open_home, session, journal
        self._began_as = session.id
        self._open = True

    def hear(self, event: object) -> None:
        """Note each call before it is made; no calls when conversations are not saved."""
        if not self._open_home.saving:
            return
        mask = self._open_home.masker.mask
        if isinstance(event, events.ToolStart):
            self.journal.call(event.id, event.tool, map_texts(event.input, mask))
        elif isinstance(event, events.ToolEnd):
            self.journal.ended(event.id, mask(event.output), event.ok)

    def close(self, state: State) -> list[str]:
        """Commit the turn at its end; return notices for the user."""
        if not self._open:
            return []
        self._open = False
        if self._session.id != self._began_as:  # another program has taken the file
            self.journal.forget_talk()
        self.journal.finish(state, self._open_home.sessions.files_of(self._session.id))
        notices = [self._open_home.history.publish()]
        if names := self.journal.unknown:
            notices.insert(0, f"not kept as before, so undo leaves it alone: {some_of(names)}")
        return list(filter(None, notices))


@contextmanager
def record_turn(
    open_home: OpenHome,
    session: Session,
    turn_changes: TurnChanges,
    request: str,
    number: int = 0,
    commit: str = "",
) -> Iterator[Recording]:
    """Record the work inside as one turn of `session`, whose lock the caller holds; `commit` is the
    home's newest commit, if known. A recording that is not closed at the end was interrupted."""
    turn = new_turn(
        request if open_home.saving else NOT_SAVED,
        session=session.id,
        number=number,
        model=session.model,
    )
    journal = Journal.begin(open_home.home, turn, commit or open_home.history.head())
    turn_changes.keeper, turn_changes.altered = journal.writes, journal.changed
    if open_home.on_change is not None:
        journal.show = partial(_show_change, open_home, open_home.on_change)
    recording = Recording(open_home, session, journal)
    try:
        journal.talk(open_home.sessions.files_of(session.id))
        yield recording
    finally:
        recording.close("interrupted")


def _show_change(
    open_home: OpenHome,
    show: Callable[[Change], None],
    name: str,
    before: bytes | None,
    after: bytes | None,
) -> None:
    """Call `show` with the change of a file, in text without secrets."""
    whole = (before or b"") + (after or b"")
    if len(whole) > MAX_SHOWN or b"\0" in whole:
        return
    mask = open_home.masker.mask_for_display
    was, new = (data if data is None else mask(decode(data)) for data in (before, after))
    if was != new:
        show(Change(name, was, new))
