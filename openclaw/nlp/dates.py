"""Read days as people write them: a due date ("by friday"), the days that a question asks about
("last week", "im März", "la semaine dernière"), and a day that a sentence names.

The library dateparser reads names of months and weekdays and "three weeks" in seven languages. It
loads at first use (0.3 s) and takes "a" or a version for a date, so it only gets what a pattern has
found. Dates in figures and "last week" never need it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from functools import cache, lru_cache
from typing import Any, Literal

from openclaw.frozen import frozen
from openclaw.nlp.calendar_days import Span, in_year, months_of, move, part_of, unit_of

Prefer = Literal["future", "past"]

LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pt")
MAX_CHARS = 60
LONGEST_LEAD = 40  # characters: "between the"
FEW = 5  # "a few days", "the last days"

# Words, as patterns that are compiled at first use: most texts name no day.
ISO = r"\d{4}-\d\d-\d\d"
_MONTHS = (
    "jan(?:uar[yi]?|vier|eiro)?|enero|gennaio",
    "feb(?:ruar[yi]?|rero|braio)?|fevereiro|f[ée]vrier",
    "mar(?:ch|s|zo|ço)?|märz|maerz|maart",
    "apr(?:ile?)?|avril|abril",
    "ma(?:y|yo|i|io|ggio)|mei",
    "june?|jun(?:i|io|ho)|juin|giugno",
    "july?|jul(?:i|io|ho)|juillet|luglio",
    "aug(?:ust|ustus)?|ao[ûu]t|agosto",
    "sep(?:t|tember|tembre|tiembre)?|settembre|setembro",
    "o[ck]t(?:ober|obre|ubre)?|ottobre|outubro",
    "nov(?:i?embre|ember|embro)?",
    "d[eéi][cz](?:i?embre|ember|embro)?",
)
_WEEKDAYS = (
    "monday|montag|lundi|lunes|lunedì|maandag|segunda-feira",
    "tuesday|dienstag|mardi|martes|martedì|dinsdag|terça-feira",
    "wednesday|mittwoch|mercredi|miércoles|mercoledì|woensdag|quarta-feira",
    "thursday|donnerstag|jeudi|jueves|giovedì|donderdag|quinta-feira",
    "friday|freitag|vendredi|viernes|venerdì|vrijdag|sexta-feira",
    "saturday|samstag|sonnabend|samedi|s[áa]bado|sabato|zaterdag",
    "sunday|sonntag|dimanche|domingo|domenica|zondag",
)
MONTH, _WEEKDAY = (f"(?:{'|'.join(names)})" for names in (_MONTHS, _WEEKDAYS))
_UNITS = {
    "weekend": r"week-?end|wochenendes?|fi[nm] de semana",
    "week": r"weeks?|wochen?|semaines?|semanas?|settiman[ae]|weken",
    "day": r"days?|tage?n?|jours?|d[íi]as?|giorn[oi]|dag(?:en)?",
    "month": r"months?|monat(?:e?n?|s)|mois|mes(?:es|e|i)?|maand(?:en)?|mês",
    "quarter": r"quarters?|quartals?|trimestres?|kwartaal",
    "year": r"years?|jahr(?:e?n?|es)|années?|ans|años?|ann[oi]|jaar|anos?",
}
_UNIT = rf"(?:{'|'.join(_UNITS.values())})"
_PLURAL = r"(?:(?:day|week|month|year|jour|semaine|día|semana|año)s|tagen?|wochen|monaten?|jahren?)"
_NOW = (
    r"today|tonight|this (?:morning|afternoon|evening)|heute|aujourd['\u2019]hui|ce soir|hoy|oggi"
    r"|vandaag|hoje"
)
_BEFORE = (
    r"(?:(?:the )?day before )?yesterday|last night|(?:vor)?gestern|avant-hier"
    r"|hier(?= soir| matin)|(?:ante)?ayer|ieri|(?:eer)?gisteren|ontem"
)
_AFTER = (
    r"(?:(?:the )?day after )?tomorrow|(?:über|over)?(?<!am )(?<!en )morgen|(?:après-)?demain"
    r"|(?:pasado )?(?<!la )mañana|(?:dopo)?domani|(?:depois de )?amanhã"
)
_LAST = (
    r"(?:last|past|previous|(?:letzt|vergangen|vorig)e\w?|afgelopen|derni[eè]re?s?|[úu]ltim[oa]s?)"
)
_LAST_AFTER = r"(?:derni[eè]re?|passée?|pasad[oa]|scors[oa]|passad[oa])"
_THIS = r"(?:this|(?:the )?current|diese[nrsm]?|ce|cette|est[ea]|quest[oa]|deze)"
_NEXT = r"(?:next|coming|(?:nächste|kommende)[nrsm]?|prochaine?|pr[óo]xim[oa]|prossim[oa]|volgende)"
_NEXT_AFTER = r"(?:prochaine?|que vi?e[nm]e?|pr[óo]xim[oa]|prossim[oa])"
_LEAD = r"(?:on|at|by|until|before|for|the|am|bis|zum|den|für|le|la|el|à|a|pour|para|op|il|no|na)"
_COUNT = r"(?:an?\s+|ein\s+)?\w+(?:\s+of)?"
_FEW = r"(?i)few|several|couple|paar|einige\w*|quelques|unos|algun\w+"
_NTH = (
    r"(?:first|second|third|fourth|last|[1-4](?:st|nd|rd|th|\.)|(?:ers|zwei|drit|vier|letz)te\w?)"
)
_NUMBERS = {"fi": 1, "er": 1, "se": 2, "zw": 2, "th": 3, "dr": 3, "fo": 4, "vi": 4}


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def is_weekday_or_month(word: str) -> bool:
    """Return True for the full name of a weekday, also of several, or of a month with a capital:
    "may" is a verb, and Jan a person."""
    full = word[:1].isupper() and (len(word) > 3 or word in ("May", "Mai"))
    month = full and _compile(MONTH).fullmatch(word)
    return bool(month or _compile(rf"{_WEEKDAY}s?").fullmatch(word))


@lru_cache(16)
def _load_reader(parser: str, today: date, prefer: Prefer) -> Any:
    """Load dateparser's reader of "in 3 days" (relative) or "friday", "1 dec" (absolute).

    There are two because a bare month means its last day while "in a month" keeps today's.
    """
    from dateparser.date import DateDataParser

    day = "current" if parser == "relative" else "last" if prefer == "future" else "first"
    settings = {
        "PARSERS": [f"{parser}-time"],
        "RELATIVE_BASE": datetime(today.year, today.month, today.day),
        "PREFER_DATES_FROM": prefer,
        "DATE_ORDER": "DMY",
        "PREFER_DAY_OF_MONTH": day,
    }
    return DateDataParser(list(LANGUAGES), use_given_order=True, settings=settings).get_date_data


def _ask_library(parser: str, words: str, today: date, prefer: Prefer = "past") -> tuple[date, str]:
    """Return the day that words mean, and whether it is a day, week, month or year. Raises
    LookupError when they mean none."""
    try:
        found = _load_reader(parser, today, prefer)(words)
        return found.date_obj.date(), found.period
    except (ValueError, OverflowError, RecursionError, IndexError, TypeError, AttributeError):
        raise LookupError(words) from None  # the library stumbles over some phrases


def _read_name(name: str, names: Sequence[str]) -> int:
    """Return the place of a weekday or month in its table, from 0, also of "thurs"."""
    short = name[:3].casefold()
    found = (_compile(each).fullmatch(name) or each.startswith(short) for each in names)
    return [*map(bool, found)].index(True)


def _count_back(count: str, unit: str, today: date) -> tuple[date, str]:
    """Return the day that is so long ago ("three", "weeks"), and the unit. Raises LookupError."""
    if re.search(_FEW, count):
        count = "2" if "couple" in count else str(FEW)
    return _ask_library("relative", f"{count} {unit}".casefold(), today)


def _name_unit(word: str) -> str:
    return next(unit for unit, words in _UNITS.items() if _compile(words).fullmatch(word))


@frozen
class Days:
    """The days that a text names, in order, the text without their words, and the first words."""

    spans: tuple[Span, ...]
    rest: str
    words: str = ""


@frozen
class _Time:
    """Days that a text names, and their place in it.

    yearly  the text could have said a year but did not: they are the latest that have begun
    needs   "in" or "on" before it, or to be "part" of another time; "" when it counts by itself
    """

    start: int
    end: int
    span: Span
    yearly: bool = False
    needs: str = ""


def read_days(text: str, today: date, *, told: bool = False) -> Days:
    """Return the days that a question names, in the past unless it says a year; with `told` those
    that a note of the day `today` names, near it on either side.

    A time without a year is the latest that has begun ("December" in May is last year's); "last
    March" is the latest that is over. "Last week" is that of the calendar, "the past week" is
    counted back from today, "on Monday" is before today. The current year by itself does not count,
    since all its notes would match.
    """
    if not re.search(_MAY_NAME_DAYS, text.lower()):  # faster than a search that ignores case
        return Days((), text)
    text = unicodedata.normalize("NFC", text)
    times: list[_Time] = []
    for time in _find_times(text, today):
        time = _read_before(time, text[times[-1].end if times else 0 : time.start], today)
        joined = _join(text, times[-1], time) if times else None
        times[-1:] = [joined] if joined else [*times[-1:], time]
    times = [time for time in times if not time.needs]
    words = text[times[0].start : times[0].end] if times else ""
    ends = (0, *(time.end for time in times)), (*(time.start for time in times), len(text))
    rest = " ".join(text[end:start] for end, start in zip(*ends, strict=True))
    spans = (_to_nearest(time, today) if told else time.span for time in times)
    return Days(tuple(dict.fromkeys(spans)), rest, words)


def _to_nearest(time: _Time, today: date) -> Span:
    """Return the days of a time, those without a year in the year that is nearest to today."""
    with suppress(ValueError):
        return move(time.span, int(time.yearly and (today - time.span[1]).days > 182))
    return time.span


def _find_times(text: str, today: date) -> list[_Time]:
    """Return what the rules find, in the order of the text; the first rule wins a place."""
    times: list[_Time] = []
    taken = bytearray(len(text))
    for needs, make, pattern in _RULES:
        for found in _compile(pattern).finditer(text):
            start, end = found.span()
            if any(taken[start:end]):
                continue
            with suppress(ValueError, LookupError, OverflowError):
                span, year = make(found, today), found.groupdict().get("year", "none")
                sure = span[0].year != today.year if needs == "part" else year not in (None, "none")
                times.append(_Time(start, end, span, not year, "" if sure else needs))
                taken[start:end] = bytes([1]) * (end - start)
    return sorted(times, key=lambda time: time.start)


def _read_before(time: _Time, before: str, today: date) -> _Time:
    """Return a time with the words before it that cut it ("the first week of") or let it count."""
    at = time.start - len(before)
    for make, pattern in _WORDS_BEFORE * 2:
        found = _compile(rf"(?<!\w){pattern}$").search(before)
        with suppress(ValueError, LookupError, OverflowError):
            if found and (span := make(found, time, today)):
                yearly = time.yearly and make is not _since
                time = _Time(at + found.start(), time.end, span, yearly)
                before = before[: found.start()]
    return time


def _join(text: str, first: _Time, last: _Time) -> _Time | None:
    """Return the days from one time to the other, None when the words between do not say so. A year
    that only one of them says counts for both, but they may cross the turn of the year or week."""
    lead = text[: first.start][-LONGEST_LEAD:]
    found = _compile(_JOINED).search(f"{lead}\0{text[first.end : last.start]}")
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
    return _Time(first.start, last.end, (min(begin, end), max(begin, end)), yearly)


def _by_date(found: re.Match[str], today: date, step: int = -1) -> Span:
    """Return a month, a day of it or several: "3-9 March"."""
    said = found.groupdict()
    month = int(said["m"]) if "m" in said else _read_name(said["month"], _MONTHS) + 1
    days = sorted(int(day) for day in (said.get("day"), said.get("last")) if day)

    def days_in(year: int) -> Span:
        whole = months_of(year, month, month)
        return (date(year, month, days[0]), date(year, month, days[-1])) if days else whole

    return in_year(said["year"], today, days_in, step)


def _calendar_week(found: re.Match[str], today: date) -> Span:
    week = int(found["week"])
    return in_year(
        found["year"], today, lambda y: unit_of(date.fromisocalendar(y, week, 1), "week")
    )


def _quarter(found: re.Match[str], today: date) -> Span:
    last = 3 * (int(found["quarter"]) if found["quarter"] else _number(found["nth"]))
    return in_year(found["year"], today, lambda year: months_of(year, last - 2, last))


def _yesterday(found: re.Match[str], today: date) -> Span:
    """Return today, yesterday or the day before it."""
    back = 0 if _compile(_NOW).fullmatch(found[0]) else 1
    back += bool(re.match(r"(?i)(?:the )?day before|vor|avant|ante|eer", found[0]))
    return unit_of(today, "day", -back)


def _weekday(found: re.Match[str], today: date) -> Span:
    """Return the last such weekday before today."""
    number = _read_name(found["weekday"], _WEEKDAYS)
    return unit_of(today, "day", -((today.weekday() - number - 1) % 7 + 1))


def _unit(found: re.Match[str], today: date) -> Span:
    """Return the last week or month, or this one; the weekend that has begun."""
    unit = _name_unit(found["unit"])
    back = 1 if found.groupdict().get("last") else int(unit == "weekend" and today.weekday() < 5)
    return unit_of(today, unit, -back)


def _ago(found: re.Match[str], today: date) -> Span:
    """Return the days about so long ago: days exactly, longer units give or take half of one."""
    day, unit = _count_back(found["count"], found["unit"], today)
    slack = timedelta({"week": 3, "month": 15, "year": 180}.get(unit, 0))
    return day - slack, min(day + slack, today)


def _last_ones(found: re.Match[str], today: date) -> Span:
    """Return the last few days, weeks or months, up to today."""
    count = found.groupdict().get("count") or ("1" if found.groupdict().get("one") else "few")
    return _count_back(count, found["unit"], today)[0], today


def _cut(time: _Time, today: date, part: Callable[[Span], Span]) -> Span | None:
    """Return a part of a month or more, without a year the latest that has begun."""
    if (time.span[1] - time.span[0]).days + 1 < 28:  # no whole month
        return None
    span = part(time.span)
    return part(move(time.span, -1)) if time.yearly and span[0] > today else span


def _number(nth: str) -> int:
    """Return 1 to 4, or -1 for "last"."""
    return int(nth[0]) if nth[0].isdigit() else _NUMBERS.get(nth[:2].casefold(), -1)


def _nth_unit(found: re.Match[str], time: _Time, today: date) -> Span | None:
    """Return the first week or second half of a time."""
    nth, unit = _number(found["nth"]), found["unit"].casefold()
    if unit in ("half", "hälfte"):
        return _cut(time, today, lambda span: part_of(span, min(abs(nth) - 1, 1), 2))
    length, day = timedelta({"week": 7, "day": 1}[_name_unit(unit)]), timedelta(1)
    if nth < 0:
        return _cut(time, today, lambda span: (span[1] + day - length, span[1]))
    return _cut(time, today, lambda s: (s[0] + (nth - 1) * length, s[0] + nth * length - day))


def _part(found: re.Match[str], time: _Time, today: date) -> Span | None:
    """Return the early, middle or late part of a time."""
    word = found["part"].casefold()
    part = 1 if word.startswith("mi") else 2 if word.startswith(("late", "end")) else 0
    return _cut(time, today, lambda span: part_of(span, part, 3))


def _week_of(found: re.Match[str], time: _Time, _: date) -> Span | None:
    return None if time.needs else unit_of(time.span[0], _name_unit(found["unit"]))


def _since(_: re.Match[str], time: _Time, today: date) -> Span | None:
    return (time.span[0], today) if time.needs != "part" and time.span[0] <= today else None


def _let_count(found: re.Match[str], time: _Time, today: date) -> Span | None:
    """Return the days of "in March", "on Monday", or those of "last March", which are over."""
    said = found.groupdict()
    if said.get("last") and time.needs in ("in", "on"):
        return move(time.span, -1) if time.yearly and time.span[1] >= today else time.span
    return time.span if said.get(time.needs) else None


_MAY_NAME_DAYS = (
    rf"\b(?:(?:{MONTH}|{_WEEKDAY}|{_UNIT}|{_NOW}|{_BEFORE})(?:abend|morgen)?\b|q[1-4]\b|kw\s?\d"
    r"|(?:19|20)\d\d|\d\d?\.\s?\d\d?\.)"
)
_TH = r"(?:st|nd|rd|th|er|º|\.)?"
_THE = r"(?:(?:the|dem|den|der|el|le)\s+)?"
_TO = r"(?:\s*[-\u2013\u2014/]\s*|\s+(?:to|until|till|through|bis(?:\s+zum?)?|au|al?|tot)\s+)"
_AND = r"\s+(?:and|und|et|y|e|en)\s+"
_JOINED = (
    rf"(?:(?P<sure>\b(?:from|von|vom|du|de)\s+{_THE})?\0{_TO}"
    rf"|(?P<both>\b(?:between|zwischen|entre)\s+{_THE})\0{_AND}){_THE}$"
)
# The verbs: in lower case, or the first word, and followed by a word that does not follow a month.
_VERB = (
    r"(?:(?-i:may|march)|\Amay|\Amarch)(?:\s+\d\d?)?"
    r"\s+(?!(?:in|at|on|for|with|and|or|to|until|was|were|did)\b)[^\W\d]"
)
_NAME = rf"\b(?!{_VERB})(?P<month>{MONTH})\b\.?"
_IN_YEAR = r"(?:,?\s+(?:(?:of|de)\s+)?(?P<year>\d{4})(?!\d))?"
_AMOUNT = (
    r"\s*(?:[%\u20ac$\d]|(?:euros?|dollars?|k?[mgwv]|[kmgt]b|kcal|kwh|steps|words|people|leute)\b)"
)
_NO_PART = rf"(?!\s+(?:of|before|der|des|vor|vom)\b|\s+(?:in|im|de|van)\s+(?:the\s+)?{MONTH}\b)"
_WEEK = rf"(?P<unit>{'|'.join(_UNITS[unit] for unit in ('weekend', 'week', 'month', 'quarter'))})"
_YEARS = rf"(?P<unit>{_UNITS['year']})"
_COUNTED = rf"(?P<count>{_COUNT})\s+(?P<unit>{_UNIT})"
_OF = r"(?:of|in|im|des|vom|von|de|du|van)\s+(?:the\s+)?(?:month\s+of\s+|monats?\s+)?"
_DAY_MONTH = (
    rf"(?<![\d.,:/-])(?:(?P<day>\d\d?){_TH}(?:{_TO}|{_AND}){_THE})?"
    rf"(?P<last>\d\d?){_TH}\s+(?:(?:of|de|di)\s+)?{_NAME}{_IN_YEAR}"
)
_MONTH_DAY = (
    rf"{_NAME}\s+(?P<day>\d\d?){_TH}(?:{_TO}(?P<last>\d\d?){_TH})?(?![\d:%]|[.,/-]\d){_IN_YEAR}"
)
_FULL_YEAR = r"(?:(?<=\bmid-)|(?<![\w.:/$\u20ac\u00a3#-]))(?:19|20)\d\d(?![.:/-]*\d)"
_NTH_QUARTER = (
    rf"\b(?:Q(?P<quarter>[1-4])|(?:the\s+)?(?!last|letzt)(?P<nth>{_NTH})"
    rf"\s+(?:{_UNITS['quarter']}))\b"
)
_DOTTED = r"(?P<day>\d\d?)\.\s?(?P<m>\d\d?)\.(?:\s?(?P<year>\d{4}))?"

_RULES: tuple[tuple[str, Callable[[re.Match[str], date], Span], str], ...] = (
    ("", _by_date, r"(?<![\d.-])(?P<year>\d{4})-(?P<m>\d\d)(?:-(?P<day>\d\d))?(?![.-]?\d)"),
    ("on", _by_date, rf"(?<![\d.]){_DOTTED}(?!\s?[.-]?\d)"),
    ("", _calendar_week, r"\bKW\s?(?P<week>\d\d?)\b(?:\s*[/ ]\s*(?P<year>\d{4}))?"),
    ("in", _quarter, rf"{_NTH_QUARTER}(?:[\s/-]*(?:(?:of|in)\s+)?(?P<year>\d{{4}})|(?!\s+[od]))"),
    ("", _by_date, _DAY_MONTH),
    ("", _by_date, _MONTH_DAY),
    ("in", _by_date, rf"{_NAME}{_IN_YEAR}"),
    ("part", lambda found, _: months_of(int(found[0]), 1, 12), rf"{_FULL_YEAR}(?!{_AMOUNT})"),
    ("", _last_ones, rf"\b{_LAST}\s+{_COUNTED}\b{_NO_PART}"),
    ("", _last_ones, rf"\b{_LAST}\s+(?P<unit>{_PLURAL})\b{_NO_PART}"),
    ("", _last_ones, rf"\b(?P<one>past)\s+(?P<unit>week|month|year)\b{_NO_PART}"),
    ("", _unit, rf"\b(?P<last>{_LAST})\s+{_WEEK}\b{_NO_PART}"),
    ("", _unit, rf"\b{_WEEK}\s+(?P<last>{_LAST_AFTER})\b"),
    ("", _unit, rf"\b(?:{_THIS}|(?:at|on|over)\s+the|am|übers)\s+{_WEEK}\b{_NO_PART}"),
    ("part", _unit, rf"\b(?:(?P<last>{_LAST})|{_THIS})\s+{_YEARS}\b"),
    ("part", _unit, rf"\b{_YEARS}\s+(?P<last>{_LAST_AFTER})\b"),
    ("", _ago, rf"\b{_COUNTED}\s+(?:ago|fa|geleden|atrás)\b"),
    ("", _ago, rf"\b(?:vor|il y a|hace|há)\s+{_COUNTED}\b"),
    ("", _yesterday, rf"\b(?:{_BEFORE}|{_NOW})\b"),
    ("", _weekday, rf"\b(?P<weekday>{_WEEKDAY})\s+{_LAST_AFTER}\b"),
    ("on", _weekday, rf"\b(?P<weekday>{_WEEKDAY})(?:abend|morgen|nachmittag)?\b"),
)
_EARLY = r"(?P<part>early|late|mid|(?:beginning|start|middle|end)\s+of|anfang|beginn|mitte|ende)"
_IN = rf"(?:in|during|within|over|throughout|im|en|em|{_THIS})"
_WORDS_BEFORE: tuple[tuple[Callable[[re.Match[str], _Time, date], Span | None], str], ...] = (
    (_part, rf"{_EARLY}[\s-]+(?:{_OF})?(?:(?:the|des)\s+)?"),
    (_nth_unit, rf"(?P<nth>{_NTH})\s+(?P<unit>{_UNIT}|half|hälfte)\s+{_OF}"),
    (_week_of, rf"(?P<unit>week|weekend|woche|wochenende)\s+(?:of|from|vom|um)\s+{_THE}"),
    (_let_count, rf"(?P<last>{_LAST})\s+"),
    (_since, rf"(?:since|seit|depuis|desde|sinds)\s+{_THE}"),
    (_let_count, rf"(?P<in>{_IN})\s+(?:the\s+month\s+of\s+|monat\s+)?"),
    (_let_count, r"(?P<on>on|am|op|el)\s+"),
)

# Patterns of days to come.
_EDGE = (
    rf"(?:{_LEAD} ){{0,3}}(?P<edge>ende?|start|beginning|anfang|fine?(?! day)|final(?:es)?|einde)"
    r"(?: (?:of|de[rlst]?|du|di|van|la|the|this|diese[rs])){0,3} (?:de l.)?"
    rf"(?P<next>{_NEXT} )?(?P<unit>{_UNIT})(?P<after> {_NEXT_AFTER})?"
    r"|eo(?P<short>[dwmy])|(?P<joined>monat|jahr)e?sende"
)
_WEEKEND = (
    rf"(?:(?:{_LEAD}|{_THIS}) ){{0,3}}(?P<next>{_NEXT} )?(?:{_UNITS['weekend']})(?: {_NEXT_AFTER})?"
)
_NEXT_WEEK = rf" ?\b(?:{_LEAD} )?(?:{_NEXT} (?:{_UNITS['week']})|semaine prochaine)(?: on| am)? ?"
_DAY_ONLY = rf"(?:{_LEAD} ){{0,3}}(\d{{1,2}})(?:st|nd|rd|th|\.|er)"
_DAY_AND_MONTH = r"(?P<day>\d\d?)\.\s?(?P<m>\d\d?)\.(?P<year>\d{4}|\d\d)?"
_DAY_NAME = rf"\b(?P<weekday>{_WEEKDAY}|mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)\b"
_VAGUE = (  # 01/02/2026 is another day in another country
    r"[\d\s:.,-]*|(?:0?\d|1[012])[/-](?:0?\d|1[012])(?:[/-]\d+)?|\D|now|jetzt|maintenant|ahora"
    r"|\d\d?(?::\d\d)?\s*[ap]\.?m\.?"
)
_SHORT_UNIT = rf"{_UNITS['week']}|{_UNITS['month']}"
_LONG_UNIT = rf"(?:{_SHORT_UNIT}|{_UNITS['year']})"
_DATE = (
    rf"{ISO}|\d\d?(?:st|nd|rd|th|er|\.)?(?: (?:of|de))? ?{MONTH}(?: (?:de )?\d{{4}})?"
    rf"|{MONTH} \d\d?(?:st|nd|rd|th)?(?:,? \d{{4}})?|\d\d?\. ?\d\d?\.(?: ?\d{{4}})?"
)
_NAMED = (
    rf"(?<![\w-])(?:{_LEAD} ){{0,3}}(?P<day>{_AFTER}|(?:{_WEEKDAY},? (?:the )?)?(?:{_DATE})"
    rf"|(?:(?:{_NEXT}|{_THIS}) )?(?:{_WEEKDAY}|{_UNITS['weekend']})(?: {_NEXT_AFTER})?"
    rf"|{_NEXT} {_LONG_UNIT}|{_LONG_UNIT} {_NEXT_AFTER}|{_EDGE}"
    rf"|(?:in|dans|en|em|fra|tra) (?!the )(?:an? )?\w+ (?:{_UNITS['day']}|{_SHORT_UNIT})"
    r"|(?<=the )\d\d?(?:st|nd|rd|th))(?![\w-]|['\u2019]s)"
)


_RELATIVE = (
    rf"(?<![\w-])(?:{_NOW}|{_BEFORE}|(?<!guten ){_AFTER}|\w+ ago|from now(?! on)"
    rf"|vor \w+ {_UNIT}"
    rf"|(?:{_THIS}|{_NEXT}|{_LAST}) (?:{_WEEKDAY}|{_UNIT}|(?:spr|even|morn)ing|summer|autumn|fall"
    r"|winter)"
    rf"|(?:{_UNIT}|{_WEEKDAY}) (?:before last|after next|{_NEXT_AFTER})"
    rf"|(?:in|dans|en|em|fra|tra) (?!the )(?:an? )?\w+ {_UNIT})(?![\w-]|['\u2019]s)"
)
_ON_WEEKDAY = rf"(?<![\w-])(?:on|until|by|since|from|am|bis|el) {_WEEKDAY}(?!\w)"


def find_relative_days(sentence: str) -> list[str]:
    """Return the words of the days that only the day of writing tells: "tomorrow", "last week"."""
    return [found[0] for found in _compile(_RELATIVE).finditer(sentence)]


def has_date(text: str) -> bool:
    """Return True when a text has a date or a year, which tells the day of its other days."""
    pattern = rf"(?<![\w-])(?:{_DATE}|\d{{4}}-\d\d|(?:19|20)\d\d|\d\d?/\d\d?/\d+)(?![\w-])"
    return bool(_compile(pattern).search(text))


def names_relative_day(sentence: str) -> bool:
    """Return True when a sentence names such a day or a weekday, which may also be a habit."""
    return bool(find_relative_days(sentence) or _compile(_ON_WEEKDAY).search(sentence))


def parse_day(text: str, today: date, prefer: Prefer = "future") -> date | None:
    """Return the day that a phrase means, None when that is not certain.

    A weekday is the first one after today, so "friday" and "next friday" are the same; "end of
    week" is its Sunday, a weekend its Saturday, a month its last day. With `prefer` "past" a day
    without a year is before today, and a month is its first day.
    """
    raw = " ".join(text.split()).casefold() if len(text) <= MAX_CHARS else ""
    words = raw.strip(" .,;!")
    with suppress(ValueError, LookupError, OverflowError):
        if re.fullmatch(ISO, words):
            return date.fromisoformat(words)
        for rule in (_parse_edge, _parse_date):
            if day := rule(raw, today, prefer) or rule(words, today, prefer):
                return day
    if not words or re.fullmatch(_VAGUE, words):
        return None
    return _parse_by_library(words, today, prefer)


def find_named_day(sentence: str) -> str | None:
    """Return the words of the first later day that a sentence names, else "today" or None."""
    if found := _compile(_NAMED).search(sentence):
        return found["day"]
    today = _compile(rf"(?<![\w-])(?:{_NOW})(?![\w-]|['\u2019]s)").search(sentence)
    return "today" if today else None


def read_leading_day(text: str, today: date) -> tuple[int, date | None]:
    """Return the length of the phrase at the beginning that means a day, and the day; None for one
    that there is not ("friday 19 december" where that is a Saturday)."""
    if quoted := re.match(r"[\"\u201c]([^\"\u201d]+)[\"\u201d]", text):
        return quoted.end(), parse_day(quoted[1], today)
    named = _compile(_NAMED).match(text)
    count = _compile(rf"{_COUNT} {_UNIT}\b").match(text)
    first = "" if named else text.split()[0].rstrip(".,;!?)]")
    for piece in (*(found[0] for found in (named, count) if found), first):
        day = parse_day(piece, today) or parse_day(re.sub(r"(?<=\w)[_-](?=\w)", " ", piece), today)
        if day is not None:
            return len(piece), day
    return len(named[0]) if named else 0, None


def _parse_edge(words: str, today: date, prefer: Prefer) -> date | None:
    """Read "next weekend", "end of month", "friday next week"."""
    past = prefer == "past"
    if found := _compile(_WEEKEND).fullmatch(words):
        ahead = -int(today.weekday() < 5) if past else int(bool(found["next"]))
        return max(unit_of(today, "weekend", ahead)[0], date.min if past else today)
    if found := _compile(_EDGE).fullmatch(words):
        short = {"d": "day", "w": "week", "m": "month", "y": "year"}.get(found["short"])
        at_end = (found["edge"] or "end").startswith(("en", "fi", "ei"))
        unit = short or _name_unit(found["unit"] or found["joined"])
        is_next = found["next"] or found["after"]
        return unit_of(today, unit, 1 if is_next else (not at_end) - past)[at_end]
    if found := _compile(rf"(?:{_LEAD} )?(?P<unit>{_LONG_UNIT}) {_NEXT_AFTER}").fullmatch(words):
        return _ask_library("relative", f"in 1 {_name_unit(found['unit'])}", today, prefer)[0]
    weekday, next_week = _compile(_NEXT_WEEK).subn("", words)
    if next_week and _compile(_WEEKDAY).fullmatch(weekday):
        return unit_of(today, "week", 1)[0] + timedelta(_read_name(weekday, _WEEKDAYS))
    return None


def _parse_date(words: str, today: date, prefer: Prefer) -> date | None:
    """Read "the 15th", "24.12." and "friday 18 december"."""
    step = -1 if prefer == "past" else 1
    if found := _compile(_DAY_ONLY).fullmatch(words):
        days = ((unit_of(today, "month", step * away), int(found[1])) for away in range(13))
        fitting = (first.replace(day=day) for (first, last), day in days if 0 < day <= last.day)
        return next((day for day in fitting if (day - today).days * step >= 0), None)
    for pattern in (_DAY_AND_MONTH, _DAY_MONTH, _MONTH_DAY):
        before = rf"(?:{_LEAD} ){{0,3}}(?:{_DAY_NAME},? (?:the )?)?"
        if found := _compile(before + pattern).fullmatch(words):
            first, last = _by_date(found, today, step)
            return first if first == last and _is_weekday(first, found["weekday"]) else None
    return None


def _is_weekday(day: date, named: str | None) -> bool:
    return not named or day.weekday() == _read_name(named, _WEEKDAYS)


def _parse_by_library(words: str, today: date, prefer: Prefer) -> date | None:
    if words in ("pasado mañana", "depois de amanhã", "dopodomani"):
        return today + timedelta(2)
    bare = " ".join(
        _compile(rf"\b(?:{_NEXT}|{_NEXT_AFTER}|{_THIS}|{_LEAD})\b").sub(" ", words).split()
    )
    for text in (words, bare if bare.isalpha() else ""):
        for parser in ("relative", "absolute") if text else ():
            with suppress(LookupError):
                day, _ = _ask_library(parser, text, today, prefer)
                # "Friday at 10" is no 10th of a month.
                named = re.search(r"\d", text) and _compile(_DAY_NAME).search(text)
                is_behind = (day < today) == (prefer == "future")
                if named and (is_behind or not _is_weekday(day, named[0])):
                    continue
                # Far away, and no year in the words: "the 32nd" is not a day of 2032.
                if abs((day - today).days) <= 366 or parser[0] == "r" or re.search(r"\d{4}", text):
                    return day
    return None
