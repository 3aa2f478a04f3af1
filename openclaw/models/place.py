"""Where a model runs: what it finds room for, and how quick it is, holds only there."""

from __future__ import annotations

import os
import socket
import sys
from urllib.parse import urlsplit

from openclaw.models.memory_need import total_memory
from openclaw.models.remote import is_loopback


def place_of(server: str) -> str:
    """The place of a model behind the address `server` ("" for an embedded one): the server's host
    and port, or this machine, by its name and memory, and the port of a server on it."""
    parts = urlsplit(server)
    if server and not is_loopback(server):
        return parts.netloc.rpartition("@")[2].lower()
    port = f", port {parts.port or (443 if parts.scheme == 'https' else 80)}" if server else ""
    return f"{_this_machine()}{port}"


def is_elsewhere(place: str) -> bool:
    """Whether a place is another machine than this one, and no server that is named."""
    return ", " in place and not place.startswith(_this_machine())


def _this_machine() -> str:
    """Not by `platform.node`, which asks other programs on Windows (Python 3.12)."""
    name = os.uname().nodename if sys.platform != "win32" else socket.gethostname()
    return f"{name}, {(total_memory() or 0) / 1e9:.0f} GB"
