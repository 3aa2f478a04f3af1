"""Find what the user states in a message, and what of it is worth keeping.

A model of sentences decides (`nlp/classifier.py`), in nine languages. Code leaves out by its form
what is not the user's own (citations, conversations) and what no memory should hold: secrets,
markup, orders to an agent, and orders with an address.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from openclaw.frozen import frozen
from openclaw.nlp.classifier import guess_category, hands_over, read_message, read_sentence
from openclaw.nlp.date_patterns import names_relative_day
from openclaw.nlp.identifiers import identifiers
from openclaw.nlp.intent import REMEMBER
from openclaw.nlp.sentences import (
    CITATION_MARK,
    LONGEST_MESSAGE,
    own_words,
    sentences,
    without_quotes,
)
from openclaw.nlp.words import LONGEST_LASTING, LONGEST_OWN, SHORTEST_LASTING
from openclaw.security import secrets
from openclaw.security.agent_orders import has_orders, lifts_guard
from openclaw.security.untrusted import find_hidden
from openclaw.types import Category

MAY_LAST = 0.2
MAX_CLAUSES = 6
LONGEST_COMPLAINT = 240  # characters; a longer message is about something else

_I = re.IGNORECASE
_PARAGRAPH = re.compile(r"\n[ \t]*(?:\n|-{3,}[ \t]*\n|={3,}[ \t]*\n)")
_CLAUSE = re.compile(r"[,;:] | [\u2013\u2014-] |[\u3001\uff0c\uff1b]")
_PART = re.compile(rf"{_CLAUSE.pattern}|\b(?:that|dass|que|che|dat) ", _I)
_QUESTION_END = ("?", "\uff1f")
_SPEAKER = re.compile(
    r"(?:\[?\d{1,2}:\d{2}(?::\d{2})?\]?,? ?)?[*_]{0,2}[^\W\d_][\w .'\u2019-]{0,24}?"
    r"[*_]{0,2} ?(?:\(\d{1,2}:\d{2}\) ?)?:[*_]{0,2} (?=\S)"
)
_SIGNATURE = re.compile(
    r"[.!?\u2026)] ?[-\u2013\u2014~]{1,3} ?(?![a-z])[^\W\d_][\w'\u2019-]{0,30}"
    r"(?: [\w.'\u2019-]{1,30}){0,2}$"
)
"""A name after a dash at the end: that person wrote the text."""
_MARKUP = re.compile(
    r"<!--|\]\(|\^[0-9a-f]{8}\b|\bdue:\d{4}|</?[a-z][\w-]{0,20}[^<>\n]{0,80}>|\*\*\S|\{\{|\}\}|"
    r"\[REDACTED\]|\\n|=>|\(\);?",
    _I,
)
_ADDRESS = re.compile(
    r"(?<![\w@])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}"
    r"|://|\bwww\.|\w\.[a-z]{2,12}/|(?<!\w)@\w{2}|(?<![\w/.,:#-])\+?\(?\d[\d ()/.-]{6,20}\d(?!\w)",
    _I,
)
"""An address or a telephone number of a person or a machine."""


@frozen
class FactCandidate:
    """A fact that may be kept.

    text      the user's exact words, one line of at most 500 characters
    category  what kind of fact it is
    relative  it names a day relative to the day of writing ("tomorrow")
    sure      the whole message was surely typed, not pasted
    """

    text: str
    category: Category
    relative: bool = False
    sure: bool = True


def find_candidates(said: str) -> list[FactCandidate]:
    """Return the facts of a message that are worth keeping, in their order. Most of a long message
    is probably pasted, so only its beginning is read."""
    if has_orders(said[:LONGEST_MESSAGE]):  # then nothing else can be trusted
        return []
    sure = _is_typed(said)
    found: dict[str, FactCandidate] = {}
    for text in lasting_facts(said):
        category = guess_category(text)
        # An order or a rule with an address could send data there from then on.
        if is_unfit(text) or (category != "entity" and _ADDRESS.search(text)):
            continue
        one = FactCandidate(text, category, names_relative_day(text), sure)
        found.setdefault(text.casefold(), one)
    return [*found.values()]


@lru_cache(maxsize=1024)
def lasting_facts(said: str) -> tuple[str, ...]:
    """Return the user's own words that are worth remembering for good: about himself, his people
    and things, standing rules, decisions. Of a long message only the beginning is read."""
    own = said if len(said) <= LONGEST_OWN else said[: LONGEST_OWN // 2]
    texts = (_lasting_part(sentence) for sentence in _own_sentences(own))
    return tuple(
        text
        for text in dict.fromkeys(texts)
        if len(text.encode()) >= SHORTEST_LASTING
        and len(text) <= LONGEST_LASTING
        and CITATION_MARK not in text
    )


def find_statements(said: str) -> Iterator[str]:
    """Yield the sentences or clauses of a message that state something, word for word: what may be
    lasting, and what names something exact and holds for now."""
    for sentence in _own_sentences(said):
        if (text := _part_that(_states, sentence)) and CITATION_MARK not in text:
            yield text


def is_complaint(message: str) -> bool:
    """Return True when the user surely complains that something was said before or forgotten."""
    if len(message) > LONGEST_COMPLAINT:
        return False
    return any(read_sentence(each).has("complains") for each in _own_sentences(message))


def is_unfit(text: str) -> bool:
    """Return True for a text that no memory should hold: with a secret, markup or invisible
    characters, or that lifts a guard."""
    if secrets.tells_code(text) or secrets.find_secrets(text) or find_hidden(text):
        return True
    return lifts_guard(text) or bool(_MARKUP.search(text))


def _is_typed(said: str) -> bool:
    """Return True for a message that was surely written by hand: short, one line, no name at its
    end. Nothing tells which of several lines are the user's own."""
    said = said.strip()
    return len(said) <= LONGEST_OWN and len(said.splitlines()) <= 1 and not _SIGNATURE.search(said)


def _own_sentences(said: str) -> list[str]:
    """Return the sentences that the user says himself. One that hands a text over, gives a role or
    begins a letter ends them; of several paragraphs the others may then be that text. Of several
    rows, "Ana: I live in Graz" is said by Ana."""
    text = without_quotes(own_words(said))
    found: list[str] = []
    for part in _PARAGRAPH.split(text):
        own: list[str] = []
        rows = part.split("\n")
        said_here = (row for row in rows if len(rows) == 1 or not _SPEAKER.match(row.strip()))
        for sentence in sentences("\n".join(said_here)):
            if hands_over(sentence):
                return own
            own.append(sentence)
        found += own
    return found


def _lasting_part(sentence: str) -> str:
    """Return what of a sentence is worth keeping: what the user says to remember, or what the model
    is sure of."""
    found = REMEMBER.match(sentence)
    if found and not sentence.endswith(_QUESTION_END):
        fact = found["fact"].strip()
        if not read_sentence(fact).lacks("lasting", "states"):
            return fact
    return _part_that(_lasts, sentence)


def _lasts(text: str) -> bool:
    """Return True when a sentence is lasting, or when it may be and a long enough clause of it
    surely is: the rest of a long sentence says little about it."""
    read = read_sentence(text)
    if read.has("lasting") or read.probabilities["lasting"] < MAY_LAST:
        return read.has("lasting")
    return any(read_sentence(each).has("lasting") for each in _PART.split(text))


def _states(text: str) -> bool:
    read = read_sentence(text)
    return not read.lacks("lasting") or (not read.lacks("states") and bool(identifiers(text)))


def _part_that(holds: Callable[[str], bool], sentence: str) -> str:
    """Return a sentence for which something holds, or the clauses of it that stand before a
    question or an order: "I live in Ghent, what is open today?"; "" for neither."""
    ends = [each.start() for each in _CLAUSE.finditer(sentence)][:MAX_CLAUSES]
    for end in ends:
        head, rest = sentence[:end], sentence[end:].strip(" ,;:-\u2013\u2014")
        wants = rest.endswith(_QUESTION_END) or (rest and read_message(rest).has("asks", "orders"))
        if wants and holds(head) and not holds(rest):
            return head
    if sentence.endswith(_QUESTION_END):
        return ""
    return sentence if holds(sentence) else ""
