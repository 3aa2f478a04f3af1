"""Finds what of the user's own words is worth keeping: preferences, decisions, contacts, rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from openclaw.nlp.facts import category_of, is_foreign, is_relative, is_secret
from openclaw.nlp.lexicon.quote_words import ORDER_TO_AN_AGENT, SHORT_QUOTE
from openclaw.nlp.quoted import meant
from openclaw.nlp.sentences import (
    MOST,
    Stated,
    hushed,
    is_order,
    led,
    own_words,
    sentences,
    statement,
    trimmed,
)
from openclaw.nlp.words import LONGEST_LASTING, LONGEST_OWN, SHORTEST_LASTING

if TYPE_CHECKING:
    from openclaw.nlp.facts import LastingCategory


_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"@|(?:\d[ ()/.-]{0,3}){7}")
_OF_HIMSELF = re.compile(
    r"(?P<says>(?:i['\u2019]?m|i am|i have|i['\u2019]ve got|we['\u2019]re|we have|my \w+ (?:is|"
    r"are|has)|"
    r"ich bin|ich habe|mein\w* \w+ ist|je suis|j['\u2019]ai|soy|tengo) [^,;?]{3,80}?)(?:, |; |"
    r" - | \u2013 )",
    re.IGNORECASE,
)
_SIGNED = re.compile(
    r"[.!?\u2026)] ?[-\u2013\u2014~]{1,3} ?(?![a-z])[^\W\d_][\w'\u2019-]{0,30}"
    r"(?: [\w.'\u2019-]{1,30}){0,2}$"
)
"""Ends with a name behind a dash: who that is has written it."""
_OF_RULES = frozenset(
    """always never ever every each without unless before after past when whenever no stop anything
    everything metric imperial celsius fahrenheit hour kilometres kilometers kg british american
    plain formal informal formally informally si iso simple emoji emojis emoticons smileys
    pleasantries smalltalk small jargon buzzwords flattery disclaimers apologies filler fluff
    exclamation preamble corporate greetings address refer tutoie vouvoie floskeln anglizismen
    politesses immer nie jamais toujours siempre nunca ohne sans answer reply respond
    speak antworte sprich réponds responde parle sin""".split()
)
"""Words of an order that may hold for good."""
_OF_SELF = _OF_RULES | frozenset(
    """i im my mine our ours we us ich mir mich mein meine meinen meiner wir uns unser unsere bin
    unseren je j mon ma mes nous notre nos on yo mi mis nosotros nuestro nuestra soy estoy tengo
    vivo trabajo prefiero odio detesto gusta encanta toco estudio hemos decidimos acordamos elegimos
    quedamos decided decision settled approved agreed official rule circumstances entschieden
    beschlossen pronouns lets mum mom dad grandma grandpa kids result outcome""".split()
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """The user's exact words, one line of 10 to 500 characters. `relative`: they name a day that
    only the day of writing tells ("tomorrow"). `sure`: nothing of the message can be pasted."""

    text: str
    category: LastingCategory
    relative: bool = False
    sure: bool = True


def candidates(said: str) -> list[Candidate]:
    """What of a message is worth keeping, in its order. Of a long one, most of which is likely to
    be pasted, only the beginning counts."""
    own = said if len(said) <= LONGEST_OWN else said[: LONGEST_OWN // 2]
    if not any(map(_may_tell, sentences(own_words(own)))):
        return []

    if ORDER_TO_AN_AGENT.search(said[:MOST]):  # nothing beside it is to be trusted
        return []
    lines = [line for line in meant(own) if len(line) <= 2 * LONGEST_LASTING]
    sure = _is_typed(said)
    found: dict[str, Candidate] = {}
    for line, fact in _told(lines):
        one = _candidate(line, fact)
        if one is not None:
            found.setdefault(one.text.casefold(), replace(one, sure=sure))
    return [*found.values()]


def _is_typed(said: str) -> bool:
    """Whether a message is written by hand for sure. What was pasted has lines, a name at its end,
    or is long; which of several lines are the user's, nothing in them tells."""
    said = said.strip()
    return len(said) <= LONGEST_OWN and len(said.splitlines()) <= 1 and not _SIGNED.search(said)


def _may_tell(sentence: str) -> bool:
    """Whether it may be worth a look. Questions and orders hardly ever are, and the patterns that
    tell more take 40 ms to compile."""
    if _beside(sentence):
        return True
    if not sentence.endswith(("?", "\uff1f")):
        words = {word.casefold() for word in _WORD.findall(sentence)}
        telling = _OF_RULES if is_order(led(sentence)) else _OF_SELF
        if words & telling or _NUMBER.search(sentence):
            return True
    return bool(statement(sentence).text)


def _told(lines: Sequence[str]) -> Iterator[tuple[str, Stated]]:
    """The sentences that are no questions, or what of a question states something."""
    for line in lines:
        fact = statement(line)
        if not line.endswith(("?", "\uff1f")):
            yield line, fact
        elif fact.text:
            yield fact.text, fact
        elif beside := _beside(line):
            yield beside, statement(beside)


def _beside(line: str) -> str:
    """What a question says of the user first: "I'm left-handed" of "I'm left-handed, can you ...?";
    "" for nothing."""
    found = _OF_HIMSELF.match(led(line)) if line.endswith(("?", "\uff1f")) else None
    return found["says"] if found else ""


def _candidate(line: str, fact: Stated) -> Candidate | None:
    """What of a sentence is to be kept; None when it is nothing of worth."""
    text = trimmed(fact.text if fact.told and fact.text else led(line))
    if not SHORTEST_LASTING <= len(text) <= LONGEST_LASTING or (fact.told and is_order(text)):
        return None
    fact = fact if fact.told else statement(text)
    quiet = SHORT_QUOTE.sub("_", hushed(text))
    category = "" if is_foreign(quiet) else category_of(quiet, fact)
    if not category or is_secret(text):
        return None
    return Candidate(text, category, is_relative(quiet))
