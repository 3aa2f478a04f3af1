"""benchmarks/recall.py counts what of the evidence was returned, and at what price."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.recall import DATA, covered
from benchmarks.recall_bm25 import PlainBM25
from benchmarks.recall_score import KINDS, Corpus, Line, Question, load_questions, mean, score
from openclaw.retrieval.passages import Passage

NOTE = "memory/2026-03-01.md"


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    """One note: line 1 costs 601 tokens or so, lines 2 and 3 a few."""
    file = tmp_path / NOTE
    file.parent.mkdir()
    file.write_text("word " * 600 + "\nthe key is 4471\nthe key is 9026\n", encoding="utf-8")
    return Corpus(tmp_path)


def _passage(corpus: Corpus, start: int, end: int, more: str = "") -> Passage:
    return Passage(NOTE, start, end, "\n".join(corpus.lines[NOTE][start - 1 : end]) + more, 1.0)


def _asked(*numbers: int) -> Question:
    return Question("Which key?", "exact", frozenset(Line(NOTE, number) for number in numbers))


def test_the_line_itself_in_front_scores_full(corpus: Corpus) -> None:
    found = score(_asked(3), [_passage(corpus, 3, 3)], corpus)
    assert (found.within_500, found.within_1000, found.hit_at_1, found.reciprocal_rank) == (1,) * 4


def test_what_stands_before_the_line_is_paid_for(corpus: Corpus) -> None:
    one_long = score(_asked(3), [_passage(corpus, 1, 3)], corpus)
    after_another = score(_asked(3), [_passage(corpus, 1, 1), _passage(corpus, 3, 3)], corpus)
    assert (one_long.within_500, one_long.within_1000, one_long.hit_at_1) == (0, 1, 1)
    assert (after_another.within_500, after_another.within_1000) == (0, 1)
    assert (after_another.hit_at_1, after_another.reciprocal_rank) == (0, 0.5)


def test_text_beside_the_lines_is_paid_for(corpus: Corpus) -> None:
    found = score(_asked(3), [_passage(corpus, 3, 3, " heading" * 600)], corpus)
    assert (found.within_500, found.within_1000) == (0, 1)


def test_half_of_the_evidence_is_half(corpus: Corpus) -> None:
    found = [_passage(corpus, 3, 3), _passage(corpus, 3, 3)]
    assert score(_asked(2, 3), found, corpus).within_1000 == 0.5
    assert covered(_asked(2, 3), found) == 0.5


def test_nothing_returned_scores_nothing(corpus: Corpus) -> None:
    full = score(_asked(3), [_passage(corpus, 3, 3)], corpus)
    assert mean([score(_asked(3), [], corpus), full]).reciprocal_rank == 0.5


@pytest.mark.parametrize("snippet", ["the key", "no such words"])
def test_evidence_that_is_not_one_line_stops_the_benchmark(corpus: Corpus, snippet: str) -> None:
    with pytest.raises(ValueError, match="not in one"):
        corpus.find(NOTE, snippet)


def test_the_data_hold_what_the_questions_cite() -> None:
    questions = load_questions(DATA / "questions.jsonl", Corpus(DATA / "home"))
    answered = [question for question in questions if question.evidence]
    assert len(answered) >= 120
    assert len(questions) - len(answered) >= 25
    kinds = {question.kind for question in answered}
    for name in ("tables", "compounds"):
        more = load_questions(DATA / name / "questions.jsonl", Corpus(DATA / name / "home"))
        new = {question.kind for question in more if question.evidence}
        assert new
        assert not new & kinds
        kinds |= new
    assert kinds == set(KINDS.values())
    assert Counter(question.text for question in questions).most_common(1)[0][1] == 1


def test_the_second_set_has_the_kinds_that_it_says() -> None:
    held = DATA / "held"
    questions = load_questions(held / "questions.jsonl", Corpus(held / "home"))
    kinds = Counter(question.kind for question in questions if question.evidence)
    assert kinds == {"chat": 40, "technical talks": 40} and len(questions) == 96


def test_plain_bm25_gives_lines_with_a_word_of_the_question_in_any_form(corpus: Corpus) -> None:
    found = PlainBM25(corpus, 3).ask("Which keys have 9026?")
    assert [(passage.path, passage.start_line) for passage in found] == [(NOTE, 3), (NOTE, 2)]
