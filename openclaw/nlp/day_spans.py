"""Days counted out of a calendar: pure arithmetic on spans of days.

A `Span` is (first day, last day), inclusive. Days before year 1 or after 9999 are cut to these.
"""

from __future__ import annotations

import calendar
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

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


# A bare month, weekday, year or season only counts with other words ("in", "since").
DAYS, MONTH, BARE, WEEKDAY, YEAR, SEASON = map(chr, range(0xE000, 0xE006))
_FIRST, _LAST = 0xE100, 0xF8FF
_MARK = re.compile(f"[{DAYS}-{SEASON}][{chr(_FIRST)}-{chr(_LAST)}]")
_PRIVATE = re.compile("[\ue000-\uf8ff]")


def mark_of(*kinds: str) -> str:
    """The pattern of a mark of one of these kinds."""
    return f"(?:[{''.join(kinds)}][{chr(_FIRST)}-{chr(_LAST)}])"


@dataclass(frozen=True, slots=True)
class Read:
    """A time and the words it was read from; `said`: an entry may say these words as well."""

    time: Time
    text: str
    said: bool


class Marked:
    """A text with marks for the times that rules have found in it."""

    def __init__(self, text: str, today: date) -> None:
        self.text = _PRIVATE.sub(" ", unicodedata.normalize("NFC", text))
        self.today = today
        self._read: list[Read] = []

    def apply(self, rule: Rule) -> None:
        """Mark all that a rule finds; what it cannot make days of stays as it is."""
        self.text = _compiled(rule.pattern).sub(lambda found: self._marked(rule, found), self.text)

    def _marked(self, rule: Rule, found: re.Match[str]) -> str:
        place = _FIRST + len(self._read)
        if place > _LAST:
            return found[0]
        try:
            time = rule.time(self, found)
        except (ValueError, LookupError):
            return found[0]
        if time is None or time.settled(self.today) is None:
            return found[0]
        self._read.append(Read(time, self.written(found[0]), rule.said))
        return rule.kind + chr(place)

    @property
    def empty(self) -> bool:
        """Whether nothing was read yet."""
        return not self._read

    def time(self, mark: str) -> Time:
        """The time of a mark."""
        return self._at(mark).time

    def counted(self) -> list[Read]:
        """What was read and is a time by itself, in the order of the text."""
        return [self._at(mark[0]) for mark in _MARK.finditer(self.text) if self._counts(mark[0])]

    def rest(self, *, said: bool) -> str:
        """The text without what is counted; `said` leaves what an entry may say as well."""

        def text(mark: re.Match[str]) -> str:
            gone = self._counts(mark[0]) and not (said and self._at(mark[0]).said)
            return " " if gone else self._at(mark[0]).text

        return _MARK.sub(text, self.text)

    def written(self, text: str) -> str:
        """A text with its marks as they were written."""
        return _MARK.sub(lambda mark: self._at(mark[0]).text, text)

    def _at(self, mark: str) -> Read:
        return self._read[ord(mark[1]) - _FIRST]

    def _counts(self, mark: str) -> bool:
        if mark[0] == YEAR:
            return self.time(mark).year != self.today.year
        return mark[0] in (DAYS, MONTH)


ToTime = Callable[[Marked, re.Match[str]], Time | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of time, its pattern, and what makes a time of what the pattern finds.

    `time` returns None, or raises ValueError or LookupError, for what is no time after all.
    `said`: see `Read`.
    """

    kind: str
    pattern: str
    time: ToTime
    said: bool = False


def rules(kind: str, time: ToTime, *patterns: str, said: bool = False) -> tuple[Rule, ...]:
    """A rule for each pattern; capitals and small letters are the same."""
    return tuple(Rule(kind, pattern, time, said) for pattern in patterns)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """When it is needed: all rules together take 60 ms."""
    return re.compile(pattern, re.IGNORECASE)
