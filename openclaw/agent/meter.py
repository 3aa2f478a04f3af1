"""How many tokens a request costs one model, learned from what its server counts."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from openclaw.agent.budget import MESSAGE_OVERHEAD, around, compact, count, flat, surely_fits
from openclaw.agent.budget import tokenizer as counter
from openclaw.errors import PromptTooLarge
from openclaw.models.base import Request
from openclaw.shapes import Message

UNKNOWN = 1.15
"""The ratio that is taken of a model that was never asked: a guess on the safe side, which its
first reply corrects."""
LEAST, MOST = 0.5, 4.0
TOO_LOW = 1.3
DIGITS = re.compile(r"\d\d+")
MARGIN = 1.02
"""Above what was learned, as no two requests have quite the same ratio."""
DECAY = 0.1
"""Of the way down to a lower count that the ratio goes at each; it goes up to a higher at once."""
SHORTFALL = 0.6
"""A server that read less than this share of what was sent has cut it."""


@functools.lru_cache(maxsize=1024)
def weight(text: str) -> int:
    """Tokens of cl100k_base, as if each digit were one. So it is with Qwen2.5: of a CSV file that
    cl100k_base, which takes three digits together, counts 476 for, it reads 986, as told here."""
    return count(text) + sum(len(run) - -(-len(run) // 3) for run in DIGITS.findall(text))


@dataclass(slots=True)
class Meter:
    """Counts tokens as one model does: those of cl100k_base times `ratio`, which is 0.0 until the
    model's server has counted a request."""

    ratio: float = 0.0

    @property
    def factor(self) -> float:
        return self.ratio * MARGIN if self.ratio else UNKNOWN

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return math.ceil(weight(text) * self.factor)

    def cost(self, messages: Iterable[Message]) -> int:
        """Tokens of messages, with what a chat template puts around each."""
        return sum(self.count(flat([m])) + around([m]) for m in messages)

    def tools(self, tools: Sequence[object]) -> int:
        return self.count("\n".join(map(compact, tools))) if tools else 0

    def fits(self, text: str, tokens: int) -> bool:
        """Whether a text has at most so many tokens; most texts are known to without a count."""
        most = int(tokens / self.factor)
        return surely_fits(text, most) or weight(text) <= most

    def refused(self, request: Request, counted: int = 0) -> bool:
        """The server has found a request too large that was counted as fitting: count higher from
        now on, as the server did where it said (`counted`). False when that has been done often
        enough."""
        if self.factor >= MOST:
            return False
        ratio = min(MOST, round(counted / self._weight(request), 4)) if counted else 0.0
        if ratio > self.factor:
            self.ratio = ratio
            return True
        self.ratio = min(MOST, round(self.factor * TOO_LOW, 4))
        return True

    def learn(self, request: Request, counted: int, window: int) -> None:
        """Take in how many tokens the server read for a request (0: it did not say).

        Raises PromptTooLarge when it read far fewer than were sent: it cut the prompt in silence.
        """
        if any(m.images for m in request.messages):
            return  # nobody knows how many of the tokens are theirs
        size = len(flat(request.messages, request.tools).encode(errors="replace"))
        suspicious = counted * 8 <= size
        # Loading the tokenizer takes 0.15 s: for the first request of a model, or one that looks
        # wrong; later only where it is there anyway.
        if not counted or (self.ratio and not suspicious and not counter.cache_info().currsize):
            return
        ours = self._weight(request)
        if suspicious and counted < SHORTFALL * ours:
            raise PromptTooLarge(
                f"the server read only {counted} of about {ours} tokens: it cut the prompt",
                f"raise the server's context size, or lower `window` (now {window}) in"
                " openclaw.yaml",
            )
        self._take(counted / ours)

    def _weight(self, request: Request) -> int:
        said = sum(weight(flat([m])) + MESSAGE_OVERHEAD for m in request.messages)
        return said + weight(flat((), request.tools))

    def _take(self, ratio: float) -> None:
        ratio = min(MOST, max(LEAST, ratio))
        fall = (1 - DECAY) * self.ratio + DECAY * ratio
        self.ratio = round(ratio if ratio > self.ratio or not self.ratio else fall, 4)
