"""The history of the home, and the log of what tools did."""

from __future__ import annotations

from itertools import islice
from typing import Any

from openclaw.history.differences import turn_differences, turn_json
from openclaw.history.turns import Scope
from openclaw.security.audit import ACTIONS, read_actions
from openclaw.server.api import (
    NUMBER,
    OBJECT,
    TEXT,
    TRUTH,
    Call,
    Routes,
    a_list,
    an_object,
    looking_up,
)
from openclaw.server.wire import Problem

ROUTES = Routes()
MAX_TURNS = 1000
SCOPES: tuple[Scope, ...] = ("all", "files", "talk")
TAKEN = an_object(required={"turn": {"type": ["string", "null"]}, "of": a_list(OBJECT)})


@ROUTES.add(
    "GET",
    "/api/log",
    "read",
    query={"n": "how many, 20", "session": "of this conversation", "file": "of this file"},
    answer=a_list(OBJECT),
)
def log(call: Call) -> Any:
    """The newest turns with what they changed, the newest first."""
    with call.server.agent() as agent:
        session = agent.find_session(call.query.get("session", ""))
        found = agent.history.turns_of(session, call.query.get("file", ""))
        shown = islice(found, call.number("n", 20))
        return [turn_json(turn, turn_differences(agent.history, turn)) for turn in shown]


@ROUTES.add("GET", "/api/log/{turn}", "read", answer=OBJECT)
def show(call: Call) -> Any:
    """One turn, with the diff of its files."""
    with call.server.agent() as agent:
        with looking_up():
            turn = agent.history.find(call.path["turn"])
        return turn_json(turn, turn_differences(agent.history, turn), diff=True)


@ROUTES.add("GET", "/api/actions", "read", query={"n": "how many, 20"}, answer=a_list(OBJECT))
def actions(call: Call) -> Any:
    """What tools did, and who allowed it, the newest last."""
    return read_actions(call.server.home.private / "logs" / ACTIONS, call.number("n", 20))


@ROUTES.add(
    "POST",
    "/api/undo",
    "owner",
    body=an_object(count=NUMBER, scope=TEXT, session=TEXT, keep=TRUTH),
    answer=TAKEN,
)
def undo(call: Call) -> Any:
    """Take back the newest turns. 409 with both sides where others changed the same lines since;
    `keep` takes back the rest."""
    scope = call.body.get("scope", "all")
    if scope not in SCOPES:
        raise Problem(400, f"there is no scope '{scope}'", f"there are: {', '.join(SCOPES)}")
    return _take(call, "undo", scope)


@ROUTES.add(
    "POST",
    "/api/redo",
    "owner",
    body=an_object(count=NUMBER, session=TEXT, keep=TRUTH),
    answer=TAKEN,
)
def redo(call: Call) -> Any:
    """Put back what the newest undo took back."""
    return _take(call, "redo")


def _take(call: Call, verb: str, scope: Scope = "all") -> Any:
    body, count = call.body, call.body.get("count", 1)
    if not 1 <= count <= MAX_TURNS:
        raise Problem(400, f"count is no number from 1 to {MAX_TURNS}")
    with call.server.agent() as agent:
        session = agent.find_session(body.get("session", ""))
        call.server.check_idle(session)
        agent.recover()
        keep = bool(body.get("keep"))
        if verb == "undo":
            taken = agent.undo(count, scope, session, keep)
        else:
            taken = agent.redo(count, session, keep)
    if taken.conflicts and taken.turn is None:
        hint = "keep: true takes back the rest"
        raise Problem(409, "the same lines were changed since", hint, **taken.as_json())
    return taken.as_json()
