"""Compute spans of days, and mark the times that rules find in a text.

A `Span` is (first day, last day), inclusive. Days before year 1 or after 9999 become the first or
last day of these.
"""

from __future__ import annotations

import calendar
import re
import unicodedata
from collections.abc import Callable
from datetime import date, timedelta
from functools import cache

from openclaw.frozen import frozen

Span = tuple[date, date]

LONGEST_LEAP_GAP = 8
"""The longest time between two 29ths of February, in years."""
HALF_YEAR = 183


@frozen
class NamedTime:
    """A time that a text names.

    in_year  returns its days in a year, or raises ValueError when that year has none
    year     the year that the text says, if any
    """

    in_year: Callable[[int], Span]
    year: int | None = None

    def latest_begun(self, today: date) -> Span | None:
        """Return its days, without a year the latest that have begun; None when there are none."""
        return self._latest(today, lambda span: span[0] <= today)

    def latest_ended(self, today: date) -> Span | None:
        """Return its days, without a year the latest ones that are over."""
        return self._latest(today, lambda span: span[1] < today)

    def _latest(self, today: date, fits: Callable[[Span], bool]) -> Span | None:
        if self.year is not None:
            return self._span_in(self.year)
        for year in range(today.year, today.year - LONGEST_LEAP_GAP - 2, -1):
            span = self._span_in(year)
            if span and fits(span):
                return span
        return None

    def _span_in(self, year: int) -> Span | None:
        try:
            return self.in_year(year)
        except ValueError:
            return None

    def part(self, cut: Callable[[Span], Span]) -> NamedTime:
        """Return the part that `cut` takes of its days, in the same year."""
        return NamedTime(lambda year: cut(self.in_year(year)), self.year)


def shift_day(day: date, days: int) -> date:
    """Return the day `days` later, or earlier when it is negative."""
    try:
        return day + timedelta(days)
    except OverflowError:
        return date.max if days > 0 else date.min


def days_back(today: date, first: int, last: int) -> Span:
    """Return the days from `first` days ago to `last` days ago."""
    return shift_day(today, -first), shift_day(today, -last)


def fixed_time(span: Span) -> NamedTime:
    """Return a time with the same days whatever the year."""
    return NamedTime(lambda _: span, span[1].year)


def days_of_month(month: int, first: int, last: int, year: int | None = None) -> NamedTime:
    """Return days of a month; `first` and `last` may be in either order."""
    low, high = sorted((first, last))
    return NamedTime(lambda year: (date(year, month, low), date(year, month, high)), year)


def months_of_year(first: int, last: int, year: int | None = None) -> NamedTime:
    """Return whole months of a year, 1 to 12; a `last` above 12 is in the year after."""

    def in_year(year: int) -> Span:
        end, month = year + (last - 1) // 12, (last - 1) % 12 + 1
        return date(year, first, 1), date(end, month, calendar.monthrange(end, month)[1])

    return NamedTime(in_year, year)


def join_times(first: NamedTime, last: NamedTime) -> NamedTime:
    """Return the days from one time to the other. A year that only one of them says counts for
    both. When the second comes before the first, the span crosses the turn of the year (or week)
    if it is then at most half a year long."""

    def in_year(year: int) -> Span:
        begin, end = first.in_year(first.year or year)[0], last.in_year(last.year or year)[1]
        if begin <= end:
            return begin, end
        if last.year is None:
            turned = begin, last.in_year(year + 1)[1]
        elif first.year is None:
            turned = first.in_year(year - 1)[0], end
        else:
            turned = shift_day(begin, -7), end
        near = 0 <= (turned[1] - turned[0]).days <= HALF_YEAR
        return turned if near else (end, begin)

    return NamedTime(in_year, first.year or last.year)


def until_today(time: NamedTime, today: date) -> NamedTime:
    """Return the days from its first day to today; a time that has not begun stays as it is."""
    span = time.latest_begun(today)
    if span is None or span[0] > today:
        return time
    return fixed_time((span[0], today))


def week(day: date) -> Span:
    """Return the week of a day, Monday to Sunday."""
    monday = shift_day(day, -day.weekday())
    return monday, shift_day(monday, 6)


def weekend(day: date) -> Span:
    """Return Saturday and Sunday of a day's week."""
    monday = week(day)[0]
    return shift_day(monday, 5), shift_day(monday, 6)


def weekday(today: date, number: int) -> date:
    """Return the last such weekday before today; Monday is 0."""
    return shift_day(today, -((today.weekday() - number - 1) % 7 + 1))


def third_of_span(span: Span, part: int) -> Span:
    """Return the early (0), middle (1) or late (2) third of a span; of a month about ten days."""
    cut = round(_length(span) / 3)
    return (
        (span[0], shift_day(span[0], cut - 1)),
        (shift_day(span[0], cut), shift_day(span[1], -cut)),
        (shift_day(span[1], 1 - cut), span[1]),
    )[part]


def half_of_span(span: Span, second: bool) -> Span:
    """Return the first 15 days of a month or the rest; of a longer span half of its months."""
    whole = (span[1].year - span[0].year) * 12 + span[1].month - span[0].month + 1
    if whole == 1:
        middle = span[0].replace(day=16)
    else:
        year, month = divmod(span[0].month - 1 + whole // 2, 12)
        middle = date(span[0].year + year, month + 1, 1)
    return (middle, span[1]) if second else (span[0], shift_day(middle, -1))


def stretch(span: Span, nth: int, length: int) -> Span:
    """Return the nth stretch of `length` days in a span, or the last one (-1)."""
    if nth < 0:
        return max(span[0], shift_day(span[1], 1 - length)), span[1]
    first = shift_day(span[0], (nth - 1) * length)
    if first > span[1]:
        raise ValueError(f"{span[0]} to {span[1]} has no such days")
    return first, min(span[1], shift_day(first, length - 1))


def nth_weekday(span: Span, nth: int, number: int, length: int = 1) -> Span:
    """Return the nth (or last, -1) such weekday of a span, with `length` - 1 days after it."""
    if nth < 0:
        first = shift_day(span[1], -((span[1].weekday() - number) % 7))
    else:
        first = shift_day(span[0], (number - span[0].weekday()) % 7 + 7 * (nth - 1))
    if not span[0] <= first <= span[1]:
        raise ValueError(f"{span[0]} to {span[1]} has no such day")
    return first, shift_day(first, length - 1)


def last_ones(today: date, count: int, unit: str) -> Span:
    """Return the last `count` days, weeks, months or years, up to today."""
    if unit in ("day", "week"):
        return shift_day(today, -count * (7 if unit == "week" else 1)), today
    number = today.year * 12 + today.month - 1 - count * (12 if unit == "year" else 1)
    year, month = divmod(number, 12)
    if year < 1:
        return date.min, today
    day = min(today.day, calendar.monthrange(year, month + 1)[1])
    return date(year, month + 1, day), today


def ago(today: date, count: int, unit: str) -> Span:
    """Return the days about so long ago: days exactly, longer units give or take half of one."""
    length = {"day": 1, "week": 7, "month": 30, "year": 365}[unit]
    slack = {"day": 0, "week": 3, "month": 15, "year": 180}[unit]
    return days_back(today, count * length + slack, max(count * length - slack, 0))


def _length(span: Span) -> int:
    return (span[1] - span[0]).days + 1


# A bare month, weekday, year or season only counts with other words ("in", "since").
DAYS, MONTH, BARE, WEEKDAY, YEAR, SEASON = map(chr, range(0xE000, 0xE006))
_FIRST, _LAST = 0xE100, 0xF8FF
_MARK = re.compile(f"[{DAYS}-{SEASON}][{chr(_FIRST)}-{chr(_LAST)}]")
_PRIVATE = re.compile("[\ue000-\uf8ff]")


def mark_of(*kinds: str) -> str:
    """Return the pattern of a mark of one of these kinds."""
    return f"(?:[{''.join(kinds)}][{chr(_FIRST)}-{chr(_LAST)}])"


@frozen
class ReadTime:
    """A time and the words it was read from. `searchable`: an entry may have these words too."""

    time: NamedTime
    text: str
    searchable: bool


class MarkedText:
    """A text in which a mark replaces each time that a rule has found."""

    def __init__(self, text: str, today: date) -> None:
        self.text = _PRIVATE.sub(" ", unicodedata.normalize("NFC", text))
        self.today = today
        self._read: list[ReadTime] = []

    def apply(self, rule: DayRule) -> None:
        """Mark all that a rule finds, except where it cannot compute days."""
        self.text = _compile(rule.pattern).sub(lambda found: self._mark(rule, found), self.text)

    def _mark(self, rule: DayRule, found: re.Match[str]) -> str:
        place = _FIRST + len(self._read)
        if place > _LAST:
            return found[0]
        try:
            time = rule.time(self, found)
        except (ValueError, LookupError):
            return found[0]
        if time is None or time.latest_begun(self.today) is None:
            return found[0]
        self._read.append(ReadTime(time, self.unmark(found[0]), rule.searchable))
        return rule.kind + chr(place)

    @property
    def empty(self) -> bool:
        """Return True when no time was read yet."""
        return not self._read

    def time(self, mark: str) -> NamedTime:
        """Return the time of a mark."""
        return self._at(mark).time

    def times(self) -> list[ReadTime]:
        """Return the times that count by themselves, in the order of the text."""
        return [self._at(mark[0]) for mark in _MARK.finditer(self.text) if self._counts(mark[0])]

    def rest(self, *, with_searchable: bool) -> str:
        """Return the text without the words of `times`, except searchable ones on request."""

        def text(mark: re.Match[str]) -> str:
            gone = self._counts(mark[0]) and not (with_searchable and self._at(mark[0]).searchable)
            return " " if gone else self._at(mark[0]).text

        return _MARK.sub(text, self.text)

    def unmark(self, text: str) -> str:
        """Return a text with the original words in place of its marks."""
        return _MARK.sub(lambda mark: self._at(mark[0]).text, text)

    def _at(self, mark: str) -> ReadTime:
        return self._read[ord(mark[1]) - _FIRST]

    def _counts(self, mark: str) -> bool:
        if mark[0] == YEAR:
            return self.time(mark).year != self.today.year
        return mark[0] in (DAYS, MONTH)


ToTime = Callable[[MarkedText, re.Match[str]], NamedTime | None]


@frozen
class DayRule:
    """A rule that finds times of a kind.

    kind        the kind of its marks
    pattern     the pattern to look for
    time        makes a time of a match; returns None, or raises ValueError or LookupError, when
                the match is no time
    searchable  see `ReadTime`
    """

    kind: str
    pattern: str
    time: ToTime
    searchable: bool = False


def rules(kind: str, time: ToTime, *patterns: str, searchable: bool = False) -> tuple[DayRule, ...]:
    """Return a rule for each pattern; upper and lower case are the same."""
    return tuple(DayRule(kind, pattern, time, searchable) for pattern in patterns)


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    """Compile a pattern at first use: all rules together take 60 ms."""
    return re.compile(pattern, re.IGNORECASE)
