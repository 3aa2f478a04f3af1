"""Keeps what is too long for a result, for the agent to read on in."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from pathlib import Path

from openclaw.files.text import write_text

MOST_SPILLED = 20
"""Files; older ones go."""


def spill(folder: Path, text: str) -> Path:
    """Keep the whole of a text in a file of the given folder, readable by the user only."""
    path = folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}.txt"
    write_text(path, text)
    if os.name != "nt":
        path.chmod(0o600)
    for old in sorted(folder.glob("*.txt"))[:-MOST_SPILLED]:
        with contextlib.suppress(OSError):
            old.unlink()
    return path
