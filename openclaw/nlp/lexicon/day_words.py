"""Words for months, days, seasons and numbers, and the cases in which "may" is no month.

English and German are complete; French, Spanish, Italian, Portuguese and Dutch have the months.
"""

from __future__ import annotations

import re

_MONTHS = (
    "january jan januar jänner janvier enero gennaio janeiro januari",
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
_WEEKDAYS = (
    "monday montag",
    "tuesday dienstag",
    "wednesday mittwoch",
    "thursday donnerstag",
    "friday freitag",
    "saturday samstag sonnabend",
    "sunday sonntag",
)
_SEASONS = ("spring frühling frühjahr", "summer sommer", "autumn fall herbst", "winter")
_NUMBERS = (
    "a an one ein eine einem einen einer couple",
    "two zwei paar",
    "three drei",
    "four vier",
    "five fünf few several einigen",
    "six sechs",
    "seven sieben",
    "eight acht",
    "nine neun",
    "ten zehn",
    "eleven elf",
    "twelve zwölf",
)
_ORDINALS = (
    "first 1st 1. erst",
    "second 2nd 2. zweit",
    "third 3rd 3. dritt",
    "fourth 4th 4. viert",
)
_UNITS = {
    "weekend": ("weekend", "wochenende"),
    "week": ("week", "woche"),
    "day": ("day", "tag", "night", "nächt"),
    "month": ("month", "monat"),
    "half": ("half", "hälfte"),
}


def _numbered(rows: tuple[str, ...]) -> dict[str, int]:
    return {name: at for at, names in enumerate(rows, 1) for name in names.split()}


def _any(names: dict[str, int]) -> str:
    return "|".join(sorted(map(re.escape, names), key=len, reverse=True))


_MONTH, _WEEKDAY, _SEASON = _numbered(_MONTHS), _numbered(_WEEKDAYS), _numbered(_SEASONS)
_NUMBER = _numbered(_NUMBERS) | {"couple": 2, "paar": 3}
_ORDINAL = _numbered(_ORDINALS)
FEW = 5
"""The number that "a few" and "the last days" stand for."""

MONTH, WEEKDAY, SEASON = _any(_MONTH), _any(_WEEKDAY), _any(_SEASON)
COUNT = rf"(?:\d{{1,3}}|(?:an?\s+)?(?:{_any(_NUMBER)})(?:\s+of)?)"
UNIT = r"(?:(?:day|week|month|year|night)s?|tage?n?|wochen?|monate?n?|jahre?n?|nächten?)"
NTH = (
    r"(?:first|second|third|fourth|last|1st|2nd|3rd|4th|[1-4]\."
    r"|(?:erste|zweite|dritte|vierte|letzte)[nrsm]?)"
)
LAST = r"(?:last|past|previous|(?:letzte|vergangene|vorige)[nrsm]?)"
THIS = r"(?:this|(?:the\s+)?current|diese[nrsm]?)"


def month(name: str) -> int:
    """Return 1 to 12; raise LookupError for another name (a letter may only look alike)."""
    return _MONTH[name.casefold()]


def weekday(name: str) -> int:
    """Return 0, Monday, to 6."""
    return _WEEKDAY[name.casefold()] - 1


def season(name: str) -> int:
    """Return the first month of a season in the northern hemisphere: 3, 6, 9 or 12."""
    return _SEASON[name.casefold()] * 3


def number(said: str | None, unit: str = "") -> int:
    """Return a count in figures or words; without one, `FEW` for a unit in the plural, else 1."""
    if not said:
        plural = re.search(r"(?:s|en|age|ate)$", unit, re.IGNORECASE)
        return FEW if plural else 1
    words = said.casefold().removesuffix("of").split()
    return int(words[-1]) if words[-1].isdecimal() else _NUMBER[words[-1]]


def ordinal(said: str) -> int:
    """Return 1 to 4, or -1 for "last"."""
    word = said.casefold()
    if word.startswith(("last", "letzt")):
        return -1
    return _ORDINAL[word] if word in _ORDINAL else _ORDINAL[word.rstrip("nrsm").removesuffix("e")]


def unit(said: str) -> str:
    """Return day, week, weekend, month, half or year."""
    word = said.casefold()
    for name, starts in _UNITS.items():
        if word.startswith(starts):
            return name
    return "year"


_SHY = ("may", "march")
_VERB_AFTER = re.compile(
    r"\s+(?:i|we|you|he|she|it|they|be|have|not|also|well|only|never|still|need|then|people|persons?"
    r"|guests|users|more|men|women|children|percent|hours|minutes|seconds|days|weeks|times|steps"
    r"|miles|km)\b|\s*%",
    re.IGNORECASE,
)
_DAY_BEFORE = re.compile(
    r"(?:^|\b(?:on|of|in|since|from|to|until|till|by|before|after|between|and|for|during|early|late"
    r"|mid|week|weekend|the|seit|im|bis|vom|am)[\s-]+)$",
    re.IGNORECASE,
)
_MARCH_BEFORE = re.compile(r"\b(?:the|a|to|we|they|i|you|will|must|can|long)\s+$", re.IGNORECASE)
_DAY_AFTER = re.compile(
    r"\s*(?:$|[?.!,;:)/\u2013-]|(?:in|at|on|for|with|and|or|to|until|was|were|did|\d{4})\b)",
    re.IGNORECASE,
)


def is_month(name: str, found: re.Match[str]) -> bool:
    """Return True when a name in a match is a month. "May" and "march" in lower case, or at the
    beginning of the text, need words around them as a month has."""
    if name.casefold() not in _SHY:
        return True
    before = found.string[max(0, found.start() - 20) : found.start()]
    after = found.string[found.end() : found.end() + 20]
    if not name.islower():
        return bool(before.strip()) or not _VERB_AFTER.match(after)
    if _VERB_AFTER.match(after) or (found[0] == "march" and _MARCH_BEFORE.search(before)):
        return False
    return bool(_DAY_BEFORE.search(before) or _DAY_AFTER.match(after))


_GERMAN_CASE = re.compile(r"\b(?:im|den|dem|der|diesem|jede[nm]|auf)\s+$", re.IGNORECASE)
_FRAMEWORK = re.compile(
    r"[\s-]+(?:boot|framework|security|mvc|data|cloud|water|onions?|cleaning|rolls?)\b",
    re.IGNORECASE,
)


def is_season(name: str, found: re.Match[str]) -> bool:
    """Return True when a name is a season: not the German "Fall", not the framework Spring."""
    if name.casefold() == "fall":
        return not _GERMAN_CASE.search(found.string[max(0, found.start() - 10) : found.start()])
    return not _FRAMEWORK.match(found.string, found.end())
