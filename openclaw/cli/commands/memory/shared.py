"""What the `memory` commands share: the notes of a home, and how one is named and shown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from typing import TYPE_CHECKING

from openclaw.errors import UsageError
from openclaw.nlp.dates import parse_day
from openclaw.types import ToolProblem

if TYPE_CHECKING:
    pass


@contextmanager
def raise_usage_errors() -> Iterator[None]:
    """Turn what a store refuses into a UsageError."""
    try:
        yield
    except ToolProblem as problem:
        raise UsageError(str(problem)) from None


def parse_past_day(text: str) -> str:
    """The ISO day that a phrase such as "last week" means; "" for none."""
    day = parse_day(text, date.today(), "past") if text else None
    if text and day is None:
        raise UsageError(f"{text} is not a date", "write it as 2026-11-01, yesterday or last week")
    return day.isoformat() if day else ""
