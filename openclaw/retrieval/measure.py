"""How well a search finds what it is expected to find: rank of the answer, hit@k and MRR. Pure.

Hit@k is the share of questions whose answer is among the first k passages; MRR the mean of 1/rank,
0 where it was not found (Voorhees 1999, "The TREC-8 Question Answering Track Report").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openclaw.retrieval.passages import Passage
    from openclaw.retrieval.search import Rankings

WORDS, MEANING, BOTH = "words", "meaning", "hybrid"
_PLACE = re.compile(
    r"(?P<path>[^\s:]*/[^:]*|[^\s:/]+\.(?i:md|markdown|txt|json|ya?ml|csv|log|html?|pdf|org|rst|py))"
    r"(?::(?P<first>\d{1,7})(?:\s*[-\u2013]\s*(?P<last>\d{1,7}))?)?"
)


@dataclass(frozen=True, slots=True)
class Expected:
    """What is to be found: lines `first` to `last` of a file (0: any), or `words` of the passage,
    all of them; in quotes the words as they stand. A path that ends with / is a folder, a bare file
    name one in any folder."""

    path: str = ""
    first: int = 0
    last: int = 0
    words: str = ""

    def answered_by(self, passage: Passage) -> bool:
        if self.words:
            return _holds(passage.text, self.words)
        path = passage.path
        if self.path.endswith("/"):
            return path.startswith(self.path)
        if path != self.path and ("/" in self.path or path.rpartition("/")[2] != self.path):
            return False
        if not self.first:
            return True
        return passage.start_line <= self.last and self.first <= passage.end_line


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one question: by ranking the rank of the answer, from 1, 0 where it was not
    found. `winner` is the passage that came first, `answer` the one that was expected;
    `has_meaning`: there were vectors to search in."""

    ranks: Mapping[str, int] = field(default_factory=dict)
    winner: Passage | None = None
    answer: Passage | None = None
    has_meaning: bool = False


@dataclass(frozen=True, slots=True)
class Measure:
    """How many of `cases` questions were answered by the first, the first three, and the first `k`
    passages; and the mean reciprocal rank."""

    cases: int
    first: int
    three: int
    within: int
    mrr: float


def expectation(text: str) -> Expected:
    """What is meant by a path, `path:line`, or words."""
    found = _PLACE.fullmatch(text.strip())
    if not found:
        return Expected(words=text.strip())
    first = int(found["first"] or 0)
    path = found["path"].replace("\\", "/").removeprefix("./")
    return Expected(path, first, max(int(found["last"] or 0), first))


def outcome(found: Rankings, expected: Sequence[Expected]) -> Outcome:
    """Where the answer stands in each ranking. The ranks of words and meaning are those that
    `memory search --explain` shows; in the hybrid one it is the place in the list of passages."""

    def answers(passage: Passage) -> bool:
        return any(each.answered_by(passage) for each in expected)

    ranks = {BOTH: next((at for at, p in enumerate(found.shown, 1) if answers(p)), 0)}
    for name in (WORDS, MEANING):
        places = [p.ranks[name][0] for p in found.pool if name in p.ranks and answers(p)]
        ranks[name] = min(places, default=0)
    winner = found.shown[0] if found.shown else None
    answer = next(filter(answers, (*found.shown, *found.pool)), None)
    has_meaning = any(MEANING in passage.ranks for passage in found.pool)
    return Outcome(ranks, winner, answer, has_meaning)


def measure(ranks: Iterable[int], k: int = 3) -> Measure:
    """The figures of one ranking, of the answers' ranks."""
    places = list(ranks)
    first, three, within = (sum(0 < rank <= most for rank in places) for most in (1, 3, k))
    gained = sum(1 / rank for rank in places if rank)
    return Measure(len(places), first, three, within, gained / max(len(places), 1))


def _holds(text: str, words: str) -> bool:
    """Whether a text has all of the words, as they stand when they are in quotes."""
    flat = " ".join(text.casefold().split())
    wanted = " ".join(words.casefold().split())
    if len(wanted) > 2 and wanted[0] == wanted[-1] and wanted[0] in "\"'":
        return wanted[1:-1] in flat
    return all(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", flat) for word in _parts(wanted))


def _parts(words: str) -> list[str]:
    """Words without the signs around them; all of a text that has no word."""
    return [part for word in words.split() if (part := word.strip(".,;:!?\"'()"))] or [words]
