"""Words as the cues compare them: without small words and the commonest English endings."""

from __future__ import annotations

import re

WORD = re.compile(r"[^\W_]{3,}")
COMMON = frozenset(
    """about after all also and any are ask asks before but call can day does file files for from
    get has have her him his how into its just let like make makes may more most much need needs new
    not now one only other our out please put set she short should skill some than that the their
    them then there these they this those use used user uses using was what when where which who
    will with write writes you your""".split()
)


def content_words(text: str) -> list[str]:
    """The words of a text that say what it is about, without their commonest endings."""
    words = (word.lower() for word in WORD.findall(text))
    return [stem(word) for word in words if word not in COMMON]


def stem(word: str) -> str:
    """A word without the commonest English endings."""
    for end in ("ing", "ies", "es", "ed", "s"):
        if word.endswith(end) and len(word) - len(end) >= 4:
            return word[: -len(end)]
    return word
