"""The findings of checks, the view of the home that checks read, and the copies made before a
repair.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import count, islice
from pathlib import Path
from typing import Literal

from openclaw.errors import OpenclawError
from openclaw.frozen import frozen
from openclaw.storage.home import MARKS, Home
from openclaw.storage.safe_open import (
    bytes_or_none,
    check_no_links,
    is_folder,
    is_ordinary,
    make_folder,
)
from openclaw.storage.text import report_unwritable, write_if_same
from openclaw.types import local_time

State = Literal["ok", "warning", "fault"]
PLACE = "kept"


@dataclass(slots=True)
class RepairCopies:
    """Copies of files that are about to be repaired: .openclaw/kept/<time>/<path>.

    The folder is made with the first copy. The copies may be deleted at any time.
    """

    home: Home
    now: Callable[[], datetime] = local_time
    _folder: Path | None = field(default=None)

    @property
    def where(self) -> str:
        """Return the folder relative to the home, "" as long as it has no copy."""
        return self.home.relative(self._folder) if self._folder else ""

    def copy(self, path: Path) -> Path:
        """Copy a file, link or whole folder of the home as it is; return where the copy is.

        OpenclawError when that cannot be done: then nothing may be repaired.
        """
        with report_unwritable(self.home.private / PLACE):
            target = self._free(Path(place_in(self.home, path)))
            make_folder(target.parent)
            check_no_links(path.parent)
            if path.is_dir() and not path.is_symlink():
                shutil.copytree(path, target, symlinks=True)
            else:
                shutil.copy2(path, target, follow_symlinks=False)
        return target

    def move(self, path: Path) -> None:
        """Copy a file or folder and remove the original."""
        self.copy(path)
        with report_unwritable(path):
            check_no_links(path.parent)
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()

    def replace(self, path: Path, before: bytes | None, data: bytes) -> None:
        """Copy a file (`before` None: there is none) and write it anew. OpenclawError when it does
        not hold `before` any more."""
        if before is not None:
            self.copy(path)
        if not write_if_same(path, before, data):
            raise OpenclawError(f"another program is changing {path.name}")

    def _free(self, relative: Path) -> Path:
        if self._folder is None:
            name = f"{self.now():%Y%m%d-%H%M%S}"
            names = (f"{name}-{number}" if number else name for number in count())
            place = self.home.private / PLACE
            self._folder = next(place / name for name in names if not (place / name).exists())
            make_folder(self._folder, 0o700)
        target = self._folder / relative
        numbered = (target.with_name(f"{target.name}-{n}") if n else target for n in count())
        return next(path for path in numbered if not os.path.lexists(path))


def place_in(home: Home, path: Path) -> str:
    """Return a path of the home as it is shown and copied; of a path in a repository elsewhere (the
    home is a linked worktree) its last parts.
    """
    try:
        return home.relative(path)
    except ValueError:
        return "/".join(("elsewhere", *path.parts[-3:]))


Repair = Callable[[RepairCopies], str]
"""Repairs one finding after it kept a copy; returns what it did. OpenclawError when it cannot."""


@frozen
class Finding:
    """One thing that is not as it should be. `fix` says what `doctor --fix` does about it, "" for
    nothing; `advice` what the user can do. `exit_code` is for a fault."""

    found: str
    state: State = "warning"
    advice: str = ""
    fix: str = ""
    repair: Repair | None = None
    exit_code: int = 0


TEXTS = (".md", ".json", ".yaml", ".yml")
LARGEST = 5_000_000
"""Bytes of the largest file whose text is looked at."""
MAX_FILES = 50_000
PASSED_OVER = frozenset({"node_modules", "__pycache__", "venv", ".venv", ".git"})
PLACES = (*MARKS, ".agents", ".gitignore", ".gitattributes")


@frozen
class HomeFile:
    """A file or folder of the home: its path relative to it, with slashes, and its status."""

    path: str
    status: os.stat_result
    is_folder: bool = False

    @property
    def is_text(self) -> bool:
        return not self.is_folder and self.path.lower().endswith(TEXTS)


@dataclass
class View:
    """The files of the places that make a home, without links, the user's own repositories in them
    and what programs install. They are read once.

    `now`: seconds since the epoch.
    `deep`: slow checks may run.
    """

    home: Home
    deep: bool = False
    now: float = field(default_factory=time.time)

    @cached_property
    def seen(self) -> list[HomeFile]:
        return list(islice(self._walk(), MAX_FILES))

    @cached_property
    def texts(self) -> list[tuple[HomeFile, bytes]]:
        """The Markdown, JSON and YAML files that can be read, with their bytes."""
        small = [each for each in self.seen if each.is_text and each.status.st_size <= LARGEST]
        read = ((each, bytes_or_none(self.path(each))) for each in small)
        return [(each, data) for each, data in read if data is not None]

    def path(self, seen: HomeFile) -> Path:
        return self.home.root / seen.path

    def _walk(self) -> Iterator[HomeFile]:
        for name in PLACES:
            path = self.home.root / name
            if is_folder(path):
                yield from self._folder(str(path), name)
            elif is_ordinary(path):
                with suppress(OSError):
                    yield HomeFile(name, path.stat())
        yield from self._loose()

    def _loose(self) -> Iterator[HomeFile]:
        """Yield leftovers of a killed process beside the settings and in the private folder."""
        for folder in (self.home.root, self.home.private):
            for entry in _entries(str(folder)):
                if not entry.name.endswith(".tmp"):
                    continue
                with suppress(OSError):
                    if entry.is_file(follow_symlinks=False):
                        yield HomeFile(self.home.relative(Path(entry.path)), entry.stat())
        for name in ("history", "index", "cache", "logs"):
            if is_folder(self.home.private / name):
                for seen in self._folder(str(self.home.private / name), f".openclaw/{name}"):
                    if seen.path.endswith(".tmp"):
                        yield seen

    def _folder(self, folder: str, prefix: str) -> Iterator[HomeFile]:
        try:
            yield HomeFile(prefix, Path(folder).stat(), is_folder=True)
        except OSError:
            return
        for entry in _entries(folder):
            path = f"{prefix}/{entry.name}"
            try:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in PASSED_OVER and not os.path.lexists(f"{entry.path}/.git"):
                        yield from self._folder(entry.path, path)
                elif entry.is_file(follow_symlinks=False):
                    yield HomeFile(path, entry.stat(follow_symlinks=False))
            except OSError:
                continue


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []
