"""Explain an answer from the messages of its session: what was offered, left out and cut, what the
model thought and did, and what the answer rests on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from openclaw.errors import OpenclawError, UsageError
from openclaw.frozen import frozen
from openclaw.history.history import History
from openclaw.history.turns import Turn
from openclaw.home.open_home import OpenHome
from openclaw.messages import Entry, ToolUse, TurnRecord
from openclaw.security.display import count_of, main_argument
from openclaw.sessions.session import Session, from_json, turn_starts
from openclaw.sessions.store import SessionStore

Found = Mapping[str, Any]
NO_RECORD = "no record was kept of this turn: only its steps are known"


@frozen
class WhyStep:
    """One reply of the model: its thoughts, its text, its calls with their results, and the hints
    that it was given besides."""

    thought: str
    said: str
    calls: tuple[ToolUse, ...] = ()
    hint: str = ""


@frozen
class Why:
    """What is known of one turn. `recorded`: the session has kept what the turn was made of;
    without it nothing is known of `offered`, `left_out`, `cut`, `citations` and `sources`. The
    shapes of these are those of the session file (docs/why.md)."""

    session: str
    turn: int
    at: str
    prompt: str
    recorded: bool
    model: str = ""
    offered: tuple[Found, ...] = ()
    left_out: tuple[Found, ...] = ()
    cut: tuple[Found, ...] = ()
    steps: tuple[WhyStep, ...] = ()
    answer: str = ""
    citations: tuple[Found, ...] = ()
    sources: tuple[str, ...] = ()
    stop: str = ""
    unbacked: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def why(session: str, messages: Sequence[Entry], number: int, shown_as: int = 0) -> Why:
    """What is known of the turn that begins with the user's message of this number, from 1, among
    `messages`; `shown_as` is its number in the whole conversation. UsageError when there is
    none."""
    starts = turn_starts(messages)
    if not 0 < number <= len(starts):
        turns = len(starts) + max((shown_as or number) - number, 0)  # archived ones too
        there = f"it has {count_of(turns, 'turn')}" if turns else "nothing was said in it"
        raise UsageError(
            f"conversation {session} has no turn {shown_as or number}; {there}",
            f"see them: openclaw sessions show {session}",
        )
    end = starts[number] if number < len(starts) else len(messages)
    user, *replies = messages[starts[number - 1] : end]
    last = replies[-1] if replies else None
    record, ended = user.record, last.record if last else TurnRecord()
    answer = last.content if last and not last.tool_calls else ""
    return Why(
        session=session,
        turn=shown_as or number,
        at=user.at,
        prompt=user.content,
        recorded=bool(user.record_json),
        model=record.model or "",
        offered=tuple(record.offered or ()),
        left_out=tuple(record.left_out or ()),
        cut=tuple(record.cut or ()),
        steps=tuple(WhyStep(e.thought, e.content, e.tool_calls, e.hint) for e in replies),
        answer=answer,
        citations=tuple(ended.citations or ()),
        sources=tuple(ended.sources or ()),
        stop=ended.stop or "",
        unbacked=tuple(ended.unbacked or ()),
        changed=tuple(ended.changed or ()),
    )


# -------- finding a turn

_NUMBER = re.compile(r"[1-9]\d{0,6}")


def find_why(
    open_home: OpenHome, ref: str, session_id: str = "", here: Session | None = None
) -> Why:
    """Return the explanation of the turn that `ref` means: a number of the session (the latest, or
    that of a chat), SESSION:N, or an id of the history. UsageError when there is none."""
    store = open_home.sessions
    name, colon, number = ref.rpartition(":")
    if not ref or _NUMBER.fullmatch(ref):
        session = here or store.load(session_id or "latest")
        return _why(store, session, int(ref or 0) or session.turns)
    if colon and _NUMBER.fullmatch(number):
        return _why(store, store.load(name), int(number))
    return why_of(open_home, open_home.history.find(ref))


def why_of(open_home: OpenHome, turn: Turn) -> Why:
    """Return the explanation of an entry of the history. OpenclawError when it is no answer, or its
    conversation is not kept."""
    if not (turn.session and turn.number):
        raise UsageError(
            f"{turn.id} is no answer: it is of the kind '{turn.kind}'",
            "see the turns: openclaw log",
        )
    store = open_home.sessions
    kept = session_after(turn, open_home.history)
    return _why(store, kept or store.load(store.find(turn.session)), turn.number)


def _why(store: SessionStore, session: Session, number: int) -> Why:
    """Explain a turn of this session; the archive is read only when the turn lies there."""
    live = sum(entry.role == "user" for entry in session.messages)
    archived = session.turns - live
    if number > archived:
        return why(session.id, session.messages, number - archived, number)
    return why(session.id, [entry for _, entry in store.messages(session)], number)


def session_after(turn: Turn, history: History) -> Session | None:
    """Return the session as the turn left it; None when it was not kept or cannot be read."""
    path = f"sessions/{turn.session}.json"
    names = [step.after for step in turn.steps if step.path == path]
    return parse_session(history.read(names[-1]), turn.session) if names else None


def parse_session(data: bytes | None, session_id: str) -> Session | None:
    """Return the session in the bytes of its file; None when they hold none."""
    try:
        return from_json(data.decode("utf-8-sig"), session_id) if data is not None else None
    except ValueError:
        return None


@frozen
class Exchange:
    """The prompt and the answer of a turn, "" when not known, and the calls between them."""

    prompt: str = ""
    answer: str = ""
    calls: tuple[str, ...] = ()


def find_exchange(open_home: OpenHome, turn: Turn) -> Exchange:
    """The prompt, answer and calls of a turn. All are empty for an undo, and where the conversation
    is not kept."""
    try:
        found = why_of(open_home, turn)
    except OpenclawError:
        return Exchange()
    calls = (
        f"{call.tool} {main_argument(call.input)}".rstrip() + ("" if call.ok else " (failed)")
        for step in found.steps
        for call in step.calls
    )
    return Exchange(found.prompt, found.answer, tuple(calls))
