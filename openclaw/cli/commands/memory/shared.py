"""How commands read a day in the past, and name the place of a passage."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from openclaw.errors import UsageError
from openclaw.nlp.dates import Prefer, parse_day

if TYPE_CHECKING:
    from openclaw.retrieval.passages import Passage


DATES = {"past": "2026-11-01, yesterday, last week", "future": "2026-12-01, tomorrow, next friday"}


def place_of(passage: Passage) -> str:
    """The path and the lines of a passage."""
    more = f"-{passage.end_line}" if passage.end_line > passage.start_line else ""
    return f"{passage.path}:{passage.start_line}{more}"


def parse_iso_day(text: str, prefer: Prefer = "past") -> str:
    """The ISO day that a phrase such as "last week" means; "" for none."""
    day = parse_day(text, date.today(), prefer) if text else None
    if text and day is None:
        raise UsageError(f"{text} is not a date", f"write it like one of these: {DATES[prefer]}")
    return day.isoformat() if day else ""
