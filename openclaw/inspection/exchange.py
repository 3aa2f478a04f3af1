"""The prompt and the answer behind an entry of the history, and the lines of a file with the entry
that wrote each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from openclaw.errors import OpenclawError
from openclaw.frozen import frozen
from openclaw.history.blame import Line
from openclaw.history.history import History
from openclaw.history.turns import Turn
from openclaw.home.open_home import OpenHome
from openclaw.inspection.why import session_after
from openclaw.messages import Entry
from openclaw.security.display import main_argument
from openclaw.sessions.store import SessionStore


@frozen
class Exchange:
    """The prompt and the answer of a turn, "" when not known, and the calls between them."""

    prompt: str = ""
    answer: str = ""
    calls: tuple[str, ...] = ()


def find_exchange(turn: Turn, contents: History, store: SessionStore) -> Exchange:
    """The prompt, answer and calls of a turn, whose number counts the user's messages of the
    conversation. All are empty for an undo."""
    if not (turn.session and turn.number):
        return Exchange()
    session = session_after(turn, contents)
    if session is not None:
        before = session.turns - sum(entry.role == "user" for entry in session.messages)
        return _exchange_at(session.messages, turn.number - before)
    try:
        session = store.load(store.find(turn.session))
        return _exchange_at([entry for _, entry in store.messages(session)], turn.number)
    except OpenclawError:
        return Exchange()


def writer_of(turn: Turn | None) -> str:
    """Who wrote a line: the id of a turn, "you", or "not recorded" before the next turn."""
    if turn is None:
        return "not recorded"
    return "you" if turn.kind == "outside" else turn.id


def blame_json(open_home: OpenHome, path: str, lines: Sequence[Line]) -> list[dict[str, Any]]:
    """The lines as JSON, each with its writer, and the prompt when a turn wrote it."""
    history, sessions = open_home.history, open_home.sessions
    prompts: dict[str, str] = {}
    found: list[dict[str, Any]] = []
    for line in lines:
        turn = line.turn
        told = {"path": path, "line": line.number, "text": line.text, "by": writer_of(turn)}
        told |= {"turn": "", "kind": "", "at": "", "session": "", "number": 0, "commit": ""}
        if turn is not None:
            if turn.id and turn.id not in prompts:
                prompts[turn.id] = find_exchange(turn, history, sessions).prompt or turn.subject
            told |= {"turn": turn.id, "kind": turn.kind, "at": turn.at, "session": turn.session}
            told |= {"number": turn.number, "commit": turn.commit}
        found.append(told | {"prompt": prompts.get(turn.id, "") if turn else ""})
    return found


def _exchange_at(messages: Sequence[Entry], number: int) -> Exchange:
    """The exchange that begins with the user's message of this number, from 1; the last exchange
    when there is no such number."""
    starts = [at for at, entry in enumerate(messages) if entry.role == "user"]
    if not starts:
        return Exchange()
    which = number - 1 if 0 < number <= len(starts) else len(starts) - 1
    end = starts[which + 1] if which + 1 < len(starts) else len(messages)
    exchange = messages[starts[which] : end]
    answers = [e.content for e in exchange if e.role == "assistant" and not e.tool_calls]
    return Exchange(exchange[0].content, answers[-1] if answers else "", tuple(_calls(exchange)))


def _calls(exchange: Iterable[Entry]) -> Iterable[str]:
    for entry in exchange:
        for call in entry.tool_calls:
            failed = "" if call.ok else " (failed)"
            yield f"{call.tool} {main_argument(call.input)}".rstrip() + failed
