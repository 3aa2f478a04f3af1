"""How commands read a day in the past, and name the place of a passage."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from openclaw.errors import UsageError
from openclaw.nlp.dates import parse_day

if TYPE_CHECKING:
    from openclaw.retrieval.passages import Passage


def place_of(passage: Passage) -> str:
    """The path and the lines of a passage."""
    more = f"-{passage.end_line}" if passage.end_line > passage.start_line else ""
    return f"{passage.path}:{passage.start_line}{more}"


def parse_past_day(text: str) -> str:
    """The ISO day that a phrase such as "last week" means; "" for none."""
    day = parse_day(text, date.today(), "past") if text else None
    if text and day is None:
        raise UsageError(f"{text} is not a date", "write it as 2026-11-01, yesterday or last week")
    return day.isoformat() if day else ""
