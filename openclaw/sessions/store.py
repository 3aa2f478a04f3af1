"""The store of conversations: one JSON file each, saved whole after every message."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from itertools import chain, count
from pathlib import Path

from openclaw.errors import Damaged, OpenclawError, UsageError
from openclaw.messages import Entry
from openclaw.sessions.archive import FOLDER, Archive, copy, is_missing, name_parts
from openclaw.sessions.session import (
    ARCHIVED,
    NOTED,
    OF_THE_REQUEST,
    SHORTENED,
    ArchivePart,
    Session,
    SessionState,
    SessionSummary,
    TooNew,
    from_json,
    is_generated_id,
    is_version_1,
    listing,
    summarize,
    title_of,
    to_json,
    unlist,
)
from openclaw.sessions.session_search import SessionHit, SessionMessages, keep_exact, search
from openclaw.storage.home import Home, name_trouble
from openclaw.storage.lock import hold_lock
from openclaw.storage.merge import SIGN, conflicts
from openclaw.storage.safe_open import BOM, check_no_links, md5, read_bytes, reading
from openclaw.storage.text import read_current, remove_file, write_over
from openclaw.types import BeforeWrite, local_time, record_no_write, to_timestamp

LATEST = "latest"
SHORT_ID = 4  # random characters at the end of an id made by `new`; lists show these
LARGEST = 20_000_000  # bytes of the largest session that is read
SAFE_NAME = re.compile(r"[^\W_][\w-]{0,63}")
UNATTENDED = "heartbeat-"  # the beginning of the ids of conversations without a user
_UPDATED = re.compile(rb'"updated_at": "([^"\\]+)"')
_HEAD_BYTES = 4096

Summaries = list[SessionSummary]
Hits = list[SessionHit]
Ids = list[str]
Paths = list[Path]


def open_store(home: Home) -> SessionStore:
    return SessionStore(home.sessions, home.private / "locks")


class SessionStore:
    """The sessions of one home: finds, lists, searches and changes them.

    `problems` names the files that the last list or search skipped. `keep` is called with each file
    before it is written or removed.
    """

    def __init__(
        self, folder: Path, locks: Path | None = None, now: Callable[[], datetime] = local_time
    ) -> None:
        self.folder = folder
        self.keep: BeforeWrite = record_no_write
        self.mask: Callable[[str], str] = str
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

    def save(self, session: Session) -> None:
        """Write the session; it is on the disk when this returns. Sets `updated_at`, and the title
        when there is none.

        When another program has changed the file meanwhile, nothing is lost: `session` gets a new
        id, is saved under it, and OpenclawError says so. When the file was deleted meanwhile, the
        session is saved as a new one, and OpenclawError says so too.
        """
        session.updated_at = self.now().isoformat(timespec="milliseconds")
        session.created_at = session.created_at or session.updated_at
        session.title = session.title or title_of(session.messages)
        self._write(session)

    def load(self, ref: str) -> Session:
        """Load a session by its id, a unique beginning of it, its last part, its title or "latest".

        UsageError names the candidates. Damaged when the file is no session; it is moved aside.
        """
        return self._read(self._path(self.find(ref)))

    def choose(self, latest: bool, name: str | None, model: str) -> Session:
        """Load the latest session or the one with this id or title; make it when missing, or a new
        one without a name. The latest, and a name that looks like a generated id, must exist."""
        if latest and name:
            raise UsageError("--continue and --session exclude each other")
        name = LATEST if latest else name
        if name and (name == LATEST or is_generated_id(name)):
            return self.load(name)
        if name is None:
            return self.new(None, model)
        if self.exists(name):
            return self.load(name)
        titled = self._titled(name)
        return self.load(titled[0]) if titled else self.new(name, model)

    def refresh(self, session: Session) -> bool:
        """Load what another process has saved meanwhile; True when there was something.

        OpenclawError, once, when the file was deleted: nothing is written. `session` is then one
        that was never saved, without the messages of the archive.
        """
        path = self._path(session.id)
        if session.stamp and is_missing(path):
            raise OpenclawError(
                self._begin_anew(session),
                "say it again to go on: what is still here is then saved again",
            )
        if not path.exists() or md5(path) == session.stamp:
            return False
        self._take(session, self._read(path))
        return True

    def find(self, ref: str) -> str:
        """Return the id that `load` would take. For an id or its beginning no file is read."""
        if ref == LATEST:
            with_user = [p for p in self._files() if not p.stem.startswith(UNATTENDED)]
            if not with_user:
                raise UsageError("there is no conversation yet", 'begin one: openclaw "PROMPT"')
            return max(with_user, key=last_updated).stem
        ids = [path.stem for path in self._files()]
        if ref in ids:
            return ref
        near = [session_id for session_id in ids if ref and session_id.startswith(ref)]
        near = near or self._titled(ref)
        if len(ref) >= SHORT_ID:
            near = near or [session_id for session_id in ids if session_id.endswith(f"-{ref}")]
        if len(near) == 1:
            return near[0]
        if near:
            names = ", ".join(sorted(near, reverse=True)[:5])
            raise UsageError(f"'{ref}' could be {len(near)} sessions: {names}", "write more of it")
        latest = sorted(self._files(), key=last_updated, reverse=True)[:5]
        newest = ", ".join(path.stem for path in latest)
        raise UsageError(
            f"there is no conversation '{ref}'" + (f"; the newest: {newest}" if newest else ""),
            "see all: openclaw sessions list",
        )

    def _titled(self, title: str) -> Ids:
        """Return the ids of the sessions with this title, whatever its case."""
        wanted = title.strip().casefold()
        return [found.id for found in self.list() if found.title.casefold() == wanted]

    def reread(self, session: Session) -> Session:
        """Return the session as it is saved now. One whose first turn was taken back no longer
        exists: a new one gets its name, and the next redo brings the old one back."""
        if not is_missing(self._path(session.id)):
            self.refresh(session)
            return session
        return self.new(session.id, session.model) if session.stamp else session

    def exists(self, session_id: str) -> bool:
        """Tell whether there is a conversation with exactly this id."""
        return any(path.stem == session_id for path in self._files())

    def has_others(self, session_id: str) -> bool:
        return any(path.stem != session_id for path in self._files())

    def writing(self, session_id: str, timeout: float = 10.0) -> AbstractContextManager[None]:
        """Lock a session for writing; OpenclawError when another process keeps the lock."""
        lock = self.locks / f"session-{self._path(session_id).stem}.lock"
        return hold_lock(lock, timeout, what=f"conversation {session_id}")

    def list(self) -> Summaries:
        """Return all sessions, the last updated first."""
        return sorted(
            map(summarize, self._readable_sessions()),
            key=lambda s: (to_timestamp(s.updated_at), s.id),
            reverse=True,
        )

    def search(self, query: str) -> Hits:
        """Find messages with all words of `query`, whatever their case, the newest first. Without
        any, find those with most of the words, the best first. The archive is searched too."""
        return keep_exact(search(self.talks(), query))

    def talks(self, current: Session | None = None) -> Iterator[SessionMessages]:
        """Yield each session with its numbered messages, archived ones first. `current` is yielded
        first, as this process has it. Each file is read when its turn comes."""
        sessions = self._readable_sessions(current.id if current else "")
        for session in chain((current,) if current else (), sessions):
            yield session, self.messages(session)

    def messages(self, session: Session) -> Iterator[tuple[int, Entry]]:
        """Yield all messages of a conversation with their numbers, from 1. Parts of the archive
        that cannot be read are left out."""
        for part, document in self.archived(session):
            yield from enumerate(document.messages if document else (), part.first)
        yield from enumerate(session.messages, session.archived + 1)

    def archived(self, session: Session) -> Iterator[tuple[ArchivePart, Session | None]]:
        """Yield the parts of a session's archive, the oldest first. A part that cannot be read
        comes with None and is named in `problems`."""
        for part in session.parts:
            try:
                document = self._archive(session.id).read(part)
            except Damaged as error:
                self.problems.append(f"{error} ({error.hint})")
                yield part, None
            else:
                yield part, document

    def compact(self, session: Session, upto: int, summary: str) -> None:
        """Move the first `upto` messages of a session into its archive. `summary` replaces all that
        is archived. The caller holds the session's lock.

        The archive is written first: a process that dies in between leaves the session as it was.
        OpenclawError when something cannot be written or another program changed the file; then
        `session` stays as it was too.
        """
        if not 0 < upto <= len(session.messages):
            raise ValueError(f"no {upto} messages to compact")
        self._ensure_unchanged(session)
        at = self.now().isoformat(timespec="milliseconds")
        session.created_at = session.created_at or at
        session.updated_at = session.updated_at or at
        added = self._archive(session.id).put(session, upto, at)
        fresh = session.compacted(upto, summary)
        fresh.update_state(SessionState(archived=listing([*session.parts, added])))
        self._become(session, fresh)

    def restore(self, session: Session) -> int:
        """Undo the last compaction; returns how many messages came back. The caller holds the
        session's lock. UsageError when nothing was compacted, Damaged when the archive cannot be
        read."""
        if not session.parts:
            raise UsageError(
                f"nothing of conversation {session.id} was compacted",
                f"see it: openclaw sessions show {session.id}",
            )
        self._ensure_unchanged(session)
        *earlier, part = session.parts
        archive = self._archive(session.id)
        document = archive.read(part)
        fresh = replace(
            session,
            messages=document.messages + session.messages,
            compressed_context=document.compressed_context,
        )
        fresh.forget(ARCHIVED, SHORTENED, *OF_THE_REQUEST)
        shortened = document.state.shortened
        fresh.update_state(SessionState(archived=listing(earlier) or None, shortened=shortened))
        self._become(session, fresh)
        archive.drop(part)
        return len(document.messages)

    def rename(self, ref: str, title: str) -> Session:
        """Give a session another, unused title. Its place in the list stays."""
        title = self.mask(" ".join(title.split()))
        session_id = self.find(ref)
        taken = self._titled(title)
        if not title:
            raise UsageError("a title needs words", "choose another title")
        if any(other != session_id for other in taken):
            what = f"conversation {taken[0]} has the title '{title}'"
            raise UsageError(what, "choose another title")
        with self.writing(session_id, timeout=1.0):
            session = self._read(self._path(session_id))
            session.title = title
            self._write(session)
        return session

    def delete(self, ref: str) -> None:
        """Remove a session with its archive, notes and saved states.

        Its own file is removed last, so that an interrupted deletion can be repeated. `problems`
        names foreign files that were left.
        """
        session_id = self.find(ref)
        with self.writing(session_id, timeout=1.0):
            left = self._archive(session_id).clear()
            for state in self._state_files(session_id):
                remove_file(state)
            for of in (self._notes, self._original, self._path):
                remove_file(of(session_id), self.keep)
        self.problems += [left] if left else []

    def fork(self, ref: str, upto: int | None = None, name: str | None = None) -> Session:
        """Save a new session `name` with the messages up to and including number `upto` (from 1).

        A fork that ends within the archive has all its messages live. Only a fork of the whole
        conversation gets a copy of the notes. `problems` names missing parts of the archive, which
        are then not in the fork.
        """
        source_id = self.find(ref)
        with self.writing(source_id, timeout=1.0):
            source = self._read(self._path(source_id))
            count = source.archived + len(source.messages)
            end = count if upto is None else upto
            if not 0 <= end <= count or upto == 0:
                raise UsageError(
                    f"conversation {source.id} has {count} messages, there is no number {end}",
                    f"see them: openclaw sessions show {source.id}",
                )
            fork = self._make_fork(source, end, name, whole=end == count)
            self.save(fork)
        return fork

    def _make_fork(self, source: Session, end: int, name: str | None, *, whole: bool) -> Session:
        fork = self.new(name, source.model)
        fork.title = name or self._free_title(source.title or source.id)
        fork.extra = dict(source.extra)
        fork.update_state(SessionState(forked_from={"id": source.id, "messages": end}))
        if whole:
            copy(self._notes(source.id), self._notes(fork.id), self.keep)
        else:
            fork.forget(NOTED)
        archived = source.archived
        if not whole and end <= archived:
            fork.forget(ARCHIVED, SHORTENED, *OF_THE_REQUEST)
            fork.messages = [
                entry
                for part in source.parts
                if part.first <= end
                for number, entry in enumerate(
                    self._archive(source.id).read(part).messages, part.first
                )
                if number <= end
            ]
            return fork
        lost = self._copy_archive(source.id, fork)
        self.problems += [f"{name_parts(lost)} are missing and not in the fork"] if lost else []
        fork.compressed_context = source.compressed_context
        fork.messages = source.messages[: end - archived]
        if fork.state.shortened is not None:
            fork.update_state(SessionState(shortened=min(source.shortened, len(fork.messages))))
        return fork

    def _free_title(self, title: str) -> str:
        taken = {known.title for known in self.list()}
        names = (f"{title} (fork{f' {n}' if n > 1 else ''})" for n in range(1, len(taken) + 2))
        return next(name for name in names if name not in taken)

    def files_of(self, session_id: str) -> Paths:
        """Return the files of a session, existing or not."""
        archive, notes, path = self._paths_of(session_id)
        with contextlib.suppress(OSError):
            return [path, notes, *sorted(p for p in archive.iterdir() if p.suffix == ".json")]
        return [path, notes]

    # -------- files

    def _copy_archive(self, source: str, target: Session) -> Sequence[ArchivePart]:
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

    def _state_files(self, session_id: str) -> Paths:
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
            lost = name_parts(self._copy_archive(path.stem, session))
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


class UnsavedSessions(SessionStore):
    """Reads the sessions of a home and writes none: new messages stay in memory."""

    def _write(self, session: Session) -> None:
        """Write nothing."""

    def _move_aside(self, path: Path, reason: Exception) -> Damaged:
        """Leave a damaged file in its place."""
        what = f"conversation {path.stem} is damaged ({reason})"
        return Damaged(what, "put back what can be read: openclaw doctor --fix")

    def refresh(self, session: Session) -> bool:
        """Return False: nothing is saved, so there is nothing to load."""
        return False

    def files_of(self, session_id: str) -> Paths:
        """Return no files: the session has none."""
        return []

    def compact(self, session: Session, upto: int, summary: str) -> None:
        """Drop the first messages; `summary` replaces them."""
        self._take(session, session.compacted(upto, summary))

    def restore(self, session: Session) -> int:
        raise UsageError("this conversation is not saved, so nothing of it is in the archive")

    def fork(self, ref: str, upto: int | None = None, name: str | None = None) -> Session:
        raise UsageError("this conversation is not saved, so it cannot be copied")

    def rename(self, ref: str, title: str) -> Session:
        raise UsageError("this conversation is not saved, so it needs no name")


def notes_path(sessions: Path, session_id: str) -> Path:
    return sessions / f"{session_id}.notes.md"


def last_updated(path: Path) -> tuple[float, str]:
    """Return when a session was last updated, by the head of its file or else the file's time."""
    try:
        with reading(path) as file:
            found = _UPDATED.search(file.read(_HEAD_BYTES))
        at = to_timestamp(found[1].decode("ascii", "replace")) if found else 0.0
        return at or path.stat().st_mtime, path.name
    except OSError:
        return 0.0, path.name


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
