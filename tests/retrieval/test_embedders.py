"""Which embedder the settings mean, and embedding by Ollama over real HTTP."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from openclaw.errors import ModelFailed, ModelMissing, OpenclawError, ServerAway, UsageError
from openclaw.models.embedding_models import InstalledModel, cut, family, installed, preferred
from openclaw.retrieval.embedder_choice import choose_embedder
from openclaw.retrieval.server_embedders import SERVER_BATCH, OllamaEmbedder, OpenAIEmbedder
from tests.fakes.loaded import loaded_by
from tests.fakes.minilm import write_minilm
from tests.fakes.ollama_server import FakeModel, FakeOllama, Vectors
from tests.fakes.vectors import of_words

NOMIC = FakeModel(
    "nomic-embed-text:latest",
    capabilities=("embedding",),
    context_length=2048,
    family="nomic-bert",
    digest="0a109f422b47e3a30ba2b10eca18548e944e8a23073ee3f3e947efcf3c45e59f",
    dimensions=64,
)


@pytest.fixture
def server(fake_ollama: FakeOllama) -> FakeOllama:
    fake_ollama.models.append(NOMIC)
    return fake_ollama


@pytest.fixture
def nomic(server: FakeOllama) -> Iterator[OllamaEmbedder]:
    yield from opened(server, NOMIC)


def opened(server: FakeOllama, model: FakeModel) -> Iterator[OllamaEmbedder]:
    embedder = OllamaEmbedder(InstalledModel(model.name, model.digest, model.size), server.url)
    yield embedder
    embedder.close()


# choosing


@pytest.mark.parametrize("setting", ["auto", "embedded", "embedded/all-minilm-l6-v2"])
def test_the_installed_files_are_taken_and_no_server_is_asked(
    tmp_path: Path, server: FakeOllama, setting: str
) -> None:
    files = write_minilm(tmp_path, ["cat"])
    found = choose_embedder(setting, minilm=files, ollama_host=server.url)
    assert found.embedder is not None
    assert found.embedder.name == "embedded/all-minilm-l6-v2"
    assert found.embedder.query("cat").shape == (384,)
    assert server.requests == []


def test_none_means_words_only_and_needs_no_explanation(tmp_path: Path, server: FakeOllama) -> None:
    files = write_minilm(tmp_path, ["cat"])
    assert choose_embedder("none", minilm=files, ollama_host=server.url) == (None, "", "")
    assert server.requests == []


def test_auto_without_files_takes_an_embedding_model_of_ollama(server: FakeOllama) -> None:
    found = choose_embedder("auto", minilm=None, ollama_host=server.url)
    assert found.embedder is not None
    assert found.embedder.name == "ollama/nomic-embed-text:latest@0a109f422b47"
    assert server.paths == ["/api/tags"]


@pytest.mark.parametrize("setting", ["auto", "embedded"])
def test_with_nothing_there_the_command_that_gets_one_is_named(
    closed_port: int, setting: str
) -> None:
    url = f"http://127.0.0.1:{closed_port}"
    found = choose_embedder(setting, minilm=None, ollama_host=url)
    assert found.embedder is None
    assert "words only" in found.why_not
    assert found.advice == "openclaw models pull all-minilm-l6-v2"


def test_auto_never_embeds_with_a_model_that_talks(fake_ollama: FakeOllama) -> None:
    found = choose_embedder("auto", minilm=None, ollama_host=fake_ollama.url)
    assert found.embedder is None
    assert found.advice == "openclaw models pull all-minilm-l6-v2"


def test_a_named_model_is_taken_though_its_family_is_unknown(server: FakeOllama) -> None:
    server.models.append(FakeModel("my-own:v1", digest="ffff", dimensions=8))
    found = choose_embedder("ollama/my-own:v1", minilm=None, ollama_host=server.url)
    assert found.embedder is not None
    assert found.embedder.name == "ollama/my-own:v1@ffff"
    assert found.embedder.query("hello").shape == (8,)
    found.embedder.close()


def test_a_named_model_that_ollama_lacks_is_told_with_the_command(server: FakeOllama) -> None:
    found = choose_embedder("ollama/bge-m3", minilm=None, ollama_host=server.url)
    assert found.embedder is None
    assert "bge-m3" in found.why_not
    assert found.advice == "ollama pull bge-m3"


def test_a_named_model_of_a_server_that_is_away_is_told(closed_port: int) -> None:
    url = f"http://127.0.0.1:{closed_port}"
    found = choose_embedder("ollama/bge-m3", minilm=None, ollama_host=url)
    assert found.embedder is None
    assert url in found.why_not
    assert "ollama serve" in found.advice


@pytest.mark.parametrize("setting", ["", "openai/", "ollama/", "ollama", "embedded/other", "None"])
def test_what_is_no_embedding_is_refused_with_the_known_ones(setting: str) -> None:
    with pytest.raises(UsageError) as caught:
        choose_embedder(setting, minilm=None, ollama_host="http://127.0.0.1:1")
    assert "auto, embedded, ollama/NAME, openai/NAME or none" in caught.value.hint


def test_choosing_without_a_server_is_quick_and_loads_nothing_heavy(closed_port: int) -> None:
    code = f"""
import time
from openclaw.retrieval.embedder_choice import choose_embedder
began = time.perf_counter()
choose_embedder("auto", minilm=None, ollama_host="http://127.0.0.1:{closed_port}")
assert time.perf_counter() - began < 5
"""
    assert loaded_by(code, "httpx", "ollama", "llama_index", "onnxruntime") == []


def test_a_port_that_takes_connections_and_is_no_ollama_is_away() -> None:
    with FakeOllama() as server, pytest.raises(ServerAway):
        installed(f"{server.url}/elsewhere")


def test_models_of_many_languages_come_first_and_huge_ones_last() -> None:
    def models(*names: str, size: int = 10**9) -> list[InstalledModel]:
        return [InstalledModel(name, "d", size) for name in names]

    def taken(found: list[InstalledModel]) -> str:
        best = preferred(found)
        return best.name if best else ""

    small = models("all-minilm:latest", "nomic-embed-text:v1.5", "bge-m3:latest", "llama3.2:3b")
    assert taken(small) == "bge-m3:latest"
    assert taken(small[:2]) == "nomic-embed-text:v1.5"
    assert taken(models("llama3.2:3b")) == ""
    huge = models("qwen3-embedding:8b", size=5 * 10**9)
    assert taken([*huge, *small[:1]]) == "all-minilm:latest"
    assert taken(huge) == "qwen3-embedding:8b"


@pytest.mark.parametrize(
    ("name", "query", "document", "window"),
    [
        ("nomic-embed-text:latest", "search_query:", "search_document:", 2048),
        ("nomic-embed-text-v2-moe", "search_query:", "search_document:", 512),
        ("embeddinggemma:300m", "task: search result | query:", "title: none | text:", 2048),
        ("snowflake-arctic-embed2", "query:", "", 8192),
        ("bge-m3", "", "", 8192),
        ("jeffh/intfloat-multilingual-e5-large:f16", "query:", "passage:", 512),
        ("all-minilm:33m", "", "", 256),
        ("my-own", "", "", 512),
    ],
)
def test_each_family_is_asked_in_its_own_way(
    name: str, query: str, document: str, window: int
) -> None:
    found = family(name)
    assert (found.query, found.document, found.window) == (query, document, window)


@pytest.mark.parametrize(
    "name", ["mxbai-embed-large:335m", "snowflake-arctic-embed:22m", "bge-large:latest"]
)
def test_models_that_want_a_sentence_before_a_question_get_it(name: str) -> None:
    found = family(name)
    assert found.query == "Represent this sentence for searching relevant passages:"
    assert found.document == ""


def test_qwen_is_told_its_task_however_its_name_is_written() -> None:
    for name in ("qwen3-embedding:0.6b", "hf.co/Qwen/Qwen3-Embedding-0.6B-GGUF:Q8_0"):
        assert family(name).query.startswith("Instruct: ")
        assert family(name).query.endswith("\nQuery:")


# embedding


def test_questions_and_documents_reach_the_server_with_their_prefixes(
    server: FakeOllama, nomic: OllamaEmbedder
) -> None:
    documents = nomic.documents(["the port is 80", "a cat"])
    question = nomic.query("which port?")
    assert [body["input"] for body in server.embeds] == [
        ["search_document: the port is 80", "search_document: a cat"],
        ["search_query: which port?"],
    ]
    assert {body["model"] for body in server.embeds} == {"nomic-embed-text:latest"}
    assert documents.shape == (2, 64) and documents.dtype == np.float32
    assert documents[0] @ question > documents[1] @ question


def test_vectors_are_brought_to_length_one(server: FakeOllama, nomic: OllamaEmbedder) -> None:
    server.vectors_said.append(Vectors(rows=[[3.0, 4.0], [0.0, 0.5]]))
    np.testing.assert_allclose(nomic.documents(["a", "b"]), [[0.6, 0.8], [0.0, 1.0]], atol=1e-6)


def test_many_texts_go_in_batches_and_come_back_in_order(
    server: FakeOllama, nomic: OllamaEmbedder
) -> None:
    texts = [f"number {i}" for i in range(2 * SERVER_BATCH + 3)]
    vectors = nomic.documents(texts)
    assert [len(body["input"]) for body in server.embeds] == [SERVER_BATCH, SERVER_BATCH, 3]
    for text, vector in zip(texts, vectors, strict=True):
        np.testing.assert_allclose(vector, of_words(f"search_document: {text}"), atol=1e-6)


few_and_many = pytest.mark.parametrize("more", [2, SERVER_BATCH])
"""Texts that are asked for by our own client, and by the library."""


def test_a_full_batch_is_asked_by_the_library_in_the_same_words(
    server: FakeOllama, nomic: OllamaEmbedder
) -> None:
    texts = [f" line {number}\n" for number in range(SERVER_BATCH)]
    whole, few = nomic.documents(texts), nomic.documents(texts[:3])
    assert np.array_equal(whole[:3], few)
    assert server.embeds[0]["input"][:3] == server.embeds[1]["input"]
    nomic.close()
    assert np.array_equal(nomic.documents(texts), whole)  # it connects again


def test_no_text_asks_for_nothing(server: FakeOllama, nomic: OllamaEmbedder) -> None:
    assert len(nomic.documents([])) == 0
    assert server.requests == []


def test_the_name_tells_another_model_of_the_same_name_apart(server: FakeOllama) -> None:
    first, second = (
        OllamaEmbedder(InstalledModel("own:latest", digest, 1), server.url).name
        for digest in ("a" * 64, "b" * 64)
    )
    assert first != second


def test_long_texts_are_cut_to_the_window_before_they_are_sent(
    server: FakeOllama, nomic: OllamaEmbedder
) -> None:
    nomic.documents(["word " * 5000, "語" * 5000])
    latin, chinese = server.embeds[0]["input"]
    assert 5000 < len(latin) <= 3 * 2048
    assert 1900 < len(chinese) <= 2048


def test_cutting_keeps_what_fits_and_the_beginning_of_the_rest() -> None:
    assert cut("short", 256) == "short"
    assert cut("x" * 5000, 256) == "x" * 672
    assert cut("語" * 300, 256) == "語" * 224
    assert cut("x" * 600, 256) == "x" * 600


@few_and_many
def test_texts_that_the_server_calls_too_long_are_cut_and_the_others_kept(
    fake_ollama: FakeOllama, more: int
) -> None:
    narrow = FakeModel("all-minilm:latest", context_length=20, truncates=False, dimensions=16)
    fake_ollama.models.append(narrow)
    for embedder in opened(fake_ollama, narrow):
        vectors = embedder.documents(["a short one", "x " * 100, *["more"] * (more - 2)])
        np.testing.assert_allclose(vectors[0], of_words("a short one", 16), atol=1e-6)
        np.testing.assert_allclose(vectors[1], of_words("x", 16), atol=1e-6)
        assert embedder.query("which " * 60).shape == (16,)


def test_a_server_that_refuses_every_length_is_not_asked_for_ever(
    server: FakeOllama, nomic: OllamaEmbedder
) -> None:
    refusal = Vectors(status=400, error="the input length exceeds the context length")
    server.vectors_said.extend([refusal] * 50)
    with pytest.raises(ModelFailed, match="too long"):
        nomic.documents(["some words " * 30])
    with pytest.raises(ModelFailed, match="too long"):
        nomic.query("some words " * 30)
    assert len(server.embeds) < 20


@few_and_many
def test_a_server_that_is_away_is_told_at_once(closed_port: int, more: int) -> None:
    embedder = OllamaEmbedder(InstalledModel("own", "d", 1), f"http://127.0.0.1:{closed_port}")
    with pytest.raises(ServerAway, match="does not answer") as caught:
        embedder.documents(["x"] * more)
    assert "ollama serve" in caught.value.hint
    began = time.monotonic()
    with pytest.raises(ServerAway, match="does not answer"):
        embedder.query("x")
    assert time.monotonic() - began < 5
    embedder.close()


@few_and_many
def test_a_server_that_dies_half_way_keeps_what_was_done_and_serves_again(
    server: FakeOllama, nomic: OllamaEmbedder, more: int
) -> None:
    server.vectors_said.extend([Vectors(), Vectors(cut=True)])
    assert len(nomic.documents(["first"])) == 1
    with pytest.raises(ServerAway, match="broke off"):
        nomic.documents(["second"] * more)
    assert len(nomic.documents(["second"] * more)) == more
    assert len(server.embeds) == 3


def test_a_server_that_was_stopped_meanwhile_is_away() -> None:
    with FakeOllama(models=[NOMIC]) as server:
        embedder = OllamaEmbedder(InstalledModel(NOMIC.name, NOMIC.digest, 1), server.url)
        embedder.query("x")
        embedder.close()
    with pytest.raises(ServerAway):
        embedder.query("x")
    embedder.close()


@few_and_many
def test_a_model_that_is_gone_names_the_command(
    server: FakeOllama, nomic: OllamaEmbedder, more: int
) -> None:
    server.models.remove(NOMIC)
    with pytest.raises(ModelMissing, match="nomic-embed-text") as caught:
        nomic.documents(["x"] * more)
    assert caught.value.hint == "ollama pull nomic-embed-text:latest"


def test_a_model_that_cannot_embed_is_told(server: FakeOllama) -> None:
    for embedder in opened(server, FakeModel("fake:1b")):
        with pytest.raises(ModelFailed, match="does not support embeddings") as caught:
            embedder.query("x")
    assert "embedding model" in caught.value.hint


@pytest.mark.parametrize(
    "said",
    [
        Vectors(rows=[]),
        Vectors(rows=[[]]),
        Vectors(rows=[[1.0, 0.0]]),
        Vectors(rows=[[1.0, 0.0], [1.0]]),
        Vectors(rows=[[1.0, 0.0], None]),
        Vectors(rows=[[1.0, 0.0], [float("nan"), 1.0]]),
        Vectors(rows=[[1.0, 0.0], [float("inf"), 1.0]]),
        Vectors(rows=[[1.0, 0.0], [0.0, 0.0]]),
        Vectors(status=500, error="failed to encode response: json: unsupported value: NaN"),
        Vectors(status=503, error="server busy, please try again"),
    ],
    ids=lambda said: str(said.rows or said.error),
)
def test_useless_vectors_are_never_returned(
    server: FakeOllama, nomic: OllamaEmbedder, said: Vectors
) -> None:
    server.vectors_said.append(said)
    with pytest.raises(ModelFailed) as caught:
        nomic.documents(["a", "b"])
    assert caught.value.hint
    assert len(server.embeds) == 1


def test_vectors_of_another_size_than_before_are_refused(
    server: FakeOllama, nomic: OllamaEmbedder
) -> None:
    nomic.documents(["a"])
    server.vectors_said.append(Vectors(rows=[[1.0] * 32]))
    with pytest.raises(ModelFailed, match="32 dimensions where there were 64"):
        nomic.query("a")


def test_an_empty_answer_to_a_question_is_an_error_of_ours(
    server: FakeOllama, nomic: OllamaEmbedder
) -> None:
    server.vectors_said.append(Vectors(rows=[]))
    with pytest.raises(OpenclawError):
        nomic.query("a")


def test_a_question_does_not_wait_for_passages_of_another_thread(
    server: FakeOllama, nomic: OllamaEmbedder
) -> None:
    server.vectors_said.append(Vectors(stall=2.0))
    with ThreadPoolExecutor() as pool:
        passages = pool.submit(nomic.documents, ["a"])
        while not server.embeds:
            time.sleep(0.01)
        questions = [pool.submit(nomic.query, f"q{number}") for number in range(4)]
        assert [found.result().shape for found in questions] == [(64,)] * 4
        assert not passages.done()
        assert passages.result().shape == (1, 64)


def test_embedding_by_a_server_loads_no_library_for_it(server: FakeOllama) -> None:
    code = f"""
from openclaw.retrieval.embedder_choice import choose_embedder
choose_embedder("auto", minilm=None, ollama_host="{server.url}").embedder.query("a cat")
"""
    assert loaded_by(code, "httpx", "ollama", "llama_index", "onnxruntime") == []
    assert server.embeds


def test_the_stand_in_still_speaks_the_older_way_and_cuts_dimensions(server: FakeOllama) -> None:
    import ollama

    client = ollama.Client(server.url)
    old = client.embeddings("nomic-embed-text", "a cat").embedding
    new = client.embed("nomic-embed-text", "a cat").embeddings[0]
    assert list(old) == pytest.approx(list(new))
    assert len(client.embed("nomic-embed-text", "a cat", dimensions=8).embeddings[0]) == 8
    with pytest.raises(ollama.ResponseError, match="not found"):
        client.embed("unknown", "a cat")
    client.close()  # type: ignore[no-untyped-call]


# a server with OpenAI's API


@pytest.fixture
def compatible(server: FakeOllama) -> Iterator[OpenAIEmbedder]:
    url = f"{server.url}/v1"
    found = choose_embedder(
        "openai/nomic-embed-text", minilm=None, ollama_host="", openai_url=url, api_key="secret"
    )
    assert isinstance(found.embedder, OpenAIEmbedder)
    yield found.embedder
    found.embedder.close()


def test_another_server_gives_the_same_vectors(
    compatible: OpenAIEmbedder, nomic: OllamaEmbedder, server: FakeOllama
) -> None:
    texts = [f"text {number}" for number in range(SERVER_BATCH + 3)]
    assert np.allclose(compatible.documents(texts), nomic.documents(texts))
    assert np.allclose(compatible.query("cat"), nomic.query("cat"))
    asked = [each for each in server.requests if each.path == "/v1/embeddings"]
    assert len(asked) == 3
    assert asked[-1].body["input"] == ["search_query: cat"]
    assert asked[-1].headers["Authorization"] == "Bearer secret"


def test_the_name_differs_for_another_address() -> None:
    names = {OpenAIEmbedder("e", url, "").name for url in ("", "http://a/v1", "http://a/v1/")}
    assert len(names) == 2 and all(name.startswith("openai/e@") for name in names)


def test_a_text_that_another_server_refuses_as_too_long_is_cut(
    compatible: OpenAIEmbedder, server: FakeOllama
) -> None:
    long = "word " * 3_000
    server.vectors_said.append(Vectors(status=400, error="input is too long"))
    assert compatible.documents([long]).shape == (1, 64)


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (Vectors(status=401, error="no key"), ModelFailed),
        (Vectors(status=404, error="no model"), ModelMissing),
        (Vectors(rows=[[0.0, 0.0]]), ModelFailed),
        (Vectors(rows=[None]), ModelFailed),
        (Vectors(cut=True), ServerAway),
    ],
)
def test_what_another_server_does_wrong_is_told(
    compatible: OpenAIEmbedder, server: FakeOllama, said: Vectors, error: type[OpenclawError]
) -> None:
    server.vectors_said.append(said)
    with pytest.raises(error):
        compatible.query("cat")


def test_another_server_that_is_away_is_told(closed_port: int) -> None:
    embedder = OpenAIEmbedder("e", f"http://127.0.0.1:{closed_port}/v1", "")
    with pytest.raises(ServerAway, match="does not answer"):
        embedder.query("cat")
