"""Find facts in a message that are worth keeping: preferences, decisions, contacts, rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from openclaw.frozen import frozen
from openclaw.nlp.facts import category_of, has_relative_day, is_not_own_statement, is_secret
from openclaw.nlp.lexicon.quote_words import ORDER_TO_AN_AGENT, SHORT_QUOTE
from openclaw.nlp.notable import may_state_fact, statement_before_question
from openclaw.nlp.quoted import own_sentences
from openclaw.nlp.sentences import (
    LONGEST_MESSAGE,
    Statement,
    blank_quotes,
    is_order,
    read_statement,
    strip_lead_in,
    strip_trailer,
)
from openclaw.nlp.words import LONGEST_LASTING, LONGEST_OWN, SHORTEST_LASTING

if TYPE_CHECKING:
    from openclaw.nlp.facts import LastingCategory


_SIGNATURE = re.compile(
    r"[.!?\u2026)] ?[-\u2013\u2014~]{1,3} ?(?![a-z])[^\W\d_][\w'\u2019-]{0,30}"
    r"(?: [\w.'\u2019-]{1,30}){0,2}$"
)
"""A name after a dash at the end: that person wrote the text."""


@frozen
class FactCandidate:
    """A fact that may be kept.

    text      the user's exact words, one line of 10 to 500 characters
    category  what kind of fact it is
    relative  it names a day relative to the day of writing ("tomorrow")
    sure      the whole message was surely typed, not pasted
    """

    text: str
    category: LastingCategory
    relative: bool = False
    sure: bool = True


def find_candidates(said: str) -> list[FactCandidate]:
    """Return the facts of a message that are worth keeping, in their order. Most of a long message
    is probably pasted, so only its beginning is read."""
    own = said if len(said) <= LONGEST_OWN else said[: LONGEST_OWN // 2]
    if not may_state_fact(said):
        return []
    if ORDER_TO_AN_AGENT.search(said[:LONGEST_MESSAGE]):  # then nothing else can be trusted
        return []
    lines = [line for line in own_sentences(own) if len(line) <= 2 * LONGEST_LASTING]
    sure = _is_typed(said)
    found: dict[str, FactCandidate] = {}
    for line, fact in _find_statements(lines):
        one = _to_candidate(line, fact)
        if one is not None:
            found.setdefault(one.text.casefold(), replace(one, sure=sure))
    return [*found.values()]


def _is_typed(said: str) -> bool:
    """Return True for a message that was surely written by hand: short, one line, no name at its
    end. Nothing tells which of several lines are the user's own."""
    said = said.strip()
    return len(said) <= LONGEST_OWN and len(said.splitlines()) <= 1 and not _SIGNATURE.search(said)


def _find_statements(lines: Sequence[str]) -> Iterator[tuple[str, Statement]]:
    """Yield the sentences that are no questions, and the statements within questions."""
    for line in lines:
        fact = read_statement(line)
        if not line.endswith(("?", "\uff1f")):
            yield line, fact
        elif fact.text:
            yield fact.text, fact
        elif before := statement_before_question(line):
            yield before, read_statement(before)


def _to_candidate(line: str, fact: Statement) -> FactCandidate | None:
    """Return the fact of a sentence; None when it is not worth keeping."""
    text = strip_trailer(fact.text if fact.to_remember and fact.text else strip_lead_in(line))
    if not SHORTEST_LASTING <= len(text) <= LONGEST_LASTING:
        return None
    if fact.to_remember and is_order(text):
        return None
    fact = fact if fact.to_remember else read_statement(text)
    quiet = SHORT_QUOTE.sub("_", blank_quotes(text))
    category = "" if is_not_own_statement(quiet) else category_of(quiet, fact)
    if not category or is_secret(text):
        return None
    return FactCandidate(text, category, has_relative_day(quiet))
