"""The sessions folder: one JSON file a conversation, saved whole after every message."""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path

from openclaw.errors import Damaged, OpenclawError, UsageError
from openclaw.files.home import name_trouble
from openclaw.files.lock import locked
from openclaw.files.text import BOM, md5, unwritable, write_text
from openclaw.sessions.export import export_markdown
from openclaw.sessions.listing import (
    SessionHit,
    SessionSummary,
    last_updated,
    seconds,
    snippet,
    summary,
)
from openclaw.sessions.session import Session, TooNew, from_json, title_of, to_json

__all__ = ["Session", "SessionHit", "SessionStore", "SessionSummary", "export_markdown"]

LATEST = "latest"
SAFE_NAME = re.compile(r"[^\W_][\w-]{0,63}")
Summaries = list[SessionSummary]
Hits = list[SessionHit]


def _now() -> datetime:
    return datetime.now().astimezone()


class SessionStore:
    """The sessions of one home. `problems` names the files that the last list or search skipped."""

    def __init__(
        self, folder: Path, locks: Path | None = None, now: Callable[[], datetime] = _now
    ) -> None:
        self.folder = folder
        self.locks = locks or folder.parent / ".openclaw" / "locks"
        self.now = now
        self.problems: list[str] = []

    def new(self, name: str | None = None, model: str = "") -> Session:
        """An empty session, not yet on disk. Its id is `name` when that can be a file's name, else
        made from time and chance, with `name` as the title. UsageError when the name is taken."""
        now = self.now()
        at = now.isoformat(timespec="milliseconds")
        session_id = f"{now:%Y-%m-%d-%H%M%S}-{secrets.token_hex(2)}"
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
        """Write the session; when this returns it is on the disk. Sets `updated_at`, and the title
        when there is none.

        When another program changed the file since this process last saw it, nothing of either is
        lost: this one is kept under a new id, which `session` then has, and OpenclawError says so.
        """
        session.updated_at = self.now().isoformat(timespec="milliseconds")
        session.created_at = session.created_at or session.updated_at
        session.title = session.title or title_of(session.messages)
        self._write(session)

    def load(self, ref: str) -> Session:
        """A session by id, unique beginning of one, title, or "latest".

        UsageError names the candidates; Damaged when the file is no session: it is moved aside.
        """
        if ref == LATEST:
            found = self.latest()
            if found is None:
                raise UsageError("there is no session yet", 'begin one: openclaw "PROMPT"')
            return found
        return self._read(self._path(self.find(ref)))

    def refresh(self, session: Session) -> bool:
        """Take over what another process has saved since; True when there was something."""
        path = self._path(session.id)
        if not path.exists() or md5(path) == session.stamp:
            return False
        fresh = self._read(path)
        for name in Session.__dataclass_fields__:
            setattr(session, name, getattr(fresh, name))
        return True

    def find(self, ref: str) -> str:
        """The id that `load` would take, without reading a file for an id or its beginning."""
        ids = [path.stem for path in self._files()]
        if ref in ids:
            return ref
        near = [session_id for session_id in ids if ref and session_id.startswith(ref)]
        if not near:
            wanted = ref.casefold().strip()
            near = [found.id for found in self.list() if wanted == found.title.casefold()]
        if len(near) == 1:
            return near[0]
        if near:
            names = ", ".join(sorted(near, reverse=True)[:5])
            raise UsageError(f"'{ref}' could be {len(near)} sessions: {names}", "write more of it")
        latest = sorted(self._files(), key=last_updated, reverse=True)[:5]
        newest = ", ".join(path.stem for path in latest)
        raise UsageError(
            f"there is no session '{ref}'" + (f"; the newest: {newest}" if newest else ""),
            "see all: openclaw sessions list",
        )

    def latest(self) -> Session | None:
        """The session that was last updated, None when there is none."""
        path = max(self._files(), key=last_updated, default=None)
        return self._read(path) if path else None

    def writing(self, session_id: str, timeout: float = 10.0) -> AbstractContextManager[None]:
        """Be the one writer of a session; OpenclawError when another process stays in it."""
        lock = self.locks / f"session-{self._path(session_id).stem}.lock"
        return locked(lock, timeout, what=f"session {session_id}")

    def list(self) -> Summaries:
        """All sessions, the last updated first."""
        return sorted(
            map(summary, self._readable()),
            key=lambda s: (seconds(s.updated_at), s.id),
            reverse=True,
        )

    def search(self, query: str) -> Hits:
        """Messages that hold all words of `query`, whatever their case, the newest first."""
        words = query.casefold().split()
        hits = [
            SessionHit(s.id, s.title, e.at or s.updated_at, e.role, n, snippet(e.content, words))
            for s in self._readable()
            for n, e in enumerate(s.messages, 1)
            if words and all(word in e.content.casefold() for word in words)
        ]
        return sorted(hits, key=lambda hit: (seconds(hit.at), hit.id, hit.number), reverse=True)

    def rename(self, ref: str, title: str) -> Session:
        """Give a session another title, which must be no other's; its place in the list stays."""
        title = " ".join(title.split())
        session_id = self.find(ref)
        taken = [s.id for s in self.list() if s.title.casefold() == title.casefold()]
        if not title or any(other != session_id for other in taken):
            raise UsageError(
                f"session {taken[0]} has the title '{title}'" if title else "a title needs words",
                "choose another title",
            )
        with self.writing(session_id, timeout=1.0):
            session = self._read(self._path(session_id))
            session.title = title
            self._write(session)
        return session

    def delete(self, ref: str) -> str:
        """Remove a session for good; returns its id."""
        session_id = self.find(ref)
        path = self._path(session_id)
        with self.writing(session_id, timeout=1.0):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise unwritable(path, error) from error
        return session_id

    def fork(self, ref: str, upto: int | None = None) -> Session:
        """A new, saved session with the messages up to and including number `upto` (from 1)."""
        source = self.load(ref)
        count = len(source.messages)
        end = count if upto is None else upto
        if not 0 <= end <= count or upto == 0:
            raise UsageError(
                f"session {source.id} has {count} messages, there is no number {end}",
                f"see them: openclaw sessions show {source.id}",
            )
        fork = self.new(None, source.model)
        fork.title = self._free_title(source.title or source.id)
        fork.compressed_context = source.compressed_context
        fork.messages = source.messages[:end]
        fork.extra = source.extra | {"forked_from": {"id": source.id, "messages": end}}
        self.save(fork)
        return fork

    def _free_title(self, title: str) -> str:
        taken = {known.title for known in self.list()}
        names = (f"{title} (fork{f' {n}' if n > 1 else ''})" for n in range(1, len(taken) + 2))
        return next(name for name in names if name not in taken)

    def _path(self, session_id: str) -> Path:
        if not session_id or session_id.startswith(".") or re.search(r"[/\\:\0]", session_id):
            raise UsageError(f"'{session_id}' cannot be a session's id", "openclaw sessions list")
        return self.folder / f"{session_id}.json"

    def _files(self) -> Iterator[Path]:
        """The files of sessions; a dot in the stem marks others, such as those moved aside."""
        with contextlib.suppress(FileNotFoundError):
            for path in sorted(self.folder.iterdir()):
                if path.suffix == ".json" and "." not in path.stem and path.is_file():
                    yield path

    def _readable(self) -> Iterator[Session]:
        self.problems = []
        for path in self._files():
            try:
                yield self._read(path)
            except Damaged as error:
                self.problems.append(f"{error} ({error.hint})")

    def _read(self, path: Path) -> Session:
        try:
            data = path.read_bytes()
            session = from_json(data.removeprefix(BOM).decode("utf-8"), path.stem)
        except TooNew as error:
            raise Damaged(f"{path} cannot be used: {error}", "install a newer openclaw") from error
        except OSError as error:
            raise Damaged(
                f"{path} cannot be read: {error.strerror}", "give this user access to it"
            ) from error
        except ValueError as error:
            raise self._moved_aside(path, error) from error
        written = datetime.fromtimestamp(path.stat().st_mtime).astimezone()
        session.updated_at = session.updated_at or written.isoformat(timespec="milliseconds")
        session.created_at = session.created_at or session.updated_at
        session.stamp = md5(data)
        return session

    def _moved_aside(self, path: Path, reason: Exception) -> Damaged:
        """Put a damaged file where it is no session any more, and say how to get it back."""
        now = self.now()
        aside = path.with_name(f"{path.stem}.damaged-{now:%Y%m%d-%H%M%S}.json")
        what = f"session {path.stem} is damaged ({reason})"
        try:
            path.rename(aside)
        except OSError:
            return Damaged(f"{what} and cannot be moved aside", f"mend or remove {path}")
        return Damaged(
            f"{what}; its file was moved aside",
            f"mend {aside} and name it {path.name} again, or go on without it",
        )

    def _write(self, session: Session) -> None:
        path = self._path(session.id)
        stranger = path.exists() and md5(path) != session.stamp
        if stranger:
            session.id = self.new(None).id
        text = to_json(session)
        write_text(self._path(session.id), text)
        session.stamp = md5(self._path(session.id))
        if stranger:
            raise OpenclawError(
                f"session {path.stem} was changed by another program; "
                f"this conversation is kept as {session.id}",
                f"go on with it: openclaw --session {session.id}",
            )
