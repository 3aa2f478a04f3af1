"""Opening a SKILL.md that somebody else wrote: regular text files of a sane size, no detours."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from openclaw.files.beneath import checked, open_file
from openclaw.files.text import BOM, decode
from openclaw.skills.problems import Note, SkillError, warning

MAX_BYTES = 1024 * 1024
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a pipe put in its place meanwhile does not hold us
)


def read_source(path: Path) -> tuple[str, list[Note]]:
    """The text of a SKILL.md with plain newlines, and what was odd about the file.

    Raises SkillError when it is not read: a link out of its folder, no regular file, larger than
    MAX_BYTES, not UTF-8 text, or refused by the operating system.
    """
    notes = []
    if path.name != "SKILL.md":
        notes.append(warning("filename-case", f"the file is called {path.name}, not SKILL.md"))
    text, clean = _text(_bytes(path))
    if not clean:
        notes.append(warning("encoding", "some bytes are not UTF-8 and were replaced"))
    return text, notes


def _bytes(path: Path) -> bytes:
    try:
        info = path.lstat()
        target = path
        if stat.S_ISLNK(info.st_mode):
            checked(path.parent)
            target = _inside(path)
            info = target.lstat()
        _check(info)
        with os.fdopen(open_file(target, _FLAGS), "rb") as file:
            _check(os.fstat(file.fileno()))
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise SkillError("unreadable", f"cannot be read: {error.strerror or error}") from error
    if len(data) > MAX_BYTES:
        raise _too_large()
    return data


def _inside(path: Path) -> Path:
    """Where a link leads, if that is in its own folder."""
    target = Path(os.path.realpath(path))
    if not target.is_relative_to(os.path.realpath(path.parent)):
        raise SkillError("symlink-escape", "it is a link out of its folder and is not followed")
    return target


def _check(info: os.stat_result) -> None:
    if not stat.S_ISREG(info.st_mode):
        raise SkillError("not-a-file", "it is not a regular file")
    if info.st_size > MAX_BYTES:
        raise _too_large()


def _too_large() -> SkillError:
    return SkillError("file-too-large", f"the file is larger than {MAX_BYTES // 1024} KiB")


def _text(data: bytes) -> tuple[str, bool]:
    """The text, and whether every byte of it was UTF-8."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SkillError("encoding", "the file is UTF-16, not UTF-8")
    if b"\0" in data:
        raise SkillError("encoding", "the file holds NUL bytes; it is no UTF-8 text")
    try:
        text, clean = data.removeprefix(BOM).decode(), True
    except UnicodeDecodeError:
        text, clean = decode(data), False
    return text.replace("\r\n", "\n").replace("\r", "\n"), clean
