"""Folders of the program outside of any home, and how it runs its modules in a child process."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import openclaw

RUN_VARIABLE = "OPENCLAW_RUN"  # the environment variable of a command that a tool started
HOOK_VARIABLE = "OPENCLAW_HOOK"  # the environment variable of a hook; its value is the event
# `sys` is part of the interpreter, so nothing is looked for before the folders are set.
_RUN = """\
import sys
count = int(sys.argv[1])
sys.path[:] = sys.argv[2 : count + 2]
del sys.argv[: count + 2]
import gc, runpy
gc.set_threshold(100_000, 20, 20)  # as in `openclaw.__main__`
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


def python_command(module: str, *words: str) -> list[str]:
    """The command that runs a module as a program. It looks for modules where we do, nowhere else:
    neither in the folder it is started in, which is a home more often than not, nor in those that
    PYTHONPATH names for us and not for it."""
    top = str(Path(openclaw.__file__).resolve().parent.parent)
    folders = list(dict.fromkeys([*filter(os.path.isabs, sys.path), top]))
    return [sys.executable, "-I", "-c", _RUN, str(len(folders)), *folders, module, *words]


def is_started_by_agent() -> bool:
    """Return True when a tool or a hook of ours started this process."""
    return bool(os.environ.get(RUN_VARIABLE) or os.environ.get(HOOK_VARIABLE))


def data_folder() -> Path:
    """The folder of this program's user data."""
    return _user_folder("data", "XDG_DATA_HOME", ".local/share")


def cache_folder() -> Path:
    """The folder of data that this program can make again."""
    return _user_folder("cache", "XDG_CACHE_HOME", ".cache")


def _user_folder(kind: str, variable: str, below_home: str) -> Path:
    """On Linux as platformdirs has it, whose import takes 7 ms of each command. A relative path
    does not count, as in the standard: it would lead into whatever folder the command is run in."""
    system: str = sys.platform
    if system == "linux":
        named = os.environ.get(variable, "").strip()
        return (Path(named) if Path(named).is_absolute() else Path.home() / below_home) / "openclaw"
    import platformdirs

    path: Path = getattr(platformdirs, f"user_{kind}_path")("openclaw", appauthor=False)
    return path


def expand_tilde(path: str | Path) -> Path:
    """The path with ~ as this user's own folder. ~name stays as it is for an unknown user."""
    return Path(os.path.expanduser(path))  # noqa: PTH111  that of pathlib raises for such a user


def models_folder() -> Path:
    """OPENCLAW_MODELS, else a folder in this user's data folder. It may not exist yet."""
    if named := os.environ.get("OPENCLAW_MODELS"):
        return expand_tilde(named)
    return data_folder() / "models"


def profiles_folder() -> Path:
    """The folder of profiles (`openclaw.models.profile`). It may not exist yet."""
    return models_folder() / "profiles"
