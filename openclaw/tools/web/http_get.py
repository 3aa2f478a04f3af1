"""Get a URL over HTTP, guarded and limited. Imports httpcore: import this module only lazily.

httpcore and not httpx, which cannot be given a network backend: here it is the guard that connects.
No proxy is used, also none of the environment: a proxy resolves the name itself, and the guard
would not see where the connection goes.
"""

from __future__ import annotations

import socket
import ssl
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import httpcore

from openclaw.frozen import frozen
from openclaw.models.http_client import BackgroundCall, trusted_authorities
from openclaw.security.network import (
    Resolve,
    Url,
    check_peer,
    check_url_allowed,
    is_allowed_host,
    join_redirect,
    resolve_allowed,
    system_resolve,
)
from openclaw.tools.web.page import INSTEAD
from openclaw.types import ForeignProblem, ToolProblem

MAX_BYTES = 5_000_000  # of the unpacked body
MAX_REDIRECTS = 5
REDIRECTS = frozenset({301, 302, 303, 307, 308})
HEADERS = {
    "User-Agent": "Mozilla/5.0 (compatible; openclaw/0.1; personal agent)",
    "Accept": "text/html,application/xhtml+xml,text/markdown,text/plain;q=0.9,*/*;q=0.8",
    "Accept-Encoding": "gzip",
    "Connection": "close",
}


@frozen
class FetchOptions:
    allow: tuple[str, ...] = ()  # the setting `web.allow_hosts`
    resolve: Resolve = system_resolve
    seconds: float = 15.0  # for everything, name look-ups and redirects included
    tls: Callable[[], ssl.SSLContext] = cache(trusted_authorities)  # 40 ms, once


@frozen
class HttpReply:
    """The server's last answer; header names in lower case, the body unpacked."""

    url: Url
    status: int
    headers: Mapping[str, str]
    body: bytes


def fetch(url: Url, way: FetchOptions) -> HttpReply:
    """Fetch a URL and follow redirects. Raises ToolProblem for every obstacle."""
    clock = Clock(way.seconds, url.host)
    check_url_allowed(url, way.allow, way.resolve)
    seen = {url}
    while True:
        reply = _request_once(url, way, clock)
        location = reply.headers.get("location", "")
        if reply.status not in REDIRECTS or not location:
            return reply
        target = join_redirect(url, location)
        if target in seen:
            raise ToolProblem(f"{url.host} redirects in a circle. {INSTEAD}")
        if len(seen) > MAX_REDIRECTS:
            raise ToolProblem(f"{url.host} redirects more than {MAX_REDIRECTS} times. {INSTEAD}")
        check_redirect(url, target, way)
        seen.add(target)
        url = target


def check_redirect(url: Url, target: Url, way: FetchOptions) -> None:
    """Raise ToolProblem for a redirect that must not be followed. Of one to another host the model
    is told, and may fetch that by a call of its own."""
    if url.scheme == "https" and target.scheme == "http":
        raise ToolProblem(f"Refused: {url.host} redirects from https to http.")
    if is_allowed_host(way.allow, target) and not is_allowed_host(way.allow, url):
        # The user allows the agent to go there, but no page may send it there.
        raise ToolProblem(f"Refused: {url.host} redirects to the local host {target.netloc}.")
    check_url_allowed(target, way.allow, way.resolve)
    # Many sites add "www." to their name, or drop it.
    if url.host.removeprefix("www.") != target.host.removeprefix("www."):
        raise ForeignProblem(f"{url.host} redirects to another host. Fetch {target} instead.")


def _request_once(url: Url, way: FetchOptions, clock: Clock) -> HttpReply:
    """One request and its answer. The body of a redirect is not read."""
    guard = Guard(way.resolve, clock, local=is_allowed_host(way.allow, url))
    address = httpcore.URL(scheme=url.scheme, host=url.host, port=url.port, target=url.target)
    asked = [("Host", url.netloc), *HEADERS.items()]
    tls = way.tls() if url.scheme == "https" else None
    try:
        with (
            httpcore.ConnectionPool(ssl_context=tls, network_backend=guard) as pool,
            pool.stream("GET", address, headers=asked) as response,
        ):
            headers = {
                name.decode("latin-1").lower(): _header_value(value)
                for name, value in response.headers
            }
            redirected = response.status in REDIRECTS and "location" in headers
            body = b"" if redirected else _read_body(response.iter_stream(), headers, url)
            return HttpReply(url, response.status, headers, body)
    except httpcore.TimeoutException:
        raise clock.late() from None
    except (httpcore.NetworkError, httpcore.ProtocolError, OSError, UnicodeError) as error:
        raise _to_tool_problem(error, url) from error


def _header_value(raw: bytes) -> str:
    """Decode a header's value: by the standard Latin-1, in a Location often UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _read_body(chunks: Iterable[bytes], headers: Mapping[str, str], url: Url) -> bytes:
    declared, most = headers.get("content-length", ""), f"{MAX_BYTES / 1e6:g} MB"
    large = ToolProblem(f"{url.host}: larger than {most}; not fetched. {INSTEAD}")
    if declared.isdigit() and int(declared[:18]) > MAX_BYTES:
        raise large
    packing = headers.get("content-encoding", "").strip().lower()
    if packing not in ("", "identity", "gzip", "x-gzip"):
        raise ToolProblem(
            f"{url.host} packs its answer as {packing[:30]}, which was not asked for. {INSTEAD}"
        )
    unpack = zlib.decompressobj(31) if "gzip" in packing else None
    body = bytearray()
    for chunk in chunks:
        try:
            body += unpack.decompress(chunk, MAX_BYTES + 1 - len(body)) if unpack else chunk
        except zlib.error:
            raise ToolProblem(f"{url.host} sends damaged gzip data. {INSTEAD}") from None
        if len(body) > MAX_BYTES:
            raise large
        if unpack and unpack.eof:  # what follows would be kept, without a limit
            break
    return bytes(body)


def _to_tool_problem(error: BaseException, url: Url) -> ToolProblem:
    """Convert a network error into one line for the model."""
    causes = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) and cause not in causes:
        causes.append(cause)
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return ToolProblem(f"{url.host}: no valid certificate ({cause.verify_message}).")
        if isinstance(cause, ssl.SSLError):
            return ToolProblem(f"{url.host}: no secure connection ({cause.reason or cause}).")
        if isinstance(cause, ConnectionRefusedError):
            return ToolProblem(f"{url.netloc} refuses the connection.")
        if isinstance(cause, httpcore.RemoteProtocolError):
            return ToolProblem(f"{url.netloc} broke off or does not speak HTTP.")
    if any(isinstance(cause, (socket.gaierror, UnicodeError)) for cause in causes):
        return ToolProblem(f"There is no host {url.host}, or no network.")
    return ToolProblem(f"{url.netloc} cannot be reached ({str(error)[:80]}).")


# The limit for each address of a name but the last, so that a dead IPv6 costs little.
CONNECT_SECONDS = 5.0


@dataclass(slots=True)
class Clock:
    """Counts down the total time of one fetch."""

    seconds: float
    host: str
    _end: float = field(init=False)

    def __post_init__(self) -> None:
        self._end = time.monotonic() + self.seconds

    def left(self, most: float | None = None) -> float:
        """Seconds that remain, at most `most`. Raises ToolProblem when there are none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise self.late()
        return left if most is None else min(left, most)

    def late(self) -> ToolProblem:
        return ToolProblem(f"{self.host} did not answer within {self.seconds:g} seconds. {INSTEAD}")

    def hold(self, function: Callable[[], list[str]]) -> list[str]:
        """Run a function and wait for its value until the time is up: the system's name look-up has
        no limit of its own. A call that hangs stays behind in its thread."""
        call = BackgroundCall(lambda feed: feed(function()), name="name look-up")
        return next(found for found in call.pieces() if self.left() and found is not None)


class Guard(httpcore.NetworkBackend):
    """Resolves a name once, checks all its addresses, and connects to exactly one of these."""

    def __init__(self, resolve: Resolve, clock: Clock, *, local: bool) -> None:
        self._resolve = resolve
        self._clock = clock
        self._local = local
        self._plain = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        found = self._clock.hold(
            lambda: resolve_allowed(host, port, self._resolve, local=self._local)
        )
        for ip in found[:-1]:
            with suppress(httpcore.ConnectError, httpcore.ConnectTimeout):
                return self._connect(ip, port, CONNECT_SECONDS)
        return self._connect(found[-1], port, None)

    def _connect(self, ip: str, port: int, most: float | None) -> httpcore.NetworkStream:
        stream = self._plain.connect_tcp(ip, port, timeout=self._clock.left(most))
        try:
            peer, own = stream.get_extra_info("server_addr"), stream.get_extra_info("client_addr")
            check_peer(peer, own, ip, local=self._local)
        except BaseException:
            stream.close()
            raise
        return Timed(stream, self._clock)


class Timed(httpcore.NetworkStream):
    """A stream whose waits end with the clock: a server cannot evade it with a byte a second."""

    def __init__(self, stream: httpcore.NetworkStream, clock: Clock) -> None:
        self._stream = stream
        self._clock = clock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._clock.left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._clock.left())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        left = self._clock.left()
        return Timed(self._stream.start_tls(ssl_context, server_hostname, left), self._clock)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
