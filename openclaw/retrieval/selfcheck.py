"""Which lines do their own words not find? Ranks each line by words alone, as the search would.

Imports numpy: import this module only lazily. No index is needed: the texts are cut and counted
here, and 2,000 lines take a fraction of a second.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import numpy.typing as npt

from openclaw.retrieval.chunks import Chunk, split
from openclaw.retrieval.ranking import BONUS_ALL, K1, KEYWORDS, B
from openclaw.retrieval.terms import Posting, postings
from openclaw.retrieval.tokens import words

FIRST = 3
"""Among so many passages a line has to be: as many as a turn is usually given."""
_EQUAL = 1e-4


def not_found(
    texts: Mapping[str, str], lines: Mapping[str, Collection[int]], first: int = FIRST
) -> dict[tuple[str, int], tuple[str, int]]:
    """Of these lines (from 1, by path) those that a question of their own words does not bring
    among the `first` passages, each with the passage (path, line) that comes before all others.
    Lines that say the same as a better one are not counted, they are duplicates."""
    places, chunks = [], []
    for path, text in texts.items():
        for chunk in split(text, "markdown", path):
            places.append((path, chunk.start_line))
            chunks.append(chunk)
    if not chunks:
        return {}
    ranks = _Ranks(chunks)
    lost = {}
    for row, (path, line) in enumerate(places):
        if line in lines.get(path, ()) and chunks[row].context:
            best = ranks.before(row, first)
            if best is not None:
                lost[path, line] = places[best]
    return lost


class _Ranks:
    """BM25 over chunks, all in memory; formula and weights as in `llama_words`."""

    def __init__(self, chunks: list[Chunk]) -> None:
        self._said = [chunk.parts[0] if chunk.parts else "" for chunk in chunks]
        self._own = [tuple(dict.fromkeys(words(said))) for said in self._said]
        self._postings, lengths = postings(chunks)
        mean = float(lengths.mean()) or 1.0
        self._norm = K1 * ((1 - B) + B * lengths / mean)
        self._count = len(chunks)
        self._weights: dict[str, Posting] = {}
        self._struck = np.array([chunk.struck for chunk in chunks])

    def before(self, row: int, first: int) -> int | None:
        """The best row when `first` or more others come before this one, else None."""
        terms = self._own[row]
        if not terms:
            return None
        scores = np.zeros(self._count, np.float32)
        for term in terms:
            rows, weights = self._weight(term)
            scores[rows] += weights
        scores[self._struck] = 0
        if len(terms) <= KEYWORDS:
            self._add_look_up(scores, row)
        ahead = np.flatnonzero(scores > scores[row] + _EQUAL)
        if len(ahead) < first:
            return None
        order = ahead[np.argsort(-scores[ahead], kind="stable")].tolist()
        texts = list(dict.fromkeys(self._said[at] for at in order))[:first]
        return order[0] if len(texts) == first and self._said[row] not in texts else None

    def _add_look_up(self, scores: npt.NDArray[np.float32], row: int) -> None:
        """A question of few words is a look-up: lines that hold all of them come first."""
        wanted, high = set(self._own[row]), float(scores.max()) or 1.0
        for at in np.flatnonzero(scores).tolist():
            if wanted.issubset(self._own[at]):
                scores[at] += BONUS_ALL * high

    def _weight(self, term: str) -> Posting:
        """The rows that hold a word, and what it adds to their scores."""
        if term not in self._weights:
            rows, counts = self._postings.get(
                term, (np.empty(0, np.int32), np.empty(0, np.float32))
            )
            idf = np.log(1 + (self._count - len(rows) + 0.5) / (len(rows) + 0.5))
            weights = (idf * counts / (self._norm[rows] + counts)).astype(np.float32)
            self._weights[term] = rows, weights
        return self._weights[term]
