"""Finds days that are told from a day nobody knows: "tomorrow" in a lasting fact without a date."""

from __future__ import annotations

import re
from collections.abc import Iterator

from openclaw.memory.entries import Entry
from openclaw.memory.lint import Document, Finding

_UNIT = r"(?:hour|day|week|weekend|fortnight|month|year|decade)s?"
_COUNT = (
    r"(?:\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven"
    r"|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|twenty|thirty|a few|a couple of"
    r"|half an?|some|several|many|a dozen)"
)
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_TAG = (
    r"(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|woche|wochenende|monat|jahr)"
)
_ZAHL = r"(?:\d{1,3}|eine[mnr]?|zwei|drei|vier|f\u00fcnf|sechs|sieben|acht|neun|zehn|ein paar)"
_RELATIVE = re.compile(
    r"\b(?:the day after tomorrow|the day before yesterday|tomorrow|today|tonight|yesterday"
    rf"|(?:this|next|last|this coming) (?:week|weekend|month|quarter|year|{_DAY}"
    r"|spring|summer|autumn|winter|morning|afternoon|evening|night)"
    rf"|(?<!with)in {_COUNT} {_UNIT}(?: time)?|{_COUNT} (?:{_UNIT}|{_DAY}s) (?:ago|from now|hence)"
    rf"|(?:the )?(?:{_DAY}|weekend|week|month|year|one) (?:after next|before last)"
    rf"|(?:the )?coming (?:{_DAY}|week|weekend|month)|{_DAY} week"
    rf"|(?:a week|a fortnight|two weeks) (?:on {_DAY}|from (?:today|tomorrow|{_DAY}))"
    r"|\u00fcbermorgen|vorgestern|gestern|heute"
    rf"|(?:n\u00e4chste|kommende|diese|letzte|vorige)[nrsm]? {_TAG}"
    rf"|(?:in|vor) {_ZAHL} (?:tage?n?|wochen?|monate?n?|jahre?n?)"
    r"|apr\u00e8s-demain|demain|avant-hier|aujourd'hui"
    r"|(?:la semaine|le mois|l'ann\u00e9e) (?:prochaine?|derni\u00e8re?|dernier)"
    r"|pasado ma\u00f1ana|anteayer|ayer|hoy"
    r"|(?:la semana|el mes|el a\u00f1o) (?:que viene|pasad[oa])"
    r"|la pr\u00f3xima semana|el pr\u00f3ximo (?:mes|a\u00f1o))\b"
    r"|(?<!guten )(?<!am )(?<!jeden )\bmorgen\b(?! fr\u00fch ist)",
    re.IGNORECASE,
)
_MORNING = re.compile(r"\b(?:Morgen|MORGEN)\b")
_TITLE = re.compile(
    r" (?:Show|Programme|Program|News|Magazine|Newspaper|Never|Times|Press|FM|TV)\b"
)
_QUOTES = re.compile(
    r"`[^`]{0,300}`|\"[^\"]{0,300}\"|\u201c[^\u201d]{0,300}\u201d|\u201e[^\u201c]{0,300}\u201c"
    r"|\u00ab[^\u00bb]{0,300}\u00bb|(?<!\w)'[^']{0,300}'(?!\w)|\]\([^)]{0,300}\)"
    r"|\[\[[^\]]{0,300}\]\]|https?://\S{1,500}"
)
_MONTH = (
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|m\u00e4r|mai|okt|dez|janv|f\u00e9vr|avr"
    r"|juin|juil|ao\u00fbt|ene|abr|ago|dic)[a-z\u00e9\u00fb]*"
)
_ANCHOR = re.compile(
    rf"\b\d{{4}}-\d{{2}}(?:-\d{{2}})?\b|\b(?:19|20)\d{{2}}\b|\b\d{{1,2}}\.\s?\d{{1,2}}\.|\d{{1,2}}/\d{{1,2}}/\d"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th|\.)?\s(?:of )?{_MONTH}\b|\b{_MONTH}\s\d{{1,2}}\b",
    re.IGNORECASE,
)
_HABIT = re.compile(
    r"\b(?:every|each|always|never|usually|often|normally|sometimes|whenever|if|once"
    r"|jede[nrsm]?|immer|nie|meistens|oft|wenn|falls|chaque|toujours|jamais|cada|siempre|nunca)\b",
    re.IGNORECASE,
)
_DONE = re.compile(r"\[[xX]\]\s")
_SENTENCE = re.compile(r"(?:^|[.!?:;]\s)\W*$")


def relative_dates(document: Document) -> Iterator[Finding]:
    """Entries that say a day by its distance from one that is not told. A comment, a heading or a
    file that has a date tells it, and so does a date in the same entry."""
    if document.day or document.kind in ("daily", "inbox"):
        return
    above: list[tuple[int, bool]] = []
    for entry in document.entries:
        while above and above[-1][0] >= entry.depth:
            above.pop()
        anchored = bool(above and above[-1][1]) or _anchored(document, entry)
        above.append((entry.depth, anchored))
        if anchored or entry.superseded or _DONE.match(entry.text):
            continue
        if word := relative_in(entry.text):
            yield _finding(document, entry, word)


def relative_in(text: str) -> str:
    """The first words of a text that mean another day on another day, "" for none. What it quotes
    does not count, nor what is so on every day ("always packs for tomorrow")."""
    plain = _QUOTES.sub(lambda found: " " * len(found[0]), text)
    if _HABIT.search(plain):
        return ""
    for found in _RELATIVE.finditer(plain):
        if _MORNING.fullmatch(found[0]):
            continue
        begins = _SENTENCE.search(plain[: found.start()])
        name = found[0][0].isupper() and (not begins or _TITLE.match(plain, found.end()))
        if not name:
            return found[0]
    return ""


def _anchored(document: Document, entry: Entry) -> bool:
    return bool(document.date(entry) or _ANCHOR.search(entry.text))


def _finding(document: Document, entry: Entry, word: str) -> Finding:
    todo = document.kind == "todo"
    return document.finding(
        "relative-date",
        entry.at,
        f'"{word}" of which day? Nothing here has a date',
        advice="write the day, as due:2026-12-01" if todo else "write the day, as 2026-12-01",
        last=entry.end,
    )
