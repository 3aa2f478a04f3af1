"""Run a program in the foreground, within limits, and leave nothing of it behind.

`run` starts it and waits; then the search for leftover processes, the limits (`Limits`,
`LimitWatch`), and the control group that counts processes (`group`).
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from openclaw.frozen import frozen
from openclaw.stopping import check_stop
from openclaw.storage.program import RUN_VARIABLE
from openclaw.tools.shell.output import Output

if TYPE_CHECKING:
    import psutil

GRACE_SECONDS = 0.5
TICK_SECONDS = 0.025
SHOW_SECONDS = 0.25
# A lower priority than openclaw's own, so that openclaw can react whatever the program does.
NICENESS = 5
CMD = ("/d", "/s", "/c")
"""The arguments of cmd.exe before the line: with /s it removes the outermost quotes only."""

Tick = Callable[[int], str]
"""Called every tick with the process id. Any result but "" ends the program, as the reason."""


ShowOutput = Callable[[str], None]
"""Receives the newest lines of a program from time to time while it runs."""


@frozen
class FinishedRun:
    """How a program ended."""

    code: int | None  # exit code; negative: the signal; None when we ended it
    text: str  # the output as plain text, at most about 10 MB
    seconds: float
    stopped: str = ""  # why we ended it
    lost: int = 0  # bytes of the output that were not kept


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float,
    watch: Tick = lambda _process: "",
    show: ShowOutput | None = None,
    contained: bool = False,
    given: BinaryIO | None = None,
    errors: BinaryIO | None = None,
) -> FinishedRun:
    """Run a program and wait for it, `timeout` seconds at most. Its standard input is the file
    `given`, if any.

    Standard output and error come as one stream, unless `errors` is a file for the latter. When the
    program ends, all that it started is killed, also on an exception such as Ctrl-C, which is
    passed on. `contained` tells that nothing can outlive the program. Raises OSError when it cannot
    be started.
    """
    token = secrets.token_hex(8)
    output = Output()
    start = time.monotonic()
    done = threading.Event()
    process = _start(argv, cwd, {**env, RUN_VARIABLE: token}, given, errors)
    try:
        threading.Thread(target=_read, args=(process, output, done), daemon=True).start()
        check = _show_output(watch, output, show) if show else watch
        stopped = _wait(process, done, start, timeout, check)
        if stopped:
            _terminate(process)
    finally:
        _kill(process, "" if contained else token)
        done.wait(1)
    seconds = time.monotonic() - start
    code = None if stopped else process.returncode
    return FinishedRun(code, output.text(), seconds, stopped, output.lost)


def to_command_line(argv: Sequence[str]) -> str | list[str]:
    """The arguments as Windows takes them. A line for cmd.exe stays as it was shown: cmd.exe does
    not understand the quoting for other programs (\\" for a quote)."""
    if tuple(argv[1:-1]) == CMD:
        return f'{subprocess.list2cmdline(argv[:1])} {" ".join(CMD)} "{argv[-1]}"'
    return list(argv)


def _start(
    argv: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    given: BinaryIO | None,
    errors: BinaryIO | None,
) -> subprocess.Popen[bytes]:
    windows = os.name == "nt"
    process = subprocess.Popen(
        to_command_line(argv) if windows else list(argv),
        cwd=cwd,
        env=dict(env),
        stdin=given or subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors or subprocess.STDOUT,
        start_new_session=not windows,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) if windows else 0,
    )
    if hasattr(os, "setpriority"):
        with contextlib.suppress(OSError):
            own = os.getpriority(os.PRIO_PROCESS, 0)
            os.setpriority(os.PRIO_PROCESS, process.pid, own + NICENESS)
    return process


def _read(process: subprocess.Popen[bytes], output: Output, done: threading.Event) -> None:
    """Read the output in a thread: on Windows there is no other way to wait for a pipe."""
    assert process.stdout is not None  # noqa: S101  it was asked for
    with contextlib.suppress(OSError, ValueError), process.stdout as pipe:
        while data := os.read(pipe.fileno(), 65_536):
            output.feed(data)
    done.set()


def _show_output(watch: Tick, output: Output, show: ShowOutput) -> Tick:
    """Extend a watch: also show the new output."""
    seen, shown_at = 0, time.monotonic()

    def check(process: int) -> str:
        nonlocal seen, shown_at
        if output.total > seen and time.monotonic() - shown_at >= SHOW_SECONDS:
            seen = output.total
            show(output.tail())
            shown_at = time.monotonic()
        return watch(process)

    return check


def _wait(
    process: subprocess.Popen[bytes],
    done: threading.Event,
    start: float,
    timeout: float,
    watch: Tick,
) -> str:
    """Wait for the program. Returns why to stop it, "" when it has ended. The end of its output
    wakes us at once; a program that only closed its output is checked every tick."""
    while True:
        ended = done.wait(TICK_SECONDS)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(TICK_SECONDS if ended else 0)
            return ""
        check_stop()
        if stopped := watch(process.pid):
            return stopped
        if time.monotonic() > start + timeout:
            return f"it took longer than {timeout:g} s"


def _terminate(process: subprocess.Popen[bytes]) -> None:
    """Ask the group to end, so that programs can tidy up."""
    if os.name != "nt":
        end_group(process.pid, hard=False)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)


def _kill(process: subprocess.Popen[bytes], token: str) -> None:
    """Kill the program and all that it started: its group, and what left the group.
    Windows knows the children of a program only while the program runs."""
    if os.name != "nt" or process.poll() is None:
        end_group(process.pid, hard=True)
        with contextlib.suppress(OSError):  # it may have become another user's
            process.kill()
    process.wait()
    if token and os.name != "nt":
        _kill_what_left(process.pid, token)


def end_group(leader: int, *, hard: bool) -> None:
    """End the leader of a process group, and the group."""
    if sys.platform == "win32":
        words = ["taskkill", "/T", "/F", "/PID", str(leader)]
        subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        return
    with contextlib.suppress(OSError):
        os.killpg(leader, signal.SIGKILL if hard else signal.SIGTERM)


def _kill_what_left(session: int, token: str) -> None:
    """Kill all processes of a session, and all that have this token in their environment."""
    import psutil

    until = time.monotonic() + 2
    while (left := find_processes(session, token)) and time.monotonic() < until:
        for process in left:
            with contextlib.suppress(psutil.Error):
                process.kill()
        time.sleep(0.005)


def find_processes(session: int, token: str) -> list[psutil.Process]:
    """The living processes of a session, or with this token in their environment."""
    import psutil

    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            known = os.getsid(process.pid) == session
            known = known or process.environ().get(RUN_VARIABLE) == token
            if known and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def threads_below(ancestor: int) -> int:
    """Threads of a process and of all that descend from it."""
    import psutil

    count = 0
    with contextlib.suppress(psutil.Error):
        top = psutil.Process(ancestor)
        for process in (top, *top.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                count += process.num_threads()
    return count


MEGA = 1 << 20
PAUSE_SECONDS = 0.5
"""Time between two counts of the written files when nothing else suggests one: other programs may
have removed as much as the command wrote, and some file systems do not count their files."""


@frozen
class CommandLimits:
    processes: int = 256  # of the whole command; threads count as processes
    memory_mb: int = 2048  # of each process
    file_mb: int = 256  # of each file
    disk_mb: int = 2048  # of the whole command
    files: int = 20_000  # of the whole command

    def exceeded(self, files: int, size: int) -> str:
        """Which limit a command exceeded that wrote so many files and bytes, "" for none."""
        if files > self.files:
            return f"wrote more than {self.files:,} files"
        return f"wrote more than {self.disk_mb} MB" if size > self.disk_mb * MEGA else ""


def with_limits(argv: Sequence[str], limits: CommandLimits, *, own_users: bool) -> list[str]:
    """The command line that starts the program under the kernel's limits, by a POSIX shell.

    `own_users` tells that it runs in a user namespace of its own; only there its processes are
    counted apart from the user's others (Linux 5.14). RLIMIT_DATA and not RLIMIT_AS: programs such
    as node reserve far more addresses than they ever use.
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


def _all_threads() -> int:
    try:
        return int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2])
    except (OSError, IndexError, ValueError):
        return 0


def _memory() -> tuple[int, int]:
    """Available and total bytes of memory; zeros when the system does not tell."""
    import psutil

    try:
        found = psutil.virtual_memory()
    except (OSError, KeyError, psutil.Error):
        return 0, 0
    return found.available, found.total


@dataclass(slots=True)
class LimitWatch:
    """Watches the whole machine while a command runs: cheaply at first (number of threads, free
    memory and disk), closely when that has changed a lot, as other programs may run too. `folder`
    is where the command can write.

    The kernel limits neither root's number of processes nor anybody's sum of memory.
    """

    limits: CommandLimits
    folder: Path
    _threads: int = field(default_factory=_all_threads)
    _memory: int = field(default_factory=lambda: _memory()[0])
    _free: int = 0
    _files: int = 0
    _next: float = field(default_factory=lambda: time.monotonic() + PAUSE_SECONDS)
    _since: float = field(default_factory=time.time)

    def __post_init__(self) -> None:
        self._free, self._files = _disk(self.folder)

    def __call__(self, process: int) -> str:
        """Why to end the command of this process, "" to let it run."""
        threads, (available, total), (free, files) = _all_threads(), _memory(), _disk(self.folder)
        new = threads - self._threads
        if new > self.limits.processes:
            # So many new threads are hardly from other programs, and counting would take long.
            if new > 4 * self.limits.processes or threads_below(process) > self.limits.processes:
                return f"it started more than {self.limits.processes} processes"
            self._threads = threads
        if available < total // 12 and self._memory - available > 256 * MEGA:
            return "it used up the memory"
        limits, now = self.limits, time.monotonic()
        less = self._free - free > limits.disk_mb * MEGA or self._files - files > limits.files
        if less or now > self._next:
            if why := limits.exceeded(*count_written(self.folder, self._since)):
                return f"it {why}"
            self._free, self._files = free, files
            self._next = now + max(PAUSE_SECONDS, 20 * (time.monotonic() - now))
        return ""


def count_written(folder: Path, since: float = 0.0) -> tuple[int, int]:
    """Count the files and folders below a folder that were changed since a time (less a second),
    and their bytes."""
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
    """Free bytes and free files of the disk; 0 files when the file system does not tell."""
    if not hasattr(os, "statvfs"):
        return 0, 0
    try:
        found = os.statvfs(folder)
    except OSError:
        return 0, 0
    return found.f_bavail * found.f_frsize, found.f_ffree


ROOT = Path("/sys/fs/cgroup")
LEAVING_SECONDS = 2.0
_JOIN = 'echo $$ >"$0/cgroup.procs"; exec "$@"'


@contextlib.contextmanager
def control_group(processes: int, root: Path = ROOT) -> Iterator[Path | None]:
    """A control group that allows so many processes (threads count) for the time of a command; None
    for users other than root, and where no group can be made (most containers)."""
    made = _make_group(processes, root) if getattr(os, "geteuid", lambda: 1)() == 0 else None
    try:
        yield made
    finally:
        if made:
            _remove_group(made)


def join_group(argv: Sequence[str], made: Path | None) -> list[str]:
    """The command line that joins the group and then starts the program."""
    return ["/bin/sh", "-c", _JOIN, str(made), *argv] if made else list(argv)


def _make_group(processes: int, root: Path) -> Path | None:
    for parent in (root / "pids", root):  # version 1, then 2
        path = parent / f"openclaw-{os.getpid()}-{secrets.token_hex(4)}"
        if not (parent / "cgroup.procs").is_file():
            continue
        try:
            path.mkdir()
        except OSError:
            continue
        try:
            (path / "pids.max").write_text(str(processes))
        except OSError:  # this tree does not count processes
            _remove_group(path)
        else:
            return path
    return None


def _remove_group(path: Path) -> None:
    """Wait until the last process has left, and remove the group."""
    until = time.monotonic() + LEAVING_SECONDS
    while path.exists() and time.monotonic() < until:
        try:
            path.rmdir()
        except OSError:
            time.sleep(0.002)


def posix_shell() -> str | None:
    """bash or sh; on Windows not the one of its system folder, which starts a Linux."""
    for name in ("bash", "sh"):
        found = shutil.which(name)
        if found and Path(found).is_absolute() and "system32" not in found.casefold():
            return found
    return None
