"""all-MiniLM-L6-v2 in this process: onnxruntime runs the network, tokenizers cuts the words.

Imported lazily (numpy). Pooling and normalisation as the model card tells
(https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2): the mean over the tokens that are
no padding, divided by its length. The model asks for no prefixes.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from openclaw.errors import ModelFailed

if TYPE_CHECKING:
    from tokenizers import Tokenizer

NAME = "embedded/all-minilm-l6-v2"
WINDOW = 256  # tokens with [CLS] and [SEP]; max_seq_length of the model card's configuration
DIMENSIONS = 384
# Texts of one run of the network. With 48 the layers' values leave the processor's cache, and a
# text costs twice what it costs with 8 (measured at 150 tokens).
BATCH = 8
MOST_THREADS = 4
NO_TELEMETRY = {"ORT_DISABLE_TELEMETRY": "1", "ORT_TELEMETRY_DISABLED": "1"}
"""onnxruntime 1.32 reports its sessions to its maker, also on Linux, and keeps a number of the
device in the user's cache, unless it finds the first variable when it is imported; other versions
read the second (https://github.com/microsoft/onnxruntime/pull/29843)."""


class MiniLM:
    """The model of two files, which are opened at the first use; may be used by several threads.

    `threads` 0: one for each core, at most 4.
    """

    def __init__(self, model: Path, tokenizer: Path, threads: int = 0) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._threads = threads or min(os.cpu_count() or 1, MOST_THREADS)
        self._opening = threading.Lock()
        self._opened: tuple[Any, Tokenizer] | None = None

    @property
    def name(self) -> str:
        return NAME

    @property
    def window(self) -> int:
        return WINDOW

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (n, 384), float32, rows of length 1. Raises ModelFailed when a file is damaged."""
        vectors = np.empty((len(texts), DIMENSIONS), np.float32)
        for start in range(0, len(texts), BATCH):
            batch = texts[start : start + BATCH]
            vectors[start : start + len(batch)] = self._embed(batch)
        return vectors

    def query(self, text: str) -> NDArray[np.float32]:
        """Shape (384,), float32, of length 1. Raises ModelFailed when a file is damaged."""
        vector: NDArray[np.float32] = self._embed([text])[0]
        return vector

    def close(self) -> None:
        with self._opening:
            self._opened = None

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        try:
            session, tokenizer = self._open()
            inputs = _inputs(tokenizer, texts)
            wanted = {given.name: inputs[given.name] for given in session.get_inputs()}
            return _pooled(session.run(None, wanted)[0], inputs["attention_mask"])
        except Exception as error:  # both libraries raise bare Exceptions of many kinds
            raise _unusable(error, self._model.parent) from error

    def _open(self) -> tuple[Any, Tokenizer]:
        with self._opening:
            if self._opened is None:
                self._opened = _session(self._model, self._threads), _reader(self._tokenizer)
            return self._opened


def _session(model: Path, threads: int) -> Any:
    """Basic optimisation turns the stored int8 weights into float32 once (0.19 s); without it each
    run would (10 ms a question instead of 3), and more of it only takes longer to load. Threads
    that spin while they wait would take the processor from llama.cpp."""
    os.environ.update(NO_TELEMETRY)
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def _reader(tokenizer: Path) -> Tokenizer:
    """The file as published cuts and pads to 128 tokens, the model reads 256."""
    from tokenizers import Tokenizer

    reader = Tokenizer.from_file(str(tokenizer))
    reader.enable_truncation(WINDOW)
    reader.no_padding()
    return reader


def _inputs(tokenizer: Tokenizer, texts: Sequence[str]) -> dict[str, NDArray[np.int64]]:
    """Token ids and mask, shape (n, longest). Text by text, since `encode_batch` would start a
    pool of threads that warns on stderr when this process forks later."""
    read = [tokenizer.encode(text).ids for text in texts]
    ids = np.zeros((len(read), max(map(len, read))), np.int64)
    mask = np.zeros_like(ids)
    for row, found in enumerate(read):
        ids[row, : len(found)] = found
        mask[row, : len(found)] = 1
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}


def _pooled(tokens: NDArray[np.float32], mask: NDArray[np.int64]) -> NDArray[np.float32]:
    """Token vectors (n, t, d) and their mask (n, t) as text vectors (n, d)."""
    sums: NDArray[np.float32] = np.einsum("ntd,nt->nd", tokens, mask.astype(np.float32))
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    normalised: NDArray[np.float32] = sums / np.maximum(lengths, np.float32(1e-12))
    return normalised


def _unusable(error: Exception, folder: Path) -> ModelFailed:
    if isinstance(error, ImportError):
        return ModelFailed(
            f"the embedding model cannot run here: {error}",
            "pip install onnxruntime tokenizers, or set `embedding` to ollama/NAME",
        )
    line = " ".join(str(error).split())[:200]
    return ModelFailed(
        f"the embedding model in {folder} is damaged: {line}",
        "openclaw models pull all-minilm-l6-v2",
    )
