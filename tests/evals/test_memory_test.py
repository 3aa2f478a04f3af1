"""`openclaw memory test`: the table of cases, the figures, and the offer to add a case."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from openclaw.cli.chat.chat_commands import add_memory_test, forgotten_lines, last_question
from openclaw.errors import UsageError
from openclaw.evals.memory_test import (
    Expected,
    MemoryCase,
    has_table,
    insert_case,
    parse_expectation,
    rank_answer,
    read_cases,
    score_ranking,
)
from openclaw.messages import Entry
from openclaw.nlp.statements import is_complaint
from openclaw.retrieval.passages import Passage
from openclaw.retrieval.search import Rankings, Search
from openclaw.sessions.session import Session
from tests.cli.commands.test_memory_search import FILES as NOTES
from tests.fakes.command import CommandLine
from tests.fakes.embedder import WordEmbedder
from tests.fakes.files import write_files
from tests.fakes.talk import new_home, talk

claw = CommandLine("memory")

FILES = {
    **NOTES,
    "memory/people.md": "# People\n\n- Lena plays the cello.\n- Marco is allergic to nuts.\n",
}
TABLE = """# Tests

| question | expected |
| --- | --- |
| Who serviced the boiler? | memory/2026-03-02.md:3 |
| When does the ferry leave? | "leaves at noon" |
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home that OPENCLAW_HOME names; it is searched by words only."""
    return write_files(tmp_path / "home", FILES)


# -------- the table


def pairs(text: str) -> list[tuple[str, ...]]:
    return [(case.question, *case.expected) for case in read_cases(text)]


@pytest.mark.parametrize(
    "text",
    [
        "| question | expected |\n|---|---|\n| Who? | memory/a.md:3 |\n",
        "|Expected|n|**Question**|\n|-|-|-|\n| `memory/a.md:3` | 1 | Who? |\n",
        "| question | expected |\r\n| --- | --- |\r\n| Who? | memory/a.md:3 |\r\n",
        "| question | expected |\n| Who? | memory/a.md:3 |\n",
        "Prose.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n| Question | Expected |\n"
        "|---|---|\n| Who? | [the note](memory/a.md:3) |\n\nMore prose | with a bar.\n",
    ],
)
def test_tables_of_any_shape_are_read(text: str) -> None:
    assert pairs(text) == [("Who?", "memory/a.md:3")]


def test_bars_semicolons_and_code_in_a_cell_are_understood() -> None:
    text = TABLE + '| a \\| b? | memory/a.md; "x; y";  `two words` |\n'
    assert pairs(text)[-1] == ("a | b?", "memory/a.md", '"x; y"', "two words")


def test_rows_tell_their_line_and_those_not_filled_in_are_kept_apart() -> None:
    assert read_cases(TABLE + "| Only a question | |\n| short\n")[2:] == [
        MemoryCase("Only a question", (), 7),
        MemoryCase("short", (), 8),
    ]


def test_code_comments_and_other_tables_are_no_cases() -> None:
    text = "```\n| question | expected |\n|---|---|\n| a | b |\n```\n<!--\n" + TABLE + "-->\n"
    assert read_cases(text) == [] and not has_table(text)


@pytest.mark.parametrize(
    "text", ["", "# Only prose\n", TABLE, TABLE.rstrip("\n"), TABLE + "\nProse below.\n",
             "|expected|n|question|\n|-|-|-|\n", TABLE.replace("\n", "\r\n")]
)  # fmt: skip
def test_a_case_is_added_and_all_else_stays(text: str) -> None:
    new = insert_case(text, "Which | port?", "memory/p.md:3")
    assert pairs(new) == [*pairs(text), ("Which | port?", "memory/p.md:3")]
    kept = [line for line in text.splitlines() if line]
    assert [line for line in new.splitlines() if line in kept] == kept or not text
    assert "\r\n" not in new or "\n" not in new.replace("\r\n", "")
    twice = insert_case(new, "And now?", "x")
    assert [line[0] for line in pairs(twice)][-2:] == ["Which | port?", "And now?"]


# -------- what is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("memory/a.md", Expected("memory/a.md")),
        ("memory/a.md:12", Expected("memory/a.md", 12, 12)),
        ("memory/a.md:12-14", Expected("memory/a.md", 12, 14)),
        ("people.md:3", Expected("people.md", 3, 3)),
        ("memory/", Expected("memory/")),
        ("Thursday at ten", Expected(words="Thursday at ten")),
        ("3.14", Expected(words="3.14")),
        ("12:30", Expected(words="12:30")),
        ("example.com", Expected(words="example.com")),
    ],
)
def test_places_and_words_are_told_apart(text: str, expected: Expected) -> None:
    assert parse_expectation(text) == expected


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("memory/a.md:3", True), ("memory/a.md:2-4", True), ("memory/a.md:9", False),
        ("a.md", True),
        ("memory/", True), ("workspace/", False), ("b.md", False), ("cello tuesday", True),
        ("cel", False), ('"her lesson"', True), ('"lesson her"', False), ("8443", True),
    ],
)  # fmt: skip
def test_a_passage_answers_by_place_or_by_words(text: str, found: bool) -> None:
    passage = Passage("memory/a.md", 3, 5, "Cello: her\nlesson is on Tuesday, port 8443.", 0.9)
    assert parse_expectation(text).answered_by(passage) is found


def test_the_figures_are_those_of_the_field() -> None:
    figures = score_ranking([1, 3, 0, 2], k=2)
    assert figures.hits == {1: 1, 3: 3, 2: 2}
    assert figures.mrr == pytest.approx((1 + 1 / 3 + 0 + 1 / 2) / 4)
    assert score_ranking([]).mrr == 0.0


def test_each_ranking_has_its_own_rank_and_what_won_is_named() -> None:
    def passage(line: int, words: int, meaning: int) -> Passage:
        ranks = {"words": (words, 1.0), "meaning": (meaning, 0.5)}
        return Passage("memory/a.md", line, line, "text", 0.9, ranks=ranks)

    first, second, dropped = passage(1, 2, 1), passage(2, 1, 3), passage(3, 3, 2)
    found = Rankings([first, second], [first, second, dropped])
    assert rank_answer(found, MemoryCase("?", ("memory/a.md:2",), 1)).ranks == {
        "hybrid": 2, "words": 1, "meaning": 3,
    }  # fmt: skip
    missed = rank_answer(found, MemoryCase("?", ("memory/a.md:3",), 1))
    assert missed.ranks == {"hybrid": 0, "words": 3, "meaning": 2}
    assert (missed.winner, missed.answer) == (first, dropped)


# -------- the command


def test_cases_are_tried_and_the_file_itself_is_never_found(home: Path) -> None:
    (home / "memory/TESTS.md").write_text(TABLE, "utf-8")
    out = claw("test")
    assert out.splitlines()[0] == "2 cases of memory/TESTS.md"
    assert out.splitlines()[2:6] == [
        "        HIT@1  HIT@3  MRR",
        "BM25    2/2    2/2    1.00",
        "hybrid  2/2    2/2    1.00",
        "no vectors: searched by words only",
    ]
    assert out.endswith("all among the first 3\n")
    found = claw.json("search", "Who serviced the boiler?", "-k", "99")
    assert "memory/TESTS.md" not in {passage["path"] for passage in found}


def test_a_miss_names_the_winner_and_the_ranks_and_fails(home: Path) -> None:
    table = TABLE + "| What is Marco allergic to? | memory/gone.md:3; violin |\n"
    (home / "memory/TESTS.md").write_text(table, "utf-8")
    out = claw("test", code=1)
    assert "missed: What is Marco allergic to?  (memory/TESTS.md:7)" in out
    assert "its rank  BM25 none, hybrid none" in out
    assert "first     memory/people.md:4  Marco is allergic to nuts." in out
    assert "there is no file memory/gone.md" in out
    value = claw.json("test", code=1)
    assert (value["cases"], value["failed"]) == (3, 1)
    assert value["measures"]["hybrid"] == {"hit@1": 0.6667, "hit@3": 0.6667, "mrr": 0.6667}
    assert "meaning" not in value["measures"]
    assert value["results"][2]["ranks"]["hybrid"] is None
    assert value["results"][2]["first"]["path"] == "memory/people.md"


def test_no_file_no_table_and_no_case_are_wrong_usage(home: Path) -> None:
    assert "is not there yet" in claw.error("test", code=2)
    for text, why in (("Prose.\n", "has no table"), ("|question|expected|\n|-|-|\n", "no case")):
        (home / "memory/TESTS.md").write_text(text, "utf-8")
        assert why in claw.error("test", code=2)


def test_rows_without_an_expectation_are_told_and_left_out(home: Path) -> None:
    (home / "memory/TESTS.md").write_text(TABLE + "| Half? | |\n", "utf-8")
    assert "memory/TESTS.md:7 has no expectation" in claw.error("test", code=0)


def test_an_empty_index_fails_every_case_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "home/memory").mkdir(parents=True)
    (tmp_path / "home/openclaw.yaml").write_text("embedding: none\n", "utf-8")
    (tmp_path / "home/memory/TESTS.md").write_text(TABLE, "utf-8")
    out = claw("test", code=1)
    assert "2 not among the first 3" in out and "nothing found" in out
    assert "nothing is indexed" in claw.err


def test_a_case_is_added_once(home: Path) -> None:
    add = ("test", "--add", "Who plays the cello?", "--expect", "memory/people.md")
    claw(*add)
    assert "memory/people.md" in (home / "memory/TESTS.md").read_text("utf-8")
    assert claw("test").endswith("all among the first 3\n")
    assert "has this question" in claw.error(*add, code=2)
    assert "needs a question" in claw.error("test", "--add", "Who?", code=2)
    CommandLine()("undo")
    assert not (home / "memory/TESTS.md").exists()


# -------- the same engine as the search


def test_ranks_agree_with_the_search_that_explains(home: Path, tmp_path: Path) -> None:
    from openclaw.retrieval.scan import IndexOptions
    from openclaw.storage.home import Home

    lines = "".join(f"- The boiler note {n} of the feline house {n % 7}\n" for n in range(30))
    (home / "memory/many.md").write_text(lines, "utf-8")
    search = Search(Home(home), IndexOptions(), WordEmbedder, tmp_path / "private")
    search.refresh()
    search.embed()
    questions = ("Who serviced the boiler?", "the cat dwelling 3", "ferry Bergen noon", "quantum")
    for question in questions:
        for k in (3, 5, 20):
            shown = search.search(question, k)
            found = search.ranked(question)
            assert found.shown[:k] == shown
            pool = {(p.path, p.start_line): p for p in found.pool}
            for at, passage in enumerate(shown, 1):
                wanted = f"{passage.path}:{passage.start_line}"
                ranks = rank_answer(found, MemoryCase(question, (wanted,), 1)).ranks
                assert ranks["hybrid"] == at
                assert pool[passage.path, passage.start_line].ranks == passage.ranks
                assert {n: r for n, r in ranks.items() if r and n != "hybrid"} == {
                    name: rank for name, (rank, _) in passage.ranks.items()
                }
    search.close()


def test_the_command_and_the_search_that_explains_print_the_same_ranks(home: Path) -> None:
    (home / "memory/TESTS.md").write_text(TABLE + "| boiler | 2026-05-09.md |\n", "utf-8")
    results = claw.json("test")["results"]
    for result in results:
        words = ("search", result["question"], "--explain", "--json", "-k", "3")
        shown = json.loads(claw(*words))
        answer = shown[result["ranks"]["hybrid"] - 1]
        assert answer["start_line"] == result["answer"]["start_line"]
        assert answer["ranks"]["words"]["rank"] == result["ranks"]["words"]


# -------- complaints


@pytest.mark.parametrize(
    "message",
    [
        "you forgot that", "You forgot that I moved to Porto!", "I told you that already",
        "No, I told you about my allergy last week.", "I already told you my dentist is Olsen",
        "You keep forgetting my name", "Why don\u2019t you remember what I said?",
        "Das habe ich dir doch gesagt!", "tu as oubli\u00e9", "Je te l\u2019ai d\u00e9j\u00e0 dit",
        "ya te lo dije", "Te l\u2019ho gi\u00e0 detto!",
    ],
)  # fmt: skip
def test_a_complaint_that_something_was_forgotten_is_heard(message: str) -> None:
    assert is_complaint(message)


@pytest.mark.parametrize(
    "message",
    [
        "Did you forget that?", "I forgot that", "What have I told you about Ana?",
        "Translate: you forgot that", "I told you a joke", 'Is "you forgot that" rude?',
        "> you forgot that\nanswer this mail", "I told my boss that", "habe ich dir das gesagt?",
        "You should know that Piet is allergic to walnuts.",
        "She wrote a novel. " * 15 + "you forgot that",
    ],
)  # fmt: skip
def test_what_is_no_complaint_is_left_alone(message: str) -> None:
    assert not is_complaint(message)


def said(*texts: str) -> Session:
    return Session("s", messages=[Entry("user", text) for text in texts])


def test_a_complaint_offers_a_test_of_the_question_before_and_writes_nothing(home: Path) -> None:
    session = said("Who plays the cello?")
    (line,) = forgotten_lines(session, "you forgot that")
    assert "Who plays the cello?" in line and "/expect" in line
    assert (
        forgotten_lines(session, "Thanks!") == []
        and forgotten_lines(said(), "you forgot that") == []
    )
    assert not (home / "memory/TESTS.md").exists()


def test_the_question_is_the_one_before_the_complaints() -> None:
    assert last_question(said("Who?", "I told you that", "you forgot that")) == "Who?"
    assert last_question(said("you forgot that")) == ""


def test_expect_adds_the_case_where_the_user_says(tmp_path: Path) -> None:
    it = talk(new_home(tmp_path / "home"))
    session: Any = said("Who plays\nthe cello?", "you forgot that")
    (line,) = add_memory_test(it.app, session, "memory/people.md:3")
    cases = read_cases((it.root / "memory/TESTS.md").read_text("utf-8"))
    assert [(c.question, c.expected) for c in cases] == [
        ("Who plays the cello?", ("memory/people.md:3",))
    ]
    assert line.startswith(f"added memory/TESTS.md:{cases[0].line}")
    with pytest.raises(UsageError, match="where does the answer"):
        add_memory_test(it.app, session, "")
    with pytest.raises(UsageError, match="nothing was asked"):
        add_memory_test(it.app, said(), "x")
