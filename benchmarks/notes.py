"""Homes of made-up notes, the same ones every time, and vectors for them at no cost.

    make_home(root, chunks=10_000)      Markdown with exactly that many passages, in memory/
    give_vectors(root)                  the index of it, with vectors as if MiniLM had made them
    questions(20, chunks=10_000)        of words that stand in the notes

Words come as in a language: the commonest are English, the others made up of syllables, and the
n-th commonest of `VOCABULARY` words comes 1/n times as often as the first (Zipf's law).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from functools import cache
from itertools import accumulate, islice, product
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openclaw.retrieval.embedder_choice import Embedder
    from openclaw.retrieval.search import Search

VOCABULARY = 8_000
LINES_A_DAY = 50
LINES_A_SECTION = 10
WORDS_A_LINE = (15, 35)
LAST_DAY = date(2026, 11, 20)
COMMON = (
    "the of and to in a is that for it was on with as be at by we this from have or not are but "
    "has an they which you were all their had been one will more when so about if out up can some "
    "into them time only do new after before"
).split()
SECTIONS = ("Standup", "Calls", "Decisions", "Reading", "Errands", "Ideas", "Open questions")
DIMENSIONS = 384


def make_home(root: Path, chunks: int, seed: int = 1) -> None:
    """Write daily notes that are `chunks` passages (a heading and a list item are one each) to
    `root`/memory. What else lies there is left alone."""
    folder = root / "memory"
    folder.mkdir(parents=True, exist_ok=True)
    lines = note_lines(chunks, seed)
    day = LAST_DAY
    while page := "".join(islice(lines, LINES_A_DAY)):
        (folder / f"{day}.md").write_text(page, encoding="utf-8", newline="\n")
        day -= timedelta(days=1)


def questions(count: int, chunks: int, seed: int = 1) -> list[str]:
    """Questions of some rarer words of a line each, the same lines that `make_home` writes."""
    items = [line for line in note_lines(chunks, seed) if line.startswith("- ")]
    return [_question(line) for line in items[:: max(1, len(items) // count)][:count]]


def give_vectors(root: Path, seeds: NDArray[np.float32] | None = None) -> int:
    """Bring the index of a home up to date, with a vector for each passage that has none: a random
    one, or one mixed from `seeds`; how many passages there are."""
    search = opened(root, None if seeds is None else lambda: MixedEmbedder(seeds))
    chunks = search.refresh().chunks
    search.embed()
    search.close()
    return chunks


def opened(root: Path, embedder: Callable[[], Embedder | None] | None = None) -> Search:
    """The search over a home, with vectors that cost nothing when no embedder is given."""
    from openclaw.retrieval.scan import IndexOptions
    from openclaw.retrieval.search import Search
    from openclaw.storage.home import Home

    home = Home(root.resolve())
    return Search(home, IndexOptions(), embedder or RandomEmbedder, home.private)


class RandomEmbedder:
    """Gives random vectors of length 1 under MiniLM's name, so that MiniLM takes them as its own:
    their worth is nothing, their cost in the index that of real ones."""

    def __init__(self, seed: int = 1) -> None:
        import numpy as np

        self._random = np.random.default_rng(seed)

    @property
    def name(self) -> str:
        from openclaw.retrieval.minilm import NAME

        return NAME

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        vectors = self._random.standard_normal((len(texts), DIMENSIONS), np.float32)
        unit: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit

    def query(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self.documents([text])[0]
        return vector

    def load(self) -> None:
        """Nothing is loaded."""

    def close(self) -> None:
        """Nothing is held."""


class MixedEmbedder(RandomEmbedder):
    """Gives vectors as near to each other as those of real lines are: each is a mix of two of some
    real `seeds` (float32[n, 384]) and of as much that is random."""

    def __init__(self, seeds: NDArray[np.float32]) -> None:
        super().__init__()
        self._seeds = seeds

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        pairs = self._random.integers(0, len(self._seeds), (2, len(texts)))
        share = self._random.uniform(0.5, 1, (len(texts), 1)).astype(np.float32)
        one, other = self._seeds[pairs]
        mixed = share * one + (1 - share) * other + super().documents(texts) / 2
        unit: NDArray[np.float32] = mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
        return unit


def note_lines(count: int, seed: int) -> Iterator[str]:
    """Lines of notes: a heading for each day and each section, else list items of about 25 words,
    one in five of them with a number as tickets have."""
    chance = random.Random(seed)
    words, weights = _vocabulary()
    for at in range(count):
        if at % LINES_A_DAY == 0:
            yield f"# {LAST_DAY - timedelta(days=at // LINES_A_DAY)}\n"
        elif at % LINES_A_SECTION == 1:
            yield f"\n## {SECTIONS[at // LINES_A_SECTION % len(SECTIONS)]}\n\n"
        else:
            said = chance.choices(words, cum_weights=weights, k=chance.randint(*WORDS_A_LINE))
            said[0] = said[0].capitalize()
            if chance.random() < 0.2:
                said.insert(len(said) // 2, f"OPS-{chance.randint(1000, 9999)}")
            yield f"- {' '.join(said)}.\n"


@cache
def _vocabulary() -> tuple[list[str], list[float]]:
    """Words, the commonest first, and the running sums of how often each comes."""
    sounds = ["".join(pair) for pair in product("bdfgklmnprstv", "aeiou")]
    made = ["".join(parts) for size in (2, 3) for parts in product(sounds, repeat=size)]
    random.Random(0).shuffle(made)
    words = [*COMMON, *made][:VOCABULARY]
    return words, list(accumulate(1 / rank for rank in range(1, len(words) + 1)))


def _question(line: str) -> str:
    rare = [word for word in line.strip("-. \n").split() if word.lower() not in COMMON]
    return f"What about {' '.join(rare[:5])}?"
