"""A loopback web server that answers each path from a table, and counts who knocks.

    with FakeSite({"/": Said(b"<p>Hello</p>")}) as site:
        ...  # fetch site.url("/"); site.asked are the request lines and headers

A `Said` with `drip` sends its body byte by byte with that pause in seconds; `raw` is sent as it is,
instead of any HTTP.
"""

from __future__ import annotations

import socket
import socketserver
import ssl
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Said:
    body: bytes = b""
    kind: str = "text/html; charset=utf-8"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    drip: float = 0.0
    length: bool = True
    raw: bytes = b""


def to(location: str, status: int = 302) -> Said:
    """A redirect."""
    return Said(status=status, headers={"Location": location})


@dataclass(frozen=True)
class Asked:
    path: str
    headers: Mapping[str, str]


Answer = Said | Callable[[Asked], Said]


class FakeSite:
    """`connections` counts what was accepted, before any TLS or HTTP."""

    def __init__(self, pages: Mapping[str, Answer], tls: ssl.SSLContext | None = None) -> None:
        self.pages = dict(pages)
        self.asked: list[Asked] = []
        self.connections = 0
        self._tls = tls
        self._stop = threading.Event()
        handler: Any = self._handle  # a function does as well as a class
        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    def url(self, path: str = "/", host: str = "localhost") -> str:
        return f"http{'s' if self._tls else ''}://{host}:{self.port}{path}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handle(self, request: Any, address: Any, server: Any) -> None:
        self.connections += 1
        connection: socket.socket = request
        with suppress(OSError):  # the client goes away, as it may
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            with connection:
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        data = b""
        while b"\r\n\r\n" not in data:
            piece = connection.recv(65536)
            if not piece:
                return
            data += piece
        lines = data.decode("latin-1").split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
        asked = Asked(lines[0].split(" ")[1], {k.lower(): v for k, v in headers.items()})
        self.asked.append(asked)
        answer = self.pages.get(asked.path, Said(b"Nothing here.", "text/plain", 404))
        said = answer(asked) if callable(answer) else answer
        for piece in _bytes(said):
            connection.sendall(piece)
            if said.drip and self._stop.wait(said.drip):
                return


def _bytes(said: Said) -> list[bytes]:
    if said.raw:
        pieces = [said.raw]
    else:
        headers = {"Content-Type": said.kind, **said.headers} if said.kind else {**said.headers}
        if said.length:
            headers.setdefault("Content-Length", str(len(said.body)))
        head = f"HTTP/1.1 {said.status} X\r\n" + "".join(
            f"{name}: {value}\r\n" for name, value in headers.items()
        )
        pieces = [head.encode("latin-1") + b"Connection: close\r\n\r\n", said.body]
    if said.drip:
        return [bytes([byte]) for piece in pieces for byte in piece]
    return pieces
