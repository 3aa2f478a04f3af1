"""Reads the header of a GGUF file, which describes a model, and tells how much memory it needs.

The model is not loaded. Its window needs the key-value cache: for each token, in each layer, a key
and a value of every key-value head, two bytes a number (llama.cpp's default, f16). This is an upper
bound: layers with sliding windows and recurrent layers need less.
"""

from __future__ import annotations

import hashlib
import math
import mmap
import re
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from openclaw.errors import ModelFailed
from openclaw.frozen import frozen

_NUMBERS = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i",
    6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d",
}  # fmt: skip
_STRING, _ARRAY = 8, 9
_UNITS = {"M": 1e6, "B": 1e9}
_U64 = struct.Struct("<Q")
_LONGEST_HEADER = 256 << 20
MAX_DIMENSIONS = 4
"""Of a tensor, as in llama.cpp. A damaged number would be multiplied for hours."""
NUMBER_BYTES = 2
ENGINE_BYTES = 300_000_000  # memory of the engine and its buffers
SHARE = 0.9  # the share of free memory that a model may take
STEP = 1024  # windows are rounded to steps of this many tokens


@frozen
class Header:
    """The description of a model in its file.

    window      in tokens, 0 when the file does not say
    parameters  the number of weights, from the maker's label if there is one
    template    the chat template, "" when the file has none
    """

    architecture: str
    name: str
    window: int
    parameters: int
    template: str


def read_header(path: Path) -> Header:
    """The header of the GGUF file at `path`. Raises ModelFailed for another file, and OSError."""
    values, weights = _read(path)
    architecture = str(values.get("general.architecture", ""))
    return Header(
        architecture,
        str(values.get("general.name", "")),
        _number(values, f"{architecture}.context_length"),
        _parse_label(str(values.get("general.size_label", ""))) or weights,
        str(values.get("tokenizer.chat_template", "")),
    )


def read_values(path: Path) -> dict[str, Any]:
    """All metadata, with None for the elements of arrays. Raises as `read_header` does."""
    return _read(path)[0]


def _read(path: Path) -> tuple[dict[str, Any], int]:
    """The metadata, and the number of weights of all tensors."""
    with path.open("rb") as file:
        size = min(path.stat().st_size, _LONGEST_HEADER)
        try:
            with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as data:
                return _parse(data)
        except (struct.error, KeyError, ValueError, OverflowError, RecursionError) as error:
            raise ModelFailed(
                f"{path.name} is not a usable GGUF model",
                "`openclaw models pull` fetches a good one",
            ) from error


def identity(path: Path) -> str:
    """A cheap digest of the file: of size, time of change and first MiB, in 16 hex digits."""
    state = path.stat()
    with path.open("rb") as file:
        start = file.read(1 << 20)
    return hashlib.sha256(b"%d %d " % (state.st_size, state.st_mtime_ns) + start).hexdigest()[:16]


def _parse(data: mmap.mmap) -> tuple[dict[str, Any], int]:
    if data[:4] != b"GGUF":
        raise ValueError("no GGUF magic")
    reader = _Reader(data, 4)
    if reader.number("<I") < 2:
        raise ValueError("GGUF version 1 has another layout")
    tensors, keys = reader.number("<Q"), reader.number("<Q")
    values: dict[str, Any] = {}
    for _ in range(keys):
        key = reader.text()
        values[key] = reader.value(reader.number("<I"))
    return values, sum(reader.tensor() for _ in range(tensors))


def _parse_label(label: str) -> int:
    """The number of a label such as "1.5B" or "135M", 0 for any other text."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([BM])", label)
    return round(float(match[1]) * _UNITS[match[2]]) if match else 0


class _Reader:
    """Reads the little-endian values of a header one by one, and skips the elements of arrays.
    Raises struct.error where the file ends inside one."""

    def __init__(self, data: mmap.mmap, at: int) -> None:
        self.data, self.at = data, at

    def number(self, form: str) -> Any:
        (number,) = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return number

    def text(self) -> str:
        text: bytes = self.number(f"<{self.number('<Q')}s")
        return text.decode("utf-8", "replace")

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.text()
        if kind == _ARRAY:
            return self._pass_array()
        return self.number(_NUMBERS[kind])

    def tensor(self) -> int:
        """The number of weights of the next tensor entry (name, dimensions, type, offset)."""
        self.text()
        weights, dimensions = 1, self.number("<I")
        if dimensions > MAX_DIMENSIONS:
            raise ValueError("no tensor has so many dimensions")
        for _ in range(dimensions):
            weights *= self.number("<Q")
        self.number("<I")
        self.number("<Q")
        return weights

    def _pass_array(self) -> None:
        kind, count = self.number("<I"), self.number("<Q")
        if kind == _STRING:
            self._pass_texts(count)
        elif kind == _ARRAY:
            for _ in range(count):
                self._pass_array()
        else:
            self.at += count * struct.calcsize(_NUMBERS[kind])

    def _pass_texts(self, count: int) -> None:
        # A vocabulary has 300,000 texts: this minimal loop takes 30 ms instead of 200.
        data, at, length = self.data, self.at, _U64.unpack_from
        for _ in range(count):
            at += 8 + length(data, at)[0]
        self.at = at


@frozen
class MemoryNeed:
    """The memory that a model needs.

    model   bytes of its weights
    token   bytes of each token of its window
    window  the longest window it was made for, in tokens
    """

    model: int
    token: int
    window: int

    def of(self, window: int) -> int:
        """All bytes that it needs with that window."""
        return self.model + ENGINE_BYTES + self.token * window

    def fits(self, free: int) -> int:
        """The largest window (tokens) that `free` bytes hold, 0 when they hold none."""
        left = int(free * SHARE) - self.model - ENGINE_BYTES
        if left < self.token * STEP:
            return 0
        most = left // self.token // STEP * STEP
        return min(most, self.window) if self.window else most


def memory_need(values: Mapping[str, Any], model: int) -> MemoryNeed | None:
    """The memory that a model of `model` bytes needs, from the metadata of its GGUF header (Ollama
    gives the same); None when they lack a value."""
    name = str(values.get("general.architecture", ""))
    heads = _number(values, f"{name}.attention.head_count")
    keys = _number(values, f"{name}.attention.head_count_kv") or heads
    size = _number(values, f"{name}.embedding_length") // heads if heads else 0
    wide = sum(
        _number(values, f"{name}.attention.{each}_length") or size for each in ("key", "value")
    )
    token = _number(values, f"{name}.block_count") * keys * wide * NUMBER_BYTES
    return MemoryNeed(model, token, _number(values, f"{name}.context_length")) if token else None


def _number(values: Mapping[str, Any], key: str) -> int:
    """A number of the metadata, 0 for a missing or unusable one."""
    value = values.get(key)
    return int(value) if isinstance(value, int | float) and 0 <= value < math.inf else 0


def file_memory_need(path: Path) -> MemoryNeed | None:
    """The memory that a GGUF file needs, in one part or several; None when its header lacks a
    value. Raises as `gguf.read_values` does."""
    return memory_need(read_values(path), sum(part.stat().st_size for part in _parts(path)))


def _parts(path: Path) -> list[Path]:
    split = re.fullmatch(r"(.+)-00001-of-(\d{5})\.gguf", path.name)
    return sorted(path.parent.glob(f"{split[1]}-*-of-{split[2]}.gguf")) if split else [path]
