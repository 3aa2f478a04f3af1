"""The Ollama path of `benchmarks.prefix`: whole processes against the stand-in."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.prefix import Answering, ollama_rows


@pytest.mark.slow
def test_later_processes_neither_load_the_model_nor_read_the_head_again(tmp_path: Path) -> None:
    with Answering() as server:
        first, *later = ollama_rows(tmp_path / "home", server)
    assert (first.requests, first.loads) == (2, 1)  # the reading ahead, and the chat
    assert first.tokens <= first.read < first.tokens * 1.15
    assert [row.loads for row in later] == [0, 0]
    assert max(row.read for row in later) < first.read * 0.15
