"""Runs a program in the foreground and leaves nothing of it behind."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from openclaw.errors import OpenclawError
from openclaw.tools.output import Output, excerpt, wrapped
from openclaw.tools.proctree import marked
from openclaw.tools.spill import spill as keep

MARK = "OPENCLAW_RUN"
"""Environment variable by which the processes of one run are found again."""
GRACE_SECONDS = 0.5
TICK_SECONDS = 0.025
SHOW_SECONDS = 0.25
# Further down than the program that waits for it, so that this one stays awake whatever it does.
NICENESS = 5
CMD = ("/d", "/s", "/c")
"""What cmd.exe is given before its line: with /s it takes off the outermost quotes only."""

Watch = Callable[[int], str]
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
    watch: Watch = nothing_watched,
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
    process = _start(argv, cwd, {**env, MARK: token}, given, errors)
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


def _showing(watch: Watch, output: Output, show: Show) -> Watch:
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
    process: subprocess.Popen[bytes], done: threading.Event, deadline: float, watch: Watch
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
    while token and (left := marked(process.pid, f"{MARK}={token}")) and time.monotonic() < until:
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)
