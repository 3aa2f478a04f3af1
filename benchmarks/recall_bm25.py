"""Plain BM25 with stemming, to compare with: each line for itself, nothing around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bm25s
import Stemmer

from openclaw.retrieval.passages import Passage

if TYPE_CHECKING:
    from benchmarks.recall_score import Corpus


class PlainBM25:
    """The lines of a corpus in memory, with bm25s's own defaults (k1 1.5, b 0.75), its English stop
    words and Snowball's English stems."""

    def __init__(self, corpus: Corpus, most: int) -> None:
        self._lines = [
            (path, number, line)
            for path, lines in corpus.lines.items()
            for number, line in enumerate(lines, 1)
            if line.strip()
        ]
        self._most = min(most, len(self._lines))
        self._bm25 = bm25s.BM25()
        self._bm25.index(self._tokens([line for _, _, line in self._lines]), show_progress=False)

    def ask(self, question: str) -> list[Passage]:
        """The lines with a word of the question, best first."""
        found, scores = self._bm25.retrieve(
            self._tokens([question]), k=self._most, show_progress=False
        )
        return [
            Passage(path, number, number, line, float(score))
            for (path, number, line), score in zip(
                (self._lines[at] for at in found[0]), scores[0], strict=True
            )
            if score > 0
        ]

    def _tokens(self, texts: list[str]) -> list[list[str]]:
        stemmer = Stemmer.Stemmer("english")
        tokens: list[list[str]] = bm25s.tokenize(
            texts, stopwords="en", stemmer=stemmer, return_ids=False, show_progress=False
        )
        return tokens
