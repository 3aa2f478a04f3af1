"""What `lint_same` and `lint_contrary` compare: entries, where they stand, and whether two of them
speak of the same thing.

"Lives in Oslo" says nothing of whom: the heading or the file does. So what stands below another
heading is compared only when it names its subject itself, and never changed by code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from openclaw.memory import wording as w
from openclaw.memory.entries import Entry
from openclaw.memory.lint import Document
from openclaw.memory.reading import DAILY

Relation = Literal["none", "shown", "sure"]
"""Not of one thing; perhaps, so only shown; surely, so code may change them."""

_WORD = re.compile(r"\w+[+#]*")
_SMALL = frozenset(
    "a an the is are be to of in on at for my our your s really very quite also just please note"
    " that actually currently now still".split()
)
_FIRST_PERSON = frozenset("i we ich wir je nous yo user".split())
_OWN = frozenset("my our mine mein meine unser unsere mon ma mes notre mi mis nuestro".split())
_LEADING = frozenset(
    "he she it they his her hers its their theirs this these those er sie es sein seine ihr ihre"
    " il elle ils elles son sa ses leur su sus \u00e9l ella".split()
)
_OTHERS = frozenset("he him his she her hers they them their theirs".split())
_DETERMINER = frozenset(
    "the a an this that der die das ein eine le la les un une el los las".split()
)
PREPOSITIONS = frozenset(
    "in on at behind under above near below beside inside outside before after during between since"
    " with without within until every each".split()
)
_VERBS = frozenset(
    "was were has had does do did can cannot will would should must likes loves hates prefers wants"
    " needs knows sings plays eats drinks collects owes comes goes runs keeps holds sits stands"
    " hangs lies".split()
)
_LABEL = re.compile(r"(?P<name>[^.!?:=]{1,40})[:=]\s")
_RUN_VERB = re.compile(r"[a-z]\w*(?:s|ed)")
_TOPICS = frozenset(
    "memory memories notes note me myself user about work job office home house household flat"
    " family people friends contacts health food money finances travel trips preferences likes"
    " habits facts misc miscellaneous other others general projects places things tech computer"
    " hobbies sport school shopping log diary inbox agenda arbeit zuhause haus familie leute"
    " freunde gesundheit essen geld reisen notizen sonstiges allgemein".split()
)
_LINKING = frozenset("and und et y of the & my mein".split())
_ISO_DAY = re.compile(r"\d{4}-\d{2}(?:-\d{2})?")
_ATTRIBUTES = w.NAMED | w.PLAIN | w.WORDY
_LONG = 6


@dataclass(frozen=True, slots=True)
class Item:
    """An entry. `scope` is the line of the heading, or of the plain text, that it stands below;
    `topical` whether all names above it are of topics ("Work") and none can be a person's."""

    document: Document
    entry: Entry
    date: str
    order: int
    scope: int
    topical: bool

    @property
    def place(self) -> str:
        return f"{self.document.path}:{self.entry.at + 1}"


def items_of(documents: Sequence[Document]) -> Iterator[Item]:
    """What is compared: what holds, in files that are memory already."""
    order = 0
    for document in documents:
        if document.kind in ("todo", "inbox"):
            continue
        scopes = _scopes(document)
        for entry in document.entries:
            order += 1
            if not (entry.superseded or entry.depth or entry.below > entry.end):
                yield Item(document, entry, document.date(entry), order, *scopes[entry.at])


def relation(one: Item, other: Item) -> Relation:
    """Whether two entries speak of one thing. Below the same heading they do, unless they begin
    with "he" or "her"; else both must name their subject, and are at most shown."""
    if beside(one, other):
        led = any(words_of(item)[0] in _LEADING for item in (one, other))
        return "shown" if led else "sure"
    if all(_names_subject(item.entry.text) for item in (one, other)):
        return "shown"
    known = one.topical + other.topical
    return "shown" if known and all(_is_told(i.entry.text, known) for i in (one, other)) else "none"


def beside(one: Item, other: Item) -> bool:
    """Whether two entries stand below the same heading of one file."""
    return one.document is other.document and one.scope == other.scope


@lru_cache(maxsize=8192)
def stems(text: str) -> tuple[str, ...]:
    """The stems of a text that tell it from others."""
    plain = text.replace("\u2019", "'").replace("'s ", " ")
    for pattern, by in w.PHRASES:
        plain = pattern.sub(by, plain)
    found = (word.casefold() for word in _WORD.findall(plain))
    return tuple(_stem(word) for word in found if word not in _SMALL)


def words_of(item: Item) -> list[str]:
    return [word.casefold() for word in _WORD.findall(item.entry.text)] or [""]


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


# ---- where they stand


def _scopes(document: Document) -> list[tuple[int, bool]]:
    """For each line what `Item` calls its scope, and whether that is of a topic."""
    page = document.page
    listed = {at for entry in document.entries for at in range(entry.at, entry.below)}
    listed.update(section.start for section in page.sections if section.level)
    found: list[tuple[int, bool]] = []
    above: list[tuple[int, bool]] = [(0, _is_topic(_stem_of(document)))]
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


def _stem_of(document: Document) -> str:
    return document.name.removesuffix(".md")


def _is_topic(name: str) -> bool:
    if _ISO_DAY.search(name) or DAILY.fullmatch(f"{name}.md") or name == "Odds and ends":
        return True
    words = {word.casefold() for word in _WORD.findall(name)} - _LINKING
    return bool(words) and words <= _TOPICS


# ---- what they are about


def _names_subject(text: str) -> bool:
    """Whether an entry says of itself whom it is about: the user, or somebody by name."""
    words = _WORD.findall(text)
    folded = [word.casefold() for word in words]
    if not words or folded[0] in _LEADING:
        return False
    return _is_of_user(text, folded) or _has_name_before_verb(text, words, folded)


def _is_of_user(text: str, folded: Sequence[str]) -> bool:
    if _OTHERS.intersection(folded):
        return False
    if _FIRST_PERSON.intersection(folded) or folded[0] in _OWN:
        return True
    return bool(_OWN.intersection(_head(text, folded))) and folded[0] in _DETERMINER


def _head(text: str, folded: Sequence[str]) -> Sequence[str]:
    """The words before the verb or the label's mark; none when neither is known."""
    if label := _LABEL.match(text):
        return folded[: len(_WORD.findall(label["name"]))]
    verb = next((at for at, word in enumerate(folded) if _is_verb(word)), 0)
    return folded[:verb]


def _is_verb(word: str) -> bool:
    return w.FORMS.get(word, word) in w.STATE or word in _VERBS


def _has_name_before_verb(text: str, words: Sequence[str], folded: Sequence[str]) -> bool:
    head = len(_head(text, folded))
    run = next((at for at, word in enumerate(words) if not _is_name(word)), len(words))
    if not head:
        follows = run < len(words) and _RUN_VERB.fullmatch(words[run])
        return run > 1 and bool(follows) and not folded[0].endswith(("s", "ed"))
    if _LABEL.match(text) or folded[0] in _DETERMINER:
        return any(map(_is_name, words[1:head]))
    return run > 1 and not _is_verb(folded[0])


def _is_name(word: str) -> bool:
    folded = word.casefold()
    return (
        word[0].isupper()
        and not (word.isupper() and len(word) > 1)
        and word not in w.MONTHS
        and folded not in _ATTRIBUTES | w.DAYS | _DETERMINER
    )


def _is_told(text: str, least: int) -> bool:
    """Whether a subject is named so far that it can be found again below a heading of a topic: by
    two words ("the spare key"), for "the dog" everybody has; by one where `least` is 2, when
    neither entry stands below a name."""
    folded = [word.casefold() for word in _WORD.findall(text)]
    if not folded or _LABEL.match(text):
        return False
    head = _head(text, folded)
    if folded[0] in _DETERMINER and head:
        told = [word for word in head if word not in _SMALL]
        return least > 1 or len([n for n in told if n not in _ATTRIBUTES]) > 1
    does = any(map(_is_verb, folded[1:2])) and not _is_verb(folded[0])
    begins = does or folded[0] in _DETERMINER | PREPOSITIONS
    return begins and len(stems(text)) >= _LONG
