"""The embedded embedding model: on a network made here, and (marked `model`) on the real one."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from openclaw.errors import ModelFailed
from openclaw.models import catalog
from openclaw.retrieval.minilm import MINILM_BATCH, MiniLM
from openclaw.storage.lock import hold_lock
from tests.fakes.loaded import loaded_by
from tests.fakes.minilm import rows, write_minilm

WORDS = ("port", "staging", "cat", "dog", "garden")


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return write_minilm(tmp_path / "mini", WORDS)


def mean(*tokens: str) -> NDArray[np.float32]:
    """The expected vector of a text of these tokens."""
    table = rows(WORDS)
    total = np.mean([table[token] for token in ("[CLS]", *tokens, "[SEP]")], axis=0)
    return np.asarray(total / np.linalg.norm(total), np.float32)


def test_a_vector_is_the_mean_of_the_tokens_with_length_one(files: tuple[Path, Path]) -> None:
    model = MiniLM(*files)
    vectors = model.documents(["port staging", "cat"])
    assert vectors.shape == (2, 384) and vectors.dtype == np.float32
    np.testing.assert_allclose(vectors[0], mean("port", "staging"), atol=1e-6)
    np.testing.assert_allclose(vectors[1], mean("cat"), atol=1e-6)


def test_a_question_is_read_as_a_document_is(files: tuple[Path, Path]) -> None:
    model = MiniLM(*files)
    vector = model.query("dog garden")
    assert vector.shape == (384,) and vector.dtype == np.float32
    np.testing.assert_array_equal(vector, model.documents(["dog garden"])[0])


def test_padding_beside_a_longer_text_changes_nothing(files: tuple[Path, Path]) -> None:
    model = MiniLM(*files)
    beside = model.documents(["cat", "dog " * 100])[0]
    np.testing.assert_allclose(beside, model.query("cat"), atol=1e-6)


def test_nothing_is_reported_about_its_use(files: tuple[Path, Path], tmp_path: Path) -> None:
    """onnxruntime would leave a number of this device behind, by which its maker knows it again."""
    code = "import sys; from pathlib import Path; "
    code += "from openclaw.retrieval.minilm import MiniLM; "
    code += "MiniLM(*map(Path, sys.argv[1:])).query('cat')"
    subprocess.run([sys.executable, "-c", code, *map(str, files)], check=True)
    assert list((tmp_path / "user").iterdir()) == []


def test_many_texts_come_back_in_their_order(files: tuple[Path, Path]) -> None:
    model = MiniLM(*files)
    texts = [[WORDS[i % len(WORDS)]] * (1 + i % 3) for i in range(3 * MINILM_BATCH + 1)]
    vectors = model.documents([" ".join(text) for text in texts])
    assert len(vectors) == len(texts)
    for text, vector in zip(texts, vectors, strict=True):
        np.testing.assert_allclose(vector, mean(*text), atol=1e-6)


def test_no_text_gives_no_rows_and_an_empty_one_still_a_vector(files: tuple[Path, Path]) -> None:
    model = MiniLM(*files)
    assert model.documents([]).shape == (0, 384)
    np.testing.assert_allclose(model.query(""), mean(), atol=1e-6)


def test_256_tokens_are_read_and_no_more(files: tuple[Path, Path]) -> None:
    """The published tokenizer file itself cuts at 128."""
    model = MiniLM(*files)
    inside = model.query("cat " * 253 + "dog")
    assert not np.allclose(inside, model.query("cat " * 254), atol=1e-6)
    np.testing.assert_array_equal(model.query("cat " * 254 + "dog"), model.query("cat " * 300))


def test_a_network_without_token_types_is_not_given_any(tmp_path: Path) -> None:
    files = write_minilm(tmp_path, WORDS, inputs=("input_ids", "attention_mask"))
    np.testing.assert_allclose(MiniLM(*files).query("cat"), mean("cat"), atol=1e-6)


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("content", [b"", b"\0" * 5000, b"half a download"])
def test_a_damaged_file_names_the_command_that_fetches_it(
    files: tuple[Path, Path], which: int, content: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    files[which].write_bytes(content)
    with pytest.raises(ModelFailed, match="damaged") as caught:
        MiniLM(*files).query("cat")
    assert caught.value.hint == "openclaw models pull all-minilm-l6-v2"
    assert capfd.readouterr().err == ""


def test_a_file_that_was_mended_serves_the_same_object(files: tuple[Path, Path]) -> None:
    good = files[0].read_bytes()
    files[0].write_bytes(good[:-1000])
    model = MiniLM(*files)
    with pytest.raises(ModelFailed):
        model.documents(["cat"])
    files[0].write_bytes(good)
    np.testing.assert_allclose(model.query("cat"), mean("cat"), atol=1e-6)


def copies(files: tuple[Path, Path]) -> list[Path]:
    return list(files[0].parent.glob("*/converted.onnx"))


def test_the_next_process_opens_a_converted_copy_of_the_network(files: tuple[Path, Path]) -> None:
    first = MiniLM(*files).query("cat")
    (copy,) = copies(files)
    made = copy.stat().st_ino
    np.testing.assert_array_equal(MiniLM(*files).query("cat"), first)
    assert copy.stat().st_ino == made


@pytest.mark.parametrize("name", ["converted.onnx", "weights"])
def test_a_damaged_copy_and_those_of_other_versions_are_replaced(
    files: tuple[Path, Path], name: str
) -> None:
    first = MiniLM(*files).query("cat")
    (copy,) = copies(files)
    made = copy.stat().st_ino
    (copy.parent.parent / "model-0.9").mkdir()
    (copy.parent.parent / "model-0.8.ort").touch()
    damaged = copy.with_name(name)
    damaged.write_bytes(damaged.read_bytes()[:200])
    shutil.copystat(files[0], damaged)
    np.testing.assert_array_equal(MiniLM(*files).query("cat"), first)
    assert copies(files) == [copy] and copy.stat().st_ino != made
    assert list(copy.parent.parent.glob("model-*")) == [copy.parent]


def test_a_model_that_was_fetched_again_is_not_read_from_the_copy(
    files: tuple[Path, Path],
) -> None:
    MiniLM(*files).load()
    files[0].write_bytes(b"half a download")
    os.utime(files[0], (0, 0))
    with pytest.raises(ModelFailed, match="damaged"):
        MiniLM(*files).query("cat")


def test_the_network_runs_where_no_copy_can_be_written(files: tuple[Path, Path]) -> None:
    version = importlib.metadata.version("onnxruntime")
    files[0].with_name(f"model-{version}.{os.getpid()}").write_bytes(b"")
    np.testing.assert_allclose(MiniLM(*files).query("cat"), mean("cat"), atol=1e-6)


def test_the_copy_that_another_process_is_making_stays(files: tuple[Path, Path]) -> None:
    unfinished = files[0].with_name("model-1.0.1234")
    unfinished.mkdir()
    with hold_lock(files[0].with_name(".convert.lock")):
        np.testing.assert_allclose(MiniLM(*files).query("cat"), mean("cat"), atol=1e-6)
        assert unfinished.exists() and not copies(files)
    MiniLM(*files).load()
    assert not unfinished.exists() and copies(files)


def test_several_threads_may_ask_at_once_and_after_close(files: tuple[Path, Path]) -> None:
    model = MiniLM(*files)
    found: list[NDArray[np.float32]] = []
    threads = [
        threading.Thread(target=lambda: found.append(model.query("port cat"))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    model.close()
    for thread in threads:
        thread.join()
    found.append(model.query("port cat"))
    assert len(found) == 5
    for vector in found:
        np.testing.assert_allclose(vector, mean("port", "cat"), atol=1e-6)


def test_it_may_be_loaded_before_the_first_text(files: tuple[Path, Path]) -> None:
    model = MiniLM(*files)
    model.load()
    for file in files:
        file.unlink()
    assert model.query("cat").shape == (384,)


def test_naming_the_files_loads_neither_library(files: tuple[Path, Path]) -> None:
    code = "from pathlib import Path; from openclaw.retrieval.minilm import MiniLM\n"
    code += "MiniLM(Path('a'), Path('b'))"
    assert loaded_by(code, "onnxruntime", "tokenizers", "llama_index") == []


@pytest.fixture(scope="module")
def real() -> MiniLM:
    found = catalog.embedding_files()
    assert found is not None, "fetch it first: openclaw models pull all-minilm-l6-v2"
    return MiniLM(*found)


@pytest.mark.model
def test_sentences_of_one_meaning_are_nearer_than_others(real: MiniLM) -> None:
    pairs = [
        ("Which port does the staging server use?", "Staging listens on 8443."),
        ("When is Anna's birthday?", "Anna was born on the third of May."),
        ("How do I get the garden watered?", "The sprinklers in the yard start at six."),
        ("What did the doctor say?", "At the clinic they told her to rest for a week."),
    ]
    near = real.documents([told for _, told in pairs])
    for number, (asked, _) in enumerate(pairs):
        scores = near @ real.query(asked)
        assert scores.argmax() == number, (asked, scores)
        assert np.partition(scores, -2)[-2] < scores[number] - 0.05, (asked, scores)


@pytest.mark.model
def test_the_real_model_gives_the_published_similarities(real: MiniLM) -> None:
    """Those of the quickstart at https://www.sbert.net, computed there in float32."""
    vectors = real.documents(
        ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    )
    published = [[1.0, 0.6660, 0.1046], [0.6660, 1.0, 0.1411], [0.1046, 0.1411, 1.0]]
    np.testing.assert_allclose(vectors @ vectors.T, published, atol=0.02)


@pytest.mark.model
def test_the_same_text_gives_the_same_vector_in_any_company(real: MiniLM) -> None:
    texts = [f"note {i}: " + "the budget was moved to friday " * (i % 7) for i in range(20)]
    once, again = real.documents(texts), real.documents(texts)
    np.testing.assert_array_equal(once, again)
    alone = np.stack([real.query(text) for text in texts])
    np.testing.assert_allclose(once, alone, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(once, axis=1), 1, atol=1e-6)
