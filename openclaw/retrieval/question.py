"""What a question asks for: words, quoted phrases, days, names, and whether it wants the latest.

Pure functions by rules; nothing here is heavy to import.
"""

from __future__ import annotations

import calendar
import re
import unicodedata
from dataclasses import dataclass
from datetime import date, timedelta

from openclaw.retrieval.tokens import STOP, words

_QUOTED = re.compile(
    '"([^"]{2,200})"|\u201c([^\u201c\u201d]{2,200})[\u201d\u201c]|\u201e([^\u201c\u201d\u201e]{2,200})'
    "[\u201c\u201d]|\u00ab\\s*([^\u00ab\u00bb]{2,200}?)\\s*\u00bb|\u00bb([^\u00ab\u00bb]{2,200})\u00ab"
    "|`([^`]{2,200})`|(?<![\\w'])'([^']{2,200})'(?![\\w'])|\u300c([^\u300c\u300d]{1,200})\u300d"
)
_LATEST = re.compile(
    r"\b(?:latest|last|most recent(?:ly)?|newest|current(?:ly)?|now|nowadays|these days"
    r"|zuletzt|letzte[nrsm]?|neueste[nrsm]?|aktuell\w*|derzeit|jetzt"
    r"|derni[eè]re?s?|actuel\w*|r[ée]cent\w*|[úu]ltim[oa]s?|reciente\w*|attual\w*|recente)\b",
    re.IGNORECASE,
)
_NOT_LATEST = re.compile(
    r"\b(?:last|letzte[nrsm]?|derni[eè]re?|[úu]ltim[oa]s?)\s+"
    r"(?:name|night|week|month|year|monday|tuesday|wednesday|thursday|friday|saturday|sunday"
    r"|weekend|summer|winter|spring|autumn|fall|woche|monat|jahr)\b",
    re.IGNORECASE,
)
_MONTHS = (
    "january january jan januar janvier enero gennaio janeiro januari",
    "february feb februar février fevrier febrero febbraio fevereiro februari",
    "march mar märz maerz mars marzo março marco maart",
    "april apr avril abril aprile",
    "may mai mayo maggio maio mei",
    "june jun juni juin junio giugno junho",
    "july jul juli juillet julio luglio julho",
    "august aug août aout agosto augustus",
    "september sep sept septembre septiembre settembre setembro",
    "october oct oktober okt octobre octubre ottobre outubro",
    "november nov novembre noviembre novembro",
    "december dec dezember dez décembre diciembre dicembre dezembro",
)
_MONTH = {name: at for at, names in enumerate(_MONTHS, 1) for name in names.split()}
_NAMES = "|".join(sorted(map(re.escape, _MONTH), key=len, reverse=True))
_OF = r"(?:\s*(?:st|nd|rd|th|\.|er|º)?(?:\s+(?:of|de|di))?\s+)"
_ISO = re.compile(r"(?<![\d.-])(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?![.-]?\d)")
_ISO_MONTH = re.compile(r"(?<![\d.-])(\d{4})-(\d{2})(?![.-]?\d)")
_DOTTED = re.compile(r"(?<![\d.])(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})(?![.-]?\d)")
_DAY_MONTH = re.compile(
    rf"(?<!\d)(\d{{1,2}}){_OF}({_NAMES})\b\.?(?:,?\s+(?:of\s+|de\s+)?(\d{{4}}))?", re.IGNORECASE
)
_MONTH_DAY = re.compile(
    rf"\b({_NAMES})\b\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?(?![\d:])(?:,?\s+(\d{{4}}))?", re.IGNORECASE
)
_MONTH_YEAR = re.compile(rf"\b({_NAMES})\b\.?,?\s+(?:of\s+|de\s+)?(\d{{4}})(?!\d)", re.IGNORECASE)
_MONTH_ALONE = re.compile(
    rf"\b(?:in|during|since|im|seit|en|em|within|last|this)\s+({_NAMES})\b", re.IGNORECASE
)
_YEAR = re.compile(r"(?<![\d.:/-])((?:19|20)\d{2})(?![\d.:/-]*\d)")
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_AGO = re.compile(r"\b(\d{1,3}|an?|one|two|three|four|five|six)\s+(day|week|month|year)s?\s+ago\b")
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_NAME = re.compile(r"[^\W\d_][\w'\u2019-]*")


@dataclass(frozen=True, slots=True)
class Question:
    """A question as it was read.

    `words` are its distinct words as in `tokens.words`, in their order, without those of a day it
    names (an entry of that day need not say the day); `phrases` what it quotes;
    `dates` the days it names as pairs of ISO days (from, to), inclusive; `names` the words written
    with a capital, case folded, for labels and people; `keys` the identifiers among its words
    (letters with digits or inner marks: ops-4217, v1.2.3, a.b@c.de).
    """

    text: str
    words: tuple[str, ...]
    phrases: tuple[str, ...] = ()
    dates: tuple[tuple[str, str], ...] = ()
    wants_latest: bool = False
    names: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()


def read_question(text: str, today: date) -> Question:
    """Read a question; `today` is what "yesterday" and "May" without a year count from."""
    phrases = tuple(
        phrase
        for found in _QUOTED.finditer(text)
        if (phrase := " ".join(next(filter(None, found.groups())).split()))
    )
    dates, rest = _dates_and_rest(text, today)
    terms = tuple(dict.fromkeys(words(rest) or words(text)))
    return Question(
        text,
        terms,
        phrases,
        dates,
        bool(_LATEST.search(_NOT_LATEST.sub(" ", text))),
        _names(text),
        tuple(term for term in terms if _is_key(term)),
    )


def _is_key(term: str) -> bool:
    """Whether a word is an identifier: digits within letters or marks; no plain word or number."""
    marks = any(not char.isalnum() for char in term)
    digits = any(char.isdigit() for char in term)
    letters = any(char.isalpha() for char in term)
    return (digits and letters) or (marks and digits) or (marks and "-" not in term and letters)


def _names(text: str) -> tuple[str, ...]:
    """Words with a capital, but for one that only begins the question and is a small word."""
    found = []
    for at, match in enumerate(_NAME.finditer(text)):
        name = match[0].replace("\u2019", "'").removesuffix("'s")
        if not name[0].isupper() or (at == 0 and name.lower() in STOP):
            continue
        found.append(name.casefold())
    return tuple(dict.fromkeys(found))


def _dates_and_rest(text: str, today: date) -> tuple[tuple[tuple[str, str], ...], str]:
    """The days, months and years that a text names, as (from, to), and what it says beside them.
    What is read is not read again: "May 2023" is a month and not also a year."""
    spans: list[tuple[date, date]] = []

    def take(pattern: re.Pattern[str], text: str, kind: str) -> str:
        def note(found: re.Match[str]) -> str:
            span = _span(kind, found, today)
            if span is None:
                return found[0]
            spans.append(span)
            return " "

        return pattern.sub(note, text)

    rest = unicodedata.normalize("NFC", text)
    for kind, pattern in (
        *(("iso", _ISO), ("iso-month", _ISO_MONTH), ("dotted", _DOTTED)),
        *(("day", _DAY_MONTH), ("month-day", _MONTH_DAY)),
        *(("month", _MONTH_YEAR), ("month-alone", _MONTH_ALONE), ("year", _YEAR)),
    ):
        rest = take(pattern, rest, kind)
    spans.extend(_relative(rest.casefold(), today))
    ordered = dict.fromkeys((first.isoformat(), last.isoformat()) for first, last in spans)
    return tuple(ordered), rest


def _span(kind: str, found: re.Match[str], today: date) -> tuple[date, date] | None:
    try:
        if kind == "iso":
            return _day(int(found[1]), int(found[2]), int(found[3]))
        if kind == "iso-month":
            return _month(int(found[1]), int(found[2]))
        if kind == "dotted":
            return _day(int(found[3]), int(found[2]), int(found[1]))
        if kind == "day":
            return _dated(_MONTH[found[2].casefold()], int(found[1]), found[3], today)
        if kind == "month-day":
            return _dated(_MONTH[found[1].casefold()], int(found[2]), found[3], today)
        if kind == "month":
            return _month(int(found[2]), _MONTH[found[1].casefold()])
        if kind == "month-alone":
            month = _MONTH[found[1].casefold()]
            return _month(today.year - (month > today.month), month)
        return date(int(found[1]), 1, 1), date(int(found[1]), 12, 31)
    except ValueError:
        return None


def _day(year: int, month: int, day: int) -> tuple[date, date]:
    return date(year, month, day), date(year, month, day)


def _month(year: int, month: int) -> tuple[date, date]:
    first = date(year, month, 1)
    return first, first.replace(day=calendar.monthrange(year, month)[1])


def _dated(month: int, day: int, year: str | None, today: date) -> tuple[date, date]:
    """A day of a month; without a year it is the last one that has been."""
    if year:
        return _day(int(year), month, day)
    return _day(today.year - ((month, day) > (today.month, today.day)), month, day)


def _relative(text: str, today: date) -> list[tuple[date, date]]:
    """Days told from today, in English, and the commonest in German, French and Spanish."""
    spans: list[tuple[date, date]] = []
    for names, back in (
        ("today|heute|aujourd'hui|hoy|this morning|tonight", 0),
        ("yesterday|gestern|hier soir|ayer|last night", 1),
        ("day before yesterday|vorgestern|avant-hier|anteayer", 2),
    ):
        if re.search(rf"\b(?:{names})\b", text):
            spans.append(_back(today, back, back))
    monday = today - timedelta(today.weekday())
    for names, first, last in (
        ("this week|diese woche|cette semaine|esta semana", monday, monday + timedelta(6)),
        (
            "last week|letzte woche|la semaine derni[eè]re|la semana pasada",
            monday - timedelta(7),
            monday - timedelta(1),
        ),
    ):
        if re.search(rf"\b(?:{names})\b", text):
            spans.append((first, last))
    if re.search(r"\bthis month\b|\bdiesen monat\b", text):
        spans.append(_month(today.year, today.month))
    if re.search(r"\blast month\b|\bletzten monat\b", text):
        end = today.replace(day=1) - timedelta(1)
        spans.append((end.replace(day=1), end))
    if re.search(r"\blast year\b|\bletztes jahr\b", text):
        spans.append((date(today.year - 1, 1, 1), date(today.year - 1, 12, 31)))
    for found in re.finditer(rf"\b(?:last|on)\s+({'|'.join(_WEEKDAYS)})\b", text):
        back = (today.weekday() - _WEEKDAYS.index(found[1]) - 1) % 7 + 1
        spans.append(_back(today, back, back))
    for found in _AGO.finditer(text):
        count = _COUNTS.get(found[1]) or int(found[1])
        days = count * {"day": 1, "week": 7, "month": 30, "year": 365}[found[2]]
        slack = {"day": 0, "week": 3, "month": 15, "year": 180}[found[2]]
        spans.append(_back(today, days + slack, days - slack))
    return spans


def _back(today: date, first: int, last: int) -> tuple[date, date]:
    return today - timedelta(first), today - timedelta(last)
