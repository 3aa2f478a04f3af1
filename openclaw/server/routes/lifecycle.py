"""The server itself: whether it lives, its link, its end, and the description of its routes."""

from __future__ import annotations

from typing import Any

from openclaw import __version__
from openclaw.server.api import NUMBER, TEXT, Call, Endpoint, Problem, an_object


def health(call: Call) -> Any:
    nonce = call.query.get("nonce", "")
    return {"ok": True, "version": __version__, "proof": call.server.prove(nonce) if nonce else ""}


def log_in(call: Call) -> Any:
    """Exchange a code, which works once, for the token."""
    token = call.server.tokens.exchange(call.body["code"])
    if not token:
        call.server.log_refusal("", "a code that is used or too old")
        raise Problem(401, "this link is used or too old", "openclaw serve --link prints a new one")
    return {"token": token}


def link(call: Call) -> Any:
    return {"code": call.server.tokens.make_code()}


def status(call: Call) -> Any:
    return call.server.describe()


def stop(call: Call) -> Any:
    call.server.end()
    return {"ok": True}


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/health",
        "open",
        "Whether the server lives, and a proof that it is this home's.",
        health,
        query={"nonce": "any text"},
        answer=an_object({"ok": {"type": "boolean"}, "version": TEXT, "proof": TEXT}),
    ),
    Endpoint(
        "POST",
        "/api/login",
        "open",
        "Exchange the code of a link for the token.",
        log_in,
        body=an_object({"code": TEXT}),
        answer=an_object({"token": TEXT}),
    ),
    Endpoint(
        "POST",
        "/api/link",
        "owner",
        "A new code for a link.",
        link,
        body=an_object({}),
        answer=an_object({"code": TEXT}),
    ),
    Endpoint(
        "GET",
        "/api/status",
        "owner",
        "What runs.",
        status,
        answer=an_object({"version": TEXT, "pid": NUMBER, "port": NUMBER, "home": TEXT}),
    ),
    Endpoint(
        "POST",
        "/api/stop",
        "owner",
        "End the server.",
        stop,
        body=an_object({}),
        answer=an_object({"ok": {"type": "boolean"}}),
    ),
)
