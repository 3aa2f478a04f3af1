"""Splits a recorded conversation into turns, each with the messages before it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from openclaw.frozen import frozen
from openclaw.history.turns import Turn, TurnStep
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
    def broke_off(self) -> bool:
        return self.has_record and self.stop in ("", "interrupted")

    @property
    def uses(self) -> tuple[ToolUse, ...]:
        return tuple(use for entry in self.said for use in entry.tool_calls)

    @property
    def answer(self) -> str:
        """The answer, "" when the turn ended with a call."""
        return answer_of(self.said)


def answer_of(said: Sequence[Entry]) -> str:
    last = said[-1] if said else None
    return last.content if last and not last.tool_calls and not last.hint else ""


def recorded_turns(store: SessionStore, session: Session) -> list[RecordedTurn]:
    """Return all turns of a conversation, archived ones too; `store.problems` names the unreadable
    parts of the archive."""
    archive = list(store.archived(session))
    entries: list[Entry | None] = []  # None: a message that cannot be read
    for part, document in archive:
        entries += document.messages if document else [None] * part.messages
    entries += session.messages
    starts = [at for at, entry in enumerate(entries) if entry and entry.role == "user"]
    found = []
    for number, (start, end) in enumerate(pairwise([*starts, len(entries)]), 1):
        user, *said = (entry for entry in entries[start:end] if entry)
        done, lost = _count_compactions([part for part, _ in archive], start, user, said)
        state = archive[done][1] if done < len(archive) else session
        dropped = sum(part.messages for part, _ in archive[:done])
        before = [entry for entry in entries[dropped:start] if entry]
        if state is None or len(before) < start - dropped:
            lost = lost or UNREADABLE
        unread = (part for part, each in archive if each is None and part.last <= start)
        found.append(
            RecordedTurn(
                number + sum(part.turns for part in unread),
                user,
                tuple(said),
                tuple(before),
                state.compressed_context if state else "",
                min(state.shortened, start - dropped) if state else 0,
                dropped,
                lost or ("" if said else UNANSWERED),
            )
        )
    return found


def _count_compactions(
    parts: Sequence[ArchivePart], start: int, user: Entry, said: Sequence[Entry]
) -> tuple[int, str]:
    """Return the number of compactions before a turn, and COMPACTED when one ran within it.
    Candidates are those that did not archive the turn; their times decide."""
    began, ended = _seconds(user.at), _seconds(said[-1].at if said else user.at)
    done = 0
    for part in parts:
        at = _seconds(part.at)
        if part.last > start or at > ended:
            break
        if not at or not began or at >= began:
            return done, COMPACTED
        done += 1
    return done, ""


def find_first_change(
    turns: Iterable[Turn], path: str, session: str, turn: RecordedTurn
) -> TurnStep | None:
    """Return the first change of a file since a turn began, that of the turn included. `turns` are
    the newest first. The time of an edit outside the program is unknown, so it counts as older."""
    found = None
    for each in turns:
        if each.kind == "outside":
            continue
        is_it = (each.session, each.number) == (session, turn.number) and each.kind == "turn"
        if not is_it and _seconds(each.at) < _seconds(turn.user.at):
            break
        found = next((step for step in each.steps if step.path == path), found)
        if is_it:
            break
    return found


def _seconds(at: str) -> float:
    """Return a time as whole seconds since 1970, 0.0 for none."""
    return to_timestamp(at) // 1
