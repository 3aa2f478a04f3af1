"""Faults at a chosen change of a file: the death of the process, or an error of the disk.

Where there is a C compiler and glibc, a preloaded library counts every change that the process and
the programs it starts make below a folder (write, fsync, rename, open to write, unlink ...).
Elsewhere Python's audit events do, which know no write and no fsync, and nothing of other programs.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

SOURCE = Path(__file__).parent / "fault.c"
SETTING = "CRASH_FAULT"
LIBRARY = "CRASH_LIBRARY"
FOREVER = 1 << 40
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_CHANGES = frozenset(
    ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate")
)
_REMOVALS = frozenset(("os.remove", "os.rmdir"))
Act = Literal["count", "kill", "killgroup", "fail"]


@dataclass(frozen=True, slots=True)
class Fault:
    """`act` at changes `first` to `last`, counted from 1, below `folder`; `code` is the errno of
    "fail". `counter` is a file of 8 bytes in which the changes are counted."""

    folder: Path
    counter: Path
    act: Act = "count"
    first: int = 1
    last: int = FOREVER
    code: int = 0

    def arm(self) -> None:
        """Let it come upon this process, and with the library upon those that it starts."""
        self.counter.write_bytes(bytes(8))
        if name := os.environ.get(LIBRARY):
            action = {"kill": "kill", "killgroup": "killgroup", "fail": str(self.code)}
            does = action.get(self.act, "0")
            words = (self.folder, self.counter, self.first, self.last, does)
            os.environ[SETTING] = "|".join(map(str, words))
            ctypes.CDLL(name).crash_arm()
        else:
            sys.addaudithook(self._hear)

    def counted(self) -> int:
        """How many changes there were."""
        with suppress(OSError):
            return int.from_bytes(self.counter.read_bytes()[:8], sys.byteorder)
        return 0

    def _hear(self, event: str, args: tuple[Any, ...]) -> None:
        path = _changed(event, args)
        top = str(self.folder)
        if path is None or not (path == top or path.startswith(top + os.sep)):
            return
        number = self._next()
        if not self.first <= number <= self.last:
            return
        if self.act == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.act == "killgroup":
            os.killpg(0, signal.SIGKILL)
        elif self.act == "fail" and not (self.code == errno.ENOSPC and event in _REMOVALS):
            raise OSError(self.code, os.strerror(self.code), path)

    def _next(self) -> int:
        number = self.counted() + 1
        handle = os.open(self.counter, os.O_RDWR)
        try:
            os.write(handle, number.to_bytes(8, sys.byteorder))
        finally:
            os.close(handle)
        return number


def _changed(event: str, args: tuple[Any, ...]) -> str | None:
    """The path that an audit event changes, None for one that changes nothing."""
    if event == "open":
        path, _, flags = args
        if not isinstance(path, str | bytes | os.PathLike) or not flags & WRITES:
            return None
    elif event in _CHANGES:
        path = args[1] if event in ("os.rename", "os.link", "os.symlink") else args[0]
    else:
        return None
    return None if isinstance(path, int) else str(Path.cwd() / os.fsdecode(path))


def library(folder: Path) -> Path | None:
    """The library that counts changes, built below `folder`; None where that cannot be done."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if sys.platform != "linux" or not compiler:
        return None
    built = folder / "fault.so"
    words = [compiler, "-shared", "-fPIC", "-O1", "-o", str(built), str(SOURCE), "-ldl"]
    with suppress(OSError, subprocess.SubprocessError):
        subprocess.run(words, check=True, capture_output=True, timeout=60)
        return built
    return None


# -------- a disk of its own


def inside() -> list[str]:
    """The words that start a program where it may mount a disk of its own; [] where none may."""
    if sys.platform != "linux" or not shutil.which("unshare") or not shutil.which("mount"):
        return []
    words = ["unshare", "-m" if os.geteuid() == 0 else "-Urm"]
    trial = [*words, "mount", "-t", "tmpfs", "-o", "size=64k", "none", "/mnt"]
    with suppress(OSError, subprocess.SubprocessError):
        subprocess.run(trial, check=True, capture_output=True, timeout=10)
        return words
    return []


def mount(folder: Path, size: int) -> None:
    """A disk of `size` bytes on a folder; only after `inside`."""
    folder.mkdir(parents=True, exist_ok=True)
    options = f"size={size},mode=0777"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder], check=True)


def remount(folder: Path, options: str) -> bool:
    """Change its size or make it read-only ("ro") or writable ("rw")."""
    words = ["mount", "-o", f"remount,{options}", str(folder)]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def unmount(folder: Path) -> None:
    subprocess.run(["umount", "-l", folder], check=True)


def limit_files(size: int) -> None:
    """No file of this process may become larger than `size` bytes; a write beyond fails with
    EFBIG, after what fitted."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


ERRORS = {"full": errno.ENOSPC, "broken": errno.EIO, "read-only": errno.EROFS}
