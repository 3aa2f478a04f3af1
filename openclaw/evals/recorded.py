"""Splits a recorded conversation into turns, each with the messages before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from openclaw.frozen import frozen
from openclaw.history.history import History
from openclaw.history.turns import Turn
from openclaw.messages import NO_RECORD, Entry, ToolUse, TurnRecord
from openclaw.sessions.session import ArchivePart, Session
from openclaw.sessions.store import SessionStore
from openclaw.types import to_timestamp

COMPACTED = "a compaction came with it: its request cannot be made again"
UNREADABLE = "the archive before it cannot be read"
UNANSWERED = "it broke off before anything was said"


@frozen
class RecordedTurn:
    """A recorded turn.

    number: in the whole conversation, from 1
    said: the assistant's messages
    before: the messages that were sent with it
    earlier: the summary of archived messages
    shortened: at most so many of `before` had results in one line
    archived: number of archived messages
    lost: why it cannot be run again, "" when it can
    """

    number: int
    user: Entry
    said: tuple[Entry, ...]
    before: tuple[Entry, ...] = ()
    earlier: str = ""
    shortened: int = 0
    archived: int = 0
    lost: str = ""

    @property
    def record(self) -> TurnRecord:
        """The record of how it was made."""
        return self.user.record

    @property
    def has_record(self) -> bool:
        """False in conversations of older versions."""
        return bool(self.user.record_json)

    @property
    def model(self) -> str:
        """The model that made it, "" where that was not noted."""
        return self.record.model or ""

    @property
    def end(self) -> TurnRecord:
        """The record of its end, empty when it broke off."""
        return self.said[-1].record if self.said else NO_RECORD

    @property
    def stop(self) -> str:
        return self.end.stop or ""

    @property
    def uses(self) -> tuple[ToolUse, ...]:
        return tuple(use for entry in self.said for use in entry.tool_calls)

    @property
    def answer(self) -> str:
        """The answer, "" when the turn ended with a call."""
        return answer_of(self.said)


def answer_of(said: Sequence[Entry]) -> str:
    """Return the answer of a turn with these messages of the assistant."""
    last = said[-1] if said else None
    return last.content if last and not last.tool_calls and not last.hint else ""


def recorded_turns(store: SessionStore, session: Session) -> list[RecordedTurn]:
    """Return all turns of a conversation, archived ones too; `store.problems` names the unreadable
    parts of the archive."""
    talk = _WholeConversation(session, list(store.archived(session)))
    starts = [at for at, entry in enumerate(talk.entries) if entry and entry.role == "user"]
    ends = [*starts[1:], len(talk.entries)]
    return [
        talk.turn(number + talk.unread(start), start, end)
        for number, (start, end) in enumerate(zip(starts, ends, strict=True), 1)
    ]


class _WholeConversation:
    """A whole conversation; None stands for each archived message that cannot be read."""

    def __init__(self, session: Session, archive: list[tuple[ArchivePart, Session | None]]) -> None:
        self.parts = [part for part, _ in archive]
        self.documents = [document for _, document in archive]
        self.entries: list[Entry | None] = []
        for part, document in archive:
            self.entries += document.messages if document else [None] * part.messages
        self.entries += session.messages
        self.session = session

    def unread(self, start: int) -> int:
        """Return the number of unreadable turns before a message."""
        pairs = zip(self.parts, self.documents, strict=True)
        return sum(part.turns for part, found in pairs if found is None and part.last <= start)

    def turn(self, number: int, start: int, end: int) -> RecordedTurn:
        """Return the turn of the messages `start` to `end` (indices)."""
        user, *said = (entry for entry in self.entries[start:end] if entry)
        done, lost = self._compactions(start, user, said)
        dropped = sum(part.messages for part in self.parts[:done])
        before = self.entries[dropped:start]
        if None in before:
            lost = lost or UNREADABLE
        state = self.documents[done] if done < len(self.documents) else self.session
        if state is None:
            return RecordedTurn(number, user, tuple(said), lost=UNREADABLE)
        return RecordedTurn(
            number,
            user,
            tuple(said),
            tuple(entry for entry in before if entry),
            state.compressed_context,
            min(state.shortened, start - dropped),
            dropped,
            lost or ("" if said else UNANSWERED),
        )

    def _compactions(self, start: int, user: Entry, said: Sequence[Entry]) -> tuple[int, str]:
        """Return the number of compactions before a turn, and COMPACTED when one ran within it.
        Candidates are those that did not archive the turn; their times decide."""
        began, ended = _seconds(user.at), _seconds(said[-1].at if said else user.at)
        done = 0
        for part in self.parts:
            at = _seconds(part.at)
            if part.last > start or at > ended:
                break
            if not at or not began or at >= began:
                return done, COMPACTED
            done += 1
        return done, ""


@dataclass(slots=True)
class PastHistory:
    """The part of a home's history that was read so far, newest first."""

    history: History
    _read: list[Turn] = field(default_factory=list)
    _rest: Iterator[Turn] | None = None

    def held(self, path: str, session: str, turn: RecordedTurn) -> tuple[bool, bytes | None]:
        """Return whether the content of a file at a turn is known, and that content (None: no
        file): the content that the first turn since found there, this one included. The time of an
        edit outside the program is unknown, so it counts as older than the turn."""
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
    """Return a time as whole seconds since 1970, 0.0 for none."""
    return to_timestamp(at) // 1
