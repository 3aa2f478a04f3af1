"""What follows an answer: its sources, the working notes and lasting facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from openclaw import events
from openclaw.agent.citations import with_sources
from openclaw.agent.fact_capture import capture
from openclaw.agent.note_taking import update_notes
from openclaw.agent.provenance import Provenance
from openclaw.agent.request import RequestBuilder
from openclaw.errors import OpenclawError
from openclaw.frozen import frozen
from openclaw.home.open_home import OpenHome
from openclaw.memory.pages import refresh
from openclaw.messages import Entry
from openclaw.sessions.session import Session
from openclaw.types import Change, ToolProblem


@frozen
class AfterAnswer:
    """The work that follows an answer in a conversation."""

    open_home: OpenHome
    session: Session

    def with_sources(
        self, builder: RequestBuilder, said: Entry, passages: Sequence[Mapping[str, Any]]
    ) -> Entry:
        """Return the turn's last message with its citations and sources, if any, in its record."""
        return with_sources(builder, self.session, said, passages)

    def update_notes(self, changes: Sequence[Change] = ()) -> list[str]:
        """Add the new messages to the working notes, with what the newest turn has changed; return
        notices for the user."""
        folder, mask = self.open_home.sessions.folder, self.open_home.vault.mask
        return update_notes(folder, self.session, changes, mask)

    def remember(self, watch: Provenance) -> Iterator[events.Event]:
        """Remember lasting facts from the prompt. An error becomes a notice: the turn itself is
        done and saved."""
        captured = self.session.state.captured
        try:
            yield from capture(self.open_home, watch)
        except (OpenclawError, OSError, ToolProblem) as error:
            yield events.Notice(str(error))
        if self.session.state.captured != captured:
            self.open_home.sessions.save(self.session)
        if self.open_home.mode != "read-only" and self.open_home.use_memory:
            keep = watch.turn_changes.keep
            yield from map(events.Notice, refresh(self.open_home.home, keep))
