"""Finds where a sentence names a day to come; which day that is, `memory.dates` reads."""

from __future__ import annotations

import re
from dataclasses import dataclass

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
_NUMBER = (
    r"(?:\d{1,3}|an?|one|two|three|four|five|six|ten|eine[mrn]?|zwei|drei|vier|f\u00fcnf|sechs|zehn"
)
_NUMBER += r"|une?|deux|trois|quatre|un|una|dos|tres)"
_UNITS = (
    r"(?:days?|weeks?|months?|tag(?:en?)?|wochen?|monat(?:en?)?|jours?|semaines?|mois|d\u00edas?"
    r"|semanas?|mes(?:es)?)"
)
_PARTS = (
    r"(?: (?:morning|afternoon|evening|night|vormittag|nachmittag|abend|mittag|fr\u00fch|matin|soir"
    r"))?"
)
_DAY = re.compile(
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
    rf"|in {_NUMBER} {_UNITS}|dans {_NUMBER} {_UNITS}|en {_NUMBER} {_UNITS}"
    rf"|(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTHS}(?: \d{{4}})?"
    rf"|{_MONTHS} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?"
    rf"|\d{{1,2}}\. ?(?:{_MONTHS}|\d{{1,2}}\.)(?: ?\d{{4}})?"
    rf"|(?:the )\d{{1,2}}(?:st|nd|rd|th)"
    rf")(?P<part>{_PARTS}(?: (?:at|um) \d{{1,2}}(?:[:.]\d\d)?(?: ?[ap]\.?m\.?| uhr)?)?)"
    rf"(?![\w-]|['\u2019]s|['\u2019]s\b)",
    re.IGNORECASE,
)
_OF_A_THING = re.compile(
    r"\b(?:for|from|of|since|dated?|f\u00fcr|vom|von|seit|pour|du|de|para)(?: the)? $",
    re.IGNORECASE,
)
_TODAY = re.compile(
    r"(?<![\w-])(?:(?:later )?today|tonight|this (?:afternoon|evening)|heute(?: abend| nachmittag)?"
    r"|ce soir|esta (?:tarde|noche)|in (?:an|one|two|\d{1,2}) (?:hours?|minutes?)"
    r"|in (?:einer|\d{1,2}) (?:Stunden?|Minuten?)|at \d{1,2}(?:[:.]\d\d)? ?(?:[ap]\.?m\b\.?"
    r"|o'clock)"
    r"|at \d{1,2}:\d\d|um \d{1,2}(?:[:.]\d\d)? Uhr)(?![\w-])",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Named:
    """A day that is named: its words, and where they begin and end, with what leads to them and the
    time of the day. `day` is "today" for a time of this one; `bare` says that no word leads to it,
    `own` that it is when something is done, and no part of a thing ("the plan for Friday")."""

    day: str
    start: int
    end: int
    bare: bool = False
    own: bool = True


def day_named(sentence: str) -> Named | None:
    """The first later day that a sentence names, else a time of today, None without both."""
    if found := _DAY.search(sentence):
        of_thing = _OF_A_THING.search(sentence[: found.start("day")])
        bare = not found["lead"].strip() and not of_thing
        return Named(found["day"], found.start(), found.end(), bare, of_thing is None)
    if found := _TODAY.search(sentence):
        return Named("today", found.start(), found.end())
    return None
