"""What is measured of a long conversation: what requests share, what a turn takes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from benchmarks.long_server import Sent, segments, tokens_in
from benchmarks.long_talk import Talked

BAND = 10
"""Turns on each side of one whose time is told."""


def share_of(held: Sequence[bool]) -> str:
    """In percent, with no rounding up to 100."""
    share = 100 * sum(held) / max(len(held), 1)
    return "100 %" if all(held) else f"{min(share, 99.9):.1f} %"


def reused(sent: Sequence[Sent]) -> list[float]:
    """For each request but the first the share of the one before that it begins with."""
    return [
        same_prefix(segments(a.body), segments(b.body)) / max(size_of(a), 1)
        for a, b in pairwise(sent)
    ]


def read_anew(sent: Sequence[Sent]) -> float:
    """The share of all tokens that one slot of a server has to read."""
    same = sum(same_prefix(segments(a.body), segments(b.body)) for a, b in pairwise(sent))
    return 1 - same / max(sum(map(size_of, sent)), 1)


def size_of(sent: Sent) -> int:
    """Tokens of a request, in cl100k_base."""
    return sum(map(tokens_in, segments(sent.body)))


def same_prefix(before: Sequence[str], after: Sequence[str]) -> int:
    """Tokens of `before` that `after` begins with."""
    kept = 0
    for old, new in zip(before, after, strict=False):
        if old != new:
            same = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), None)
            return kept + tokens_in(old[:same] if same is not None else min(old, new, key=len))
        kept += tokens_in(old)
    return kept


def harness_ms(talk: Talked) -> dict[int, float]:
    """Milliseconds of each turn without those in which the server's script worked."""
    scripted: dict[int, float] = {}
    for sent in talk.sent:
        scripted[sent.turn] = scripted.get(sent.turn, 0.0) + sent.seconds
    return {turn: 1000 * (s - scripted.get(turn, 0.0)) for turn, s in talk.seconds.items()}


def band(values: dict[int, float], turn: int) -> float:
    """The median of the turns around this one."""
    near = [value for number, value in values.items() if abs(number - turn) <= BAND]
    return median(near) if near else float("nan")
