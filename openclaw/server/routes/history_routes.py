"""The history of the home, and the log of what tools did."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from openclaw.agent.agent import Agent
from openclaw.agent.undo import UndoResult
from openclaw.history.differences import turn_differences, turn_json
from openclaw.history.turns import Scope
from openclaw.security.audit import read_actions
from openclaw.server.api import MAX_NUMBER, OBJECT, ApiCall, Routes, a_list, an_object, looking_up
from openclaw.server.wire import HttpError

ROUTES = Routes()
TAKEN = an_object(required={"turn": {"type": ["string", "null"]}, "of": a_list(OBJECT)})


@ROUTES.add(
    "GET",
    "/api/log",
    "read",
    query={"n": "how many, 20", "session": "of this conversation", "file": "of this file"},
    answer=a_list(OBJECT),
)
def log(call: ApiCall, n: int = 20, session: str = "", file: str = "") -> Any:
    """The newest turns with what they changed, the newest first."""
    with call.server.agent() as agent:
        found = agent.history.turns_of(agent.find_session(session), file)
        return [turn_json(each, turn_differences(agent.history, each)) for each in islice(found, n)]


@ROUTES.add("GET", "/api/log/{turn}", "read", answer=OBJECT)
def show(call: ApiCall, turn: str) -> Any:
    """One turn, with the diff of its files."""
    with call.server.agent() as agent:
        with looking_up():
            found = agent.history.find(turn)
        return turn_json(found, turn_differences(agent.history, found), diff=True)


@ROUTES.add("GET", "/api/actions", "read", query={"n": "how many, 20"}, answer=a_list(OBJECT))
def actions(call: ApiCall, n: int = 20) -> Any:
    """What tools did, and who allowed it, the newest last."""
    return read_actions(call.server.home.action_log, n)


@ROUTES.add("POST", "/api/undo", "owner", answer=TAKEN)
def undo(
    call: ApiCall, count: int = 1, scope: Scope = "all", session: str = "", keep: bool = False
) -> Any:
    """Take back the newest turns. 409 with both sides where others changed the same lines since;
    `keep` takes back the rest."""
    return _take(call, count, session, lambda agent, ref: agent.undo(count, scope, ref, keep))


@ROUTES.add("POST", "/api/redo", "owner", answer=TAKEN)
def redo(call: ApiCall, count: int = 1, session: str = "", keep: bool = False) -> Any:
    """Put back what the newest undo took back."""
    return _take(call, count, session, lambda agent, ref: agent.redo(count, ref, keep))


def _take(call: ApiCall, count: int, session: str, take: Callable[[Agent, str], UndoResult]) -> Any:
    if not 1 <= count <= MAX_NUMBER:
        raise HttpError(400, f"count is no number from 1 to {MAX_NUMBER}")
    with call.server.agent() as agent:
        ref = agent.find_session(session)
        call.server.check_idle(ref)
        agent.recover()
        taken = take(agent, ref)
    if taken.refused:
        hint = "keep: true takes back the rest"
        raise HttpError(409, "the same lines were changed since", hint, **taken.as_json())
    return taken.as_json()
