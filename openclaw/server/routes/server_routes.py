"""The server itself: whether it lives, its link, its end, and the description of its routes."""

from __future__ import annotations

import os
from typing import Any

from openclaw import __version__
from openclaw.server.api import NUMBER, TRUTH, ApiCall, Routes, an_object
from openclaw.server.server_client import prove
from openclaw.server.wire import HttpError

ROUTES = Routes()
_OK = an_object(required={"ok": TRUTH})


@ROUTES.add(
    "GET",
    "/api/health",
    "open",
    query={"nonce": "any text"},
    answer=an_object("version proof", required={"ok": TRUTH}),
)
def health(call: ApiCall, nonce: str = "") -> Any:
    """Whether the server lives, and a proof that it is this home's."""
    proof = prove(call.server.tokens.terminal, nonce) if nonce else ""
    return {"ok": True, "version": __version__, "proof": proof}


@ROUTES.add("POST", "/api/login", "open", answer=an_object("token"))
def log_in(call: ApiCall, code: str) -> Any:
    """Exchange the code of a link, which works once, for the token."""
    token = call.server.tokens.exchange(code)
    if not token:
        call.server.log_refusal("", "a code that is used or too old")
        raise HttpError(
            401, "this link is used or too old", "openclaw serve --link prints a new one"
        )
    return {"token": token}


@ROUTES.add("POST", "/api/link", "owner", answer=an_object("code"))
def link(call: ApiCall) -> Any:
    """A new code for a link."""
    return {"code": call.server.tokens.make_code()}


@ROUTES.add(
    "GET",
    "/api/status",
    "owner",
    answer=an_object("version home", required={"pid": NUMBER, "port": NUMBER}),
)
def status(call: ApiCall) -> Any:
    """What runs."""
    server = call.server
    return {
        "version": __version__,
        "pid": os.getpid(),
        "port": server.port,
        "home": str(server.home.root),
        "since": server.began_at,
        "runs": [run.describe() for run in server.runs.running()],
    }


@ROUTES.add("POST", "/api/stop", "owner", answer=_OK)
def stop(call: ApiCall) -> Any:
    """End the server."""
    call.server.end()
    return {"ok": True}
