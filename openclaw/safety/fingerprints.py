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
"""Words and letters of a line that hardly stands in another text by chance."""
LENGTH = 12
"""Hex digits: of a million pairs of different runs, one in 280 million is taken for the same."""

_SIGNS = r"\u3040-\u30ff\u3400-\u9fff"  # of scripts without blanks: each counts as a word
_WORD = re.compile(rf"[{_SIGNS}]|[^\W_{_SIGNS}]+")


def fingerprints(text: str) -> Iterator[str]:
    """Those of a text, some of them more than once."""
    words = _words(text)
    yield from (_hash(words[at : at + RUN]) for at in range(len(words) - RUN + 1))
    for line in text.splitlines():
        words = _words(line)
        if FEWEST <= len(words) < RUN and sum(map(len, words)) >= SHORTEST:
            yield _hash(words)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _hash(words: list[str]) -> str:
    return md5(" ".join(words).encode(errors="replace"))[:LENGTH]
