"""Says whether git holds credentials of a home: what was committed once is shown by `git log -p`,
`git grep` and others, also when no file holds it any more."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from openclaw.files.git import Git, environ, folder_of
from openclaw.files.home import Home
from openclaw.safety.denied import denied_name
from openclaw.tools.credentials import credentials
from openclaw.tools.gitfolder import doubt
from openclaw.tools.sandbox import Room, wrap

SECONDS = 5.0
"""For all repositories of a home; what is not looked over by then may hold some."""
_LISTINGS = (
    "log --all --reflog --ignore-missing -m --root --no-renames --name-only --format= -z"
    " --no-ext-diff --no-textconv"
    " FETCH_HEAD ORIG_HEAD MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD REBASE_HEAD --",
    "ls-files -z",
)
"""What prints the names of all files that are in a commit, and of those that are staged."""
_SETTINGS = (
    *("-c", "safe.directory=*"),
    *("-c", "safe.bareRepository=all"),
    *("-c", "log.diffMerges=separate"),
)
_NOTHING = (b"does not have any commits", b"not a git repository")

_known: dict[tuple[Path, bool], tuple[object, str | None]] = {}


def committed(home: Home, *, confined: bool) -> str | None:
    """A path of credentials that git holds of the home, in any commit, stash or index; "" for none,
    None when it cannot be told.

    The agent may have made a repository, and git runs what that names (a promised object is fetched
    by a program). So it is looked over in the sandbox, or where there is none only if nothing is
    named in it.
    """
    root = Path(os.path.realpath(home.root))
    found = credentials(root)
    look = _Look(home, root, confined, time.monotonic() + SECONDS)
    held = [look.into(place) for place in found.repositories]
    unknown = None in held or not found.whole
    return next(filter(None, held), None if unknown else "")


@dataclass(frozen=True, slots=True)
class _Look:
    """One look over the repositories of a home, until a time."""

    home: Home
    root: Path
    confined: bool
    until: float

    def into(self, place: Path) -> str | None:
        """The same for the repository in one folder."""
        stamp = _stamp(place)
        known = _known.get((place, self.confined))
        if known and known[0] == stamp:
            return known[1]
        inner = place.relative_to(self.root)
        if not self.confined and doubt(place, self.root):
            return None
        first: str | None = None
        with suppress(OSError, subprocess.SubprocessError):
            printed = [self._printed(place, words) for words in _LISTINGS]
            paths = {inner / name.strip("\n") for text in printed for name in text.split("\0")}
            held = sorted(path.as_posix() for path in paths if denied_name(path.as_posix()))
            first = held[0] if held else ""
        _known[place, self.confined] = stamp, first
        return first

    def _printed(self, place: Path, words: str) -> str:
        argv = Git(place).command(*_SETTINGS, *words.split())
        if self.confined:
            argv = wrap(argv, Room(self.home, read_only=True))
        done = subprocess.run(
            argv,
            env=environ()
            | {"GIT_CEILING_DIRECTORIES": str(place.parent), "GIT_ALLOW_PROTOCOL": "none"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=max(0.0, self.until - time.monotonic()),
            check=False,
        )
        if done.returncode and not any(words in done.stderr for words in _NOTHING):
            raise subprocess.SubprocessError(done.stderr[:200])
        return done.stdout.decode("utf-8", "replace")


def _stamp(place: Path) -> object:
    """What is another one once anything was committed, staged or put away."""
    folder = folder_of(place) or place
    files = (folder / "index", folder / "packed-refs", *folder.glob("*HEAD"))
    found = []
    for file in (*files, *_below(folder / "refs"), *_below(folder / "logs")):
        with suppress(OSError):
            status = file.lstat()
            found.append((str(file), status.st_ino, status.st_size, status.st_mtime_ns))
    return found


def _below(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if not path.is_dir())
