"""Read days as people write them: 2026-12-01, tomorrow, next friday, morgen, end of month.

The library dateparser reads most of them. It loads at first use (0.2 s); an ISO date never needs
it. This module reads what the library cannot (weekends, ends of months, "vendredi prochain") or
would guess: a bare number, 01/02/2026, a month without a day.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from functools import cache
from typing import Any, Literal

from openclaw.frozen import frozen
from openclaw.types import ToolProblem

LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pt")
MAX_CHARS = 60
ISO = r"\d{4}-\d{2}-\d{2}"

Prefer = Literal["future", "past"]

# Patterns are texts, compiled when they are first used: most commands read no date.

_EDGE = (
    r"(?:by |until )?(?:the )?(?P<edge>end|start|beginning) of (?:the |this )?(?P<next>next )?"
    r"(?P<unit>day|week|month|year)|(?P<short>eo[dwmy])"
    r"|(?:bis )?(?:zum )?(?:ende (?:der|des|dieser|dieses) )(?P<de>woche|monats|jahres)"
    r"|(?P<de2>monatsende|jahresende)|(?:à la )?fin (?:de la |du |de l.)(?P<fr>semaine|mois|année)"
    r"|(?:a )?(?:fin|final(?:es)?) (?:de|del) (?P<es>mes|año)"
)
_UNITS: Mapping[str, str] = {
    **dict.fromkeys(("day", "eod"), "day"),
    **dict.fromkeys(("week", "eow", "woche", "semaine"), "week"),
    **dict.fromkeys(("month", "eom", "monats", "monatsende", "mois", "mes"), "month"),
    **dict.fromkeys(("year", "eoy", "jahres", "jahresende", "année", "año"), "year"),
}
_WEEKEND = (
    r"(?:on |at |by |the |this |am |dieses |nächstes |ce |le |este |el )*(?P<next>next )?"
    r"(?:weekend|week-end|wochenende|fin de semana)(?: prochain)?"
)
_DAY_ONLY = r"(?:on |by |am |bis |le |the |den |zum )*(\d{1,2})(?:st|nd|rd|th|\.|er)"
_DOTTED = r"(\d{1,2})\.\s?(\d{1,2})\.(\d{4}|\d{2})?"
_SLASHED = r"(\d{1,2})[/-](\d{1,2})(?:[/-](\d{4}|\d{2}))?"
_OF_NEXT_WEEK = (
    r"(?:on )?(\w+) (?:of )?(?:next week|nächster woche|nächste woche|la semaine prochaine)"
    r"|(?:next week|nächste woche) (?:on |am )?(\w+)"
)
_NEXT = (
    r"\b(?:next|this|coming|on|by|until|nächste[nrsm]?|kommende[nrsm]?|diese[nrsm]?|am|bis|den|zum"
    r"|prochaine?|ce|cette|le|próxim[oa]|proxim[oa]|este|el|prossim[oa]|volgende)\b"
)
_AFTER_TOMORROW = ("pasado mañana", "pasado manana", "depois de amanhã", "overovermorgen")
_VAGUE = r"[\d\s:.,-]*|\D|now|jetzt|maintenant|ahora|\d{1,2}(?::\d\d)?\s*[ap]\.?m\.?"
_DUE = (
    r"(?s)"
    r"(?<![\w:-])due:\s?(?P<words>\S.*)"
)
_QUOTED = r"[\"\u201c](?P<words>[^\"\u201d]+)[\"\u201d]"
_DATE_WORD = (
    r"(?i)"
    r"\d{1,4}(?:st|nd|rd|th|\.)?|the|of|end|beginning|start|next|this|in|a|an|one|two|three|four"
    r"|days?|weeks?|months?|years?|weekend|after|before|tomorrow|today|tonight|yesterday"
    r"|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|satur|sat|sun)(?:day)?"
    r"|(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*"
    r"|nächste[nrsm]?|woche|wochenende|tagen?|wochen|monate?n?|ende|de[rs]|monats|jahres|übermorgen"
    r"|heute|morgen|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch"
    r"|demain|après-demain|dans|jours?|semaines?|prochaine?|fin|du|la|mois"
    r"|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche"
    r"|mañana|pasado|hoy|en|días?|semanas?|próxim[oa]|lunes|martes|miércoles|jueves|viernes|sábado"
    r"|domingo"
)


def parse_day(text: str, today: date, prefer: Prefer = "future") -> date | None:
    """Return the day that a phrase means, None when that is not certain.

    A weekday is the first one after today, so "friday" and "next friday" are the same; "end of
    week" is its Sunday, a weekend its Saturday, a month its last day. With `prefer` "past" a day
    without a year is before today, and a month is its first day.
    """
    words = " ".join(text.split()).strip(" .,;!").casefold() if len(text) <= MAX_CHARS else ""
    raw = " ".join(text.split()).casefold()
    if re.fullmatch(ISO, words):
        return _parse_iso(words)
    if not words:
        return None
    for rule in (_parse_edge, _parse_weekend, _parse_numeric):
        day = rule(raw, today) or rule(words, today)
        if day is not None:
            return day
    if re.fullmatch(_VAGUE, words) or re.fullmatch(_SLASHED, words):
        return None
    return _parse_next_week(words, today, prefer) or _parse_by_library(words, today, prefer)


def resolve_due_dates(text: str, today: date) -> str:
    """Return a text with `due:tomorrow`, `due:next friday` or `due:"in 3 days"` as an ISO date.

    Raises ToolProblem for a `due:` without a day, but leaves `due: soon` alone.
    """
    found = re.search(_DUE, text)
    if found is None:
        return text
    length, day = _read_leading_day(found["words"], today)
    if day is not None:
        rest = found["words"][length:]
        return f"{text[: found.start()]}due:{day.isoformat()}{rest}"
    if text[found.start("words") - 1] == ":":
        word = found["words"].split()[0]
        raise ToolProblem(f"due:{word} is no date; write due:{today.isoformat()} or due:friday.")
    return text


def _read_leading_day(text: str, today: date) -> tuple[int, date | None]:
    """Return the length of the longest phrase at the beginning that means a day, and the day."""
    if quoted := re.match(_QUOTED, text):
        return quoted.end(), parse_day(quoted["words"], today)
    spans = [found.span() for found in re.finditer(r"\S+", text)][:5]
    known = 0
    for start, end in spans:
        if not re.fullmatch(_DATE_WORD, text[start:end].rstrip(".,;!)")):
            break
        known += 1
    for count in range(max(known, 1), 0, -1):
        piece = text[: spans[count - 1][1]].rstrip(".,;!?)]")
        day = parse_day(piece, today) or parse_day(re.sub(r"(?<=\w)[_-](?=\w)", " ", piece), today)
        if day is not None:
            return len(piece), day
    return 0, None


def _parse_iso(words: str) -> date | None:
    try:
        return date.fromisoformat(words)
    except ValueError:
        return None


def _parse_edge(words: str, today: date) -> date | None:
    found = re.fullmatch(_EDGE, words)
    if found is None:
        return None
    groups = found.groupdict()
    named = next(value for key, value in groups.items() if key not in ("edge", "next") and value)
    unit = _UNITS[named]
    at_end = groups["edge"] in (None, "end")
    return _first_or_last_day(unit, today, ahead=bool(groups["next"]) or not at_end, at_end=at_end)


def _first_or_last_day(unit: str, today: date, *, ahead: bool, at_end: bool) -> date:
    """Return the first or last day of the current unit, or of the next one with `ahead`."""
    if unit == "day":
        return today + timedelta(days=int(ahead))
    if unit == "week":
        monday = today - timedelta(days=today.weekday()) + timedelta(weeks=int(ahead))
        return monday + timedelta(days=6 if at_end else 0)
    if unit == "year":
        year = today.year + int(ahead)
        return date(year, 12, 31) if at_end else date(year, 1, 1)
    year, month = (today.year + today.month // 12, today.month % 12 + 1) if ahead else (
        today.year, today.month
    )  # fmt: skip
    return date(year, month, monthrange(year, month)[1] if at_end else 1)


def _parse_weekend(words: str, today: date) -> date | None:
    found = re.fullmatch(_WEEKEND, words)
    if found is None:
        return None
    saturday = today - timedelta(days=today.weekday()) + timedelta(days=5)
    return saturday + timedelta(weeks=1) if found["next"] else max(saturday, today)


def _parse_numeric(words: str, today: date) -> date | None:
    if found := re.fullmatch(_DAY_ONLY, words):
        number = int(found[1])
        return _first_from_today(lambda year, month: date(year, month, number), today)
    if found := re.fullmatch(_DOTTED, words):
        return _make_day(int(found[1]), int(found[2]), found[3], today)
    found = re.fullmatch(_SLASHED, words)
    if found and (int(found[1]) > 12) != (int(found[2]) > 12):
        day, month = sorted((int(found[1]), int(found[2])), reverse=True)
        return _make_day(day, month, found[3], today)
    return None  # 01/02/2026 is another day in another country


def _make_day(day: int, month: int, year: str | None, today: date) -> date | None:
    if year:
        with_century = int(year) + (2000 if len(year) == 2 else 0)
        return _parse_iso(f"{with_century:04}-{month:02}-{day:02}")
    return _first_from_today(lambda y, m: date(y, month, day), today)


def _first_from_today(make: Callable[[int, int], date], today: date) -> date | None:
    """Return the first real day from today on that `make` gives for the next 60 months."""
    for ahead in range(60):
        year, month = divmod(today.year * 12 + today.month - 1 + ahead, 12)
        try:
            day = make(year, month + 1)
        except ValueError:
            continue
        if day >= today:
            return day
    return None


def _parse_next_week(words: str, today: date, prefer: Prefer) -> date | None:
    found = re.fullmatch(_OF_NEXT_WEEK, words)
    weekday = found and _parse_by_library(str(found[1] or found[2]), today, prefer)
    if not weekday:
        return None
    return today + timedelta(days=7 - today.weekday() + weekday.weekday())


def _parse_by_library(words: str, today: date, prefer: Prefer) -> date | None:
    if words in _AFTER_TOMORROW:
        return today + timedelta(days=2)
    day = _run_readers(words, today, prefer)
    if day is None:
        bare = " ".join(re.sub(_NEXT, " ", words).split())
        day = _run_readers(bare, today, prefer) if bare.isalpha() and bare != words else None
    return day


def _run_readers(words: str, today: date, prefer: Prefer) -> date | None:
    for read, year_from in zip(_readers(today, prefer), (r"", r"\d{4}"), strict=True):
        try:
            moment = read(words).date_obj
        except (ValueError, OverflowError, RecursionError, IndexError, TypeError):
            continue  # the library stumbles over some phrases that mean nothing
        if isinstance(moment, datetime):
            # Far away, and no year in the words: "the 32nd" is not a day of 2032.
            near = abs((moment.date() - today).days) <= 366
            return moment.date() if near or re.search(year_from, words) else None
    return None


@cache
def _readers(today: date, prefer: Prefer) -> tuple[Callable[[str], Any], ...]:
    """Load dateparser's readers: first for "in 3 days", then for "friday", "1 dec", "december".

    There are two because a bare month means its last day while "in a month" keeps today's.
    """
    from dateparser.date import DateDataParser

    common = {
        "RELATIVE_BASE": datetime(today.year, today.month, today.day),
        "PREFER_DATES_FROM": prefer,
        "DATE_ORDER": "DMY",
        "PREFER_DAY_OF_MONTH": "last" if prefer == "future" else "first",
    }
    apart: tuple[dict[str, Any], ...] = (
        {"PARSERS": ["relative-time"], "PREFER_DAY_OF_MONTH": "current"},
        {"PARSERS": ["absolute-time"]},
    )
    return tuple(
        DateDataParser(
            languages=list(LANGUAGES), use_given_order=True, settings=common | own
        ).get_date_data
        for own in apart
    )


_WEEKDAYS = (
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch"
    r"|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche"
    r"|lunes|martes|mi\u00e9rcoles|jueves|viernes|s\u00e1bado|domingo"
)
_MONTHS = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|januar|februar|m\u00e4rz|mai|juni|juli|oktober"
    r"|dezember"
    r"|janvier|f\u00e9vrier|mars|avril|juin|juillet|ao\u00fbt|septembre|octobre|novembre"
    r"|d\u00e9cembre"
    r"|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)"
)
_COUNT = (
    r"(?:\d{1,3}|an?|one|two|three|four|five|six|ten|eine[mrn]?|zwei|drei|vier|f\u00fcnf|sechs|zehn"
)
_COUNT += r"|une?|deux|trois|quatre|un|una|dos|tres)"
_UNIT_WORDS = (
    r"(?:days?|weeks?|months?|tag(?:en?)?|wochen?|monat(?:en?)?|jours?|semaines?|mois|d\u00edas?"
    r"|semanas?|mes(?:es)?)"
)
_PARTS = (
    r"(?: (?:morning|afternoon|evening|night|vormittag|nachmittag|abend|mittag|fr\u00fch|matin|soir"
    r"))?"
)
_DAY = (
    r"(?i)"
    rf"(?<![\w-])(?P<lead>(?:(?:on|at|by|until|before|for|this|am|bis|bis zum|zum|f\u00fcr|le|el"
    rf"|pour|para)"
    rf" )*)(?P<day>"
    rf"\d{{4}}-\d\d-\d\d"
    rf"|(?:the )?day after tomorrow|\u00fcbermorgen|apr\u00e8s-demain|pasado ma\u00f1ana"
    rf"|tomorrow|morgen(?! (?:gut|sch\u00f6n))|demain|(?<!de la )(?<!la )ma\u00f1ana"
    rf"|(?:(?:next|coming|this|n\u00e4chste[nrs]?|kommende[nrs]?|diese[nrs]?|pr\u00f3ximo) )?"
    rf"(?:{_WEEKDAYS})(?:(?! prochaine)(?: prochain)?)"
    rf"|(?:next|coming|n\u00e4chste[nrs]?|kommende[nrs]?) (?:week|month|year|woche|monat|jahr)"
    rf"|la semaine prochaine|le mois prochain|la pr\u00f3xima semana|el pr\u00f3ximo mes"
    rf"|(?:the |this |next )?weekend|wochenende"
    rf"|(?:the )?end of (?:the |this |next )?(?:week|month|year)|ende der woche|monatsende"
    rf"|in {_COUNT} {_UNIT_WORDS}|dans {_COUNT} {_UNIT_WORDS}|en {_COUNT} {_UNIT_WORDS}"
    rf"|(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTHS}(?: \d{{4}})?"
    rf"|{_MONTHS} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?"
    rf"|\d{{1,2}}\. ?(?:{_MONTHS}|\d{{1,2}}\.)(?: ?\d{{4}})?"
    rf"|(?:the )\d{{1,2}}(?:st|nd|rd|th)"
    rf")(?P<part>{_PARTS}(?: (?:at|um) \d{{1,2}}(?:[:.]\d\d)?(?: ?[ap]\.?m\.?| uhr)?)?)"
    rf"(?![\w-]|['\u2019]s|['\u2019]s\b)"
)
_DAY_OF_A_THING = (
    r"(?i)"
    r"\b(?:for|from|of|since|dated?|f\u00fcr|vom|von|seit|pour|du|de|para)(?: the)? $"
)
_TODAY = (
    r"(?i)"
    r"(?<![\w-])(?:(?:later )?today|tonight|this (?:afternoon|evening)|heute(?: abend| nachmittag)?"
    r"|ce soir|esta (?:tarde|noche)|in (?:an|one|two|\d{1,2}) (?:hours?|minutes?)"
    r"|in (?:einer|\d{1,2}) (?:Stunden?|Minuten?)|at \d{1,2}(?:[:.]\d\d)? ?(?:[ap]\.?m\b\.?"
    r"|o'clock)"
    r"|at \d{1,2}:\d\d|um \d{1,2}(?:[:.]\d\d)? Uhr)(?![\w-])"
)


@frozen
class NamedDay:
    """A day that a sentence names.

    day    its words, "today" for a time of this day
    start  where they begin, with a word before them such as "on"
    end    where they end, with the time of the day
    bare   no such word is before them
    own    something is done on that day; it is no part of a thing ("the plan for Friday")
    """

    day: str
    start: int
    end: int
    bare: bool = False
    own: bool = True


def find_named_day(sentence: str) -> NamedDay | None:
    """Return the first later day that a sentence names, else a time of today, else None."""
    if found := re.search(_DAY, sentence):
        of_thing = re.search(_DAY_OF_A_THING, sentence[: found.start("day")])
        bare = not found["lead"].strip() and not of_thing
        return NamedDay(found["day"], found.start(), found.end(), bare, of_thing is None)
    if found := re.search(_TODAY, sentence):
        return NamedDay("today", found.start(), found.end())
    return None
