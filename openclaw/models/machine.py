"""This machine: its memory, its name, and whether a model runs here."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

_GROUP = Path("/sys/fs/cgroup")
_NO_MEMORY = re.compile(r"memory|alloc|\bv?ram\b|\boom\b|signal: killed|\(exit -9\)", re.IGNORECASE)


def lacks_memory(error: Exception) -> bool:
    """Return True when an error of a server or the engine means too little memory."""
    return _NO_MEMORY.search(str(error)) is not None


def free_memory() -> int | None:
    """Bytes that a process can still take without swapping; None when the system does not tell."""
    readers = {"linux": _free_on_linux, "win32": _free_on_windows, "darwin": _free_on_macos}
    if (reader := readers.get(sys.platform)) is None:
        return None
    with suppress(OSError, ValueError, subprocess.SubprocessError):
        return reader()
    return None


def total_memory() -> int | None:
    """Bytes of this machine, at most the limit of a container's control group; None when the system
    does not tell."""
    with suppress(OSError, ValueError, AttributeError):
        if sys.platform == "win32":
            return _windows_status(1)
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return min(total, _group_limit(_GROUP) or total)
    return None


def is_loopback(url: str) -> bool:
    """Return True when a URL is an address of this machine."""
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


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
    """The name and memory of this machine. `platform.node` would start programs on Windows (Python
    3.12)."""
    name = os.uname().nodename if sys.platform != "win32" else socket.gethostname()
    return f"{name}, {(total_memory() or 0) / 1e9:.0f} GB"


def parse_meminfo(text: str) -> int | None:
    """The available bytes of a /proc/meminfo."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def parse_vm_stat(text: str) -> int | None:
    """The bytes of free and reclaimable pages in the output of macOS's vm_stat."""
    size = re.search(r"page size of (\d+) bytes", text)
    kinds = re.findall(r"^Pages (?:free|inactive|speculative|purgeable):\s+(\d+)\.", text, re.M)
    return int(size[1]) * sum(map(int, kinds)) if size and kinds else None


def _free_on_linux() -> int | None:
    free = parse_meminfo(Path("/proc/meminfo").read_text("ascii"))
    left = _free_in_group(_GROUP)
    return free if left is None or free is None else min(free, left)


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


def _free_on_windows() -> int | None:
    return _windows_status(2)


def _windows_status(at: int) -> int | None:
    """One of the numbers of GlobalMemoryStatusEx (MEMORYSTATUSEX: two 32-bit, then seven 64-bit
    ones): 1 is `ullTotalPhys`, 2 `ullAvailPhys`."""
    import ctypes

    status = (ctypes.c_uint64 * 8)()
    ctypes.cast(status, ctypes.POINTER(ctypes.c_uint32))[0] = ctypes.sizeof(status)
    windows = getattr(ctypes, "windll", None)
    done = windows and windows.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))
    return int(status[at]) if done else None


def _free_on_macos() -> int | None:
    command = "/usr/bin/vm_stat"
    if not os.access(command, os.X_OK):
        return None
    told = subprocess.run([command], capture_output=True, text=True, check=True, timeout=5)
    return parse_vm_stat(told.stdout)
