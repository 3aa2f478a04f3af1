"""Who may call the server: the address it was called by, the token, and the headers it sends.

There is no cookie, so no other site's page can act with the user's rights; the exact list of hosts
keeps a rebound name out; the type of the body makes a browser ask first before it sends one from
elsewhere, and no answer to that question is ever given.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openclaw.errors import UsageError
from openclaw.storage.home import Home
from openclaw.storage.readers import read_json_cache
from openclaw.storage.text import write_private

ASGIScope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[ASGIScope, Receive, Send], Awaitable[None]]

SCOPES: Mapping[str, frozenset[str]] = {
    "read": frozenset({"read"}),
    "chat": frozenset({"chat"}),
    "files": frozenset({"read", "files"}),
}
OWNER = frozenset({"owner"})
TERMINAL = frozenset({"owner", "terminal"})
CODE_SECONDS = 120.0
MAX_BODY = 20_000_000
"""Bytes of a request."""
MAX_DELAY = 1.0
SAFE = ("GET", "HEAD", "OPTIONS")
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
        " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


@dataclass(slots=True)
class Tokens:
    """The tokens of a server: the owner's, codes for one use that lead to it, that of the user's
    terminal, which only a private file tells, and named tokens, kept as hashes."""

    file: Path
    owner: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    terminal: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    _codes: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def scopes_of(self, token: str) -> frozenset[str]:
        """Return what a token may do; nothing for an unknown one."""
        for own, scopes in ((self.terminal, TERMINAL), (self.owner, OWNER)):
            if hmac.compare_digest(token.encode(), own.encode()):
                return scopes
        digest = _hash(token)
        for known in read_tokens(self.file).values():
            if hmac.compare_digest(digest, str(known.get("sha256", ""))):
                return SCOPES.get(str(known.get("scope")), frozenset())
        return frozenset()

    def make_code(self) -> str:
        """Return a code to exchange for the owner's token, once and within two minutes."""
        code = secrets.token_urlsafe(24)
        with self._lock:
            self._codes[code] = time.monotonic() + CODE_SECONDS
        return code

    def exchange(self, code: str) -> str:
        """Return the owner's token for a code; "" for one that is unknown, used or too old."""
        with self._lock:
            until = self._codes.pop(code, 0.0)
        return self.owner if time.monotonic() < until else ""


def tokens_file(home: Home) -> Path:
    """Return the file of a home's named tokens."""
    return home.private / "tokens.json"


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def read_tokens(file: Path) -> dict[str, dict[str, str]]:
    """Return the named tokens: scope and hash by name. A damaged file counts as none."""
    found = read_json_cache(file)
    return {name: value for name, value in found.items() if isinstance(value, dict)}


def add_token(file: Path, name: str, scope: str) -> str:
    """Make a token with a name and a scope; returns it. It is kept as a hash only."""
    if scope not in SCOPES:
        raise UsageError(f"there is no scope '{scope}'", f"there are: {', '.join(SCOPES)}")
    known = read_tokens(file)
    if name in known:
        raise UsageError(f"there is a token '{name}'", f"openclaw serve token remove {name}")
    token = secrets.token_urlsafe(32)
    known[name] = {"scope": scope, "sha256": _hash(token)}
    write_private(file, json.dumps(known, indent=2) + "\n")
    return token


def remove_token(file: Path, name: str) -> None:
    known = read_tokens(file)
    if known.pop(name, None) is None:
        names = ", ".join(known) or "none"
        raise UsageError(f"there is no token '{name}'", f"there are: {names}")
    write_private(file, json.dumps(known, indent=2) + "\n")


class Access:
    """An ASGI app that lets a call through to `app` or refuses it.

    hosts     what the header `Host` may be, exactly
    open      paths that need no token
    refused   called with the address and the reason of each refusal
    origins   sites whose pages may call `/v1/`
    """

    def __init__(
        self,
        app: App,
        tokens: Tokens,
        hosts: frozenset[str],
        is_open: Callable[[str, str], bool],
        refused: Callable[[str, str], None],
        touched: Callable[[], None] = lambda: None,
        origins: frozenset[str] = frozenset(),
    ) -> None:
        self._app, self._tokens, self._hosts, self._origins = app, tokens, hosts, origins
        self._is_open, self._refused, self._touched = is_open, refused, touched
        self._failures = 0

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        headers = _read_headers(scope)
        origin = headers.get("origin", "")
        named = origin in self._origins and scope["path"].startswith("/v1/")
        sending = _with_headers(send, {**HEADERS, **_cors(origin)} if named else HEADERS)
        if problem := self._find_problem(scope["method"], headers, named=named):
            await _refuse(sending, *problem)
            return
        if named and scope["method"] == "OPTIONS":
            await _refuse(sending, 200, "")
            return
        token = headers.get("authorization", "").removeprefix("Bearer").strip()
        scopes = self._tokens.scopes_of(token) if token else frozenset()
        if not scopes and not self._is_open(scope["method"], scope["path"]):
            await self._refuse_token(scope, sending, given=bool(token))
            return
        self._failures = 0 if scopes else self._failures
        self._touched()
        scope["openclaw.scopes"] = scopes
        await self._app(scope, _limited(receive, headers), sending)

    def _find_problem(
        self, method: str, headers: Mapping[str, str], *, named: bool
    ) -> tuple[int, str] | None:
        """Return status and reason when a browser may have been made to call us."""
        if headers.get("host", "").lower() not in self._hosts:
            return 421, "this server does not go by that name"
        site = headers.get("sec-fetch-site", "same-origin")
        origin = headers.get("origin")
        elsewhere = site not in ("same-origin", "none") or (
            origin is not None and origin.lower().removeprefix("http://") not in self._hosts
        )
        if elsewhere and not named:
            return 403, "calls from another site are refused"
        if method in SAFE:
            return None
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            return 415, "send Content-Type: application/json"
        if _length(headers) > MAX_BODY:
            return 413, f"a request may have {MAX_BODY:,} bytes"
        return None

    async def _refuse_token(self, scope: ASGIScope, send: Send, *, given: bool) -> None:
        client = scope.get("client") or ("?", 0)
        if given:
            self._failures += 1
            self._refused(str(client[0]), "wrong token")
            await asyncio.sleep(min(MAX_DELAY, 0.01 * 2 ** min(self._failures, 10)))
        hint = "openclaw serve --link prints a new link to the page"
        await _refuse(send, 401, "a token is needed", hint)


def _read_headers(scope: ASGIScope) -> dict[str, str]:
    """Return the headers by lower-case name. A header that comes twice counts as unreadable, since
    we and a proxy might read different ones."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        text = value.decode("latin-1")
        if key in ("host", "origin", "authorization", "content-type") and key in found:
            text = "?twice"
        found[key] = text
    return found


def _length(headers: Mapping[str, str]) -> int:
    said = headers.get("content-length", "0")
    return int(said) if said.isdigit() else 0


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
            there = {name.lower() for name, _ in message["headers"]}
            more = [(k.encode(), v.encode()) for k, v in added.items() if k.encode() not in there]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return sending


def _limited(receive: Receive, headers: Mapping[str, str]) -> Receive:
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


async def _refuse(send: Send, status: int, reason: str, hint: str = "") -> None:
    body = json.dumps({"error": reason, "hint": hint}).encode()
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
