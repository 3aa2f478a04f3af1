"""Do two short lines say the same? Strict, because the second of two is refused."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from functools import lru_cache

_WORD = re.compile(r"\w+[+#]*")
_EMPTY = frozenset(
    (
        *("a", "an", "the", "is", "are", "was", "were", "be", "to", "of", "in", "on", "at", "for"),
        *("my", "your", "s"),
    )
)
_ALIKE = 0.85
_MIN_LENGTH = 5


def same(left: str, right: str) -> bool:
    """Whether two lines differ in no more than small words, endings, case, marks or a typo.

    A different number, name or short word makes two lines different.
    """
    first, second = _words(left), _words(right)
    if not first or not second:
        return left.split() == right.split()
    if sorted(map(_stem, first)) == sorted(map(_stem, second)):
        return _in_order(first, second) or len(first) <= 2
    return len(first) == len(second) and all(
        _stem(a) == _stem(b) or _typo(a, b) for a, b in zip(first, second, strict=True)
    )


@lru_cache(maxsize=4096)
def _words(text: str) -> Sequence[str]:
    words = _WORD.findall(text.replace("\u2019", "'").replace("'s ", " "))
    return [word for word in words if word.casefold() not in _EMPTY]


def _stem(word: str) -> str:
    plain = word.casefold()
    return plain[:-1] if len(plain) > 3 and plain.endswith("s") else plain


def _in_order(first: Sequence[str], second: Sequence[str]) -> bool:
    return [_stem(word) for word in first] == [_stem(word) for word in second]


def _typo(left: str, right: str) -> bool:
    words = (left, right)
    if any(len(word) < _MIN_LENGTH or not word.islower() or not word.isalpha() for word in words):
        return False
    return difflib.SequenceMatcher(None, left, right).ratio() >= _ALIKE
