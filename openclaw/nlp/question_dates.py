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

from openclaw.nlp import day_spans
from openclaw.nlp.day_spans import (
    BARE,
    DAYS,
    MONTH,
    SEASON,
    WEEKDAY,
    YEAR,
    Marked,
    Read,
    Span,
    Time,
    ToTime,
    mark_of,
    rules,
)
from openclaw.nlp.lexicon import day_words as say

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
    return marked.time(found["span"]).part(lambda span: day_spans.thirds(span, part))


def _nth(marked: Marked, found: re.Match[str]) -> Time | None:
    """The first week, the second half, the last ten days, the first weekend of a month."""
    nth, unit = say.ordinal(found["nth"]), say.unit(found["unit"])
    time = marked.time(found["span"])
    if unit == "half":
        return time.part(lambda span: day_spans.half(span, nth != 1)) if nth < 3 else None
    if unit == "weekend":
        return time.part(lambda span: day_spans.nth_weekday(span, nth, 5, 2))
    if unit not in ("day", "week"):
        return None
    count = say.number(found.groupdict().get("count"), found["unit"])
    length = count * (7 if unit == "week" else 1)
    return time.part(lambda span: day_spans.stretch(span, nth, length))


def _nth_weekday(marked: Marked, found: re.Match[str]) -> Time:
    number = marked.time(found["weekday"]).of(1)[0].weekday()
    nth = say.ordinal(found["nth"])
    return marked.time(found["span"]).part(lambda span: day_spans.nth_weekday(span, nth, number))


def _quarter(marked: Marked, found: re.Match[str]) -> Time | None:
    """The second quarter, or half, of a year."""
    nth, length = say.ordinal(found["nth"]), 3 if found["unit"].casefold()[0] == "q" else 6
    last = 12 if nth < 0 else nth * length
    if last > 12:
        return None
    year = marked.time(found["span"]).year if found["span"] else None
    return day_spans.months(last - length + 1, last, year)


def _week_of(marked: Marked, found: re.Match[str]) -> Time:
    """The week, or weekend, of a day, or the one before or after that."""
    week = say.unit(found["unit"]) == "week"
    how = found["how"].casefold()

    def of(span: Span) -> Span:
        if how in ("before", "vor"):
            day = day_spans.shifted(span[0], -7)
        elif how in ("after", "nach"):
            day = day_spans.shifted(span[1], 7 if week else 2)
        else:
            day = span[0]
        return day_spans.week(day) if week else day_spans.weekend(day)

    return marked.time(found["span"]).part(of)


def _joined(marked: Marked, found: re.Match[str]) -> Time:
    return day_spans.joined(marked.time(found["a"]), marked.time(found["b"]))


def _since(marked: Marked, found: re.Match[str]) -> Time | None:
    time = marked.time(found["span"])
    if found["span"][0] == YEAR and time.year == marked.today.year:
        return None
    return day_spans.until_today(time, marked.today)


def _alone(marked: Marked, found: re.Match[str]) -> Time:
    return marked.time(found["span"])


def _over(marked: Marked, found: re.Match[str]) -> Time | None:
    """The latest that is over."""
    span = marked.time(found["span"]).over(marked.today)
    return day_spans.fixed(span) if span else None


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
_NOT_OF = rf"(?!\s+(?:of|before)\b|\s+(?:in|im)\s+(?:the\s+)?{mark_of(MONTH, BARE, SEASON)})"
_NO_PART = rf"(?!\s+(?:der|des|vor)\b){_NOT_OF}"
_PLURAL = r"(?:(?:day|week|month|year|night)s|tagen?|wochen|monaten?|jahren?)"


def _last_ones(marked: Marked, found: re.Match[str]) -> Time:
    count = say.number(found["count"], found["unit"])
    return day_spans.fixed(day_spans.last_ones(marked.today, count, say.unit(found["unit"])))


def _recent_weekend(marked: Marked, _: re.Match[str]) -> Time:
    """The latest weekend that has begun."""
    saturday = day_spans.weekday(day_spans.shifted(marked.today, 1), 5)
    return day_spans.fixed((saturday, day_spans.shifted(saturday, 1)))


AFTER_PARTS = (
    *rules(
        DAYS,
        _last_ones,
        rf"\b{say.LAST}\s+(?P<count>{say.COUNT})\s+(?P<unit>{say.UNIT})\b{_NO_PART}",
        rf"\b{say.LAST}\s+(?P<count>)(?P<unit>{_PLURAL})\b{_NO_PART}",
        rf"\b(?:past|previous)\s+(?P<count>)(?P<unit>week|month|year)\b{_NO_PART}",
    ),
    *rules(
        DAYS,
        _recent_weekend,
        rf"\b(?:(?:at|on|over)\s+the\s+weekend|(?:am|\u00fcbers)\s+wochenende)\b{_NOT_OF}",
        said=True,
    ),
)
"""Tried after the parts of a month: "the last three days of May", "am Wochenende vom 9. Mai"."""

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

_OF = r"(?:\s*(?:st|nd|rd|th|\.|er|º)?(?:\s+(?:of|de|di))?\s+)"
_TH = r"(?:st|nd|rd|th|\.)?"
_TO_DAY = (
    r"\s*(?:[-\u2013\u2014/]|\b(?:to|until|till|through|bis(?:\s+zum)?|au|al)\b)\s*(?:the\s+)?"
)
_AND = r"\s+(?:and|und)\s+(?:the\s+|dem\s+)?"
_FROM = r"(?:\b(?:from|vom|von)\s+(?:the\s+|dem\s+)?)?"
_BETWEEN = r"\b(?:between|zwischen)\s+(?:the\s+|dem\s+)?"
_DAY = r"(?<![\d.,:/-])(?P<day>\d{1,2})"
_LAST = r"(?P<last>\d{1,2})"
_NAME = rf"\b(?P<month>{say.MONTH})\b\.?"
_NO_MORE = r"(?:st|nd|rd|th)?(?![\d:%]|[.,/-]\d)"
_YEAR = r"(?P<year>(?:19|20)\d{2})(?!\d)"
_IN_YEAR = r"(?:,?\s+(?:of\s+|de\s+)?(?P<year>\d{4})(?!\d))?"
_SEASON = rf"\b(?P<season>{say.SEASON})\b"
_FULL_YEAR = r"(?:(?<=\bmid-)|(?<![\d.:/\u20ac$\u00a3#-]))(?:19|20)\d{2}(?![\d.:/-]*\d)"
_AMOUNT = (
    r"(?!\s*(?:%|\u20ac|\$|(?:euros?|eur|dollars?|usd|chf|gbp|pounds?|francs?|km|mm|cm|m|kg|g|mb|gb|kb|kwh"
    r"|k?cal|watts?|w|v|mah|hz|rpm|steps|pieces|people|words|miles|feet|st\u00fcck|schritte|leute)\b))"
)
_LATE = r"(?:abend|morgen|vormittag|mittag|nachmittag|nacht)?"
_OLD = r"(?:letzte|vergangene|vorige)[nrsm]?"


def _year(found: re.Match[str]) -> int | None:
    said = found.groupdict().get("year")
    return int(said) if said else None


def _iso(_: Marked, found: re.Match[str]) -> Time:
    year, month, day = map(int, found.groups())
    return day_spans.days(month, day, day, year)


def _iso_month(_: Marked, found: re.Match[str]) -> Time:
    return day_spans.months(int(found[2]), int(found[2]), int(found[1]))


def _dotted(_: Marked, found: re.Match[str]) -> Time:
    day = int(found["day"])
    return day_spans.days(int(found["m"]), day, day, _year(found))


def _day(_: Marked, found: re.Match[str]) -> Time | None:
    """One day of a month, or several: "3-9 March"."""
    if not say.is_month(found["month"], found):
        return None
    first = int(found["day"])
    last = int(found.groupdict().get("last") or first)
    return day_spans.days(say.month(found["month"]), first, last, _year(found))


def _month(_: Marked, found: re.Match[str]) -> Time | None:
    if not say.is_month(found["month"], found):
        return None
    month = say.month(found["month"])
    return day_spans.months(month, month, _year(found))


def _calendar_week(_: Marked, found: re.Match[str]) -> Time:
    number = int(found["week"])
    return Time(lambda year: day_spans.week(date.fromisocalendar(year, number, 1)), _year(found))


def _quarter_of_year(_: Marked, found: re.Match[str]) -> Time:
    last = int(found["quarter"]) * 3
    return day_spans.months(last - 2, last, _year(found))


def _season(_: Marked, found: re.Match[str]) -> Time | None:
    if not say.is_season(found["season"], found):
        return None
    month = say.season(found["season"])
    return day_spans.months(month, month + 2, _year(found))


def _whole_year(_: Marked, found: re.Match[str]) -> Time:
    return day_spans.months(1, 12, int(found[0]))


def _days_ago(first: int, last: int) -> ToTime:
    return lambda marked, _: day_spans.fixed(day_spans.back(marked.today, first, last))


def _weeks_ago(weeks: int) -> ToTime:
    return lambda marked, _: day_spans.fixed(
        day_spans.week(day_spans.shifted(marked.today, -7 * weeks))
    )


def _weekends_ago(weeks: int) -> ToTime:
    return lambda marked, _: day_spans.fixed(
        day_spans.weekend(day_spans.shifted(marked.today, -7 * weeks))
    )


def _months_ago(periods: int, length: int) -> ToTime:
    """The month (length 1), quarter (3) or year (12) so many of them ago."""

    def time(marked: Marked, _: re.Match[str]) -> Time:
        number = (marked.today.year * 12 + marked.today.month - 1) // length - periods
        year, month = divmod(number * length, 12)
        return day_spans.months(month + 1, month + length, year)

    return time


def _ago(marked: Marked, found: re.Match[str]) -> Time:
    count = say.number(found["count"])
    return day_spans.fixed(day_spans.ago(marked.today, count, say.unit(found["unit"])))


def _weekday(marked: Marked, found: re.Match[str]) -> Time:
    day = day_spans.weekday(marked.today, say.weekday(found["weekday"]))
    return day_spans.fixed((day, day))


_IN_FIGURES = (
    *rules(DAYS, _iso, r"(?<![\d.-])(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?![.-]?\d)"),
    *rules(MONTH, _iso_month, r"(?<![\d.-])(\d{4})-(\d{2})(?![.-]?\d)"),
    *rules(
        DAYS,
        _dotted,
        r"(?<![\d.])(?P<day>\d{1,2})\.\s?(?P<m>\d{1,2})\.\s?(?P<year>\d{4})(?![.-]?\d)",
        r"(?:(?<=\bam )|(?<=\bvom )|(?<=\bzum )|(?<=\bbis )|(?<=\bdem )|(?<=\bseit )|(?<=\bund ))"
        r"(?P<day>\d{1,2})\.\s?(?P<m>\d{1,2})\.(?!\s?\d)",
    ),
    *rules(DAYS, _calendar_week, rf"\bKW\s?(?P<week>\d{{1,2}})\b(?:\s*[/ ]\s*{_YEAR})?"),
    *rules(
        DAYS,
        _quarter_of_year,
        rf"\bQ(?P<quarter>[1-4])[\s/-]*(?:(?:of|in)\s+)?{_YEAR}",
        rf"(?<![\d-]){_YEAR}[\s/-]*Q(?P<quarter>[1-4])\b",
    ),
    *rules(BARE, _quarter_of_year, r"\bQ(?P<quarter>[1-4])\b"),
)
_BY_NAME = (
    *rules(
        DAYS,
        _day,
        rf"{_BETWEEN}{_DAY}{_TH}{_AND}{_LAST}{_OF}{_NAME}{_IN_YEAR}",
        rf"{_FROM}{_DAY}{_TH}{_TO_DAY}{_LAST}{_OF}{_NAME}{_IN_YEAR}",
        rf"{_BETWEEN}{_NAME}\s+(?P<day>\d{{1,2}}){_TH}{_AND}{_LAST}{_NO_MORE}{_IN_YEAR}",
        rf"{_FROM}{_NAME}\s+(?P<day>\d{{1,2}}){_TH}{_TO_DAY}{_LAST}{_NO_MORE}{_IN_YEAR}",
        rf"(?<!\d)(?P<day>\d{{1,2}}){_OF}{_NAME}{_IN_YEAR}",
        rf"{_NAME}\s+(?P<day>\d{{1,2}}){_NO_MORE}{_IN_YEAR}",
    ),
    *rules(MONTH, _month, rf"{_NAME},?\s+(?:of\s+|de\s+)?(?P<year>\d{{4}})(?!\d)"),
    *rules(
        BARE,
        _month,
        rf"\b(?P<month>{say.MONTH})(?=(?:e?s|woche|wochen|wochenende|h\u00e4lfte|tage)?\b)",
    ),
    *rules(DAYS, _season, rf"{_SEASON}\s+(?:(?:of|in)\s+)?{_YEAR}", said=True),
    *rules(SEASON, _season, _SEASON, said=True),
    *rules(YEAR, _whole_year, rf"{_FULL_YEAR}{_AMOUNT}"),
)
_WEEKS = (
    *rules(DAYS, _weeks_ago(2), r"\b(?:week before last|vorletzte[nr]?\s+woche)\b", said=True),
    *rules(
        DAYS,
        _weeks_ago(1),
        rf"\b(?:last\s+week|{_OLD}\s+woche)\b{_NOT_OF}",
        r"\b(?:la semaine derni[e\u00e8]re|la semana pasada)\b",
        said=True,
    ),
    *rules(
        DAYS,
        _weeks_ago(0),
        rf"\b(?:{say.THIS}\s+(?:week|woche)|cette semaine|esta semana)\b",
        said=True,
    ),
    *rules(
        DAYS, _weekends_ago(1), rf"\b(?:last\s+weekend|{_OLD}\s+wochenende)\b{_NOT_OF}", said=True
    ),
    *rules(DAYS, _weekends_ago(0), rf"\b{say.THIS}\s+(?:weekend|wochenende)\b", said=True),
)
_FROM_TODAY = (
    *rules(
        DAYS,
        _days_ago(2, 2),
        r"\b(?:day before yesterday|vorgestern|avant-hier|anteayer)\b",
        said=True,
    ),
    *rules(
        DAYS,
        _days_ago(1, 1),
        r"\b(?:yesterday|gestern|hier soir|ayer|last\s+night|letzte\s+nacht)\b",
        said=True,
    ),
    *rules(
        DAYS,
        _days_ago(0, 0),
        r"\b(?:today|heute|aujourd['\u2019]hui|hoy|this\s+morning|tonight)\b",
        said=True,
    ),
    *rules(MONTH, _months_ago(1, 1), rf"\b(?:last\s+month|{_OLD}\s+monats?)\b", said=True),
    *rules(MONTH, _months_ago(0, 1), rf"\b{say.THIS}\s+(?:month|monats?)\b", said=True),
    *rules(DAYS, _months_ago(1, 3), rf"\b(?:last\s+quarter|{_OLD}\s+quartals?)\b{_NO_PART}"),
    *rules(DAYS, _months_ago(0, 3), rf"\b{say.THIS}\s+(?:quarter|quartals?)\b"),
    *rules(YEAR, _months_ago(1, 12), rf"\b(?:last\s+year|{_OLD}\s+jahr(?:es)?)\b", said=True),
    *rules(YEAR, _months_ago(0, 12), rf"\b{say.THIS}\s+(?:year|jahr(?:es)?)\b", said=True),
    *rules(WEEKDAY, _weekday, rf"\b(?P<weekday>{say.WEEKDAY}){_LATE}\b", said=True),
    *rules(
        DAYS,
        _ago,
        rf"\b(?P<count>{say.COUNT})\s+(?P<unit>{say.UNIT})\s+ago\b",
        rf"\bvor\s+(?P<count>{say.COUNT})\s+(?P<unit>{say.UNIT})\b",
    ),
)
DAY_RULES = (*_IN_FIGURES, *_BY_NAME, *_WEEKS, *_FROM_TODAY)
