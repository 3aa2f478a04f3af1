"""Fuses the ranking by words (BM25) and the ranking by meaning (cosine) into one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from openclaw.frozen import frozen
from openclaw.nlp.compounds import find_compounds
from openclaw.retrieval import snapshot
from openclaw.retrieval.minilm import NAME as MINILM
from openclaw.retrieval.question import Query, Question, names_of, read_question, topic_words
from openclaw.retrieval.snapshot import Floats, Mask, Rows, SnapshotView
from openclaw.retrieval.tokens import words
from openclaw.types import PromptKind

if TYPE_CHECKING:
    from openclaw.retrieval.database import StoredChunk
    from openclaw.retrieval.embedder_choice import Embedder
    from openclaw.retrieval.shared_vectors import SharedVectors


# BM25, lucene's form. Flat within a point between k1 0.9 and 2.0, b 0.3 and 0.75.
K1 = 1.2
B = 0.5
# Rows that each of the two rankings gives, and the fused one.
POOL = 200

# Share of the meaning in the sum of both scores, each scaled to 0..1 over the pool; docs/memory.md
# has other sums. Where two words are looked up, 0.65 finds 1.6 points less than 0.6.
MEANING = 0.65
MEANING_OF_KEYWORDS = 0.6

# How much of what a passage has in common with all others does not count: what is near to all
# ("Hey, how are you?") comes first for many questions and answers none ("hubness": Radovanovic et
# al. 2010, Dinu et al. 2015). Between 0.3 and 0.7 nothing changes by more than the noise.
COMMON = 0.5

# Bonus of a row for a day or a speaker that the question names, the latest day, or all words of a
# look-up, on the scale of the blended score (0..1); a heading loses as much. In chats that of a
# speaker is worth 2.5 points within 500 tokens, that of a day 0.5. From 0.15 to 0.3 all do alike.
BONUS = 0.2
BONUS_KEY = 1.0
BONUS_PHRASE = 2.0

# A question of at most this many words is a look-up: a line that holds all of them comes first.
# For longer questions it changes nothing; counting the neighbours' words does harm.
KEYWORDS = 3

# The cosines of MiniLM, as `_compare` gives them, for unrelated texts and for equal meaning.
UNRELATED, EQUAL = 0.15, 0.75

# Weights of one ranking when the other finds nothing: a paraphrase shares no word with its answer,
# and an embedding model does not know a made-up name. Otherwise both must agree, by their geometric
# mean: a line may hold the only word of small talk ("Tell me a joke"), and goes into no prompt.
NEAR_ALONE = 0.7
COVERED_BESIDE = 0.4
# Of the words alone, coverage 0.25 tells as much as both together at 0.35.
COVERED_ALONE = 1.4

# The best of so many rows tells how well a question is answered.
FIRST = 3
# Rows with a lower score, or a lower share of the best one's, are left out. The first is no higher,
# as a tenth of the questions in other words than their answers has 0.05 to 0.2.
LEAST_SCORE = 0.01
LEAST_SHARE = 0.1
# A passage over this may go into a prompt unasked; the second counts when none is over the first.
# Shown nothing, a small model invents; shown the lines beside the right one as well, it takes
# another. An order seldom needs what the notes say.
PROMPT_SCORES: Mapping[PromptKind, Sequence[float]] = {
    "own": (0.44, 0.3),
    "": (0.44,),
    "order": (0.5,),
}
EXACT_LEVEL = 0.6
# So many words of a question decide how well it is covered.
RAREST = 4
# How like each other two spellings of a name are, as difflib counts it.
NEAR_SPELLING = 0.84
SHORTEST_NAME = 4
TITLES = frozenset("mr mrs ms miss dr prof herr frau mme".split())
TELLS_OF_DAY = "tells of that day"
NO_ROWS = np.empty(0, np.int64)
Postings = Callable[[str], tuple[npt.NDArray[np.integer], npt.NDArray[Any]]]


@frozen
class RowScores:
    """Rows with their raw scores (BM25, or cosine), in any order; both arrays of shape [n]."""

    rows: Rows
    scores: Floats


NONE_FOUND = RowScores(NO_ROWS, NO_ROWS.astype(np.float32))


@dataclass(frozen=True, slots=True)
class FusedRow:
    """A row of the fused ranking.

    score   between 0 and 1
    ranks   by ranking ("words", "meaning"): (rank from 1, raw score)
    reason  in words, why the row was found
    """

    row: int
    score: float
    ranks: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    reason: str = ""


def coverage(
    terms: Sequence[str],
    postings: Postings,
    rows: Rows,
    count: int,
    days: Rows = NO_ROWS,
    *,
    order: bool = False,
) -> Floats:
    """The share of the idf mass of the question's `RAREST` rarest known words that each row's
    context holds, float32[len(rows)]. `days` are the rows of days that the question names, see
    `with_days`.

    A word that no chunk has weighs most, so a short question about unknown things is covered badly.
    It does not count beside enough known ones: those of a long question say how it is asked; nor
    beside `days` ("what is planned for Tuesday?"), nor in an `order`, which names new things
    ("change the hotel to Lisboa Plaza").
    """
    held = np.zeros(count, np.float32)
    mass = 0.0
    found = sorted((postings(term)[0] for term in terms), key=lambda of: (not len(of), len(of)))
    if order or len(days):
        found = [holders for holders in found if len(holders)]
    for holders in [*found[:RAREST], *([days] if len(days) else [])]:
        idf = _idf(len(holders), count)
        held[holders] += idf
        mass += idf
    return held[rows] / np.float32(mass or 1.0)


def with_days(by_words: RowScores, days: Rows, count: int) -> RowScores:
    """Add the days that a question names to the ranking by words: one more word, which the rows of
    those days hold once. So "what did I do on 7 March?" finds lines that do not name the day."""
    if not len(days):
        return by_words
    rows = snapshot.union(by_words.rows, days)
    scores = _align(rows, by_words.rows, by_words.scores)
    scores[np.isin(rows, days)] += _idf(len(days), count) / (1 + K1)
    return RowScores(rows, scores)


def _idf(holders: int, count: int) -> float:
    """The weight of a word in `holders` of `count` rows, in lucene's form."""
    return float(np.log(1 + (count - holders + 0.5) / (holders + 0.5)))


def fuse(
    question: Question,
    by_words: RowScores,
    by_meaning: RowScores | None,
    covered: Floats,
    read: Callable[[Sequence[int]], Sequence[StoredChunk]],
    days: Rows = NO_ROWS,
    *,
    whole: bool = False,
) -> list[FusedRow]:
    """The fused ranking, best row first, with scores that never rise from row to row; at most
    `POOL` rows.

    covered  `coverage` of `by_words.rows`
    read     gives the chunks of rows, in their order
    days     the rows of days that the question names
    whole    leave nothing out, however many rows there are

    Struck rows come last; of equal rows the newer comes first.
    """
    near = by_meaning or NONE_FOUND
    rows = snapshot.union(_best(by_words), _best(near))
    if not len(rows):
        return []
    by_word = _align(rows, by_words.rows, by_words.scores)
    cosines = _align(rows, near.rows, near.scores, -1.0)
    covered = _align(rows, by_words.rows, covered)
    chunks = read(rows.tolist())
    named = set(days.tolist())
    notes = [_notes(question, chunk, dated=chunk.row in named) for chunk in chunks]
    bonus = np.array([sum(found.values()) for found in notes], np.float32)
    dates = np.array([int(chunk.date.replace("-", "") or 0) for chunk in chunks])
    if question.wants_latest:
        bonus += BONUS * _recency(dates)
    share = MEANING if len(question.text.split()) > KEYWORDS else MEANING_OF_KEYWORDS
    blended = _blend(by_word, cosines, share if by_meaning else 0) + bonus
    struck = np.array([chunk.struck for chunk in chunks])
    order = np.lexsort((rows, -dates, -np.round(blended, 6), struck))
    levels = _rate(covered, cosines, bonus)
    best = float(levels[order[:FIRST]].max())
    scores = best * _nearness(blended, order, struck)
    least = max(LEAST_SCORE, LEAST_SHARE * best)
    ranks = _ranks(by_word, cosines)
    found = []
    for at in order[: None if whole else POOL]:
        if scores[at] >= least or whole:
            said = [f"{covered[at]:.0%} of the words"] if covered[at] > 0 else []
            said += [f"meaning {cosines[at]:.2f}"] if cosines[at] > 0 else []
            said += [*notes[at], *(["struck through"] if struck[at] else [])]
            found.append(FusedRow(int(rows[at]), float(scores[at]), ranks[at], ", ".join(said)))
    return found


def _blend(by_word: Floats, cosines: Floats, share: float) -> Floats:
    """Both scores scaled to 0..1 over the pool, and added by weight. The scales begin at no word
    and cosine `UNRELATED`: in a small pool even the last row may answer."""
    known = cosines > -1.0
    low = float(cosines[known].min(initial=UNRELATED))
    by_meaning = _scale(np.where(known, cosines, low), low)
    return (1 - share) * _scale(by_word, 0.0) + share * by_meaning


def _rate(covered: Floats, cosines: Floats, bonus: Floats) -> Floats:
    """How well each row answers, 0..1, by itself: its covered words and its meaning."""
    near = np.clip((cosines - UNRELATED) / (EQUAL - UNRELATED), 0, 1)
    alone = np.minimum(covered * COVERED_ALONE, 1)
    both = np.maximum(np.sqrt(covered * near), NEAR_ALONE * near)
    both = np.maximum(both, COVERED_BESIDE * covered)
    exact = np.where(bonus >= BONUS_KEY, EXACT_LEVEL, 0)
    best: Floats = np.maximum(np.where(cosines > -1.0, both, alone), exact).astype(np.float32)
    return best


def _ranks(by_word: Floats, cosines: Floats) -> list[dict[str, tuple[int, float]]]:
    """The rank and score of each row in the rankings that have it."""
    found: list[dict[str, tuple[int, float]]] = [{} for _ in by_word]
    for name, scores, least in (("words", by_word, 0.0), ("meaning", cosines, -1.0)):
        for rank, at in enumerate(np.argsort(-scores, kind="stable").tolist(), 1):
            if scores[at] > least:
                found[at][name] = (rank, float(scores[at]))
    return found


def _best(ranked: RowScores) -> Rows:
    """The rows of the `POOL` best scores above zero."""
    return ranked.rows[snapshot.best(ranked.scores, POOL, ranked.scores > 0)]


def _align(rows: Rows, known: Rows, values: Floats, missing: float = 0.0) -> Floats:
    """The value of each of `rows`, from the `values` of the rows `known`."""
    result = np.full(len(rows), missing, np.float32)
    _, at, of = np.intersect1d(rows, known, return_indices=True)
    result[at] = values[of]
    return result


def _scale(values: Floats, low: float) -> Floats:
    """The values as shares of the way from `low` to the highest."""
    high = float(values.max())
    if high <= low:
        return np.zeros(len(values), np.float32)
    return ((values - low) / (high - low)).astype(np.float32)


def _notes(question: Question, chunk: StoredChunk, *, dated: bool) -> dict[str, float]:
    """The bonuses of a chunk, by the reason in words."""
    notes: dict[str, float] = {}
    plain = " ".join(chunk.text.casefold().split()) if question.phrases else ""
    if any(phrase.casefold() in plain for phrase in question.phrases):
        notes["quoted phrase"] = BONUS_PHRASE
    look_up = 0 < len(question.words) <= KEYWORDS
    own = set(words(chunk.text)) if look_up or question.keys else set()
    if question.keys and own.issuperset(question.keys):
        notes["exact " + ", ".join(question.keys)] = BONUS_KEY
    elif look_up and own.issuperset(question.words):
        notes["all words"] = BONUS
    if dated:
        same = any(first <= chunk.date <= last for first, last in question.dates)
        notes[f"date {chunk.date}" if same else TELLS_OF_DAY] = BONUS
    if chunk.is_heading:  # of that day it stands for the plan, else only for what is below it
        notes["a heading"] = BONUS if TELLS_OF_DAY in notes else -BONUS
    if chunk.label and _is_named(chunk.label, question.names):
        notes[f"said of {chunk.label}"] = BONUS
    return notes


@lru_cache(1024)
def _is_named(label: str, names: tuple[str, ...]) -> bool:
    """Return True when a word of a label is one of the names, or nearly spelled so."""
    own = set(re.findall(r"[^\W\d_]{2,}", label.casefold())) - TITLES
    return any(get_close_matches(word, names, 1, NEAR_SPELLING) for word in own)


def _recency(days: Rows) -> Floats:
    """The place of each day among all of them, 1 for the newest; 0 for a row without a day."""
    dated = days > 0
    places = np.zeros(len(days), np.float32)
    known, at = np.unique(days[dated], return_inverse=True)
    places[dated] = (at + 1) / max(len(known), 1)
    return places


def _nearness(blended: Floats, order: Rows, struck: Mask) -> Floats:
    """How near each row comes to the first, 0..1; never rises along `order`."""
    shares = np.clip(blended / max(float(blended[order[0]]), 1e-6), 0, 1)
    shares[struck] *= 0.5
    result = np.empty(len(order), np.float32)
    result[order] = np.minimum.accumulate(shares[order])
    return result


def fused(
    view: SnapshotView,
    query: Query,
    by_words: RowScores,
    by_meaning: Callable[[Rows], RowScores | None],
) -> list[FusedRow]:
    """The ranked rows, best first, at most `POOL`; all rows of both rankings where the query is
    `whole`. `by_meaning` gives the nearest rows and the given rows with their cosines; None without
    vectors."""
    text = query.question
    question = read_question(text, query.today or date.today())
    days = view.rows_of(question.dates)
    count = view.snapshot.count
    by_words = with_days(by_words, days, count)
    near = by_meaning(by_words.rows)
    terms = respell(view, question.words or (() if len(days) else topic_words(text)), text)
    rows = by_words.rows
    covered = coverage(terms, view.postings, rows, count, days, order=query.order)
    return fuse(question, by_words, near, covered, view.chunks, days, whole=query.whole)


def by_words(view: SnapshotView, text: str) -> RowScores:
    """The `POOL` best rows by BM25."""
    scores = np.zeros(view.snapshot.count, np.float32)
    for _, rows, weights in weigh_words(view, respell(view, topic_words(text), text)):
        scores[rows] += weights
    found = scores > 0
    best = snapshot.best(scores, POOL, found if view.allowed is None else found & view.allowed)
    return RowScores(best, scores[best])


def respell(view: SnapshotView, terms: Iterable[str], text: str) -> list[str]:
    """The different words of a question, as the index has them: the nearest known word for a name
    that none has, and compounds beside their parts. An identifier means itself alone."""

    def is_known(word: str) -> bool:
        return len(view.postings(word)[0]) > 0

    found = dict.fromkeys(terms)
    unknown = [word for word in found.keys() & names_of(text) if not is_known(word)]
    nearest = {word: _nearest_spelling(word, view.words_like(word[:2])) for word in unknown}
    found = dict.fromkeys(nearest.get(word, word) for word in found)
    alike = {w: None for each in find_compounds(found, view.words_like, is_known) for w in each}
    return [word for word in found | alike if word not in alike or is_known(word)]


def _nearest_spelling(word: str, known: Sequence[str]) -> str:
    """The known word of the same letters, or of nearly the same, else the word itself."""
    if len(word) < SHORTEST_NAME or not word.isalpha():
        return word
    swapped = [each for each in known if sorted(each) == sorted(word)]
    return [*swapped, *get_close_matches(word, known, 1, NEAR_SPELLING), word][0]


def nearest(view: SnapshotView, embedder: Embedder, vector: list[float], others: Rows) -> RowScores:
    """The `POOL` nearest rows and the rows `others`, each with its cosine as `_compare` gives it.
    Raises ModelFailed when the vector does not match the stored ones."""
    question, vectors = np.asarray(vector, np.float32), view.snapshot.vectors(embedder.name)
    near = vectors.nearest(question, POOL, view.allowed)
    others = others if view.allowed is None else others[view.allowed[others]]
    rows = snapshot.union(near, others[vectors.known[others]])
    return RowScores(rows, _compare(embedder, question, vectors.read(rows), vectors.usual))


def _compare(embedder: Embedder, question: Floats, vectors: Floats, usual: Floats) -> Floats:
    """The cosines (float32[n]) of the question and `vectors` (float32[n, d]), less `COMMON` of how
    much nearer each of these is to the mean of the `usual` ones (float32[m, d]) than they are.

    Those of other models than MiniLM, for which unrelated texts have 0.4 to 0.55 (nomic, bge), are
    stretched so that the mean has `UNRELATED`.
    """
    mean = usual.mean(axis=0) if len(usual) else np.zeros_like(question)
    near: Floats = vectors @ (question - COMMON * mean)[: vectors.shape[1]]
    near += COMMON * (mean @ mean)
    if len(usual) and embedder.name != MINILM:
        near = 1 - (1 - near) * np.float32((1 - UNRELATED) / max(1 - mean @ question, 0.01))
    return near


def nearest_shared(
    shared: SharedVectors,
    view: SnapshotView,
    embedder: Embedder,
    vector: list[float],
    others: Rows,
) -> tuple[RowScores, bool]:
    """`nearest` in a vector store; and whether it no longer has vectors that it had."""
    contexts, known = view.snapshot.contexts, view.snapshot.vectors(embedder.name).known
    allowed = known if view.allowed is None else known & view.allowed
    others = others[allowed[others]]
    question, mine = np.asarray(vector, np.float32), np.unique(contexts[allowed])
    near = mine if len(mine) <= 2 * POOL else shared.nearest(mine, question, POOL)
    usual = contexts[snapshot.sample(known)]
    wanted = snapshot.union(near, contexts[others], usual)
    held = shared.find(wanted.tolist())

    def vectors(keys: Rows) -> Floats:
        found = [held[key].vector for key in keys.tolist() if key in held]
        return np.array(found, np.float32).reshape(len(found), len(question))

    rows = np.flatnonzero(allowed & np.isin(contexts, list(held)))
    chosen, found = np.isin(rows, others), vectors(contexts[rows])
    chosen[snapshot.best(found @ question, POOL)] = True
    scores = _compare(embedder, question, found[chosen], vectors(usual))
    return RowScores(rows[chosen], scores), len(held) < len(wanted)


def weigh_words(view: SnapshotView, terms: Iterable[str]) -> Iterator[tuple[str, Rows, Floats]]:
    """For each stored word its rows and its part of their BM25 score:
    ln(1 + (N - df + 0.5) / (df + 0.5)) * tf / (tf + k1 * (1 - b + b * length / mean length))."""
    snapshot = view.snapshot
    lengths = snapshot.lengths
    mean = lengths.mean(dtype=np.float64) if snapshot.count else 0.0
    for word in terms:
        rows, counts = view.postings(word)
        if len(rows):
            idf = np.float32(_idf(len(rows), snapshot.count))
            weights = K1 * ((1 - B) + B * (lengths[rows] / mean)) + counts
            np.divide(counts, weights, out=weights)  # a common word is in half of all rows
            weights *= idf
            yield word, rows, weights.astype(np.float32)
