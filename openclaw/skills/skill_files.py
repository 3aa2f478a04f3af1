"""Finding the SKILL.md files of a folder, without following a link and without an end to fear."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from openclaw.skills.frontmatter import SkillError, SkillProblem, warning
from openclaw.storage.safe_open import (
    BOM,
    check_no_links,
    decode,
    is_symlink_or_junction,
    open_file,
)

FILE = "SKILL.md"
MAX_DEPTH = 6
MAX_FOLDERS = 100_000
SKIPPED = frozenset({"node_modules", "__pycache__", "venv"})
_GONE = (errno.ENOENT, errno.ESTALE)


def skill_files(root: Path) -> list[tuple[str, SkillError | None]]:
    """The path of every SKILL.md below a folder, in the order of their bytes.

    With an error it is none that can be read: a folder that is a link, or one that cannot be
    opened, each under the path that its SKILL.md would have. A folder with a SKILL.md is a skill
    and is not looked into further; the root itself is, so that one stray file there hides nothing.
    A missing root holds none.
    """
    found = _walk(os.fspath(root))
    return sorted(found, key=lambda each: os.fsencode(each[0].replace(os.sep, "/")))


def skill_file(path: Path) -> Path | None:
    """The SKILL.md that a path means: itself, or in that folder, in whatever spelling."""
    if not path.is_dir() or (path.is_symlink() and path.name == FILE):
        return path if os.path.lexists(path) else None
    try:
        names = [name for name in os.listdir(path) if name.lower() == FILE.lower()]  # noqa: PTH208
    except OSError:
        return path / FILE
    if names:
        return path / min(names, key=lambda name: name != FILE)
    return path if path.name == FILE else None


def _walk(root: str) -> Iterator[tuple[str, SkillError | None]]:
    waiting = [(root, 0)]
    visited = 0
    while waiting:
        folder, depth = waiting.pop()
        visited += 1
        if visited > MAX_FOLDERS:
            text = f"more than {MAX_FOLDERS:,} folders; the others were not looked at"
            yield _skill_path(root), SkillError("unreadable", text)
            return
        try:
            with os.scandir(folder) as entries:
                names = list(entries)
        except OSError as error:
            if error.errno not in _GONE:
                text = f"the folder cannot be opened: {error.strerror}"
                yield _skill_path(folder), SkillError("unreadable", text)
            continue
        found = [entry for entry in names if entry.name.lower() == FILE.lower()]
        if found:
            yield min(found, key=lambda entry: entry.name != FILE).path, None
        if depth < MAX_DEPTH and (depth == 0 or not found):
            seen = (each for each in names if not each.name.startswith("."))
            below = [each for each in seen if each.name not in SKIPPED and _is_folder(each)]
            for entry, is_link in zip(below, map(is_symlink_or_junction, below), strict=True):
                if is_link:
                    text = "its folder is a link and is not followed"
                    yield _skill_path(entry.path), SkillError("symlink-escape", text)
                else:
                    waiting.append((entry.path, depth + 1))


def _skill_path(folder: str) -> str:
    return os.path.join(folder, FILE)  # noqa: PTH118 - ten times as quick as a Path


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


MAX_BYTES = 1024 * 1024
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a pipe put in its place meanwhile does not hold us
)


def read_source(path: Path) -> tuple[str, list[SkillProblem]]:
    """Read a SKILL.md; return its text with plain newlines, and what was odd about the file. Raises
    SkillError when it is not read."""
    notes = []
    if path.name != "SKILL.md":
        notes.append(warning("filename-case", f"the file is called {path.name}, not SKILL.md"))
    text, clean = read_skill_text(path, MAX_BYTES)
    if not clean:
        notes.append(warning("encoding", "some bytes are not UTF-8 and were replaced"))
    return text, notes


def read_skill_text(path: Path, most: int) -> tuple[str, bool]:
    """Read a text file of a skill; return it with plain newlines, and whether every byte of it was
    UTF-8.

    Raises SkillError when it is not read: a link out of its folder, no regular file, larger than
    `most` bytes, no text, or refused by the operating system.
    """
    try:
        info = path.lstat()
        target = path
        if stat.S_ISLNK(info.st_mode):
            check_no_links(path.parent)
            target = _target_inside(path)
            info = target.lstat()
        _check_regular(info)
        with os.fdopen(open_file(target, _FLAGS), "rb") as file:
            _check_regular(os.fstat(file.fileno()))
            data = file.read(most + 1)
    except OSError as error:
        raise SkillError("unreadable", f"cannot be read: {error.strerror or error}") from error
    if len(data) > most:
        raise SkillError("file-too-large", f"the file is larger than {most // 1024} KiB")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SkillError("encoding", "the file is UTF-16, not UTF-8")
    if b"\0" in data:
        raise SkillError("encoding", "the file holds NUL bytes; it is no UTF-8 text")
    try:
        text, clean = data.removeprefix(BOM).decode(), True
    except UnicodeDecodeError:
        text, clean = decode(data), False
    return text.replace("\r\n", "\n").replace("\r", "\n"), clean


def _target_inside(path: Path) -> Path:
    """Where a link leads, if that is in its own folder."""
    target = Path(os.path.realpath(path))
    if not target.is_relative_to(os.path.realpath(path.parent)):
        raise SkillError("symlink-escape", "it is a link out of its folder and is not followed")
    return target


def _check_regular(info: os.stat_result) -> None:
    if not stat.S_ISREG(info.st_mode):
        raise SkillError("not-a-file", "it is not a regular file")
