"""Checks of the memory: entries that say the same.

Entries are compared only within groups that share a key, so 2,000 of them take a fraction of a
second. The same line on two days is two events and no fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Literal

from openclaw.frozen import frozen
from openclaw.memory import correction_words as w
from openclaw.memory.entries import MemoryEntry, Meta, format_entry, split_tail
from openclaw.memory.lint_findings import LEVELS, Document, Edit, LintFinding, alike, quote
from openclaw.memory.markdown import is_same_statement, statement_stems
from openclaw.memory.notes import DAILY
from openclaw.memory.pages import gathered_lines

MAX_IN_GROUP = 60
"""Largest group of items that is compared. A larger group shares a form, not a subject."""
_COMPARED_MOST = 40
"""Most words of an entry that is compared word by word. Longer entries are compared whole."""


def find_duplicates(documents: Sequence[Document]) -> Iterator[LintFinding]:
    """Find entries that repeat another one.

    The better entry stays: the lasting one, the one with a date, the older one. It keeps the days
    of those that go. Entries below different headings, or with a letter that differs, are only
    shown.
    """
    items = [item for item in items_of(documents) if stems(item.entry.text)]
    gone: set[int] = set()
    extra: dict[int, list[LintItem]] = {}
    for one, other, sure in _find_pairs(items):
        keep, drop = sorted((items[one], items[other]), key=_sort_key)
        if drop.order in gone or keep.order in gone:
            continue
        gone.add(drop.order)
        message = f"says what {keep.place} says: {quote(keep.entry.text)}"
        advice, edits = "if both mean the same, take one out", list[Edit]()
        if sure and relation(keep, drop) == "sure":
            extra.setdefault(keep.order, []).append(drop)
            removal = Edit(drop.document.path, drop.entry.at, drop.entry.end, "")
            edits = [removal, *_date_edits(keep, extra[keep.order])]
            advice = "keep the other one, with the day of this one"
        yield pair_finding("duplicate", drop, keep, message, advice, edits)


def _find_pairs(items: Sequence[LintItem]) -> Iterator[tuple[int, int, bool]]:
    """Find the pairs of items that say the same, with True when no word of them differs. Each pair
    comes once, the surest first."""
    texts = [(stems(item.entry.text), number) for number, item in enumerate(items)]
    but_one = (
        ((str(len(words)), *words[:at], "", *words[at + 1 :]), number)
        for words, number in texts
        if len(words) <= _COMPARED_MOST
        for at in range(len(words))
    )
    told = set()
    for sure, groups in ((True, alike(texts)), (False, alike(but_one))):
        for group in groups:
            for pair in combinations(group[:MAX_IN_GROUP], 2):
                one, other = items[pair[0]], items[pair[1]]
                if pair in told or not may_be_one_thing(one, other):
                    continue
                if sure or is_same_statement(one.entry.text, other.entry.text):
                    told.add(pair)
                    yield *pair, sure


def may_be_one_thing(one: LintItem, other: LintItem) -> bool:
    """Return False for two days, whose events differ, and for "likes tea" below two names."""
    days = {one.document.kind, other.document.kind} == {"daily"}
    if days and one.document.path != other.document.path:
        return False
    return relation(one, other) != "none"


def _sort_key(item: LintItem) -> tuple[bool, bool, str, int]:
    """Sort the better item first."""
    return item.document.kind == "daily", not item.date, item.date, item.order


def pair_finding(
    check: str, item: LintItem, other: LintItem, message: str, advice: str, edits: Iterable[Edit]
) -> LintFinding:
    """Make a finding about an entry, compared with another one: only advice about one elsewhere."""
    level = LEVELS[check] if share_heading(item, other) else "advice"
    there, entry = (other.document.path, other.entry.at + 1), item.entry
    path, edited = item.document.path, tuple(edits)
    return LintFinding(check, level, path, entry.at + 1, message, advice, entry.end, there, edited)


def _date_edits(keep: LintItem, dropped: Sequence[LintItem]) -> Iterator[Edit]:
    """Edit the entry that stays, so that it names the other days on which it was noted."""
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
    line = format_entry(body.rstrip(), Meta(meta.category, date, source, meta.importance))
    yield Edit(document.path, entry.at, entry.end, line + raw[len(raw.rstrip("\r\n")) :])


Relation = Literal["none", "shown", "sure"]
"""Two entries are not about one thing; perhaps (only shown); surely (code may change them)."""

_WORD = re.compile(r"\w+[+#]*")
_USER = frozenset(
    "i we ich wir je nous yo user my our mine mein meine unser unsere mon ma mes notre mi mis"
    " nuestro".split()
)
_PRONOUNS = frozenset(
    "he she it they him his her hers its them their theirs this these those er sie es sein seine"
    " ihr ihre il elle ils elles son sa ses leur su sus \u00e9l ella".split()
)
_TOPICS = frozenset(
    "memory memories notes note me myself user about work job office home house household flat"
    " family people friends contacts health food money finances travel trips preferences likes"
    " habits facts misc miscellaneous other others general projects places things tech computer"
    " hobbies sport school shopping log diary inbox agenda arbeit zuhause haus familie leute"
    " freunde gesundheit essen geld reisen notizen sonstiges allgemein".split()
)
_LINKING = frozenset("and und et y of the & my mein".split())
_ISO_DAY = re.compile(r"\d{4}-\d{2}(?:-\d{2})?")


@frozen
class LintItem:
    """An entry of a document.

    scope: index of the line (heading or plain text) that the entry stands below
    topical: all names above it are topics ("Work"); none can be a person's
    """

    document: Document
    entry: MemoryEntry
    date: str
    order: int
    scope: int
    topical: bool

    @property
    def place(self) -> str:
        return f"{self.document.path}:{self.entry.at + 1}"


def items_of(documents: Sequence[Document]) -> Iterator[LintItem]:
    """Yield the entries to compare: those that still hold, in files that are memory already."""
    order = 0
    for document in documents:
        if document.kind in ("todo", "inbox"):
            continue
        scopes, gathered = _scopes(document), gathered_lines(document.text)
        for entry in document.entries:
            order += 1
            nested = entry.depth or entry.below > entry.end
            if not (entry.superseded or nested or entry.at in gathered):
                yield LintItem(document, entry, document.date(entry), order, *scopes[entry.at])


def relation(one: LintItem, other: LintItem) -> Relation:
    """Tell whether two entries are about one thing.

    Below the same heading they are, unless one begins with "he" or "her". Elsewhere they are at
    most shown: when both are about the user, or one stands below topics only.
    """
    led = any(words_of(item)[0] in _PRONOUNS for item in (one, other))
    if share_heading(one, other):
        return "shown" if led else "sure"
    of_user = _is_of_user(one) and _is_of_user(other)
    return "shown" if not led and (of_user or one.topical or other.topical) else "none"


def share_heading(one: LintItem, other: LintItem) -> bool:
    """Return True when two entries stand below the same heading of one file."""
    return one.document is other.document and one.scope == other.scope


@lru_cache(maxsize=8192)
def stems(text: str) -> tuple[str, ...]:
    """Return the stems of a text's words in one wording, without small words."""
    for pattern, by in w.PHRASES:
        text = pattern.sub(by, text)
    return statement_stems(text)


def words_of(item: LintItem) -> list[str]:
    return [word.casefold() for word in _WORD.findall(item.entry.text)] or [""]


# ---- where they stand


def _scopes(document: Document) -> list[tuple[int, bool]]:
    """Return the scope and `topical` of each line, as `LintItem` explains them."""
    page = document.page
    listed = {at for entry in document.entries for at in range(entry.at, entry.below)}
    listed.update(section.start for section in page.sections if section.level)
    found: list[tuple[int, bool]] = []
    above: list[tuple[int, bool]] = [(0, _is_topic(document.name.removesuffix(".md")))]
    for section in page.sections:
        while section.level and above[-1][0] >= section.level:
            above.pop()
        if section.level:
            above.append((section.level, _is_topic(section.name)))
        topical, scope = all(is_topic for _, is_topic in above), section.start
        for at in range(section.start, section.end):
            if at not in listed and at not in page.opaque and page.lines[at].strip():
                topical, scope = topical and not section.level, at
            found.append((scope, topical))
    return found + [(0, False)] * (len(page.lines) - len(found))


def _is_topic(name: str) -> bool:
    if _ISO_DAY.search(name) or DAILY.fullmatch(f"{name}.md") or name == "Odds and ends":
        return True
    words = {word.casefold() for word in _WORD.findall(name)} - _LINKING
    return bool(words) and words <= _TOPICS


def _is_of_user(item: LintItem) -> bool:
    words = words_of(item)
    return not _USER.isdisjoint(words) and _PRONOUNS.isdisjoint(words)
