"""Patterns of days in texts, in seven languages, and the rules by which they mean days.

The library dateparser reads "three weeks", and rare forms that somebody types for a day. It loads
at first use (0.3 s) and takes "a" or a version for a date, so it gets nothing that a rule reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from functools import cache, lru_cache
from typing import Any, Literal

from openclaw.frozen import frozen
from openclaw.nlp.calendar_days import Span, in_year, months_of, move, part_of, unit_of

Prefer = Literal["future", "past"]
Reading = Literal["future", "past", "typed"]
_Make = Callable[[re.Match[str], date, int], Span]
_Place = tuple[str, _Make, re.Match[str]]
"""What a time needs, how its days are made, and where it stands."""

LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pt")
FEW = 5  # "a few days", "the last days"

# Words, as patterns that are compiled at first use: most texts name no day.
_ISO = r"\d{4}-\d\d-\d\d"
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
    "monday|montag|lundi|lunes|luned[iì]|maandag|segunda-feira",
    "tuesday|dienstag|mardi|martes|marted[iì]|dinsdag|terça-feira",
    "wednesday|mittwoch|mercredi|mi[ée]rcoles|mercoled[iì]|woensdag|quarta-feira",
    "thursday|donnerstag|jeudi|jueves|gioved[iì]|donderdag|quinta-feira",
    "friday|freitag|vendredi|viernes|venerd[iì]|vrijdag|sexta-feira",
    "saturday|samstag|sonnabend|samedi|s[áa]bado|sabato|zaterdag",
    "sunday|sonntag|dimanche|domingo|domenica|zondag",
)
_BARE_WEEKDAY = (
    r"(?<!\bà )(?<!\b(?:le|il|ce|un|da) )(?<!\bles )(?<!\bogni )(?<!\b(?:entro|avant) )"
    r"(?<!\bchaque )\b(?P<weekday>(?:lun|mar|mercre|jeu|vendre|same)di"
    r"|dimanche|(?:lune|marte|mercole|giove|vener)d[iì]|sabato|domenica)\b"
)
"""A weekday that needs no preposition; with others before it it is a habit ("le lundi",
"ogni lunedì") or a day to come ("entro martedì")."""
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
NOW = (
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
LEAD = (
    r"\A(?:(?:on|at|by|in|until|before|for|the|am|im|bis|zum|den|für|le|la|el|à|a|en|em|pour|para|op"
    r"|il|no|na) )*"
)
_SECOND = r"(?:the )?day (?:before|after)|vor|avant|ante|eer|über|over|après|pasado|dopo|depois"
_COUNT = r"(?:an?\s+|ein\s+)?\w+(?:\s+of)?"
_FEW = r"(?i)few|several|couple|paar|einige\w*|quelques|unos|algun\w+"
_NTH = (
    r"(?:first|second|third|fourth|last|[1-4](?:st|nd|rd|th|\.)|(?:ers|zwei|drit|vier|letz)te\w?)"
)
_NUMBERS = {"fi": 1, "er": 1, "se": 2, "zw": 2, "th": 3, "dr": 3, "fo": 4, "vi": 4}


@cache
def ignore_case(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def is_weekday_or_month(word: str) -> bool:
    """Return True for the full name of a weekday, also of several, or of a month with a capital:
    "may" is a verb, and Jan a person."""
    full = word[:1].isupper() and (len(word) > 3 or word in ("May", "Mai"))
    month = full and ignore_case(MONTH).fullmatch(word)
    return bool(month or ignore_case(rf"{_WEEKDAY}s?").fullmatch(word))


@lru_cache(4)
def _load_library(today: date, prefer: Prefer) -> Any:
    from dateparser.date import DateDataParser

    settings = {
        "PARSERS": ["relative-time", "absolute-time"],
        "RELATIVE_BASE": datetime(today.year, today.month, today.day),
        "PREFER_DATES_FROM": prefer,
        "DATE_ORDER": "DMY",
    }
    return DateDataParser(list(LANGUAGES), use_given_order=True, settings=settings).get_date_data


def ask_library(words: str, today: date, prefer: Prefer = "past") -> date:
    """Return the day that words mean. Raises LookupError when they mean none."""
    try:
        day: date = _load_library(today, prefer)(words).date_obj.date()
        return day
    except (ValueError, OverflowError, RecursionError, IndexError, TypeError, AttributeError):
        raise LookupError(words) from None  # the library stumbles over some phrases


def _read_name(name: str, names: Sequence[str]) -> int:
    """Return the place of a weekday or month in its table, from 0, also of "thurs"."""
    short = name[:3].casefold()
    found = (ignore_case(each).fullmatch(name) or each.startswith(short) for each in names)
    return [*map(bool, found)].index(True)


def _count_back(count: str, unit: str, today: date) -> date:
    """Return the day that is so long ago ("three", "weeks"). Raises LookupError."""
    if re.search(_FEW, count):
        count = "2" if "couple" in count else str(FEW)
    return ask_library(f"{count} {unit}".casefold(), today)


def _name_unit(word: str) -> str:
    return next(unit for unit, words in _UNITS.items() if ignore_case(words).fullmatch(word))


@frozen
class Time:
    """Days that a text names, and their place in it.

    yearly  the text could have said a year but did not: they are the latest that have begun
    needs   "in" or "on" before it, or to be "part" of another time; "" when it counts by itself
    """

    start: int
    end: int
    span: Span
    yearly: bool = False
    needs: str = ""


def find_places(text: str, reading: Reading) -> list[_Place]:
    """Return what the rules find, in the order of the text; the first rule wins a place. What is
    typed for a day may be of any time."""
    places: list[_Place] = []
    # A search in lower case is faster than one that ignores case.
    if reading != "typed" and not re.search(_MAY_NAME_DAYS, text.lower()):
        return places
    taken = bytearray(len(text))
    for needs, only, make, pattern in _RULES:
        if only not in ("", reading) and reading != "typed":
            continue
        bounded = pattern if reading == "past" else rf"(?<![\w-])(?:{pattern}){_END}"
        for found in ignore_case(bounded).finditer(text):
            start, end = found.span()
            if not any(taken[start:end]):
                taken[start:end] = bytes([1]) * (end - start)
                places.append((needs, make, found))
    return sorted(places, key=lambda place: place[2].start())


def read_times(places: Iterable[_Place], today: date, prefer: Prefer) -> Iterator[Time]:
    """Yield the times at these places, without those that there are not, as the 31st of April."""
    step = 1 if prefer == "future" else -1
    for needs, make, found in places:
        with suppress(ValueError, LookupError, OverflowError):
            span, year = make(found, today, step), found.groupdict().get("year", "none")
            sure = span[0].year != today.year if needs == "part" else year not in (None, "none")
            yield Time(*found.span(), span, not year, "" if sure else needs)


def _by_date(found: re.Match[str], today: date, step: int) -> Span:
    """Return a month, a day of it or several: "3-9 March". A day to come is on the weekday that
    is said."""
    said = found.groupdict()
    month = int(said["m"]) if "m" in said else _read_name(said["month"], _MONTHS) + 1
    days = sorted(int(day) for day in (said.get("day"), said.get("last")) if day)

    def days_in(year: int) -> Span:
        whole = months_of(year, month, month)
        return (date(year, month, days[0]), date(year, month, days[-1])) if days else whole

    span = in_year(said["year"], today, days_in, step)
    if step > 0:
        _check_weekday(found, span[0])
    return span


def _calendar_week(found: re.Match[str], today: date, step: int) -> Span:
    week = int(found["week"])
    return in_year(
        found["year"], today, lambda y: unit_of(date.fromisocalendar(y, week, 1), "week"), step
    )


def _quarter(found: re.Match[str], today: date, step: int) -> Span:
    last = 3 * (int(found["quarter"]) if found["quarter"] else _number(found["nth"]))
    return in_year(found["year"], today, lambda year: months_of(year, last - 2, last), step)


def _year(found: re.Match[str], *_: object) -> Span:
    return months_of(int(found[0]), 1, 12)


def _near_day(found: re.Match[str], today: date, _: int) -> Span:
    """Return today, a day beside it or one beside that."""
    if ignore_case(NOW).fullmatch(found[0]):
        return unit_of(today, "day")
    away = 2 if ignore_case(_SECOND).match(found[0]) else 1
    return unit_of(today, "day", away if ignore_case(_AFTER).fullmatch(found[0]) else -away)


def _weekday(found: re.Match[str], today: date, step: int) -> Span:
    """Return the first such weekday after today, or the last one before it; that of next week."""
    said = found.groupdict()
    if ignore_case(_NEXT_WEEK).search(found[0]):
        return unit_of(unit_of(today, "week", 1)[0], "day", _read_name(found["weekday"], _WEEKDAYS))
    step = 1 if said.get("next") or said.get("after") else step
    ahead = (_read_name(found["weekday"], _WEEKDAYS) - today.weekday()) * step
    return unit_of(today, "day", ((ahead - 1) % 7 + 1) * step)


def _day_of_month(found: re.Match[str], today: date, step: int) -> Span:
    """Return the next such day, or the last one: "the 15th", "Tuesday the 8th"."""
    months = (unit_of(today, "month", step * away)[0] for away in range(13))
    days = (first + timedelta(int(found["day"]) - 1) for first in months)
    right = (day for day in days if day.day == int(found["day"]) and (day - today).days * step >= 0)
    day = min(right, key=lambda day: abs(day - today))
    _check_weekday(found, day)
    return unit_of(day, "day")


def _check_weekday(found: re.Match[str], day: date) -> None:
    """Raises LookupError for "friday 19 december" where that is a Saturday."""
    weekday = found.groupdict().get("weekday")
    if weekday and day.weekday() != _read_name(weekday, _WEEKDAYS):
        raise LookupError(found[0])


def _unit(found: re.Match[str], today: date, step: int) -> Span:
    """Return a week or month before or after this one, or this one; of weekends the one that comes
    or has begun."""
    said, unit = found.groupdict(), _name_unit(found["unit"])
    begun = unit != "weekend" or today.weekday() >= 5
    if said.get("last") or not (begun or step > 0 or said.get("next") or said.get("after")):
        return unit_of(today, unit, -1)
    return unit_of(today, unit, int(bool(said.get("next"))))


def _edge(found: re.Match[str], today: date, step: int) -> Span:
    """Return the first or last day of a week, month or year: "end of month"."""
    unit = _SHORT.get(found["short"]) or _name_unit(found["unit"] or found["joined"])
    at_end = (found["edge"] or "end").casefold().startswith(("en", "fi", "ei"))
    is_next = found["next"] or found["after"]
    days = unit_of(today, unit, 1 if is_next else (not at_end) - (step < 0))
    return unit_of(days[at_end], "day")


def _counted(found: re.Match[str], today: date, step: int) -> Span:
    """Return the day that is so far away: "in 3 weeks", "3 weeks ago"."""
    prefer: Prefer = "future" if step > 0 else "past"
    return unit_of(ask_library(found[0].casefold(), today, prefer), "day")


def _ago(found: re.Match[str], today: date, _: int) -> Span:
    """Return the days about so long ago: days exactly, longer units give or take half of one."""
    day = _count_back(found["count"], found["unit"], today)
    slack = timedelta({"week": 3, "month": 15, "year": 180}.get(_name_unit(found["unit"]), 0))
    return day - slack, min(day + slack, today)


def _last_ones(found: re.Match[str], today: date, _: int) -> Span:
    """Return the last few days, weeks or months, up to today."""
    count = found.groupdict().get("count") or ("1" if found.groupdict().get("one") else "few")
    return _count_back(count, found["unit"], today), today


def _cut(time: Time, today: date, part: Callable[[Span], Span]) -> Span | None:
    """Return a part of a month or more, without a year the latest that has begun."""
    if (time.span[1] - time.span[0]).days + 1 < 28:  # no whole month
        return None
    span = part(time.span)
    return part(move(time.span, -1)) if time.yearly and span[0] > today else span


def _number(nth: str) -> int:
    """Return 1 to 4, or -1 for "last"."""
    return int(nth[0]) if nth[0].isdigit() else _NUMBERS.get(nth[:2].casefold(), -1)


def _nth_unit(found: re.Match[str], time: Time, today: date) -> Span | None:
    """Return the first week or second half of a time."""
    nth, unit = _number(found["nth"]), found["unit"].casefold()
    if unit in ("half", "hälfte"):
        return _cut(time, today, lambda span: part_of(span, min(abs(nth) - 1, 1), 2))
    length, day = timedelta({"week": 7, "day": 1}[_name_unit(unit)]), timedelta(1)
    if nth < 0:
        return _cut(time, today, lambda span: (span[1] + day - length, span[1]))
    return _cut(time, today, lambda s: (s[0] + (nth - 1) * length, s[0] + nth * length - day))


def _part(found: re.Match[str], time: Time, today: date) -> Span | None:
    """Return the early, middle or late part of a time."""
    word = found["part"].casefold()
    part = 1 if word.startswith("mi") else 2 if word.startswith(("late", "end")) else 0
    return _cut(time, today, lambda span: part_of(span, part, 3))


def _week_of(found: re.Match[str], time: Time, _: date) -> Span | None:
    return None if time.needs else unit_of(time.span[0], _name_unit(found["unit"]))


def _since(_: re.Match[str], time: Time, today: date) -> Span | None:
    return (time.span[0], today) if time.needs != "part" and time.span[0] <= today else None


def _let_count(found: re.Match[str], time: Time, today: date) -> Span | None:
    """Return the days of "in March", "on Monday", or those of "last March", which are over."""
    said = found.groupdict()
    if said.get("last") and time.needs in ("in", "on"):
        return move(time.span, -1) if time.yearly and time.span[1] >= today else time.span
    return time.span if said.get(time.needs) else None


_MAY_NAME_DAYS = (
    rf"\b(?:(?:{MONTH}|{_WEEKDAY}|{_UNIT}|{NOW}|{_BEFORE}|{_AFTER})(?:abend|morgen)?\b|q[1-4]\b"
    r"|kw\s?\d|(?:19|20)\d\d|\d\d?\.\s?\d\d?\.|\d\d?(?:st|nd|rd|th)\b|eo[dwmy]\b|\w+sende\b)"
)
_TH = r"(?:st|nd|rd|th|er|º|\.)?"
_END = r"(?![\w-]|['\u2019]s)"
_THE = r"(?:(?:the|dem|den|der|el|le)\s+)?"
_TO = r"(?:\s*[-\u2013\u2014/]\s*|\s+(?:to|until|till|through|bis(?:\s+zum?)?|au|al?|tot)\s+)"
_AND = r"\s+(?:and|und|et|y|e|en)\s+"
JOINED = (
    rf"(?:(?P<sure>\b(?:from|von|vom|du|de)\s+{_THE})?\0{_TO}"
    rf"|(?P<both>\b(?:between|zwischen|entre)\s+{_THE})\0{_AND}){_THE}$"
)
# The verbs: in lower case, or the first word, and followed by a word that does not follow a month.
_VERB = (
    r"(?:(?-i:may|march)|\Amay|\Amarch)(?:\s+\d\d?)?"
    r"\s+(?!(?:in|at|on|for|with|and|or|to|until|was|were|did)\b)[^\W\d]"
)
_NAME = rf"\b(?!{_VERB})(?P<month>{MONTH})\b(?:\.(?=,?\s?\d))?"
DAY_NAME = rf"(?P<weekday>{_WEEKDAY}|mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)\b"
_IN_YEAR = r"(?:,?\s+(?:(?:of|de)\s+)?(?P<year>\d{4})(?!\d))?"
_AMOUNT = (
    r"\s*(?:[%\u20ac$\d]|(?:euros?|dollars?|k?[mgwv]|[kmgt]b|kcal|kwh|steps|words|people|leute)\b)"
)
_NO_PART = rf"(?!\s+(?:of|before|der|des|vor|vom)\b|\s+(?:in|im|de|van)\s+(?:the\s+)?{MONTH}\b)"
_WEEK = rf"(?P<unit>{'|'.join(_UNITS[unit] for unit in ('weekend', 'week', 'month', 'quarter'))})"
_YEARS = rf"(?P<unit>{_UNITS['year']})"
COUNTED = rf"(?P<count>{_COUNT})\s+(?P<unit>{_UNIT})"
_OF = r"(?:of|in|im|des|vom|von|de|du|van)\s+(?:the\s+)?(?:month\s+of\s+|monats?\s+)?"
_OF_WEEKDAY = rf"(?:\b{DAY_NAME},?\s+(?:the\s+)?)?"
_BEFORE_DATE = rf"{_OF_WEEKDAY}(?<![\d.,/-])(?<!\d:)"
_DAY_MONTH = (
    rf"{_BEFORE_DATE}(?:(?P<day>\d\d?){_TH}(?:{_TO}|{_AND}){_THE})?"
    rf"(?P<last>\d\d?){_TH}\s+(?:(?:of|de|di)\s+)?{_NAME}{_IN_YEAR}"
)
_MONTH_DAY = (
    rf"{_BEFORE_DATE}{_NAME}\s+(?P<day>\d\d?)(?:st|nd|rd|th)?(?:{_TO}(?P<last>\d\d?)(?:st|nd|rd|th)?)?"
    rf"(?![\d:%]|[.,/-]\d){_IN_YEAR}"
)
_FULL_YEAR = r"(?:(?<=\bmid-)|(?<![\w.:/$\u20ac\u00a3#-]))(?:19|20)\d\d(?![.:/-]*\d)"
_QUARTER = (
    rf"\b(?:Q(?P<quarter>[1-4])|(?:the\s+)?(?!last|letzt)(?P<nth>{_NTH})\s+(?:{_UNITS['quarter']}))"
    r"\b(?:[\s/-]*(?:(?:of|in)\s+)?(?P<year>\d{4})|(?!\s+[od]))"
)
_ISO_DAY = r"(?P<year>\d{4})-(?P<m>\d\d)-(?P<day>\d\d)(?![.-]?\d)"
_DOTTED = rf"{_BEFORE_DATE}(?P<day>\d\d?)\.\s?(?P<m>\d\d?)\.(?P<year>\s?\d{{4}})?"
_SHORT_UNIT = rf"(?:{_UNITS['day']}|{_UNITS['week']}|{_UNITS['month']})"
_LONG_UNIT = rf"(?P<unit>{_UNITS['week']}|{_UNITS['month']}|{_UNITS['year']})"
_NEXT_WEEK = rf"(?:{_NEXT} (?:{_UNITS['week']})|semaine prochaine)"
_WEEKEND = (
    rf"(?:(?:(?P<next>{_NEXT})|{_THIS}) )?(?P<unit>{_UNITS['weekend']})(?P<after> {_NEXT_AFTER})?"
)
_DAY_AHEAD = (
    rf"(?:(?P<next>{_NEXT}|{_THIS}|{_NEXT_WEEK}(?: on| am)?) )?(?P<weekday>{_WEEKDAY})"
    rf"(?P<after> (?:{_NEXT_AFTER}|{_NEXT_WEEK}))?"
)
_IN, _AGO, _AGO_AFTER = (
    r"(?:in|dans|en|em|fra|tra)",
    r"(?:vor|il y a|hace|há)",
    r"(?:ago|fa|geleden|atrás)",
)
_EDGE = (
    r"(?P<edge>ende?|start|beginning|anfang|fine?(?! day)|final(?:es)?|einde)"
    r"(?: (?:of|de[rlst]?|du|di|van|la|the|this|diese[rs])){0,3} (?:de l.)?"
    rf"(?P<next>{_NEXT} )?(?P<unit>{_UNIT})(?P<after> {_NEXT_AFTER})?"
    r"|eo(?P<short>[dwmy])|(?P<joined>monat|jahr)e?sende"
)
_ON_THE = (
    r"(?<=\b(?:on|by|to|is) the )|(?<='s the )|(?<=\bdue the )|(?<=\b(?:till|from|been) the )"
    r"|(?<=\buntil the )|(?<=\bbefore the )"
)
_THE_DAY = (  # but not "paint the 2nd floor"
    rf"(?:{DAY_NAME},? the |{_ON_THE}|(?<=the )(?!\w+\s+(?!and\b|for\b)[^\W\d]{{3,}}))"
    r"(?P<day>\d\d?)(?:st|nd|rd|th)"
)
_SHORT = {"d": "day", "w": "week", "m": "month", "y": "year"}

_RULES: tuple[tuple[str, Reading | Literal[""], _Make, str], ...] = (
    ("", "", _by_date, rf"{_OF_WEEKDAY}(?<![\d.-]){_ISO_DAY}"),
    ("", "past", _by_date, r"(?<![\d.-])(?P<year>\d{4})-(?P<m>\d\d)(?![.-]?\d)"),
    ("on", "", _by_date, rf"{_DOTTED}(?![.-]?\d)"),
    ("", "past", _calendar_week, r"\bKW\s?(?P<week>\d\d?)\b(?:\s*[/ ]\s*(?P<year>\d{4}))?"),
    ("in", "past", _quarter, _QUARTER),
    ("", "", _by_date, _DAY_MONTH),
    ("", "", _by_date, _MONTH_DAY),
    ("in", "past", _by_date, rf"{_NAME}{_IN_YEAR}"),
    ("part", "past", _year, rf"{_FULL_YEAR}(?!{_AMOUNT})"),
    ("", "past", _last_ones, rf"\b{_LAST}\s+{COUNTED}\b{_NO_PART}"),
    ("", "past", _last_ones, rf"\b{_LAST}\s+(?P<unit>{_PLURAL})\b{_NO_PART}"),
    ("", "past", _last_ones, rf"\b(?P<one>past)\s+(?P<unit>week|month|year)\b{_NO_PART}"),
    ("", "future", _unit, _WEEKEND),
    ("", "future", _day_of_month, _THE_DAY),
    ("", "future", _weekday, _DAY_AHEAD),
    ("", "future", _edge, _EDGE),
    ("", "future", _unit, rf"(?P<next>{_NEXT}) {_LONG_UNIT}"),
    ("", "future", _unit, rf"{_LONG_UNIT} (?P<next>{_NEXT_AFTER})"),
    ("", "past", _near_day, rf"\b(?:{_BEFORE}|{NOW})\b"),
    ("", "future", _near_day, rf"{_AFTER}|{NOW}"),
    ("", "future", _counted, rf"{_IN} (?!the )(?:an? )?\w+ {_SHORT_UNIT}"),
    ("", "typed", _counted, rf"(?:(?:{_IN}|{_AGO}) )?{_COUNT} {_UNIT}(?: {_AGO_AFTER})?"),
    ("", "past", _unit, rf"\b(?P<last>{_LAST})\s+{_WEEK}\b{_NO_PART}"),
    ("", "past", _unit, rf"\b{_WEEK}\s+(?P<last>{_LAST_AFTER})\b"),
    ("", "past", _unit, rf"\b(?:{_THIS}|(?:at|on|over)\s+the|am|übers)\s+{_WEEK}\b{_NO_PART}"),
    ("part", "past", _unit, rf"\b(?:(?P<last>{_LAST})|{_THIS})\s+{_YEARS}\b"),
    ("part", "past", _unit, rf"\b{_YEARS}\s+(?P<last>{_LAST_AFTER})\b"),
    ("", "past", _ago, rf"\b{COUNTED}\s+{_AGO_AFTER}\b"),
    ("", "past", _ago, rf"\b{_AGO}\s+{COUNTED}\b"),
    ("", "past", _weekday, rf"\b(?P<weekday>{_WEEKDAY})\s+{_LAST_AFTER}\b"),
    ("", "past", _weekday, rf"{_BARE_WEEKDAY}(?! {_NEXT_AFTER})"),
    ("on", "past", _weekday, rf"\b(?P<weekday>{_WEEKDAY})(?:abend|morgen|nachmittag)?\b"),
    ("", "typed", _by_date, r"(?P<day>\d\d?)\.(?P<m>\d\d?)\.(?P<year>\d\d)"),
    ("", "typed", _day_of_month, r"(?P<day>\d\d?)(?:st|nd|rd|th|\.|er)"),
)
"""What a time needs, the only reading that has it ("" for all), and what makes its days."""
SINCE = rf"(?:since|seit|depuis|desde|sinds)\s+{_THE}"
_EARLY = r"(?P<part>early|late|mid|(?:beginning|start|middle|end)\s+of|anfang|beginn|mitte|ende)"
_DURING = rf"(?:in|during|within|over|throughout|im|en|em|{_THIS})"
WORDS_BEFORE: tuple[tuple[Callable[[re.Match[str], Time, date], Span | None], str], ...] = (
    (_part, rf"{_EARLY}[\s-]+(?:{_OF})?(?:(?:the|des)\s+)?"),
    (_nth_unit, rf"(?P<nth>{_NTH})\s+(?P<unit>{_UNIT}|half|hälfte)\s+{_OF}"),
    (_week_of, rf"(?P<unit>week|weekend|woche|wochenende)\s+(?:of|from|vom|um)\s+{_THE}"),
    (_let_count, rf"(?P<last>{_LAST})\s+"),
    (_since, SINCE),
    (_let_count, rf"(?P<in>{_DURING})\s+(?:the\s+month\s+of\s+|monat\s+)?"),
    (_let_count, r"(?P<on>on|am|op|el|na)\s+"),
)

_DATE = (
    rf"{_ISO}|\d\d?(?:st|nd|rd|th|er|\.)?(?: (?:of|de))? ?{MONTH}(?: (?:de )?\d{{4}})?"
    rf"|{MONTH} \d\d?(?:st|nd|rd|th)?(?:,? \d{{4}})?|\d\d?\. ?\d\d?\.(?: ?\d{{4}})?"
)
_RELATIVE = (
    rf"(?<![\w-])(?:{NOW}|{_BEFORE}|(?<!guten ){_AFTER}|\w+ ago|from now(?! on)"
    rf"|vor \w+ {_UNIT}"
    rf"|(?:{_THIS}|{_NEXT}|{_LAST}) (?:{_WEEKDAY}|{_UNIT}|(?:spr|even|morn)ing|summer|autumn|fall"
    r"|winter)"
    rf"|(?:{_UNIT}|{_WEEKDAY}) (?:before last|after next|{_NEXT_AFTER})"
    rf"|(?:in|dans|en|em|fra|tra) (?!the )(?:an? )?\w+ {_UNIT})(?![\w-]|['\u2019]s)"
)
_ON_WEEKDAY = rf"(?<![\w-])(?:on|until|by|since|from|am|bis|el) {_WEEKDAY}(?!\w)"


def find_relative_days(sentence: str) -> list[str]:
    """Return the words of the days that only the day of writing tells: "tomorrow", "last week"."""
    return [found[0] for found in ignore_case(_RELATIVE).finditer(sentence)]


def has_date(text: str) -> bool:
    """Return True when a text has a date or a year, which tells the day of its other days."""
    pattern = rf"(?<![\w-])(?:{_DATE}|\d{{4}}-\d\d|(?:19|20)\d\d|\d\d?/\d\d?/\d+)(?![\w-])"
    return bool(ignore_case(pattern).search(text))


def names_relative_day(sentence: str) -> bool:
    """Return True when a sentence names such a day or a weekday, which may also be a habit."""
    return bool(find_relative_days(sentence) or ignore_case(_ON_WEEKDAY).search(sentence))
