"""Searches what was said, archive included: content of messages, and inputs and outputs of tools.

Ranked as BM25 ranks (Robertson and Zaragoza 2009: rarity of words times how well a text has them,
long texts a little behind), over passages of some lines, so that a long result counts by the place
that is about the words and not by its length. There is no index: a file is read when it is come to,
and texts without a word of the search are passed over by substring.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from openclaw.sessions.listing import SNIPPET_LENGTH, SessionHit, seconds
from openclaw.sessions.session import Session
from openclaw.sessions.snippet import around, pieces
from openclaw.sessions.terms import HALF, Term, fold, terms
from openclaw.shapes import Entry

Talk = tuple[Session, Iterable[tuple[int, Entry]]]
"""A session and its messages, each with its number in the whole conversation."""

COPIES = frozenset({"search_sessions"})
"""Tools whose results are what this search has found."""
SMALL_WEIGHT = 0.1
LENGTH_SHARE, USUAL_LENGTH = 0.25, 300
QUESTION_WEIGHT = 0.85
EQUALS = 0.1
"""Scores within this share of the best one are equal: then the newer comes first."""
REPLY_LENGTH = 160
MOST_PARTIAL = 20


@dataclass(slots=True)
class _Found:
    """A message with words of the search: its passages with what they are worth by term, which
    terms it holds, whether it is in the archive, and the beginning of what was answered."""

    session: Session
    number: int
    entry: Entry
    passages: list[tuple[str, str, tuple[float, ...]]]
    within: tuple[bool, ...]
    archived: bool = False
    reply: str = ""
    score: float = 0.0
    best: tuple[str, str, tuple[float, ...]] = field(default=("", "", ()))


def search(
    talks: Iterable[Talk],
    words: str,
    length: int = SNIPPET_LENGTH,
    *,
    first: str = "",
    any_word: bool = False,
    most: int | None = None,
) -> list[SessionHit]:
    """Messages about the words, the best first; among equals those of the session `first`, then
    the newer ones. Passages that hold all words come before all others.

    A message has all words, or at least half of those that tell something, or the rarest one; with
    `any_word` any of them. `length` is that of a snippet, in characters: one that may be longer
    than a usual line shows its neighbours. With `most` only so many.
    """
    wanted = terms(words)
    if not wanted:
        return []
    total, found = 0, []
    for session, messages in talks:
        asked: _Found | None = None
        archived = session.archived
        for number, entry in messages:
            total += 1
            if asked is not None and entry.role == "assistant" and entry.content.strip():
                asked.reply, asked = entry.content, None
            hit = _look(session, number, entry, wanted)
            if entry.role == "user":
                asked = hit
            if hit is not None:
                hit.archived = number <= archived
                found.append(hit)
    rarity = _rarity(found, wanted, total)
    found = [each for each in found if any_word or _counts(each, wanted, rarity)]
    ranked = _ranked(found, wanted, rarity, first)
    return [_hit(each, wanted, length) for each in ranked[:most]]


def exact_first(hits: list[SessionHit]) -> list[SessionHit]:
    """Only the messages that hold all words, the newest first, where there are any; else some of
    the best."""
    exact = [hit for hit in hits if not hit.missing]
    if not exact:
        return hits[:MOST_PARTIAL]
    return sorted(exact, key=lambda hit: (seconds(hit.at), hit.id, hit.number), reverse=True)


def _look(session: Session, number: int, entry: Entry, wanted: list[Term]) -> _Found | None:
    """A message's passages with words of the search, None without any."""
    passages: list[tuple[str, str, tuple[float, ...]]] = []
    within = [False] * len(wanted)
    for tool, text in _texts(entry):
        folded = fold(text)
        if not any(term.maybe(folded) for term in wanted if not term.small):
            if any(term.small for term in wanted):
                within = _or(within, wanted, folded)
            continue
        within = _or(within, wanted, folded)
        for piece in pieces(text):
            part = folded if len(piece) == len(text) else fold(piece)
            values = tuple(term.worth(part) if term.maybe(part) else 0.0 for term in wanted)
            if any(value and not term.small for value, term in zip(values, wanted, strict=True)):
                passages.append((tool, piece, values))
    return _Found(session, number, entry, passages, tuple(within)) if passages else None


def _or(within: list[bool], wanted: list[Term], folded: str) -> list[bool]:
    return [known or term.within(folded) for known, term in zip(within, wanted, strict=True)]


def _texts(entry: Entry) -> Iterator[tuple[str, str]]:
    """What a message is searched for: a tool's name ("" for what was said) and a text."""
    if entry.content:
        yield "", entry.content
    for use in entry.tool_calls:
        if use.tool not in COPIES:
            yield use.tool, "\n".join((*_lines(use.input), use.output))


def _lines(value: Mapping[str, Any]) -> Iterator[str]:
    for name, each in value.items():
        yield f"{name}: {each if isinstance(each, str) else _plain(each)}"


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _ranked(
    found: list[_Found], wanted: list[Term], rarity: list[float], first: str
) -> list[_Found]:
    for each in found:
        _judge(each, rarity)
    best = max((each.score for each in found), default=1.0) or 1.0

    def place(each: _Found) -> tuple[bool, int, bool, float, str, int]:
        step = int(each.score / best / EQUALS + 0.5)
        here = each.session.id == first
        return _whole(each, wanted), step, here, _time(each), each.session.id, each.number

    return sorted(found, key=place, reverse=True)


def _rarity(found: list[_Found], wanted: list[Term], total: int) -> list[float]:
    """The inverse document frequency of each term over messages, small ones far behind; 0.0 for
    one that no message has."""
    rarity = []
    for index, term in enumerate(wanted):
        count = sum(any(values[index] for _, _, values in each.passages) for each in found)
        weight = math.log(1 + (total - count + 0.5) / (count + 0.5)) if count else 0.0
        rarity.append(weight * (SMALL_WEIGHT if term.small else 1.0))
    return rarity


def _judge(each: _Found, rarity: list[float]) -> None:
    for passage in each.passages:
        _, text, values = passage
        weight = sum(value * rare for value, rare in zip(values, rarity, strict=True))
        score = weight / (1 - LENGTH_SHARE + LENGTH_SHARE * len(text) / USUAL_LENGTH)
        if score > each.score:
            each.score, each.best = score, passage
    if each.entry.role == "user" and each.entry.content.rstrip().endswith("?"):
        each.score *= QUESTION_WEIGHT


def _whole(each: _Found, wanted: list[Term]) -> bool:
    """Whether one passage holds all words: those of a long result may be about other things."""
    values = each.best[2]
    return all(value or term.small for value, term in zip(values, wanted, strict=True))


def _counts(each: _Found, wanted: list[Term], rarity: list[float]) -> bool:
    """Whether a message has enough of the words: all, half of those that tell something, or the
    rarest of those that occur at all."""
    if all(each.within):
        return True
    telling = [index for index, term in enumerate(wanted) if not term.small]
    have = [index for index in telling if any(v[index] >= HALF for _, _, v in each.passages)]
    rarest = max((rarity[index] for index in telling), default=0.0)
    return bool(have) and (
        2 * len(have) >= len(telling) or max(rarity[index] for index in have) == rarest
    )


def _hit(each: _Found, wanted: list[Term], length: int) -> SessionHit:
    tool, text, _ = each.best
    session, entry = each.session, each.entry
    missing = tuple(term.word for term, held in zip(wanted, each.within, strict=True) if not held)
    forms = [form for term in wanted if not term.small for form, _ in term.forms]
    forms = forms or [form for term in wanted for form, _ in term.forms]
    hit = SessionHit(
        session.id,
        session.title,
        entry.at or session.updated_at,
        "tool" if tool else entry.role,
        each.number,
        around(text, forms, length),
        tool,
        missing,
        each.archived,
    )
    reply = " ".join(each.reply[: 2 * REPLY_LENGTH].split())[:REPLY_LENGTH]
    return replace(hit, reply=reply) if hit.role == "user" else hit


def _time(each: _Found) -> float:
    return seconds(each.entry.at or each.session.updated_at)
