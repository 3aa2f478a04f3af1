"""The connections of an HTTP client, to be cut while another thread reads from them.

Closing a client closes its sockets, which on Linux neither wakes a thread that reads from one nor
tells the server. Shutting them down does both. httpx tells of its connections through its `trace`
extension (https://www.python-httpx.org/advanced/extensions/#trace).
"""

from __future__ import annotations

import socket
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

MOST = 8
"""Connections that are remembered; a model uses one at a time."""


class Sockets:
    """`watch` is an event hook of the client, for requests."""

    def __init__(self) -> None:
        self._streams: deque[Any] = deque(maxlen=MOST)

    def watch(self, request: httpx.Request) -> None:
        request.extensions["trace"] = self._take

    def cut(self) -> None:
        """Whoever reads from one of the connections gets an error at once."""
        while self._streams:
            with suppress(OSError, TypeError):  # closed already, or no socket of the system's
                line = self._streams.pop().get_extra_info("socket")
                socket.socket.shutdown(line, socket.SHUT_RDWR)

    def _take(self, event: str, told: Mapping[str, Any]) -> None:
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._streams.append(told["return_value"])
