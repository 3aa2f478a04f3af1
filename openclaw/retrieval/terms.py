"""The words of one file's chunks as postings. Imports numpy: import this module only lazily."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from openclaw.retrieval.chunks import Chunk
from openclaw.retrieval.tokens import language_of, words

OWN_WEIGHT = 2
_SAMPLE = 200

Posting = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]


def postings(chunks: Sequence[Chunk]) -> tuple[dict[str, Posting], npt.NDArray[np.float32]]:
    """For each word: the chunks' ordinals (int32, ascending) and its counts in them (float32);
    and the lengths of all chunks (float32[n], words of the context).

    A word of the chunk's own line counts `OWN_WEIGHT` times, one of its headings and neighbours
    once. A piece of text that several chunks share is read once.
    """
    language = language_of(raw for chunk in chunks[:_SAMPLE] for raw in chunk.text.split())
    numbers: dict[str, int] = {}
    read: dict[str, npt.NDArray[np.int64]] = {}
    found: list[npt.NDArray[np.int64]] = []
    sizes = np.zeros(len(chunks), np.int64)
    for ordinal, chunk in enumerate(chunks):
        for at, part in enumerate(chunk.parts or ((chunk.context,) if chunk.context else ())):
            ids = read.get(part)
            if ids is None:
                terms = words(part, language)
                ids = np.array([numbers.setdefault(t, len(numbers)) for t in terms], np.int64)
                read[part] = ids
            weight = 1 if at else OWN_WEIGHT
            found.extend([ids] * weight)
            sizes[ordinal] += len(ids) * weight
    return _by_word(found, sizes, list(numbers)), sizes.astype(np.float32)


def _by_word(
    found: list[npt.NDArray[np.int64]], sizes: npt.NDArray[np.int64], terms: list[str]
) -> dict[str, Posting]:
    """Word numbers in the order of the chunks, counted by word and chunk."""
    if not terms:
        return {}
    count = len(sizes)
    keys = np.concatenate(found) * count + np.repeat(np.arange(count), sizes)
    pairs, counts = np.unique(keys, return_counts=True)
    owners = (pairs % count).astype(np.int32)
    tfs = counts.astype(np.float32)
    ends = np.searchsorted(pairs // count, np.arange(len(terms)), side="right").tolist()
    starts = [0, *ends[:-1]]
    return {
        term: (owners[start:end], tfs[start:end])
        for term, start, end in zip(terms, starts, ends, strict=True)
    }
