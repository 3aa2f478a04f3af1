"""Compounds and their parts: "Schlüssel der Halle" and "Hallenschlüssel", "green house" and
"greenhouse". What splits a word are the words of a collection (Koehn & Knight 2003)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product

# Letters of a part, and between the stems of two parts ("Hall|en|schlüssel").
SHORTEST_PART, MAX_LINK = 4, 3


def find_compounds(
    words: Iterable[str], known_like: Callable[[str], list[str]], is_known: Callable[[str], bool]
) -> Iterator[tuple[str, str, str]]:
    """The known compounds of two of the words, and the unknown ones among the words that two known
    words make up: each with its first and its last part. `known_like` gives the known words that
    begin so."""
    parts = [word for word in words if word.isalpha() and len(word) >= SHORTEST_PART]
    for first in parts:
        for whole in filter(str.isalpha, known_like(first)):
            lasts = (whole[len(first) + link :] for link in range(MAX_LINK + 1))
            yield from ((whole, first, last) for last in lasts if last in parts)
    for whole in (word for word in parts if not is_known(word)):
        for link, end in product(range(MAX_LINK + 1), range(SHORTEST_PART, len(whole))):
            first, last = whole[:end], whole[end + link :]
            if len(last) >= SHORTEST_PART and is_known(first) and is_known(last):
                yield whole, first, last
                break
