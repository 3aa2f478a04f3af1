"""Prepares changes in hidden folders among the skills, and clears those of a killed process."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from openclaw.skills.unpack import make_folder
from openclaw.storage.home import Home
from openclaw.storage.lock import hold_lock
from openclaw.storage.safe_open import check_no_links, read_content
from openclaw.storage.text import report_unwritable
from openclaw.types import FileContent, Recorder

PREFIX = ".staging-"


@contextmanager
def staging(home: Home) -> Iterator[Path]:
    """A hidden folder beside the skills, gone after the with-block; one process at a time.

    What it holds below old/ goes back to its place when this process dies before the end.
    """
    made = not home.skills.exists()
    with hold_lock(home.private / "locks" / "skills.lock", what="the skills folder"):
        with report_unwritable(home.skills):
            check_no_links(home.skills)
        for left in sorted(home.skills.glob(f"{PREFIX}*")):
            _restore(home.skills, left / "old")
            with suppress(OSError):
                if left.is_symlink() or not left.is_dir():
                    left.unlink()
                else:
                    shutil.rmtree(left, ignore_errors=True)
        try:
            with report_unwritable(home.skills):
                make_folder(home.skills)
                temporary = TemporaryDirectory(
                    prefix=PREFIX, dir=home.skills, ignore_cleanup_errors=True
                )
            with temporary as folder:
                yield Path(folder)
        finally:
            if made:
                with suppress(OSError):
                    home.skills.rmdir()


def _restore(skills: Path, old: Path) -> None:
    """Give a skill back that was taken away for a new one, which never came."""
    with suppress(OSError):
        for folder in [] if old.parent.is_symlink() else sorted(old.iterdir()):
            if not os.path.lexists(skills / folder.name):
                folder.rename(skills / folder.name)


@contextmanager
def recording_change(
    home: Home, record: Recorder, place: Path, *, old: Path | None = None, new: Path | None = None
) -> Iterator[None]:
    """Record that the folder `place` of the home will hold the files of `new` instead of `old`
    (None: no files). When the block raises, nothing has happened."""
    before, after = _read_contents(old), _read_contents(new)
    top = home.relative(place)
    void = record.altered(
        [f"{top}/{name}" for name in sorted({*before, *after})],
        lambda path: before.get(path.removeprefix(f"{top}/")),
        lambda path: after.get(path.removeprefix(f"{top}/")),
    )
    try:
        yield
    except BaseException:
        for name in {*before, *after}:
            void(f"{top}/{name}")
        raise


def _read_contents(folder: Path | None) -> dict[str, FileContent]:
    """Read the files of a folder by their paths in it; links are left out."""
    found: dict[str, FileContent] = {}
    for top, _, names in os.walk(folder) if folder else ():
        for name in names:
            path = Path(top, name)
            if path.is_file() and not path.is_symlink():
                relative = path.relative_to(folder or top).as_posix()
                found[relative] = read_content(Path(os.path.realpath(folder or top)), relative)
    return found
