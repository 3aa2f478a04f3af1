"""Find which names in notes are persons, and which lines tell of them. English and German.

A name is a person's when the notes treat it so in several lines: it is introduced ("my sister
Lena"), has relatives or a birthday, is met, asked and quoted. Firms, places and words that are
names too ("Will it rain", "the rose") stay out: rather a line is missed than a wrong one found.
"""

from __future__ import annotations

import calendar
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import cache

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
_CONTEXTS = (
    rf"\b{_OWNER} (?:\w+ )?{_KIN} {_N}",
    rf"\b(?i:oma|opa|tante|onkel|aunt|grandma|grandpa|granny) {_N}",
    rf"\b{_N}, (?:my|our|meine?|unsere?) (?:[\w-]+ )?{_KIN}\b",
    r"\b(?i:lunch|dinner|coffee|breakfast|supper|tea|drinks?|beers?|walk|chat|call|evening|sauna)"
    rf" with {_N}",
    rf"\b{_N}(?:'s?|(?<=s)) (?:{_KIN}|birthday|wedding|phone|mobile|number|Geburtstag|Hochzeit"
    r"|Nummer|Handy)\b",
)
_INTRODUCED = 3
"""The first of these kinds introduce a person: one line is enough."""
_FEWEST_LINES = 2

_TOKEN = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*(?:(?<=n)'t)?")
_DAYS = frozenset((*calendar.day_name, *calendar.day_abbr, *calendar.month_name))
_WORDS_TOO = frozenset(
    """will may mark grace hope rose dawn summer june april august art bill faith frank grant jack
    joy max rich ernst wolf stern jordan guy pat drew nick sue lance penny olive violet daisy
    iris pearl ruby amber paris victoria""".split()
)
"""Names that are words or places too."""
_NOT_BEFORE_NAMES = frozenset("the a an this that some another no every in near".split())
_TITLES = frozenset("St Saint Sankt Mt Mount Lake Queen King Fort".split())
"""What is named after a person begins so: "St. Ines church", "Queen Maeve's grave"."""
_BEFORE_NAMES = frozenset(
    """with to for from by and or met phoned called rang visited saw asked told gave lent took drove
    sent wrote invited helped owe mit für von bei und an nach when while because if""".split()
)
_VERBS = frozenset(
    """had can can't could won't would didn't doesn't got went gave came must may should lent sent
    met rang and told took made left lost found war kann darf mag wird will möchte soll hatte
    und""".split()
)
_PRONOUN = re.compile(r"(?:she|he|sie|er)(?=['\u2019 ])|(?:her|his|ihre?|seine?) \w", re.IGNORECASE)


@cache
def _contexts() -> list[re.Pattern[str]]:
    """Compile the contexts of names at their first use: most prompts need none."""
    return [re.compile(each) for each in _CONTEXTS]


def find_names(lines: Iterable[str]) -> set[str]:
    """Return the names that these lines treat as those of persons: introduced once, or in several
    lines of which one treats it so. What is mostly written small is no name."""
    introduced, others = set[str](), set[str]()
    capital, small = Counter[str](), Counter[str]()
    for line in map(_plain_apostrophes, lines):
        for word in set(_TOKEN.findall(line)):
            (capital if word[0].isupper() else small)[word.capitalize()] += 1
        for number, pattern in enumerate(_contexts()):
            for found in pattern.finditer(line):
                (introduced if number < _INTRODUCED else others).add(found["name"])
    several = {name for name in others if capital[name] >= _FEWEST_LINES}
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
    if previous in _TITLES:
        return False
    if not begins and previous.lower() in _NOT_BEFORE_NAMES:
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
    acts = following in _VERBS or (verb and following.islower())
    if word_too:
        alone = not following or following in names
        return begins and (acts or (word[0].isupper() and alone))
    return acts


def _is_german(line: str) -> bool:
    return language_of(line) == "de"
