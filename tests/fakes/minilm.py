"""A network and a tokenizer of the shape of all-MiniLM-L6-v2, made of a few words.

The network looks each token up in a table, so what a text's vector must be can be told by hand:
the mean of its tokens' rows. Padding has a row of its own that is far from zero.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
FLOAT, INT64 = 1, 7  # TensorProto.DataType


def write_minilm(
    folder: Path, words: Sequence[str], inputs: Sequence[str] = INPUTS
) -> tuple[Path, Path]:
    """The two files for texts of `words`; `inputs` are what the network asks for."""
    folder.mkdir(parents=True, exist_ok=True)
    model, tokenizer = folder / "model.onnx", folder / "tokenizer.json"
    model.write_bytes(_network(rows(words), inputs))
    _write_tokenizer(tokenizer, [*SPECIAL, *words])
    return model, tokenizer


def rows(words: Sequence[str]) -> Mapping[str, NDArray[np.float32]]:
    """The row of each token, shape (384,)."""
    table = np.random.default_rng(7).normal(size=(len(SPECIAL) + len(words), 384))
    return dict(zip([*SPECIAL, *words], table.astype(np.float32), strict=True))


def _write_tokenizer(path: Path, tokens: Sequence[str]) -> None:
    """Cuts and pads to 128 as the published file does."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    tokenizer = Tokenizer(
        models.WordLevel({token: i for i, token in enumerate(tokens)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.enable_truncation(128)
    tokenizer.enable_padding(length=128)
    tokenizer.save(str(path))


def _network(table: Mapping[str, NDArray[np.float32]], inputs: Sequence[str]) -> bytes:
    """A ModelProto of onnx.proto with one node: Gather(table, input_ids)."""
    values = np.stack(list(table.values()))
    initial = _message(
        [(1, n) for n in values.shape], (2, FLOAT), (8, "table"), (9, values.tobytes())
    )
    node = _message((1, "table"), (1, "input_ids"), (2, "last_hidden_state"), (4, "Gather"))
    graph = _message(
        (1, node),
        (2, "fake"),
        (5, initial),
        [(11, _tensor(name, INT64, "batch", "sequence")) for name in inputs],
        (12, _tensor("last_hidden_state", FLOAT, "batch", "sequence", 384)),
    )
    return _message((1, 8), (7, graph), (8, _message((1, ""), (2, 14))))


def _tensor(name: str, kind: int, *shape: str | int) -> bytes:
    """A ValueInfoProto."""
    sizes = [(1, _message((1, size) if isinstance(size, int) else (2, size))) for size in shape]
    tensor = _message((1, kind), (2, _message(sizes)))
    return _message((1, name), (2, _message((1, tensor))))


Field = tuple[int, int | str | bytes]
Repeated = list[tuple[int, int]] | list[tuple[int, bytes]]


def _message(*fields: Field | Repeated) -> bytes:
    """Protocol-buffer fields: numbers as varints, all else with its length before it."""
    flat = [f for item in fields for f in (item if isinstance(item, list) else [item])]
    out = bytearray()
    for number, value in flat:
        if isinstance(value, int):
            out += _varint(number << 3) + _varint(value)
            continue
        data = value.encode() if isinstance(value, str) else value
        out += _varint(number << 3 | 2) + _varint(len(data)) + data
    return bytes(out)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + struct.pack("B", value)
