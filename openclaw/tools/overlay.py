"""Lays an empty layer over the home for one command (overlayfs): what the command writes lands in
that layer, whose content is exactly what it changed. Files of the home itself stay as they are.

Linux lets every user do so in a namespace of his own, from 5.11 on. Bubblewrap has options for it
only in newer versions, so the layer is mounted before it starts.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from openclaw.files.home import Home
from openclaw.files.user_folders import cache_folder
from openclaw.tools import sandbox

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


def available(root: Path) -> bool:
    """Whether a layer can be laid over the home at `root` here; tried once a process."""
    return _place(root) is not None


@cache
def _place(root: Path) -> Path | None:
    """The folder for layers, None when none works."""
    if sandbox.available() is not None:
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
            room = sandbox.Room(Home(root), layered=True)
            argv = made.over(sandbox.wrap(["/bin/sh", "-c", f": > {PROBE}"], room))
            subprocess.run(
                argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, env={},
                timeout=sandbox.PROBE_SECONDS,
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
        locks.callback(_remove, made.folder)
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
    for name in sandbox.FOLDERS:
        if not os.path.lexists(made.root / name):
            (made.upper / name).mkdir()
    for name in sandbox.FIXED_FILES:
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
                _remove(folder)


def _remove(folder: Path) -> None:
    """Remove a folder, also with folders in it that may not be opened."""
    for top, folders, _ in os.walk(folder):
        for name in folders:
            path = Path(top, name)
            with contextlib.suppress(OSError):
                if not path.is_symlink():
                    path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
