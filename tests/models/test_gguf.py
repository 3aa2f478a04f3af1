"""Reading the header of a model's file."""

from __future__ import annotations

import struct
import time
from pathlib import Path

import pytest

from openclaw.errors import ModelFailed, ModelMissing
from openclaw.models.embedded import EmbeddedModel
from openclaw.models.gguf import identity, read_header
from tests.fakes.gguf import chat_model, gguf


def _file(folder: Path, data: bytes) -> Path:
    path = folder / "Little-Q4.gguf"
    path.write_bytes(data)
    return path


def test_the_header_tells_architecture_window_weights_and_template(tmp_path: Path) -> None:
    header = read_header(_file(tmp_path, chat_model(window=4096)))
    assert (header.architecture, header.name, header.window) == ("qwen2", "Little", 4096)
    assert header.parameters == 4 * 5 + 10
    assert "tools" in header.template


def test_the_makers_size_label_counts_more_than_the_sum_of_tensors(tmp_path: Path) -> None:
    labelled = {"general.architecture": "llama", "general.size_label": "135M"}
    assert read_header(_file(tmp_path, gguf(labelled, [(7,)]))).parameters == 135_000_000
    mixture = {"general.architecture": "llama", "general.size_label": "8x7B"}
    assert read_header(_file(tmp_path, gguf(mixture, [(7,)]))).parameters == 7


def test_a_header_longer_than_the_first_read_is_read_on(tmp_path: Path) -> None:
    long = {"general.architecture": "llama", "x.y": ["w" * 1000] * 9000, "llama.context_length": 99}
    assert read_header(_file(tmp_path, gguf(long))).window == 99


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello",
        b"GGUF",
        chat_model()[:200],
        gguf({"general.architecture": "llama"}, version=1),
        b"GGUF" + b"\xff" * 60,
    ],
    ids=["empty", "text", "magic only", "cut", "old version", "garbage"],
)
def test_a_file_that_is_no_model_is_refused_in_one_line(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(ModelFailed) as caught:
        read_header(_file(tmp_path, data))
    assert "Little-Q4.gguf" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_damaged_number_of_dimensions_is_refused_at_once(tmp_path: Path) -> None:
    tensor = struct.pack("<QI", 0, 0xFFFFFFFF) + b"\xff" * 1_000_000
    path = _file(tmp_path, b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + tensor)
    began = time.process_time()
    with pytest.raises(ModelFailed):
        read_header(path)
    assert time.process_time() - began < 2


def test_the_identity_changes_with_the_bytes(tmp_path: Path) -> None:
    first = identity(_file(tmp_path, chat_model(window=1024)))
    assert first == identity(tmp_path / "Little-Q4.gguf")
    assert first != identity(_file(tmp_path, chat_model(window=2048)))


def test_the_card_takes_the_smaller_window_and_costs_no_loading(tmp_path: Path) -> None:
    path = _file(tmp_path, chat_model(window=4096))
    card = EmbeddedModel(path, window=8192).card
    assert (card.name, card.window, card.family) == ("embedded/little-q4", 4096, "qwen2")
    assert card.tools
    assert EmbeddedModel(path, window=2048).card.window == 2048


def test_a_missing_file_names_the_command_that_fetches_one(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing) as caught:
        _ = EmbeddedModel(tmp_path / "none.gguf", window=2048).card
    assert "openclaw models pull" in caught.value.hint
