"""Loading a model for its test: with which window, and what is made of errors."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openclaw.config import Settings
from openclaw.errors import ModelFailed
from openclaw.evals.model_test import ModelTest
from openclaw.models.machine import lacks_memory
from tests.evals.test_model_test_whole import _clever, _test, found_profile
from tests.fakes.gguf import gguf
from tests.fakes.ollama_server import Answer, FakeOllama


def test_a_model_that_is_too_large_is_tried_with_smaller_windows(fake_ollama: FakeOllama) -> None:
    def narrow(body: dict[str, Any]) -> str | Answer:
        wide = body["options"]["num_ctx"] > 2048
        error = "model requires more system memory (5.6 GiB) than is available (3.2 GiB)"
        return Answer(status=500, error=error) if wide else _clever(body)

    fake_ollama.say(*[narrow] * 30)
    profile = found_profile(_test(fake_ollama, quick=True))
    assert (profile.window, profile.window_fits) == (2048, 2048)
    assert profile.window_by == "measured"


def test_a_model_that_cannot_be_loaded_at_all_has_no_profile(fake_ollama: FakeOllama) -> None:
    fake_ollama.say(*[Answer(status=500, error="model requires more system memory")] * 3)
    test = _test(fake_ollama)
    with pytest.raises(ModelFailed, match="more system memory"):
        list(test.run())
    assert test.profile is None


def test_what_fails_once_while_loading_is_tried_again_with_the_same_window(
    fake_ollama: FakeOllama,
) -> None:
    hiccup = Answer(status=500, error="an internal hiccup of the proxy")
    fake_ollama.say(hiccup, *[_clever] * 30)
    profile = found_profile(_test(fake_ollama, quick=True))
    assert (profile.window, profile.window_by) == (8192, "at least")
    assert {chat["options"]["num_ctx"] for chat in fake_ollama.chats} == {8192}


def test_what_fails_twice_is_told_and_not_taken_for_a_lack_of_memory(
    fake_ollama: FakeOllama,
) -> None:
    fake_ollama.say(*[Answer(status=500, error="an internal hiccup of the proxy")] * 2)
    test = _test(fake_ollama)
    with pytest.raises(ModelFailed, match="hiccup"):
        list(test.run())
    assert test.profile is None
    assert [chat["options"]["num_ctx"] for chat in fake_ollama.chats] == [8192] * 2


@pytest.mark.parametrize(
    ("error", "is_memory"),
    [
        ("model requires more system memory (5.6 GiB) than is available (3.2 GiB)", True),
        ("llama runner process has terminated: cudaMalloc failed: out of memory", True),
        ("unable to allocate CUDA0 buffer", True),
        ("llama runner process has terminated: signal: killed", True),
        ("the engine process died at once (exit -9)", True),
        ("insufficient VRAM", True),
        ("an internal hiccup of the proxy", False),
        ("no room in the parameters", False),
    ],
)
def test_an_error_of_memory_is_known_by_its_words(error: str, is_memory: bool) -> None:
    assert lacks_memory(ModelFailed(error)) == is_memory


# -------- embedded

FAKE_LLAMA = Path(__file__).parents[1] / "fakes" / "llama"
HEADER = {
    "general.architecture": "qwen2",
    "qwen2.block_count": 2,
    "qwen2.embedding_length": 64,
    "qwen2.attention.head_count": 4,
    "qwen2.attention.head_count_kv": 2,
    "qwen2.context_length": 16384,
}


@pytest.fixture
def embedded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Makes a model file that behaves as named, for an engine that is a stand-in."""
    monkeypatch.setenv("FAKE_LLAMA_LOG", str(tmp_path / "log"))
    monkeypatch.syspath_prepend(FAKE_LLAMA)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(FAKE_LLAMA), os.environ["PYTHONPATH"]]))

    def make(behaviour: str) -> Path:
        path = tmp_path / f"{behaviour}.gguf"
        path.write_bytes(gguf(HEADER) + behaviour.encode())
        return path

    return make


def test_the_largest_window_of_a_model_file_is_computed_and_then_loaded(
    embedded: Callable[[str], Path],
) -> None:
    path = embedded("good")
    test = ModelTest(str(path), Settings(), quick=True)
    assert list(test.run())[-1] == "largest window"
    profile = test.profile
    assert profile is not None
    assert profile.token_bytes == 2 * 2 * (16 + 16) * 2
    assert profile.model_bytes == path.stat().st_size
    assert (profile.window, profile.window_fits) == (8192, 16384)
    assert profile.window_by == "measured"
    assert profile.load_seconds


@pytest.mark.parametrize("behaviour", ["broken", "crash"])
def test_a_model_file_that_cannot_be_loaded_is_told_after_smaller_windows(
    embedded: Callable[[str], Path], behaviour: str
) -> None:
    test = ModelTest(str(embedded(behaviour)), Settings())
    with pytest.raises(ModelFailed, match="window of 2,048 tokens"):
        list(test.run())
    assert test.profile is None


def test_a_window_that_could_not_be_loaded_counts_more_than_the_computed_one(
    embedded: Callable[[str], Path],
) -> None:
    profile = found_profile(ModelTest(str(embedded("narrow")), Settings(), quick=True))
    assert (profile.window, profile.window_fits) == (4096, 4096)
    assert profile.window_by == "measured"
