"""Locks in a repository that a killed git has left, so that nobody has to delete one by hand.

A note is made before git is asked to write and removed afterwards. Where it is still there, and
nobody else may write, its maker was killed; git's locks that came into being right after it are
then those of his git.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from openclaw.files.beneath import appending, checked, make_folder, remove
from openclaw.files.git import GitDied, folder_of
from openclaw.files.git_settings import common_of

WINDOW_SECONDS = 15.0
"""After the note; a commit takes a tenth of a second, locks of later are the user's."""
SETTLED_SECONDS = 1.0
"""For so long a git may outlive the process that asked it."""


@contextmanager
def noted(root: Path, note: Path) -> Iterator[None]:
    """Keep the note while git writes in the repository of `root`, and longer where git was killed
    or, on a broken disk, could not remove its locks. When it cannot be made, none is removed."""
    with contextlib.suppress(OSError):
        make_folder(note.parent)
        appending(note).close()
        os.utime(note)
    died = False
    try:
        yield
    except GitDied:
        died = True
        raise
    finally:
        with contextlib.suppress(OSError):
            if not died and not any(path.name != "index.lock" for path in _locks(root)):
                remove(note)


def take_away_left(root: Path, note: Path) -> None:
    """Remove the locks that a killed git has left in the repository of `root`. The caller is the
    only one who lets git write with this note."""
    try:
        began = checked(note).stat().st_mtime
    except OSError:
        return
    for path in _locks(root):
        with contextlib.suppress(OSError):
            age = path.stat().st_mtime - began
            if -SETTLED_SECONDS < age < WINDOW_SECONDS:
                time.sleep(min(max(0.0, SETTLED_SECONDS - time.time() + began + age), 1.0))
                path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        remove(note)


def _locks(root: Path) -> list[Path]:
    folder = folder_of(root)
    if folder is None:
        return []
    places = dict.fromkeys((folder, common_of(folder)))
    return [
        lock for top in places for lock in (*top.glob("*.lock"), *(top / "refs").rglob("*.lock"))
    ]
