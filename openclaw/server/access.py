"""Who may call the server: the address it was called by, the token, and the headers it sends.

There is no cookie, so no other site's page can act with the user's rights; the exact list of hosts
keeps a rebound name out; the type of the body makes a browser ask first before it sends one from
elsewhere, and no answer to that question is ever given.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from openclaw.server.routes import is_open, make_router
from openclaw.server.service import Service

MAX_BODY = 20_000_000  # bytes of a request
MAX_DELAY = 1.0
SAFE = ("GET", "HEAD", "OPTIONS")
ONCE = ("host", "origin", "authorization", "content-type")
"""Headers of which we and a proxy might read different ones, if they came twice."""
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
        " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


class Access:
    """An ASGI app that lets a call through to `app` or refuses it.

    hosts     what the header `Host` may be, exactly
    origins   sites whose pages may call `/v1/`
    touched   called for each call that is let through
    """

    def __init__(
        self,
        service: Service,
        hosts: Collection[str],
        origins: Collection[str],
        touched: Callable[[], None],
    ) -> None:
        self._app, self._service = make_router(service), service
        self._hosts, self._origins, self._touched = hosts, origins, touched
        self._failures = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        origin = headers.get("origin", "")
        named = origin in self._origins and scope["path"].startswith("/v1/")
        sending = _with_headers(send, {**HEADERS, **_cors(origin)} if named else HEADERS)
        answer = self._find_problem(scope["method"], headers, named=named)
        if answer is None:
            answer = await self._check_token(scope, headers)
        await (answer or self._app)(scope, _limited(receive), sending)

    def _find_problem(self, method: str, headers: Headers, *, named: bool) -> Response | None:
        """Return the answer when a browser may have been made to call us, and when it asks whether
        a page of a named site may."""
        if any(len(headers.getlist(name)) > 1 for name in ONCE):
            return _refuse(400, "a header comes twice")
        if headers.get("host", "").lower() not in self._hosts:
            return _refuse(421, "this server does not go by that name")
        site = headers.get("sec-fetch-site", "same-origin")
        origin = headers.get("origin")
        elsewhere = site not in ("same-origin", "none") or (
            origin is not None and origin.lower().removeprefix("http://") not in self._hosts
        )
        if elsewhere and not named:
            return _refuse(403, "calls from another site are refused")
        if method in SAFE:
            return Response() if named and method == "OPTIONS" else None
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            return _refuse(415, "send Content-Type: application/json")
        said = headers.get("content-length", "0")
        if said.isdigit() and int(said) > MAX_BODY:
            return _refuse(413, f"a request may have {MAX_BODY:,} bytes")
        return None

    async def _check_token(self, scope: Scope, headers: Headers) -> Response | None:
        """Note what the token of a call may do; return the answer when it has no right one."""
        token = headers.get("authorization", "").removeprefix("Bearer").strip()
        scopes = self._service.tokens.scopes_of(token) if token else frozenset()
        if scopes or is_open(scope["method"], scope["path"]):
            self._failures = 0 if scopes else self._failures
            self._touched()
            scope["openclaw.scopes"] = scopes
            return None
        if token:
            self._failures += 1
            self._service.log_refusal(str((scope.get("client") or "?")[0]), "wrong token")
            await asyncio.sleep(min(MAX_DELAY, 0.01 * 2 ** min(self._failures, 10)))
        answer = _refuse(
            401, "a token is needed", "openclaw serve --link prints a new link to the page"
        )
        answer.headers["www-authenticate"] = "Bearer"
        return answer


def _cors(origin: str) -> dict[str, str]:
    """Return the headers by which a browser lets a page of this site call us."""
    return {
        "access-control-allow-origin": origin,
        "access-control-allow-headers": "authorization, content-type, x-openclaw-session",
        "access-control-allow-methods": "GET, POST",
        "vary": "origin",
    }


def _with_headers(send: Send, added: Mapping[str, str]) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in added.items():
                headers.setdefault(name, value)
        await send(message)

    return sending


def _limited(receive: Receive) -> Receive:
    """Return `receive`, which ends a body that is longer than it may be."""
    total = 0

    async def receiving() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > MAX_BODY:
            return {"type": "http.disconnect"}
        return message

    return receiving


def _refuse(status: int, reason: str, hint: str = "") -> Response:
    return JSONResponse({"error": reason, "hint": hint}, status, {"connection": "close"})
