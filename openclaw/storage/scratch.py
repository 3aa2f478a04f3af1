"""Temporary folders of openclaw, where neither the agent nor other users write.

Programs look for settings in all folders above the one that they are started in. So they lie in the
folder that the system gives the user while logged in, and only where there is none among all
temporary files, which in /tmp are those of everybody.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from openclaw.storage.lock import is_running

PREFIX = "openclaw-run-"
STALE_SECONDS = 86_400


def scratch(home: Path) -> AbstractContextManager[Path]:
    """A new empty folder for programs, outside of a home; see `temporary_folder`."""
    return temporary_folder(_top(Path(os.path.realpath(home))))


@contextmanager
def temporary_folder(top: Path) -> Iterator[Path]:
    """A new empty folder in `top`, for this user only, removed in the end. Raises OSError."""
    _tidy(top)
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=top))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def link_folder(link: Path, folder: Path) -> None:
    """Let `link` lead to a folder. Windows allows everybody to make junctions, and few a link."""
    if sys.platform == "win32":
        import _winapi

        _winapi.CreateJunction(str(folder), str(link))
    else:
        link.symlink_to(folder, target_is_directory=True)


def _top(home: Path) -> Path:
    places = (os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir(), "/tmp")  # noqa: S108
    for place in filter(None, places):
        real = Path(os.path.realpath(place))
        if not real.is_relative_to(home) and os.access(real, os.W_OK):
            return real
    raise OSError("there is no folder for programs outside of the home")


def _tidy(top: Path) -> None:
    """Remove the folders that killed processes have left."""
    before = time.time() - STALE_SECONDS
    with suppress(OSError):
        for folder in top.glob(f"{PREFIX}*-*"):
            owner = folder.name.removeprefix(PREFIX).partition("-")[0]
            old = owner.isdecimal() and folder.lstat().st_mtime < before
            if old and not is_running(int(owner)):
                shutil.rmtree(folder, ignore_errors=True)
