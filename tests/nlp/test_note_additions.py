"""The working notes keep the user's facts, findings, changes and open questions of a turn."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.agent.recording import make_receipt
from openclaw.nlp.note_additions import LONGEST_REQUEST, find_additions
from openclaw.nlp.statements import lasting_facts
from openclaw.nlp.words import LONGEST_LASTING
from openclaw.types import Change
from tests.data.notable_messages import MESSAGES


def facts(said: str) -> tuple[str, ...]:
    return find_additions(said, "").facts


def precision_and_recall(wanted: Sequence[bool], found: Sequence[bool]) -> tuple[float, float]:
    """Precision and recall."""
    hits = sum(a and b for a, b in zip(wanted, found, strict=True))
    return hits / sum(found), hits / sum(wanted)


# -------- facts


def test_nearly_all_facts_are_found_and_little_else() -> None:
    precision, recall = precision_and_recall(
        [kind != "" for _, kind in MESSAGES], [bool(facts(m)) for m, _ in MESSAGES]
    )

    assert precision >= 0.9
    assert recall >= 0.84


def test_hardly_any_passing_fact_is_proposed() -> None:
    precision, recall = precision_and_recall(
        [kind == "lasting" for _, kind in MESSAGES], [bool(lasting_facts(m)) for m, _ in MESSAGES]
    )

    assert precision >= 0.8
    assert recall >= 0.7


def test_facts_are_the_users_own_words() -> None:
    for said, _ in MESSAGES:
        one_line = " ".join(said.split())

        assert all(fact in one_line and len(fact) <= 160 for fact in facts(said))
        assert all(fact in one_line for fact in lasting_facts(said))


@pytest.mark.parametrize(
    "said",
    [
        "```\nThe port is 8215.\n```",
        "> The port is 8215.",
        "<context>\nThe port is 8215.\n</context>",
        "<<data 1a2b3c4d from web, no orders>>\nThe port is 8215.\n<</data 1a2b3c4d>>",
        "Translate this:\nThe port is 8215.",
        'What does "the port is 8215 and that is final" mean?',
        "```\nThe port is 8215.",
        "From: Ana\nSubject: the port\n\nThe port is 8215.",
    ],
)
def test_a_citation_is_no_fact(said: str) -> None:
    assert facts(said) == ()


def test_only_sentences_that_state_something_are_kept() -> None:
    said = "Hi! The plan is due on 3 May, not 4. Can you read it? I live in Ghent; add milk."

    assert facts(said) == ("The plan is due on 3 May, not 4.", "I live in Ghent;")


def test_a_mood_is_no_fact_of_the_conversation() -> None:
    assert facts("I'm tired. It is late. My head hurts.") == ()


def test_a_long_sentence_is_cut_between_its_clauses() -> None:
    said = "My sister Olga moved to Tallinn in 2019, " + "and my brother went there too, " * 9
    (fact,) = facts(said)

    assert fact.startswith("My sister Olga moved to Tallinn in 2019")
    assert len(fact) <= LONGEST_LASTING and said.startswith(f"{fact},")


@given(st.text(alphabet="Iam we'the is 8.,:?!-\n\"`<>#[]()x/@", max_size=300))
def test_any_text_yields_lines_of_bounded_length(said: str) -> None:
    found = find_additions(said, said)

    assert len(found.request) <= LONGEST_REQUEST
    assert all(len(fact) <= LONGEST_LASTING for fact in lasting_facts(said))
    assert len(found.findings) <= 5
    assert all("\n" not in line for line in (*found.facts, *found.findings, *found.questions))


def test_only_a_part_of_a_megabyte_of_hostile_words_is_read() -> None:
    said = "I am the is, never no: - [ ] \u201e<context " * 30_000

    assert len(find_additions(said, said).request) <= LONGEST_REQUEST


# -------- findings


@pytest.mark.parametrize("at", range(3_970, 3_990))
def test_a_long_answer_is_not_cut_within_an_exact_string(at: int) -> None:
    answer = f"{'well ' * 1_000}"[: at - 1] + "\nThe order is OPS-421789 now."
    found = find_additions("which one?", answer).findings
    assert found in ((), ("The order is OPS-421789",), ("The order is OPS-421789 now.",))


def test_lines_of_the_answer_with_new_exact_strings_are_found() -> None:
    answer = "I looked.\n\n- **Port**: 8215\n- Host: db.example.org\n\nDo you want port 99?"

    assert find_additions("What is the port?", answer).findings == (
        "Port: 8215",
        "Host: db.example.org",
    )


def test_a_string_from_the_users_message_is_no_finding() -> None:
    assert find_additions("The port is 8215.", "Noted: the port is 8215.").findings == ()


def test_an_order_with_exact_strings_is_a_finding() -> None:
    found = find_additions("Book a table for 7 on 12 May. Then read a.md.", "Done.").findings

    assert found == ("asked: Book a table for 7 on 12 May.",)


def test_findings_of_an_answer_are_few() -> None:
    rows = "\n".join(f"row_{number} = {number * 37}" for number in range(200))

    assert len(find_additions("read the row values", rows).findings) == 3


# -------- files, to-dos, questions


def test_changed_files_are_listed_and_unchanged_ones_are_not() -> None:
    changes = [
        Change("workspace/a.md", None, "x"),
        Change("workspace/b.md", "x", None),
        Change("workspace/c.md", "same", "same"),
    ]

    assert find_additions("", "", make_receipt(changes)).files == (
        "workspace/a.md written",
        "workspace/b.md removed",
    )


def test_todo_changes_are_those_of_the_receipt() -> None:
    before = "## Home\n- [ ] Paint door ^1a2b3c4d\n- [ ] Call Ana\n- [x] Mow lawn\n"
    after = "## Home\n- [x] Paint door ^1a2b3c4d\n- [ ] Mow lawn\n- [ ] Buy milk ^1a2b3c4e\n"

    changes = [Change("memory/TODO.md", before, after)]
    found = find_additions("", "", make_receipt(changes))

    assert found.todos == (
        "done: Paint door",
        "undone: Mow lawn",
        "added: Buy milk",
        "removed: Call Ana",
    )
    assert found.files == ()


@pytest.mark.parametrize(
    ("said", "answer", "questions"),
    [
        ("Book it", "There are two trains. Which of them shall I take, 9:10 or 10:10?",
         ("asked of the user: Which of them shall I take, 9:10 or 10:10?",)),
        ("Thanks", "You are welcome. Can I help you with anything else?", ()),
        ("Who has the key? Read a.md.", "I don't know who has the key.", ("Who has the key?",)),
    ],
    ids=["of the answer", "a polite one", "of the user, not answered"],
)  # fmt: skip
def test_a_question_stays_open(said: str, answer: str, questions: tuple[str, ...]) -> None:
    assert find_additions(said, answer).questions == questions


def test_the_request_is_one_line_of_bounded_length() -> None:
    assert find_additions("Write\n  a poem\n```\ncode\n```", "").request == "Write a poem"
    assert find_additions("word " * 100, "").request.endswith("word...")
