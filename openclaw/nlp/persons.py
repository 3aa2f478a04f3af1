"""Find which names in notes are persons, and which lines tell of them. English and German.

A name is a person's when the notes treat it so in several lines: it is introduced ("my sister
Lena"), has relatives or a birthday, or is met. Firms, places and words that are names too ("Will it
rain", "the rose") stay out: rather a line is missed than a wrong one found.
"""

from __future__ import annotations

import calendar
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set

from openclaw.nlp.classifier import language_of

_N = r"(?P<name>[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]{1,20})\b"
_KIN = (
    r"(?i:(?:(?:step|half|twin|brother|sister|mother|father|great|grand|god)[- ]?)?"
    r"(?:mother|mum|mom|mama|father|dad|papa|brother|sister|son|daughter|child|kids?|baby|wife|husband"
    r"|partner|girlfriend|boyfriend|aunt|uncle|cousin|niece|nephew|parents|grandma|grandpa|granny"
    r"|friend|neighbou?r|colleague|boss|flatmate|roommate|dog|cat|mutter|vater|bruder|schwester|sohn"
    r"|tochter|frau|mann|freund(?:in)?|nachbar(?:in)?|kolleg(?:e|in)|chef(?:in)?|tante|onkel|oma|opa"
    r"|cousine?|nichte|neffe|eltern|kind)(?:-in-law)?)"
)
_OWNER = r"(?:[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Mm]eine?[mnr]?|[Uu]nsere?[mnr]?)"
_INTRODUCED = (
    rf"\b(?:{_OWNER} (?:\w+ )?{_KIN}|(?i:oma|opa|tante|onkel|aunt|uncle|grandma|grandpa|granny))"
    rf" {_N}"
)
"""Introduces a person: one line is enough."""
_TREATED = (
    r"\b(?i:lunch|dinner|coffee|breakfast|supper|tea|drinks?|beers?|walk|chat|call|evening|sauna)"
    rf" with {_N}",
    rf"\b{_N}(?:'s?|(?<=s)) (?:{_KIN}|birthday|wedding|phone|number|Geburtstag|Hochzeit|Nummer)\b",
)
_FEWEST_LINES = 2

_TOKEN = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*(?:(?<=n)'t)?")
_DAYS = frozenset((*calendar.day_name, *calendar.day_abbr, *calendar.month_name))
_WORDS_TOO = frozenset(
    """will may mark grace hope rose dawn summer june april august art bill faith frank grant jack
    joy max rich ernst wolf stern jordan guy pat drew nick sue lance penny olive violet daisy
    iris pearl ruby amber paris victoria""".split()
)
"""Names that are words or places too."""
_NOT_BEFORE_NAMES = frozenset(
    "the a an this another no every in near st mt mount lake queen king fort".split()
)
"""A thing, or a place named after a person: "St. Ines church", "Queen Maeve's grave"."""
_BEFORE_NAMES = frozenset(
    """with for from met phoned called rang visited saw asked told gave lent took drove sent wrote
    invited helped""".split()
)
_VERBS = frozenset(
    """and und had can could may must should will would got came lent told took met war hatte kann
    mag soll wird""".split()
)
_PRONOUN = re.compile(r"(?:she|he|sie|er)(?=['\u2019 ])|(?:her|his|ihre?|seine?) \w", re.IGNORECASE)


def find_names(lines: Iterable[str]) -> set[str]:
    """Return the names that these lines treat as those of persons: introduced once, or in several
    lines of which one treats it so. What is mostly written small is no name."""
    introduced, treated = set[str](), set[str]()
    capital, small = Counter[str](), Counter[str]()
    for line in map(_plain_apostrophes, lines):
        for word in set(_TOKEN.findall(line)):
            (capital if word[0].isupper() else small)[word.capitalize()] += 1
        introduced.update(found["name"] for found in re.finditer(_INTRODUCED, line))
        for pattern in _TREATED:
            treated.update(found["name"] for found in re.finditer(pattern, line))
    several = {name for name in treated if capital[name] >= _FEWEST_LINES}
    names = (introduced | several) - _DAYS
    return {name for name in names if small[name] < capital[name]}


def persons_of(lines: Sequence[str], names: Set[str]) -> Iterator[list[str]]:
    """Yield for each of consecutive lines whom of `names` it tells of. A line that begins with a
    pronoun tells of the one person of the line before it."""
    before: list[str] = []
    for line in lines:
        found = _named_in(_plain_apostrophes(line), names)
        if not found and len(before) == 1 and _PRONOUN.match(line):
            found = before
        yield found
        before = found


def _plain_apostrophes(line: str) -> str:
    return line.replace("\u2019", "'")


def _named_in(line: str, names: Set[str]) -> list[str]:
    tokens = [*_TOKEN.finditer(line)]
    words = (token[0].capitalize() if token[0].islower() else token[0] for token in tokens)
    named = (w for at, w in enumerate(words) if w in names and _is_meant(line, tokens, at, names))
    return [*dict.fromkeys(named)]


def _is_meant(line: str, tokens: Sequence[re.Match[str]], at: int, names: Set[str]) -> bool:
    """Return True when a word that may be a name is one here, as what stands around it tells."""
    token, word = tokens[at], tokens[at][0]
    before = line[tokens[at - 1].end() if at else 0 : token.start()]
    after = line[token.end() : tokens[at + 1].start()] if at + 1 < len(tokens) else ""
    previous = tokens[at - 1][0] if at else ""
    following = tokens[at + 1][0] if after == " " else ""
    begins = not at or bool(re.search(r"[.!?:;]", before))
    called = previous.lower() in _BEFORE_NAMES or previous in names
    if previous.lower() in _NOT_BEFORE_NAMES:
        return False
    if not (begins or called or previous.islower() or _is_german(line)):
        return False
    known = names | _DAYS | {"I"}
    if following[:1].isupper() and following not in known and not _is_german(line):
        return False
    word_too = word.lower() in _WORDS_TOO
    if word[0].isupper() and not (word_too and begins):
        return True
    verb = following.endswith(("s", "ed")) or (following.endswith("t") and _is_german(line))
    acts = following in _VERBS or following.endswith("n't") or (verb and following.islower())
    if word_too:
        alone = not following or following in names
        return begins and (acts or (word[0].isupper() and alone))
    return acts


def _is_german(line: str) -> bool:
    return language_of(line) == "de"
