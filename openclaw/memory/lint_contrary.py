"""Finds entries that say otherwise of the same thing."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations

from openclaw.memory.corrections import corrects, subjects
from openclaw.memory.entryedit import struck
from openclaw.memory.lint import LEVELS, Document, Edit, Finding, Places, quoted
from openclaw.memory.lint_items import Item, beside, items_of, relation, stems
from openclaw.memory.lint_same import MOST_IN_GROUP
from openclaw.shapes import ToolProblem

_NOT = re.compile(
    r"\b(?:do not|does not|did not|don't|doesn't|is not|isn't|are not|aren't|cannot|can't|no longer"
    r"|not|never|nicht|kein\w*|nie|ne|pas|no)\b",
    re.IGNORECASE,
)
_OVER = re.compile(r"\b(?:over|more than|rather than|lieber als)\b", re.IGNORECASE)


def contradictions(
    documents: Sequence[Document], gone: Collection[tuple[str, int]] = ()
) -> Iterator[Finding]:
    """Entries that a newer one corrects. The newest holds; without days to go by, or below other
    headings, both are shown and nothing is proposed. `gone` are places (path, index of the line)
    that are not looked at."""
    items = [i for i in items_of(documents) if (i.document.path, i.entry.at) not in gone]
    told: set[int] = set()
    pairs = [(items[one], items[other]) for one, other in _opposed(items)]
    for pair in sorted(pairs, key=_is_exception):  # what may be one says less than what is none
        older, newer = sorted(pair, key=lambda i: (i.date, i.order))
        if older.order in told:
            continue
        told.add(older.order)
        yield _contradiction(older, newer)


def _opposed(items: Sequence[Item]) -> Iterator[tuple[int, int]]:
    """Pairs of items that cannot both be true; for each the newest first."""
    places = Places()
    for number, item in enumerate(items):
        for key in (*subjects(item.entry.text), *_turned(item.entry.text)):
            places.add(key, number)
    for group in places.groups():
        newest = sorted(group, key=lambda n: (items[n].date, n), reverse=True)[:MOST_IN_GROUP]
        for new, old in combinations(newest, 2):
            if _of_one_time(items[new], items[old]) and _disagree(items[new], items[old]):
                yield old, new


def _of_one_time(one: Item, other: Item) -> bool:
    """A day may be an exception from other days: its notes are compared with their own file and
    with what is said to hold."""
    both = {one.document.kind, other.document.kind}
    if both == {"daily"} and one.document.path != other.document.path:
        return False
    if relation(one, other) == "none":
        return False
    if both == {"daily", "lasting"}:
        daily = one if one.document.kind == "daily" else other
        return daily.date >= max(one.date, other.date)
    return True


def _disagree(one: Item, other: Item) -> bool:
    left, right = one.entry.text, other.entry.text
    turned = {*_turned(left)} & {*_turned(right)}
    if any(key[0] == "not" for key in turned):
        return bool(_NOT.search(left)) != bool(_NOT.search(right))
    if turned:
        return stems(left) != stems(right)
    return corrects(left, right)


def _is_exception(pair: tuple[Item, Item]) -> bool:
    return {item.document.kind for item in pair} == {"daily", "lasting"}


def _turned(text: str) -> Iterator[tuple[str, ...]]:
    """Keys that a fact shares with its opposite: "likes" and "does not like", "A over B" and "B
    over A"."""
    yield ("not", *stems(_NOT.sub(" ", text)))
    if _OVER.search(text):
        yield ("over", *sorted(stems(text)))


def _contradiction(older: Item, newer: Item) -> Finding:
    said = quoted(newer.entry.text)
    known = bool(older.date and newer.date and older.date != newer.date)
    exception = _is_exception((older, newer))
    edits: tuple[Edit, ...] = ()
    advice = "if both mean the same thing, strike the one through that no longer holds"
    if exception:
        advice = "if this is no exception: openclaw memory add --replaces PATH:LINE TEXT"
    elif _is_ordered(older, newer) and relation(older, newer) == "sure":
        edits = tuple(_struck(older, newer.date))
        advice = "the newer one holds; strike this one through" if edits else advice
    shown = exception or not beside(older, newer)
    return Finding(
        "contradiction",
        "advice" if shown else LEVELS["contradiction"],
        older.document.path,
        older.entry.at + 1,
        f"{newer.place} says otherwise{f' on {newer.date}' if known else ''}: {said}",
        advice,
        older.entry.end,
        (newer.document.path, newer.entry.at + 1),
        edits,
    )


def _is_ordered(older: Item, newer: Item) -> bool:
    """Whether days tell which is newer. Lines are in the order of time only where the later one has
    a day: what a person writes without one may stand anywhere."""
    if older.date and newer.date:
        return older.date != newer.date or older.order < newer.order
    return bool(newer.date) and older.order < newer.order


def _struck(item: Item, day: str) -> Iterator[Edit]:
    document, entry = item.document, item.entry
    try:
        new = struck(document.text, entry, day)
    except ToolProblem:
        return
    less = len(document.page.lines) - (entry.end - entry.at - 1)
    lines = Document(document.path, new).page.lines
    if len(lines) == less:
        yield Edit(document.path, entry.at, entry.end, lines[entry.at])
