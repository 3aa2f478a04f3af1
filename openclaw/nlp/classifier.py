"""Reads from the words of a message or an answer what kind of sentence it is.

Six linear models in one file, `classifier.bin`, trained by `python -m training.train` from the
labelled sentences in `training/data`: what a user's message wants, of which kind a sentence of one
is and whether it hands a text over, what a sentence of an answer does, what a line of notes tells
of a person, and the language of a text. A text becomes a set of hashed features: its word 1 to
3-grams, the letter 3 to 5-grams of its words, a few exact marks, and for some models pairs of near
words. A model is a table of one row of small integers for each feature, compressed; the score of a
column is its sum. Where a text has
several labels each is a column of its own; of the kinds of a sentence exactly one is right, and a
label is one kind or several. The probabilities were calibrated on authors whom the model did not
see. No library is needed.
"""

from __future__ import annotations

import json
import math
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from zlib import crc32, decompress

from openclaw.frozen import frozen
from openclaw.types import Category

FILE = Path(__file__).with_name("classifier.bin")
LANGUAGES = {
    "en": "English",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "it": "Italian",
    "nl": "Dutch",
    "pt": "Portuguese",
    "zh": "Chinese",
    "ja": "Japanese",
}
LONGEST = 600  # characters; of a longer text only both ends are read

_URL = re.compile(r"\bhttps?://\S+|\bwww\.\S+")
_PATH = re.compile(r"(?<![\w@.])(?:[\w-]+/)*[\w-]+\.[a-z]\w{0,4}(?![\w/])")
_QUOTED = re.compile('["\u201c\u201e\u00ab\u300c`]')
_DIGITS = re.compile(r"\d+(?:[.,:]\d+)*")
# Scripts without blanks between the words: each character is a word.
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_HAN_OR_KANA = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_WORD = re.compile(rf"[{_CJK}]|[^\W\d_{_CJK}]+(?:'[^\W\d_{_CJK}]+)?|0|[?!.,:;]|\u00b7\w+")


@frozen
class Labels:
    """What a model says of a text: the probability of each label, and the one above which a label
    may be trusted (0 for a label that never may)."""

    probabilities: Mapping[str, float]
    thresholds: Mapping[str, float]

    def has(self, *labels: str) -> bool:
        """Return True when one of the labels is surely right."""
        return any(self.probabilities[one] >= self.thresholds[one] for one in labels)

    def lacks(self, *labels: str) -> bool:
        """Return True when each of the labels is improbable."""
        return all(self.probabilities[one] < IMPROBABLE for one in labels)

    def best(self, *labels: str) -> str:
        return max(labels, key=lambda one: self.probabilities[one])


SHARES = (1.5, 1.0)
"""Weights of the words and of the letters. On authors not seen this finds 2 to 4 % more than equal
weights at the same precision."""
IMPROBABLE = 0.5
MAY_BE_KIND = 0.3
MAY_HAND_OVER = 0.4
"""From this probability on: what is wrongly left out of the memory costs less than what is kept."""
FEWEST_LETTERS = 4
END_MARKS = "?! \uff1f\uff01"  # tell no language, but make a name of two words one ("Die Hard?")
NAME = " \u00b7name "
"""Stands for the names of persons: who it is says nothing of the topic. On authors not seen this
finds 12 % more at the same precision."""


def read_message(text: str) -> Labels:
    """Return what a user's message wants. For the labels see training/README.md."""
    return _read("message", text)


def read_sentence(sentence: str) -> Labels:
    """Return of which kind a sentence of a user's message is (training/README.md), and whether that
    is lasting (worth keeping) or states something, lasting or not."""
    return _read("sentence", sentence)


CATEGORIES: dict[str, Category] = {
    "fact": "fact",
    "preference": "preference",
    "decision": "decision",
    "contact": "entity",
}
"""The category of each lasting kind of sentence."""


def guess_category(sentence: str) -> Category:
    """Return the category of a sentence that is kept, a fact where no other one is likely."""
    read = read_sentence(sentence)
    kind = read.best(*CATEGORIES)
    return CATEGORIES[kind] if read.probabilities[kind] >= MAY_BE_KIND else "fact"


def hands_over(sentence: str) -> bool:
    """Return True for a sentence that gives or begins a text that is not the user's own word."""
    return _read("source", sentence).probabilities["hands_over"] >= MAY_HAND_OVER


def read_topic(line: str, names: Iterable[str]) -> Labels:
    """Return what a line of notes tells of the persons of these names: gifts, food ..."""
    either = "|".join(map(re.escape, names))
    return _read("topic", re.sub(rf"\b(?:{either})(?=s?\b)", NAME, line, flags=re.IGNORECASE))


def read_answer(sentence: str) -> Labels:
    """Return what a sentence of an answer does: announces, did, offers, asks_back ..."""
    return _read("answer", sentence)


def language_of(text: str) -> str:
    """Return the language of a text as two letters, "" when it is too short to tell."""
    if sum(map(str.isalpha, text[:LONGEST])) < FEWEST_LETTERS:
        return ""
    labels = _read("language", text.rstrip(END_MARKS))
    best = labels.best(*labels.probabilities)
    if best in ("zh", "ja") and not _HAN_OR_KANA.search(text):
        return ""
    return best if labels.has(best) else ""


@frozen
class _Model:
    """One linear model: `rows` has a signed byte for each bucket and column. A label is a column,
    or the columns in `groups` of which one is right; `calibration` has its slope and offset."""

    labels: Sequence[str]
    groups: Sequence[Sequence[int]]
    buckets: int
    pairs: bool
    bias: Sequence[float]
    scale: Sequence[float]
    calibration: Sequence[tuple[float, float]]
    thresholds: Mapping[str, float]
    rows: memoryview

    def read(self, text: str) -> Labels:
        width = len(self.bias)
        scores = list(self.bias)
        for group, share in zip(
            features(text, self.buckets, pairs=self.pairs), SHARES, strict=True
        ):
            sums = [0] * width
            for at in group:
                sums = [a + b for a, b in zip(sums, self.rows[at * width :], strict=False)]
            weight = share / math.sqrt(len(group) or 1)
            scores = [
                score + total * scale * weight
                for score, total, scale in zip(scores, sums, self.scale, strict=True)
            ]
        scores = group_scores(scores, self.groups, len(self.labels))
        pairs = zip(scores, self.calibration, strict=True)
        told = (probability(slope * score + offset) for score, (slope, offset) in pairs)
        return Labels(dict(zip(self.labels, told, strict=True)), self.thresholds)


def group_scores(
    scores: Sequence[float], groups: Sequence[Sequence[int]], labels: int
) -> list[float]:
    """Return the score of each label: the log odds that the right one of the first columns is in
    its group, and of the labels behind those with a group their own column's score."""
    kinds = len(scores) - (labels - len(groups))
    if not groups:
        return list(scores)
    shares = softmax(scores[:kinds])
    inside = (sum(shares[at] for at in group) for group in groups)
    return [*(math.log(max(p, 1e-9) / max(1 - p, 1e-9)) for p in inside), *scores[kinds:]]


def softmax(scores: Sequence[float]) -> list[float]:
    """Return the probability of each column, one of which is right."""
    most = max(scores)
    powers = [math.exp(score - most) for score in scores]
    total = sum(powers)
    return [each / total for each in powers]


def probability(score: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))


@lru_cache(maxsize=256)
def _read(model: str, text: str) -> Labels:
    return _model(model).read(text)


@cache
def _model(name: str) -> _Model:
    with FILE.open("rb") as file:
        told = json.loads(file.readline())["models"][name]
        start, end = told.pop("block")
        file.seek(start, os.SEEK_CUR)
        rows = memoryview(decompress(file.read(end - start))).cast("b")
    return _Model(**told, rows=rows)


def features(
    text: str, buckets: int, *, pairs: bool = False
) -> tuple[Sequence[int], Sequence[int]]:
    """Return the buckets (below `buckets`, each once) of the words and of the letters of a text;
    with `pairs` also those of each two words with one or two others between them."""
    tokens = _tokens(text)
    bounded, words, letters = ["^", *tokens, "$"], [f"#{min(len(tokens), 12) // 3}"], []
    for at, first in enumerate(bounded):
        ends = range(at + 1, min(at + 3, len(bounded)) + 1)
        words += [f"w{' '.join(bounded[at:end])}" for end in ends]
        words += [f"s{first} {later}" for later in bounded[at + 2 : at + 4]] if pairs else ()
    for token in dict.fromkeys(tokens):
        if len(token) > 1 and token[0] != "\u00b7":
            padded = f" {token} "
            for size in (3, 4, 5):
                letters += [f"c{padded[n : n + size]}" for n in range(len(padded) - size + 1)]
    in_words, in_letters = (
        sorted({crc32(each.encode()) % buckets for each in grams}) for grams in (words, letters)
    )
    return in_words, in_letters


def _tokens(text: str) -> list[str]:
    """Return the words and marks of a text, in one form for each: case, numbers, paths and
    addresses do not matter."""
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} {text[-LONGEST // 2 :]}"
    plain = unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")
    plain = _PATH.sub(" \u00b7file ", _URL.sub(" \u00b7url ", plain))
    return _WORD.findall(_QUOTED.sub(" \u00b7quote ", _DIGITS.sub("0", plain)))
