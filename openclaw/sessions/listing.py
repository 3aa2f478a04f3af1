"""A line of a list or of a search, and what orders them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from openclaw.sessions.session import Session

UPDATED = re.compile(rb'"updated_at": "([^"\\]+)"')
HEAD_BYTES = 4096
SNIPPET_LENGTH = 160


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A line of the list; `messages` is their number."""

    id: str
    title: str
    created_at: str
    updated_at: str
    model: str
    messages: int


@dataclass(frozen=True, slots=True)
class SessionHit:
    """A message that holds all words of a search; `number` counts from 1, as `fork` takes it."""

    id: str
    title: str
    at: str
    role: str
    number: int
    snippet: str


def summary(session: Session) -> SessionSummary:
    return SessionSummary(
        session.id,
        session.title,
        session.created_at,
        session.updated_at,
        session.model,
        len(session.messages),
    )


def snippet(text: str, words: list[str]) -> str:
    """The line of `text` with the most of the words, cut around the first of them."""
    lines = [" ".join(line.split()) for line in text.splitlines()] or [""]
    best = max(lines, key=lambda line: sum(word in line.casefold() for word in words))
    if len(best) <= SNIPPET_LENGTH:
        return best
    places = [best.casefold().find(word) for word in words]
    start = max(0, min([place for place in places if place >= 0], default=0) - 40)
    end = start + SNIPPET_LENGTH
    return ("..." if start else "") + best[start:end] + ("..." if end < len(best) else "")


def seconds(text: str) -> float:
    """Seconds since the epoch of an ISO time, 0.0 for anything else."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


def last_updated(path: Path) -> tuple[float, str]:
    """When a session was last updated, from the head of its file; the file's own time else."""
    try:
        with path.open("rb") as file:
            found = UPDATED.search(file.read(HEAD_BYTES))
        at = seconds(found[1].decode("ascii", "replace")) if found else 0.0
        return at or path.stat().st_mtime, path.name
    except OSError:
        return 0.0, path.name
