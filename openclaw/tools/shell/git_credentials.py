"""Finds credentials that git keeps in a home: in any commit, stash or index."""

from __future__ import annotations

import re
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from openclaw.security.credentials import find_credentials, why_name_denied
from openclaw.storage.git import Git, GitError, environ, folder_of
from openclaw.storage.home import Home
from openclaw.tools.shell.sandbox import SandboxOptions, wrap

NAMES_GIT = re.compile(r"\bgit\b")
SECONDS = 5.0
"""Time for all repositories of a home; one that is not searched by then may hold credentials."""
_LISTINGS = (
    "log --all --reflog --ignore-missing -m --root --no-renames --name-only --format= -z"
    " --no-ext-diff --no-textconv"
    " FETCH_HEAD ORIG_HEAD MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD REBASE_HEAD --",
    "ls-files -z",
)
"""Git commands that print the names of all committed files, and of all staged files."""
_SETTINGS = (
    *("-c", "safe.directory=*"),
    *("-c", "safe.bareRepository=all"),
    *("-c", "log.diffMerges=separate"),
)
_NOTHING = (b"does not have any commits", b"not a git repository")

_searched: dict[tuple[Path, bool], tuple[object, str | None]] = {}


def find_committed_credentials(home: Home, *, confined: bool) -> str | None:
    """Find a path of credentials that git holds in any commit, stash or index of the home; "" for
    none, None when it cannot be told.

    The agent may have made a repository, and git runs programs that it names (one fetches a
    promised object). So git runs in the sandbox; without one, under settings of ours, and not in a
    folder that poses as a repository.
    """
    found = find_credentials(home.real_root)
    until = time.monotonic() + SECONDS
    held = [_search(home, place, confined, until) for place in found.repositories]
    unknown = None in held or not found.whole
    return next(filter(None, held), None if unknown else "")


def _search(home: Home, place: Path, confined: bool, until: float) -> str | None:
    """The same as `find_committed_credentials` for the repository in one folder."""
    stamp = _repository_state(place)
    known = _searched.get((place, confined))
    if known and known[0] == stamp:
        return known[1]
    if not confined and folder_of(place) is None:
        return None
    inner = place.relative_to(home.real_root)
    first: str | None = None
    with suppress(OSError, subprocess.SubprocessError, GitError):
        printed = [_run_git(home, place, words, confined, until) for words in _LISTINGS]
        paths = {inner / name.strip("\n") for text in printed for name in text.split("\0")}
        held = sorted(path.as_posix() for path in paths if why_name_denied(path.as_posix()))
        first = held[0] if held else ""
    _searched[place, confined] = stamp, first
    return first


def _run_git(home: Home, place: Path, words: str, confined: bool, until: float) -> str:
    argv, env = Git(place).command(*_SETTINGS, *words.split()), environ()
    if confined:
        argv = wrap(argv, SandboxOptions(home, tried=True))
    else:
        env = Git(place).environ()
    done = subprocess.run(
        argv,
        env=env | {"GIT_CEILING_DIRECTORIES": str(place.parent), "GIT_ALLOW_PROTOCOL": "none"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=max(0.0, until - time.monotonic()),
        check=False,
    )
    if done.returncode and not any(words in done.stderr for words in _NOTHING):
        raise subprocess.SubprocessError(done.stderr[:200])
    return done.stdout.decode("utf-8", "replace")


def _repository_state(place: Path) -> object:
    """A value that changes with every commit, stash and change of the index."""
    folder = folder_of(place) or place
    below = (path for name in ("refs", "logs") for path in (folder / name).rglob("*"))
    found = []
    for path in (folder / "index", folder / "packed-refs", *folder.glob("*HEAD"), *below):
        with suppress(OSError):
            status = path.lstat()
            found.append((str(path), status.st_ino, status.st_size, status.st_mtime_ns))
    return found
