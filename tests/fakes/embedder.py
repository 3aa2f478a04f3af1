"""An embedder without a model: texts that share words are near."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from openclaw.errors import ServerAway
from tests.fakes.vectors import of_words

SAME_MEANING = {"automobile": "car", "feline": "cat", "dwelling": "house"}


class WordEmbedder:
    """Vectors from hashes of words, a few of which mean the same.

    `left` is how many texts it embeds before its server is away; `seconds` how long each call
    takes; `spoilt` what it gives for a question instead. `texts` records what it was given.
    """

    window = 256

    def __init__(
        self,
        name: str = "fake/words",
        *,
        width: int = 64,
        left: int = 1_000_000,
        seconds: float = 0.0,
        spoilt: Sequence[float] | None = None,
    ) -> None:
        self.name, self.width, self.left, self.seconds = name, width, left, seconds
        self.spoilt = spoilt
        self.texts: list[str] = []
        self.questions: list[str] = []

    def documents(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        time.sleep(self.seconds)
        if len(texts) > self.left:
            raise ServerAway("the embedding server is away", "start it")
        self.left -= len(texts)
        self.texts += texts
        return np.array([self._vector(text) for text in texts], np.float32)

    def query(self, text: str) -> npt.NDArray[np.float32]:
        self.questions.append(text)
        if self.left <= 0:
            raise ServerAway("the embedding server is away", "start it")
        return np.array(self.spoilt or self._vector(text), np.float32)

    def load(self) -> None: ...

    def close(self) -> None: ...

    def _vector(self, text: str) -> list[float]:
        words = [SAME_MEANING.get(word, word) for word in text.lower().split()]
        return of_words(" ".join(words), self.width)
