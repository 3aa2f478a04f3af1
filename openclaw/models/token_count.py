"""Counts the tokens of texts and requests, learns how a model counts, and cuts long texts."""

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
from openclaw.frozen import frozen
from openclaw.messages import Message
from openclaw.models.base import Request
from openclaw.storage.safe_open import md5, read_json_cache
from openclaw.storage.text import write_text

MESSAGE_OVERHEAD = 6
"""Tokens that a chat template adds around a message, rounded up (ChatML takes 5)."""

IMAGE_TOKENS = 1_000
"""Estimated tokens of an image. Models take between 256 (Gemma 3) and 1,300 (Qwen2.5-VL, one
megapixel)."""

SIGN = re.compile(rb"[\n!-@\[-`{-~]|(?<=\d)[A-Za-z]")
RARE = re.compile(rb"[\xcc-\xcf\xd4-\xd7\xe1]")
"""First bytes of letters that cost up to a token a byte: Greek, Armenian, Hebrew, Georgian ..."""


@functools.cache
def tokenizer() -> Callable[[str], int]:
    """A function that counts tokens in cl100k_base; without the encoding, characters / 4.

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
    """Tokens of a text (cl100k_base); cached, as each request counts the conversation again."""
    return tokenizer()(text)


def most_tokens(text: str) -> int:
    """The most tokens that a text can have. A token has at least two bytes, except for digits,
    signs, newlines, letters after digits and rare scripts with one token a byte."""
    data = text.encode(errors="replace")
    return -(-(len(data) + len(SIGN.findall(data)) + 3 * len(RARE.findall(data))) // 2)


def surely_fits(text: str, tokens: int) -> bool:
    """True when the text cannot exceed so many tokens. Most prompts then need no tokenizer, which
    takes 0.3 s to load."""
    return most_tokens(text) <= tokens


def request_text(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> str:
    said = (
        m.content + "".join(f"{c.name}{dict(c.arguments)}" for c in m.tool_calls) for m in messages
    )
    return "\n".join((*said, *map(compact_json, tools)))


def compact_json(schema: Any) -> str:
    """JSON without blanks, as Ollama's templates write tools; other templates add up to a third."""
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))


def count_overhead(messages: Iterable[Message]) -> int:
    """Tokens of messages besides their texts: of the template and of images."""
    return sum(MESSAGE_OVERHEAD + IMAGE_TOKENS * len(m.images) for m in messages)


def cut(
    text: str, tokens: int, next_step: str, count: Callable[[str], int] = count
) -> tuple[str, bool]:
    """(text, was cut). A text over `tokens` is cut at a line end, and a line is added that says so
    and contains `next_step`, what to do next."""
    if surely_fits(text, tokens) or count(text) <= tokens:
        return text, False
    keep = text[: tokens * 4]
    while keep and count(keep) > tokens:
        keep = keep[: int(len(keep) * 0.9)]
    keep = keep[: keep.rfind("\n") + 1] or keep
    left = text[len(keep) :].count("\n") + 1
    return f"{keep.rstrip()}\n[cut here, {left} more lines: {next_step}]", True


MAX_SAVED = 200


@dataclass(slots=True)
class SavedCounts:
    """A JSON file with the tokens of texts by their MD5: a text that was counted before needs no
    tokenizer, which takes 0.2 s and 40 MiB to load. The file may be deleted at any time."""

    path: Path
    _known: dict[str, int] | None = None

    def count(self, text: str) -> int:
        if self._known is None:
            known = read_json_cache(self.path).items()
            self._known = {k: n for k, n in known if isinstance(n, int) and n >= 0}
        key = md5(text.encode(errors="replace"))
        if key not in self._known:
            self._known[key] = count(text)
            newest = dict([*self._known.items()][-MAX_SAVED:])
            with suppress(OSError, OpenclawError):  # without the file it is counted again
                write_text(self.path, json.dumps(newest, indent=0) + "\n")
        return self._known[key]


UNKNOWN = 1.15  # the assumed ratio of a model before its first reply: a guess on the safe side
LEAST, MOST = 0.5, 4.0
TOO_LOW = 1.3
DIGITS = re.compile(r"\d\d+")
MARGIN = 1.02  # factor above the learned ratio, as no two requests have exactly the same one
DECAY = 0.1
"""The share by which the ratio moves towards a lower measurement; a higher one counts at once."""
SHORTFALL = 0.6  # a server that read less than this share of the request has cut it


@functools.lru_cache(maxsize=1024)
def weight(text: str) -> int:
    """Tokens of cl100k_base with each digit as one token. Qwen2.5 counts so: it reads 986 tokens,
    as counted here, of a CSV file with 476 in cl100k_base, which joins three digits."""
    return count(text) + sum(len(run) - -(-len(run) // 3) for run in DIGITS.findall(text))


@dataclass(slots=True)
class Meter:
    """Counts tokens as one model does: tokens of cl100k_base times `ratio`, which is 0.0 until the
    model's server has counted a request. `rate`: the tokens that the model reads per second, 0.0
    when unknown. `was_refused`: the server found a request too large that fitted by this count."""

    ratio: float = 0.0
    rate: float = 0.0
    was_refused: bool = False

    @property
    def factor(self) -> float:
        return self.ratio * MARGIN if self.ratio else UNKNOWN

    def count(self, text: str) -> int:
        return math.ceil(weight(text) * self.factor)

    def cost(self, messages: Iterable[Message]) -> int:
        """Tokens of messages, including their chat template."""
        return sum(self.count(request_text([m])) + count_overhead([m]) for m in messages)

    def tools(self, tools: Sequence[object]) -> int:
        return self.count("\n".join(map(compact_json, tools))) if tools else 0

    def fits(self, text: str, tokens: int) -> bool:
        """Return True when a text has at most so many tokens. Most texts need no count."""
        most = int(tokens / self.factor)
        return surely_fits(text, most) or weight(text) <= most

    def refused(self, request: Request, counted: int = 0) -> bool:
        """Count higher from now on, after the server found a request too large that fitted by this
        count; `counted` is the server's count, 0 without one. False when the ratio is at `MOST`."""
        if self.factor >= MOST:
            return False
        self.was_refused = True
        ratio = counted / self._weight(request) if counted else 0.0
        ratio = ratio if ratio > self.factor else self.factor * TOO_LOW
        self.ratio = min(MOST, round(ratio, 4))
        return True

    def learn(self, request: Request, counted: int, window: int) -> None:
        """Learn from the tokens that the server read for a request (0: it did not say).

        Raises PromptTooLarge when it read far fewer than were sent: it cut the prompt silently.
        """
        if any(m.images for m in request.messages):
            return  # the tokens of the images are unknown
        size = len(request_text(request.messages, request.tools).encode(errors="replace"))
        suspicious = counted * 8 <= size
        # Loading the tokenizer takes 0.15 s: only for the first request of a model, for one that
        # looks wrong, or when it is loaded already.
        if not counted or (self.ratio and not suspicious and not tokenizer.cache_info().currsize):
            return
        ours = self._weight(request)
        if suspicious and counted < SHORTFALL * ours:
            raise PromptTooLarge(
                f"the server read only {counted} of about {ours} tokens: it cut the prompt",
                f"raise the server's context size, or lower `window` (now {window}) in"
                " openclaw.yaml",
            )
        ratio = min(MOST, max(LEAST, counted / ours))
        fall = (1 - DECAY) * self.ratio + DECAY * ratio
        self.ratio = round(ratio if ratio > self.ratio or not self.ratio else fall, 4)

    def _weight(self, request: Request) -> int:
        said = sum(weight(request_text([m])) + MESSAGE_OVERHEAD for m in request.messages)
        return said + weight(request_text((), request.tools))


RATE_STEP = 0.2  # the share by which a reading rate must differ from the saved one to be saved
VERSION = 1
"""Of the file. A file of another version is ignored, and models are measured again."""


@frozen
class Meters:
    """One JSON file with the ratio of each model and protocol to the tokens of cl100k_base, and
    the tokens it reads per second. When it is deleted, the next reply is measured again."""

    path: Path

    def meter(self, name: str) -> Meter:
        """The meter of a model and protocol, as it was kept."""
        known = self._read().get(name, {})
        ratio, rate = _number(known.get("ratio")), _number(known.get("reading_rate"))
        return Meter(ratio if LEAST <= ratio <= MOST else 0.0, rate)

    def keep(self, name: str, meter: Meter) -> None:
        """Save the ratio and the reading rate of a meter if they have changed."""
        found = self._read()
        known = found.get(name, {})
        kept = {**known, "ratio": round(meter.ratio, 2), "reading_rate": round(meter.rate, 1)}
        before = _number(known.get("reading_rate"))
        if abs(meter.rate - before) <= before * RATE_STEP:
            kept["reading_rate"] = before
        kept = {key: value for key, value in kept.items() if value}
        if kept == known:
            return
        with suppress(OSError, OpenclawError):  # without the file it is measured again
            shape = {"version": VERSION, **found, name: kept}
            write_text(self.path, json.dumps(shape, indent=2, sort_keys=True) + "\n")

    def _read(self) -> dict[str, dict[str, Any]]:
        found = read_json_cache(self.path, VERSION)
        return {name: known for name, known in found.items() if isinstance(known, dict)}


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
