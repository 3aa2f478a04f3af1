"""Reads a file of the stores and writes it back changed, all other bytes as they were.

Bytes that are no UTF-8 are carried through a change as lone surrogates; `tasklist.shown` makes
them harmless where a text leaves the store.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from openclaw.errors import OpenclawError
from openclaw.files.text import BOM, write_if_same

ATTEMPTS = 50
_OTHER = (b"\xff\xfe", b"\xfe\xff")  # how UTF-16 begins


def text_of(path: Path) -> str:
    """The file's text, "" for a missing one."""
    return _decoded(_bytes_of(path))


def rewrite(path: Path, change: Callable[[str], str]) -> None:
    """Replace the file's text by what `change` makes of it. A missing file is an empty one.

    Another program may write the file at any time: when it did so since it was read, `change` is
    called again with the new text. Only a save within the microseconds between the last look and
    the swap could be lost. Raises OpenclawError when the file cannot be written.
    """
    for _ in range(ATTEMPTS):
        before = _bytes_of(path)
        _refuse_utf_16(before, path)
        text = change(_decoded(before))
        data = text.encode("utf-8", "surrogateescape")
        if before and before.startswith(BOM):
            data = BOM + data
        if data == (before or b"") or write_if_same(path, before, data):
            return
    raise OpenclawError(
        f"cannot write {path}: another program writes it all the time",
        "let that program finish, then try again",
    )


def _bytes_of(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _decoded(data: bytes | None) -> str:
    return (data or b"").removeprefix(BOM).decode("utf-8", "surrogateescape")


def _refuse_utf_16(data: bytes | None, path: Path) -> None:
    if data and data.startswith(_OTHER):
        raise OpenclawError(
            f"{path} is UTF-16, not UTF-8 text",
            f"convert it first, for example: iconv -f utf-16 -t utf-8 {path.name}",
        )
