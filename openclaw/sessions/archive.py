"""The archive of compacted messages: sessions/archive/<session id>/0001.json, 0002.json ...

Each part is a session document with the messages and with the summary and the shortening that the
session had before, so that the compaction can be undone. The session's file lists its parts. A part
that is not listed was left by a process that died between the two writes; the session then still
has its messages.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from openclaw.errors import Damaged, OpenclawError
from openclaw.frozen import frozen
from openclaw.messages import Entry
from openclaw.sessions.session import (
    PART_FILE,
    ArchivePart,
    Session,
    SessionState,
    count_turns,
    from_json,
    to_json,
)
from openclaw.storage.safe_open import BOM, check_no_links, is_symlink_or_junction, read_bytes
from openclaw.storage.text import remove_file, report_unwritable, write_if_same, write_text
from openclaw.types import BeforeWrite, record_no_write

FOLDER = "archive"
UNFINISHED = re.compile(r"\.openclaw-[0-9a-f]+\.tmp")
"""Temporary files that a killed process left (openclaw.storage.text)."""


@lru_cache(maxsize=256)
def _read(path: Path, stamp: tuple[int, ...]) -> Session:
    """Read a part. The result is cached by the file's stamp, as a conversation reads its archive
    again and again; callers must not change it."""
    return from_json(read_bytes(path).removeprefix(BOM).decode("utf-8"), path.stem)


@frozen
class Archive:
    """The archive of one session. `folder` exists once something was compacted. `keep` is called
    with each file before it is written or removed."""

    folder: Path
    keep: BeforeWrite = record_no_write

    def put(self, session: Session, upto: int, at: str) -> ArchivePart:
        """Write the first `upto` messages as a new part; it is on the disk when this returns.
        OpenclawError when it cannot be written."""
        messages, first = session.messages[:upto], session.archived + 1
        number = self._number(session)
        state = SessionState(part=number, first=first, shortened=session.state.shortened)
        document = replace(session, messages=messages, extra=state.as_json())
        write_text(self._path(number), to_json(document), self.keep)
        return ArchivePart(_part_name(number), len(messages), count_turns(messages), at, first)

    def read(self, part: ArchivePart) -> Session:
        """Read a part as a session. Damaged when it is missing or no session; it stays in its
        place."""
        path = self.folder / part.file
        try:
            stat = path.stat()
            return _read(path, (stat.st_mtime_ns, stat.st_size, stat.st_ino))
        except OSError as error:
            reason = error.strerror or str(error)
        except ValueError as error:
            reason = str(error)
        what = f"messages {part.first} to {part.last} of conversation {self.folder.name}"
        raise Damaged(f"{what} cannot be read ({reason})", f"repair or restore {path}")

    def drop(self, part: ArchivePart) -> None:
        """Remove a part that the session's file no longer lists. One that cannot be removed does
        no harm."""
        with contextlib.suppress(OpenclawError, OSError):
            remove_file(self.folder / part.file, self.keep)
            self.folder.rmdir()

    def missing(self, parts: Iterable[ArchivePart]) -> list[ArchivePart]:
        """Return those of the parts that have no file."""
        return [part for part in parts if is_missing(self.folder / part.file)]

    def clear(self) -> str:
        """Remove the whole archive; returns a text about foreign files that were left, "" for none.
        A link in its place is removed and not followed. OpenclawError when this fails."""
        if is_symlink_or_junction(self.folder):
            check_no_links(self.folder.parent)
            behind = os.path.realpath(self.folder)
            remove_file(self.folder)
            return f"{self.folder} was a link; what it led to was left: {behind}"
        if is_missing(self.folder):
            return ""
        with report_unwritable(self.folder):
            check_no_links(self.folder)
            if not self.folder.is_dir():
                return f"{self.folder} was left: it is no folder"
            for path in filter(_is_ours, list(self.folder.iterdir())):
                remove_file(path, self.keep)
            if any(self.folder.iterdir()):
                return f"{self.folder} was left: it holds what is no part of an archive"
            self.folder.rmdir()
        return ""

    def _number(self, session: Session) -> int:
        """Return the number of the next part. An unlisted file is overwritten only when the session
        still has all its messages."""
        number = 1 + max((int(Path(part.file).stem) for part in session.parts), default=0)
        while self._path(number).exists() and not self._is_left_over(number, session):
            number += 1
        return number

    def _is_left_over(self, number: int, session: Session) -> bool:
        try:
            held = self.read(ArchivePart(_part_name(number), 0, 0, "", 1)).messages
        except Damaged:
            return False
        return _text(held) == _text(session.messages[: len(held)])

    def _path(self, number: int) -> Path:
        return self.folder / _part_name(number)


def is_missing(path: Path) -> bool:
    """Return True when there is no such file. A file without access is not missing."""
    try:
        path.stat()
    except OSError as error:
        return isinstance(error, FileNotFoundError | NotADirectoryError)
    return False


def copy(source: Path, target: Path, keep: BeforeWrite = record_no_write) -> bool:
    """Copy a file in one step, after calling `keep`; False when there is no such file."""
    try:
        data = read_bytes(source)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise Damaged(f"{source} cannot be read: {error.strerror}", "give access to it") from error
    write_if_same(target, None, data, keep)
    return True


def _is_ours(path: Path) -> bool:
    name = path.name
    named = PART_FILE.fullmatch(name) or UNFINISHED.fullmatch(name)
    return bool(named) and (path.is_symlink() or not path.is_dir())


def _part_name(number: int) -> str:
    return f"{number:04d}.json"


def _text(messages: list[Entry]) -> str:
    return to_json(Session("", messages=messages))


def name_parts(parts: Iterable[ArchivePart]) -> str:
    """Name the messages in parts of an archive, "" without parts."""
    return ", ".join(f"messages {part.first} to {part.last}" for part in parts)
