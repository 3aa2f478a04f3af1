"""Copies what a replay works on: whole, led out of by no link, and swept when one was left."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from openclaw.app.trials import not_copied
from openclaw.files.beneath import is_folder
from openclaw.files.home import Home

PREFIX = "openclaw-replay-"
LEFT = 3600.0
"""Seconds without a turn after which a copy was left by a process that was killed."""


@contextmanager
def thrown_away() -> Iterator[Home]:
    """A place for the copy of a home. What was left of earlier ones is removed first."""
    sweep(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as top:
        yield Home(Path(top).resolve() / "home")


def sweep(folder: Path) -> None:
    """Remove copies that processes left which were killed: they hold what the user has written."""
    with suppress(OSError):
        for path in folder.glob(f"{PREFIX}*"):
            with suppress(OSError):
                if not path.is_symlink() and time.time() - path.stat().st_mtime > LEFT:
                    shutil.rmtree(path, ignore_errors=True)


def in_use(copy: Home) -> None:
    """Say that a copy is worked on, so that no other process sweeps it."""
    with suppress(OSError):
        os.utime(copy.root.parent)


def copy_folders(home: Home, copy: Home, names: Sequence[str]) -> None:
    """Copy these folders of a home. No link of the copy leads out of it: what a tool writes there
    must not end in a file of the user's."""
    for name in names:
        if is_folder(home.root / name):
            shutil.copytree(home.root / name, copy.root / name, symlinks=True, ignore=not_copied)
            _keep_inside(copy.root / name, home, copy)


def put(copy: Home, path: Path, data: bytes | None) -> None:
    """Let a file of the copy hold this (None: let there be none), never that of a link's."""
    if not Path(os.path.realpath(path.parent)).is_relative_to(os.path.realpath(copy.root)):
        return  # its folder leads elsewhere
    if path.is_dir() and not path.is_symlink():
        return
    path.unlink(missing_ok=True)
    if data is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _keep_inside(top: Path, home: Home, copy: Home) -> None:
    links = [
        Path(folder, name)
        for folder, folders, files in os.walk(top)
        for name in (*folders, *files)
        if Path(folder, name).is_symlink()
    ]
    for link in links:
        with suppress(OSError):  # where no link can be made there is none
            _settle(link, home, copy)


def _settle(link: Path, home: Home, copy: Home) -> None:
    """Let a link lead to the same place of the copy; put a folder in its place that the user has
    named in the settings."""
    if Path(os.path.realpath(link)).is_relative_to(copy.root):
        return
    name, root = link.relative_to(copy.root), Path(os.path.realpath(home.root))
    real = Path(os.path.realpath(home.root / name))
    link.unlink()
    if real.is_relative_to(root) and (copy.root / real.relative_to(root)).exists():
        link.symlink_to(copy.root / real.relative_to(root), target_is_directory=real.is_dir())
    elif is_folder(home.root / name):
        shutil.copytree(real, link, symlinks=True, ignore=not_copied)
        _keep_inside(link, home, copy)
