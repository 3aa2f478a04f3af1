"""Says whether git holds credentials of a home: what was committed once is shown by `git log -p`,
`git grep` and others, also when no file holds it any more."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from openclaw.files.git import Git, environ, folder_of
from openclaw.safety.denied import denied_name
from openclaw.tools.credentials import credentials

SECONDS = 5.0
"""For all repositories of a home; what is not looked over by then may hold some."""
_ALL_NAMES = (
    "log --all --reflog --ignore-missing -m --root --no-renames --name-only --format= -z"
    " --no-ext-diff --no-textconv"
    " FETCH_HEAD ORIG_HEAD MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD REBASE_HEAD --"
).split()
_STAGED_NAMES = ["ls-files", "-z"]
_NOTHING = (b"does not have any commits", b"not a git repository")

_known: dict[Path, tuple[object, str]] = {}


def committed(root: Path) -> str:
    """Why what git holds of the home at `root` (absolute, without links) may hold credentials, ""
    when it does not: every path of every commit, stash and index counts."""
    found = credentials(root)
    if not found.whole:
        return "the home has too many files to look at"
    until = time.monotonic() + SECONDS
    return next(filter(None, (_held(root, place, until) for place in found.repositories)), "")


def _held(root: Path, place: Path, until: float) -> str:
    stamp = _stamp(place)
    known = _known.get(place)
    if known and known[0] == stamp:
        return known[1]
    why = ""
    try:
        for words in (_ALL_NAMES, _STAGED_NAMES):
            names = _printed(place, words, until - time.monotonic()).split("\0")
            why = why or _first_denied(root, place, {name.strip("\n") for name in names})
    except (OSError, subprocess.SubprocessError):
        return f"the repository in {place.relative_to(root)} cannot be looked over"
    _known[place] = stamp, why
    return why


def _first_denied(root: Path, place: Path, names: set[str]) -> str:
    inner = place.relative_to(root)
    held = next((name for name in names if denied_name((inner / name).as_posix())), "")
    return f"{inner / held} was committed" if held else ""


def _printed(place: Path, words: list[str], seconds: float) -> str:
    done = subprocess.run(
        Git(place).command("-c", "safe.directory=*", *words),
        env=environ() | {"GIT_CEILING_DIRECTORIES": str(place.parent)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=max(0.0, seconds),
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
