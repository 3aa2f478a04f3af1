"""Comments of HTML in a text, found in one pass: what has no end costs no more than what has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

OPEN, CLOSE = "<!--", "-->"


class Comment(NamedTuple):
    """Where a comment begins, with the blanks before it, and ends; `inner` is what it says."""

    start: int
    end: int
    inner: str


def comments(text: str) -> Iterator[Comment]:
    """The comments of a text in their order; one without an end is none."""
    end = 0
    while (at := text.find(OPEN, end)) >= 0:
        close = text.find(CLOSE, at + len(OPEN))
        if close < 0:
            return
        start = end + len(text[end:at].rstrip(" \t"))
        end = close + len(CLOSE)
        yield Comment(start, end, text[at + len(OPEN) : close])


def without_comments(text: str) -> str:
    """The text without its comments and the blanks before them."""
    kept, end = [], 0
    for comment in comments(text):
        kept.append(text[end : comment.start])
        end = comment.end
    return "".join((*kept, text[end:]))
