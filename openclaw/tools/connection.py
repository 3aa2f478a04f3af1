"""Connect only where it is allowed, and only as long as there is time. Imports httpcore: import
this module only lazily."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TooLate
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

import httpcore

from openclaw.safety.address import Resolve, addresses, check_peer
from openclaw.shapes import ToolProblem
from openclaw.tools.page import INSTEAD

# For each address of a name but the last, so that a dead IPv6 costs little.
CONNECT_SECONDS = 5.0


@dataclass(slots=True)
class Clock:
    """Counts down what one fetch may take in all."""

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
        """Its value, waited for only as long as there is time: the system's name look-up knows no
        limit. One that hangs is left behind in its thread."""
        result: Future[list[str]] = Future()

        def work() -> None:
            try:
                result.set_result(function())
            except BaseException as error:  # noqa: BLE001 - raised again by result()
                result.set_exception(error)

        Thread(target=work, daemon=True).start()
        try:
            return result.result(self.left())
        except TooLate:
            raise self.late() from None


class Guard(httpcore.NetworkBackend):
    """Resolves a name once, judges all its addresses, and connects to one of these very ones."""

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
        found = self._clock.hold(lambda: addresses(host, port, self._resolve, local=self._local))
        for place, ip in enumerate(found, 1):
            last = place == len(found)
            try:
                return self._connect(ip, port, None if last else CONNECT_SECONDS)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if last:
                    raise
        raise AssertionError("addresses() gives at least one")

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
    """A stream whose every wait ends when the clock does: one byte a second is no way around."""

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
