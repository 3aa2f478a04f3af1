"""Puts damaged sessions right: in their place, or from where they were moved aside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from openclaw.files.beneath import checked, read_bytes, remove
from openclaw.files.markers import conflicts, sides
from openclaw.files.text import BOM, write_if_same
from openclaw.sessions.folder import SessionFolder, in_words
from openclaw.sessions.rescue import best, joined, relist, rescued
from openclaw.sessions.session import (
    ARCHIVED,
    NOTED,
    Part,
    Session,
    TooNew,
    from_json,
    listing,
    to_json,
    unlist,
    without,
)

ASIDE = re.compile(r"(?P<id>[^.]+)\.damaged-[0-9]{8}-[0-9]{6}(?:-[0-9]+)?")
Trouble = Literal["newer", "conflict", "damaged"]


@dataclass(frozen=True, slots=True)
class Case:
    """A session's file, or one of its archive, that does not load, and why."""

    path: Path
    id: str
    trouble: Trouble
    reason: str


class Mending(SessionFolder):
    """The sessions of one home, looked at without changing any."""

    def cases(self) -> Iterator[Case]:
        """The files that do not load, of conversations and of their archives. OSError is passed
        over: a file that cannot be read at all is no matter of its content."""
        for path in self._files():
            data = _bytes(path)
            case = _case(path, path.stem, data) if data is not None else None
            if case:
                yield case
            elif data is not None and ARCHIVED.encode() in data:
                yield from self._parts_that_do_not_load(from_json(_text(data), path.stem))

    def _parts_that_do_not_load(self, session: Session) -> Iterator[Case]:
        for part in session.parts:
            path = self.part(session.id, part)
            data = _bytes(path)
            if data is None and not path.exists():
                reason = f"{in_words([part])} of conversation {session.id} are missing"
                yield Case(path, session.id, "damaged", reason)
            elif data is not None and (case := _case(path, session.id, data)):
                yield case

    def part(self, session_id: str, part: Part) -> Path:
        return self._archive(session_id).folder / part.file

    # -------- in their place

    def better(self, path: Path, session_id: str, earlier: bytes | None) -> Session | None:
        """The best that can be made of a file that does not load, in its place or moved aside, and
        of an earlier copy of it (in git). None when neither has a message."""
        data = _bytes(path)
        found = rescued(data, session_id) if data is not None else None
        before = None
        if earlier is not None:
            try:
                before = from_json(_text(earlier), session_id)
            except ValueError:
                before = rescued(earlier, session_id)
        for session in (found, before):
            if session is not None and path.parent == self.folder:
                relist(session, self._archive(path.stem))
        return best(found, before)

    def both(self, path: Path, session_id: str = "") -> Session | None:
        """Both sides of a session with conflict markers, joined; None when there are none, when one
        of them does not load or they cannot be joined."""
        try:
            text = _text(_bytes(path) or b"")
            if not conflicts(text):
                return None
            ours, theirs = (from_json(side, session_id or path.stem) for side in sides(text))
        except ValueError:
            return None
        return joined(ours, theirs)

    def put(self, path: Path, session: Session) -> bool:
        """Write a session in the place of what does not load; False when that was changed since."""
        return write_if_same(path, _bytes(path), to_json(session).encode("utf-8"))

    def counted(self, case: Case) -> int:
        """How many messages the session says that a part of its archive has."""
        session = self._read(self._path(case.id))
        return sum(part.messages for part in session.parts if part.file == case.path.name)

    def count_anew(self, case: Case, document: Session) -> None:
        """A session lists a part of its archive with what could be saved of it."""
        session = self._read(self._path(case.id))
        turns = sum(entry.role == "user" for entry in document.messages)
        saved = {"messages": len(document.messages), "turns": turns}
        listed = [
            {**item, **saved} if item["file"] == case.path.name else item
            for item in listing(session.parts)
        ]
        session.extra = without(session.extra, NOTED) | {ARCHIVED: listed}
        self._write(session)

    def forget_part(self, session_id: str, name: str) -> None:
        """A session lists a part of its archive no longer."""
        path = self._path(session_id)
        session = self._read(path)
        unlist(session, [part for part in session.parts if part.file == name])
        self._write(session)

    # -------- moved aside

    def aside(self) -> list[str]:
        """The stems of the files that were moved aside."""
        if not self.folder.is_dir():
            return []
        stems = (path.stem for path in self.folder.glob("*.damaged-*.json"))
        return sorted(stem for stem in stems if ASIDE.fullmatch(stem))

    def of_aside(self, stem: str) -> list[Path]:
        """All that was moved aside with it: archive, notes and the file."""
        archive = self.folder / "archive" / stem
        notes = self.folder / f"{stem}.notes.md"
        return [path for path in (archive, notes, self.folder / f"{stem}.json") if path.exists()]

    def put_back(self, stem: str, session: Session) -> str:
        """A session of what was moved aside, under its old name or, when another has that by now,
        under a new one; its archive and notes go with it. Returns the name."""
        taken = [path for path in self._places(session.id) if path.exists()]
        if taken:
            session.title = f"{session.title or session.id} (saved)"
            session.id = self.new(None).id
        archive, notes, path = self._places(session.id)
        for old, new in ((f"archive/{stem}", archive), (f"{stem}.notes.md", notes)):
            if (self.folder / old).exists():
                checked(self.folder / old).rename(checked(new))
        relist(session, self._archive(session.id))
        write_if_same(path, None, to_json(session).encode("utf-8"))
        remove(self.folder / f"{stem}.json")
        return session.id


def _case(path: Path, session_id: str, data: bytes) -> Case | None:
    try:
        from_json(_text(data), session_id)
    except TooNew as error:
        return Case(path, session_id, "newer", str(error))
    except ValueError as error:
        found = conflicts(data.decode("utf-8", "replace"))
        if found:
            return Case(path, session_id, "conflict", f"conflict markers in line {found[0].line}")
        return Case(path, session_id, "damaged", str(error) if data else "the file is empty")
    return None


def _text(data: bytes) -> str:
    return data.removeprefix(BOM).decode("utf-8")


def _bytes(path: Path) -> bytes | None:
    try:
        return read_bytes(path)
    except OSError:
        return None
