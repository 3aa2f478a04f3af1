"""Reads the value of an option that is a day, such as --since and --due."""

from __future__ import annotations

from datetime import date

from openclaw.errors import UsageError
from openclaw.nlp.date_patterns import Prefer
from openclaw.nlp.dates import parse_day

DATES = {"past": "2026-11-01, yesterday, last week", "future": "2026-12-01, tomorrow, next friday"}


def parse_iso_day(text: str, prefer: Prefer = "past") -> str:
    """The ISO day that a phrase such as "last week" means; "" for none."""
    day = parse_day(text, date.today(), prefer) if text else None
    if text and day is None:
        raise UsageError(f"{text} is not a date", f"write it like one of these: {DATES[prefer]}")
    return day.isoformat() if day else ""
