"""Find the days, spans and months that a question names, in English and German (and some in French,
Spanish and other languages), by rules without a heavy import.

Ambiguous words are read so:
- A week is Monday to Sunday; the first week of a month is its days 1 to 7, the last its last seven.
- A month is halved after its 15th. Early, mid and late are thirds. Spring is March to May.
- A time without a year is the latest that has begun ("December" in May is last year's). "Last
  March" is the latest that is over; so is "in summer", which may be a habit or a plan.
- "Last week" and "last month" are those of the calendar; "the past week" and "the last three days"
  are counted back from today. "On Monday" is before today, "since" is until today.
- The current year by itself ("in 2026") names nothing, since all its notes would match.
- A month or more that contains another named span ("in March, on 9 March") does not count.
"""

from __future__ import annotations

import re
from datetime import date

from openclaw.frozen import frozen
from openclaw.nlp import day_spans
from openclaw.nlp.day_spans import (
    BARE,
    DAYS,
    MONTH,
    SEASON,
    WEEKDAY,
    YEAR,
    MarkedText,
    NamedTime,
    ReadTime,
    Span,
    ToTime,
    mark_of,
    rules,
)
from openclaw.nlp.lexicon import day_words as words

LONG_SPAN = 28
"""Days; a span of so many gives way to a shorter one within it."""


@frozen
class Days:
    """The days that a text names.

    spans    the spans, in the order of the text
    rest     the text without them, except words that an entry may have too (yesterday, last week)
    without  the text without any of them
    """

    spans: tuple[Span, ...]
    rest: str
    without: str


def read_days(text: str, today: date) -> Days:
    """Return the days that a text names; "yesterday" and "May" count from `today`."""
    marked = MarkedText(text, today)
    for rule in DAY_RULES:
        marked.apply(rule)
    for rule in _STANDALONE if marked.empty else _COMBINED:
        marked.apply(rule)
    found = _drop_longer_spans(marked.times(), today)
    return Days(found, marked.rest(with_searchable=True), marked.rest(with_searchable=False))


def _drop_longer_spans(times: list[ReadTime], today: date) -> tuple[Span, ...]:
    """Return the spans except one of a month or more that contains another named one."""
    known = [(span, read.searchable) for read in times if (span := read.time.latest_begun(today))]
    named = [span for span, searchable in known if not searchable]

    def kept(span: Span) -> bool:
        long = (span[1] - span[0]).days + 1 >= LONG_SPAN
        return not long or not any(
            span != other and span[0] <= other[0] and other[1] <= span[1] for other in named
        )

    return tuple(dict.fromkeys(span for span, _ in known if kept(span)))


def _part(marked: MarkedText, found: re.Match[str]) -> NamedTime:
    """Return the early, middle or late part of a time."""
    word = found["part"].casefold()
    part = 1 if word.startswith("mi") else 2 if word.startswith(("late", "end")) else 0
    return marked.time(found["span"]).part(lambda span: day_spans.third_of_span(span, part))


def _nth(marked: MarkedText, found: re.Match[str]) -> NamedTime | None:
    """Return the first week, second half, last ten days or first weekend of a time."""
    nth, unit = words.ordinal(found["nth"]), words.unit(found["unit"])
    time = marked.time(found["span"])
    if unit == "half":
        return time.part(lambda span: day_spans.half_of_span(span, nth != 1)) if nth < 3 else None
    if unit == "weekend":
        return time.part(lambda span: day_spans.nth_weekday(span, nth, 5, 2))
    if unit not in ("day", "week"):
        return None
    count = words.number(found.groupdict().get("count"), found["unit"])
    length = count * (7 if unit == "week" else 1)
    return time.part(lambda span: day_spans.stretch(span, nth, length))


def _nth_weekday(marked: MarkedText, found: re.Match[str]) -> NamedTime:
    number = marked.time(found["weekday"]).in_year(1)[0].weekday()
    nth = words.ordinal(found["nth"])
    return marked.time(found["span"]).part(lambda span: day_spans.nth_weekday(span, nth, number))


def _quarter(marked: MarkedText, found: re.Match[str]) -> NamedTime | None:
    """Return a quarter or half of a year."""
    nth, length = words.ordinal(found["nth"]), 3 if found["unit"].casefold()[0] == "q" else 6
    last = 12 if nth < 0 else nth * length
    if last > 12:
        return None
    year = marked.time(found["span"]).year if found["span"] else None
    return day_spans.months_of_year(last - length + 1, last, year)


def _week_of(marked: MarkedText, found: re.Match[str]) -> NamedTime:
    """Return the week or weekend of a day, or the one before or after it."""
    week = words.unit(found["unit"]) == "week"
    how = found["how"].casefold()

    def of(span: Span) -> Span:
        if how in ("before", "vor"):
            day = day_spans.shift_day(span[0], -7)
        elif how in ("after", "nach"):
            day = day_spans.shift_day(span[1], 7 if week else 2)
        else:
            day = span[0]
        return day_spans.week(day) if week else day_spans.weekend(day)

    return marked.time(found["span"]).part(of)


def _join(marked: MarkedText, found: re.Match[str]) -> NamedTime:
    return day_spans.join_times(marked.time(found["a"]), marked.time(found["b"]))


def _since(marked: MarkedText, found: re.Match[str]) -> NamedTime | None:
    time = marked.time(found["span"])
    if found["span"][0] == YEAR and time.year == marked.today.year:
        return None
    return day_spans.until_today(time, marked.today)


def _alone(marked: MarkedText, found: re.Match[str]) -> NamedTime:
    return marked.time(found["span"])


def _latest_ended(marked: MarkedText, found: re.Match[str]) -> NamedTime | None:
    """Return the latest such time that is over."""
    span = marked.time(found["span"]).latest_ended(marked.today)
    return day_spans.fixed_time(span) if span else None


_ANY = mark_of(DAYS, MONTH, BARE, WEEKDAY, YEAR, SEASON)
_SURE = mark_of(DAYS, MONTH, BARE)
_LONGER = mark_of(MONTH, BARE, YEAR, SEASON)
_THE = r"(?:(?:the|dem|den|der)\s+)?"
_MONTH_OF = r"(?:the\s+)?(?:month\s+of\s+|monats?\s+)?"
_IN = rf"(?:of|in|im|des|vom|von)\s+{_MONTH_OF}"
_PART = r"(?P<part>early|late|mid|(?:beginning|start|middle|end)\s+of|anfang|beginn|mitte|ende)"
_UNIT = rf"(?P<unit>{words.UNIT}|weekend|wochenendes?|half|h\u00e4lfte)"
_COMPOUND = r"(?P<unit>wochenende|wochen?|h\u00e4lfte|tage)"
_QUARTER = r"(?P<unit>quarter|quartals?|halbjahr(?:es)?)\b"
_NTH = rf"\b(?P<nth>{words.NTH})"
_COUNT = rf"(?:(?P<count>{words.COUNT})\s+)?"
_TO = r"(?:\s*[-\u2013\u2014]\s*|\s+(?:to|until|till|through|bis(?:\s+zum?)?)\s+)"
_DURING = r"(?:in|during|within|over|throughout|im|en|em|w\u00e4hrend)"
_NO_OF = r"(?!\w|\s+of\b)"
_NOT_OF = rf"(?!\s+(?:of|before)\b|\s+(?:in|im)\s+(?:the\s+)?{mark_of(MONTH, BARE, SEASON)})"
_NO_PART = rf"(?!\s+(?:der|des|vor)\b){_NOT_OF}"
_PLURAL = r"(?:(?:day|week|month|year|night)s|tagen?|wochen|monaten?|jahren?)"


def _last_ones(marked: MarkedText, found: re.Match[str]) -> NamedTime:
    count = words.number(found["count"], found["unit"])
    return day_spans.fixed_time(day_spans.last_ones(marked.today, count, words.unit(found["unit"])))


def _recent_weekend(marked: MarkedText, _: re.Match[str]) -> NamedTime:
    """Return the latest weekend that has begun."""
    saturday = day_spans.weekday(day_spans.shift_day(marked.today, 1), 5)
    return day_spans.fixed_time((saturday, day_spans.shift_day(saturday, 1)))


AFTER_PARTS = (
    *rules(
        DAYS,
        _last_ones,
        rf"\b{words.LAST}\s+(?P<count>{words.COUNT})\s+(?P<unit>{words.UNIT})\b{_NO_PART}",
        rf"\b{words.LAST}\s+(?P<count>)(?P<unit>{_PLURAL})\b{_NO_PART}",
        rf"\b(?:past|previous)\s+(?P<count>)(?P<unit>week|month|year)\b{_NO_PART}",
    ),
    *rules(
        DAYS,
        _recent_weekend,
        rf"\b(?:(?:at|on|over)\s+the\s+weekend|(?:am|\u00fcbers)\s+wochenende)\b{_NOT_OF}",
        searchable=True,
    ),
)
"""Applied after parts of a month: "the last three days of May", "am Wochenende vom 9. Mai"."""

_STANDALONE = (
    *rules(
        DAYS,
        _quarter,
        rf"\b(?:in the|im)\s+(?P<nth>{words.NTH})\s+{_QUARTER}(?!\s+(?:of|de[sr]|von)\b)(?P<span>)",
    ),
    *AFTER_PARTS,
)
_COMBINED = (
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
    *_STANDALONE,
    *rules(
        DAYS,
        _join,
        rf"\b(?:between|zwischen)\s+{_THE}(?P<a>{_ANY})\s+(?:and|und)\s+{_THE}(?P<b>{_ANY})",
        rf"\b(?:from|von|vom)\s+{_THE}(?P<a>{_ANY}){_TO}{_THE}(?P<b>{_ANY})",
        rf"(?P<a>{_SURE}){_TO}{_THE}(?P<b>{_SURE})",
    ),
    *rules(
        DAYS,
        _latest_ended,
        rf"\b{words.LAST}\s+(?P<span>{mark_of(BARE, SEASON, WEEKDAY)}){_NO_OF}",
        rf"\b{_DURING}\s+(?:the\s+)?(?P<span>{mark_of(SEASON)}){_NO_OF}",
        searchable=True,
    ),
    *rules(DAYS, _since, rf"\b(?:since|seit|depuis|desde)\s+{_THE}(?P<span>{_ANY})(?!\w)"),
    *rules(
        DAYS,
        _alone,
        rf"\b(?:{_DURING}|{words.THIS})\s+(?:the\s+month\s+of\s+|monat\s+)?(?P<span>{mark_of(BARE)})(?!\w)",
    ),
    *rules(
        DAYS,
        _alone,
        rf"\b{words.THIS}\s+(?P<span>{mark_of(SEASON)}){_NO_OF}",
        rf"\b(?:on|am)\s+(?P<span>{mark_of(WEEKDAY)})",
        searchable=True,
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
_NAME = rf"\b(?P<month>{words.MONTH})\b\.?"
_NO_MORE = r"(?:st|nd|rd|th)?(?![\d:%]|[.,/-]\d)"
_YEAR = r"(?P<year>(?:19|20)\d{2})(?!\d)"
_IN_YEAR = r"(?:,?\s+(?:of\s+|de\s+)?(?P<year>\d{4})(?!\d))?"
_SEASON = rf"\b(?P<season>{words.SEASON})\b"
_FULL_YEAR = r"(?:(?<=\bmid-)|(?<![\d.:/\u20ac$\u00a3#-]))(?:19|20)\d{2}(?![\d.:/-]*\d)"
_AMOUNT = (
    r"(?!\s*(?:%|\u20ac|\$|(?:euros?|eur|dollars?|usd|chf|gbp|pounds?|francs?|km|mm|cm|m|kg|g|mb|gb|kb|kwh"
    r"|k?cal|watts?|w|v|mah|hz|rpm|steps|pieces|people|words|miles|feet|st\u00fcck|schritte|leute)\b))"
)
_LATE = r"(?:abend|morgen|vormittag|mittag|nachmittag|nacht)?"
_LAST_DE = r"(?:letzte|vergangene|vorige)[nrsm]?"


def _year(found: re.Match[str]) -> int | None:
    said = found.groupdict().get("year")
    return int(said) if said else None


def _iso(_: MarkedText, found: re.Match[str]) -> NamedTime:
    year, month, day = map(int, found.groups())
    return day_spans.days_of_month(month, day, day, year)


def _iso_month(_: MarkedText, found: re.Match[str]) -> NamedTime:
    return day_spans.months_of_year(int(found[2]), int(found[2]), int(found[1]))


def _dotted(_: MarkedText, found: re.Match[str]) -> NamedTime:
    day = int(found["day"])
    return day_spans.days_of_month(int(found["m"]), day, day, _year(found))


def _day(_: MarkedText, found: re.Match[str]) -> NamedTime | None:
    """Return one day of a month or several: "3-9 March"."""
    if not words.is_month(found["month"], found):
        return None
    first = int(found["day"])
    last = int(found.groupdict().get("last") or first)
    return day_spans.days_of_month(words.month(found["month"]), first, last, _year(found))


def _month(_: MarkedText, found: re.Match[str]) -> NamedTime | None:
    if not words.is_month(found["month"], found):
        return None
    month = words.month(found["month"])
    return day_spans.months_of_year(month, month, _year(found))


def _calendar_week(_: MarkedText, found: re.Match[str]) -> NamedTime:
    number = int(found["week"])
    return NamedTime(
        lambda year: day_spans.week(date.fromisocalendar(year, number, 1)), _year(found)
    )


def _quarter_of_year(_: MarkedText, found: re.Match[str]) -> NamedTime:
    last = int(found["quarter"]) * 3
    return day_spans.months_of_year(last - 2, last, _year(found))


def _season(_: MarkedText, found: re.Match[str]) -> NamedTime | None:
    if not words.is_season(found["season"], found):
        return None
    month = words.season(found["season"])
    return day_spans.months_of_year(month, month + 2, _year(found))


def _whole_year(_: MarkedText, found: re.Match[str]) -> NamedTime:
    return day_spans.months_of_year(1, 12, int(found[0]))


def _days_ago(first: int, last: int) -> ToTime:
    return lambda marked, _: day_spans.fixed_time(day_spans.days_back(marked.today, first, last))


def _weeks_ago(weeks: int) -> ToTime:
    return lambda marked, _: day_spans.fixed_time(
        day_spans.week(day_spans.shift_day(marked.today, -7 * weeks))
    )


def _weekends_ago(weeks: int) -> ToTime:
    return lambda marked, _: day_spans.fixed_time(
        day_spans.weekend(day_spans.shift_day(marked.today, -7 * weeks))
    )


def _months_ago(periods: int, length: int) -> ToTime:
    """Return a rule's time: the month (length 1), quarter (3) or year (12) `periods` ago."""

    def time(marked: MarkedText, _: re.Match[str]) -> NamedTime:
        number = (marked.today.year * 12 + marked.today.month - 1) // length - periods
        year, month = divmod(number * length, 12)
        return day_spans.months_of_year(month + 1, month + length, year)

    return time


def _ago(marked: MarkedText, found: re.Match[str]) -> NamedTime:
    count = words.number(found["count"])
    return day_spans.fixed_time(day_spans.ago(marked.today, count, words.unit(found["unit"])))


def _weekday(marked: MarkedText, found: re.Match[str]) -> NamedTime:
    day = day_spans.weekday(marked.today, words.weekday(found["weekday"]))
    return day_spans.fixed_time((day, day))


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
        rf"\b(?P<month>{words.MONTH})(?=(?:e?s|woche|wochen|wochenende|h\u00e4lfte|tage)?\b)",
    ),
    *rules(DAYS, _season, rf"{_SEASON}\s+(?:(?:of|in)\s+)?{_YEAR}", searchable=True),
    *rules(SEASON, _season, _SEASON, searchable=True),
    *rules(YEAR, _whole_year, rf"{_FULL_YEAR}{_AMOUNT}"),
)
_WEEKS = (
    *rules(
        DAYS, _weeks_ago(2), r"\b(?:week before last|vorletzte[nr]?\s+woche)\b", searchable=True
    ),
    *rules(
        DAYS,
        _weeks_ago(1),
        rf"\b(?:last\s+week|{_LAST_DE}\s+woche)\b{_NOT_OF}",
        r"\b(?:la semaine derni[e\u00e8]re|la semana pasada)\b",
        searchable=True,
    ),
    *rules(
        DAYS,
        _weeks_ago(0),
        rf"\b(?:{words.THIS}\s+(?:week|woche)|cette semaine|esta semana)\b",
        searchable=True,
    ),
    *rules(
        DAYS,
        _weekends_ago(1),
        rf"\b(?:last\s+weekend|{_LAST_DE}\s+wochenende)\b{_NOT_OF}",
        searchable=True,
    ),
    *rules(DAYS, _weekends_ago(0), rf"\b{words.THIS}\s+(?:weekend|wochenende)\b", searchable=True),
)
_FROM_TODAY = (
    *rules(
        DAYS,
        _days_ago(2, 2),
        r"\b(?:day before yesterday|vorgestern|avant-hier|anteayer)\b",
        searchable=True,
    ),
    *rules(
        DAYS,
        _days_ago(1, 1),
        r"\b(?:yesterday|gestern|hier soir|ayer|last\s+night|letzte\s+nacht)\b",
        searchable=True,
    ),
    *rules(
        DAYS,
        _days_ago(0, 0),
        r"\b(?:today|heute|aujourd['\u2019]hui|hoy|this\s+morning|tonight)\b",
        searchable=True,
    ),
    *rules(
        MONTH, _months_ago(1, 1), rf"\b(?:last\s+month|{_LAST_DE}\s+monats?)\b", searchable=True
    ),
    *rules(MONTH, _months_ago(0, 1), rf"\b{words.THIS}\s+(?:month|monats?)\b", searchable=True),
    *rules(DAYS, _months_ago(1, 3), rf"\b(?:last\s+quarter|{_LAST_DE}\s+quartals?)\b{_NO_PART}"),
    *rules(DAYS, _months_ago(0, 3), rf"\b{words.THIS}\s+(?:quarter|quartals?)\b"),
    *rules(
        YEAR,
        _months_ago(1, 12),
        rf"\b(?:last\s+year|{_LAST_DE}\s+jahr(?:es)?)\b",
        searchable=True,
    ),
    *rules(YEAR, _months_ago(0, 12), rf"\b{words.THIS}\s+(?:year|jahr(?:es)?)\b", searchable=True),
    *rules(WEEKDAY, _weekday, rf"\b(?P<weekday>{words.WEEKDAY}){_LATE}\b", searchable=True),
    *rules(
        DAYS,
        _ago,
        rf"\b(?P<count>{words.COUNT})\s+(?P<unit>{words.UNIT})\s+ago\b",
        rf"\bvor\s+(?P<count>{words.COUNT})\s+(?P<unit>{words.UNIT})\b",
    ),
)
DAY_RULES = (*_IN_FIGURES, *_BY_NAME, *_WEEKS, *_FROM_TODAY)
