"""Saves a text that others may have changed meanwhile: both are merged, or none is written."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from openclaw.errors import OpenclawError
from openclaw.frozen import frozen
from openclaw.storage import atomic
from openclaw.storage.merge import Merged, merge_bytes
from openclaw.storage.safe_open import target_of
from openclaw.storage.text import report_unwritable, write_kept
from openclaw.types import BeforeWrite, record_no_write

ATTEMPTS = 50


@frozen
class Saved:
    """The result of a save.

    before: the bytes that it replaced, None for no file
    after: the bytes that the file now holds
    merged: True when both hold somebody else's changes since `base`
    """

    before: bytes | None
    after: bytes
    merged: bool = False


class SaveConflict(OpenclawError):
    """Somebody else changed the same lines, and nothing was written. `merged` has the conflicts, in
    which ours is what stands there now; None when the file is gone or is no text."""

    def __init__(self, path: Path, merged: Merged | None) -> None:
        super().__init__(
            f"{path} was changed meanwhile{' in the same lines' if merged else ''}",
            "look at it and try again",
        )
        self.merged = merged


def save_over(
    path: Path, base: bytes | None, new: bytes, keep: BeforeWrite = record_no_write
) -> Saved:
    """Put `new` into the file, which held `base` (None: there was no file) when it was read. `keep`
    is told before it is written.

    Raises SaveConflict when the file was changed since so that the two cannot be merged,
    OpenclawError when it cannot be written.
    """
    target = target_of(path)
    with report_unwritable(path):
        for _ in range(ATTEMPTS):
            now = atomic.current(target)
            if now != base:
                now = atomic.read_settled(target)
            data = new if now == base else _merge_with(path, base, now, new)
            if now == data:
                return Saved(now, data, now not in (base, new))
            if write_kept(keep, target, now, data, partial(atomic.swap, target, now, data)):
                return Saved(now, data, now not in (base, new))
    raise OpenclawError(
        f"cannot write {path}: another program writes it all the time",
        "let that program finish, then try again",
    )


def _merge_with(path: Path, base: bytes | None, now: bytes | None, new: bytes) -> bytes:
    if now == new:
        return new
    if now is None:
        raise SaveConflict(path, None)
    try:
        data, merged = merge_bytes(base or b"", now, new, touching=True)
    except ValueError:
        raise SaveConflict(path, None) from None
    if merged.conflicts:
        raise SaveConflict(path, merged)
    return data
