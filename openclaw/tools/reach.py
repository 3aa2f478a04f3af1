"""Says whether what a command line reads may be read unasked where no sandbox hides the rest."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from openclaw.files.home import Home, name_trouble
from openclaw.safety.denied import denied_name
from openclaw.tools.commandline import Reading, read_line
from openclaw.tools.credentials import Credentials
from openclaw.tools.paths import SPILL

MOST_FILES = 5_000


def objection(home: Home, reading: Reading, closed: Credentials) -> str:
    """Why the files that a line reads should not be read unasked, "" when they may be.

    Links count by their name and as what they lead to, and of a folder that is searched each file
    counts. A file name that a pattern finds may be an option, such as `--files0-from=.env`.
    """
    root = os.path.realpath(home.root)
    count = 0
    for name in islice(names(root, reading), MOST_FILES + 1):
        count += 1
        if why := _against(root, name, closed):
            return f"{name}: {why}"
    for name in islice(_expanded(root, reading), MOST_FILES):
        if any(part.startswith("-") for part in name.split("/")):
            return f"{name} may become an option"
    return "too many files to look at" if count > MOST_FILES else ""


def stays(home: Home, reading: Reading) -> bool:
    """Whether a line is known to do nothing but read the home, be it credentials; links count as
    what they lead to, and what is closed as foreign: pages and answers of servers are kept there.
    """
    if not reading.safe or reading.elsewhere:
        return False
    root = os.path.realpath(home.root)
    found = list(islice(names(root, reading), MOST_FILES + 1))
    return len(found) <= MOST_FILES and not any(_closed(root, name) for name in found)


def named(home: Home, line: str) -> list[str] | None:
    """The files and folders of the home that a command line names, folders with a slash behind
    them; also by a pattern, but not what else is in a folder. None for a line that is not
    understood."""
    root = os.path.realpath(home.root)
    reading = read_line(line, home=root)
    if not reading.safe:
        return None
    found = []
    for name in islice(_named(root, reading), MOST_FILES):
        real = Path(os.path.realpath(Path(root, name)))
        if real.is_relative_to(root):
            found.append(real.relative_to(root).as_posix() + "/" * real.is_dir())
    return found


def names(root: str, reading: Reading) -> Iterator[str]:
    """Everything that may be read, relative to the home or absolute."""
    yield from _named(root, reading)
    for tree in reading.trees:
        for top, folders, files in os.walk(Path(root, tree)):
            for name in (*folders, *files):
                path = Path(top, name)
                if not path.is_symlink():  # what searches a folder does not follow those in it
                    yield str(path)


def _named(root: str, reading: Reading) -> Iterator[str]:
    yield from (*reading.paths, *reading.trees)
    yield from _expanded(root, reading)


def _expanded(root: str, reading: Reading) -> Iterator[str]:
    """What the patterns of a line stand for."""
    for pattern in reading.patterns:
        # Not `Path.glob`, which takes no absolute pattern.
        yield from glob.iglob(pattern, root_dir=root, include_hidden=True, recursive=True)  # noqa: PTH207


def _against(root: str, name: str, closed: Credentials) -> str:
    real = os.path.realpath(Path(root, name))
    if why := _closed(root, name):
        return why
    if Path(real).is_relative_to(Path(root, SPILL)):
        return ""
    return denied_name(name) or denied_name(real) or closed.by_link(real)


def _closed(root: str, name: str) -> str:
    real = os.path.realpath(Path(root, name))
    if not Path(real).is_relative_to(root):
        return "it lies outside the home"
    inner = Path(real).relative_to(root)
    if inner.is_relative_to(SPILL):
        return ""
    trouble = (name_trouble(part, windows=False) for part in inner.parts)
    return next(filter(None, trouble), "")
