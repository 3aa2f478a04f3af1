"""How much memory a model and its window need, and how much this machine has.

The window needs the key-value cache: for each token, in each layer, a key and a value of every
key-value head, two bytes a number (llama.cpp's default, f16). This is an upper bound: layers with
sliding windows and recurrent layers need less.
"""

from __future__ import annotations

import ctypes
import math
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openclaw.models.gguf import read_values

NUMBER_BYTES = 2
ENGINE_BYTES = 300_000_000
"""Memory of the engine and its buffers."""
SHARE = 0.9
"""The share of free memory that a model may take."""
STEP = 1024
"""Windows are rounded to steps of this many tokens."""
_GROUP = Path("/sys/fs/cgroup")
_NO_MEMORY = re.compile(r"memory|alloc|\bv?ram\b|\boom\b|signal: killed|\(exit -9\)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Need:
    """The memory that a model needs.

    model   bytes of its weights
    token   bytes of each token of its window
    window  the longest window it was made for, in tokens
    """

    model: int
    token: int
    window: int

    def of(self, window: int) -> int:
        """All bytes that it needs with that window."""
        return self.model + ENGINE_BYTES + self.token * window

    def fits(self, free: int) -> int:
        """The largest window (tokens) that `free` bytes hold, 0 when they hold none."""
        left = int(free * SHARE) - self.model - ENGINE_BYTES
        if left < self.token * STEP:
            return 0
        most = left // self.token // STEP * STEP
        return min(most, self.window) if self.window else most


def need_of(values: Mapping[str, Any], model: int) -> Need | None:
    """The memory that a model of `model` bytes needs, from the metadata of its GGUF header (Ollama
    gives the same); None when they lack a value."""
    name = str(values.get("general.architecture", ""))

    def number(key: str) -> int:
        value = values.get(f"{name}.{key}")
        return int(value) if isinstance(value, int | float) and 0 <= value < math.inf else 0

    heads = number("attention.head_count")
    keys = number("attention.head_count_kv") or heads
    size = number("embedding_length") // heads if heads else 0
    wide = (number("attention.key_length") or size) + (number("attention.value_length") or size)
    token = number("block_count") * keys * wide * NUMBER_BYTES
    return Need(model, token, number("context_length")) if token else None


def file_need(path: Path) -> Need | None:
    """The memory that a GGUF file needs, in one part or several; None when its header lacks a
    value. Raises as `gguf.read_values` does."""
    return need_of(read_values(path), sum(part.stat().st_size for part in _parts(path)))


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


def parse_meminfo(text: str) -> int | None:
    """The available bytes of a /proc/meminfo."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def parse_vm_stat(text: str) -> int | None:
    """The bytes of free and reclaimable pages in the output of macOS's vm_stat."""
    size = re.search(r"page size of (\d+) bytes", text)
    kinds = re.findall(r"^Pages (?:free|inactive|speculative|purgeable):\s+(\d+)\.", text, re.M)
    return int(size[1]) * sum(map(int, kinds)) if size and kinds else None


def _parts(path: Path) -> list[Path]:
    split = re.fullmatch(r"(.+)-00001-of-(\d{5})\.gguf", path.name)
    return sorted(path.parent.glob(f"{split[1]}-*-of-{split[2]}.gguf")) if split else [path]


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
