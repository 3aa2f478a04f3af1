"""The environment variables that a command gets: few, and none of them a secret."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from openclaw.files.home import Home

PASSED = ("LANG", "LANGUAGE", "TZ", "USER", "LOGNAME")
PASSED_ON_WINDOWS = (
    "COMSPEC", "NUMBER_OF_PROCESSORS", "PATHEXT", "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE",
    "SYSTEMROOT", "TEMP", "TMP", "WINDIR",
)  # fmt: skip
USUAL_PATH = "/usr/local/bin:/usr/bin:/bin"
FIXED = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUTF8": "1",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
}
# A repository may name programs that git then starts, and a folder may pose as a repository.
GIT_READING = (
    ("core.fsmonitor", "false"),
    ("core.hooksPath", os.devnull),
    ("diff.autoRefreshIndex", "false"),
    ("safe.bareRepository", "explicit"),
)


def environment(
    home: Home,
    given: Mapping[str, str],
    *,
    named: Sequence[str] = (),
    confined: bool,
    reading: bool,
) -> dict[str, str]:
    """What of the `given` variables a command gets, and what else.

    `named` are those that the settings add. HOME is the home of the agent, so that `~/workspace`
    means the same as everywhere. `reading` says that the command was not asked for, as it only
    reads: nothing then may make another program of it, neither a variable nor a folder of the
    user's own programs nor git.
    """
    root = os.path.realpath(home.root)
    found = {name: value for name, value in given.items() if _passed(name)}
    found |= FIXED
    found |= {"PATH": _path(given, root, reading), "HOME": root}
    found.setdefault("LANG", "C.UTF-8")
    if confined:
        found |= {"TMPDIR": "/tmp", "XDG_CACHE_HOME": "/tmp/cache"}  # noqa: S108  of the sandbox
    if reading:
        found |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_CONFIG_COUNT": str(len(GIT_READING))}
        for number, (key, value) in enumerate(GIT_READING):
            found |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        return found
    return found | {name: given[name] for name in named if name in given}


def program_path(given: Mapping[str, str], root: str) -> str:
    """The folders of programs, without those that the agent could put a program into."""
    return _path(given, root, reading=False)


def _passed(name: str) -> bool:
    if os.name == "nt" and name.upper() in PASSED_ON_WINDOWS:
        return True
    return name in PASSED or name.startswith("LC_")


def _path(given: Mapping[str, str], root: str, reading: bool) -> str:
    """The folders of programs, without those that the agent could put a program into, and for
    reading without those below the folders of users."""
    closed = [Path(root)]
    if reading:
        closed += [Path(given.get(name) or root) for name in ("HOME", "USERPROFILE")]
        closed += [Path("/home"), Path("/Users"), Path("/tmp")]  # noqa: S108
    kept = []
    for folder in map(Path, given.get("PATH", "").split(os.pathsep)):
        places = (folder, Path(os.path.realpath(folder)))
        if folder.is_absolute() and not any(p.is_relative_to(c) for p in places for c in closed):
            kept.append(str(folder))
    return os.pathsep.join(kept) or USUAL_PATH
