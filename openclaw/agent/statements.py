"""Which sentences of a message state something: decisions, preferences, facts, corrections.

By what a sentence does, not by its topic: questions, orders, suppositions, judgements of a reply
and what the user only cites are left out; the rest must have a verb and something to hold on to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from openclaw.agent import statement_words as w
from openclaw.agent.identifiers import exact, identifiers
from openclaw.agent.names import COMMON
from openclaw.agent.own_words import hushed, own_words, sentences

SHORTEST = 2
"""Words of a fact."""

_CLAUSE = re.compile(
    r"(?:, (?:and |but |because |since |as |und |aber |denn |weil |da |et |mais |car |y |pero |"
    r"porque "
    r"|e |ma )?| [\u2013\u2014-] |: | (?:because|since|but|denn|weil|parce que|porque|perché) )"
)
_ANSWER_IN = re.compile(
    r"(?:answer|reply|respond|write|speak|antworte|schreibe?|réponds|écris|responde|escribe|"
    r"rispondi)"
    r"(?:[ -]\w+)? (?:in|auf|en|em) [A-Z]?\w+(?: (?:unless|when|whenever|if|please|only)\b|\W*$)"
)
_USE_FOR = re.compile(r"use (?!(?:it|this|that)\b)(?:\S+ ){1,8}for \S", re.IGNORECASE)
_THIRD_PERSON = re.compile(
    r"(?:the|our|my|his|her|their|every|each) (?:[\w'\u2019-]+ ){1,4}[a-z]{2,}(?:s|ed) \S"
    r"|(?-i:[A-Z])[\w-]+ and (?-i:[A-Z])[\w-]+ [a-z]+ \S",
    re.IGNORECASE,
)
"""What may well be a verb that the list does not have, behind a subject."""
_SUBJECT = re.compile(
    r"(?:i|we|he|she|it|they|this|that|there|who|which|my|our|his|her|its|their|the|ich|wir|er|"
    r"sie|es|das"
    r"|der|die|mein\w*|unser\w*|je|il|elle|nous|ils|c['\u2019]est|mon|ma|yo|él|ella|mi|es|io|lui|"
    r"lei)"
    r"(?:['\u2019]\w+)?\b",
    re.IGNORECASE,
)


class Stated(NamedTuple):
    """What was stated, in the user's exact words. `told`: he said that it is to be remembered;
    `order`: it is an order that carries a fact."""

    text: str
    told: bool = False
    order: bool = False


def stated(said: str) -> Iterator[Stated]:
    """The sentences or clauses of a message that state something."""
    for sentence in sentences(before_material(own_words(said))):
        fact = statement(sentence)
        if len(fact.text.split()) >= SHORTEST:
            yield fact


def statement(sentence: str) -> Stated:
    """What a sentence states, as it stands there; nothing for a question, an order, mere talk."""
    lead = w.LEAD_IN.match(sentence)
    body = sentence[lead.end() :] if lead else sentence
    told = w.REMEMBER.match(body)
    if told and not sentence.endswith("?"):
        rest = body[told.end() :]
        return Stated("" if w.TO_DO.match(rest) else rest, told=True)
    quiet = hushed(body)
    if w.CALL_ME.match(quiet):
        return Stated(body)
    if _is_question(quiet):
        return Stated(_beside_question(body))
    if is_order(quiet):
        return Stated(sentence if _order_states(quiet) else "", order=True)
    if w.SUPPOSED.match(quiet):
        return Stated(body if w.STANDING.search(quiet) else "")
    return Stated(sentence if _states(quiet) else "")


def is_order(sentence: str) -> bool:
    """Whether a sentence asks for something to be done."""
    if w.BEGS.match(sentence) and not w.LETS.match(sentence):
        return True
    if w.FORBIDS.match(sentence):
        return True
    first = re.match(r"[^\W\d_]+(?:-moi)?", sentence)
    if not first or sentence[first.end() : first.end() + 1] in (":", "'", "\u2019", "="):
        return False
    return first[0].lower() in w.ORDERS


def before_material(text: str) -> str:
    """The message without what it hands over to be translated, corrected, written on."""
    found = w.REWORKS.match(text)
    if not found:
        return text
    end = re.search(r":\s|:$|\n", text[found.end() :])
    return text[: found.end() + end.start()] if end else text


def _is_question(sentence: str) -> bool:
    return sentence.rstrip("\"')\u201d ").endswith(("?", "\uff1f")) or bool(
        w.QUESTION.match(sentence) and not re.search(r"[.!]$", sentence)
    )


def _beside_question(sentence: str) -> str:
    """The clause in front of a question: "I live in Ghent, what is open today?"."""
    cut = max(sentence.rfind(mark) for mark in (", ", " - ", " \u2013 ", " \u2014 ", ": "))
    before = sentence[: max(cut, 0)]
    if len(before.split()) < 3 or w.QUESTION.match(before) or w.SUPPOSED.match(before):
        return ""
    return before if not is_order(before) and _states(hushed(before)) else ""


def _order_states(sentence: str) -> bool:
    """Whether an order carries a fact: it is a rule, or gives a reason, or says who somebody is."""
    if w.FORBIDS.match(sentence) or w.STANDING.search(sentence):
        return True
    if _USE_FOR.match(sentence) and identifiers(sentence):
        return True
    if _ANSWER_IN.match(sentence[:1].lower() + sentence[1:]):
        return True
    reworks = w.REWORKS.match(sentence)
    for clause in _CLAUSE.split(sentence)[1:]:
        if not _SUBJECT.match(clause) or (reworks and w.REPORTED.search(sentence)):
            continue
        if w.FINITE.search(clause) and not _is_talk(clause):
            return True
    return bool(re.search(r"\b(?:instead of|rather than|statt|au lieu de|en lugar de)\b", sentence))


def _states(sentence: str) -> bool:
    if w.DECISION.search(sentence) or w.LETS.match(sentence):
        return True
    found = identifiers(sentence)
    if _is_talk(sentence) and not exact(sentence) and not (found and w.DEFINITE.match(sentence)):
        return False
    words = len(sentence.split())
    finite = bool(w.FINITE.search(sentence))
    mended = w.CORRECTION.match(sentence)
    if mended and words > 2 and (exact(sentence) or not _is_talk(sentence[mended.end() :])):
        return bool(finite or found)
    if w.STANDING.search(sentence) and words > 2:
        return True
    pair = w.KEY_VALUE.match(sentence)
    if pair and len(pair[1].split()) <= 4 and not _is_order_word(pair[1]):
        return True
    finite = finite or bool(words > 4 and _THIRD_PERSON.match(sentence))
    if finite and words > 2 and (w.PERSONAL.search(sentence) or w.DEFINITE.match(sentence)):
        return True
    named = re.match(r"([A-ZÀ-Þ][\w-]{2,30})(?:['\u2019]s \w{1,30})? (\S{1,30})", sentence)
    if named and named[1].lower() not in COMMON and w.FINITE.fullmatch(named[2]) and words > 2:
        return True
    return bool(found) and (finite or (words > 2 and bool(exact(sentence))))


def _is_order_word(key: str) -> bool:
    return any(word.lower() in w.ORDERS for word in key.split()[:1]) and len(key.split()) > 1


def _is_talk(sentence: str) -> bool:
    return bool(w.PASSING.match(sentence) or w.JUDGED.match(sentence))
