"""Check of the places that the program reads: what is no ordinary file there is not read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from openclaw.app.given import SOURCES
from openclaw.app.health.finding import PLACE, Finding
from openclaw.app.health.view import View
from openclaw.files.beneath import NotOrdinary, checked
from openclaw.files.home import MARKS, Home

NAMED = (*MARKS, ".openclaw", ".gitignore", "workspace/HEARTBEAT.md", *SOURCES.values())
WHOLE = ("memory", "sessions", ".openclaw")
"""Folders of which every file is the program's to read."""
MOST = 20


def links(view: View) -> Iterator[Finding]:
    """Links, pipes and devices; of workspace/ only the files that the program reads by itself."""
    places = dict.fromkeys(map(view.home.root.joinpath, NAMED)) | dict.fromkeys(_odd(view.home))
    yield from islice((found for path in places for found in _looked_at(view.home, path)), MOST)


def _looked_at(home: Home, path: Path) -> Iterator[Finding]:
    try:
        checked(path)
    except NotOrdinary as error:
        if error.filename == str(path) and "its folder" not in str(error.strerror):
            advice = "put the file or folder itself there; a folder elsewhere may be named in links"
            yield Finding(f"{home.relative(path)} is not read: {error.strerror}", advice=advice)


def _odd(home: Home) -> Iterator[Path]:
    """What is neither file nor folder in the folders that are the program's."""
    waiting = [home.root / name for name in WHOLE]
    while waiting:
        folder = waiting.pop()
        try:
            checked(folder)
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if Path(entry.path) != home.private / PLACE:
                    waiting.append(Path(entry.path))
            elif not entry.is_file(follow_symlinks=False):
                yield Path(entry.path)
