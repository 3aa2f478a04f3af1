"""Puts a command into bubblewrap, where it sees the home, the system's programs and nothing else.

What the home holds for the agent's own guidance (SOUL.md, skills, settings, git's hooks) is there
but cannot be changed; `.openclaw/` with the secrets is not there, except long outputs.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO

from openclaw.security.credentials import denied_name
from openclaw.storage.home import Home
from openclaw.storage.program import cache_folder
from openclaw.storage.safe_open import appending, checked, folder_of, make_folder, open_file, remove
from openclaw.tools.paths import SPILL, program_folders

PROBE_SECONDS = 10.0
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
)
SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
PROGRAMS = ("/usr", "/nix/store", "/run/current-system/sw")
# Neither users nor hosts nor keys: what programs need to start and to tell the time, and with the
# network to find names and check TLS. Each mount costs about a third of a millisecond.
ETC = ("alternatives", "ld.so.cache", "localtime", "os-release")
ETC_NETWORK = (
    "ca-certificates", "crypto-policies", "gai.conf", "host.conf", "hosts", "nsswitch.conf",
    "pki/ca-trust/extracted", "pki/tls/certs", "resolv.conf", "services", "ssl/certs",
    "ssl/openssl.cnf", "static/ssl",
)  # fmt: skip
UNSHARE = ("--unshare-user", "--unshare-all", "--disable-userns")


@dataclass(frozen=True, slots=True)
class Room:
    """What a command may do in there. `hidden` are files and folders of the home that it does not
    see, `shown` are files elsewhere (place outside, place inside) that it may read. `layered` says
    that what it writes lands in a layer over the home."""

    home: Home
    read_only: bool = False
    keep_memory: bool = False
    network: bool = False
    hidden: tuple[Path, ...] = ()
    shown: tuple[tuple[Path, str], ...] = ()
    layered: bool = False


def available() -> str | None:
    """Why there is no sandbox on this machine, None when there is one; tried once a process."""
    return _probed()[0]


def forget() -> None:
    """Try again at the next question: bubblewrap may have come or gone."""
    _probed.cache_clear()


def wrap(argv: Sequence[str], room: Room) -> list[str]:
    """The command line that runs `argv` in the sandbox, in the home's folder.

    While it runs, `placeholders` must stand in the home.
    """
    root = os.path.realpath(room.home.root)
    network = ("--share-net",) if room.network else ()
    # Whoever may lay a layer over the home is root there.
    user = ("--uid", str(os.getuid()), "--gid", str(os.getgid())) if room.layered else ()
    return [
        *_probed()[1], *network, *user, *_system(room.network), *_interpreter(root),
        *_home(room, Path(root)), *_shown(room), "--remount-ro", "/", "--chdir", root, "--", *argv,
    ]  # fmt: skip


@contextlib.contextmanager
def placeholders(room: Room) -> Iterator[None]:
    """Empty files and folders stand where a fixed one is missing: only what exists can be fixed.
    The last command over the home takes them away again. Raises OSError."""
    if room.read_only or room.layered:  # the layer has its own
        yield
    else:
        root = Path(os.path.realpath(room.home.root))
        with standing(root, FOLDERS, FIXED_FILES):
            yield


def tidy_up(home: Home) -> None:
    """Take away the placeholders that a killed command has left."""
    tidy(Path(os.path.realpath(home.root)), (*FOLDERS, *FIXED_FILES))


# -------- the parts of a command line; what comes later lies over what came before


def _system(network: bool) -> list[str]:
    words = ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "openclaw"]
    for folder in PROGRAMS:
        words += _same(Path(folder))
    for name in (*SYSTEM, *(f"/etc/{name}" for name in (*ETC, *(ETC_NETWORK if network else ())))):
        words += _same(Path(name))
    words += ["--proc", "/proc", "--dev", "/dev"]
    for folder in ("/tmp", "/dev/shm"):  # noqa: S108  the sandbox's own
        words += ["--size", str(TMP_BYTES), "--tmpfs", folder]
    return words


def _same(path: Path) -> list[str]:
    """A part of the system at its own place; a link below /usr stays one, which is quicker."""
    if path.is_symlink() and Path(os.path.realpath(path)).is_relative_to("/usr"):
        return ["--symlink", str(path.readlink()), str(path)]
    return ["--ro-bind", str(path), str(path)] if path.exists() else []


def _interpreter(root: str) -> list[str]:
    """The Python that runs this program, for `run_python`. A folder that holds the home is not
    shown: other things lie there too."""
    words = []
    for prefix in dict.fromkeys((sys.base_prefix, sys.prefix)):
        real = os.path.realpath(prefix)
        if not (Path(root).is_relative_to(real) or Path(real).is_relative_to("/usr")):
            for place in dict.fromkeys((real, prefix)):
                words += ["--ro-bind-try", real, place]
    return words


def _home(room: Room, root: Path) -> list[str]:
    if room.read_only:
        words = ["--ro-bind", str(root), str(root)]
    else:
        words = ["--bind", str(root), str(root), *_fixed(room, root)]
    private = root / ".openclaw"
    if private.is_dir() or not room.read_only:
        words += ["--tmpfs", str(private)]
        spill = str(root / SPILL)
        words += ["--ro-bind-try", spill, spill, "--remount-ro", str(private)]
    for path in room.hidden:
        if path.is_dir():
            words += ["--tmpfs", str(path), "--remount-ro", str(path)]
        else:
            words += ["--ro-bind", "/dev/null", str(path)]
    return words


def _fixed(room: Room, root: Path) -> list[str]:
    """What cannot be changed. The folders above it are mounts too: one cannot be renamed away."""
    fixed = _fixed_paths(room, root)
    # What holds credentials by its place alone would be none in a folder of another name.
    placed = [path for path in room.hidden if not denied_name(path.name)]
    held = {
        folder for path in (*fixed, *placed) for folder in path.parents if root in folder.parents
    }
    # A link cannot be covered by a mount, so the folder that it lies in is read-only as a whole.
    linked = {path.parent for path in (*fixed, *held) if path.is_symlink()}
    words = []
    for folder in sorted(held - linked - set(fixed)):
        words += ["--bind", str(folder), str(folder)]
    for path in sorted({*fixed, *linked} - {root}):
        if not path.is_symlink():
            words += ["--ro-bind-try", str(path), str(path)]
    return [*words, "--remount-ro", str(root)] if root in linked else words


def _fixed_paths(room: Room, root: Path) -> list[Path]:
    fixed = [root / name for name in (*FIXED_FOLDERS, *FIXED_FILES)]
    fixed += [path for path in program_folders() if path.is_relative_to(root) and path != root]
    return [*fixed, root / "memory"] if room.keep_memory else fixed


def kept(room: Room) -> frozenset[str]:
    """The files and folders of the home that a command cannot change, relative to it."""
    root = Path(os.path.realpath(room.home.root))
    paths = (*_fixed_paths(room, root), *room.hidden, root / ".openclaw")
    return frozenset(path.relative_to(root).as_posix() for path in paths)


def _shown(room: Room) -> list[str]:
    return [word for out, place in room.shown for word in ("--ro-bind", str(out), place)]


# -------- whether it works here


@cache
def _probed() -> tuple[str | None, tuple[str, ...]]:
    """Why there is no sandbox, and the first words of its command line."""
    if sys.platform != "linux":
        return "there is no sandbox on this system", ()
    program = shutil.which("bwrap")
    if program is None or not Path(program).is_absolute():
        return "bubblewrap is not installed", ()
    reason = ""
    for flags in (UNSHARE, UNSHARE[:-1]):  # before bubblewrap 0.8 there is no --disable-userns
        reason = _tried((program, *flags))
        if not reason:
            return None, (program, *flags)
    return f"bubblewrap does not work here ({reason})", ()


def _tried(words: Sequence[str]) -> str:
    """What is wrong with these first words, "" when a command runs in the sandbox."""
    try:
        done = subprocess.run(
            [*words, *_system(network=False), "--", "/bin/sh", "-c", ":"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_SECONDS,
            check=False,
            env={},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return type(error).__name__
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return (lines or [f"exit code {done.returncode}"])[0] if done.returncode else ""


LOCK = ".openclaw/locks/sandbox.lock"
LONGEST_WAIT = 5.0
"""Seconds; the lock is only held alone while a handful of files is removed."""


@contextlib.contextmanager
def standing(root: Path, folders: Sequence[str], files: Sequence[str]) -> Iterator[None]:
    """The named folders and files exist meanwhile; what was missing is taken away afterwards when
    it is still empty, by the last command that runs over this home: were it taken away earlier, the
    kernel would take the mount off it that fixes it for the others. The lock file names what was
    made, so that after a crash the next one tidies up.

    Raises OSError when the lock cannot be had.
    """
    path = root / LOCK
    make_folder(path.parent)
    with appending(path) as lock:
        _share(lock.fileno())
        try:
            missing = [name for name in (*folders, *files) if not os.path.lexists(root / name)]
            lock.write("".join(f"{name}\n" for name in missing).encode())
            lock.flush()  # before it is killed
            for name in missing:
                (_make_folder if name in folders else _make_file)(root / name)
            yield
        finally:
            if _alone(lock.fileno()):
                _take_away(lock, root, (*folders, *files))


def tidy(root: Path, names: Sequence[str]) -> None:
    """Take away what of these files and folders a killed command has left, unless one runs."""
    path = root / LOCK
    with contextlib.suppress(OSError):
        if path.lstat().st_size:
            with appending(path) as lock:
                if _alone(lock.fileno()):
                    _take_away(lock, root, names)


def _take_away(lock: BinaryIO, root: Path, names: Sequence[str]) -> None:
    lock.seek(0)
    for name in reversed((lock.read() or b"").decode("utf-8", "replace").split("\n")):
        if name in names:
            _remove(root / name)
    lock.truncate(0)


def _share(number: int) -> None:
    import fcntl

    until = time.monotonic() + LONGEST_WAIT
    while True:
        try:
            return fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise BlockingIOError("another command over this home does not end") from None
            time.sleep(0.005)


def _alone(number: int) -> bool:
    """Whether nobody else holds the lock; then it is held alone, else not any more."""
    import fcntl

    with contextlib.suppress(OSError):
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _make_folder(path: Path) -> None:
    with contextlib.suppress(OSError), folder_of(path) as folder:
        folder.make(path.name)


def _make_file(path: Path) -> None:
    with contextlib.suppress(OSError):
        os.close(open_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        if checked(path).is_dir():
            path.rmdir()
        elif path.lstat().st_size == 0:
            remove(path)


PROBE = ".openclaw-probe"
# No name of a folder stands among the options, where commas and colons have a meaning.
_MOUNT = (
    'cd "$0" && "$2" -t overlay overlay'
    ' -o lowerdir=lower,upperdir=upper,workdir=work,userxattr "$1" && shift 2 && exec "$@"'
)


@dataclass(frozen=True, slots=True)
class Layer:
    """A folder with the layer `upper` for the home at `root`."""

    root: Path
    folder: Path

    @property
    def upper(self) -> Path:
        return self.folder / "upper"

    def over(self, argv: Sequence[str]) -> list[str]:
        """The command line that runs `argv` where this layer lies over the home."""
        unshare, mount = shutil.which("unshare"), shutil.which("mount")
        script = ("/bin/sh", "-c", _MOUNT, str(self.folder), str(self.root), mount or "mount")
        return [unshare or "unshare", "-U", "-r", "-m", *script, *argv]


@contextlib.contextmanager
def layer(root: Path) -> Iterator[Layer]:
    """A new layer over the home at `root`, gone after the block. OSError when there is no place
    for it; ask `available` before."""
    place = _place(root)
    if place is None:
        raise OSError("there is no overlay on this system")
    with _layer(place, root) as made:
        yield made


def is_overlay_available(root: Path) -> bool:
    """Whether a layer can be laid over the home at `root` here; tried once a process."""
    return _place(root) is not None


@cache
def _place(root: Path) -> Path | None:
    """The folder for layers, None when none works."""
    if available() is not None:
        return None
    places = (place for place in _places() if place.is_absolute() and _works(place, root))
    return next(places, None)


def _places() -> Iterator[Path]:
    """Outside of homes: a layer cannot lie in what it lies over."""
    yield cache_folder() / "commands"
    yield Path(f"/var/tmp/openclaw-{os.getuid()}")  # noqa: S108  checked to be ours


def _works(place: Path, root: Path) -> bool:
    try:
        with _layer(place, root) as made:
            room = Room(Home(root), layered=True)
            argv = made.over(wrap(["/bin/sh", "-c", f": > {PROBE}"], room))
            subprocess.run(
                argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, env={},
                timeout=PROBE_SECONDS,
            )  # fmt: skip
            return (made.upper / PROBE).is_file()
    except (OSError, subprocess.TimeoutExpired):
        return False


@contextlib.contextmanager
def _layer(place: Path, root: Path) -> Iterator[Layer]:
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = place.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise PermissionError(f"{place} is not this user's alone")
    made = Layer(root, place / secrets.token_hex(6))
    with contextlib.ExitStack() as locks:
        with _locked(place):
            _remove_left(place)
            made.folder.mkdir(mode=0o700)
            locks.enter_context(_locked(made.folder))
        locks.callback(_remove_layer, made.folder)
        (made.folder / "lower").symlink_to(root)
        (made.folder / "work").mkdir()
        made.upper.mkdir()
        _make_placeholders(made)
        yield made


@contextlib.contextmanager
def _locked(folder: Path, *, wait: bool = True) -> Iterator[bool]:
    """Whether the folder could be locked, by a lock that ends with the process."""
    import fcntl

    number = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    alone = False
    try:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(number, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            alone = True
        yield alone
    finally:
        os.close(number)


def _make_placeholders(made: Layer) -> None:
    """Empty files and folders stand where a fixed one is missing: only what exists can be fixed."""
    for name in FOLDERS:
        if not os.path.lexists(made.root / name):
            (made.upper / name).mkdir()
    for name in FIXED_FILES:
        path = made.upper / name
        if not os.path.lexists(made.root / name) and not (made.root / name).parent.is_symlink():
            path.parent.mkdir(exist_ok=True)
            path.touch()
    for folder in (made.upper, *made.upper.iterdir()):  # as the folder that it lies over
        below = made.root / folder.relative_to(made.upper)
        if folder.is_dir() and below.is_dir():
            folder.chmod(stat.S_IMODE(below.stat().st_mode))


def _remove_left(place: Path) -> None:
    """Remove the layers of killed processes: what their commands had written is in no home."""
    for folder in place.iterdir():
        with contextlib.suppress(OSError), _locked(folder, wait=False) as alone:
            if alone:
                _remove_layer(folder)


def _remove_layer(folder: Path) -> None:
    """Remove a folder, also with folders in it that may not be opened."""
    for top, folders, _ in os.walk(folder):
        for name in folders:
            path = Path(top, name)
            with contextlib.suppress(OSError):
                if not path.is_symlink():
                    path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
