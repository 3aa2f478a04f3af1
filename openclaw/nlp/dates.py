"""Read days as people write them: those that a question or a note names ("last week", "im März"),
the one that a request names, and one that is typed ("by friday").

One table of rules finds them all (`date_patterns.py`). A day that may be over or to come is read as
the caller prefers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import date, timedelta
from functools import lru_cache
from itertools import product

from openclaw.frozen import frozen
from openclaw.nlp import date_patterns as patterns
from openclaw.nlp.calendar_days import Span, move, shift, unit_of
from openclaw.nlp.date_patterns import Prefer, Time, find_places, ignore_case, read_times
from openclaw.nlp.sentences import LONGEST_MESSAGE

LONGEST_TYPED = 60
LONGEST_LEAD = 40  # characters: "between the"
SIDES: tuple[Prefer, ...] = ("future", "past")
LEAP = date(2024, 12, 31)
MOST_NAMED = 5  # days of a request that are read one by one
VAGUE = (  # 01/02/2026 is another day in another country
    r"[\d\s:.,-]*|(?:0?\d|1[012])[/-](?:0?\d|1[012])(?:[/-]\d+)?|\D|now|jetzt|maintenant|ahora"
    r"|\d\d?(?::\d\d)?\s*[ap]\.?m\.?"
)


@frozen
class Days:
    """The days that a text names, in order, the text without their words, and the first words."""

    spans: tuple[Span, ...]
    rest: str
    words: str = ""


def read_days(text: str, today: date, *, told: bool = False) -> Days:
    """Return the days that a question names, in the past unless it says a year; with `told` those
    that a note of the day `today` names, near it on either side.

    A time without a year is the latest that has begun ("December" in May is last year's); "last
    March" is the latest that is over. "Last week" is that of the calendar, "the past week" is
    counted back from today, "on Monday" is before today. The current year by itself does not count,
    since all its notes would match.
    """
    text = unicodedata.normalize("NFC", text)
    times: list[Time] = []
    for time in read_times(find_places(text, "past"), today, "past"):
        time = _read_before(time, text[times[-1].end if times else 0 : time.start], today)
        joined = _join(text, times[-1], time) if times else None
        times[-1:] = [joined] if joined else [*times[-1:], time]
    times = [time for time in times if not time.needs]
    words = text[times[0].start : times[0].end] if times else ""
    ends = (0, *(time.end for time in times)), (*(time.start for time in times), len(text))
    rest = " ".join(text[end:start] for end, start in zip(*ends, strict=True))
    spans = (_to_nearest(time, today) if told else time.span for time in times)
    return Days(tuple(dict.fromkeys(spans)), rest, words)


def read_days_of_year(text: str) -> tuple[Span, ...]:
    """Return the days that a text names without a year, of every year: those of `LEAP`'s."""
    times = read_times(find_places(unicodedata.normalize("NFC", text), "past"), LEAP, "past")
    return tuple(dict.fromkeys(time.span for time in times if time.yearly and not time.needs))


def _to_nearest(time: Time, today: date) -> Span:
    """Return the days of a time, those without a year in the year that is nearest to today."""
    with suppress(ValueError):
        return move(time.span, int(time.yearly and (today - time.span[1]).days > 182))
    return time.span


def _read_before(time: Time, before: str, today: date) -> Time:
    """Return a time with the words before it that cut it ("the first week of") or let it count."""
    at = time.start - len(before)
    for make, pattern in patterns.WORDS_BEFORE * 2:
        found = ignore_case(rf"(?<!\w){pattern}$").search(before)
        with suppress(ValueError, LookupError, OverflowError):
            if found and (span := make(found, time, today)):
                yearly = time.yearly and pattern != patterns.SINCE
                time = Time(at + found.start(), time.end, span, yearly)
                before = before[: found.start()]
    return time


def _join(text: str, first: Time, last: Time) -> Time | None:
    """Return the days from one time to the other, None when the words between do not say so. A year
    that only one of them says counts for both, but they may cross the turn of the year or week."""
    lead = text[: first.start][-LONGEST_LEAD:]
    found = ignore_case(patterns.JOINED).search(f"{lead}\0{text[first.end : last.start]}")
    if not found or not (found["sure"] or found["both"] or {first.needs, last.needs} <= {"", "in"}):
        return None
    (begin, end), yearly = (first.span[0], last.span[1]), first.yearly and last.yearly
    with suppress(ValueError, OverflowError):
        if last.yearly:
            end = end.replace(year=end.year if yearly else begin.year)
            end = end if begin <= end else end.replace(year=end.year + 1)
        elif first.yearly:
            begin = begin.replace(year=end.year)
            begin = begin if begin <= end else begin.replace(year=begin.year - 1)
        elif begin > end:
            begin -= timedelta(7)
    return Time(first.start, last.end, (min(begin, end), max(begin, end)), yearly)


# -------- the day that a request names


def find_named_day(sentence: str) -> str | None:
    """Return the words of the first later day that a sentence names, else "today" or None."""
    named = [found[0] for *_, found in find_places(sentence, "future")]
    later = (words for words in named if not ignore_case(patterns.NOW).fullmatch(words))
    return next(later, "today" if named else None)


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
    """Read the days that a request names first: "monday" may be the next one or the last."""
    request = unicodedata.normalize("NFC", request[:LONGEST_MESSAGE])
    words = find_named_day(request) or ""
    times = (_read_phrase(words, today, prefer) for prefer in SIDES)
    known = tuple(dict.fromkeys(time.span for time in times if time))
    past, near = read_past_days(request, today), read_days(request, today, told=True).spans
    if len(past.spans) == 1 and words in past.words and past.spans[0] not in known:
        return NamedDays(past.words.strip(), (), (*past.spans, *near))  # "from 1 March to 5 May"
    return NamedDays(words, known)


def name_each_day(request: str, today: date) -> list[NamedDays]:
    """Read the days that a request names one after the other."""
    found: list[NamedDays] = []
    request = unicodedata.normalize("NFC", request)
    while len(found) < MOST_NAMED and (named := name_days(request, today)).words:
        found.append(named)
        request = "".join(_whole_words(named).split(request, 1)[1:])
    return found


def without_days(request: str, named: Iterable[NamedDays]) -> str:
    """Return a request without the words of these days that it names."""
    for each in named:
        request = _whole_words(each).sub(" ", request)
    return request


def _whole_words(named: NamedDays) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(named.words)}(?!\w)")  # not those of "Morgenkreis"


# -------- a day that is typed


def parse_day(text: str, today: date, prefer: Prefer = "future") -> date | None:
    """Return the day that a phrase means, None when that is not certain.

    A weekday is the first one after today, so "friday" and "next friday" are the same; "end of
    week" is its Sunday, a weekend its Saturday, a month its last day. With `prefer` "past" a day
    without a year is before today, and a month is its first day.
    """
    raw = " ".join(text.split()).casefold() if len(text) <= LONGEST_TYPED else ""
    raw = re.sub(r" \d\d?:\d\d$", "", raw)  # "friday 9:00"
    words = raw.strip(" .,;!")
    time = _read_phrase(raw, today, prefer) or _read_phrase(words, today, prefer)
    if time and not re.fullmatch(r"\d{4}(?:-\d\d)?", words):
        return _day_of(time, words, today, prefer)
    return None if re.fullmatch(VAGUE, words) else _parse_by_library(words, today, prefer)


def _read_phrase(words: str, today: date, prefer: Prefer) -> Time | None:
    """Return the time that a phrase means as a whole."""
    lead = len(words) - len(ignore_case(patterns.LEAD).sub("", words, 1))
    times = read_times(find_places(words, "typed"), today, prefer)
    return next((t for t in times if t.start <= lead and t.end == len(words)), None)


def _day_of(time: Time, words: str, today: date, prefer: Prefer) -> date:
    """Return the day by which something is due then, or from which something is asked for."""
    first, last = time.span
    if time.span == unit_of(first, "weekend"):
        return max(first, today) if prefer == "future" else first
    if not time.needs and not re.search(r"\d", words):  # "next month", no month by its name
        for unit, ahead in product(("week", "month", "year"), (1, -1)):
            if time.span == unit_of(today, unit, ahead):
                return shift(today, unit, ahead)
    return last if prefer == "future" else first


def _parse_by_library(words: str, today: date, prefer: Prefer) -> date | None:
    if re.search(r"\d", words) and ignore_case(patterns.DAY_NAME).search(words):
        return None  # "Friday at 10" is no 10th of a month
    with suppress(LookupError):
        day = patterns.ask_library(words, today, prefer)
        # Far away, and no year in the words: "the 32nd" is not a day of 2032.
        if abs((day - today).days) <= 366 or re.search(r"\d{4}", words):
            return day
    return None


def read_leading_day(text: str, today: date) -> tuple[int, date | None]:
    """Return the length of the phrase at the beginning that means a day, and the day; None for one
    that there is not ("friday 19 december" where that is a Saturday)."""
    if quoted := re.match(r"[\"\u201c]([^\"\u201d]+)[\"\u201d]", text):
        return quoted.end(), parse_day(quoted[1], today)
    lead = len(text) - len(ignore_case(patterns.LEAD).sub("", text, 1))
    places = find_places(text[:LONGEST_TYPED], "future")
    named = [text[: found.end()] for *_, found in places if found.start() <= lead]
    count = ignore_case(rf"{patterns.COUNTED}\b").match(text)
    first = "" if named else text.split()[0].rstrip(".,;!?)]")
    for piece in (*named, *([count[0]] if count else []), first):
        day = parse_day(piece, today) or parse_day(re.sub(r"(?<=\w)[_-](?=\w)", " ", piece), today)
        if day is not None:
            return len(piece), day
    return len(named[0]) if named else 0, None
