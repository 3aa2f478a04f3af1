"""Reads a question: its words, quoted phrases, days, names, and the wish for the latest.

Pure functions by rules, cheap to import.
"""

from __future__ import annotations

import re
from datetime import date

from openclaw.errors import UsageError
from openclaw.frozen import frozen
from openclaw.nlp.dates import name_each_day, read_days, without_days
from openclaw.retrieval.tokens import STOP, language_of, words
from openclaw.storage.home import Home

_QUOTED = re.compile(
    '"([^"]{2,200})"|\u201c([^\u201c\u201d]{2,200})[\u201d\u201c]|\u201e([^\u201c\u201d\u201e]{2,200})'
    "[\u201c\u201d]|\u00ab\\s*([^\u00ab\u00bb]{2,200}?)\\s*\u00bb|\u00bb([^\u00ab\u00bb]{2,200})\u00ab"
    "|`([^`]{2,200})`|(?<![\\w'])'([^']{2,200})'(?![\\w'])|\u300c([^\u300c\u300d]{1,200})\u300d"
)
_LATEST = re.compile(
    r"\b(?:latest|last|most recent(?:ly)?|newest|current(?:ly)?|now|nowadays|these days|lately"
    r"|at present|presently|at the moment(?! of| when)|as of today|up[- ]to[- ]date"
    r"|zuletzt|letzte[nrsm]?|letzten[sd]|letztmals|neue?ste[nrsm]?|aktuell\w*|derzeit\w*|jetzt"
    r"|jetzige[nrsm]?|momentan\w*|gegenwärtig\w*|zurzeit|zur zeit(?! de[rs])"
    r"|im (?:moment|augenblick)(?! de[rs]| als)|inzwischen|mittlerweile|heutzutage"
    r"|neulich|kürzlich|neuerdings"
    r"|derni[eè]re?s?|derni[eè]rement|actuel\w*|maintenant|en ce moment|désormais|r[ée]cent\w*"
    r"|[úu]ltim[oa]s?|[úu]ltimamente|reciente\w*|actualmente|ahora|attual\w*|recente|adesso|agora"
    r"|laatste?|momenteel|tegenwoordig|huidige)\b",
    re.IGNORECASE,
)
# Words of _LATEST with another meaning. Times that were read are removed from the text before.
_NOT_LATEST = re.compile(
    r"\b(?:at the latest|last (?:names?|minute|resort|but not least)|letzten endes"
    r"|how long\b[^?.!]{0,80}?\blast|(?:will|would|can|could|not|\w+n['\u2019]t) last"
    r"|last (?:for|until|till|long|longer|through)"
    r"|(?:last|letzte[nrsm]?)\s+(?:half|hälfte|summer|sommer|winter|spring|frühling|autumn|fall|herbst)"
    r"|(?:last|letzte[nrsm]?|derni[eè]re?|[úu]ltim[oa]s?)"
    r"\s+(?:name|night|week|month|year|nacht|woche|monat|jahr))\b",
    re.IGNORECASE,
)
# What a question says of the answer that it wants, not of what it is about.
_INSTRUCTION = re.compile(
    r"(?:^|[.!?:]\s+|\b(?:please|and|then|bitte|und)\s+)(?:list|name|enumerate|mention|describe"
    r"|summari[sz]e|explain|repeat|recall|nenne|liste|beschreibe|erkläre)(?:(?: and)? only)*"
    r"(?: (?:\d+|two|three|four|five|six|ten) items)?\b"
    r"|\b(?:please|bitte|kindly|briefly|only mention|do you (?:know|remember|recall)"
    r"|(?:can|could|would|will) you|(?:kannst|könntest|würdest) du"
    r"|(?<!did )(?:i|we) (?:want|need) to|(?:i|we) (?:would|['\u2019]d) like"
    r"|(?:tell|remind|give|show|walk) (?:me|us)(?: through)?"
    r"|(?:in )?the order in which|in (?:what|which) order (?:did|have|do)"
    r"|(?:sag|zeig|gib)e? mir|look (?:at|into|through)|go through|think carefully|step by step"
    r"|leave out (?:everything|all) else|in (?:brief|short|detail)|der reihe nach|so far"
    r"|in (?:(?:chronological|the right|the same) )?order|as \w+ as (?:you can|possible)"
    r"|in (?:your own|simple|plain|kurzen|einfachen) (?:words|worten)"
    r"|(?:(?:a|an|the|eine) )?(?:(?:short|brief|full|kurze) )?(?:list|summary|overview|liste"
    r"|übersicht|zusammenfassung) (?:of|von|der)"
    r"|(?:(?:in|throughout|across|during|from|of|all) )+(?:our|unser\w*)(?: \w+)?"
    r" (?:conversation|chat|talk|discussion|session|gespräch)\w*"
    r"|(?:i|we) (?:have |had )?(?:discussed|talked|spoke|spoken|told you|asked you|mentioned"
    r"|brought up))\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"[^\W\d_][\w'\u2019-]*")


@frozen
class Question:
    """The parts of a question.

    words         its distinct words as in `topic_words`, in order, without those of the days that
                  it names (an entry of a day need not name it); none when it asks for the day only
    phrases       quoted texts
    dates         days that it names, as pairs of ISO days (from, to), inclusive: "on Tuesday" may
                  be the last one, which a diary tells of, and the next one, in a plan
    wants_latest  it asks for the current state
    names         words with a capital, case folded, for labels and people
    keys          its identifiers: letters with digits or inner marks (ops-4217, v1.2.3, a.b@c.de)
    """

    text: str
    words: tuple[str, ...]
    phrases: tuple[str, ...] = ()
    dates: tuple[tuple[str, str], ...] = ()
    wants_latest: bool = False
    names: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()


def read_question(text: str, today: date) -> Question:
    """Read a question. `today` is the base for "yesterday" and for "May" without a year."""
    phrases = tuple(
        phrase
        for found in _QUOTED.finditer(text)
        if (phrase := " ".join(next(filter(None, found.groups())).split()))
    )
    days = read_days(text, today)
    to_come = [each for each in name_each_day(text, today) if each.next_span(today)]
    coming = filter(None, (each.next_span(today) for each in to_come))
    spans, rest = dict.fromkeys((*days.spans, *coming)), without_days(days.rest, to_come)
    terms = tuple(dict.fromkeys(_topic(rest) or ([] if spans else topic_words(text))))
    return Question(
        text,
        terms,
        phrases,
        tuple((first.isoformat(), last.isoformat()) for first, last in spans),
        bool(_LATEST.search(_NOT_LATEST.sub(" ", days.rest))),
        _names(text),
        tuple(term for term in terms if _is_key(term)),
    )


def topic_words(text: str) -> list[str]:
    """The words of a question without those that only instruct; all when it has no others."""
    return _topic(text) or words(text)


def without_instructions(text: str) -> str:
    """A question as `topic_words` reads it, as a text."""
    return _INSTRUCTION.sub(" ", text) if _topic(text) else text


def names_of(text: str) -> frozenset[str]:
    """The words of a text that may be names, as `topic_words` gives them."""
    return frozenset(words(" ".join(_names(text)), language_of(text.split())))


def _topic(text: str) -> list[str]:
    """The words of a text that neither instruct nor are stop words."""
    terms = words(_INSTRUCTION.sub(" ", text), language_of(text.split()))
    return [] if STOP.issuperset(terms) else terms


def _is_key(term: str) -> bool:
    """Return True for an identifier: letters with digits or marks, no plain word or number."""
    marks = any(not char.isalnum() for char in term)
    digits = any(char.isdigit() for char in term)
    letters = any(char.isalpha() for char in term)
    return (digits and letters) or (marks and digits) or (marks and "-" not in term and letters)


def _names(text: str) -> tuple[str, ...]:
    """Words with a capital or without case, except a stop word that begins the question."""
    found = []
    for at, match in enumerate(_NAME.finditer(text)):
        name = match[0].replace("\u2019", "'").removesuffix("'s")
        if name[0].islower() or (at == 0 and name.lower() in STOP):
            continue
        found.append(name.casefold())
    return tuple(dict.fromkeys(found))


# Only the beginning and the end of a longer question are read: a pasted log asks nothing itself.
LONGEST_QUESTION = 2_000


@frozen
class Query:
    """A question with the files and days that may answer it.

    path   the only file or folder to search, or how their paths begin, with a slash at its end;
           "" for all
    since  the first day (ISO); the day of a row is its own date, else its file's last change
    skip   files to leave out
    only   when not empty, the only files to search
    whole  all rows are wanted, however few words they have in common with it
    order  it names new things too: words that no file holds do not count
    """

    question: str
    today: date | None = None
    path: str = ""
    since: str = ""
    skip: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()
    whole: bool = False
    order: bool = False


def shorten_question(question: str) -> str:
    if len(question) <= LONGEST_QUESTION:
        return question
    return f"{question[: LONGEST_QUESTION - 500]} {question[-500:]}"


def to_index_path(home: Home, path: str) -> str:
    """A file or folder as a user typed it, as `Query.path`."""
    plain = path.strip().replace("\\", "/")
    root = home.root.as_posix().rstrip("/") + "/"
    return f"{plain.rstrip('/')}/".removeprefix("./").removeprefix(root) if plain else ""


def day_of(since: str) -> str:
    try:
        return since and date.fromisoformat(since).isoformat()
    except ValueError as error:
        raise UsageError(f"not a day: {since!r}", "write it like 2026-11-21") from error
