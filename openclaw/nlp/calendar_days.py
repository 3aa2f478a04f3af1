"""Arithmetic of weeks, months, quarters and years as days of the calendar."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable
from contextlib import suppress
from datetime import date, timedelta

Span = tuple[date, date]  # the first day and the last
YEARS_TRIED = 10  # two 29ths of February are at most 8 years apart


def months_of(year: int, first: int, last: int) -> Span:
    """Return whole months; one above 12 is in the year after, one below 1 in the year before."""
    (to_first, first), (to_last, last) = divmod(first - 1, 12), divmod(last - 1, 12)
    days = monthrange(year + to_last, last + 1)[1]
    return date(year + to_first, first + 1, 1), date(year + to_last, last + 1, days)


def unit_of(day: date, unit: str, ahead: int = 0) -> Span:
    """Return the day, week (from Monday), weekend, month, quarter or year of a day, or a later or
    earlier one."""
    if unit in ("day", "week", "weekend"):
        monday = day + timedelta(7 * ahead - day.weekday())
        first = {"day": day + timedelta(ahead), "week": monday, "weekend": monday + timedelta(5)}
        return first[unit], first[unit] if unit == "day" else monday + timedelta(6)
    length = {"month": 1, "quarter": 3, "year": 12}[unit]
    month = ((day.month - 1) // length + ahead) * length + 1
    return months_of(day.year, month, month + length - 1)


def shift(day: date, unit: str, ahead: int) -> date:
    """Return the same day of a later or earlier week, month or year, or the last one of a shorter
    month."""
    if unit == "week":
        return day + timedelta(7 * ahead)
    first, last = unit_of(day.replace(day=1), "month", ahead * (12 if unit == "year" else 1))
    return min(last, first + timedelta(day.day - 1))


def in_year(year: str | None, today: date, days_in: Callable[[int], Span], step: int = -1) -> Span:
    """Return the days in a year, without one the latest that have begun; with `step` 1 the next.
    Raises LookupError when no year has them."""
    years = range(today.year, today.year + step * YEARS_TRIED, step)
    for number in [int(year) + 2000 * (len(year) == 2)] if year else years:
        with suppress(ValueError):
            span = days_in(number)
            if year or (span[step > 0] - today).days * step >= 0:
                return span
    raise LookupError("no year has such days")


def part_of(span: Span, nth: int, parts: int) -> Span:
    """Return the nth (from 0) half or third of a month, in days, or of a longer span, in months."""
    months = (span[1].year - span[0].year) * 12 + span[1].month - span[0].month + 1
    size = (span[1].day if months == 1 else months) / parts
    begin, end = (round(at * size - 0.1) for at in (nth, nth + 1))
    if months > 1:
        return months_of(span[0].year, span[0].month + begin, span[0].month + end - 1)
    return span[0] + timedelta(begin), span[0] + timedelta(end - 1)


def move(span: Span, years: int) -> Span:
    return span[0].replace(year=span[0].year + years), span[1].replace(year=span[1].year + years)
