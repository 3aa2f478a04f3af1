"""Searches what was said before: in this conversation, its archive, and all others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from openclaw.app.provenance import Provenance, brought_along
from openclaw.app.rooms import Rooms
from openclaw.sessions.search import Talk, search
from openclaw.sessions.session import Session
from openclaw.sessions.store import SessionHit
from openclaw.sessions.terms import terms
from openclaw.tools.sessions import Said

PLACE = "earlier conversations"
RECALLED, RECALLED_LENGTH = 2, 240
"""Messages of the archive that stand beside a prompt about them, characters of each."""
MOST_TERMS = 12
"""Words of a prompt that tell something; of a longer one half must be in a message."""
ALIKE = 20
"""How often the same may be said before something else is no longer found."""


@dataclass(slots=True)
class PastTalks:
    """What was said before one turn, made when it begins: what is said in the turn is not searched.

    What others have written in another conversation is marked with its source. What other
    conversations and the results of tools show is data of the user's, which `watch` takes down.
    """

    rooms: Rooms
    watch: Provenance | None
    _end: int = 0
    _sources: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.watch is not None:
            session = self.watch.session
            self._end = session.archived + len(session.messages)

    def any(self) -> bool:
        """Whether there is anything that the model is not shown anyway."""
        session = self.watch.session if self.watch else None
        if session is not None and (session.archived or session.shortened):
            return True
        return self.rooms.sessions.has_others(session.id if session else "")

    def find(self, words: str, most: int, length: int) -> Sequence[Said]:
        here = self.watch.session.id if self.watch else ""
        asked = ALIKE * most
        hits = search(self._talks(), words, length, first=here, any_word=True, most=asked)
        hits = _different(hits)[:most]
        if self.watch and PLACE not in self.watch.data:
            foreign = any(hit.id != here or hit.tool for hit in hits)
            self.watch.data += [PLACE] if foreign else []
        return [_said(hit, here, self._source(hit, here)) for hit in hits]

    def _source(self, hit: SessionHit, here: str) -> str:
        """Whose words a hit may be. What was said in this conversation is known as that."""
        return self._sources.get(hit.id, "") if hit.id != here or hit.tool else ""

    def _talks(self) -> Iterator[Talk]:
        session = self.watch.session if self.watch else None
        for talk, messages in self.rooms.sessions.talks(session):
            if talk is session:
                self._sources[talk.id] = brought_along(talk)
                yield talk, ((number, said) for number, said in messages if number <= self._end)
            else:
                self._sources[talk.id] = brought_along(talk)
                yield talk, messages


def earlier(rooms: Rooms, session: Session, text: str) -> list[str]:
    """What the archived part of a conversation holds about a prompt, a line each."""
    if not session.archived:
        return []
    end = session.archived
    old = ((n, entry) for n, entry in rooms.sessions.messages(session) if n <= end)
    telling = [term.word for term in terms(text) if not term.small]
    hits = search([(session, old)], text, RECALLED_LENGTH, most=RECALLED)
    return [
        f"{hit.tool or hit.role}: {hit.snippet}"
        + (f" -> assistant: {hit.reply}" if hit.reply else "")
        for hit in hits
        if len(telling) <= MOST_TERMS or 2 * len(set(telling) & set(hit.missing)) <= len(telling)
    ]


def _different(hits: Sequence[SessionHit]) -> list[SessionHit]:
    """Each text once, the best of those that say the same."""
    return list({hit.snippet.casefold(): hit for hit in reversed(hits)}.values())[::-1]


def _said(hit: SessionHit, here: str, source: str) -> Said:
    talk = "" if hit.id == here else hit.title or hit.id
    role = f"tool {hit.tool}" if hit.tool else hit.role
    return Said(hit.at, talk, hit.number, role, hit.snippet, hit.reply, source)
