"""Exact strings of a text that are worth keeping as they stand: paths, ids, numbers, names.

A summary rewords; these it must not. They are told by their shape, not by the words around them, so
the language hardly matters. Every pattern has a bounded reach, or looks at one word at a time, so a
text costs time in proportion to its length whatever is in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from openclaw.agent.names import names
from openclaw.agent.word_shapes import is_exact

LONGEST = 240
"""Characters of one identifier; longer runs without a blank are data, not names."""

_WORD = re.compile(r"[^\s\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff01-\uff65]++")
_FRONT = (
    "\"'`([{<*\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb\u2039\u203a\u2013\u2014\u00a1\u00bf,;:=|!?"
)
_BACK = _FRONT + ")]}>.\u2026"
_LIST_NUMBER = re.compile(r"^[ \t]{0,8}\(?\d{1,3}[.)](?=\s)", re.MULTILINE)

_MONTH = (
    r"(?:Jan(?:uary|uar)?|Feb(?:ruary|ruar)?|M(?:ar(?:ch)?|ärz)|Apr(?:il)?|Ma[iy]"
    r"|Ju(?:ne?|ni)|Jul[iy]?|Aug(?:ust)?|Sep(?:t(?:ember)?)?|O[ck]t(?:ober)?|Nov(?:ember)?"
    r"|De[cz](?:ember)?|janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre"
    r"|novembre|décembre|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre"
    r"|noviembre|diciembre|gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|dicembre)"
)
_UNIT = (
    r"(?:%|\u2030|\u00b0[CFcf]?|\u20ac|\$|\u00a3|\u00a5|EUR|USD|GBP|CHF|JPY"
    r"|[Ee]uros?|[Dd]ollars?|pounds?|cents?|francs?|Franken"
    r"|[kcmdµ]?m[\u00b2\u00b3]?|[km]?g|kilos?|tons?|tonnes?|[cmd]?l|lit(?:er|re)s?|Liter|ml|km/h|"
    r"mph"
    r"|[KkMGT]i?B|[Bb]ytes?|[MGk]bit/s|[GMk]?Hz|[kMm]?Wh?|kVA|V|mA|A|px|dpi|pt|tokens?|lines?|rows?"
    r"|ms|s|sec(?:ond)?s?|min(?:ute)?s?|h|hrs?|hours?|days?|weeks?|months?|years?|nights?"
    r"|Sekunden?|Minuten?|Stunden?|Tage?n?|Wochen?|Monate?n?|Jahre?n?|Uhr"
    r"|secondes|heures?|jours?|semaines?|mois|ans?|días?|horas?|semanas?|meses|años?|giorni|ore|"
    r"anni)"
)
_NUMBER = r"\d{1,15}(?:[.,'\u2019\u202f]\d{1,6}){0,5}"
_SPANS = re.compile(
    r"(?<![\w.,:/-])(?:"
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?(?![\w-])"
    rf"|\d{{1,2}}(?:st|nd|rd|th|\.|er)?[ \u00a0](?:of |"
    rf"de )?{_MONTH}\.?(?:,?[ \u00a0](?:de )?\d{{4}})?(?!\w)"
    rf"|{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?(?!\d)(?:,? \d{{4}})?(?!\w)"
    rf"|{_MONTH} \d{{4}}(?!\w)"
    r"|\d{1,2}[./]\d{1,2}[./](?:\d{4}|\d{2})?(?![\w/])"
    r"|\d{1,2}(?::\d\d){1,2}(?:[ \u00a0]?(?:[ap]m|[ap]\.m\.)(?!\w)|(?![\w:]))"
    r"|\d{1,2}(?:\.\d\d)?[ \u00a0]?[ap]\.?m(?!\w)"
    r"|[A-Z]{2}\d\d(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?(?!\w)"
    r"|\+\d[\d \u00a0()/-]{6,20}\d(?!\w)"
    r"|\(?0\d{1,5}\)?[ /-]\d{2,9}(?:[ /-]\d{2,9}){0,4}(?!\w)"
    rf"|[$\u20ac\u00a3\u00a5] ?{_NUMBER}(?: ?(?:k|m|bn|million|Mio\.?))?(?!\w)"
    rf"|{_NUMBER}[ \u00a0\u202f-]?(?:k |million |Mio\. ?)?{_UNIT}(?:/(?:h|s|min|day|week|month|"
    rf"year|kg|l|m))?(?!\w)"
    r")"
)
_QUOTED = re.compile(
    r'(?<![\w"])"([^"\n]{2,60})"(?![\w"])|\u201c([^\u201d\n]{2,60})\u201d'
    r"|\u201e([^\u201c\u201d\n]{2,60})[\u201c\u201d]|\u00ab ?([^\u00bb\n]{2,60}?) ?\u00bb"
    r"|\u300c([^\u300d\n]{1,40})\u300d|(?<![\w'])'([^'\n]{2,60})'(?![\w'])"
)
_CODE = re.compile(r"(?<!`)`([^`\n]{2,120})`(?!`)")
MOST_QUOTED_WORDS = 6


class Found(NamedTuple):
    """Where an identifier stands in a text, and the string itself."""

    start: int
    end: int
    text: str


def identifiers(text: str) -> tuple[str, ...]:
    """The exact strings of a text, in their order, without duplicates.

    Of those that overlap the one that begins first counts, of these the longest.
    """
    found = sorted(_all(text), key=lambda each: (each.start, -each.end))
    kept: dict[str, None] = {}
    end = -1
    for each in found:
        if each.start >= end:
            kept.setdefault(each.text)
            end = each.end
    return tuple(kept)


def exact(text: str) -> tuple[str, ...]:
    """Of the identifiers those with a shape of their own: no plain names, no words in quotes."""
    return tuple(each for each in identifiers(text) if is_shaped(each))


def holds(text: str, identifier: str) -> bool:
    """Whether a text has an identifier as a whole, not as a part of a longer one.

    Case counts, the kind of blank between words does not. "8215" is in "localhost:8215", but
    neither in "82150" nor in "8215.5"; "a.md" is not in "notes/a.md".
    """
    if not identifier.strip():
        return False
    if _stands(text, identifier):
        return True
    flat = " ".join(identifier.split())
    return " " in flat and _stands(" ".join(text.split()), flat)


def _stands(text: str, identifier: str) -> bool:
    at = text.find(identifier)
    while at >= 0:
        end = at + len(identifier)
        if not _goes_on(text[max(at - 2, 0) : at][::-1], identifier[0]) and not _goes_on(
            text[end : end + 2], identifier[-1]
        ):
            return True
        at = text.find(identifier, at + 1)
    return False


def _goes_on(beside: str, edge: str) -> bool:
    """Whether the characters beside an edge, nearest first, belong to the same string."""
    if not beside or not _inner(edge) or not edge.isascii():
        return False
    if _inner(beside[0]) and beside[0].isascii():
        return True
    return beside[0] in "./\\-@,'" and len(beside) > 1 and _joins(beside, edge)


def _joins(beside: str, edge: str) -> bool:
    if beside[0] in ",'":  # 1,000 is one number; "Dana's" and "a,b" hold Dana and a
        return edge.isdigit() and beside[1].isdigit()
    return _inner(beside[1])


def _inner(character: str) -> bool:
    return character.isalnum() or character == "_"


def is_shaped(identifier: str) -> bool:
    """Whether an identifier has a shape of its own, unlike a plain name or words in quotes."""
    marked = any(each.isdigit() or each in "/\\@_$#~=^" for each in identifier)
    return marked or is_exact(identifier)


def _all(text: str) -> Iterator[Found]:
    listed = {each.start() for each in _LIST_NUMBER.finditer(text)}
    numbered = {each.end() for each in _LIST_NUMBER.finditer(text)}
    for pattern in (_QUOTED, _CODE):
        for each in pattern.finditer(text):
            group = each.lastindex or 0
            quoted = each[group].strip(" ,.;")
            if len(quoted) > 1 and len(quoted.split()) <= MOST_QUOTED_WORDS:
                yield Found(each.start(), each.end(), quoted)
    spans = [each for each in _SPANS.finditer(text) if each.start() not in listed]
    for each in spans:
        yield Found(each.start(), each.end(), each[0])
    for start, word in _words(text):
        if start + len(word) + 1 not in numbered and is_exact(word):
            yield Found(start, start + len(word), word)
    taken = {at for each in spans for at in range(each.start(), each.end())}
    for start, name in names(text):
        if taken.isdisjoint(range(start, start + len(name))):
            yield Found(start, start + len(name), name)


def _words(text: str) -> Iterator[tuple[int, str]]:
    """Runs without a blank, without the marks around them, and where they begin."""
    for each in _WORD.finditer(text):
        if each.end() - each.start() > LONGEST:
            continue
        whole = each[0]
        word = whole.lstrip(_FRONT)
        start = each.start() + len(whole) - len(word)
        word = word.rstrip(_BACK) if not word.endswith("()") else word
        if word.endswith(("'s", "\u2019s")):
            word = word[:-2]
        if len(word) > 1:
            yield start, word
