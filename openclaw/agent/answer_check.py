"""Checks an answer before the turn ends: for claims that are not true, the language of the user,
words of this program, and a date that only the clock has given.

A small model gets one chance to correct what is wrong, with a hint that names it. Each check must
be sure, not complete: a good answer that is asked for again costs the user seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from openclaw.agent.protocols.base import RunningTurn
from openclaw.agent.protocols.json_steps import first_line
from openclaw.frozen import frozen
from openclaw.nlp.claims import count_releasable, find_claims
from openclaw.nlp.classifier import LANGUAGES, language_of, read_message

__all__ = ["Fault", "count_releasable", "find_fault"]

UNBACKED = (
    'Nothing was changed in this turn, yet you wrote: "{claim}". '
    "Do it now with a tool, or say plainly that it was not done."
)
OTHER_LANGUAGE = "Say the same in {language}, the language of the user."
OWN_WORDS = "These are not words for the user. Tell the user in one plain sentence what was done."
ONLY_TODAY = "The date {day} is today's and stands in no file. Say the same without it."
FEWEST_LETTERS = 25
"""A shorter text may be a name or a figure, which has no language."""
SHORTEST_HINT = 12
_CLOCK = re.compile(r"^Now: [^\n]*?(\d{4}-\d\d-\d\d)", re.MULTILINE)
"""The line of the tail that tells the time (`openclaw.agent.prompt.tail`)."""


@frozen
class Fault:
    """What is wrong with an answer: a line for the user and a hint for the model; `claims` are
    sentences that say something was done."""

    notice: str
    hint: str
    claims: tuple[str, ...] = ()


def find_fault(answer: str, turn: RunningTurn, *, changed: bool) -> Fault | None:
    """Return the first thing that is wrong with an answer, None for a good one. `changed` tells
    that the turn has changed something."""
    if not changed and (claims := find_claims(answer, turn.user.content)):
        told = "the reply claimed a change that did not happen; asking again"
        return Fault(told, UNBACKED.format(claim=claims[0]), claims)
    if _is_ours(answer, turn):
        return Fault("the reply was no answer; asking again", OWN_WORDS)
    if language := _wanted_language(answer, turn.user.content):
        told = f"the reply was not in {language}; asking again"
        return Fault(told, OTHER_LANGUAGE.format(language=language))
    if day := _only_todays_date(answer, turn):
        told = "the reply named today's date without need; asking again"
        return Fault(told, ONLY_TODAY.format(day=day))
    return None


def _is_ours(answer: str, turn: RunningTurn) -> bool:
    """Return True for an answer that repeats a hint of this program and says nothing else."""
    uses = [use for entry in turn.entries for use in entry.tool_calls]
    results = {first_line(use.output) for use in uses}  # a true sentence, if a dry one
    own = {line.strip() for entry in turn.entries for line in entry.hint.splitlines()} - results
    said = [line.strip() for line in answer.splitlines() if line.strip()]
    return bool(said) and all(len(line) >= SHORTEST_HINT and line in own for line in said)


def _wanted_language(answer: str, request: str) -> str:
    """Return the name of the request's language when the answer is surely in another, else "".
    A text that is to be written or translated may have any language."""
    if min(len(answer), len(request)) < FEWEST_LETTERS or "```" in answer:
        return ""
    if not read_message(request).lacks("text"):
        return ""
    asked, told = language_of(request), language_of(answer)
    return LANGUAGES[asked] if asked and told and asked != told else ""


def _only_todays_date(answer: str, turn: RunningTurn) -> str:
    """Return today's date as the answer writes it, when the model has it from the clock alone and
    nobody asked for it, else ""."""
    clock = _CLOCK.search(turn.user.context)
    if not clock:
        return ""
    today = date.fromisoformat(clock[1])
    pattern = re.compile(
        rf"(?<!\d){today.day}(?!\d)[^\d\n]{{1,20}}{today.year}"
        rf"|[^\W\d_]+ {today.day}(?:st|nd|rd|th)?,? {today.year}"
        rf"|{today.year}\D{{1,3}}{today.month:02}\D{{1,3}}{today.day:02}(?!\d)"
    )
    found = pattern.search(answer)
    if not found or read_message(turn.user.content).has("clock"):
        return ""
    return "" if any(pattern.search(text) for text in _read_texts(turn)) else found[0]


def _read_texts(turn: RunningTurn) -> Iterator[str]:
    """Yield what the model has read in this turn, without the line that tells the time."""
    yield turn.user.content
    yield turn.user.context.partition("Now: ")[2].partition("\n")[2]
    for entry in turn.entries:
        yield from (use.output for use in entry.tool_calls)
