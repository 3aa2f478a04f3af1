"""The findings of checks, the view of the home that checks read, and the copies made before a
repair."""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
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
    folder: Path = field(init=False)
    used: bool = False

    def __post_init__(self) -> None:
        self.folder = self.home.private / PLACE / f"{local_time():%Y%m%d-%H%M%S}"

    def copy(self, path: Path) -> Path:
        """Copy a file, link or whole folder of the home as it is; return where the copy is.

        OpenclawError when that cannot be done: then nothing may be repaired.
        """
        with report_unwritable(self.home.private / PLACE):
            make_folder(self.folder, 0o700)
            self.used = True
            wanted = self.folder / place_in(self.home, path)
            names = (f"{wanted.name}-{number}" if number else wanted.name for number in count())
            places = map(wanted.with_name, names)
            target = next(place for place in places if not os.path.lexists(place))
            make_folder(target.parent)
            check_no_links(path.parent)
            if path.is_dir() and not path.is_symlink():
                shutil.copytree(path, target, symlinks=True)
            else:
                shutil.copy2(path, target, follow_symlinks=False)
        return target

    def remove(self, *paths: Path) -> None:
        """Copy the files and folders that are there, and remove them."""
        for path in filter(os.path.lexists, paths):
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


def place_in(home: Home, path: Path) -> str:
    """Return a path of the home as it is shown and copied; of a path in a repository elsewhere (the
    home is a linked worktree) its last parts."""
    try:
        return home.relative(path)
    except ValueError:
        return "/".join(("elsewhere", *path.parts[-3:]))


Repair = Callable[[RepairCopies], str]
"""Repairs one finding after it kept a copy; returns what it did. OpenclawError when it cannot."""


@frozen
class Finding:
    """One thing that is not as it should be, or a fact without `advice` and `fix`. `fix` says what
    `doctor --fix` does about it, "" for nothing; `advice` what the user can do. A fault has an
    `exit_code`."""

    found: str
    advice: str = ""
    fix: str = ""
    repair: Repair | None = None
    exit_code: int = 0

    @property
    def state(self) -> State:
        if self.exit_code:
            return "fault"
        return "warning" if self.advice or self.fix else "ok"


@frozen
class Check:
    """The result of a named check: `found` in one line and `advice` on what to do. `fixed` says
    what was repaired; the state is "ok" then."""

    name: str
    state: State
    found: str = ""
    advice: str = ""
    exit_code: int = 0
    fixed: str = ""


TEXTS = (".md", ".json", ".yaml", ".yml")
LARGEST = 5_000_000  # bytes of the largest file whose text is looked at
MAX_FILES = 50_000
PASSED_OVER = frozenset({"node_modules", "__pycache__", "venv", ".venv", ".git"})
PLACES = (*MARKS, ".agents", ".gitignore", ".gitattributes")


@frozen
class HomeFile:
    """A file or folder of the home: its path relative to it, with slashes, and its status."""

    path: str
    status: os.stat_result
    is_folder: bool = False


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
        texts = [
            each
            for each in self.seen
            if not each.is_folder
            if each.path.lower().endswith(TEXTS) and each.status.st_size <= LARGEST
        ]
        read = ((each, bytes_or_none(self.path(each))) for each in texts)
        return [(each, data) for each, data in read if data is not None]

    def path(self, seen: HomeFile) -> Path:
        return self.home.root / seen.path

    def _walk(self) -> Iterator[HomeFile]:
        root, private = self.home.root, self.home.private
        for name in PLACES:
            if is_folder(root / name):
                yield from self._folder(root / name)
            elif is_ordinary(root / name):
                yield from self._status(root / name)
        # What a killed process left beside the settings and in the private folder.
        left = [*root.glob("*.tmp"), *private.glob("*.tmp")]
        for name in ("history", "index", "cache", "logs"):
            left += (private / name).rglob("*.tmp")
        for path in filter(is_ordinary, left):
            yield from self._status(path)

    def _folder(self, folder: Path) -> Iterator[HomeFile]:
        yield from self._status(folder)
        for top, folders, names in os.walk(folder):
            folders[:] = sorted(
                name
                for name in folders
                if name not in PASSED_OVER and not os.path.lexists(f"{top}/{name}/.git")
            )
            for name in (*sorted(names), *folders):
                yield from self._status(Path(top, name))

    def _status(self, path: Path) -> Iterator[HomeFile]:
        """Yield the path unless it is a link, or neither file nor folder."""
        with suppress(OSError):
            status = path.stat() if path.parent == self.home.root else path.lstat()
            is_dir = stat.S_ISDIR(status.st_mode)
            if is_dir or stat.S_ISREG(status.st_mode):
                yield HomeFile(self.home.relative(path), status, is_dir)
