"""GGUF files without weights: a header as llama.cpp's writers make it."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any


def gguf(
    values: Mapping[str, Any], shapes: Sequence[tuple[int, ...]] = (), version: int = 3
) -> bytes:
    """Header bytes with `values` as metadata and one tensor per shape."""
    body = b"".join(_text(key) + _typed(value) for key, value in values.items())
    tensors = b"".join(_tensor(n, shape) for n, shape in enumerate(shapes))
    return b"GGUF" + struct.pack("<IQQ", version, len(shapes), len(values)) + body + tensors


def chat_model(window: int = 32768, words: int = 50) -> bytes:
    """A header like that of a small chat model whose template knows tools."""
    return gguf(
        {
            "general.architecture": "qwen2",
            "general.name": "Little",
            "qwen2.context_length": window,
            "qwen2.rope.freq_base": 1.5,
            "tokenizer.ggml.tokens": [f"word{n}" for n in range(words)],
            "tokenizer.ggml.token_type": list(range(words)),
            "tokenizer.ggml.add_bos_token": False,
            "tokenizer.chat_template": "{% if tools %}{{ tools }}{% endif %}",
        },
        shapes=[(4, 5), (10,)],
    )


def _text(text: str) -> bytes:
    data = text.encode("utf-8")
    return struct.pack("<Q", len(data)) + data


def _typed(value: Any) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _text(value)
    kind = 8 if isinstance(value[0], str) else 4
    items = (_text(item) if kind == 8 else struct.pack("<I", item) for item in value)
    return struct.pack("<IIQ", 9, kind, len(value)) + b"".join(items)


def _tensor(number: int, shape: tuple[int, ...]) -> bytes:
    sizes = b"".join(struct.pack("<Q", size) for size in shape)
    return (
        _text(f"tensor{number}") + struct.pack("<I", len(shape)) + sizes + struct.pack("<IQ", 0, 0)
    )
