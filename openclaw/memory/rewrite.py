"""Reads a file of the stores and writes it back changed, all other bytes as they were.

Bytes that are no UTF-8 are carried through a change as lone surrogates; `tasklist.shown` makes
them harmless where a text leaves the store.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from openclaw.errors import OpenclawError
from openclaw.files.atomic import settled
from openclaw.files.text import BOM, check_not_utf_16, write_if_same
from openclaw.shapes import Keep, keep_nothing

ATTEMPTS = 50
LARGEST = 5_000_000
"""Bytes of the largest file that is taken apart line by line."""


def text_of(path: Path) -> str:
    """The file's text, "" for a missing one. A save in place that is under way is waited for."""
    return _decoded(settled(path, LARGEST))


def rewrite(path: Path, change: Callable[[str], str], keep: Keep = keep_nothing) -> str:
    """Replace the file's text by what `change` makes of it. A missing file is an empty one. `keep`
    is told before it is written. Returns the new text.

    Another program may write the file at any time: when it did so since it was read, `change` is
    called again with the new text. A save in place that is under way is waited for. Raises
    OpenclawError when the file cannot be written.
    """
    for _ in range(ATTEMPTS):
        before = settled(path, LARGEST)
        check_not_utf_16(before, path)
        text = change(_decoded(before))
        data = text.encode("utf-8", "surrogateescape")
        if before and before.startswith(BOM):
            data = BOM + data
        if data == (before or b"") or write_if_same(path, before, data, keep):
            return text
    raise OpenclawError(
        f"cannot write {path}: another program writes it all the time",
        "let that program finish, then try again",
    )


def _decoded(data: bytes | None) -> str:
    return (data or b"").removeprefix(BOM).decode("utf-8", "surrogateescape")
