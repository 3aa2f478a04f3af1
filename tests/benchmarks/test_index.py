"""The made-up notes and the two sides of benchmarks/index.py, on a home of a few pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import index, sides
from benchmarks.notes import RandomEmbedder, give_vectors, make_home, opened, questions


@pytest.mark.parametrize("chunks", [1, 2, 49, 52, 130])
def test_a_home_has_exactly_as_many_passages_as_asked_for(tmp_path: Path, chunks: int) -> None:
    make_home(tmp_path, chunks)
    assert give_vectors(tmp_path) == chunks


def test_the_notes_are_the_same_every_time(tmp_path: Path) -> None:
    for name in ("one", "two"):
        make_home(tmp_path / name, 130)
    pages = [sorted((tmp_path / name).rglob("*.md")) for name in ("one", "two")]
    assert len(pages[0]) == 3
    assert [p.read_bytes() for p in pages[0]] == [p.read_bytes() for p in pages[1]]


def test_every_question_is_answered_by_the_line_that_it_was_made_of(tmp_path: Path) -> None:
    make_home(tmp_path, 130)
    search = opened(tmp_path, lambda: None)  # a heading may have the nearest of random vectors
    for question in questions(5, 130):
        best = search.search(question, 1)[0].text.lower()
        asked = question.removeprefix("What about ").rstrip("?").lower().split()
        assert all(word in best for word in asked)
    search.close()


@pytest.mark.parametrize("name", list(sides.SIDES))
def test_each_side_finds_an_edited_line_and_not_the_one_before(tmp_path: Path, name: str) -> None:
    make_home(tmp_path / "home", 60)
    side = sides.SIDES[name](tmp_path)
    assert side.build() == 60
    side.open(RandomEmbedder())
    page = max((tmp_path / "home" / "memory").glob("*.md"))
    old = page.read_text(encoding="utf-8").splitlines()[-1]
    assert sides.edit(side, page, "Marmalade7") > 0
    assert old not in side.ask(old)
    side.close()


def test_a_table_shows_how_many_times_more_the_other_side_costs() -> None:
    ours = {key: 0.5 for key, *_ in index.ROWS} | {"chunks": 10_000}
    stock = {key: 2.0 for key, *_ in index.ROWS} | {"chunks": 10_000}
    said: list[str] = []
    index.table(10_000, {"openclaw": ours, "stock": stock}, said.append)
    assert said[-2] == "| edited file until its answer | 0.5 s | 2 s | 4.0 | 0.15 s |"
    index.table(10_000, {"openclaw": ours}, said.append)
    assert said[-1] == "| index on disk | 0.5 MiB | 40 MiB |"
