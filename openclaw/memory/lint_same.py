"""Finds entries that say the same.

Entries are compared only within groups that share a key, so 2,000 of them take a fraction of a
second. The same line on two days is two events and no fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from openclaw.memory.entries import Meta, split_tail, written
from openclaw.memory.lint import LEVELS, Document, Edit, Finding, Places, quoted
from openclaw.memory.lint_items import (
    PREPOSITIONS,
    Item,
    beside,
    items_of,
    relation,
    stems,
    words_of,
)
from openclaw.memory.similar import same

MOST_IN_GROUP = 60
"""Items of one key that are compared with each other; more of them are a form, not a subject."""
_ORDERED = re.compile(
    r"\d|\b(?:over|than|before|after|from|to|by|not|never|no|und|vor|nach)\b", re.IGNORECASE
)
_NAME = re.compile(r"(?<=\s)[^\W\d_a-z]\w+")
_REORDERED_LEAST = 4
_ROTATED_LEAST = 5
_COMPARED_MOST = 40
"""Words of an entry that is compared word by word; longer ones only as they stand."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """The numbers of two items that say the same; `sure` when no word of them differs."""

    one: int
    other: int
    sure: bool


def duplicates(documents: Sequence[Document]) -> Iterator[Finding]:
    """Entries that say what another one says. The better one stays: the lasting one, the one with a
    date, the older one. It keeps the days of those that go. What stands below different headings,
    or differs in a letter, is shown only."""
    items = [item for item in items_of(documents) if stems(item.entry.text)]
    gone: set[int] = set()
    extra: dict[int, list[Item]] = {}
    for pair in _alike(items):
        keep, drop = sorted((items[pair.one], items[pair.other]), key=_worth)
        if drop.order in gone or keep.order in gone:
            continue
        gone.add(drop.order)
        edits: tuple[Edit, ...] = ()
        if pair.sure and relation(keep, drop) == "sure":
            extra.setdefault(keep.order, []).append(drop)
            edits = (_removed(drop), *_dated(keep, extra[keep.order]))
        yield _duplicate(keep, drop, edits)


def _alike(items: Sequence[Item]) -> Iterator[_Pair]:
    """Pairs of items that say the same, each once, the surest first."""
    exact, moved, near = Places(), Places(), Places()
    for number, item in enumerate(items):
        words = stems(item.entry.text)
        exact.add(words, number)
        if len(words) > _COMPARED_MOST:
            continue
        if len(words) >= _REORDERED_LEAST:
            moved.add(tuple(sorted(words)), number)
        for at in range(len(words)):
            near.add((str(len(words)), *words[:at], "", *words[at + 1 :]), number)
    told = set()
    for places in (exact, moved, near):
        for group in places.groups():
            for pair in combinations(group[:MOST_IN_GROUP], 2):
                one, other = items[pair[0]], items[pair[1]]
                if pair in told or not _comparable(one, other):
                    continue
                if places is exact or (_reordered if places is moved else _near)(one, other):
                    told.add(pair)
                    yield _Pair(*pair, places is not near)


def _comparable(one: Item, other: Item) -> bool:
    """False for days that tell of different events, and for "likes tea" below two names."""
    days = {one.document.kind, other.document.kind} == {"daily"}
    if days and one.document.path != other.document.path:
        return False
    return relation(one, other) != "none"


def _near(one: Item, other: Item) -> bool:
    return same(one.entry.text, other.entry.text)


def _reordered(one: Item, other: Item) -> bool:
    """The same for "behind the meter box hangs the key" and "the key hangs behind the meter box":
    what begins with a preposition has moved to the end, and the rest may have turned. Where order
    can matter (numbers, comparisons, two names) only whole sentences turn."""
    left, right = stems(one.entry.text), stems(other.entry.text)
    if len(left) >= _ROTATED_LEAST and _turns(left, right):
        return True
    both = one.entry.text, other.entry.text
    names = {name.casefold() for text in both for name in _NAME.findall(text)}
    if len(names) > 1 or any(map(_ORDERED.search, both)):
        return False
    fronted = [words_of(item)[0] in PREPOSITIONS for item in (one, other)]
    return (fronted[0] and _fronted(left, right)) or (fronted[1] and _fronted(right, left))


def _fronted(left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether what begins `left` ends `right`, and the rest is turned."""
    return any(
        left[:at] == right[-at:] and _turns(left[at:], right[:-at])
        for at in range(1, len(left) - 1)
    )


def _turns(left: Sequence[str], right: Sequence[str]) -> bool:
    return any((*left[at:], *left[:at]) == (*right,) for at in range(len(left)))


def _worth(item: Item) -> tuple[bool, bool, str, int]:
    """What sorts the better one first."""
    return item.document.kind == "daily", not item.date, item.date, item.order


def _duplicate(keep: Item, drop: Item, edits: tuple[Edit, ...]) -> Finding:
    message = f"says what {keep.place} says: {quoted(keep.entry.text)}"
    advice = "keep the other one, with the day of this one"
    return Finding(
        "duplicate",
        LEVELS["duplicate"] if beside(keep, drop) else "advice",
        drop.document.path,
        drop.entry.at + 1,
        message,
        advice if edits else "if both mean the same, take one out",
        drop.entry.end,
        (keep.document.path, keep.entry.at + 1),
        edits,
    )


def _removed(item: Item) -> Edit:
    return Edit(item.document.path, item.entry.at, item.entry.end, "")


def _dated(keep: Item, dropped: Sequence[Item]) -> Iterator[Edit]:
    """What the survivor's lines become, to say on which other days it was noted."""
    days = dict.fromkeys(item.date for item in dropped if item.date and item.date != keep.date)
    meta, entry, document = keep.entry.meta, keep.entry, keep.document
    if not days:
        return
    date, more = meta.date or keep.date, [*days]
    if not date:
        date, *more = sorted(days)
    again = [f"again {day}" for day in more if day not in meta.source]
    source = ", ".join(filter(None, [meta.source, *again]))
    raw = document.raw(entry)
    body, tail = split_tail(raw.rstrip())
    if entry.end - entry.at > 1 or tail.count("<!--") > 1 or (tail.strip() and meta == Meta()):
        return
    line = written(body.rstrip(), Meta(meta.category, date, source, meta.importance))
    yield Edit(document.path, entry.at, entry.end, line + raw[len(raw.rstrip("\r\n")) :])
