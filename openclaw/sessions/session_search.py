"""Searches conversations, archive included: message contents, and inputs and outputs of tools.

The ranking follows BM25 (Robertson and Zaragoza 2009: rarity of words times how well a text matches
them, long texts a little behind). It ranks passages of some lines, so that a long result counts by
its best place and not by its length. There is no index: files are read one after the other, and a
substring test skips texts without a word of the search.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from openclaw.frozen import frozen
from openclaw.messages import Entry
from openclaw.sessions.session import Session
from openclaw.types import to_timestamp

SessionMessages = tuple[Session, Iterable[tuple[int, Entry]]]
"""A session and its messages, each with its number in the whole conversation."""

COPYING_TOOLS = frozenset({"search_sessions"})  # tools whose results repeat what this search found
SMALL_WEIGHT = 0.1
LENGTH_SHARE, USUAL_LENGTH = 0.25, 300
QUESTION_WEIGHT = 0.85
EQUAL_SHARE = 0.1
"""Scores that differ by less than this share of the best one are equal: the newer comes first."""
SNIPPET_LENGTH = 160
REPLY_LENGTH = 160
MAX_INEXACT = 20


@frozen
class SessionHit:
    id: str
    title: str
    at: str
    role: str
    """user or assistant; tool when the words stand in the call or result of a tool."""
    number: int
    """The number of the message in the whole conversation, from 1, as `fork` takes it."""
    snippet: str
    tool: str = ""
    missing: tuple[str, ...] = ()  # the words that the message does not contain
    archived: bool = False
    reply: str = ""  # the beginning of the answer to a message of the user


_Passage = tuple[str, str, tuple[float, ...]]
"""Tool name ("" for the message itself), text and worth by term."""


@dataclass(slots=True)
class _Match:
    """A message with words of the search."""

    session: Session
    number: int
    entry: Entry
    passages: list[_Passage]
    within: tuple[bool, ...]
    """For each term, True when the message contains it."""
    archived: bool = False
    reply: str = ""  # the answer to a message of the user
    score: float = 0.0
    best: _Passage = field(default=("", "", ()))  # the passage with the highest score


def search(
    talks: Iterable[SessionMessages],
    words: str,
    length: int = SNIPPET_LENGTH,
    *,
    first: str = "",
    any_word: bool = False,
    most: int | None = None,
) -> list[SessionHit]:
    """Find messages about the words, the best first.

    Among equals, messages of the session `first` come first, then the newer ones. Passages with all
    words come before all others. A message counts when it has all words, at least half of the
    telling ones, or the rarest one; with `any_word` when it has any.

    `length` is that of a snippet in characters; a long one shows neighbouring lines too. `most`
    limits the number of hits.
    """
    wanted = read_terms(words)
    if not wanted:
        return []
    total, found = 0, []
    for session, messages in talks:
        asked: _Match | None = None
        archived = session.archived
        for number, entry in messages:
            total += 1
            if asked is not None and entry.role == "assistant" and entry.content.strip():
                asked.reply, asked = entry.content, None
            hit = _match_entry(session, number, entry, wanted)
            if entry.role == "user":
                asked = hit
            if hit is not None:
                hit.archived = number <= archived
                found.append(hit)
    rarity = _measure_rarity(found, wanted, total)
    found = [each for each in found if any_word or _has_enough_words(each, wanted, rarity)]
    ranked = _rank(found, wanted, rarity, first)
    return [_to_hit(each, wanted, length) for each in ranked[:most]]


def keep_exact(hits: list[SessionHit]) -> list[SessionHit]:
    """Return only the hits with all words, the newest first; without any, some of the best."""
    exact = [hit for hit in hits if not hit.missing]
    if not exact:
        return hits[:MAX_INEXACT]
    return sorted(exact, key=lambda hit: (to_timestamp(hit.at), hit.id, hit.number), reverse=True)


def _match_entry(session: Session, number: int, entry: Entry, wanted: list[Term]) -> _Match | None:
    """Return a message with its passages that match, None without any."""
    passages: list[_Passage] = []
    within = [False] * len(wanted)
    for tool, text in _searched_texts(entry):
        folded = fold(text)
        within = [known or term.is_in(folded) for known, term in zip(within, wanted, strict=True)]
        if not any(term.may_be_in(folded) for term in wanted if not term.small):
            continue
        for piece in split_passages(text):
            part = folded if len(piece) == len(text) else fold(piece)
            values = tuple(term.worth(part) for term in wanted)
            if any(value and not term.small for value, term in zip(values, wanted, strict=True)):
                passages.append((tool, piece, values))
    return _Match(session, number, entry, passages, tuple(within)) if passages else None


def _searched_texts(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yield the texts of a message, each with its tool's name ("" for the message itself)."""
    if entry.content:
        yield "", entry.content
    for use in entry.tool_calls:
        if use.tool not in COPYING_TOOLS:
            yield use.tool, "\n".join((*_argument_lines(use.input), use.output))


def _argument_lines(value: Mapping[str, Any]) -> Iterator[str]:
    for name, each in value.items():
        yield f"{name}: {', '.join(map(str, each)) if isinstance(each, list) else each}"


def _rank(found: list[_Match], wanted: list[Term], rarity: list[float], first: str) -> list[_Match]:
    for each in found:
        _score(each, rarity)
    best = max((each.score for each in found), default=1.0) or 1.0

    def place(each: _Match) -> tuple[bool, int, bool, float, str, int]:
        values = each.best[2]  # in a long result words of several passages may be unrelated
        return (
            all(value or term.small for value, term in zip(values, wanted, strict=True)),
            int(each.score / best / EQUAL_SHARE + 0.5),
            each.session.id == first,
            to_timestamp(each.entry.at or each.session.updated_at),
            each.session.id,
            each.number,
        )

    return sorted(found, key=place, reverse=True)


def _measure_rarity(found: list[_Match], wanted: list[Term], total: int) -> list[float]:
    """Return the inverse document frequency of each term over the messages: small terms far
    behind, 0.0 for a term that no message has."""
    rarity = []
    for index, term in enumerate(wanted):
        count = sum(any(values[index] for _, _, values in each.passages) for each in found)
        weight = math.log(1 + (total - count + 0.5) / (count + 0.5)) if count else 0.0
        rarity.append(weight * (SMALL_WEIGHT if term.small else 1.0))
    return rarity


def _score(each: _Match, rarity: list[float]) -> None:
    for passage in each.passages:
        _, text, values = passage
        weight = sum(value * rare for value, rare in zip(values, rarity, strict=True))
        score = weight / (1 - LENGTH_SHARE + LENGTH_SHARE * len(text) / USUAL_LENGTH)
        if score > each.score:
            each.score, each.best = score, passage
    if each.entry.role == "user" and each.entry.content.rstrip().endswith("?"):
        each.score *= QUESTION_WEIGHT


def _has_enough_words(each: _Match, wanted: list[Term], rarity: list[float]) -> bool:
    """Return True when a message has all words, half of the telling ones, or the rarest one."""
    if all(each.within):
        return True
    telling = [index for index, term in enumerate(wanted) if not term.small]
    have = [index for index in telling if any(v[index] >= HALF_WORTH for _, _, v in each.passages)]
    rarest = max((rarity[index] for index in telling), default=0.0)
    return bool(have) and (
        2 * len(have) >= len(telling) or max(rarity[index] for index in have) == rarest
    )


def _to_hit(each: _Match, wanted: list[Term], length: int) -> SessionHit:
    tool, text, _ = each.best
    session, entry = each.session, each.entry
    missing = tuple(term.word for term, held in zip(wanted, each.within, strict=True) if not held)
    forms = [form for term in wanted if not term.small for form, _ in term.forms]
    return SessionHit(
        session.id,
        session.title,
        entry.at or session.updated_at,
        "tool" if tool else entry.role,
        each.number,
        make_snippet(text, forms, length),
        tool,
        missing,
        each.archived,
        " ".join(each.reply[: 2 * REPLY_LENGTH].split())[:REPLY_LENGTH],
    )


MAX_PLACES = 64
MAX_TERMS = 40
LONGEST_QUERY = 2_000
HALF_WORTH = 0.5
_PHRASE = re.compile(r'"([^"]+)"|\u201c([^\u201d]+)\u201d|\u201e([^\u201c]+)\u201c')
_EDGES = "".join(chr(c) for c in range(33, 127) if not chr(c).isalnum() and chr(c) not in "+#")
_EDGES += "\u2026\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb\u00bf\u00a1\u3002\u3001\uff1f\uff01"
_KEPT_IN_FRONT = "./~@$"
_NUMBER = re.compile(r"(\d{1,3}(?:,\d{3}){1,6}|\d{4,20})(\.\d+)?")
_INNER = re.compile(r"[^\W_]+")
_SUFFIXES = ("ing", "ed", "er", "en", "ly", "e")

# Words of which questions are made: they say little about the place of the answer.
_SMALL = frozenset(
    """a about again all also am an and any are as at be been but by can could did do does for from
    get give had has have he her his how i if in into is it its just know many may me might mine
    much must my no not of on or our please remind said say she should so some tell that the their
    them then there they this to told up us was we were what when where which who whom whose why
    will with would you your
    aber als am an auf aus bei bin bitte da das dass dein dem den der des die du ein eine einem
    einen einer er es f\u00fcr gibt habe haben hast hat hatte ich im in ist ja kann kein mein meine
    mich mir mit nach nicht noch nun oder sag sagte sich sie sind so um und uns unser unsere vom von
    vor war waren warum was welche welchem welchen welcher welches wer wie wir wird wo wurde zu zum
    zur le la les un une des du de est et que qui quel quelle o\u00f9 el los las es y en
    cu\u00e1l qu\u00e9 d\u00f3nde""".split()
)


@frozen
class Term:
    """A word of a search, or a phrase."""

    word: str
    forms: tuple[tuple[str, float], ...]
    """Folded texts to look for, each with its worth (0 to 1); the word itself comes first."""
    small: bool = False  # true for a word that tells little
    phrase: re.Pattern[str] | None = None

    def worth(self, text: str) -> float:
        """Return how well a folded text matches: 1.0 for a whole word, less at the beginning of a
        word or for another form, little within a word, 0.0 for no match."""
        if self.phrase is not None:
            return float(bool(self.phrase.search(text)))
        best = 0.0
        for form, value in self.forms:
            if value > best and form in text:
                best = max(best, value * _word_worth(form, text))
        return best

    def is_in(self, text: str) -> bool:
        """Return True when a folded text has the word, also as a part of another word."""
        if self.phrase is not None:
            return bool(self.phrase.search(text))
        return any(form in text for form, value in self.forms if value > HALF_WORTH)

    def may_be_in(self, text: str) -> bool:
        """Return False when a folded text cannot match. This is a quick test."""
        return any(form in text for form, _ in self.forms)


def fold(text: str) -> str:
    """Return a text for comparison: case-folded, with composed characters."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return text.casefold()


def read_terms(query: str) -> list[Term]:
    """Return the words and "phrases" of a search, each once, at most 40. When all are small, none
    counts as small."""
    query = query[:LONGEST_QUERY]
    found: dict[str, Term] = {}
    for match in _PHRASE.finditer(query):
        words = fold(next(filter(None, match.groups()))).split()
        if words:
            pattern = re.compile(r"\s+".join(map(re.escape, words)))
            found[" ".join(words)] = Term(" ".join(words), ((words[0], 1.0),), phrase=pattern)
    for raw in _PHRASE.sub(" ", query).split():
        word = _strip_punctuation(fold(raw))
        if word and word not in found:
            found[word] = Term(word, _word_forms(word), word in _SMALL)
    every = list(found.values())[:MAX_TERMS]
    if all(term.small for term in every):
        return [Term(term.word, term.forms) for term in every]
    return every


def _strip_punctuation(word: str) -> str:
    """Return a word without the punctuation around it; mere punctuation stays."""
    plain = word.rstrip(_EDGES).lstrip("".join(set(_EDGES) - set(_KEPT_IN_FRONT)))
    if not plain.strip(_KEPT_IN_FRONT):
        return plain or word
    return plain if plain.startswith(("./", "/", "~/", "@", "$")) else plain.lstrip(_EDGES)


def _word_forms(word: str) -> tuple[tuple[str, float], ...]:
    forms = {word: 1.0}
    if number := _NUMBER.fullmatch(word):
        whole = int(number[1].replace(",", ""))
        forms |= {f"{whole}{number[2] or ''}": 1.0, f"{whole:,}{number[2] or ''}": 1.0}
    if word.isalpha():
        for form, value in ((_singular(word), 0.95), (_stem(word), HALF_WORTH)):
            if form:
                forms.setdefault(form, value)
    if word.endswith(("'s", "\u2019s")):
        forms.setdefault(word[:-2], 0.95)
    parts = _INNER.findall(word)
    if len(parts) > 1:
        longest = max(parts, key=len)
        if len(longest) >= 4 or (longest.isdigit() and len(longest) >= 3):
            forms.setdefault(longest, HALF_WORTH)
        forms.setdefault("".join(parts), 0.9)
        forms.setdefault(" ".join(parts), 0.9)
    return tuple(forms.items())


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "xes", "sses", "zes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else ""


def _stem(word: str) -> str:
    """Return the beginning that other forms of a word share, if it is long enough."""
    for end in _SUFFIXES:
        if word.endswith(end) and len(word) - len(end) >= 4:
            return word[: -len(end)]
    return word[:-2] if len(word) >= 8 else ""


def _word_worth(form: str, text: str) -> float:
    """Return 1.0 for a whole word, 0.8 for the beginning of one, 0.25 within one. In scripts that
    do not separate words by blanks, a place within a word counts 0.9."""
    best, at = 0.0, text.find(form)
    for _ in range(MAX_PLACES):
        if at < 0 or best == 1.0:
            break
        end = at + len(form)
        begins = at == 0 or not (text[at - 1].isalnum() and form[0].isalnum())
        ends = end == len(text) or not (text[end].isalnum() and form[-1].isalnum())
        best = max(best, 1.0 if begins and ends else 0.8 if begins else 0.25)
        at = text.find(form, at + 1)
    if 0.0 < best < 1.0 and unicodedata.category(form[0]) == "Lo":
        return 0.9
    return best


PASSAGE_LENGTH = 800
LONE_LINE = 160
CONTEXT_BEFORE = 40


def split_passages(text: str) -> Iterator[str]:
    """Split a text into passages of at most 800 characters, at line ends where possible. A text
    that is only a little longer stays whole."""
    if len(text) <= PASSAGE_LENGTH + PASSAGE_LENGTH // 4:
        yield text
        return
    start = 0
    while len(text) - start > PASSAGE_LENGTH:
        end = text.rfind("\n", start, start + PASSAGE_LENGTH) + 1
        if end <= start:
            end = text.rfind(" ", start, start + PASSAGE_LENGTH) + 1
        if end <= start:
            end = start + PASSAGE_LENGTH
        yield text[start:end]
        start = end
    yield text[start:]


def make_snippet(text: str, words: Sequence[str], length: int) -> str:
    """Return the line of a text with the most of the folded words, and its neighbours if it is
    short, as one line of at most `length` characters plus the dots of a cut."""
    lines = [line for line in (" ".join(line.split()) for line in text.splitlines()) if line]
    if not lines:
        return ""
    best = max(range(len(lines)), key=lambda index: _count_words(lines[index], words))
    if len(lines[best]) > length:
        return _cut_line(lines[best], words, length)
    first = last = best
    if length > LONE_LINE:
        first, last = _widen(lines, best, length)
    return " / ".join(lines[first : last + 1])


def _widen(lines: Sequence[str], best: int, length: int) -> tuple[int, int]:
    """Return the first and last of the lines around the best one that fit, those below first."""
    first = last = best
    left = length - len(lines[best])
    grows = True
    while grows:
        grows = False
        if last + 1 < len(lines) and len(lines[last + 1]) + 3 <= left:
            last, left, grows = last + 1, left - len(lines[last + 1]) - 3, True
        if first and len(lines[first - 1]) + 3 <= left:
            first, left, grows = first - 1, left - len(lines[first - 1]) - 3, True
    return first, last


def _cut_line(line: str, words: Sequence[str], length: int) -> str:
    """Return the part of a long line with the most of the words."""
    folded = line.casefold()
    places = sorted(_find_places(folded, words)) or [0]
    starts = [max(0, min(place - CONTEXT_BEFORE, len(line) - length)) for place in places]
    start = max(starts, key=lambda at: _count_words(folded[at : at + length], words))
    end = start + length
    return ("..." if start else "") + line[start:end] + ("..." if end < len(line) else "")


def _find_places(folded: str, words: Sequence[str]) -> Iterator[int]:
    for word in words:
        yield from (found.start() for found in islice(re.finditer(re.escape(word), folded), 20))


def _count_words(line: str, words: Sequence[str]) -> int:
    folded = line.casefold()
    return sum(word in folded for word in words)
