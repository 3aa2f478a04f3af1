"""Vectors of words: texts that share words are near, and a text has the same vector everywhere."""

from __future__ import annotations

import hashlib
import math
import re

DIMENSIONS = 64


def of_words(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """The sum of a direction for each word, with length 1; a text without words has one too."""
    total = [0.0] * dimensions
    for word in re.findall(r"\w+", text.lower()) or [""]:
        stretch = hashlib.shake_256(word.encode()).digest(dimensions)
        total = [sum_ + (byte - 127.5) for sum_, byte in zip(total, stretch, strict=True)]
    length = math.sqrt(sum(value * value for value in total))
    return [value / length for value in total]
