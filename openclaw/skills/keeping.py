"""Tells the history of folders that are about to be moved into the skills, out of them or away."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from openclaw.files.home import Home
from openclaw.files.plain import held
from openclaw.shapes import Held, Recorder


@contextmanager
def altering(
    home: Home, record: Recorder, place: Path, *, old: Path | None = None, new: Path | None = None
) -> Iterator[None]:
    """The folder `place` of the home is about to hold what `new` does, instead of what `old` does;
    None for nothing. When this raises, nothing of it has happened."""
    before, after = _held(old), _held(new)
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


def _held(folder: Path | None) -> dict[str, Held]:
    """What the files of a folder hold, by their paths in it; links are left out."""
    found: dict[str, Held] = {}
    for top, _, names in os.walk(folder) if folder else ():
        for name in names:
            path = Path(top, name)
            if path.is_file() and not path.is_symlink():
                relative = path.relative_to(folder or top).as_posix()
                found[relative] = held(Path(os.path.realpath(folder or top)), relative)
    return found
