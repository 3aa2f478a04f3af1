"""Ranks the rows of a view by words and by meaning, and fuses both rankings.

The rankings here are made of the stored postings and vectors alone, so that the search beside a
prompt need not import LlamaIndex (most of its start). The retrievers of `llama` fuse theirs by the
same function. Imports numpy: import this module only lazily.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from openclaw.retrieval import ranking, vectors
from openclaw.retrieval.minilm import NAME as MINILM
from openclaw.retrieval.question import read_question
from openclaw.retrieval.ranking import K1, POOL, B, Fused, Ranked
from openclaw.retrieval.tokens import words
from openclaw.retrieval.vectors import Floats, Rows

if TYPE_CHECKING:
    from openclaw.retrieval.embeddings import Embedder
    from openclaw.retrieval.view import View

ByMeaning = Callable[[Rows], Ranked | None]
"""Gives the nearest rows, and the cosines of the given ones beside them; None without vectors."""


def fused(
    view: View,
    text: str,
    today: date,
    by_words: Ranked,
    by_meaning: ByMeaning,
    cosines: Callable[[], tuple[float, float]],
    top_k: int,
    *,
    whole: bool = False,
) -> list[Fused]:
    """The ranked rows, best first, at most `POOL`; with `whole` all rows of both rankings, however
    badly they answer. `cosines` gives those that mean nothing and the same, and is asked last."""
    question = read_question(text, today)
    days = view.rows_of(question.dates)
    count = view.snapshot.count
    by_words = ranking.with_days(by_words, days, count)
    near = by_meaning(by_words.rows)
    terms = question.words or (() if len(days) else words(question.text))
    return ranking.fuse(
        question,
        by_words,
        near,
        ranking.coverage(terms, view.postings, by_words.rows, count, days),
        view.chunks,
        weak_limit=max(ranking.FEW, top_k // 2),
        cosines=cosines(),
        whole=whole,
    )


def scale(view: View, embedder: Embedder | None, vector: list[float] | None) -> tuple[float, float]:
    """The cosines that mean nothing and the same, by what the question has with any text."""
    if embedder is None or not vector or embedder.name == MINILM:
        return ranking.COSINES
    usual = vectors.usual_cosine(view.snapshot, embedder.name, np.array(vector, np.float32))
    return ranking.COSINES if usual is None else ranking.scale_from(usual)


def by_words(view: View, text: str) -> Ranked:
    """The `POOL` best rows by BM25."""
    scores = np.zeros(view.snapshot.count, np.float32)
    for _, rows, weights in weighted(view, dict.fromkeys(words(text))):
        scores[rows] += weights
    found = scores > 0
    best = vectors.best(scores, POOL, found if view.allowed is None else found & view.allowed)
    return Ranked(best, scores[best])


def nearest(view: View, embedder: Embedder, vector: list[float], others: Rows) -> Ranked:
    """The `POOL` nearest rows, and `others`, each with its cosine. Raises ModelFailed for a vector
    that does not fit the stored ones."""
    question = np.asarray(vector, np.float32)
    cosines, known = vectors.cosines(view.snapshot, embedder.name, question)
    if view.allowed is not None:
        known = known & view.allowed
    rows = np.union1d(vectors.best(cosines, POOL, known), others[known[others]])
    return Ranked(rows, cosines[rows])


def weighted(view: View, terms: Iterable[str]) -> Iterator[tuple[str, Rows, Floats]]:
    """Of each word that is stored the rows that hold it and what it adds to their BM25 score:
    idf = ln(1 + (N - df + 0.5) / (df + 0.5)), times tf / (tf + k1 * (1 - b + b * length / mean
    length))."""
    snapshot = view.snapshot
    lengths = snapshot.lengths.astype(np.float64)
    mean = lengths.mean() if snapshot.count else 0.0
    for word in terms:
        rows, counts = view.postings(word)
        if len(rows):
            idf = np.float32(np.log(1 + (snapshot.count - len(rows) + 0.5) / (len(rows) + 0.5)))
            norm = K1 * ((1 - B) + B * (lengths[rows] / mean))
            yield word, rows, (idf * (counts / (norm + counts))).astype(np.float32)
