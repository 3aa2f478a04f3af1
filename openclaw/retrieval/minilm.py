"""The embedder all-MiniLM-L6-v2, in this process.

It runs with onnxruntime and tokenizers. Pooling and normalisation follow its model card
(https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2): the mean over all tokens but
padding, divided by its length. The model needs no prefixes.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from openclaw.errors import ModelFailed
from openclaw.storage.lock import hold_lock

if TYPE_CHECKING:
    from tokenizers import Tokenizer


NAME = "embedded/all-minilm-l6-v2"
PULL = "openclaw models pull all-minilm-l6-v2"
TAKE_ANOTHER = "take another embedding model, or set `embedding` in openclaw.yaml to embedded"
WINDOW = 256  # tokens with [CLS] and [SEP]; max_seq_length of the model card's configuration
DIMENSIONS = 384
# Texts of one run of the network. With 48 the layers' values exceed the processor's cache, and a
# text costs twice as much as with 8 (measured at 150 tokens).
MINILM_BATCH = 8
MAX_THREADS = 4
NO_TELEMETRY = {"ORT_DISABLE_TELEMETRY": "1", "ORT_TELEMETRY_DISABLED": "1"}
"""onnxruntime 1.32 reports its sessions to its maker, also on Linux, and keeps a device number in
the user's cache, unless the first variable is set when it is imported; other versions read the
second (https://github.com/microsoft/onnxruntime/pull/29843)."""
CONVERTED = "converted.onnx"


class MiniLM:
    """The model of two files, opened at the first use. Several threads may use it.

    `threads` 0 means one for each core, at most 4.
    """

    def __init__(self, model: Path, tokenizer: Path, threads: int = 0) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._threads = threads or min(os.cpu_count() or 1, MAX_THREADS)
        self._opening = threading.Lock()
        self._opened: tuple[Any, Tokenizer] | None = None

    @property
    def name(self) -> str:
        return NAME

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (n, 384), float32, rows of length 1. Raises ModelFailed when a file is damaged."""
        vectors = np.empty((len(texts), DIMENSIONS), np.float32)
        try:
            session, tokenizer = self._open()
            names = [given.name for given in session.get_inputs()]
            for batch, inputs in batches(tokenizer, texts):
                tokens = session.run(None, {name: inputs[name] for name in names})[0]
                vectors[batch] = _pool(tokens, inputs["attention_mask"])
        except Exception as error:  # both libraries raise bare Exceptions of many kinds
            raise _to_model_failed(error, self._model.parent) from error
        return vectors

    def query(self, text: str) -> NDArray[np.float32]:
        """Shape (384,), float32, of length 1. Raises ModelFailed when a file is damaged."""
        vector: NDArray[np.float32] = self.documents([text])[0]
        return vector

    def load(self) -> None:
        self._open()

    def close(self) -> None:
        with self._opening:
            self._opened = None

    def _open(self) -> tuple[Any, Tokenizer]:
        with self._opening:
            if self._opened is None:
                session = open_session(self._model, self._threads)
                self._opened = session, open_tokenizer(self._tokenizer)
            return self._opened


def open_session(model: Path, threads: int) -> Any:
    """Load the network from its converted copy beside it, which the first load makes.

    To convert the int8 weights to float32 takes 0.15 s; without it a question takes 10 ms instead
    of 3. The copy (130 MB) also holds the weights as the processor's matrix products want them. It
    is mapped into memory, so that processes share its pages; onnxruntime refuses one that another
    kind of processor has made (https://github.com/microsoft/onnxruntime/pull/23069).
    """
    os.environ.update(NO_TELEMETRY)
    import onnxruntime

    folder = model.with_name(f"{model.stem}-{onnxruntime.__version__}")
    with suppress(Exception):  # there is none, it is damaged, or no model
        changed = model.stat().st_mtime_ns
        if (folder / CONVERTED).stat().st_mtime_ns == changed:
            return _make_session(folder / CONVERTED, threads)
    part = folder.with_name(f"{folder.name}.{os.getpid()}")
    # Another process converts, the folder is read-only, the disk full, or the model damaged.
    with suppress(Exception), hold_lock(model.with_name(".convert.lock"), timeout=0):
        part.mkdir()
        session = _make_session(model, threads, part / CONVERTED)
        for path in part.iterdir():
            with path.open("r+b") as written:
                os.fsync(written.fileno())  # a torn copy would give wrong vectors unseen
        os.utime(part / CONVERTED, ns=(changed, changed))
        for old in set(model.parent.glob(f"{model.stem}-*")) - {part}:
            shutil.rmtree(old, ignore_errors=True)
            with suppress(OSError):
                old.unlink()  # an earlier version's copy, which was a file
        part.rename(folder)
        return session
    shutil.rmtree(part, ignore_errors=True)
    return _make_session(model, threads)


def _make_session(file: Path, threads: int, converted: Path | None = None) -> Any:
    """Open a network; one that is not converted yet is written to `converted`. More optimisation
    only loads more slowly. Threads that spin while they wait would take the processor from
    llama.cpp."""
    import onnxruntime

    options, levels = onnxruntime.SessionOptions(), onnxruntime.GraphOptimizationLevel
    add = options.add_session_config_entry
    level = levels.ORT_DISABLE_ALL if file.name == CONVERTED else levels.ORT_ENABLE_BASIC
    options.graph_optimization_level = level
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    add("session.intra_op.allow_spinning", "0")
    if converted:
        options.optimized_model_filepath = str(converted)
        add("session.optimized_model_external_initializers_file_name", "weights")
        add("session.save_external_prepacked_constant_initializers", "1")
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def open_tokenizer(tokenizer: Path) -> Tokenizer:
    """Load the tokenizer. The published file cuts and pads to 128 tokens; the model reads 256."""
    from tokenizers import Tokenizer

    reader = Tokenizer.from_file(str(tokenizer))
    reader.enable_truncation(WINDOW)
    reader.no_padding()
    return reader


def batches(
    tokenizer: Tokenizer, texts: Sequence[str]
) -> Iterator[tuple[list[int], dict[str, NDArray[np.int64]]]]:
    """The places of `MINILM_BATCH` texts at a time, with their token ids and mask, shape (n,
    longest). Texts alike in length stand together, since padding costs as much as tokens. Not by
    `encode_batch`: its thread pool would warn on stderr when this process forks later."""
    read = [tokenizer.encode(text).ids for text in texts]
    order = sorted(range(len(read)), key=lambda at: len(read[at]))
    for start in range(0, len(order), MINILM_BATCH):
        batch = order[start : start + MINILM_BATCH]
        ids = np.zeros((len(batch), len(read[batch[-1]])), np.int64)
        mask = np.zeros_like(ids)
        for row, at in enumerate(batch):
            ids[row, : len(read[at])] = read[at]
            mask[row, : len(read[at])] = 1
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        yield batch, inputs


def _pool(tokens: NDArray[np.float32], mask: NDArray[np.int64]) -> NDArray[np.float32]:
    """Token vectors (n, t, d) and their mask (n, t) as text vectors (n, d)."""
    sums: NDArray[np.float32] = np.einsum("ntd,nt->nd", tokens, mask.astype(np.float32))
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    normalised: NDArray[np.float32] = sums / np.maximum(lengths, np.float32(1e-12))
    return normalised


def _to_model_failed(error: Exception, folder: Path) -> ModelFailed:
    if isinstance(error, ImportError):
        return ModelFailed(
            f"the embedding model cannot run here: {error}",
            "pip install onnxruntime tokenizers, or set `embedding` to ollama/NAME",
        )
    line = " ".join(str(error).split())[:200]
    return ModelFailed(f"the embedding model in {folder} is damaged: {line}", PULL)
