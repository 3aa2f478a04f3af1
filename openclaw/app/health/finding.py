"""What a check finds, and where copies go before anything is repaired."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Literal

from openclaw.errors import OpenclawError
from openclaw.files.beneath import checked, make_folder
from openclaw.files.home import Home
from openclaw.files.text import unwritable

State = Literal["ok", "warning", "fault"]
PLACE = "kept"


@dataclass(slots=True)
class Kept:
    """Copies of what is about to be repaired: .openclaw/kept/<time>/<path>, made when the first one
    is. They may be deleted at any time."""

    home: Home
    now: Callable[[], datetime] = lambda: datetime.now().astimezone()
    _folder: Path | None = field(default=None)

    @property
    def where(self) -> str:
        """The folder relative to the home, "" as long as nothing was kept."""
        return self.home.relative(self._folder) if self._folder else ""

    def copy(self, path: Path) -> Path:
        """Keep a file, link or whole folder of the home as it is; returns where. OpenclawError when
        that cannot be done: then nothing may be repaired."""
        try:
            target = self._free(Path(place_in(self.home, path)))
            make_folder(target.parent)
            checked(path.parent)
            if path.is_dir() and not path.is_symlink():
                shutil.copytree(path, target, symlinks=True)
            else:
                shutil.copy2(path, target, follow_symlinks=False)
        except (OSError, shutil.Error) as error:
            raise unwritable(self.home.private / PLACE, error) from error
        return target

    def move(self, path: Path) -> None:
        """Keep a file or folder and take it out of its place."""
        self.copy(path)
        try:
            checked(path.parent)
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        except OSError as error:
            raise unwritable(path, error) from error

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
    """A path of the home as it is shown and kept; of a repository elsewhere (the home is a linked
    worktree) its last parts."""
    try:
        return home.relative(path)
    except ValueError:
        return "/".join(("elsewhere", *path.parts[-3:]))


Repair = Callable[[Kept], str]
"""Repairs one finding after it kept a copy; returns what it did. OpenclawError when it cannot."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be. `fix` says what `doctor --fix` does about it, "" for
    nothing; `advice` what the user can do. `exit_code` is for a fault."""

    found: str
    state: State = "warning"
    advice: str = ""
    fix: str = ""
    repair: Repair | None = None
    exit_code: int = 0


class NotRepaired(OpenclawError):
    """What was found is still so: it is in use, or was changed by another program meanwhile."""
