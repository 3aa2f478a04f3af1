"""Puts the older part of a talk away: facts proposed, a summary made, the originals kept.

Imported when it comes to that: most turns need none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from openclaw.agent import events, outline
from openclaw.agent.compact import Asking, Talk
from openclaw.agent.notable import lasting
from openclaw.memory.notes import Notes
from openclaw.sessions.notes import WorkingNotes, notes_path
from openclaw.sessions.store import Session, SessionStore
from openclaw.shapes import Entry, ToolProblem

OUTLINE_SHARE = 0.4
"""The part of a summary that the model's words may take; the rest is for the working notes."""
MOST_PROPOSED = 20
"""Facts of one compaction that are found by pattern; the model lists few."""
LEAST_EXCHANGES = 3
"""For fewer the model is not asked by itself: that takes longer than what it would say is worth."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A compaction that was thought out and not yet made: the summary that is to stand for the
    first `upto` messages, and candidates for the memory."""

    upto: int
    summary: str
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compaction:
    """Of one home. `memory` is None when nothing is to be remembered; `mask` puts names in the
    place of secrets, which the user may have written into the notes."""

    sessions: SessionStore
    asking: Asking
    memory: Notes | None
    mask: Callable[[str], str] = str

    def prepare(
        self, session: Session, upto: int, talk: Talk, room: int, focus: str | None = None
    ) -> Generator[events.Event, None, Prepared]:
        """What is to stand for the first `upto` messages, in at most `room` tokens. Nothing is
        changed yet. Where the user asks for it he gives a focus, "" for none."""
        yield events.Notice(f"summing up the older {upto} messages of this conversation")
        old = session.messages[:upto]
        many = sum(entry.role == "user" for entry in old) >= LEAST_EXCHANGES
        asked = talk if many or focus is not None else None
        facts = yield from self.facts(old, asked)
        summary = yield from self.summary(session, asked, room, focus or "")
        return Prepared(upto, summary, facts)

    def put_away(self, session: Session, prepared: Prepared) -> Iterator[events.Event]:
        """Put the facts before the user, the messages into the archive and the summary in their
        place. When this ends all is on the disk."""
        proposed = self._propose(prepared.facts, session.id)
        self.sessions.compact(session, prepared.upto, prepared.summary)
        if proposed:
            yield events.Notice(f"for your memory: {proposed} (openclaw memory review)")

    def summary(
        self, session: Session, talk: Talk | None, room: int, focus: str
    ) -> Generator[events.Event, None, str]:
        """What is to stand for the older part: the outline, merged with the one before it, and the
        working notes. Without a talk the model is not asked."""
        new = (yield from self.asking.summary(talk, focus)) if talk else outline.Outline()
        old = outline.parse(session.compressed_context)
        count = self.asking.meter.count
        made = outline.within(outline.merged(old, new), int(room * OUTLINE_SHARE), count)
        frame = count(outline.render(made, "x"))
        notes = WorkingNotes.read(notes_path(self.sessions.folder, session.id))
        brief = self.mask(notes.brief(max(0, room - frame), count, lasting))
        found = outline.WHERE if self.memory is not None else ""
        return self.mask(outline.render(outline.without_known(made, brief), brief, found))

    def facts(
        self, entries: Sequence[Entry], talk: Talk | None
    ) -> Generator[events.Event, None, tuple[str, ...]]:
        """Candidates for the memory: by pattern from the user's own words, then by the model, which
        without a talk is not asked."""
        if self.memory is None:
            return ()
        said = [entry.content for entry in entries if entry.role == "user"]
        found = dict.fromkeys(fact for words in said for fact in lasting(words))
        asked = (yield from self.asking.facts(talk)) if talk else ()
        known = [*found][:MOST_PROPOSED]
        return tuple(map(self.mask, dict.fromkeys((*known, *asked))))

    def _propose(self, facts: Sequence[str], session_id: str) -> int:
        """Put facts into the inbox; what is known already is left out. How many are new."""
        if self.memory is None:
            return 0
        proposed = 0
        for fact in facts:
            with suppress(ToolProblem):
                self.memory.propose(fact, f"session {session_id}")
                proposed += 1
        return proposed
