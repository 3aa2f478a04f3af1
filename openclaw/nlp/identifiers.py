"""Find the exact strings of a text: paths, ids, numbers, names.

A summary rewords a text but must not change these. They are recognised by their shape, not by the
words around them, so the language hardly matters. Every pattern has a bounded reach or reads one
word at a time, so the time grows in proportion to the text, whatever is in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from openclaw.nlp.classifier import language_of
from openclaw.nlp.date_patterns import MONTH

LONGEST = 240  # characters of an identifier; longer runs without a blank are data, not names

_WORD = re.compile(r"[^\s\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff01-\uff65]++")
_FRONT = (
    "\"'`([{<*\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb\u2039\u203a\u2013\u2014\u00a1\u00bf,;:=|!?"
)
_BACK = _FRONT + ")]}>.\u2026"
_LIST_NUMBER = re.compile(r"^[ \t]{0,8}\(?\d{1,3}[.)](?=\s)", re.MULTILINE)

_MONTH = f"(?i:{MONTH})"
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
_NUMBER_PATTERN = r"\d{1,15}(?:[.,'\u2019\u202f]\d{1,6}){0,5}"
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
    rf"|{_NUMBER_PATTERN}[ \u00a0\u202f-]?(?:k |million |Mio\. ?)?{_UNIT}"
    r"(?:/(?:h|s|min|day|week|month|year|kg|l|m))?(?!\w)"
    r")"
)
_QUOTED = re.compile(
    r'(?<![\w"])"([^"\n]{2,60})"(?![\w"])|\u201c([^\u201d\n]{2,60})\u201d'
    r"|\u201e([^\u201c\u201d\n]{2,60})[\u201c\u201d]|\u00ab ?([^\u00bb\n]{2,60}?) ?\u00bb"
    r"|\u300c([^\u300d\n]{1,40})\u300d|(?<![\w'])'([^'\n]{2,60})'(?![\w'])"
)
_CODE = re.compile(r"(?<!`)`([^`\n]{2,120})`(?!`)")
# 1,000 is one number; "Dana's" and "a,b" hold Dana and a.
_JOINED_BEFORE = re.compile(r"(?:(?:\w|(?u:\w)[./\\@-])\w|\d[,']\d)$", re.ASCII)
_JOINED_AFTER = re.compile(r"\w(?:\w|[./\\@-](?u:\w))|\d[,']\d", re.ASCII)
_MARK = re.compile(r"[\d/\\@_$#~=^]")
MAX_QUOTED_WORDS = 6


class FoundIdentifier(NamedTuple):
    start: int
    end: int
    text: str


def identifiers(text: str) -> tuple[str, ...]:
    """Return the exact strings of a text and its proper names, in their order, without duplicates.

    When some overlap, the one that begins first counts; of several, the longest.
    """
    exact = [*_find_exact(text)]
    taken = {at for each in exact for at in range(each.start, each.end)}
    return _without_overlaps([*exact, *(n for n in _find_names(text) if n.start not in taken)])


def exact_strings(text: str) -> tuple[str, ...]:
    """Return the identifiers with a shape of their own: no plain names, no words in quotes."""
    found = _without_overlaps(_find_exact(text))
    return tuple(each for each in found if is_exact(each) or _MARK.search(each))


def _without_overlaps(found: Iterable[FoundIdentifier]) -> tuple[str, ...]:
    kept: dict[str, None] = {}
    end = -1
    for each in sorted(found, key=lambda each: (each.start, -each.end)):
        if each.start >= end:
            kept.setdefault(each.text)
            end = each.end
    return tuple(kept)


def has_identifier(text: str, identifier: str) -> bool:
    """Return True when a text has an identifier as a whole, not as a part of a longer one.

    Case counts, the kind of blank between words does not. "8215" is in "localhost:8215", but
    neither in "82150" nor in "8215.5"; "a.md" is not in "notes/a.md".
    """
    words = r"\s+".join(map(re.escape, identifier.split()))
    return bool(words) and any(
        not _JOINED_BEFORE.search(text, max(found.start() - 2, 0), found.start() + 1)
        and not _JOINED_AFTER.match(text, found.end() - 1)
        for found in re.finditer(words, text)
    )


def _find_exact(text: str) -> Iterator[FoundIdentifier]:
    for pattern in (_QUOTED, _CODE):
        for each in pattern.finditer(text):
            quoted = each[each.lastindex or 0].strip(" ,.;")
            if len(quoted) > 1 and len(quoted.split()) <= MAX_QUOTED_WORDS:
                yield FoundIdentifier(each.start(), each.end(), quoted)
    numbers = [each.span() for each in _LIST_NUMBER.finditer(text)]
    starts, ends = {start for start, _ in numbers}, {end for _, end in numbers}
    for each in _SPANS.finditer(text):
        if each.start() not in starts:
            yield FoundIdentifier(each.start(), each.end(), each[0])
    for start, word in _split_words(text):
        if start + len(word) + 1 not in ends and is_exact(word):
            yield FoundIdentifier(start, start + len(word), word)


def _split_words(text: str) -> Iterator[tuple[int, str]]:
    """Yield where each run without a blank begins, and the run without the marks around it."""
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


_CAMEL = re.compile(r"[A-Za-z]{1,40}[a-z][A-Z]\w{0,60}|[A-Z]{2,10}[a-z]{2,40}[A-Z]\w{0,40}")
_NUMBER = re.compile(r"[-+\u2212~\u2248<>\u00b1]?(\d{1,20}(?:[.,'\u2019]\d{1,20}){0,6})")
_LARGEST_COUNT = 10
# 2nd, 3x, 24-hour, e.g
_NO_VALUE = re.compile(
    r"\d{1,3}(?:st|nd|rd|th|er|re|e|º|ª)|\d{1,2}x|\d{1,3}-[a-z]+(?:-[a-z]+)?"
    r"|[^\W\d_]\.(?:[^\W\d_]\.?){1,4}",
    re.IGNORECASE,
)
_SHAPES = re.compile(
    r"(?=\D{0,60}\d)[^\W_][\w.+#:@~^-]{0,100}"  # letters with digits: OPS-4217, v1.2, host:80
    r"|(?:[a-z][a-z0-9+.-]{1,12}://|www\.)\S{2,}|mailto:\S+"
    # A file or a host, but no word that the next sentence follows without a blank.
    r"|(?!.*\.\.)(?!(?-i:[^\W\d_]{2,}\.[A-Z][a-z]+)\Z)"
    r"(?:[\w@+~-][\w@+~. -]{0,80})?\.(?=\w{0,9}[a-z])[a-z0-9]{1,10}"
    r"|(?:[a-z]:[\\/]|\\\\|~/|\.\.?/).*"  # a path from a root
    r"|_{0,2}[a-z]\w{0,40}_\w{1,60}|\$\w{2,60}|%\w{2,40}%|--[a-z][\w-]{1,40}"  # snake_case, $NAME
    r"|[a-z_][\w.]{1,80}\(\)|[a-z_][\w.-]{0,40}=(?!=)[^\s=]{1,120}"  # call(), key=value
    r"|@[a-z]\w{1,40}|#[a-z0-9][\w-]{0,40}|\^[\w-]{4,40}",  # @handle, #tag, ^block
    re.IGNORECASE,
)


def is_exact(word: str) -> bool:
    """Return True when the shape of a word (no blanks, no marks around it) makes it exact."""
    if word.isalpha():
        return bool(_CAMEL.fullmatch(word))
    if number := _NUMBER.fullmatch(word):  # 0 to 10 are counts
        return not number[1].isdigit() or int(number[1]) > _LARGEST_COUNT
    if _NO_VALUE.fullmatch(word):
        return False
    return bool(_SHAPES.fullmatch(word)) or _is_path(word)


_PATH_MARK = re.compile(r"_|\w\.\w|(?<![^/\\])\.|[^\W\d_]\d|\d[^\W\d_]")


def _is_path(word: str) -> bool:
    """Return True for a path. Unlike "and/or" it has a root, a last slash, a mark or a digit, or
    more than three parts."""
    parts = re.split(r"[/\\]", word)
    if len(parts) < 2 or "//" in word[:-1] or not any(map(str.isalpha, word)):
        return False
    has_end = len(word) > 2 and not (parts[0] and parts[-1])
    return has_end or len(parts) > 3 or bool(_PATH_MARK.search(word))


_PARTICLE = r"(?:van|von|de|der|den|da|di|du|la|le|bin|ibn|of)"
_NAME_PART = r"(?!I['\u2019]|[A-Z]{2,}\b)[^\W\d_a-zß-ÿ](?:[\w-]|['\u2019](?!s?\b))"
_NAMES = re.compile(
    rf"(?<![\w/\\@.#&$-]){_NAME_PART}{{1,30}}+"
    rf"(?: (?:{_PARTICLE} ){{0,2}}{_NAME_PART}{{0,30}}+){{0,3}}"
)
_BEGINS = re.compile(r"(?:^|[.!?:;\u2026\n\"\u201c\u201e\u00ab([\]|*#>\u2022\u2013\u2014-])\s*$")
_ABBREVIATED = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|Prof|St|Fr|Hr|Sr|Sra|Nr|No|vs|bzw|ca|Jr)\.\s*$")
_FIRST_WORD = re.compile(rf"\S+(?: {_PARTICLE}(?= ))* ?")


def _find_names(text: str) -> Iterator[FoundIdentifier]:
    """Yield the proper names: words with a capital within a sentence, in German only two or more
    of them."""
    found = [*_NAMES.finditer(text)]
    least = 2 if found and language_of(text) == "de" else 1
    for each in found:
        first = _FIRST_WORD.match(each[0]) if _begins_sentence(text, each.start()) else None
        name = each[0][first.end() if first else 0 :]
        if len(name.split()) >= least:
            yield FoundIdentifier(each.end() - len(name), each.end(), name)


def _begins_sentence(text: str, at: int) -> bool:
    before = text[max(at - 40, 0) : at]
    return bool(_BEGINS.search(before)) and not _ABBREVIATED.search(before)
