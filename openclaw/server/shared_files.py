"""The files of a home that other programs may read and write: workspace/, memory/ and skills/."""

from __future__ import annotations

from pathlib import Path

from openclaw.security.policy import plain_parts
from openclaw.server.wire import Problem
from openclaw.storage.home import Home
from openclaw.storage.safe_open import read_bytes
from openclaw.tools.paths import check_open
from openclaw.types import ToolProblem

FOLDERS = ("workspace", "memory", "skills")
LARGEST = 5_000_000
"""Bytes of a file that is shown."""


def find_file(home: Home, named: str) -> Path:
    """Return the file of that name, which need not exist. Raises OSError, and ToolProblem for one
    that is hidden, holds credentials or lies elsewhere."""
    file = home.inside(named)
    parts = plain_parts(home.relative(file))
    if parts[:1] not in [(folder,) for folder in FOLDERS] or len(parts) == 1:
        raise ToolProblem(f"name a file in {', '.join(f'{folder}/' for folder in FOLDERS)}")
    if any(part.startswith(".") for part in parts):
        raise ToolProblem("hidden files are not for this")
    return check_open(home, named, file)


def read_file(home: Home, named: str) -> tuple[str, bytes | None]:
    """Return path and bytes of a file, None when it does not exist. Problem for one that is not a
    text of these folders."""
    try:
        file = find_file(home, named)
        data = read_bytes(file, LARGEST)
    except FileNotFoundError:
        data = None
    except (ToolProblem, OSError) as error:
        raise Problem(403, f"{named} is closed: {error}") from error
    if data is not None and b"\0" in data:
        raise Problem(415, f"{named} is no text")
    return home.relative(file), data
