"""Finds what was said in a turn: in the content that the turn has kept, else in its session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from openclaw.errors import OpenclawError

if TYPE_CHECKING:
    from openclaw.history.turn import Turn
    from openclaw.sessions.store import Session, SessionStore
    from openclaw.shapes import Entry


class Contents(Protocol):
    """What is asked of openclaw.history.history.History here."""

    def read(self, name: str | None) -> bytes | None: ...


@dataclass(frozen=True, slots=True)
class Said:
    """The prompt and the answer of a turn, "" for what is not known; the calls between them."""

    prompt: str = ""
    answer: str = ""
    calls: tuple[str, ...] = ()


def said(turn: Turn, contents: Contents, store: SessionStore) -> Said:
    """What was said in a turn; its number counts the user's messages of the conversation. Nothing
    is said in an undo."""
    if not (turn.session and turn.number):
        return Said()
    session = talk_of(turn, contents)
    if session is not None:
        before = session.turns - sum(entry.role == "user" for entry in session.messages)
        return _exchange(session.messages, turn.number - before)
    try:
        session = store.load(store.find(turn.session))
        return _exchange([entry for _, entry in store.messages(session)], turn.number)
    except OpenclawError:
        return Said()


def talk_of(turn: Turn, contents: Contents) -> Session | None:
    """The session as the turn left it; None when that was not kept or is none."""
    path = f"sessions/{turn.session}.json"
    names = [step.after for step in turn.steps if step.path == path]
    return parsed(contents.read(names[-1]), turn.session) if names else None


def parsed(data: bytes | None, session_id: str) -> Session | None:
    """A session's file, None for what is none."""
    from openclaw.sessions.session import from_json

    try:
        return from_json(data.decode("utf-8-sig"), session_id) if data is not None else None
    except ValueError:
        return None


def message_words(before: bytes | None, after: bytes | None) -> str:
    """What was added to a session's file and what left it, in messages: "2 messages"."""
    old, new = (_messages(data) for data in (before, after))
    shared = 0
    for one, other in zip(old, new, strict=False):
        if one != other and one and other:
            break
        shared += 1
    added, gone = len(new) - shared, len(old) - shared
    words = [_counted(added)] if added or not gone else []
    return ", ".join([*words, *([f"{_counted(gone)} less"] if gone else [])])


def _messages(data: bytes | None) -> list[str]:
    """What tells the messages of a conversation apart, "" for archived ones: they are as good as
    any other, since a compaction takes away nothing."""
    session = parsed(data, "")
    if session is None:
        return []
    live = [f"{entry.role} {entry.at} {entry.content}" for entry in session.messages]
    return [""] * session.archived + live


def _counted(number: int) -> str:
    return f"{number} message{'' if number == 1 else 's'}"


def _exchange(messages: Sequence[Entry], number: int) -> Said:
    """The exchange that begins with the user's message of this number, from 1; the last one when
    there is none of it."""
    starts = [at for at, entry in enumerate(messages) if entry.role == "user"]
    if not starts:
        return Said()
    which = number - 1 if 0 < number <= len(starts) else len(starts) - 1
    end = starts[which + 1] if which + 1 < len(starts) else len(messages)
    exchange = messages[starts[which] : end]
    answers = [e.content for e in exchange if e.role == "assistant" and not e.tool_calls]
    return Said(exchange[0].content, answers[-1] if answers else "", tuple(_calls(exchange)))


def _calls(exchange: Iterable[Entry]) -> Iterable[str]:
    from openclaw.cli.visible import main_argument

    for entry in exchange:
        for call in entry.tool_calls:
            failed = "" if call.ok else " (failed)"
            yield f"{call.tool} {main_argument(call.input)}".rstrip() + failed
