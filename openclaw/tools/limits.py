"""What one command may use up, so that it cannot bring the machine down."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from openclaw.tools.proctree import threads_below

MEGA = 1 << 20
PAUSE_SECONDS = 0.5
"""Between two looks at what was written that nothing else gave a reason for: other programs may
have removed as much as the command wrote, and some file systems do not count their files."""


@dataclass(frozen=True, slots=True)
class Limits:
    """`memory_mb` and `file_mb` hold for each process and each file (0: none), `processes`,
    `disk_mb` and `files` for the whole command; threads count as processes."""

    processes: int = 256
    memory_mb: int = 2048
    file_mb: int = 256
    disk_mb: int = 2048
    files: int = 20_000

    def exceeded(self, files: int, size: int) -> str:
        """What a command did too much that wrote so many files and bytes, "" when it did not."""
        if files > self.files:
            return f"wrote more than {self.files:,} files"
        return f"wrote more than {self.disk_mb} MB" if size > self.disk_mb * MEGA else ""


def limited(argv: Sequence[str], limits: Limits, *, own_users: bool) -> list[str]:
    """The same program under the kernel's limits, started by a POSIX shell.

    `own_users` says that it runs in a user namespace of its own; only there its processes are
    counted apart from all others of the user (Linux 5.14). RLIMIT_DATA and not RLIMIT_AS: programs
    such as node reserve far more addresses than they ever use.
    """
    kilobytes, blocks = limits.memory_mb * 1024, limits.file_mb * 2048
    lines = [
        "ulimit -c 0",
        f"ulimit -d {kilobytes}",
        f"ulimit -f {blocks}",
        "echo 1000 >/proc/self/oom_score_adj",
    ]
    if own_users and _counts_by_namespace():
        lines.append(f"ulimit -u {limits.processes} || ulimit -p {limits.processes}")
    script = f'{{ {"; ".join(lines)}; }} 2>/dev/null; exec "$@"'
    return ["/bin/sh", "-c", script, "sh", *argv]


def _counts_by_namespace() -> bool:
    release = os.uname().release.split(".")
    try:
        return (int(release[0]), int(release[1])) >= (5, 14)
    except (IndexError, ValueError):
        return False


@dataclass(slots=True)
class Watch:
    """Looks at the whole machine while a command runs: cheaply at first (how many threads there
    are, how much memory and disk is free), closely when that has changed a lot, as others may be
    at work too. `folder` is where the command can write.

    The kernel does not hold root to a number of processes, nor anybody to a sum of memory.
    """

    limits: Limits
    folder: Path
    _threads: int = field(default_factory=lambda: _all_threads())
    _memory: int = field(default_factory=lambda: _memory()[0])
    _free: int = 0
    _files: int = 0
    _next: float = field(default_factory=lambda: time.monotonic() + PAUSE_SECONDS)
    _since: float = field(default_factory=time.time)

    def __post_init__(self) -> None:
        self._free, self._files = _disk(self.folder)

    def __call__(self, process: int) -> str:
        """Why to end the command of this process, "" to let it be."""
        threads, (available, total), (free, files) = _all_threads(), _memory(), _disk(self.folder)
        new = threads - self._threads
        if new > self.limits.processes:
            # So many more are not others' doing, and counting would take long.
            if new > 4 * self.limits.processes or threads_below(process) > self.limits.processes:
                return f"it started more than {self.limits.processes} processes"
            self._threads = threads
        if available < total // 12 and self._memory - available > 256 * MEGA:
            return "it used up the memory"
        limits, now = self.limits, time.monotonic()
        less = self._free - free > limits.disk_mb * MEGA or self._files - files > limits.files
        if less or now > self._next:
            if why := limits.exceeded(*written(self.folder, self._since)):
                return f"it {why}"
            self._free, self._files = free, files
            self._next = now + max(PAUSE_SECONDS, 20 * (time.monotonic() - now))
        return ""


def _all_threads() -> int:
    try:
        return int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2])
    except (OSError, IndexError, ValueError):
        return 0


def _memory() -> tuple[int, int]:
    """Bytes that can be had and all there are; zeros when the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        values = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines}
        return values["MemAvailable"], values["MemTotal"]
    except (OSError, IndexError, ValueError, KeyError):
        return 0, 0


def written(folder: Path, since: float = 0.0) -> tuple[int, int]:
    """Files and folders below a folder that were changed since a time (a second is granted), and
    their bytes."""
    count = size = 0
    for top, folders, names in os.walk(folder):
        for name in (*folders, *names):
            with contextlib.suppress(OSError):
                status = os.lstat(os.path.join(top, name))  # noqa: PTH118  many files
                if status.st_ctime >= since - 1 and not stat.S_ISCHR(status.st_mode):
                    count += 1
                    size += status.st_blocks * 512
    return count, size


def _disk(folder: Path) -> tuple[int, int]:
    """Bytes and files that there is room for; no files where the file system does not say."""
    if not hasattr(os, "statvfs"):
        return 0, 0
    try:
        found = os.statvfs(folder)
    except OSError:
        return 0, 0
    return found.f_bavail * found.f_frsize, found.f_ffree
