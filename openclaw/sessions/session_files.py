"""The files of the sessions folder: finds, reads, writes and moves them."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import count
from pathlib import Path

from openclaw.errors import Damaged, OpenclawError, UsageError
from openclaw.sessions.archive import FOLDER, Archive, copy
from openclaw.sessions.session import (
    NOTED,
    OF_THE_REQUEST,
    SHORTENED,
    ArchivePart,
    Session,
    TooNew,
    from_json,
    is_version_1,
    to_json,
    unlist,
)
from openclaw.storage.home import name_trouble
from openclaw.storage.merge import SIGN, conflicts
from openclaw.storage.safe_open import BOM, check_no_links, md5, read_bytes, reading
from openclaw.storage.text import read_current, write_over
from openclaw.types import BeforeWrite, local_time, record_no_write, to_timestamp

LATEST = "latest"
SHORT_ID = 4
"""Random characters at the end of an id made by `new`; lists show these."""
LARGEST = 20_000_000
"""Bytes of the largest session that is read."""
SAFE_NAME = re.compile(r"[^\W_][\w-]{0,63}")


class SessionFolder:
    """The sessions folder of one home.

    `problems` names the files that the last list or search skipped. `keep` is called with each file
    before it is written or removed.
    """

    def __init__(
        self, folder: Path, locks: Path | None = None, now: Callable[[], datetime] = local_time
    ) -> None:
        self.folder = folder
        self.keep: BeforeWrite = record_no_write
        self.locks = locks or folder.parent / ".openclaw" / "locks"
        self.now = now
        self.problems: list[str] = []

    def new(self, name: str | None = None, model: str = "") -> Session:
        """Make an empty session, not yet on disk.

        Its id is `name` if that can be a file name. Else the id is made of the time and random
        characters, and `name` is the title. UsageError when the name is taken.
        """
        now = self.now()
        at = now.isoformat(timespec="milliseconds")
        made = (f"{now:%Y-%m-%d-%H%M%S}-{secrets.token_hex(2)}" for _ in count())
        session_id = next(each for each in made if not self._path(each).exists())
        title = ""
        if name is not None:
            name = name.strip()
            safe = SAFE_NAME.fullmatch(name) and not name_trouble(name, windows=True)
            session_id, title = (name, "") if safe and name != LATEST else (session_id, name)
            if not name or (safe and self._path(name).exists()):
                raise UsageError(
                    f"there is a session named '{name}'" if name else "a session needs a name",
                    "continue it with --session NAME, or choose another name",
                )
        return Session(session_id, title, created_at=at, updated_at=at, model=model)

    def _copy_archive(self, source: str, target: Session) -> list[ArchivePart]:
        """Copy the archive of a session for another one that lists the same parts. Missing parts
        are removed from its list and returned."""
        old, new = self._archive(source).folder, self._archive(target.id).folder
        lost = [p for p in target.parts if not copy(old / p.file, new / p.file, self.keep)]
        unlist(target, lost)
        return lost

    def _path(self, session_id: str) -> Path:
        if not session_id or session_id.startswith(".") or re.search(r"[/\\:\0]", session_id):
            raise UsageError(f"'{session_id}' cannot be a session's id", "openclaw sessions list")
        return self.folder / f"{session_id}.json"

    def _notes(self, session_id: str) -> Path:
        return notes_path(self._path(session_id).parent, session_id)

    def _archive(self, session_id: str) -> Archive:
        return Archive(self.folder / FOLDER / self._path(session_id).stem, self.keep)

    def _state_files(self, session_id: str) -> list[Path]:
        """Return the files of a model's saved states of the conversation."""
        folder = self.locks.parent / "cache" / "kv"
        name = f"s-{session_id}."
        with contextlib.suppress(OSError):
            return [path for path in folder.iterdir() if path.name.startswith(name)]
        return []

    def _files(self) -> Iterator[Path]:
        """Yield the files of sessions. A dot in the stem marks other files, such as those moved
        aside."""
        with contextlib.suppress(FileNotFoundError):
            for path in sorted(self.folder.iterdir()):
                if path.suffix == ".json" and "." not in path.stem and path.is_file():
                    yield path

    def _readable_sessions(self, but: str = "") -> Iterator[Session]:
        self.problems = []
        for path in self._files():
            if path.stem == but:
                continue
            try:
                yield self._read(path)
            except Damaged as error:
                self.problems.append(f"{error} ({error.hint})")

    def _read(self, path: Path) -> Session:
        try:
            data = read_bytes(path, LARGEST)
            session = from_json(data.removeprefix(BOM).decode("utf-8"), path.stem)
        except TooNew as error:
            raise Damaged(f"{path} cannot be used: {error}", "install a newer openclaw") from error
        except OSError as error:
            closed = isinstance(error, PermissionError)
            hint = "give this user access to it" if closed else "move it to another folder"
            raise Damaged(f"{path} cannot be read: {error.strerror}", hint) from error
        except ValueError as error:
            if SIGN in data and conflicts(data.decode("utf-8", "replace")):
                what = f"conversation {path.stem} holds both sides of a merge"
                raise Damaged(what, "join them: openclaw doctor --fix") from error
            raise self._move_aside(path, error) from error
        written = datetime.fromtimestamp(path.stat().st_mtime).astimezone()
        session.updated_at = session.updated_at or written.isoformat(timespec="milliseconds")
        session.created_at = session.created_at or session.updated_at
        session.stamp = md5(data)
        return session

    def _move_aside(self, path: Path, reason: Exception) -> Damaged:
        """Move a damaged file aside with its notes and its archive, so that a new session of that
        name has none of them. The error says how to get them back."""
        what = f"conversation {path.stem} is damaged ({reason})"
        name = f"{path.stem}.damaged-{self.now():%Y%m%d-%H%M%S}"
        names = (f"{name}-{number}" if number else name for number in count())
        free = next(name for name in names if not any(map(os.path.lexists, self._paths_of(name))))
        both = zip(self._paths_of(path.stem), self._paths_of(free), strict=True)
        moves = [(old, new) for old, new in both if os.path.lexists(old)]
        if not _move_all(moves):
            return Damaged(f"{what} and cannot be set aside", f"repair or remove {path}")
        *others, (_, aside) = moves
        likewise = " and ".join(new.relative_to(self.folder).as_posix() for _, new in others)
        return Damaged(
            f"{what}; its file was set aside",
            "put back what can be read: openclaw doctor --fix"
            f" (or repair {aside} and name it {path.name} again"
            + (f", likewise {likewise})" if likewise else ")"),
        )

    def files_of(self, session_id: str) -> list[Path]:
        """Return the files of a session, existing or not."""
        archive, notes, path = self._paths_of(session_id)
        with contextlib.suppress(OSError):
            return [path, notes, *sorted(p for p in archive.iterdir() if p.suffix == ".json")]
        return [path, notes]

    def _paths_of(self, session_id: str) -> tuple[Path, ...]:
        """Return the paths of a session's archive, notes and file."""
        path = self._path(session_id)
        return self.folder / FOLDER / path.stem, notes_path(self.folder, path.stem), path

    def _become(self, session: Session, fresh: Session) -> None:
        """Save `fresh` and make `session` equal to it; on failure `session` stays as it was."""
        self._write(fresh)
        self._take(session, fresh)

    def _take(self, session: Session, fresh: Session) -> None:
        """Make a session, to which others hold references, equal to `fresh`."""
        for name in Session.__dataclass_fields__:
            setattr(session, name, getattr(fresh, name))

    def _ensure_unchanged(self, session: Session) -> None:
        """Raise when the file was changed elsewhere or is gone; the session is saved first."""
        held = read_current(self._path(session.id))
        if session.stamp != (md5(held) if held is not None else ""):
            self._write(session)

    def _begin_anew(self, session: Session) -> str:
        """Turn a session whose file is gone into one that was never saved, without the lost parts
        of its archive; returns what happened in words."""
        lost = self._archive(session.id).missing(session.parts)
        messages = sum(part.messages for part in lost)
        unlist(session, lost)
        session.forget(SHORTENED, NOTED, *OF_THE_REQUEST)
        session.stamp = ""
        archive = f", with {messages} archived messages" if messages else ""
        return f"conversation {session.id} was deleted or moved by another program{archive}"

    def _original(self, session_id: str) -> Path:
        """Return the path where a file of version 1 is kept before it is replaced."""
        return self.folder / f"{session_id}.v1.json"

    def _write(self, session: Session) -> None:
        path = self._path(session.id)
        held, told = read_current(path), ""
        if held is None and session.stamp:
            told = f"{self._begin_anew(session)}; what was still here is saved again"
        if held is not None and md5(held) != session.stamp:
            session.id, held = self.new(None).id, None
            lost = in_words(self._copy_archive(path.stem, session))
            copy(self._notes(path.stem), self._notes(session.id), self.keep)
            told = (
                f"conversation {path.stem} was changed by another program; "
                f"this conversation is kept as {session.id}"
                + (f" without {lost}, no longer in the archive" if lost else "")
            )
        elif held and is_version_1(held) and not os.path.lexists(self._original(path.stem)):
            copy(path, self._original(path.stem), self.keep)
        written = write_over(self._path(session.id), held, to_json(session), self.keep)
        session.stamp = md5(written)
        if told:
            raise OpenclawError(told, f"go on with it: openclaw --session {session.id}")


def notes_path(sessions: Path, session_id: str) -> Path:
    return sessions / f"{session_id}.notes.md"


_UPDATED = re.compile(rb'"updated_at": "([^"\\]+)"')
_HEAD_BYTES = 4096


def last_updated(path: Path) -> tuple[float, str]:
    """Return when a session was last updated, by the head of its file or else the file's time."""
    try:
        with reading(path) as file:
            found = _UPDATED.search(file.read(_HEAD_BYTES))
        at = to_timestamp(found[1].decode("ascii", "replace")) if found else 0.0
        return at or path.stat().st_mtime, path.name
    except OSError:
        return 0.0, path.name


def in_words(parts: Iterable[ArchivePart]) -> str:
    """Name the messages in parts of an archive, "" without parts."""
    return ", ".join(f"messages {part.first} to {part.last}" for part in parts)


def _move_all(moves: Iterable[tuple[Path, Path]]) -> bool:
    """Move all of these files and folders, or none; False when one cannot be moved."""
    done: list[tuple[Path, Path]] = []
    try:
        for old, new in moves:
            check_no_links(old).rename(check_no_links(new))
            done.append((old, new))
    except OSError:
        for old, new in reversed(done):
            with contextlib.suppress(OSError):
                new.rename(old)
        return False
    return True
