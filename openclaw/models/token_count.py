"""How many tokens a text costs, and how a long one is cut."""

from __future__ import annotations

import functools
import importlib.util
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openclaw.errors import OpenclawError, PromptTooLarge
from openclaw.models.base import Request
from openclaw.storage.readers import parse_foreign_json
from openclaw.storage.safe_open import read_bytes
from openclaw.storage.text import write_text
from openclaw.types import Message

MESSAGE_OVERHEAD = 6
"""Tokens that a chat template adds around a message, rounded up (ChatML takes 5)."""

IMAGE_TOKENS = 1_000
"""What an image is counted for. Models take between 256 (Gemma 3) and 1,300 (Qwen2.5-VL, of a
megapixel) for one."""

SIGN = re.compile(rb"[\n!-@\[-`{-~]|(?<=\d)[A-Za-z]")
RARE = re.compile(rb"[\xcc-\xcf\xd4-\xd7\xe1]")
"""First bytes of letters that cost up to a token a byte: Greek, Armenian, Hebrew, Georgian ..."""


@functools.cache
def tokenizer() -> Callable[[str], int]:
    """Tokens of a text in cl100k_base; characters / 4 when the encoding is not to be had.

    The encoding's file comes with llama-index-core; tiktoken alone would fetch it from the network.
    """
    found = importlib.util.find_spec("llama_index")
    for place in (found.submodule_search_locations if found else None) or ():
        cache = Path(place) / "core" / "_static" / "tiktoken_cache"
        if cache.is_dir():
            os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(cache))
            import tiktoken

            encoding = tiktoken.get_encoding("cl100k_base")
            return lambda text: len(encoding.encode(text, disallowed_special=()))
    return lambda text: -(-len(text) // 4)


@functools.lru_cache(maxsize=1024)
def count(text: str) -> int:
    """Tokens of a text (cl100k_base); kept, as each request counts the conversation again."""
    return tokenizer()(text)


def surely_fits(text: str, tokens: int) -> bool:
    """True when the text cannot exceed so many tokens: a token has two bytes or more, but for
    digits, signs, newlines, letters after digits and rare scripts, which may be one a byte. It
    spares loading the tokenizer (0.3 s), which most prompts never need."""
    data = text.encode(errors="replace")
    return len(data) + len(SIGN.findall(data)) + 3 * len(RARE.findall(data)) <= 2 * tokens


def flat(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> str:
    """Everything that a request makes the model read, as one text."""
    said = (
        m.content + "".join(f"{c.name}{dict(c.arguments)}" for c in m.tool_calls) for m in messages
    )
    return "\n".join((*said, *map(compact, tools)))


def compact(schema: Any) -> str:
    """JSON without blanks, as Ollama's templates write tools; others add up to a third."""
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))


def around(messages: Iterable[Message]) -> int:
    """Tokens of messages beside those of their texts: of the template, and of images."""
    return sum(MESSAGE_OVERHEAD + IMAGE_TOKENS * len(m.images) for m in messages)


def cost(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> int:
    """Tokens of a request as a model is sent it."""
    said = sum(count(flat([m])) for m in messages) + around(messages)
    return said + (count("\n".join(map(compact, tools))) if tools else 0)


def cut(text: str, tokens: int, next_step: str) -> tuple[str, bool]:
    """The text, or its beginning up to a line end within so many tokens and a line that says that
    it was cut and what to do next; and whether it was cut."""
    if surely_fits(text, tokens) or count(text) <= tokens:
        return text, False
    keep = text[: tokens * 4]
    while keep and count(keep) > tokens:
        keep = keep[: int(len(keep) * 0.9)]
    keep = keep[: keep.rfind("\n") + 1] or keep
    left = text[len(keep) :].count("\n") + 1
    return f"{keep.rstrip()}\n[cut here, {left} more lines: {next_step}]", True


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
        if not counted or (self.ratio and not suspicious and not tokenizer.cache_info().currsize):
            return
        ours = self._weight(request)
        if suspicious and counted < SHORTFALL * ours:
            raise PromptTooLarge(
                f"the server read only {counted} of about {ours} tokens: it cut the prompt",
                f"raise the server's context size, or lower `window` (now {window}) in"
                " openclaw.yaml",
            )
        self._set_ratio(counted / ours)

    def _weight(self, request: Request) -> int:
        said = sum(weight(flat([m])) + MESSAGE_OVERHEAD for m in request.messages)
        return said + weight(flat((), request.tools))

    def _set_ratio(self, ratio: float) -> None:
        ratio = min(MOST, max(LEAST, ratio))
        fall = (1 - DECAY) * self.ratio + DECAY * ratio
        self.ratio = round(ratio if ratio > self.ratio or not self.ratio else fall, 4)


VERSION = 1
"""Of the file; one of another version is measured anew."""


@dataclass(frozen=True, slots=True)
class Meters:
    """One JSON file: of each model and protocol the ratio of its tokens to those of cl100k_base,
    and how many of them it reads a second. It may be deleted at any time; then the next reply of
    the model is measured again."""

    path: Path

    def meter(self, name: str) -> Meter:
        ratio = self._read().get(name, {}).get("ratio", 0.0)
        known = isinstance(ratio, int | float) and LEAST <= ratio <= MOST
        return Meter(float(ratio) if known else 0.0)

    def keep(self, name: str, meter: Meter) -> None:
        """Write what a meter has learned, when it is something new."""
        self.set(name, "ratio", round(meter.ratio, 2))

    def get(self, name: str, key: str) -> float:
        value = self._read().get(name, {}).get(key, 0.0)
        return float(value) if isinstance(value, int | float) else 0.0

    def set(self, name: str, key: str, value: float) -> None:
        found = self._read()
        if not value or found.get(name, {}).get(key) == value:
            return
        found.setdefault(name, {})[key] = value
        with suppress(OSError, OpenclawError):  # without the file it is measured again
            shape = {"version": VERSION, **found}
            write_text(self.path, json.dumps(shape, indent=2, sort_keys=True) + "\n")

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            found = parse_foreign_json(read_bytes(self.path))
        except (OSError, ValueError):
            return {}
        if not isinstance(found, dict) or found.get("version") != VERSION:
            return {}
        return {name: known for name, known in found.items() if isinstance(known, dict)}
