"""A line of a list or of a search, and what orders them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from openclaw.files.beneath import reading
from openclaw.sessions.session import Session

UPDATED = re.compile(rb'"updated_at": "([^"\\]+)"')
HEAD_BYTES = 4096
SNIPPET_LENGTH = 160


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A line of the list; `messages` is their number, archived ones included."""

    id: str
    title: str
    created_at: str
    updated_at: str
    model: str
    messages: int


@dataclass(frozen=True, slots=True)
class SessionHit:
    """A message that a search has found; `number` counts from 1 over the whole conversation, as
    `fork` takes it.

    `role` is "tool" where the words stand in the call or result of the tool `tool`. `missing` are
    the words that the message does not hold. `reply` is the beginning of what was answered to a
    message of the user.
    """

    id: str
    title: str
    at: str
    role: str
    number: int
    snippet: str
    tool: str = ""
    missing: tuple[str, ...] = ()
    archived: bool = False
    reply: str = ""


def summary(session: Session) -> SessionSummary:
    return SessionSummary(
        session.id,
        session.title,
        session.created_at,
        session.updated_at,
        session.model,
        session.archived + len(session.messages),
    )


def seconds(text: str) -> float:
    """Seconds since the epoch of an ISO time, 0.0 for anything else."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


def last_updated(path: Path) -> tuple[float, str]:
    """When a session was last updated, from the head of its file; the file's own time else."""
    try:
        with reading(path) as file:
            found = UPDATED.search(file.read(HEAD_BYTES))
        at = seconds(found[1].decode("ascii", "replace")) if found else 0.0
        return at or path.stat().st_mtime, path.name
    except OSError:
        return 0.0, path.name
