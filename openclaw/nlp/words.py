"""Split texts into words to compare, without small words and common English endings."""

from __future__ import annotations

import re

LONGEST_OWN = 2_000  # characters; a longer message is taken to be partly pasted
SHORTEST_LASTING, LONGEST_LASTING = 8, 500
"""Bytes that a fact has at least when it is kept, as a Chinese character says as much as three
letters, and characters that it has at most."""

WORD = re.compile(r"[^\W_]{3,}")
COMMON = frozenset(
    """about after all also and any are ask asks before but call can day does file files for from
    get has have her him his how into its just let like make makes may more most much need needs new
    not now one only other our out please put set she short should skill some than that the their
    them then there these they this those use used user uses using was what when where which who
    will with write writes you your""".split()
)

ANY_WORD = re.compile(r"[^\W_]+")
SMALL = frozenset(
    """a am an as at be been being by d do due going had he i if in is it ll m me my myself no of on
    or re s she so t to too up us ve via we
    called calls keep kept known like likes mine name named names prefer prefers said say says she
    stay tell tells told want wanted wants
    did does done ever here himself herself itself themselves yourself via""".split()
)
NEGATION = re.compile(
    r"\b(?:not|cannot|never|no|none|nobody|nothing|without|neither|nor|nicht|nie|niemals|nein|kein\w*|nichts"
    r"|ohne|pas|jamais|aucun\w*|sans|nunca|sin|non|(?-i:mai)|senza)\b|n['\u2019]t\b",
    re.IGNORECASE,
)

_DENIED = re.compile(rf"(?:{NEGATION.pattern})((?:\s+[\w'\u2019-]+){{1,3}})", re.IGNORECASE)


def has_negation(sentence: str) -> bool:
    """Return True when a sentence says that something is not so."""
    return NEGATION.search(sentence) is not None


def denied_words(sentence: str) -> str:
    """Return the words that stand close behind a negation, in the same clause."""
    return "".join(_DENIED.findall(sentence))


def content_words(text: str) -> list[str]:
    """Return the words that say what a text is about, without their commonest endings."""
    words = (word.lower() for word in WORD.findall(text))
    return [stem(word) for word in words if word not in COMMON]


def all_stems(text: str) -> list[str]:
    """Return all words and numbers of a text, stemmed, in their order."""
    return [stem(word.lower()) for word in ANY_WORD.findall(text)]


def stem(word: str) -> str:
    """Return a word without the commonest English endings."""
    for end in ("ing", "ies", "es", "ed", "s"):
        if word.endswith(end) and len(word) - len(end) >= 3 + (end != "s"):
            return word[: -len(end)]
    return word


def significant_words(text: str) -> frozenset[str]:
    """Return all words and numbers of a text except the small ones, stemmed. Texts with the same
    ones say the same; "is called", "likes" and other ways to say "is" do not count."""
    words = (word.casefold() for word in ANY_WORD.findall(text))
    return frozenset(stem(word) for word in words if word not in SMALL and word not in COMMON)


def missing_words(text: str, said: str) -> set[str]:
    """Return the telling words of a text that `said` does not have."""
    known, folded = significant_words(said), said.casefold()
    words = significant_words(text) - known
    # Scripts without blanks between the words have no words to compare.
    return {word for word in words if word.isascii() or word not in folded}
