"""Overlays of the kernel: what a command writes goes into a layer over the home."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from openclaw.frozen import frozen
from openclaw.storage.home import Home
from openclaw.storage.program import cache_folder
from openclaw.tools.shell.sandbox import (
    FIXED_FILES,
    FOLDERS,
    SandboxOptions,
    run_trial,
    why_unavailable,
    wrap,
)

PROBE = ".openclaw-probe"

# The options contain no folder names: commas and colons have a meaning there.
_MOUNT = (
    'cd "$0" && "$2" -t overlay overlay'
    ' -o lowerdir=lower,upperdir=upper,workdir=work,userxattr "$1" && shift 2 && exec "$@"'
)


@frozen
class Layer:
    """A layer over the home at `root`: its folder, with the written files in `upper`."""

    root: Path
    folder: Path

    @property
    def upper(self) -> Path:
        return self.folder / "upper"

    def over(self, argv: Sequence[str]) -> list[str]:
        """The command line that runs `argv` with this layer over the home."""
        unshare, mount = (shutil.which(name) or name for name in ("unshare", "mount"))
        script = ("/bin/sh", "-c", _MOUNT, str(self.folder), str(self.root), mount)
        return [unshare, "-U", "-r", "-m", *script, *argv]


@contextlib.contextmanager
def open_layer(root: Path, *, tried: bool = False) -> Iterator[Layer]:
    """A new layer over the home at `root`, removed after the block; `tried` as in `SandboxOptions`.
    Raises OSError when layers do not work; call `is_overlay_available` before."""
    place = _layer_folder(root)
    if place is None:
        raise OSError("there is no overlay on this system")
    with _make_layer(place, root) as made:
        if not tried:
            _make_placeholders(made)
        yield made


def is_overlay_available(root: Path) -> bool:
    """Return True when a layer over the home at `root` works here; tested once a process."""
    return _layer_folder(root) is not None


@cache
def _layer_folder(root: Path) -> Path | None:
    """The folder for layers, None when none works."""
    if why_unavailable() is not None:
        return None
    # Outside of homes: a layer cannot lie in what it covers. The second is checked to be ours.
    for place in (cache_folder() / "commands", Path(f"/var/tmp/openclaw-{os.getuid()}")):  # noqa: S108
        if place.is_absolute() and _overlay_works(place, root):
            return place
    return None


def _overlay_works(place: Path, root: Path) -> bool:
    try:
        with _make_layer(place, root) as made:
            options = SandboxOptions(Home(root), layered=True, tried=True)
            run_trial(made.over(wrap(["/bin/sh", "-c", f": > {PROBE}"], options)))
            return (made.upper / PROBE).is_file()
    except (OSError, subprocess.TimeoutExpired):
        return False


@contextlib.contextmanager
def _make_layer(place: Path, root: Path) -> Iterator[Layer]:
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = place.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise PermissionError(f"{place} is not this user's alone")
    made = Layer(root, place / secrets.token_hex(6))
    with contextlib.ExitStack() as locks:
        with _folder_lock(place):
            _remove_left(place)
            made.folder.mkdir(mode=0o700)
            locks.enter_context(_folder_lock(made.folder))
        locks.callback(_remove_layer, made.folder)
        (made.folder / "lower").symlink_to(root)
        (made.folder / "work").mkdir()
        made.upper.mkdir()
        yield made


@contextlib.contextmanager
def _folder_lock(folder: Path, *, wait: bool = True) -> Iterator[bool]:
    """Lock a folder; the lock ends with the process. Yields False when it could not be had."""
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
    """Create empty files and folders in the layer for the missing fixed ones."""
    for name in FOLDERS:
        if not os.path.lexists(made.root / name):
            (made.upper / name).mkdir()
    for name in FIXED_FILES:
        path = made.upper / name
        if not os.path.lexists(made.root / name) and not (made.root / name).parent.is_symlink():
            path.parent.mkdir(exist_ok=True)
            path.touch()
    for folder in (made.upper, *made.upper.iterdir()):  # the same mode as the covered folder
        below = made.root / folder.relative_to(made.upper)
        if folder.is_dir() and below.is_dir():
            folder.chmod(stat.S_IMODE(below.stat().st_mode))


def _remove_left(place: Path) -> None:
    """Remove the layers of killed processes; nothing of them has reached a home."""
    for folder in place.iterdir():
        with contextlib.suppress(OSError), _folder_lock(folder, wait=False) as alone:
            if alone:
                _remove_layer(folder)


def _remove_layer(folder: Path) -> None:
    """Remove a folder, even when it has folders that may not be opened."""
    for top, folders, _ in os.walk(folder):
        for name in folders:
            path = Path(top, name)
            with contextlib.suppress(OSError):
                if not path.is_symlink():
                    path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
