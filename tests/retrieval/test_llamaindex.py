"""The index as LlamaIndex retrievers: BM25 over stored postings, our vectors, and both fused."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bm25s
import numpy as np
import numpy.typing as npt
import pytest

from openclaw.errors import ModelFailed
from openclaw.retrieval import ranking
from openclaw.retrieval.index_store import IndexStore
from openclaw.retrieval.indexer import Indexer
from openclaw.retrieval.ranking import UNRELATED
from openclaw.retrieval.scan import IndexOptions
from openclaw.retrieval.search import Search
from openclaw.retrieval.snapshot import SnapshotView, best, question_vector
from openclaw.retrieval.tokens import words
from openclaw.storage.home import Home
from tests.fakes.embedder import WordEmbedder
from tests.fakes.index import embed_pending, matrix_of
from tests.fakes.late import Late
from tests.fakes.loaded import loaded_by

if TYPE_CHECKING:
    from llama_index.core.schema import MetadataMode, QueryBundle

    from openclaw.retrieval.llamaindex import StoredBM25, word_index
else:
    MetadataMode, QueryBundle = (
        Late("llama_index.core.schema", name) for name in ("MetadataMode", "QueryBundle")
    )
    StoredBM25, word_index = (
        Late("openclaw.retrieval.llamaindex", name) for name in ("StoredBM25", "word_index")
    )

NOTES = """# House

- The boiler was serviced in March by Olsen.
- The boiler needs two bar of pressure, boiler first.
- Keys hang beside the door.

# Animals

- The cat eats at seven.
- Our cat and the neighbour's cat fight over the garden.
"""
TRIP = "# Trip\n\nThe ferry to Bergen leaves at noon.\n\nTicket OPS-4217 is in the drawer.\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for path, text in {"memory/2026-01-05.md": NOTES, "workspace/trip.md": TRIP}.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, "utf-8")
    return tmp_path


@pytest.fixture
def store(home: Path) -> Iterator[IndexStore]:
    it = IndexStore(home / ".openclaw" / "index" / "index.sqlite")
    Indexer(Home(home), it, IndexOptions()).refresh()
    yield it
    it.close()


def embedded(home: Path, store: IndexStore, embedder: WordEmbedder) -> SnapshotView:
    embed_pending(Indexer(Home(home), store, IndexOptions()), embedder)
    return SnapshotView(store.snapshot())


def texts(found: list[Any]) -> list[str]:
    return [each.node.get_content(MetadataMode.NONE) for each in found]


# -------- words


def corpus(store: IndexStore) -> list[list[str]]:
    """The words of each row, as often as they count in it, without the days that it tells of."""
    snapshot = store.snapshot()
    rows: list[list[str]] = [[] for _ in range(snapshot.count)]
    for (term,) in store.query(
        "SELECT DISTINCT term FROM postings WHERE substr(term, 1, 1) NOT IN ('@', '=')"
    ):
        for row, count in zip(*snapshot.postings(str(term)), strict=True):
            rows[row] += [str(term)] * int(count)
    assert [len(row) for row in rows] == snapshot.lengths.tolist()
    return rows


@pytest.mark.parametrize(
    "question", ["boiler", "cat boiler", "cat garden ferry door", "OPS-4217", "two bar zebra cat"]
)
def test_scores_are_those_of_a_bm25s_index_of_everything(store: IndexStore, question: str) -> None:
    whole = bm25s.BM25(k1=ranking.K1, b=ranking.B, method="lucene")
    whole.index(corpus(store), show_progress=False)
    terms = list(dict.fromkeys(words(question)))
    ours = word_index(SnapshotView(store.snapshot()), terms)
    expected: npt.NDArray[np.float32] = whole.get_scores(terms)
    assert expected.max() > 0
    assert np.array_equal(ours.get_scores(terms), expected)


def test_only_chunks_that_hold_a_word_are_found_best_first(store: IndexStore) -> None:
    found = StoredBM25(SnapshotView(store.snapshot())).retrieve("boiler pressure")
    assert "pressure" in texts(found)[0]
    scores = [each.score or 0.0 for each in found]
    assert scores == sorted(scores, reverse=True) and min(scores) > 0
    assert len(found) < store.snapshot().count


def test_ids_and_words_of_any_script_are_found(home: Path, store: IndexStore) -> None:
    (home / "memory" / "x.md").write_text("- 東京タワーは高い\n- I like C++ more than R\n", "utf-8")
    Indexer(Home(home), store, IndexOptions()).refresh()
    retriever = StoredBM25(SnapshotView(store.snapshot()))
    for question, line in (("東京", "東京"), ("C++", "C++"), ("ops-4217", "OPS-4217")):
        assert line in texts(retriever.retrieve(question))[0]


@pytest.mark.parametrize("question", ["", "  \n ", "zebra", "?!"])
def test_a_question_without_a_known_word_finds_nothing(store: IndexStore, question: str) -> None:
    assert StoredBM25(SnapshotView(store.snapshot())).retrieve(question) == []


def test_an_index_without_chunks_and_one_of_rules_only_find_nothing(tmp_path: Path) -> None:
    store = IndexStore(tmp_path / "empty.sqlite")
    assert StoredBM25(SnapshotView(store.snapshot())).retrieve("boiler") == []
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "rules.md").write_text("---\n\n***\n\n<!-- nothing -->\n", "utf-8")
    Indexer(Home(tmp_path), store, IndexOptions()).refresh()
    view = SnapshotView(store.snapshot())
    assert StoredBM25(view).retrieve("nothing") == []
    store.close()


def test_rows_that_are_not_allowed_are_not_found(store: IndexStore) -> None:
    snapshot = store.snapshot()
    rows, _ = snapshot.postings("boiler")
    allowed = np.ones(snapshot.count, np.bool_)
    allowed[rows[1:]] = False
    assert len(StoredBM25(SnapshotView(snapshot, allowed)).retrieve("boiler")) == 1
    assert StoredBM25(SnapshotView(snapshot, ~np.ones_like(allowed))).retrieve("boiler") == []


# -------- vectors


def test_the_best_come_first_and_equal_ones_in_their_order() -> None:
    scores = np.array([0.5, 0.9, 0.5, 0.1, 0.9], np.float32)
    assert best(scores, 4).tolist() == [1, 4, 0, 2]
    assert best(scores, 9).tolist() == [1, 4, 0, 2, 3]
    allowed = np.array([True, False, True, True, False])
    assert best(scores, 2, allowed).tolist() == [0, 2]
    assert not len(best(scores, 0)) and not len(best(scores, 3, ~allowed & allowed))


def test_the_nearest_rows_come_with_their_cosines(home: Path, store: IndexStore) -> None:
    embedder = WordEmbedder()
    view = embedded(home, store, embedder)
    vector = embedder.query("when does the feline eat")
    matrix, known = matrix_of(view.snapshot, embedder.name)
    cosines = np.where(known, matrix.astype(np.float32) @ vector, -2)
    found = ranking.nearest(view, embedder, vector.tolist(), np.empty(0, np.int64))
    assert found.rows.tolist() == np.flatnonzero(known).tolist()
    assert found.scores == pytest.approx(cosines[found.rows], abs=1e-6)


def nearness(
    home: Path, store: IndexStore, lines: list[str], embedder: WordEmbedder, question: str
) -> list[float]:
    """How near each line, in a file of its own, comes to a question."""
    shutil.rmtree(home / "memory")
    for n, line in enumerate(lines):
        (home / "memory").mkdir(exist_ok=True)
        (home / f"memory/{n:03}.md").write_text(line, "utf-8")
    Indexer(Home(home), store, IndexOptions()).refresh()
    view, vector = embedded(home, store, embedder), embedder.query(question).tolist()
    found = ranking.nearest(view, embedder, vector, np.arange(view.snapshot.count))
    texts = [chunk.text for chunk in view.chunks(found.rows.tolist())]
    return [float(found.scores[texts.index(line)]) for line in lines]


@pytest.mark.parametrize("greetings", [3, 60])
def test_what_is_near_to_all_lines_comes_after_what_is_not(
    home: Path, store: IndexStore, greetings: int
) -> None:
    lines = ["hey", "tank valve", *(f"hey friend{n}" for n in range(greetings))]
    hey, tank, *_ = nearness(home, store, lines, WordEmbedder(), "hey tank")
    assert (tank > hey) == (greetings == 60)  # three lines do not tell what is usual


class Narrow(WordEmbedder):
    """All its vectors lie near each other."""

    def _vector(self, text: str) -> list[float]:
        vector = np.array(super()._vector(text)) + 1 / np.sqrt(self.width)
        return list(vector / np.linalg.norm(vector))


def test_cosines_are_read_by_what_is_usual_for_the_model(home: Path, store: IndexStore) -> None:
    lines = [f"tale{n} of others{n}" for n in range(60)]
    asked = (home, store, lines, Narrow(), lines[7])
    same, *others = sorted(nearness(*asked), reverse=True)
    assert same > 0.9
    assert np.median(others) == pytest.approx(UNRELATED, abs=0.05)


def test_rows_without_a_vector_are_not_found(home: Path, store: IndexStore) -> None:
    embedder = WordEmbedder()
    embedded(home, store, embedder)
    (home / "memory" / "new.md").write_text("the volcano erupts", "utf-8")
    Indexer(Home(home), store, IndexOptions()).refresh()
    view = SnapshotView(store.snapshot())
    every = np.arange(view.snapshot.count)
    found = ranking.nearest(view, embedder, embedder.query("volcano").tolist(), every)
    assert "memory/new.md" not in {chunk.path for chunk in view.chunks(found.rows.tolist())}
    assert len(found.rows) == int((view.snapshot.contexts != 0).sum()) - 1
    other = WordEmbedder("fake/other")
    assert not len(ranking.nearest(view, other, [1.0] * 64, every).rows)


@pytest.mark.parametrize("spoilt", [[float("nan")] * 64, [0.0] * 64, [float("inf"), 1.0]])
def test_an_unusable_vector_of_a_question_is_an_error(spoilt: list[float]) -> None:
    with pytest.raises(ModelFailed, match="unusable vector"):
        question_vector(WordEmbedder(spoilt=spoilt), "cat")


# -------- both


@pytest.fixture
def opened(home: Path) -> Iterator[Callable[..., Search]]:
    """Opens the search of the home with an embedder, all passages embedded by another one."""
    made: list[Search] = []

    def open_with(embedder: WordEmbedder | None) -> Search:
        made.append(Search(Home(home), IndexOptions(), lambda: embedder, home / "private"))
        made[-1].refresh()
        made[-1].embed()
        return made[-1]

    open_with(WordEmbedder())
    yield open_with
    for search in made:
        search.close()


def test_meaning_finds_what_no_word_finds(opened: Callable[..., Search]) -> None:
    by_words = opened(None).retriever().retrieve("feline")
    assert "cat eats" not in " ".join(texts(by_words))
    found = opened(WordEmbedder()).retriever().retrieve("when does the feline eat?")
    assert "cat eats" in texts(found)[0]


def test_nodes_tell_where_they_stand_and_scores_are_between_0_and_1(
    opened: Callable[..., Search],
) -> None:
    found = opened(WordEmbedder()).retriever().retrieve("the boiler pressure")
    first = found[0]
    assert first.metadata["path"] == "memory/2026-01-05.md"
    assert (first.metadata["start_line"], first.metadata["end_line"]) == (4, 4)
    assert first.metadata["headings"] == "House" and first.metadata["date"] == "2026-01-05"
    assert all(0 < (each.score or 0) <= 1 for each in found)
    assert len(found) == len({each.node_id for each in found}) <= 5
    assert "headings" not in first.node.get_content(MetadataMode.LLM)


def test_a_bundle_that_has_a_vector_is_not_embedded_again(opened: Callable[..., Search]) -> None:
    embedder = WordEmbedder()
    bundle = QueryBundle("the feline", embedding=WordEmbedder().query("the cat").tolist())
    assert opened(embedder).retriever().retrieve(bundle)
    assert embedder.questions == []


@pytest.mark.parametrize(
    "embedder",
    [
        WordEmbedder(left=0),
        WordEmbedder(spoilt=[float("nan")] * 64),
        WordEmbedder(spoilt=[1.0, 2.0]),
    ],
)
def test_words_answer_alone_when_the_vector_fails(
    opened: Callable[..., Search], embedder: WordEmbedder
) -> None:
    search = opened(embedder)
    found = search.retriever().retrieve("boiler")
    assert len(search.notices) == 1
    assert texts(found) == texts(opened(None).retriever().retrieve("boiler"))


def test_nothing_of_llama_index_is_set_or_printed(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from llama_index.core.settings import Settings

    names = ("_llm", "_embed_model", "_callback_manager", "_node_parser", "_transformations")
    before = [vars(Settings).get(name) for name in names]
    for name in names:
        setattr(Settings, name, None)
    search = Search(Home(home), IndexOptions(), WordEmbedder, home / ".openclaw")
    assert search.search("cat") and search.retriever().retrieve("boiler")
    search.close()
    assert all(vars(Settings).get(name) is None for name in names)
    for name, value in zip(names, before, strict=True):
        setattr(Settings, name, value)
    assert capfd.readouterr() == ("", "")


def test_a_program_of_the_users_own_gets_what_is_new(home: Path) -> None:
    search = Search(Home(home), IndexOptions(), lambda: None, home / ".openclaw")
    retriever = search.retriever(k=2)
    assert retriever.retrieve("volcano") == []
    (home / "memory" / "new.md").write_text("The volcano erupts.\n", "utf-8")
    assert texts(retriever.retrieve("volcano")) == ["The volcano erupts."]
    assert len(retriever.retrieve("the boiler cat ferry")) <= 2
    search.close()


def test_importing_the_search_loads_nothing_heavy_but_numpy(tmp_path: Path) -> None:
    code = "import openclaw.retrieval.search, openclaw.retrieval.shared_store"
    heavy = "llama_index bm25s onnxruntime tokenizers ollama httpx Stemmer".split()
    assert loaded_by(code, *heavy) == []


@pytest.mark.parametrize("question", ["boiler", "two bar zebra cat", "cat garden ferry door", ""])
@pytest.mark.parametrize("allowed", [None, [0, 2, 3]])
def test_without_llama_index_the_same_is_found(
    store: IndexStore, question: str, allowed: list[int] | None
) -> None:
    snapshot = store.snapshot()
    mask = None if allowed is None else np.isin(np.arange(snapshot.count), allowed)
    view = SnapshotView(snapshot, mask)
    ours, theirs = ranking.by_words(view, question), StoredBM25(view).find(question)
    assert ours.rows.tolist() == theirs.rows.tolist()
    assert ours.scores.tolist() == theirs.scores.tolist()


@pytest.mark.parametrize("embedder", [WordEmbedder(), None])
def test_a_search_and_the_retriever_give_the_same_list(
    home: Path, embedder: WordEmbedder | None
) -> None:
    search = Search(Home(home), IndexOptions(), lambda: embedder, home / "private")
    search.embed()
    for question in ("boiler", "two bar zebra cat", "What fights over the garden?", "OPS-4217"):
        found = [(p.text, round(p.score, 6)) for p in search.search(question, 4)]
        nodes = search.retriever(k=4).retrieve(question)
        assert found == [(n.text, round(n.score or 0.0, 6)) for n in nodes]
        assert found
    search.close()


def test_a_search_loads_no_llama_index(home: Path) -> None:
    program = (
        "from pathlib import Path\n"
        "from openclaw.storage.home import Home\n"
        "from openclaw.retrieval.scan import IndexOptions\n"
        "from openclaw.retrieval.search import Search\n"
        f"home = Home(Path({str(home)!r}))\n"
        "search = Search(home, IndexOptions(), lambda: None, home.private)\n"
        "asked = 'When was the boiler serviced?'\n"
        "assert len(search.chosen_for_prompt(asked, (), 3, 400, len).passages) == 1\n"
        "assert len(search.search(asked, 2)) == 2 and search.ranked(asked).shown"
    )
    assert loaded_by(program, "llama_index", "bm25s") == []
