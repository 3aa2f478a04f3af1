"""A process that is forked from this one, does a job, and may be killed while it does.

What it printed until then is what a user or a program was told. Forking saves the start of Python,
so that nearly all of a run's time is the work that a kill may fall into. POSIX.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

TIMEOUT_SECONDS = 90.0
ORPHANS_SECONDS = 20.0
CHILD_SUBREAPER = 36  # prctl(2)


@dataclass(frozen=True, slots=True)
class Death:
    """When a process is killed: after so many seconds, or right after it has printed so many lines.
    `group` kills the processes that it has started as well."""

    seconds: float | None = None
    line: int | None = None
    group: bool = True


@dataclass(slots=True)
class Told:
    """What a process printed, how it ended (`code` is negative for a signal), after how long."""

    out: bytes = b""
    err: bytes = b""
    code: int = 0
    seconds: float = 0.0
    hung: bool = False

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL

    @property
    def lines(self) -> list[str]:
        """Whole lines of standard output; what was cut off by the death was not told."""
        return self.out.decode("utf-8", "replace").split("\n")[:-1]


def adopt_orphans() -> None:
    """Let processes whose parent was killed become children of this one (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(CHILD_SUBREAPER, 1, 0, 0, 0)


def forked(job: Callable[[], int], death: Death | None = None) -> Told:
    """Do a job in a process of its own group; its result is the process's exit code. Returns when
    that process and all that it started have ended."""
    out, err = os.pipe(), os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        _be_child(job, out[1], err[1])
    os.close(out[1])
    os.close(err[1])
    try:
        return _Watch(pid, out[0], err[0], death or Death()).told()
    finally:
        os.close(out[0])
        os.close(err[0])


def _be_child(job: Callable[[], int], out: int, err: int) -> None:
    code = 70
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for number, handle in enumerate((null, out, err)):
            os.dup2(handle, number)
        # New ones: those of the parent may stand on files, which can do what a pipe cannot.
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(2, "w", 1, "utf-8", closefd=False)
        code = job()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:  # noqa: BLE001 - nothing of the parent may run here
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code & 0xFF)


@dataclass(slots=True)
class _Watch:
    pid: int
    out: int
    err: int
    death: Death
    result: Told = field(default_factory=Told)
    _ended: bool = False

    def told(self) -> Told:
        began = time.monotonic()
        due = began + (self.death.seconds if self.death.seconds is not None else TIMEOUT_SECONDS)
        with selectors.DefaultSelector() as selector:
            for handle in (self.out, self.err):
                os.set_blocking(handle, False)
                selector.register(handle, selectors.EVENT_READ)
            while selector.get_map() and not self._ended:
                left = due - time.monotonic()
                if left <= 0 or self._has_said_enough():
                    self.result.hung = self.death.seconds is None and left <= 0
                    self._kill()
                    break
                for key, _ in selector.select(min(left, 0.02)):
                    if not self._read(key.fd):
                        selector.unregister(key.fd)
                self._reap(os.WNOHANG)
        self._reap(0)
        self.result.seconds = time.monotonic() - began
        _await_orphans(self.pid)
        while self._read(self.out) or self._read(self.err):
            pass
        return self.result

    def _has_said_enough(self) -> bool:
        return self.death.line is not None and self.result.out.count(b"\n") >= self.death.line

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            if self.death.group:
                os.killpg(self.pid, signal.SIGKILL)
            else:
                os.kill(self.pid, signal.SIGKILL)

    def _read(self, handle: int) -> bool:
        try:
            data = os.read(handle, 65536)
        except BlockingIOError:
            return handle in (self.out, self.err) and not self._ended
        if handle == self.out:
            self.result.out += data
        else:
            self.result.err += data
        return bool(data)

    def _reap(self, how: int) -> None:
        if not self._ended:
            pid, status = os.waitpid(self.pid, how)
            if pid:
                self._ended = True
                self.result.code = os.waitstatus_to_exitcode(status)


def _await_orphans(group: int) -> None:
    """Wait until nothing is left of what the process had started; what stays for long is killed."""
    until = time.monotonic() + ORPHANS_SECONDS
    while True:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        try:
            os.killpg(group, 0 if time.monotonic() < until else signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            if _is_alone():
                return
        time.sleep(0.003)
        if time.monotonic() > until + 5:
            return


def _is_alone() -> bool:
    """Whether this process has no child left."""
    try:
        return os.waitpid(-1, os.WNOHANG)[0] == -1
    except ChildProcessError:
        return True
