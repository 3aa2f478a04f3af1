"""Fingerprints of a text: hashes of runs of its words, by which a part of it is known again in any
other text, whatever stands around it and however its lines are broken.

A run is eight words that follow each other. A line too short for one has a fingerprint of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from openclaw.files.text import md5

RUN = 8
FEWEST, SHORTEST = 4, 16
"""Words and signs of a line that hardly stands in another text by chance."""
LENGTH = 12
"""Hex digits: of a million pairs of different runs, one in 280 million is taken for the same."""

_WORD = re.compile(r"[^\W_]+")
_FIRST, _LAST = "\u3040", "\u9fff"
"""Of the scripts without blanks: each sign counts as a word."""


def fingerprints(text: str) -> Iterator[str]:
    """Those that are kept of a text, some of them more than once."""
    yield from _runs(_words(text), RUN)
    for line in text.splitlines():
        words = _words(line)
        if FEWEST <= len(words) < RUN:
            yield from _runs(words, len(words))


def all_fingerprints(text: str) -> Iterator[str]:
    """Those that a text may share with what is kept of another one."""
    words = _words(text)
    for length in range(FEWEST, RUN + 1):
        yield from _runs(words, length)


def _runs(words: list[str], length: int) -> Iterator[str]:
    for at in range(len(words) - length + 1):
        run = " ".join(words[at : at + length])
        if length == RUN or len(run) >= SHORTEST:
            yield md5(run.encode(errors="replace"))[:LENGTH]


def _words(text: str) -> list[str]:
    found: list[str] = []
    for word in _WORD.findall(text.casefold()):
        signs = not word.isascii() and any(_FIRST <= sign <= _LAST for sign in word)
        found += word if signs else [word]
    return found
