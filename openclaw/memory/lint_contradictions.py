"""Checks of the memory: entries that contradict each other, and days without a date."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations

from openclaw.memory.corrections import corrects, subject_keys
from openclaw.memory.entries import strike_through
from openclaw.memory.lint_duplicates import (
    MAX_IN_GROUP,
    LintItem,
    items_of,
    may_be_one_thing,
    pair_finding,
    relation,
    stems,
)
from openclaw.memory.lint_findings import Document, Edit, LintFinding, alike, quote
from openclaw.nlp.date_patterns import find_relative_days, has_date
from openclaw.nlp.words import NEGATION, has_negation
from openclaw.types import ToolProblem

_NOT = re.compile(rf"(?:\b(?:do|does|did|is|are) ?)?(?:{NEGATION.pattern})(?: longer)?", re.I)
_OVER = re.compile(r"\b(?:over|more than|rather than|lieber als)\b", re.IGNORECASE)


def find_contradictions(
    documents: Sequence[Document], gone: Collection[tuple[str, int]]
) -> Iterator[LintFinding]:
    """Find entries that a newer one corrects. The newest one holds.

    Without days, or below different headings, both are shown and no edit is proposed. `gone` are
    places (path, line index) that are left out.
    """
    items = [i for i in items_of(documents) if (i.document.path, i.entry.at) not in gone]
    told: set[int] = set()
    # Exceptions say less, so they come last.
    for older, newer in sorted(_find_opposed(items), key=_is_exception):
        if older.order not in told:
            told.add(older.order)
            yield _contradiction_finding(older, newer)


def _find_opposed(items: Sequence[LintItem]) -> Iterator[tuple[LintItem, LintItem]]:
    """Find pairs (old, new) of items that cannot both be true; the newest first."""
    keys = (
        (key, number)
        for number, item in enumerate(items)
        for key in (*subject_keys(item.entry.text), *_opposite_keys(item.entry.text))
    )
    for group in alike(keys):
        newest = sorted((items[n] for n in group), key=lambda i: (i.date, i.order), reverse=True)
        for new, old in combinations(newest[:MAX_IN_GROUP], 2):
            if _are_of_one_time(new, old) and _disagree(new, old):
                yield old, new


def _are_of_one_time(one: LintItem, other: LintItem) -> bool:
    """Return True when two items speak of the same time.

    A day may be an exception from other days: its notes are compared with their own file and with
    lasting facts.
    """
    if not may_be_one_thing(one, other):
        return False
    if not _is_exception((one, other)):
        return True
    daily = one if one.document.kind == "daily" else other
    return daily.date >= max(one.date, other.date)


def _disagree(one: LintItem, other: LintItem) -> bool:
    left, right = one.entry.text, other.entry.text
    turned = {*_opposite_keys(left)} & {*_opposite_keys(right)}
    if any(key[0] == "not" for key in turned):
        return has_negation(left) != has_negation(right)
    if turned:
        return stems(left) != stems(right)
    return corrects(left, right)


def _is_exception(pair: tuple[LintItem, LintItem]) -> bool:
    return {item.document.kind for item in pair} == {"daily", "lasting"}


def _opposite_keys(text: str) -> Iterator[tuple[str, ...]]:
    """Yield keys that a fact shares with its opposite: "likes" and "does not like", "A over B" and
    "B over A"."""
    yield ("not", *stems(_NOT.sub(" ", text)))
    if _OVER.search(text):
        yield ("over", *sorted(stems(text)))


def _contradiction_finding(older: LintItem, newer: LintItem) -> LintFinding:
    on = f" on {newer.date}" if older.date and newer.date not in ("", older.date) else ""
    edits: list[Edit] = []
    advice = "if both mean the same thing, strike the one through that no longer holds"
    if _is_exception((older, newer)):
        advice = "if this is no exception: openclaw memory add --replaces PATH:LINE TEXT"
    elif _is_ordered(older, newer) and relation(older, newer) == "sure":
        edits = [*_strike_edits(older, newer.date)]
        advice = "the newer one holds; strike this one through" if edits else advice
    message = f"{newer.place} says otherwise{on}: {quote(newer.entry.text)}"
    return pair_finding("contradiction", older, newer, message, advice, edits)


def _is_ordered(older: LintItem, newer: LintItem) -> bool:
    """Return True when days tell which item is newer.

    Lines are in the order of time only where the later one has a day: a line that a person writes
    without a day may stand anywhere.
    """
    if older.date and newer.date:
        return older.date != newer.date or older.order < newer.order
    return bool(newer.date) and older.order < newer.order


def _strike_edits(item: LintItem, day: str) -> Iterator[Edit]:
    document, entry = item.document, item.entry
    try:
        new = strike_through(document.text, entry, day)
    except ToolProblem:
        return
    less = len(document.page.lines) - (entry.end - entry.at - 1)
    lines = Document(document.path, new).page.lines
    if len(lines) == less:
        yield Edit(document.path, entry.at, entry.end, lines[entry.at])


_QUOTES = re.compile(
    r"`[^`]{0,300}`|\"[^\"]{0,300}\"|\u201c[^\u201d]{0,300}\u201d|\u201e[^\u201c]{0,300}\u201c"
    r"|\u00ab[^\u00bb]{0,300}\u00bb|(?<!\w)'[^']{0,300}'(?!\w)|\]\([^)]{0,300}\)"
    r"|\[\[[^\]]{0,300}\]\]|https?://\S{1,500}"
)
_HABIT = re.compile(
    r"\b(?:every|each|always|never|usually|often|normally|sometimes|whenever|if|once"
    r"|jede[nrsm]?|immer|nie|meistens|oft|wenn|falls|chaque|toujours|jamais|cada|siempre|nunca)\b",
    re.IGNORECASE,
)
_DONE = re.compile(r"\[[xX]\]\s")


def find_relative_dates(document: Document) -> Iterator[LintFinding]:
    """Find entries that name a day relative to an unknown one ("tomorrow").

    The day is known when a comment, a heading, the file or the same entry has a date.
    """
    if document.day or document.kind in ("daily", "inbox"):
        return
    above: list[tuple[int, bool]] = []
    for entry in document.entries:
        while above and above[-1][0] >= entry.depth:
            above.pop()
        dated = document.date(entry) or has_date(entry.text)
        anchored = bool(dated or (above and above[-1][1]))
        above.append((entry.depth, anchored))
        if anchored or entry.superseded or _DONE.match(entry.text):
            continue
        if word := first_relative_date(entry.text):
            message = f'"{word}" of which day? Nothing here has a date'
            day = "due:2026-12-01" if document.kind == "todo" else "2026-12-01"
            advice = f"write the day, as {day}"
            yield document.finding("relative-date", entry.at, message, advice, last=entry.end)


def first_relative_date(text: str) -> str:
    """Return the first relative date of a text, "" for none.

    Quotations do not count, nor do habits ("always packs for tomorrow").
    """
    plain = _QUOTES.sub(lambda found: " " * len(found[0]), text)
    if _HABIT.search(plain):
        return ""
    for day in find_relative_days(plain):
        if day[0].islower() or " " in day or plain.startswith(day):  # no name: "USA Today"
            return day
    return ""
