"""How many tokens a text costs, and how a long one is cut."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from openclaw.shapes import Message

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
