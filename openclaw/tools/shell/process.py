"""Runs a program in the foreground and leaves nothing of it behind."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import stat
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from openclaw.errors import OpenclawError
from openclaw.storage.program import RUN_VARIABLE
from openclaw.tools.results import spill as keep
from openclaw.tools.shell.output import Output, excerpt, wrapped

"""Environment variable by which the processes of one run are found again."""
GRACE_SECONDS = 0.5
TICK_SECONDS = 0.025
SHOW_SECONDS = 0.25
# Further down than the program that waits for it, so that this one stays awake whatever it does.
NICENESS = 5
CMD = ("/d", "/s", "/c")
"""What cmd.exe is given before its line: with /s it takes off the outermost quotes only."""

Tick = Callable[[int], str]
"""Called every tick with the process id; what it returns other than "" ends the program."""


Show = Callable[[str], None]
"""Is told the newest lines that a program has printed, from time to time while it runs."""


@dataclass(frozen=True, slots=True)
class Finished:
    """How a program ended. `code` is its exit code (negative: the signal), None when it was ended;
    then `stopped` says why. `text` is the beginning and end of what it printed, as plain text;
    with more, `spilled` is the file with the whole (at most 10 MB, `lost` bytes are not in it), its
    long lines wrapped, `gap` the first line of it that `text` leaves out."""

    code: int | None
    text: str
    seconds: float
    bytes: int
    timed_out: bool = False
    spilled: Path | None = None
    gap: int = 0
    stopped: str = ""
    lost: int = 0


def nothing_watched(_process: int) -> str:
    return ""


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float,
    max_chars: int,
    spill: Path,
    watch: Tick = nothing_watched,
    show: Show | None = None,
    contained: bool = False,
    given: BinaryIO | None = None,
    errors: BinaryIO | None = None,
) -> Finished:
    """Run a program and wait for it, `timeout` seconds at most. Its standard input is the file
    `given`, if any.

    Standard output and error come as one, unless there is a file for `errors`. Whatever it started
    is killed when it ends, also on an exception such as Ctrl-C, which is passed on; `contained`
    says that nothing can outlive the program itself. Raises OSError when it cannot be started.
    """
    token = secrets.token_hex(8)
    output = Output()
    start = time.monotonic()
    done = threading.Event()
    process = _start(argv, cwd, {**env, RUN_VARIABLE: token}, given, errors)
    try:
        threading.Thread(target=_read, args=(process, output, done), daemon=True).start()
        looked = _showing(watch, output, show) if show else watch
        stopped, timed_out = _wait(process, done, start + timeout, looked)
        if stopped or timed_out:
            _terminate(process)
    finally:
        _kill(process, "" if contained else token)
        done.wait(1)
    seconds = time.monotonic() - start
    code = None if stopped or timed_out else process.returncode
    whole = output.text()
    if len(whole) > max_chars:
        whole = wrapped(whole)
    shown = excerpt(whole, max_chars)
    if timed_out:
        stopped = f"it took longer than {timeout:g} s"
    spilled = None
    if shown.gap:
        with contextlib.suppress(OpenclawError):  # what the command did is told all the same
            spilled = keep(spill, whole)
    return Finished(
        code, shown.text, seconds, output.total, timed_out, spilled, shown.gap, stopped, output.lost
    )


def spelled(argv: Sequence[str]) -> str | list[str]:
    """The arguments as Windows takes them: a line for cmd.exe as it was shown, since quotes that
    are put around it for other programs (with \\" for a quote in it) are not understood there."""
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
        spelled(argv) if windows else list(argv),
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
    """All that comes, in a thread of its own: Windows cannot wait for a pipe in another way."""
    assert process.stdout is not None  # noqa: S101  it was asked for
    with contextlib.suppress(OSError, ValueError), process.stdout as pipe:
        while data := os.read(pipe.fileno(), 65_536):
            output.feed(data)
    done.set()


def _showing(watch: Tick, output: Output, show: Show) -> Tick:
    """A watch that also shows what is new of the output."""
    seen, shown_at = 0, time.monotonic()

    def looked(process: int) -> str:
        nonlocal seen, shown_at
        if output.total > seen and time.monotonic() - shown_at >= SHOW_SECONDS:
            seen = output.total
            show(output.tail())
            shown_at = time.monotonic()
        return watch(process)

    return looked


def _wait(
    process: subprocess.Popen[bytes], done: threading.Event, deadline: float, watch: Tick
) -> tuple[str, bool]:
    """Why to stop the program ("" when it has ended), and whether its time is up. The end of its
    output wakes at once; one that only closed its output is looked at every tick."""
    while not done.wait(TICK_SECONDS) and process.poll() is None:
        stopped = watch(process.pid)
        if stopped or time.monotonic() > deadline:
            return stopped, not stopped
    while True:
        try:
            process.wait(TICK_SECONDS)
        except subprocess.TimeoutExpired:
            stopped = watch(process.pid)
            if stopped or time.monotonic() > deadline:
                return stopped, not stopped
        else:
            return "", False


def _terminate(process: subprocess.Popen[bytes]) -> None:
    """Ask the group to end, for programs that tidy up."""
    if os.name == "nt":
        return
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_SECONDS)


def _kill(process: subprocess.Popen[bytes], token: str) -> None:
    """End the program with all it has started: its group, and on Linux what left the group. Windows
    knows what a program has started only while that runs itself."""
    if os.name == "nt":
        if process.poll() is None:
            subprocess.run(
                ["taskkill", "/T", "/F", "/PID", str(process.pid)],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
            process.kill()
        process.wait()
        return
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    until = time.monotonic() + 2
    while (
        token
        and (left := marked(process.pid, f"{RUN_VARIABLE}={token}"))
        and time.monotonic() < until
    ):
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)


PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    parent: int
    session: int
    threads: int
    zombie: bool


def processes() -> Iterator[Process]:
    """All processes that this user can see."""
    try:
        names = [entry.name for entry in os.scandir(PROC) if entry.name.isdigit()]
    except OSError:
        return
    for name in names:
        try:
            text = (PROC / name / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        # The name in brackets may hold anything, so that only what follows the last one counts.
        state, parent, _group, session, *rest = text.rpartition(")")[2].split()
        yield Process(int(name), int(parent), int(session), int(rest[13]), state == "Z")


def marked(session: int, mark: str) -> list[int]:
    """Living processes of a session, or with this `NAME=value` in their environment."""
    wanted = mark.encode()
    return [
        process.pid
        for process in processes()
        if not process.zombie
        and process.pid != os.getpid()
        and (process.session == session or wanted in _environment(process.pid))
    ]


def threads_below(ancestor: int) -> int:
    """Threads of a process and of all that descend from it."""
    children: dict[int, list[Process]] = {}
    count = 0
    for process in processes():
        children.setdefault(process.parent, []).append(process)
        count += process.threads if process.pid == ancestor else 0
    waiting = [ancestor]
    while waiting:
        for process in children.get(waiting.pop(), ()):
            count += process.threads
            waiting.append(process.pid)
    return count


def _environment(pid: int) -> list[bytes]:
    try:
        return (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


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
class LimitWatch:
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


ROOT = Path("/sys/fs/cgroup")
LEAVING_SECONDS = 2.0
_JOIN = 'echo $$ >"$0/cgroup.procs"; exec "$@"'


@contextlib.contextmanager
def group(processes: int, root: Path = ROOT) -> Iterator[Path | None]:
    """A control group of so many processes (threads count) for the time of a command; None for
    others than root, and where the system lets nobody make one (most containers)."""
    made = _made(processes, root) if getattr(os, "geteuid", lambda: 1)() == 0 else None
    try:
        yield made
    finally:
        if made:
            _remove(made)


def joined(argv: Sequence[str], made: Path | None) -> list[str]:
    """The same program, which joins the group before it starts."""
    return ["/bin/sh", "-c", _JOIN, str(made), *argv] if made else list(argv)


def _made(processes: int, root: Path) -> Path | None:
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
            _remove(path)
        else:
            return path
    return None


def _remove(path: Path) -> None:
    """Wait until the last process has left, and let the group go."""
    until = time.monotonic() + LEAVING_SECONDS
    while True:
        try:
            path.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > until:
                return
            time.sleep(0.002)
        else:
            return


def posix_shell() -> str | None:
    """bash or sh; on Windows not the one of its system folder, which starts a Linux."""
    for name in ("bash", "sh"):
        found = shutil.which(name)
        if found and Path(found).is_absolute() and "system32" not in found.casefold():
            return found
    return None
