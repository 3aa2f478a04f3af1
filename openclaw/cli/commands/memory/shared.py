"""What the `memory` commands share: the notes of a home, and how one is named and shown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from typing import TYPE_CHECKING, Any

from openclaw.errors import UsageError
from openclaw.memory.notes import Notes
from openclaw.nlp.dates import parse_day
from openclaw.types import ToolProblem

if TYPE_CHECKING:
    from openclaw.memory.notes import Note, Notes
    from openclaw.storage.home import Home


def notes_of(home: Home) -> Notes:
    """The notes of a home; those that a command adds have the source "typed"."""
    return Notes(home.memory, source=lambda: "typed")


@contextmanager
def raise_usage_errors() -> Iterator[None]:
    """Turn what a store refuses into a UsageError."""
    try:
        yield
    except ToolProblem as problem:
        raise UsageError(str(problem)) from None


def where(home: Home, note: Note) -> str:
    """PATH:LINE of a note."""
    return f"{home.relative(note.path)}:{note.line}"


def note_json(home: Home, note: Note) -> dict[str, Any]:
    """A note as JSON."""
    return {
        "path": home.relative(note.path),
        "line": note.line,
        "text": note.text,
        "category": note.category,
        "date": note.date or None,
        "source": note.source or None,
        "importance": note.importance,
        "superseded": note.superseded,
        "until": note.until or None,
    }


def parse_past_day(text: str) -> str:
    """The ISO day that a phrase such as "last week" means; "" for none."""
    day = parse_day(text, date.today(), "past") if text else None
    if text and day is None:
        raise UsageError(f"{text} is not a date", "write it as 2026-11-01, yesterday or last week")
    return day.isoformat() if day else ""
