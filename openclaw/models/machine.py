"""This machine: its memory, its name, and whether a model runs here."""

from __future__ import annotations

import os
import re
import socket
import sys
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from openclaw.config.settings import is_loopback

_GROUP = Path("/sys/fs/cgroup")
_NO_MEMORY = re.compile(r"memory|alloc|\bv?ram\b|\boom\b|signal: killed|\(exit -9\)", re.IGNORECASE)


def lacks_memory(error: Exception) -> bool:
    """Return True when an error of a server or the engine means too little memory."""
    return _NO_MEMORY.search(str(error)) is not None


def free_memory() -> int | None:
    """Bytes that a process can still take without swapping; None when the system does not tell."""
    import psutil

    with suppress(OSError, KeyError, psutil.Error):
        free: int = psutil.virtual_memory().available
        left = _free_in_group(_GROUP)
        return free if left is None else min(free, left)
    return None


def total_memory() -> int | None:
    """Bytes of this machine, at most the limit of a container's control group; None when the system
    does not tell. A prompt may ask for it: psutil is only loaded where `os` does not know."""
    with suppress(OSError, ValueError):
        if sys.platform == "win32":
            import psutil

            return int(psutil.virtual_memory().total)
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return min(total, _group_limit(_GROUP) or total)
    return None


def place_of(server: str) -> str:
    """The place of a model at the address `server` ("" for an embedded one): the server's host and
    port; for this machine its name and memory, and the server's port."""
    parts = urlsplit(server)
    if server and not is_loopback(server):
        return parts.netloc.rpartition("@")[2].lower()
    port = f", port {parts.port or (443 if parts.scheme == 'https' else 80)}" if server else ""
    return f"{_this_machine()}{port}"


def is_elsewhere(place: str) -> bool:
    """Return True when a place is another machine, and not a named server."""
    return ", " in place and not place.startswith(_this_machine())


def _this_machine() -> str:
    """Its name and memory. `platform.node` would start programs on Windows (Python 3.12)."""
    name = os.uname().nodename if sys.platform != "win32" else socket.gethostname()
    return f"{name}, {(total_memory() or 0) / 1e9:.0f} GB"


def _free_in_group(folder: Path) -> int | None:
    """The free bytes in a container's control group (cgroup v2: memory.max, memory.current).
    Reclaimable file pages do not count as used. None without a limit."""
    with suppress(OSError, ValueError):
        if (most := _group_limit(folder)) is None:
            return None
        used = int((folder / "memory.current").read_text("ascii"))
        stat = (folder / "memory.stat").read_text("ascii")
        cached = re.search(r"^inactive_file (\d+)$", stat, re.MULTILINE)
        return max(0, most - used + (int(cached[1]) if cached else 0))
    return None


def _group_limit(folder: Path) -> int | None:
    """The memory that a control group may use; None without a limit ("max")."""
    with suppress(OSError, ValueError):
        return int((folder / "memory.max").read_text("ascii"))
    return None
