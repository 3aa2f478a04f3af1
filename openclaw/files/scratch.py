"""Folders of ours for a short time, where nobody else writes: neither the agent nor other users.

They lie below the user's own cache and not in /tmp: programs look for settings in all folders above
the one that they are started in, and anybody may put some into /tmp.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from openclaw.files.lock import is_running

STALE_SECONDS = 86_400


@contextmanager
def scratch(home: Path) -> Iterator[Path]:
    """A new empty folder outside of a home, for this user only, removed in the end. Raises
    OSError."""
    top = _top(Path(os.path.realpath(home)))
    top.mkdir(mode=0o700, parents=True, exist_ok=True)
    _tidy(top)
    folder = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=top))
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
    from platformdirs import user_cache_path

    for place in (user_cache_path("openclaw", appauthor=False), Path(tempfile.gettempdir())):
        real = Path(os.path.realpath(place))
        if not real.is_relative_to(home):
            return real / ("run" if place.name == "openclaw" else f"openclaw-{_user()}")
    raise OSError("there is no folder for programs outside of the home")


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else "run"


def _tidy(top: Path) -> None:
    """Take away what killed processes have left."""
    before = time.time() - STALE_SECONDS
    with suppress(OSError):
        for folder in top.iterdir():
            owner = folder.name.partition("-")[0]
            old = owner.isdecimal() and folder.lstat().st_mtime < before
            if old and not is_running(int(owner)):
                shutil.rmtree(folder, ignore_errors=True)
