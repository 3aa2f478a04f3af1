"""Two rankings become one, with scores that mean something."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.retrieval.chunking import Chunk, split
from openclaw.retrieval.database import StoredChunk
from openclaw.retrieval.index_writer import OWN_WEIGHT, postings
from openclaw.retrieval.question import read_question
from openclaw.retrieval.ranking import K1 as TERM_SATURATION
from openclaw.retrieval.ranking import (
    PROMPT_SCORES,
    RAREST,
    B,
    FusedRow,
    RowScores,
    coverage,
    fuse,
)
from openclaw.retrieval.tokens import words

TODAY = date(2026, 11, 21)
NO_ROWS = RowScores(np.empty(0, np.int64), np.empty(0, np.float32))


def ranked(scores: dict[int, float]) -> RowScores:
    return RowScores(np.array(list(scores), np.int64), np.array(list(scores.values()), np.float32))


def read_from(chunks: Sequence[Chunk]) -> Callable[[Sequence[int]], list[StoredChunk]]:
    def stored(row: int) -> StoredChunk:
        of = chunks[row]
        place = (row, "memory/a.md", of.start_line, of.end_line, of.text, of.headings)
        return StoredChunk(*place, of.date, of.label, of.struck, mtime_ns=0)

    return lambda wanted: [stored(row) for row in wanted]


def search(
    question: str, chunks: Sequence[Chunk], cosines: dict[int, float] | None = None
) -> list[FusedRow]:
    """Use these functions as the program does: BM25 of the words, then the fusion."""
    asked = read_question(question, TODAY)
    found, lengths = postings(chunks)
    empty = np.empty(0, np.int32), np.empty(0, np.float32)
    scores = np.zeros(len(chunks), np.float32)
    for word in dict.fromkeys(words(question)):
        rows, counts = found.get(word, empty)
        idf = np.log(1 + (len(chunks) - len(rows) + 0.5) / (len(rows) + 0.5))
        norm = TERM_SATURATION * (1 - B + B * lengths[rows] / lengths.mean())
        scores[rows] += idf * counts / (counts + norm)
    hits = np.flatnonzero(scores).astype(np.int64)
    covered = coverage(asked.words, lambda word: found.get(word, empty), hits, len(chunks))
    spans = asked.dates
    days = [
        at
        for at, chunk in enumerate(chunks)
        if any(first <= day <= last for first, last in spans for day in (chunk.date, *chunk.days))
    ]
    return fuse(
        asked,
        RowScores(hits, scores[hits]),
        None if cosines is None else ranked(cosines),
        covered,
        read_from(chunks),
        days=np.array(days, np.int64),
    )


def lines(*texts: str) -> list[Chunk]:
    """Chunks that do not know each other, as of several files."""
    return [chunk for text in texts for chunk in split(f"- {text}\n", "markdown")]


def rows(found: Sequence[FusedRow]) -> list[int]:
    return [one.row for one in found]


FILLER = tuple(f"an ordinary note about topic{n}" for n in range(20))


def test_the_line_that_holds_the_words_comes_first() -> None:
    chunks = lines(*FILLER, "the staging server listens on port 8215")
    found = search("Which port does the staging server use?", chunks)
    assert found[0].row == 20
    assert found[0].ranks["words"][0] == 1
    assert "of the words" in found[0].reason


def test_a_line_that_says_it_in_other_words_is_found_by_its_meaning() -> None:
    chunks = lines(*FILLER, "my sister lives in Lisbon")
    found = search("Where does my sibling stay?", chunks, {20: 0.62, 3: 0.1, 4: 0.05})
    assert found[0].row == 20
    rank, cosine = found[0].ranks["meaning"]
    assert rank == 1
    assert cosine == pytest.approx(0.62)
    assert "meaning 0.62" in found[0].reason


def test_a_question_that_nothing_answers_gets_nothing() -> None:
    chunks = lines(*FILLER)
    assert search("zyxomma quenelle?", chunks) == []
    assert search("zyxomma quenelle about?", chunks, dict.fromkeys(range(20), 0.08)) == []


def test_one_word_in_common_with_the_answer_is_enough_among_unknown_ones() -> None:
    chunks = lines(*FILLER, *(f"butt {n} leaks" for n in range(5)))
    asked = "How do zyxomma quenelle and quisquous mend what leaks?"
    by_words, both = search(asked, chunks), search(asked, chunks, dict.fromkeys(range(25), 0.17))
    assert rows(by_words)[:5] == rows(both)[:5] == [20, 21, 22, 23, 24]
    assert by_words[0].score < 0.2 and both[0].score < 0.2


def test_rows_far_below_the_best_one_are_left_out() -> None:
    cellar, boiler = ["note cellar"] * 9, ["boiler"] * 40
    chunks = lines("the boiler was serviced by Olsen in the cellar", *cellar, *boiler)
    assert rows(search("note boiler serviced Olsen cellar", chunks)) == [*range(10)]


def test_a_question_that_is_hardly_answered_gets_rows_with_low_scores() -> None:
    chunks = lines(*FILLER)
    found = search("zyxomma quenelle of an ordinary note", chunks, dict.fromkeys(range(20), 0.4))
    assert found
    assert max(one.score for one in found) < PROMPT_SCORES[""][0]


def test_the_only_word_of_small_talk_brings_no_passage_into_a_prompt() -> None:
    chunks = lines(*FILLER, "we could rehearse my jokes")
    near, far = (search("Tell me a joke", chunks, {20: cosine})[0].score for cosine in (0.5, 0.2))
    assert far < PROMPT_SCORES[""][0] <= near


def test_an_empty_index_and_a_question_without_hits_give_nothing() -> None:
    asked = read_question("port?", TODAY)
    covered = np.empty(0, np.float32)
    assert fuse(asked, NO_ROWS, None, covered, lambda wanted: []) == []
    assert fuse(asked, NO_ROWS, NO_ROWS, covered, lambda wanted: []) == []


def test_rows_with_a_score_of_zero_or_less_are_not_results() -> None:
    chunks = lines("port 80", "host x", "user y")
    found = search("port", chunks, {0: 0.6, 1: 0.0, 2: -0.2})
    assert rows(found) == [0]


def test_a_quoted_phrase_is_never_lost() -> None:
    chunks = lines(
        *(f"soon you see the port of port {n}" for n in range(30)), "he said see you soon"
    )
    cosines = dict.fromkeys(range(30), 0.6) | {30: 0.1}
    found = search('who said "See You  Soon" in the port', chunks, cosines)
    assert found[0].row == 30
    assert "quoted phrase" in found[0].reason
    assert found[0].score >= PROMPT_SCORES[""][0]


def test_an_identifier_is_never_lost() -> None:
    chunks = lines(*(f"the broken pump, ticket OPS-{n}" for n in range(30)), "OPS-4217: closed")
    cosines = dict.fromkeys(range(30), 0.7) | {30: 0.05}
    found = search("what about the broken pump of ticket OPS-4217", chunks, cosines)
    assert found[0].row == 30
    assert "exact ops-4217" in found[0].reason


def test_what_holds_all_words_of_a_look_up_comes_first() -> None:
    chunks = lines(*(f"harbour news {n}" for n in range(30)), "harbour fee, nothing else of note")
    cosines = dict.fromkeys(range(30), 0.5) | {30: 0.2}
    assert search("harbour fee", chunks, cosines)[0].row == 30


def test_of_bare_words_the_meaning_counts_less_than_of_a_question() -> None:
    cosines = {0: 0.31, 1: 0.55}
    notes = lines("The lamp flickers.", "Light in the basement is out.")
    assert [found.row for found in search("cellar lamp", notes, cosines)] == [0, 1]
    assert [found.row for found in search("Where is the cellar lamp?", notes, cosines)] == [1, 0]


def test_a_struck_line_comes_after_all_living_ones() -> None:
    chunks = lines("~~Anna lives in Berlin~~", "Anna lives in Ulm, she says", *FILLER)
    found = search("Where does Anna live?", chunks)
    assert rows(found) == [1, 0]
    assert found[1].score <= found[0].score / 2
    assert "struck through" in found[1].reason


def test_a_named_day_brings_its_lines_up() -> None:
    texts = [f"- pump repaired <!-- 2026-05-{day:02d} -->\n" for day in range(1, 21)]
    chunks = [chunk for text in texts for chunk in split(text, "markdown")]
    found = search("was the pump repaired on 7 May 2026?", chunks)
    assert chunks[found[0].row].date == "2026-05-07"
    assert "date 2026-05-07" in found[0].reason


def test_a_named_speaker_brings_their_lines_up() -> None:
    chunks = lines("Ben: the trip with Caroline was long", "Caroline: the trip was long", *FILLER)
    found = search("How was the trip of Caroline?", chunks, {0: 0.5, 1: 0.5})
    assert found[0].row == 1
    assert "said of Caroline" in found[0].reason


@pytest.mark.parametrize(
    "label, question, named",
    [
        ("Mrs. Ellery", "What does Ellery say of the trip?", True),
        ("Caroline Baker", "How was the trip of Carolyne?", True),
        ("Mrs. Tate", "What does Mrs. Ellery say of the trip?", False),
        ("Marta", "How was the trip of Martin?", False),
    ],
)
def test_a_speaker_is_named_by_any_word_of_the_name_and_nearly_spelled(
    label: str, question: str, named: bool
) -> None:
    found = search(question, lines(f"{label}: the trip was long", *FILLER), {0: 0.5})
    assert (f"said of {label}" in found[0].reason) == named


def dated(*days: str) -> list[Chunk]:
    texts = [f"- the boiler was seen to <!-- {day} -->\n" for day in days]
    return [chunk for text in texts for chunk in split(text, "markdown")]


def test_of_equal_lines_the_newer_comes_first() -> None:
    found = search("when was the boiler seen to?", dated("2026-01-01", "2026-03-01", "2026-02-01"))
    assert rows(found) == [1, 2, 0]


def test_age_does_not_matter_but_when_the_latest_is_asked_for() -> None:
    chunks = dated("2026-03-01") + lines("boiler") + dated("2019-01-01")
    cosines = {0: 0.5, 2: 0.52, 1: 0.1}
    assert rows(search("when was the boiler seen to?", chunks, cosines))[0] == 2
    assert rows(search("when was the boiler last seen to?", chunks, cosines))[0] == 0


def test_coverage_is_the_share_of_the_rare_words_and_unknown_words_count() -> None:
    known = {"port": ([0, 1, 2], [1, 1, 1]), "staging": ([1], [1])}

    def postings_of(word: str) -> tuple[np.ndarray, np.ndarray]:
        found, counts = known.get(word, ([], []))
        return np.array(found, np.int32), np.array(counts, np.float32)

    rows = np.arange(3)
    both = coverage(["port", "staging"], postings_of, rows, 3)
    assert both[1] == pytest.approx(1.0)
    assert 0 < both[0] < 0.5
    assert coverage(["port", "zyxomma"], postings_of, rows, 3)[0] < 0.2
    assert coverage([], postings_of, rows, 3).tolist() == [0, 0, 0]
    # "What is in the zyxomma for Tuesday?" asks for the day, whatever it is called.
    assert coverage(["zyxomma"], postings_of, rows, 3, days=np.array([1])).tolist() == [0, 1, 0]


def test_the_commoner_words_of_a_long_question_do_not_count() -> None:
    rare = {f"rare{at}": ([0], [1]) for at in range(RAREST)}
    known = {**rare, "much": ([1, 2], [1, 1]), "more": ([1, 2], [1, 1])}

    def postings_of(word: str) -> tuple[np.ndarray, np.ndarray]:
        found, counts = known.get(word, ([], []))
        return np.array(found, np.int32), np.array(counts, np.float32)

    terms = ["much", "zyxomma", "more", *rare, "quisquous"]
    assert coverage(terms, postings_of, np.arange(3), 3).tolist() == [1, 0, 0]


def test_of_a_long_question_by_words_something_is_returned_when_a_rare_word_matches() -> None:
    chunks = lines("The ferry leaves.", *(f"A line about the number {at}." for at in range(50)))
    question = "Could anybody perhaps estimate roughly when some vessel departs, the ferry namely?"
    assert [one.row for one in search(question, chunks)] == [0]
    assert not search("zyxomma quisquous", chunks)


@given(
    st.dictionaries(st.integers(0, 9), st.floats(0, 20, width=32)),
    st.none() | st.dictionaries(st.integers(0, 9), st.floats(-1, 1, width=32)),
)
def test_scores_are_between_0_and_1_and_never_rise(
    by_words: dict[int, float], by_meaning: dict[int, float] | None
) -> None:
    chunks = lines(*FILLER[:8], "~~gone~~", "Anna: here")
    covered = np.linspace(0, 1, len(by_words), dtype=np.float32)
    found = fuse(
        read_question("Anna's latest topic1?", TODAY),
        ranked(by_words),
        None if by_meaning is None else ranked(by_meaning),
        covered,
        read_from(chunks),
    )
    scores = [one.score for one in found]
    assert all(0 < score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)
    assert len(set(rows(found))) == len(found)
    for one in found:
        assert one.ranks


@given(st.lists(st.sampled_from("port host Anna OPS-4217 \u6771\u4eac the".split()), max_size=40))
def test_postings_count_what_the_words_of_the_context_are(picked: list[str]) -> None:
    text = "".join(f"- {' '.join(picked[at : at + 3])}\n" for at in range(0, len(picked), 3))
    chunks = split(f"# Title\n\n{text}", "markdown")
    found, lengths = postings(chunks)
    for ordinal, chunk in enumerate(chunks):
        wanted: Counter[str] = Counter()
        for at, part in enumerate(chunk.parts):
            for word in words(part):
                wanted[word] += 1 if at else OWN_WEIGHT
        counted = {
            word: int(counts[owners.tolist().index(ordinal)])
            for word, (owners, counts) in found.items()
            if ordinal in owners
        }
        assert counted == wanted
        assert lengths[ordinal] == wanted.total()


def test_no_chunks_have_no_postings() -> None:
    found, lengths = postings([])
    assert found == {}
    assert lengths.shape == (0,)
