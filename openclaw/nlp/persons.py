"""Find which names in notes are persons, and which lines tell of them. English and German.

A name is a person's when the notes treat it so in several lines: it is introduced ("my sister
Lena"), has relatives or a birthday, is met, asked and quoted. Firms, places and words that are
names too ("Will it rain", "the rose") stay out: rather a line is missed than a wrong one found.
"""

from __future__ import annotations

import calendar
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from functools import cache

from openclaw.frozen import frozen

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
_STRONG = (
    rf"\b{_OWNER} (?:\w+ )?{_KIN} {_N}",
    rf"\b(?i:oma|opa|tante|onkel|aunt|grandma|grandpa|granny) {_N}",
    rf"\b{_N}, (?:my|our|meine?|unsere?) (?:[\w-]+ )?{_KIN}\b",
    r"\b(?i:lunch|dinner|coffee|breakfast|supper|tea|drinks?|beers?|walk|chat|call|evening|sauna)"
    rf" with {_N}",
    rf"\b[Bb]esuch(?:e|t)? (?:von|bei) {_N}",
    rf"\b{_N}(?:'s?|(?<=s)) (?:{_KIN}|birthday|wedding|phone|mobile|number|Geburtstag|Hochzeit"
    r"|Nummer|Handy)\b",
    rf"\b{_N} (?:and I|und ich|turns \d+|turned \w+|wird \d+)\b",
)
_WEAK = (
    r"\b(?i:met|phoned|called|rang|visited|saw|asked|told|texted|thanked|invited|hugged|helped|drove"
    rf"|took|picked up|ran into|wrote to|traf|getroffen) {_N}(?! [A-ZÄÖÜ])",
    rf"\b{_N} (?:says|said|thinks|wants|asked|told|loves|likes|hates|feels|plays|reads|cooks|plans"
    r"|recommended|rang|wrote|laughed|promised|does(?:n't| not) (?:eat|drink|like)|sagt|meint"
    r"|möchte|mag|fragt|spielt|isst|liest|wünscht|verträgt|hat (?:angerufen|gesagt|erzählt))\b",
    r"\b(?i:gave|lent|owe|give|gift for|present for|idea for|greetings to|geschenk für|idee für)"
    rf" {_N}(?! [A-ZÄÖÜ])",
    rf"(?:^|[.!?] )(?:[Mm]it|[Ww]ith) {_N}",
    rf"\b{_N} (?:\w+ ){{1,9}}(?:he|she|his|her|er|ihr|sein|seine[nmr]?|ihre[nmr]?)\b",
)
_INTRODUCED = 3
"""The first of these kinds introduce a person: one line is enough."""
_FEWEST_LINES = 2

_TOKEN = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*(?:(?<=n)'t)?")
_POSSESSIVE = re.compile(r"'s?\b|'(?=\s)")
_AND = ("and", "und", "&")
_DAYS = frozenset(
    (*calendar.day_name, *calendar.day_abbr, *calendar.month_name[1:], *calendar.month_abbr[1:],
     *"Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonnabend Sonntag Januar Februar März"
     " Mai Juni Juli Oktober Dezember".split())
)  # fmt: skip
_NO_NAMES = frozenset(
    """I He She It They We You Who Everyone Everybody Someone Somebody Nobody All Both One The This
    That There Here My Our His Her Their Its No Not And But So If When What How Why Where
    Then Also Now Today Tomorrow Yesterday Mr Mrs Ms Dr Prof Sir Herr Frau Ich Er Sie Es Wir
    Ihr Ihnen Ihm Uns Mir Wer Alle Das Der Die Ein Eine Mein Meine Heute Morgen Gestern Jetzt
    Nur Auch Dann Aber Und Mit Von Für Bei Uncle Aunt Oma Opa Tante Onkel God Christmas
    Easter Weihnachten Ostern""".split()
)
_GERMAN = frozenset(
    """der die das den dem ein eine einen einem und ist hat mit für nicht im am zum zur von bei auf
    sich wir ich sie er ihr uns nach aus wird war kein keine seit jeden jede als an""".split()
)
_WORDS_TOO = frozenset(
    """amber april art august austin bill bob brook chance chase christian dale dawn daisy dean drew
    ernst faith florence frank gene glen grace grant guy hazel heather holly hope iris ivy jack jade
    jasmine jordan joy june lance lily mark mark max may miles nick olive pat paris pearl penny ray
    reed rich rob robin rose ruby sandy skip stern sue summer sydney victoria violet wade will
    wolf""".split()
)
"""Names that are words or places too."""
_NO_SUBJECT = frozenset("the a an this that some another no every st".split())
_PLACE_WORDS = frozenset("in through across around near into about".split())
_BEFORE_NAMES = frozenset(
    """with to for from by and or met phoned called rang visited saw asked told texted thanked gave
    lent took drove sent wrote invited helped owe took borrowed thank like mit für von bei
    und an nach oder when while because since that if says but""".split()
)
_VERBS = frozenset(
    """is was has had can could can't won't would does doesn't did didn't got gave went came must
    may might should lent sent met rang thinks and told took made left lost found read won
    let put sat hat ist war kann darf mag isst fährt liest wird will möchte muss soll geht
    kommt spielt wohnt arbeitet hatte und sagt meint""".split()
)
_NO_VERBS = frozenset("this his its us always was bus plus less news yes gas glass class".split())
_PRONOUN = re.compile(r"(?:she|he|sie|er)(?=['\u2019 ])|(?:her|his|ihre?|seine?) \w", re.IGNORECASE)


@cache
def _kinds() -> list[re.Pattern[str]]:
    """Compile the contexts of names at their first use: most prompts need none."""
    return [re.compile(each) for each in (*_STRONG, *_WEAK)]


def find_names(lines: Iterable[str]) -> set[str]:
    """Return the names that these lines treat as those of persons."""
    kinds: defaultdict[str, set[int]] = defaultdict(set)
    seen: defaultdict[str, set[str]] = defaultdict(set)
    capital, small = Counter[str](), Counter[str]()
    for line in map(plain_apostrophes, lines):
        for word in set(_TOKEN.findall(line)):
            (capital if word[0].isupper() else small)[word.capitalize()] += 1
        for number, pattern in enumerate(_kinds()):
            for found in pattern.finditer(line):
                name = found["name"]
                if name not in _NO_NAMES and name not in _DAYS:
                    kinds[name].add(number)
                    seen[name].add(line)
    return {
        name
        for name, numbers in kinds.items()
        if _is_person(numbers, len(seen[name]), rare=small[name] < capital[name])
    }


def _is_person(kinds: Collection[int], lines: int, *, rare: bool) -> bool:
    """Return True when the kinds of context suffice; a word that is mostly no name needs more."""
    if len(kinds) < (1 if rare else 2):
        return False
    strong = any(kind < len(_STRONG) for kind in kinds) or len(kinds) > 2
    return min(kinds) < _INTRODUCED or (strong and lines >= _FEWEST_LINES)


def persons_of(lines: Sequence[str], names: Set[str]) -> Iterator[list[str]]:
    """Yield for each of consecutive lines whom of `names` it tells of. A line that begins with a
    pronoun tells of the one person of the line before it."""
    before: list[str] = []
    for line in lines:
        found = _named_in(plain_apostrophes(line), names)
        if not found and len(before) == 1 and _PRONOUN.match(line):
            found = before
        yield found
        before = found


def plain_apostrophes(line: str) -> str:
    return line.replace("\u2019", "'")


@frozen
class _Place:
    """A word that may be a name, and what stands around it.

    previous, following: the words beside it, "" behind another sign than a blank
    starts: it begins a sentence or a part behind a colon
    owns: "'s" follows
    """

    word: str
    previous: str
    following: str
    starts: bool
    owns: bool

    @property
    def acts(self) -> bool:
        """A verb of a person follows, as far as its form tells."""
        verb = self.following.islower() and self.following.endswith(("s", "ed"))
        return self.following in _VERBS or (verb and self.following not in _NO_VERBS)


def _named_in(line: str, names: Set[str]) -> list[str]:
    tokens = [*_TOKEN.finditer(line)]
    words = [token[0] for token in tokens]
    german = len(_GERMAN.intersection(map(str.lower, words))) > len(words) // 8
    found: list[str] = []
    for at in range(len(words)):
        name = _name_at(words, at, names)
        if name and name not in found and (place := _place(line, tokens, at)):
            genitive = len(words[at]) > len(name)
            joined = words[at - 1] in _AND and at > 1 and words[at - 2].capitalize() in found
            if joined or genitive or _is_meant(place, names, german=german):
                found.append(name)
    return found


def _name_at(words: Sequence[str], at: int, names: Set[str]) -> str:
    """Return the name that a word is, also in its German genitive ("Hildes Bruder")."""
    word = words[at].capitalize() if words[at].islower() else words[at]
    if word in names:
        return word
    genitive = word[-1:] == "s" and word[:-1] in names and words[at][0].isupper()
    return word[:-1] if genitive and [*words, "x"][at + 1][0].isupper() else ""


def _place(line: str, tokens: Sequence[re.Match[str]], at: int) -> _Place | None:
    """Return the place of a word; None for a part of a longer one or of an address."""
    token = tokens[at]
    before = line[tokens[at - 1].end() : token.start()] if at else line[: token.start()]
    if before.endswith(("-", "@", "/", ".")) or line[token.end() :].startswith(("-", "@", "_")):
        return None
    after = line[token.end() : tokens[at + 1].start()] if at + 1 < len(tokens) else ""
    starts = not at or bool(re.search(r"[.!?:;]", before))
    return _Place(
        token[0],
        tokens[at - 1][0] if at else "",
        tokens[at + 1][0] if after == " " else "",
        starts,
        bool(_POSSESSIVE.match(line, token.end())),
    )


def _is_meant(place: _Place, names: Set[str], *, german: bool) -> bool:
    """Return True when a word that may be a name is one here."""
    word, previous, following = place.word, place.previous.lower(), place.following
    if place.owns:
        return place.starts or previous not in _NO_SUBJECT
    if not place.starts:
        known = german or previous in _BEFORE_NAMES or place.previous in names
        if previous in _NO_SUBJECT | _PLACE_WORDS or (place.previous[0].isupper() and not known):
            return False
    if following[:1].isupper() and not (german or following in names | _DAYS | {"I"}):
        return False
    word_too = word.lower() in _WORDS_TOO
    if word.islower():
        called = german or previous in _BEFORE_NAMES
        return place.acts and place.starts if word_too else place.acts or called
    return not (word_too and place.starts) or place.acts or not following or following in names
