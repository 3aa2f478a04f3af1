"""Searches the conversations before a turn, and the archived part of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from openclaw.agent.provenance import Provenance, foreign_label
from openclaw.home.open_home import OpenHome
from openclaw.sessions.session import Session
from openclaw.sessions.session_search import SessionHit, SessionMessages, read_terms, search

OTHER_CONVERSATIONS = "earlier conversations"
RECALLED, RECALLED_LENGTH = 2, 240
"""Archived messages that go with a prompt about them, and characters of each."""
MAX_TERMS = 12  # telling words of a prompt; of a prompt with more, half must be in a message
REPLY = 120  # characters of the answer to a message that was found
ALIKE = 20  # hits to read for each hit wanted, as many may have the same text


@dataclass(slots=True)
class PastConversations:
    """Searches the conversations before one turn: messages of the turn are not searched.

    Text of others in another conversation is marked with its source. Hits in other conversations
    and in results of tools are the user's data, which `provenance` records.
    """

    open_home: OpenHome
    provenance: Provenance
    _sources: dict[str, str] = field(default_factory=dict)

    def any(self) -> bool:
        """Return True when there is anything that the model does not see anyway."""
        session = self.provenance.session
        hidden = session.archived or session.shortened
        return bool(hidden) or self.open_home.sessions.has_others(session.id)

    def find(self, words: str, most: int, length: int) -> Sequence[tuple[str, str]]:
        """See `openclaw.tools.memory_tools.ConversationSearch`."""
        here, data = self.provenance.session.id, self.provenance.data
        asked = ALIKE * most
        hits = search(self._talks(), words, length, first=here, any_word=True, most=asked)
        best = {hit.snippet.casefold(): hit for hit in reversed(hits)}  # each text once
        hits = list(best.values())[::-1][:most]
        found = []
        for hit in hits:
            other = hit.id != here or hit.tool  # not what was said here
            data += [OTHER_CONVERSATIONS] if other and OTHER_CONVERSATIONS not in data else []
            found.append((_format_hit(hit, here), self._sources.get(hit.id, "") if other else ""))
        return found

    def _talks(self) -> Iterator[SessionMessages]:
        session, end = self.provenance.session, self.provenance.at
        for talk, messages in self.open_home.sessions.talks(session):
            self._sources[talk.id] = foreign_label(talk)
            yield talk, ((n, said) for n, said in messages if talk is not session or n <= end)


def find_archived(open_home: OpenHome, session: Session, text: str) -> list[str]:
    """Return the archived messages of a conversation about a prompt, a line each."""
    end = session.archived
    old = ((n, entry) for n, entry in open_home.sessions.messages(session) if n <= end)
    telling = [term.word for term in read_terms(text) if not term.small]
    hits = search([(session, old)], text, RECALLED_LENGTH, most=RECALLED)
    return [
        f"{hit.tool or hit.role}: {hit.snippet}"
        + (f" -> assistant: {hit.reply}" if hit.reply else "")
        for hit in hits
        if len(telling) <= MAX_TERMS or 2 * len(set(telling) & set(hit.missing)) <= len(telling)
    ]


def _format_hit(hit: SessionHit, here: str) -> str:
    where = "this conversation" if hit.id == here else f'"{hit.title or hit.id}"'
    role = f"tool {hit.tool}" if hit.tool else hit.role
    reply = f" -> assistant: {hit.reply[:REPLY]}" if hit.reply else ""
    at = hit.at[:16].replace("T", " ")
    return f"{at} {where} #{hit.number} {role}: {hit.snippet}{reply}"
