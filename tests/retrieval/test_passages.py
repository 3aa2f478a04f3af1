"""Which hits become the passages of a prompt, and why the others are left out."""

from __future__ import annotations

from typing import Any

from openclaw.retrieval.database import StoredChunk
from openclaw.retrieval.passages import (
    AGAIN,
    CUT,
    IN_HEAD,
    MAX_LEFT_OUT,
    STRUCK,
    Passage,
    PassageLimits,
    choose_passages,
    distinct,
    for_prompt,
)
from openclaw.retrieval.ranking import FusedRow


def hit(row: int, score: float, text: str = "", **how: Any) -> tuple[FusedRow, StoredChunk]:
    values = {"path": "memory/a.md", "start_line": row, "end_line": row, **how}
    chunk = StoredChunk(
        row=row, text=text or f"line {row}", date="", label="", mtime_ns=0,
        headings=values.pop("headings", ()), struck=values.pop("struck", False), **values,
    )  # fmt: skip
    return FusedRow(row, score), chunk


def limits(**how: Any) -> PassageLimits:
    usual = {"most": 3, "tokens": 100, "score": 0.5, "count": lambda text: len(text.split())}
    return PassageLimits(**{**usual, **how})


def spans(found: list[Passage]) -> list[tuple[int, int]]:
    return [(passage.start_line, passage.end_line) for passage in found]


def test_weak_and_struck_passages_stay_out_of_a_prompt() -> None:
    hits = [hit(9, 0.9, struck=True), hit(1, 0.6), hit(20, 0.5), hit(40, 0.49)]
    assert spans(for_prompt(hits, limits())) == [(1, 1), (20, 20)]


def test_neighbours_become_one_passage_in_the_order_of_the_file() -> None:
    hits = [hit(5, 0.9), hit(30, 0.8), hit(4, 0.7), hit(6, 0.6), hit(50, 0.55)]
    found = for_prompt(hits, limits())
    assert spans(found) == [(4, 6), (30, 30), (50, 50)]
    assert found[0].text == "line 4\nline 5\nline 6" and found[0].score == 0.9


def test_a_heading_brings_the_lines_below_it_along_to_the_next_heading() -> None:
    trip, costs = ("Trip",), ("Trip", "Costs")
    hits = [
        hit(1, 0.6, "# Trip", headings=trip),
        hit(3, 0.2, headings=trip),
        hit(2, 0.1, headings=trip),
        hit(4, 0.1, "## Costs", headings=costs),
        hit(5, 0.1, headings=costs),
    ]
    assert spans(for_prompt(hits, limits())) == [(1, 3)]


def test_blank_lines_between_neighbours_are_kept() -> None:
    first = hit(1, 0.9, start_line=1, end_line=2, text="a\nb")
    second = hit(2, 0.8, start_line=4, end_line=4, text="c")
    far = hit(3, 0.7, start_line=40, end_line=40, text="d")
    found = for_prompt([first, second, far], limits())
    assert [passage.text for passage in found] == ["a\nb\n\nc", "d"]
    assert spans(found) == [(1, 4), (40, 40)]


def test_no_more_than_the_tokens_and_passages_that_are_asked_for() -> None:
    hits = [hit(10 * n, 0.9 - n / 100, f"word{n} " * 30) for n in range(1, 8)]
    assert len(for_prompt(hits, limits(most=2, tokens=1000))) == 2
    found = for_prompt(hits, limits(tokens=75))
    assert sum(len(passage.text.split()) for passage in found) <= 75
    assert found[2].text.endswith(CUT) and len(found) == 3


def test_a_fourth_and_a_fifth_passage_come_only_near_the_best() -> None:
    hits = [hit(10 * n, score) for n, score in enumerate((0.9, 0.6, 0.55, 0.55), 1)]
    assert len(for_prompt(hits, limits(most=5))) == 3
    hits = [hit(10 * n, 0.9 - n / 50) for n in range(1, 8)]
    assert len(for_prompt(hits, limits(most=5))) == 5


def test_a_neighbour_that_does_not_fit_is_left_out() -> None:
    hits = [hit(5, 0.9, "short one"), hit(4, 0.8, "long " * 60), hit(6, 0.7, "short two")]
    assert spans(for_prompt(hits, limits(tokens=50))) == [(5, 6)]


def test_no_line_is_given_twice() -> None:
    table = hit(1, 0.9, start_line=1, end_line=6)
    kept = distinct([table, hit(3, 0.8), hit(7, 0.7), hit(7, 0.6, "piece two")], 9)
    assert [chunk.row for _, chunk in kept] == [1, 7]


def test_a_line_and_its_repetition_on_a_page_are_one() -> None:
    page = hit(1, 0.9, "- Lena is allergic to nuts [[2026-03-05]]", path="memory/people/lena.md")
    source = hit(7, 0.8, "- Lena is allergic to nuts <!-- fact, 2026-03-05, typed -->")
    other = hit(9, 0.7, "- Lena is allergic to [[nuts]]")
    assert [chunk.row for _, chunk in distinct([page, source, other], 9)] == [1, 9]


# -------- what is left out


def rules(hits: list[Any], known: list[Any] | None = None, **how: Any) -> dict[int, str]:
    found = choose_passages(hits, limits(**how), known or [])
    return {each.start_line: each.rule for each in found.left_out}


def test_each_passage_that_is_left_out_names_its_rule() -> None:
    hits = [
        hit(1, 0.95),
        hit(10, 0.9, struck=True),
        hit(20, 0.8),
        hit(30, 0.7, "line 20"),
        hit(40, 0.6),
        hit(50, 0.55),
        hit(60, 0.4),
    ]
    assert rules(hits, [hit(70, 0.65, path="memory/MEMORY.md")]) == {
        10: STRUCK,
        30: AGAIN,
        50: "over 3 passages",
        60: "its score is below 0.50",
        70: IN_HEAD,
    }


def test_a_fourth_passage_far_below_the_best_says_so() -> None:
    near = [hit(10 * n, 0.9 - n / 100) for n in range(1, 5)]
    assert rules([*near, hit(60, 0.6)], most=5) == {
        60: "over 3 passages and below 0.8 of the best score"
    }
    assert rules([*near, hit(50, 0.8), hit(60, 0.79)], most=5) == {60: "over 5 passages"}


def test_what_does_not_fit_the_tokens_says_so() -> None:
    hits = [hit(1, 0.9, "word " * 30), hit(20, 0.8, "other " * 30), hit(40, 0.7, "third " * 30)]
    assert rules(hits, tokens=65) == {40: "over 65 tokens in all"}


def test_what_a_passage_holds_is_not_left_out_and_at_most_five_are_told() -> None:
    hits = [hit(1, 0.9), hit(2, 0.8), *(hit(10 * n, 0.4) for n in range(2, 30))]
    left = rules(hits)
    assert 2 not in left and len(left) == MAX_LEFT_OUT == 5


def test_a_weak_line_of_the_head_is_not_told() -> None:
    assert rules([], [hit(1, 0.3)]) == {}
