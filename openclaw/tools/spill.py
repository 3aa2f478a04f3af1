"""Keeps what is too long for a result, for the agent to read on in."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from openclaw.files.beneath import checked, remove
from openclaw.files.text import write_text

MOST_SPILLED = 20
"""Files; older ones go."""


def spill(folder: Path, text: str) -> Path:
    """Keep the whole of a text in a file of the given folder, readable by the user only. The same
    text has the same file, so that a request which names it is the same again."""
    path = folder / f"{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:16]}.txt"
    if not write_text(path, text):
        with contextlib.suppress(OSError):
            os.utime(checked(path))
    if os.name != "nt":
        checked(path).chmod(0o600)
    for old in sorted(folder.glob("*.txt"), key=_age)[:-MOST_SPILLED]:
        with contextlib.suppress(OSError):
            remove(old)
    return path


def _age(path: Path) -> tuple[int, str]:
    """What puts the oldest first; a file that is just gone too."""
    try:
        return path.stat().st_mtime_ns, path.name
    except OSError:
        return 0, path.name
