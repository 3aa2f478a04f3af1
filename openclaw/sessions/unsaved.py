"""The sessions of a home while nothing of what is said is to be kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from openclaw.errors import UsageError
from openclaw.sessions.session import OF_THE_REQUEST, SHORTENED, Session, without
from openclaw.sessions.store import SessionStore


class UnsavedSessions(SessionStore):
    """Reads the sessions of a home and writes none: what is said stays in memory."""

    def _write(self, session: Session) -> None:
        """Nothing is written."""

    def refresh(self, session: Session) -> bool:
        """What this process has is all there is."""
        return False

    def files_of(self, session_id: str) -> list[Path]:
        """No file belongs to the turn."""
        return []

    def compact(self, session: Session, upto: int, summary: str) -> None:
        """The first messages are gone; `summary` stands for them."""
        extra = without(session.extra, *OF_THE_REQUEST)
        if SHORTENED in extra:
            extra[SHORTENED] = max(0, session.shortened - upto)
        rest = session.messages[upto:]
        fresh = replace(session, messages=rest, compressed_context=summary, extra=extra)
        self._take(session, fresh)

    def restore(self, session: Session) -> int:
        raise UsageError("this conversation is not saved, so nothing of it is in the archive")

    def fork(self, ref: str, upto: int | None = None, name: str | None = None) -> Session:
        raise UsageError("this conversation is not saved, so it cannot be copied")

    def rename(self, ref: str, title: str) -> Session:
        raise UsageError("this conversation is not saved, so it needs no name")
