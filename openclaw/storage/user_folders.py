"""The folders of the system in which programs keep what belongs to the user and to no home."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def data_folder() -> Path:
    """Where this program keeps data of the user's."""
    return _xdg("XDG_DATA_HOME", ".local/share") or _platform("data")


def cache_folder() -> Path:
    """Where this program keeps what can be made again."""
    return _xdg("XDG_CACHE_HOME", ".cache") or _platform("cache")


def _xdg(variable: str, below_home: str) -> Path | None:
    """As platformdirs has it on Linux; its import takes 7 ms of each command. A relative path does
    not count, as in the standard: it would lead into whatever folder the command is run in."""
    system: str = sys.platform
    if system != "linux":
        return None
    named = os.environ.get(variable, "").strip()
    return (Path(named) if Path(named).is_absolute() else Path.home() / below_home) / "openclaw"


def _platform(kind: str) -> Path:
    import platformdirs

    path: Path = getattr(platformdirs, f"user_{kind}_path")("openclaw", appauthor=False)
    return path
