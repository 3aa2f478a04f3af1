"""Run a command in bubblewrap, where it sees the home, the system's programs and nothing else.

The files that guide the agent (SOUL.md, skills, settings, git's hooks) are read-only in there. Of
`.openclaw/`, which holds the secrets, only the long outputs are visible.

Parts of the file: the command line of the sandbox, the test whether it works here, and placeholders
for missing files.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from openclaw.frozen import frozen
from openclaw.security.credentials import why_name_denied
from openclaw.storage.home import Home
from openclaw.storage.safe_open import appending, check_no_links, make_folder, open_folder, remove
from openclaw.tools.paths import SPILL, program_folders

TRIAL_SECONDS = 10.0
TMP_BYTES = 512 << 20
FIXED_FOLDERS = (".git", "skills", "sessions", "hooks")
FOLDERS = ("workspace", "memory", *FIXED_FOLDERS)
FIXED_FILES = (
    "openclaw.yaml",
    "workspace/SOUL.md",
    "workspace/AGENTS.md",
    "workspace/USER.md",
    "workspace/IDENTITY.md",
    "workspace/TOOLS.md",
    "workspace/HEARTBEAT.md",
    "memory/JOBS.md",
)
PLACEHOLDERS = (*FOLDERS, *FIXED_FILES)
SYSTEM = "/usr /nix/store /run/current-system/sw /bin /sbin /lib /lib32 /lib64 /libx32".split()
# What programs need to start and to tell the time, and with the network to find names and check
# TLS; no users, hosts or keys. Each mount costs about a third of a millisecond.
ETC = ("alternatives", "ld.so.cache", "localtime", "os-release")
ETC_NETWORK = """
    ca-certificates crypto-policies gai.conf host.conf hosts nsswitch.conf pki/ca-trust/extracted
    pki/tls/certs resolv.conf services ssl/certs ssl/openssl.cnf static/ssl
""".split()
UNSHARE = ("--unshare-user", "--unshare-all", "--disable-userns")


@frozen
class SandboxOptions:
    """What a command may see and do in the sandbox."""

    home: Home
    keep_memory: bool = False
    network: bool = False
    hidden: tuple[Path, ...] = ()  # files and folders of the home that it does not see
    shown: tuple[tuple[Path, str], ...] = ()  # readable files elsewhere: (place outside, inside)
    layered: bool = False  # what it writes goes to a layer over the home
    tried: bool = False  # nothing that it does is kept, so no file in a layer has to be fixed

    @property
    def read_only(self) -> bool:
        return self.tried and not self.layered


def why_unavailable() -> str | None:
    """Why there is no sandbox on this machine, None when there is one; tested once a process."""
    return probe()[0]


def wrap(argv: Sequence[str], options: SandboxOptions) -> list[str]:
    """The command line that runs `argv` in the sandbox, in the home's folder.

    While it runs, `placeholders` must stand in the home.
    """
    root = options.home.real_root
    network = ("--share-net",) if options.network else ()
    # The process that mounts the layer is root in its namespace; go back to the user.
    user = ("--uid", str(os.getuid()), "--gid", str(os.getgid())) if options.layered else ()
    shown = [word for out, place in options.shown for word in ("--ro-bind", str(out), place)]
    return [
        *probe()[1], *network, *user, *_system_mounts(options.network), *_interpreter_mounts(root),
        *_home_mounts(options, root), *shown, "--remount-ro", "/",
        "--chdir", str(root), "--", *argv,
    ]  # fmt: skip


@contextlib.contextmanager
def placeholders(options: SandboxOptions) -> Iterator[None]:
    """Create empty files and folders for the missing fixed ones: only an existing path can be made
    read-only. Afterwards the last command over this home removes those that are still empty.
    Removed earlier, the kernel would drop the read-only mounts of the other commands. The lock file
    lists what was created, so that the next command tidies up after a crash.

    Raises OSError when the lock cannot be had.
    """
    if options.tried or options.layered:  # the layer has placeholders of its own
        yield
        return
    root = options.home.real_root
    make_folder((root / LOCK).parent)
    with appending(root / LOCK) as lock:
        _lock_shared(lock.fileno())
        try:
            missing = [name for name in PLACEHOLDERS if not os.path.lexists(root / name)]
            lock.write("".join(f"{name}\n" for name in missing).encode())
            lock.flush()  # a kill may come next
            for name in missing:
                with contextlib.suppress(OSError), open_folder((root / name).parent) as folder:
                    if name in FOLDERS:
                        folder.make(name)
                    else:
                        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
                        os.close(folder.open(PurePosixPath(name).name, flags))
            yield
        finally:
            _remove_placeholders(lock, root)


def tidy_up(home: Home) -> None:
    """Remove the placeholders that a killed command has left, unless a command runs."""
    root = home.real_root
    with contextlib.suppress(OSError):
        if (root / LOCK).lstat().st_size:
            with appending(root / LOCK) as lock:
                _remove_placeholders(lock, root)


# -------- the parts of a command line; a later mount covers an earlier one


def _system_mounts(network: bool) -> list[str]:
    words = ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "openclaw"]
    etc = [*ETC, *ETC_NETWORK] if network else ETC
    for place in (*SYSTEM, *(f"/etc/{name}" for name in etc)):
        words += _same_place(Path(place))
    words += ["--proc", "/proc", "--dev", "/dev"]
    for folder in ("/tmp", "/dev/shm"):  # noqa: S108  the sandbox's own
        words += ["--size", str(TMP_BYTES), "--tmpfs", folder]
    return words


def _same_place(path: Path) -> list[str]:
    """Mount a part of the system at its own path; a link below /usr stays one, which is faster."""
    if path.is_symlink() and Path(os.path.realpath(path)).is_relative_to("/usr"):
        return ["--symlink", str(path.readlink()), str(path)]
    return ["--ro-bind", str(path), str(path)] if path.exists() else []


def _interpreter_mounts(root: Path) -> list[str]:
    """Mount the Python that runs this program, for `run_python`; but not a folder that contains the
    home, as it contains other things too."""
    words = []
    for prefix in dict.fromkeys((sys.base_prefix, sys.prefix)):
        real = os.path.realpath(prefix)
        if not (root.is_relative_to(real) or Path(real).is_relative_to("/usr")):
            for place in dict.fromkeys((real, prefix)):
                words += ["--ro-bind-try", real, place]
    return words


def _home_mounts(options: SandboxOptions, root: Path) -> list[str]:
    if options.read_only:
        words = ["--ro-bind", str(root), str(root)]
    else:
        fixed = () if options.tried else _fixed_mounts(options, root)
        words = ["--bind", str(root), str(root), *fixed]
    private = root / ".openclaw"
    if private.is_dir() or not options.read_only:
        words += ["--tmpfs", str(private)]
        spill = str(root / SPILL)
        words += ["--ro-bind-try", spill, spill, "--remount-ro", str(private)]
    for path in options.hidden:
        if path.is_dir():
            words += ["--tmpfs", str(path), "--remount-ro", str(path)]
        else:
            words += ["--ro-bind", "/dev/null", str(path)]
    return words


def _fixed_mounts(options: SandboxOptions, root: Path) -> list[str]:
    """Mount the fixed paths read-only. The folders above them are mounts too, so that they cannot
    be renamed."""
    fixed = _fixed_paths(options, root)
    # A file that counts as credentials only by its folder would not count in a renamed folder.
    placed = [path for path in options.hidden if not why_name_denied(path.name)]
    held = {
        folder for path in (*fixed, *placed) for folder in path.parents if root in folder.parents
    }
    # A mount cannot cover a link, so the whole folder of a link is read-only.
    linked = {path.parent for path in (*fixed, *held) if path.is_symlink()}
    words = []
    for folder in sorted(held - linked - set(fixed)):
        words += ["--bind", str(folder), str(folder)]
    for path in sorted({*fixed, *linked} - {root}):
        if not path.is_symlink():
            words += ["--ro-bind-try", str(path), str(path)]
    return [*words, "--remount-ro", str(root)] if root in linked else words


def _fixed_paths(options: SandboxOptions, root: Path) -> list[Path]:
    if options.tried:
        return []
    fixed = [root / name for name in (*FIXED_FOLDERS, *FIXED_FILES)]
    fixed += [path for path in program_folders() if path.is_relative_to(root) and path != root]
    return [*fixed, root / "memory"] if options.keep_memory else fixed


def unchangeable_names(options: SandboxOptions) -> frozenset[str]:
    """The files and folders of the home that a command cannot change, relative to it."""
    root = options.home.real_root
    paths = (*_fixed_paths(options, root), *options.hidden, root / ".openclaw")
    return frozenset(path.relative_to(root).as_posix() for path in paths)


# -------- the test whether the sandbox works here


@cache
def probe() -> tuple[str | None, tuple[str, ...]]:
    """Why there is no sandbox (None when there is one), and the first words of its command line."""
    if sys.platform != "linux":
        return "there is no sandbox on this system", ()
    program = shutil.which("bwrap")
    if program is None or not Path(program).is_absolute():
        return "bubblewrap is not installed", ()
    reason = ""
    for flags in (UNSHARE, UNSHARE[:-1]):  # before bubblewrap 0.8 there is no --disable-userns
        reason = _try_command((program, *flags))
        if not reason:
            return None, (program, *flags)
    return f"bubblewrap does not work here ({reason})", ()


def _try_command(words: Sequence[str]) -> str:
    """Run a trial command with these first words. Returns the error, "" when it ran."""
    try:
        done = run_trial([*words, *_system_mounts(network=False), "--", "/bin/sh", "-c", ":"])
    except (OSError, subprocess.TimeoutExpired) as error:
        return type(error).__name__
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return (lines or [f"exit code {done.returncode}"])[0] if done.returncode else ""


def run_trial(argv: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    """Run a short command with empty variables. Raises OSError and TimeoutExpired."""
    return subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, env={},
        timeout=TRIAL_SECONDS,
    )  # fmt: skip


LOCK = ".openclaw/locks/sandbox.lock"
LONGEST_WAIT = 5.0  # seconds; the exclusive lock is only held while a handful of files is removed


def _remove_placeholders(lock: BinaryIO, root: Path) -> None:
    """Remove the placeholders on the list, unless another command holds the lock."""
    import fcntl

    with contextlib.suppress(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        lock.seek(0)
        for name in reversed((lock.read() or b"").decode("utf-8", "replace").split("\n")):
            if name in PLACEHOLDERS:
                _remove_empty(root / name)
        lock.truncate(0)


def _lock_shared(number: int) -> None:
    import fcntl

    until = time.monotonic() + LONGEST_WAIT
    while True:
        try:
            return fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise BlockingIOError("another command over this home does not end") from None
            time.sleep(0.005)


def _remove_empty(path: Path) -> None:
    with contextlib.suppress(OSError):
        if check_no_links(path).is_dir():
            path.rmdir()
        elif path.lstat().st_size == 0:
            remove(path)
