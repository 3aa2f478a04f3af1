"""Reads which days a request names: "monday" may be the next one or the last."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from datetime import date, timedelta
from functools import lru_cache

from openclaw.frozen import frozen
from openclaw.nlp.calendar_days import Span
from openclaw.nlp.dates import Days, Prefer, find_named_day, parse_day, read_days
from openclaw.nlp.sentences import LONGEST_MESSAGE

SIDES: tuple[Prefer, ...] = ("future", "past")
MOST_NAMED = 5
"""Days of a request that are read one by one."""


@frozen
class NamedDays:
    """Days that a request names, in its `words`, and what these may mean: `marks` as days to come
    and as days that are over, `others` as longer times."""

    words: str = ""
    marks: tuple[Span, ...] = ()
    others: tuple[Span, ...] = ()

    @property
    def spans(self) -> tuple[Span, ...]:
        return (*self.marks, *self.others)

    def next_span(self, today: date) -> Span | None:
        """Return the first of these times that is not over."""
        return min((span for span in self.spans if span[1] >= today), default=None)

    def find_in(self, days: Sequence[date]) -> list[bool]:
        """Return which days are meant: "monday" is the last one where the next is not there."""
        found = ([first <= day <= last for day in days] for first, last in self.spans)
        return next(filter(any, found), [False] * len(days))


@lru_cache(4)
def read_past_days(request: str, today: date) -> Days:
    """Read the days that are over, or of today, that a request names (see `read_days`): once for
    all that goes with it, and in no more than its beginning, as 100 KB of a log take seconds."""
    return read_days(request[:LONGEST_MESSAGE], today)


@lru_cache(4)
def name_days(request: str, today: date) -> NamedDays:
    """Read the days that a request names. A weekday loads dateparser, which takes 0.3 s."""
    request = unicodedata.normalize("NFC", request[:LONGEST_MESSAGE])
    words = find_named_day(request) or ""
    marks = (_read_span(words, today, prefer) for prefer in SIDES if words)
    known = tuple(dict.fromkeys(filter(None, marks)))
    past, near = read_past_days(request, today), read_days(request, today, told=True).spans
    if len(past.spans) == 1 and words in past.words and past.spans[0] not in known:
        return NamedDays(past.words.strip(), (), (*past.spans, *near))  # "from 1 to 5 March"
    return NamedDays(words, known)


def name_each_day(request: str, today: date) -> list[NamedDays]:
    """Read the days that a request names one after the other."""
    found: list[NamedDays] = []
    while len(found) < MOST_NAMED and (named := name_days(request, today)).words:
        found.append(named)
        request = request.partition(named.words)[2]
    return found


def _read_span(words: str, today: date, prefer: Prefer) -> Span | None:
    """Return the days that words mean: of "next week" all seven, of a weekend both."""
    first, last = (parse_day(f"{edge} of {words}", today, prefer) for edge in ("start", "end"))
    if first and last and first < last:
        return first, last
    day = parse_day(words, today, prefer)
    if day and last and last - day == timedelta(1):  # a weekend
        return day, last
    return (day, day) if day else None
