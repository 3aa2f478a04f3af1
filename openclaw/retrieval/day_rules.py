"""Rules for the single times of a question: days, months and years by name, and told from today.

What is made of several of them, or of a part of one, is `question_dates`, where the conventions are
told as well.
"""

from __future__ import annotations

import re
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
    ToTime,
    mark_of,
    rules,
)
from openclaw.retrieval.spans import Time

_OF = r"(?:\s*(?:st|nd|rd|th|\.|er|º)?(?:\s+(?:of|de|di))?\s+)"
_TH = r"(?:st|nd|rd|th|\.)?"
_TO = r"\s*(?:[-\u2013\u2014/]|\b(?:to|until|till|through|bis(?:\s+zum)?|au|al)\b)\s*(?:the\s+)?"
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
_NOT_OF = rf"(?!\s+(?:of|before)\b|\s+(?:in|im)\s+(?:the\s+)?{mark_of(MONTH, BARE, SEASON)})"
_NO_PART = rf"(?!\s+(?:der|des|vor)\b){_NOT_OF}"
_OLD = r"(?:letzte|vergangene|vorige)[nrsm]?"
_PLURAL = r"(?:(?:day|week|month|year|night)s|tagen?|wochen|monaten?|jahren?)"


def _year(found: re.Match[str]) -> int | None:
    said = found.groupdict().get("year")
    return int(said) if said else None


def _iso(_: Marked, found: re.Match[str]) -> Time:
    year, month, day = map(int, found.groups())
    return spans.days(month, day, day, year)


def _iso_month(_: Marked, found: re.Match[str]) -> Time:
    return spans.months(int(found[2]), int(found[2]), int(found[1]))


def _dotted(_: Marked, found: re.Match[str]) -> Time:
    day = int(found["day"])
    return spans.days(int(found["m"]), day, day, _year(found))


def _day(_: Marked, found: re.Match[str]) -> Time | None:
    """One day of a month, or several: "3-9 March"."""
    if not say.is_month(found["month"], found):
        return None
    first = int(found["day"])
    last = int(found.groupdict().get("last") or first)
    return spans.days(say.month(found["month"]), first, last, _year(found))


def _month(_: Marked, found: re.Match[str]) -> Time | None:
    if not say.is_month(found["month"], found):
        return None
    month = say.month(found["month"])
    return spans.months(month, month, _year(found))


def _calendar_week(_: Marked, found: re.Match[str]) -> Time:
    number = int(found["week"])
    return Time(lambda year: spans.week(date.fromisocalendar(year, number, 1)), _year(found))


def _quarter(_: Marked, found: re.Match[str]) -> Time:
    last = int(found["quarter"]) * 3
    return spans.months(last - 2, last, _year(found))


def _season(_: Marked, found: re.Match[str]) -> Time | None:
    if not say.is_season(found["season"], found):
        return None
    month = say.season(found["season"])
    return spans.months(month, month + 2, _year(found))


def _whole_year(_: Marked, found: re.Match[str]) -> Time:
    return spans.months(1, 12, int(found[0]))


def _days_ago(first: int, last: int) -> ToTime:
    return lambda marked, _: spans.fixed(spans.back(marked.today, first, last))


def _weeks_ago(weeks: int) -> ToTime:
    return lambda marked, _: spans.fixed(spans.week(spans.shifted(marked.today, -7 * weeks)))


def _weekends_ago(weeks: int) -> ToTime:
    return lambda marked, _: spans.fixed(spans.weekend(spans.shifted(marked.today, -7 * weeks)))


def _months_ago(periods: int, length: int) -> ToTime:
    """The month (length 1), quarter (3) or year (12) so many of them ago."""

    def time(marked: Marked, _: re.Match[str]) -> Time:
        number = (marked.today.year * 12 + marked.today.month - 1) // length - periods
        year, month = divmod(number * length, 12)
        return spans.months(month + 1, month + length, year)

    return time


def _ago(marked: Marked, found: re.Match[str]) -> Time:
    count = say.number(found["count"])
    return spans.fixed(spans.ago(marked.today, count, say.unit(found["unit"])))


def _last_ones(marked: Marked, found: re.Match[str]) -> Time:
    count = say.number(found["count"], found["unit"])
    return spans.fixed(spans.last_ones(marked.today, count, say.unit(found["unit"])))


def _weekday(marked: Marked, found: re.Match[str]) -> Time:
    day = spans.weekday(marked.today, say.weekday(found["weekday"]))
    return spans.fixed((day, day))


def _recent_weekend(marked: Marked, _: re.Match[str]) -> Time:
    """The latest weekend that has begun."""
    saturday = spans.weekday(spans.shifted(marked.today, 1), 5)
    return spans.fixed((saturday, spans.shifted(saturday, 1)))


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
        _quarter,
        rf"\bQ(?P<quarter>[1-4])[\s/-]*(?:(?:of|in)\s+)?{_YEAR}",
        rf"(?<![\d-]){_YEAR}[\s/-]*Q(?P<quarter>[1-4])\b",
    ),
    *rules(BARE, _quarter, r"\bQ(?P<quarter>[1-4])\b"),
)
_BY_NAME = (
    *rules(
        DAYS,
        _day,
        rf"{_BETWEEN}{_DAY}{_TH}{_AND}{_LAST}{_OF}{_NAME}{_IN_YEAR}",
        rf"{_FROM}{_DAY}{_TH}{_TO}{_LAST}{_OF}{_NAME}{_IN_YEAR}",
        rf"{_BETWEEN}{_NAME}\s+(?P<day>\d{{1,2}}){_TH}{_AND}{_LAST}{_NO_MORE}{_IN_YEAR}",
        rf"{_FROM}{_NAME}\s+(?P<day>\d{{1,2}}){_TH}{_TO}{_LAST}{_NO_MORE}{_IN_YEAR}",
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
DAY_RULES = (*_IN_FIGURES, *_BY_NAME, *_WEEKS, *_FROM_TODAY)
