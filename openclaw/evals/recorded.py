"""Takes a recorded conversation apart: each turn with what was said before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from openclaw.history.history import History
from openclaw.history.turns import Turn
from openclaw.sessions.session import Part, Session
from openclaw.sessions.store import SessionStore
from openclaw.types import Entry, ToolUse

COMPACTED = "a compaction came with it: its request cannot be made again"
UNREADABLE = "the archive before it cannot be read"
UNANSWERED = "it broke off before anything was said"


@dataclass(frozen=True, slots=True)
class Recorded:
    """A turn as it was: `number` in the whole conversation, from 1; `said` the assistant's
    messages; `before` the messages that were sent with it, `earlier` the summary of older ones,
    `archived` how many these are, `shortened` the most of the others that can have had results
    in one line by then. `lost` says why it cannot be run again, "" when it can."""

    number: int
    user: Entry
    said: tuple[Entry, ...]
    before: tuple[Entry, ...] = ()
    earlier: str = ""
    shortened: int = 0
    archived: int = 0
    lost: str = ""

    @property
    def record(self) -> Mapping[str, Any]:
        """What was noted of its making; empty in conversations of older versions."""
        return self.user.record

    @property
    def model(self) -> str:
        """The model it was made with, "" where that was not noted."""
        return text_of(self.record, "model")

    @property
    def end(self) -> Mapping[str, Any]:
        """How it ended, empty when it broke off."""
        return self.said[-1].record if self.said else {}

    @property
    def stop(self) -> str:
        return str(self.end.get("stop", ""))

    @property
    def uses(self) -> tuple[ToolUse, ...]:
        return tuple(use for entry in self.said for use in entry.tool_calls)

    @property
    def answer(self) -> str:
        """The last thing said, "" when the turn ended with a call."""
        return answer_of(self.said)


def answer_of(said: Sequence[Entry]) -> str:
    """The answer of a turn with these messages of the assistant."""
    last = said[-1] if said else None
    return last.content if last and not last.tool_calls and not last.hint else ""


def text_of(record: Mapping[str, Any], name: str) -> str:
    """What a record has under that name, "" for what is no text: a file may have been edited."""
    value = record.get(name)
    return value if isinstance(value, str) else ""


def recorded_turns(store: SessionStore, session: Session) -> list[Recorded]:
    """All turns of a conversation, archived ones too; `store.problems` names what of the archive
    cannot be read."""
    talk = _Talk(session, list(store.archived(session)))
    starts = [at for at, entry in enumerate(talk.entries) if entry and entry.role == "user"]
    ends = [*starts[1:], len(talk.entries)]
    return [
        talk.turn(number + talk.unread(start), start, end)
        for number, (start, end) in enumerate(zip(starts, ends, strict=True), 1)
    ]


class _Talk:
    """A whole conversation; None stands for each archived message that cannot be read."""

    def __init__(self, session: Session, archive: list[tuple[Part, Session | None]]) -> None:
        self.parts = [part for part, _ in archive]
        self.documents = [document for _, document in archive]
        self.entries: list[Entry | None] = []
        for part, document in archive:
            self.entries += document.messages if document else [None] * part.messages
        self.entries += session.messages
        self.session = session

    def unread(self, start: int) -> int:
        """How many turns before a message cannot be read."""
        pairs = zip(self.parts, self.documents, strict=True)
        return sum(part.turns for part, found in pairs if found is None and part.last <= start)

    def turn(self, number: int, start: int, end: int) -> Recorded:
        """The turn of the messages `start` to `end` (indices)."""
        user, *said = (entry for entry in self.entries[start:end] if entry)
        done, lost = self._compactions(start, user, said)
        dropped = sum(part.messages for part in self.parts[:done])
        before = self.entries[dropped:start]
        if None in before:
            lost = lost or UNREADABLE
        state = self.documents[done] if done < len(self.documents) else self.session
        if state is None:
            return Recorded(number, user, tuple(said), lost=UNREADABLE)
        return Recorded(
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
        """How many compactions came before a turn, and what is lost when one came with it. Only
        those can that left the turn where it is; which of them did, the clock tells."""
        began, ended = _second(user.at), _second(said[-1].at if said else user.at)
        done = 0
        for part in self.parts:
            at = _second(part.at)
            if part.last > start or at > ended:
                break
            if not at or not began or at >= began:
                return done, COMPACTED
            done += 1
        return done, ""


def _second(at: str) -> float:
    """A time as seconds since 1970, whole ones as messages have them; 0.0 for none."""
    try:
        return datetime.fromisoformat(at).replace(microsecond=0).timestamp()
    except ValueError:
        return 0.0


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
