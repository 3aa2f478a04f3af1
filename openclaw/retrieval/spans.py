"""Days counted out of a calendar: pure arithmetic on spans of days.

A `Span` is (first day, last day), inclusive. Days before year 1 or after 9999 are cut to these.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

Span = tuple[date, date]

LEAP = 8
"""The most years between two 29ths of February."""
HALF_YEAR = 183


@dataclass(frozen=True, slots=True)
class Time:
    """A time that was named: `of` gives its days in a year, or raises ValueError if that year has
    none; `year` is the year that was said, None for none."""

    of: Callable[[int], Span]
    year: int | None = None

    def settled(self, today: date) -> Span | None:
        """Its days; without a year those of the latest that has begun. None: there are none."""
        return self._latest(today, lambda span: span[0] <= today)

    def over(self, today: date) -> Span | None:
        """Its days; without a year those of the latest that is over."""
        return self._latest(today, lambda span: span[1] < today)

    def _latest(self, today: date, fits: Callable[[Span], bool]) -> Span | None:
        if self.year is not None:
            return self._in(self.year)
        for year in range(today.year, today.year - LEAP - 2, -1):
            span = self._in(year)
            if span and fits(span):
                return span
        return None

    def _in(self, year: int) -> Span | None:
        try:
            return self.of(year)
        except ValueError:
            return None

    def part(self, cut: Callable[[Span], Span]) -> Time:
        """The time that `cut` makes of it, in the same year."""
        return Time(lambda year: cut(self.of(year)), self.year)


def shifted(day: date, days: int) -> date:
    """So many days later, or earlier."""
    try:
        return day + timedelta(days)
    except OverflowError:
        return date.max if days > 0 else date.min


def back(today: date, first: int, last: int) -> Span:
    """From so many days ago to so many days ago."""
    return shifted(today, -first), shifted(today, -last)


def fixed(span: Span) -> Time:
    """A time that no year changes."""
    return Time(lambda _: span, span[1].year)


def days(month: int, first: int, last: int, year: int | None = None) -> Time:
    """Days of a month; either may come first."""
    low, high = sorted((first, last))
    return Time(lambda year: (date(year, month, low), date(year, month, high)), year)


def months(first: int, last: int, year: int | None = None) -> Time:
    """Whole months of a year, 1 to 12; `last` beyond 12 is in the year after."""

    def of(year: int) -> Span:
        end, month = year + (last - 1) // 12, (last - 1) % 12 + 1
        return date(year, first, 1), date(end, month, calendar.monthrange(end, month)[1])

    return Time(of, year)


def joined(first: Time, last: Time) -> Time:
    """From the one to the other. A year that only one says is that of both, and where the second
    would come before the first, it is over the turn of the year (or week) if that is near."""

    def of(year: int) -> Span:
        begin, end = first.of(first.year or year)[0], last.of(last.year or year)[1]
        if begin <= end:
            return begin, end
        if last.year is None:
            turned = begin, last.of(year + 1)[1]
        elif first.year is None:
            turned = first.of(year - 1)[0], end
        else:
            turned = shifted(begin, -7), end
        near = 0 <= (turned[1] - turned[0]).days <= HALF_YEAR
        return turned if near else (end, begin)

    return Time(of, first.year or last.year)


def until_today(time: Time, today: date) -> Time:
    """From its first day to today; a time that has not begun stays as it is."""
    span = time.settled(today)
    if span is None or span[0] > today:
        return time
    return fixed((span[0], today))


def week(day: date) -> Span:
    """The week of a day, Monday to Sunday."""
    monday = shifted(day, -day.weekday())
    return monday, shifted(monday, 6)


def weekend(day: date) -> Span:
    """Saturday and Sunday of a day's week."""
    monday = week(day)[0]
    return shifted(monday, 5), shifted(monday, 6)


def weekday(today: date, number: int) -> date:
    """The last such day before today; Monday is 0."""
    return shifted(today, -((today.weekday() - number - 1) % 7 + 1))


def thirds(span: Span, part: int) -> Span:
    """The early (0), middle (1) or late (2) third of a span; of a month about ten days."""
    cut = round(_length(span) / 3)
    return (
        (span[0], shifted(span[0], cut - 1)),
        (shifted(span[0], cut), shifted(span[1], -cut)),
        (shifted(span[1], 1 - cut), span[1]),
    )[part]


def half(span: Span, second: bool) -> Span:
    """Of a month the first 15 days or the rest, of a longer span so many months."""
    whole = (span[1].year - span[0].year) * 12 + span[1].month - span[0].month + 1
    if whole == 1:
        middle = span[0].replace(day=16)
    else:
        year, month = divmod(span[0].month - 1 + whole // 2, 12)
        middle = date(span[0].year + year, month + 1, 1)
    return (middle, span[1]) if second else (span[0], shifted(middle, -1))


def stretch(span: Span, nth: int, length: int) -> Span:
    """The nth stretch of so many days in a span, or the last one (-1)."""
    if nth < 0:
        return max(span[0], shifted(span[1], 1 - length)), span[1]
    first = shifted(span[0], (nth - 1) * length)
    if first > span[1]:
        raise ValueError(f"{span[0]} to {span[1]} has no such days")
    return first, min(span[1], shifted(first, length - 1))


def nth_weekday(span: Span, nth: int, number: int, length: int = 1) -> Span:
    """The nth (or last, -1) such weekday of a span, and the days after it up to `length`."""
    if nth < 0:
        first = shifted(span[1], -((span[1].weekday() - number) % 7))
    else:
        first = shifted(span[0], (number - span[0].weekday()) % 7 + 7 * (nth - 1))
    if not span[0] <= first <= span[1]:
        raise ValueError(f"{span[0]} to {span[1]} has no such day")
    return first, shifted(first, length - 1)


def last_ones(today: date, count: int, unit: str) -> Span:
    """The last so many days, weeks, months or years, up to today."""
    if unit in ("day", "week"):
        return shifted(today, -count * (7 if unit == "week" else 1)), today
    number = today.year * 12 + today.month - 1 - count * (12 if unit == "year" else 1)
    year, month = divmod(number, 12)
    if year < 1:
        return date.min, today
    day = min(today.day, calendar.monthrange(year, month + 1)[1])
    return date(year, month + 1, day), today


def ago(today: date, count: int, unit: str) -> Span:
    """About so long ago: a day to the day, longer units give or take half of one."""
    length = {"day": 1, "week": 7, "month": 30, "year": 365}[unit]
    slack = {"day": 0, "week": 3, "month": 15, "year": 180}[unit]
    return back(today, count * length + slack, max(count * length - slack, 0))


def _length(span: Span) -> int:
    return (span[1] - span[0]).days + 1
