"""What is wrong with a reply as a whole: it goes round in circles."""

from __future__ import annotations

SMALLEST, LARGEST = 20, 200
"""Characters of what is repeated."""


def is_stuck(text: str) -> bool:
    """True when a text ends in the same 20 to 200 characters, words among them, four times over:
    a small model that has fallen into a loop goes on so to the last token."""
    tail = text[-4 * LARGEST :]
    last = tail[-SMALLEST:]
    at = tail.rfind(last, 0, -SMALLEST)  # asked after every piece: most texts end here
    while at >= 0 and len(tail) - SMALLEST - at <= LARGEST:
        piece = tail[at + SMALLEST :]
        if len(set(piece)) > 5 and tail.endswith(piece * 4):
            return True
        at = tail.rfind(last, 0, at + SMALLEST - 1)
    return False
