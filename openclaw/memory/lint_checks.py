"""Checks of the memory: entries that say the same, and links that lead nowhere.

Entries are compared only within groups that share a key, so 2,000 of them take a fraction of a
second. The same line on two days is two events and no fault.
"""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Literal
from urllib.parse import unquote

from openclaw.frozen import frozen
from openclaw.memory import correction_words as w
from openclaw.memory.entries import MemoryEntry, Meta, format_entry, split_tail
from openclaw.memory.lint_findings import (
    LEVELS,
    Document,
    Edit,
    LintContext,
    LintFinding,
    alike,
    quote,
)
from openclaw.memory.markdown import is_same_statement, read_page, statement_stems
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


_UNREAD = re.compile(r"(`{1,5})(?:(?!\1).){1,300}?\1|<!--.*?(?:-->|$)")
"""Code and comments."""
_LINK = re.compile(
    r"!?\[[^\[\]]{0,300}\]\([ \t]*<?(?P<to>[^()\s<>]{1,300}(?:\([^()\s]*\))?[^()\s<>]{0,300})>?"
    r"(?:[ \t]+[\"'(][^\"')]*[\"')])?[ \t]*\)"
)
_DEFINED = re.compile(r"^[ ]{0,3}\[[^\]^]{1,100}\]:[ \t]*<?(?P<to>[^\s<>]{1,300})>?")
_WIKI = re.compile(r"(?<!\w)!?\[\[(?P<to>[^\[\]|\n]{1,200}?)(?:\\?\|[^\[\]\n]{0,200})?\]\]")
_SCHEME = re.compile(r"[A-Za-z][\w+.-]*:|//|\{|\$|~")
_LINES = re.compile(r"L\d+(?:-L?\d+)?")
_SLUG = re.compile(r"[^\w\- ]")
_CLOSE = 0.75


@frozen
class _Link:
    at: int
    target: str
    wiki: bool
    start: int


class LinkChecker:
    def __init__(self, documents: Sequence[Document], around: LintContext) -> None:
        self._around = around
        self._documents = {document.path: document for document in documents}
        self._anchors: dict[str, set[str]] = {}

    @cached_property
    def _files(self) -> list[str]:
        return sorted({*self._around.files(), *self._documents})

    @cached_property
    def _by_name(self) -> dict[str, str]:
        """The files by each name that a wiki link may use."""
        named: dict[str, str] = {}
        for path in reversed(self._files):
            bare = path.casefold()
            while bare:
                named[bare] = path
                named[bare.removesuffix(".md")] = path
                bare = bare.partition("/")[2]
        return named

    def find_dead(self, document: Document) -> Iterator[LintFinding]:
        """Find the links of a document that lead nowhere."""
        struck = {at for e in document.entries if e.superseded for at in range(e.at, e.end)}
        for link in _find_links(document):
            if link.at in struck:
                continue
            path, anchor = self._target(document, link)
            if path is None:
                yield self._no_file(document, link)
            elif anchor and path.endswith(".md") and not self._has_anchor(path, anchor):
                yield self._no_heading(document, link, path, anchor)

    def _target(self, document: Document, link: _Link) -> tuple[str | None, str]:
        """Return the path (None: no file, "": not checked) and the anchor that a link leads to."""
        name, _, anchor = link.target.partition("#")
        name, anchor = unquote(name.partition("?")[0]).strip(), unquote(anchor).strip()
        if not name:
            return document.path, anchor
        if link.wiki:
            return self._by_name.get(name.casefold().removeprefix("./")), anchor
        folder = "" if name.startswith("/") else posixpath.dirname(document.path)
        path = posixpath.normpath(posixpath.join(folder, name.lstrip("/")))
        if path.startswith(".."):
            return "", ""
        return (path if path in self._documents or self._around.exists(path) else None), anchor

    def _has_anchor(self, path: str, anchor: str) -> bool:
        if _LINES.fullmatch(anchor):
            return True
        last = anchor.rpartition("#")[2].strip()
        first = re.sub(r"-\d+$", "", last)  # GitHub numbers headings of one name
        return not self._anchors_of(path).isdisjoint((last.casefold(), _slug(last), _slug(first)))

    def _anchors_of(self, path: str) -> set[str]:
        """Return the names that an anchor may use in a file: headings, their slugs, blocks."""
        if path not in self._anchors:
            known = self._documents.get(path)
            text = known.text if known else self._around.read(path)
            page = known.page if known else read_page(text)
            headings = [section.name for section in page.sections]
            blocks = re.findall(r"\s(\^[A-Za-z0-9-]+)[ \t]*$", text, re.MULTILINE)
            ids = re.findall(r"\b(?:id|name)=[\"']([^\"']+)", text)
            names = map(str.casefold, (*headings, *blocks, *ids))
            self._anchors[path] = {*names, *map(_slug, headings)}
        return self._anchors[path]

    def _no_file(self, document: Document, link: _Link) -> LintFinding:
        name, mark, anchor = link.target.partition("#")
        found = self._closest_file(name)
        new = _link_to(document, link, found) + mark + anchor if found else ""
        return self._finding(document, link, "leads to no file", new)

    def _no_heading(self, document: Document, link: _Link, path: str, anchor: str) -> LintFinding:
        names = [name for name in self._anchors_of(path) if link.wiki or " " not in name]
        wanted = anchor.casefold() if link.wiki else _slug(anchor)
        close = difflib.get_close_matches(wanted, names, n=1, cutoff=_CLOSE)
        new = link.target.partition("#")[0] + "#" + close[0] if close else ""
        return self._finding(document, link, f"has no such heading in {path}", new)

    def _closest_file(self, name: str) -> str:
        """Return the one file that a wrong name means, "" when that is not sure."""
        wanted = unquote(name).rpartition("/")[2].casefold()
        wanted = wanted if "." in wanted else f"{wanted}.md"
        names: dict[str, list[str]] = {}
        for path in self._files:
            names.setdefault(path.rpartition("/")[2].casefold(), []).append(path)
        found = [*names.get(wanted, ())]
        if not found and not re.search(r"\d", wanted):
            close = difflib.get_close_matches(wanted, names, n=2, cutoff=_CLOSE)
            found = names[close[0]] if len(close) == 1 else []
        return found[0] if len(found) == 1 else ""

    def _finding(self, document: Document, link: _Link, what: str, new: str) -> LintFinding:
        line = document.page.lines[link.at].rstrip("\r\n")
        edit = line[: link.start] + new + line[link.start + len(link.target) :] if new else None
        advice = f"write {new}" if new else "fix the link, or remove it"
        return document.finding(
            "dead-link", link.at, f"{quote(link.target)} {what}", advice, edit=edit
        )


def _find_links(document: Document) -> Iterator[_Link]:
    """Find the links into the home, outside of code and comments."""
    if "[" not in document.text:
        return
    for at, line in enumerate(document.page.lines):
        if "[" not in line or at in document.page.opaque:
            continue
        plain = _UNREAD.sub(lambda found: " " * len(found[0]), line)
        for pattern in (_LINK, _WIKI, _DEFINED):
            for found in pattern.finditer(plain):
                if not _SCHEME.match(found["to"]):
                    yield _Link(at, found["to"], pattern is _WIKI, found.start("to"))


def _link_to(document: Document, link: _Link, path: str) -> str:
    """Return how a link of this kind names a file."""
    if link.wiki:
        return path.rpartition("/")[2].removesuffix(".md")
    return posixpath.relpath(path, posixpath.dirname(document.path))


def _slug(heading: str) -> str:
    """Return the anchor that GitHub gives to a heading."""
    return _SLUG.sub("", heading.strip().casefold()).replace(" ", "-")
