"""The prompt and the answer behind an entry of the history, and the lines of a file with the entry
that wrote each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openclaw.errors import OpenclawError
from openclaw.frozen import frozen
from openclaw.history.blame import Line
from openclaw.history.history import History
from openclaw.history.turns import Turn
from openclaw.home.open_home import OpenHome
from openclaw.inspection.why import why_of
from openclaw.security.display import main_argument
from openclaw.sessions.store import SessionStore


@frozen
class Exchange:
    """The prompt and the answer of a turn, "" when not known, and the calls between them."""

    prompt: str = ""
    answer: str = ""
    calls: tuple[str, ...] = ()


def find_exchange(turn: Turn, contents: History, store: SessionStore) -> Exchange:
    """The prompt, answer and calls of a turn. All are empty for an undo, and where the conversation
    is not kept."""
    try:
        found = why_of(turn, contents, store)
    except OpenclawError:
        return Exchange()
    calls = (
        f"{call.tool} {main_argument(call.input)}".rstrip() + ("" if call.ok else " (failed)")
        for step in found.steps
        for call in step.calls
    )
    return Exchange(found.prompt, found.answer, tuple(calls))


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
