"""The days, spans and months that a question names, in English and German (and some in French,
Spanish and other languages): pure rules, no heavy import.

What is meant, where people may mean different things:
- A week is Monday to Sunday; the first week of a month is its days 1 to 7, the last its last seven.
- A month is halved after its 15th. Early, mid and late are thirds. Spring is March to May.
- What is named without a year is the latest that has begun ("December" in May is last year's);
  "last March", and "in summer" as it may be a habit or a plan, is the latest that is over.
- "Last week" and "last month" are those of the calendar, "the past week" and "the last three days"
  are counted back from today. "On Monday" is before today, "since" is until today.
- The running year by itself ("in 2026") names nothing, as it would speak for every note of it.
- A month or more that holds another named span ("in March, on 9 March") is not counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from openclaw.retrieval import day_words as say
from openclaw.retrieval import spans
from openclaw.retrieval.day_marks import (
    BARE,
    DAYS,
    MONTH,
    SEASON,
    WEEKDAY,
    YEAR,
    Marked,
    Read,
    mark_of,
    rules,
)
from openclaw.retrieval.day_rules import AFTER_PARTS, DAY_RULES
from openclaw.retrieval.spans import Span, Time

LONG = 28  # days: a span of so many gives way to a shorter one within


@dataclass(frozen=True, slots=True)
class Days:
    """What a text names: `spans` in its order; `rest` is the text without them but for words that
    an entry may say as well (yesterday, last week), `without` the text without any of them."""

    spans: tuple[Span, ...]
    rest: str
    without: str


def read_days(text: str, today: date) -> Days:
    """The days that a text names; `today` is what "yesterday" and "May" count from."""
    marked = Marked(text, today)
    for rule in DAY_RULES:
        marked.apply(rule)
    for rule in _WITHOUT_MARKS if marked.empty else _MADE_OF_THEM:
        marked.apply(rule)
    found = _shortest(marked.counted(), today)
    return Days(found, marked.rest(said=True), marked.rest(said=False))


def _shortest(counted: list[Read], today: date) -> tuple[Span, ...]:
    """The spans, without one of a month or more that holds another that is named."""
    known = [(span, read.said) for read in counted if (span := read.time.settled(today))]
    named = [span for span, said in known if not said]

    def kept(span: Span) -> bool:
        long = (span[1] - span[0]).days + 1 >= LONG
        return not long or not any(
            span != other and span[0] <= other[0] and other[1] <= span[1] for other in named
        )

    return tuple(dict.fromkeys(span for span, _ in known if kept(span)))


def _part(marked: Marked, found: re.Match[str]) -> Time:
    """Early, mid or late."""
    word = found["part"].casefold()
    part = 1 if word.startswith("mi") else 2 if word.startswith(("late", "end")) else 0
    return marked.time(found["span"]).part(lambda span: spans.thirds(span, part))


def _nth(marked: Marked, found: re.Match[str]) -> Time | None:
    """The first week, the second half, the last ten days, the first weekend of a month."""
    nth, unit = say.ordinal(found["nth"]), say.unit(found["unit"])
    time = marked.time(found["span"])
    if unit == "half":
        return time.part(lambda span: spans.half(span, nth != 1)) if nth < 3 else None
    if unit == "weekend":
        return time.part(lambda span: spans.nth_weekday(span, nth, 5, 2))
    if unit not in ("day", "week"):
        return None
    count = say.number(found.groupdict().get("count"), found["unit"])
    length = count * (7 if unit == "week" else 1)
    return time.part(lambda span: spans.stretch(span, nth, length))


def _nth_weekday(marked: Marked, found: re.Match[str]) -> Time:
    number = marked.time(found["weekday"]).of(1)[0].weekday()
    nth = say.ordinal(found["nth"])
    return marked.time(found["span"]).part(lambda span: spans.nth_weekday(span, nth, number))


def _quarter(marked: Marked, found: re.Match[str]) -> Time | None:
    """The second quarter, or half, of a year."""
    nth, length = say.ordinal(found["nth"]), 3 if found["unit"].casefold()[0] == "q" else 6
    last = 12 if nth < 0 else nth * length
    if last > 12:
        return None
    year = marked.time(found["span"]).year if found["span"] else None
    return spans.months(last - length + 1, last, year)


def _week_of(marked: Marked, found: re.Match[str]) -> Time:
    """The week, or weekend, of a day, or the one before or after that."""
    week = say.unit(found["unit"]) == "week"
    how = found["how"].casefold()

    def of(span: Span) -> Span:
        if how in ("before", "vor"):
            day = spans.shifted(span[0], -7)
        elif how in ("after", "nach"):
            day = spans.shifted(span[1], 7 if week else 2)
        else:
            day = span[0]
        return spans.week(day) if week else spans.weekend(day)

    return marked.time(found["span"]).part(of)


def _joined(marked: Marked, found: re.Match[str]) -> Time:
    return spans.joined(marked.time(found["a"]), marked.time(found["b"]))


def _since(marked: Marked, found: re.Match[str]) -> Time | None:
    time = marked.time(found["span"])
    if found["span"][0] == YEAR and time.year == marked.today.year:
        return None
    return spans.until_today(time, marked.today)


def _alone(marked: Marked, found: re.Match[str]) -> Time:
    return marked.time(found["span"])


def _over(marked: Marked, found: re.Match[str]) -> Time | None:
    """The latest that is over."""
    span = marked.time(found["span"]).over(marked.today)
    return spans.fixed(span) if span else None


_ANY = mark_of(DAYS, MONTH, BARE, WEEKDAY, YEAR, SEASON)
_SURE = mark_of(DAYS, MONTH, BARE)
_LONGER = mark_of(MONTH, BARE, YEAR, SEASON)
_THE = r"(?:(?:the|dem|den|der)\s+)?"
_MONTH_OF = r"(?:the\s+)?(?:month\s+of\s+|monats?\s+)?"
_IN = rf"(?:of|in|im|des|vom|von)\s+{_MONTH_OF}"
_PART = r"(?P<part>early|late|mid|(?:beginning|start|middle|end)\s+of|anfang|beginn|mitte|ende)"
_UNIT = rf"(?P<unit>{say.UNIT}|weekend|wochenendes?|half|h\u00e4lfte)"
_COMPOUND = r"(?P<unit>wochenende|wochen?|h\u00e4lfte|tage)"
_QUARTER = r"(?P<unit>quarter|quartals?|halbjahr(?:es)?)\b"
_NTH = rf"\b(?P<nth>{say.NTH})"
_COUNT = rf"(?:(?P<count>{say.COUNT})\s+)?"
_TO = r"(?:\s*[-\u2013\u2014]\s*|\s+(?:to|until|till|through|bis(?:\s+zum?)?)\s+)"
_DURING = r"(?:in|during|within|over|throughout|im|en|em|w\u00e4hrend)"
_NO_OF = r"(?!\w|\s+of\b)"

_WITHOUT_MARKS = (
    *rules(
        DAYS,
        _quarter,
        rf"\b(?:in the|im)\s+(?P<nth>{say.NTH})\s+{_QUARTER}(?!\s+(?:of|de[sr]|von)\b)(?P<span>)",
    ),
    *AFTER_PARTS,
)
_MADE_OF_THEM = (
    *rules(
        DAYS, _nth_weekday, rf"{_NTH}\s+(?P<weekday>{mark_of(WEEKDAY)})\s+{_IN}(?P<span>{_LONGER})"
    ),
    *rules(
        DAYS,
        _nth,
        rf"{_NTH}\s+{_COUNT}{_UNIT}\s+{_IN}(?P<span>{_LONGER})(?:e?s)?(?!\w)",
        rf"{_NTH}\s+{_COUNT}(?P<span>{mark_of(BARE)}){_COMPOUND}\b",
    ),
    *rules(
        DAYS,
        _quarter,
        rf"{_NTH}\s+{_QUARTER}\s+(?:{_IN})?(?P<span>{mark_of(YEAR)})",
    ),
    *rules(DAYS, _part, rf"\b{_PART}[\s-]+(?:des\s+)?{_MONTH_OF}(?P<span>{_LONGER})(?:e?s)?(?!\w)"),
    *rules(
        DAYS,
        _week_of,
        r"\b(?:last\s+)?(?P<unit>week|weekend|woche|wochenende)"
        r"\s+(?P<how>of|from|starting|beginning|around|before|after|vom|um|ab|mit|vor|nach)\s+"
        rf"{_THE}(?P<span>{mark_of(DAYS)})",
    ),
    *_WITHOUT_MARKS,
    *rules(
        DAYS,
        _joined,
        rf"\b(?:between|zwischen)\s+{_THE}(?P<a>{_ANY})\s+(?:and|und)\s+{_THE}(?P<b>{_ANY})",
        rf"\b(?:from|von|vom)\s+{_THE}(?P<a>{_ANY}){_TO}{_THE}(?P<b>{_ANY})",
        rf"(?P<a>{_SURE}){_TO}{_THE}(?P<b>{_SURE})",
    ),
    *rules(
        DAYS,
        _over,
        rf"\b{say.LAST}\s+(?P<span>{mark_of(BARE, SEASON, WEEKDAY)}){_NO_OF}",
        rf"\b{_DURING}\s+(?:the\s+)?(?P<span>{mark_of(SEASON)}){_NO_OF}",
        said=True,
    ),
    *rules(DAYS, _since, rf"\b(?:since|seit|depuis|desde)\s+{_THE}(?P<span>{_ANY})(?!\w)"),
    *rules(
        DAYS,
        _alone,
        rf"\b(?:{_DURING}|{say.THIS})\s+(?:the\s+month\s+of\s+|monat\s+)?(?P<span>{mark_of(BARE)})(?!\w)",
    ),
    *rules(
        DAYS,
        _alone,
        rf"\b{say.THIS}\s+(?P<span>{mark_of(SEASON)}){_NO_OF}",
        rf"\b(?:on|am)\s+(?P<span>{mark_of(WEEKDAY)})",
        said=True,
    ),
)
