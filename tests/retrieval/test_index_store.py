"""The index file: what is written is read again, in one piece, and nothing more is written."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from openclaw.retrieval import database, vector_upkeep
from openclaw.retrieval.database import Stamp
from openclaw.retrieval.index_store import IndexStore
from openclaw.retrieval.index_writer import FileReading, Writer, context_key
from openclaw.retrieval.snapshot import IN_MEMORY, SnapshotView
from tests.fakes.index import count_words, matrix_of, split_lines

SEA = "# Sea\n- the blue whale sings\n- the sea is blue blue blue\n"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[IndexStore]:
    store = IndexStore(tmp_path / "index" / "index.sqlite")
    yield store
    store.close()


def put(writer: Writer, path: str, text: str, mtime_ns: int = 1) -> None:
    chunks = split_lines(text, "markdown", path)
    stamp = Stamp(len(text), mtime_ns, 1, 1)
    writer.put(FileReading(path, stamp, f"md5 of {text}", 9, "plain"), chunks, *count_words(chunks))


def take_in(store: IndexStore, **texts: str) -> None:
    with store.write() as writer:
        for name, text in texts.items():
            put(writer, f"memory/{name}.md", text)


def vectors_of(*texts: str, width: int = 4) -> npt.NDArray[np.float32]:
    numbers = [[len(text) + place for place in range(width)] for text in texts]
    vectors = np.array(numbers, np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def embed(store: IndexStore, name: str, *texts: str, width: int = 4) -> None:
    with store.write() as writer:
        vector_upkeep.add(
            writer, name, [context_key(text) for text in texts], vectors_of(*texts, width=width)
        )


def missing(store: IndexStore, name: str) -> set[int]:
    """The contexts without a vector."""
    return {
        key for _, keys in vector_upkeep.missing(store.snapshot(), name) for key in keys.tolist()
    }


def embed_all(store: IndexStore, name: str = "fake/one") -> None:
    contexts = sorted(missing(store, name))
    with store.write() as writer:
        vector_upkeep.add(writer, name, contexts, np.ones((len(contexts), 4), np.float32))


def test_a_new_index_is_empty(store: IndexStore) -> None:
    view = store.snapshot()
    assert (view.count, len(view.lengths)) == (0, 0)
    assert [len(part) for part in view.postings("whale")] == [0, 0]
    matrix, known = matrix_of(view, "fake/one")
    assert (matrix.shape, known.shape) == ((0, 0), (0,))
    assert store.files() == {} and view.count == 0


def test_chunks_are_read_as_they_were_written(store: IndexStore) -> None:
    take_in(store, sea=SEA, day="one line\n")
    view = store.snapshot()
    assert view.count == 4
    chunk = view.rows([2, 0])[0]
    assert (chunk.row, chunk.path, chunk.start_line, chunk.end_line) == (2, "memory/sea.md", 3, 3)
    assert (chunk.text, chunk.headings) == ("- the sea is blue blue blue", ("Sea",))
    by_file = [(path, rows.tolist()) for path, rows in view.by_file(np.arange(view.count))]
    assert by_file == [("memory/sea.md", [0, 1, 2]), ("memory/day.md", [3])]
    wanted = np.array(["day" in path for path in view.paths])
    assert view.rows_of_files(wanted).tolist() == [False] * 3 + [True]
    with pytest.raises(IndexError):
        view.rows([4])


def test_postings_name_rows_and_how_often_they_have_a_word(store: IndexStore) -> None:
    take_in(store, sea=SEA, day="a blue day\n")
    view = store.snapshot()
    rows, counts = view.postings("blue")
    assert (rows.tolist(), counts.tolist()) == ([1, 2, 3], [1, 4, 1])
    assert (str(rows.dtype), str(counts.dtype)) == ("int64", "uint8")
    assert view.lengths.tolist() == [2.0, 7.0, 12.0, 3.0]


def test_a_narrowed_view_has_what_was_read_for_the_whole(store: IndexStore) -> None:
    take_in(store, sea=SEA, day="a blue day\n")
    whole = SnapshotView(store.snapshot())
    rows, _ = whole.postings("blue")
    narrowed = whole.narrowed(np.array([False, False, False, True]))
    assert narrowed.postings("blue")[0] is rows
    assert (whole.allowed, narrowed.allowed is None) == (None, False)


def test_a_word_that_stands_very_often_in_a_chunk_is_still_a_word_of_it(store: IndexStore) -> None:
    take_in(store, long="word " * 1000)
    rows, counts = store.snapshot().postings("word")
    assert (rows.tolist(), counts.tolist()) == ([0], [255.0])


def test_a_swapped_file_leaves_nothing_of_the_old_one(store: IndexStore) -> None:
    take_in(store, sea=SEA, other="the whale\n")
    take_in(store, sea="# Land\n- a red fox\n")
    view = store.snapshot()
    assert [chunk.text for chunk in view.rows(range(view.count))] == [
        *("# Land", "- a red fox", "the whale"),
    ]
    assert view.postings("whale")[0].tolist() == [2]
    assert len(view.postings("blue")[0]) == 0
    assert view.postings("fox")[0].tolist() == [1]


def test_a_removed_file_is_gone(store: IndexStore) -> None:
    take_in(store, sea=SEA, other="the whale\n")
    with store.write() as writer:
        writer.remove("memory/sea.md")
        writer.remove("memory/never.md")
    assert list(store.files()) == ["memory/other.md"]
    assert store.snapshot().postings("whale")[0].tolist() == [0]
    assert store.query("SELECT count(*) FROM postings") == [(2,)]


def test_a_file_may_be_written_and_removed_in_one_transaction(store: IndexStore) -> None:
    take_in(store, sea="the fox\n")
    with store.write() as writer:
        put(writer, "memory/sea.md", SEA)
        put(writer, "memory/sea.md", "a cow\n")
        put(writer, "memory/new.md", "a hen\n")
        writer.remove("memory/new.md")
    view = store.snapshot()
    assert [chunk.text for chunk in view.rows(range(view.count))] == ["a cow"]
    assert store.query("SELECT term FROM postings") == [("a",), ("cow",)]


def test_only_rows_that_differ_are_written(store: IndexStore) -> None:
    """1,000 lines with words of their own; one line more at the end changes a few rows."""
    text = "".join(f"line{n} tells of thing{n}\n" for n in range(1000))
    take_in(store, long=text)
    before = store._writer.total_changes
    take_in(store, long=text + "and a last one\n")
    # The last line's chunk and seven words, and the rows of the file and of the index themselves.
    assert store._writer.total_changes - before < 20


def ids_by_text(store: IndexStore) -> dict[str, str]:
    view, rows = store.snapshot(), range(4)
    texts = [chunk.text for chunk in view.rows(rows)]
    return dict(zip(texts, view.node_ids(rows), strict=True))


def test_node_ids_stay_when_lines_only_move(store: IndexStore) -> None:
    take_in(store, sea="# A\nx\ny\nz\n")
    before = ids_by_text(store)
    take_in(store, sea="\n\n# A\n\nx\ny\n\nz\n")
    view = store.snapshot()
    assert ids_by_text(store) == before
    assert [chunk.start_line for chunk in view.rows(range(4))] == [3, 5, 6, 8]


def test_equal_lines_have_ids_of_their_own(store: IndexStore) -> None:
    take_in(store, a="x\nx\nx\nx\n", b="x\nx\nx\n")
    ids = store.snapshot().node_ids(range(7))
    assert len(set(ids)) == len(ids) == 7


def test_a_snapshot_stays_as_it_is_while_the_index_changes(store: IndexStore) -> None:
    take_in(store, sea=SEA)
    view = store.snapshot()
    assert store.snapshot() is view
    take_in(store, sea="something else\n", new="new\n")
    assert view.postings("whale")[0].tolist() == [1, 2]
    assert view.rows([1])[0].text == "- the blue whale sings"
    later = store.snapshot()
    assert later is not view
    assert (later.count, len(later.postings("whale")[0])) == (2, 0)


def test_a_snapshot_sees_what_another_connection_wrote(store: IndexStore) -> None:
    other = IndexStore(store.path)
    assert (store.snapshot().count, store.files()) == (0, {})
    take_in(other, sea=SEA)
    assert store.snapshot().count == 3
    assert list(store.files()) == ["memory/sea.md"]
    take_in(store, sea="one\n", more="two\n")
    assert other.snapshot().count == 2
    assert other.files() == store.files()
    other.close()


def test_readers_do_not_wait_for_a_writer(store: IndexStore) -> None:
    take_in(store, sea=SEA)
    other = IndexStore(store.path, busy_seconds=0.0)
    with store.write() as writer:
        put(writer, "memory/new.md", "new\n")
        seen: list[int] = []
        reader = threading.Thread(target=lambda: seen.append(store.snapshot().count))
        reader.start()
        reader.join(5)
        assert seen == [3]
        assert other.snapshot().count == 3
    other.close()
    assert store.snapshot().count == 4


def test_a_transaction_that_fails_changes_nothing(store: IndexStore) -> None:
    take_in(store, sea=SEA)
    with pytest.raises(ZeroDivisionError), store.write() as writer:
        put(writer, "memory/sea.md", "unicorn\n")
        raise ZeroDivisionError
    assert store.snapshot().postings("whale")[0].tolist() == [1, 2]
    take_in(store, sea="a unicorn\n")
    assert store.snapshot().postings("unicorn")[0].tolist() == [0]


def test_vectors_come_in_the_order_of_the_chunks(store: IndexStore) -> None:
    take_in(store, sea="one\n", day="three\n\n", more="fifty-seven\n")
    embed(store, "fake/one", "three", "one")
    matrix, known = matrix_of(store.snapshot(), "fake/one")
    assert known.tolist() == [True, True, False]
    assert (str(matrix.dtype), matrix.shape) == ("float32", (3, 4))
    assert np.allclose(matrix[:2], vectors_of("one", "three"), atol=1e-3)
    assert not matrix[2].any()


def test_of_many_vectors_the_nearest_are_found_by_their_signs(store: IndexStore) -> None:
    """More lines than are kept in memory. Each question is one of their vectors with some noise."""
    lines = [f"line {number}" for number in range(IN_MEMORY // 320)]
    take_in(store, many="\n".join(lines))
    random = np.random.default_rng(1)
    matrix = random.standard_normal((len(lines), 330)).astype(np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    view = store.snapshot()
    with store.write() as writer:
        vector_upkeep.add(writer, "fake/one", view.contexts, matrix)
    vectors = store.snapshot().vectors("fake/one")
    odd = np.arange(len(lines)) % 2 == 1
    for row in range(1, len(lines), 2998):
        question = matrix[row] + random.standard_normal(330).astype(np.float32) / 20
        assert vectors.nearest(question, 20)[0] == row
        exact = np.where(odd, matrix @ question, -2)
        found = vectors.nearest(question, 20, odd)
        assert len(np.intersect1d(found, np.argsort(-exact)[:20])) >= 18
        assert vectors.cosines(found, question) == pytest.approx(exact[found], abs=1e-3)


def test_a_snapshot_has_its_vectors_also_when_they_have_left_the_index(store: IndexStore) -> None:
    take_in(store, sea="one\n", day="three\n")
    embed(store, "fake/one", "one")
    embed(store, "fake/one", "three")
    before = store.snapshot()
    with store.write() as writer:
        writer.execute("DELETE FROM vectors WHERE id = 1")
        writer.execute(f"DELETE FROM full_vectors WHERE id = {database.GROUP}")
    embed(store, "fake/one", "fifty-seven")
    assert store.snapshot().vectors("fake/one").known.tolist() == [False, True]
    matrix, known = matrix_of(before, "fake/one")  # asked for only now
    assert known.all() and np.allclose(matrix, vectors_of("one", "three"), atol=1e-3)
    assert store.snapshot().vectors("fake/one").known.tolist() == [False, True]


def test_vectors_that_come_later_are_added_to_those_in_memory(store: IndexStore) -> None:
    take_in(store, sea="one\n", day="three\n")
    embed(store, "fake/one", "one")
    assert store.snapshot().vectors("fake/one").known.tolist() == [True, False]
    embed(store, "fake/one", "three")
    matrix, known = matrix_of(store.snapshot(), "fake/one")
    assert known.all()
    assert np.allclose(matrix, vectors_of("one", "three"), atol=1e-3)


def test_each_line_keeps_its_vector_whatever_is_edited(store: IndexStore) -> None:
    """Lines move, come twice, leave and come back, and get their vectors some time later."""
    random = np.random.default_rng(5)
    held: dict[int, Any] = {}
    for _ in range(80):
        lines = random.choice(["one", "two", "three", "four"], random.integers(0, 8))
        take_in(store, **{f"file{random.integers(4)}": "\n".join([*lines, ""])})
        if random.random() < 0.4 and (new := sorted(missing(store, "fake/one"))[:3]):
            held.update(zip(new, random.standard_normal((len(new), 4)), strict=True))
            with store.write() as writer:
                vector_upkeep.add(writer, "fake/one", new, np.array([held[key] for key in new]))
        contexts = store.snapshot().contexts.tolist()
        matrix, known = matrix_of(store.snapshot(), "fake/one")
        assert known.tolist() == [key in held for key in contexts]
        for key, vector in zip(contexts, matrix, strict=True):
            assert vector == pytest.approx(held.get(key, np.zeros(4)), abs=0.01)
    assert len(held) > 15


def test_equal_contexts_share_a_vector(store: IndexStore) -> None:
    take_in(store, a="the same\n", b="the same\n")
    assert missing(store, "x") == {context_key("the same")}
    embed(store, "x", "the same")
    assert store.snapshot().vectors("x").known.all()
    assert not missing(store, "x")


def test_vectors_belong_to_the_embedder_that_made_them(store: IndexStore) -> None:
    take_in(store, sea="one\n")
    embed(store, "fake/one", "one")
    assert not store.snapshot().vectors("fake/two").known.any()
    embed(store, "fake/two", "one", width=6)
    assert matrix_of(store.snapshot(), "fake/two")[0].shape == (1, 6)
    assert matrix_of(store.snapshot(), "fake/one")[0].shape == (1, 4)
    with store.write() as writer:
        vector_upkeep.drop(writer, "fake/one")
    assert not store.snapshot().vectors("fake/one").known.any()
    assert store.query("SELECT count(*) FROM vectors") == [(1,)]


def test_vectors_of_another_width_replace_those_of_the_same_name(store: IndexStore) -> None:
    take_in(store, sea="one\n", day="three\n")
    embed(store, "fake/one", "one", "three")
    assert store.snapshot().vectors("fake/one").known.all()
    embed(store, "fake/one", "three", width=6)
    matrix, known = matrix_of(store.snapshot(), "fake/one")
    assert (matrix.shape, known.tolist()) == ((2, 6), [False, True])


def test_vectors_outlive_their_chunks_for_a_while(store: IndexStore) -> None:
    take_in(store, sea="one\ntwo\n")
    embed_all(store)
    with store.write() as writer:
        writer.remove("memory/sea.md")
        vector_upkeep.prune(writer)
    take_in(store, moved="one\ntwo\n")
    assert not missing(store, "fake/one")


def test_vectors_that_nothing_refers_to_are_bounded(store: IndexStore) -> None:
    """Ten times as many lines come and go as are kept; what is in use is never lost."""
    take_in(store, stays="to be kept\n")
    embed_all(store)
    for step in range(25):
        take_in(store, sea="".join(f"line {step} {n}\n" for n in range(400)))
        embed_all(store)
        with store.write() as writer:
            vector_upkeep.prune(writer)
    view = store.snapshot()
    assert view.vectors("fake/one").known.all()
    held = store.query("SELECT sum(length(contexts)) / 8 FROM vectors")[0][0]
    assert 400 + vector_upkeep.LEAST_KEPT <= held <= 400 + 2 * vector_upkeep.LEAST_KEPT + 401
    # The newest of what has left is what an undo brings back.
    take_in(store, sea="".join(f"line 23 {n}\n" for n in range(400)))
    assert not missing(store, "fake/one")


def test_texts_of_any_characters_are_kept(store: IndexStore) -> None:
    text = "Zoë 😀 日本語 \x00 \x1c 'quoted' \"double\"\n"
    take_in(store, odd=text)
    assert store.snapshot().rows([0])[0].text == text.rstrip("\n")
    assert store.snapshot().postings("日本語")[0].tolist() == [0]


def test_what_is_remembered_is_recalled(store: IndexStore) -> None:
    assert store.read_meta("scan") == ""
    with store.write() as writer:
        writer.write_meta("scan", "one")
        writer.write_meta("scan", "two")
    assert store.read_meta("scan") == "two"
    assert store.snapshot().generation == 1


def test_an_index_of_another_version_is_made_anew(store: IndexStore) -> None:
    take_in(store, sea=SEA)
    store.close()
    db = sqlite3.connect(store.path)
    db.execute(f"PRAGMA user_version = {database.VERSION + 1}")
    db.execute('CREATE TABLE "odd ""name" (x)')
    db.close()
    again = IndexStore(store.path)
    assert (again.files(), again.snapshot().count, again.notices) == ({}, 0, [])
    take_in(again, sea=SEA)
    assert again.snapshot().count == 3
    again.close()


def test_tables_that_another_version_makes_anew_are_read_anew(store: IndexStore) -> None:
    for line in ("one\n", "two\n", "three\n"):
        take_in(store, sea=line)
    assert list(store.files()) == ["memory/sea.md"] and store.snapshot().count == 1
    db = sqlite3.connect(store.path)
    db.execute(f"PRAGMA user_version = {database.VERSION + 1}")
    db.close()
    other = IndexStore(store.path)
    take_in(other, day="four\n")
    assert list(store.files()) == ["memory/day.md"]
    assert [chunk.text for chunk in store.snapshot().rows([0])] == ["four"]
    other.close()


def test_nothing_but_the_index_is_left_when_it_is_closed(tmp_path: Path) -> None:
    store = IndexStore(tmp_path / "index" / "index.sqlite")
    take_in(store, sea=SEA)
    assert store.snapshot().count == 3
    store.close()
    assert [path.name for path in (tmp_path / "index").iterdir()] == ["index.sqlite"]


def test_a_chunk_with_its_vector_takes_less_than_four_kilobytes(tmp_path: Path) -> None:
    """2,000 lines of 40 words out of 8,000, by Zipf's law; a context of two lines, vectors of 384.
    10,000 of them have to stay below 40 MiB."""
    store = IndexStore(tmp_path / "index.sqlite")
    chance = np.random.default_rng(1)
    weights = 1 / np.arange(1, 8001)
    words = np.array([f"w{n * 7919 % 100_000}" for n in range(8000)])
    picked = chance.choice(words, (2_000, 40), p=weights / weights.sum())
    with store.write() as writer:
        for file in range(100):
            lines = picked[file * 20 : file * 20 + 20]
            put(writer, f"memory/{file}.md", "\n".join(" ".join(line) for line in lines))
    contexts = sorted(missing(store, "x"))
    with store.write() as writer:
        vector_upkeep.add(
            writer, "x", contexts, chance.standard_normal((2_000, 384)).astype(np.float32)
        )
    assert store.snapshot().vectors("x").known.all()
    store.close()
    assert store.path.stat().st_size < 8 * 2**20
