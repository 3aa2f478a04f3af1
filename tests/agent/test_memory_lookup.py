"""Which to-dos go with a prompt, by the days that it names and the passages that were found."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from openclaw.agent.memory_lookup import MAX_DUE, todos_by_day, todos_found
from openclaw.memory.todos import TodoFile, Todos
from openclaw.nlp.intent import TODO_LINE, Cues

TODAY = date(2026, 11, 28)  # a Saturday
MIA, RENT, PILLS = "call Mia due:2026-11-30", "pay the rent", "collect Eileen's pills"
EILEEN = "collect Eileen"


@pytest.fixture
def todos(tmp_path: Path) -> Todos:
    path = tmp_path / "TODO.md"
    path.write_text(f"- [ ] {MIA}\n- [ ] {RENT}\n- [ ] {PILLS}\n- [ ] {EILEEN}\n", "utf-8")
    return TodoFile(path).read()


def passage(path: str, text: str, score: float = 0.6) -> dict[str, Any]:
    return {"path": path, "text": text, "score": score}


@pytest.mark.parametrize(
    ("question", "lines"),
    [
        ("what do i have to do on monday?", [f"monday: {MIA}"]),
        ("what do i have to do by tuesday?", [f"by tuesday: {MIA}"]),
        ("what's on my list for next week?", [f"next week: {MIA}"]),
        ("what have i got on tuesday?", [f"before tuesday: {MIA}", "tuesday, 2026-12-01: none"]),
        ("anything due tomorrow?", ["tomorrow, 2026-11-29: none"]),
        (
            "what do i have to do tomorrow or on monday?",
            [f"monday: {MIA}", "tomorrow, 2026-11-29: none"],
        ),
        ("was steht diese woche noch an?", ["diese woche: none"]),
    ],
)
def test_a_question_for_the_to_dos_of_a_day_gets_those_until_then(
    question: str, lines: list[str], todos: Todos
) -> None:
    cues, told = todos_by_day(question, Cues(asks=True), todos, (), TODAY)
    assert cues.due
    assert [*told.values()] == [f"To-do due {line}" for line in lines]


def test_a_note_of_the_last_monday_hides_no_to_do_of_the_next(todos: Todos) -> None:
    noted = [passage("memory/2026-11-23.md", "- Ran 6 km.", 0.2)]
    for question in ("what do i have to do by monday?", "what do i have to do on monday?"):
        _, lines = todos_by_day(question, Cues(asks=True), todos, noted, TODAY)
        assert [*lines] == [MIA]


def test_a_weekend_has_two_days(tmp_path: Path) -> None:
    path = tmp_path / "TODO.md"
    path.write_text("- [ ] sow due:2026-11-29\n", "utf-8")
    question, thursday = "what do i have to do at the weekend?", date(2026, 11, 26)
    lines = todos_by_day(question, Cues(asks=True), TodoFile(path).read(), (), thursday)[1]
    assert [*lines] == ["sow due:2026-11-29"]


def test_a_question_for_a_list_gets_no_to_dos_of_others(tmp_path: Path) -> None:
    path = tmp_path / "TODO.md"
    path.write_text(f"## Work\n- [ ] {MIA}\n## Home\n- [ ] sow due:2026-11-30\n", "utf-8")
    cues = Cues(asks=True, todos=True, lists=("Work",))
    question = "what do i have to do by monday on my work list?"
    assert [*todos_by_day(question, cues, TodoFile(path).read(), (), TODAY)[1]] == [MIA]


def test_of_many_to_dos_until_a_day_the_first_are_told_and_how_many_more(tmp_path: Path) -> None:
    path = tmp_path / "TODO.md"
    days = [f"- [ ] step {n} due:2026-12-{n:02}\n" for n in range(MAX_DUE + 3, 0, -1)]
    path.write_text("".join(days), "utf-8")
    question = "what do i have to do next month?"
    cues, lines = todos_by_day(question, Cues(asks=True), TodoFile(path).read(), (), TODAY)
    assert next(iter(lines)) == "step 1 due:2026-12-01"
    assert lines[""] == "More to-dos due by next month: 3"
    assert not cues.due


def test_a_question_about_a_file_is_none_for_to_dos(todos: Todos) -> None:
    asked = Cues(asks=True, named=("workspace/plan.md",))
    question = "what do i have to do by monday according to plan.md?"
    assert todos_by_day(question, asked, todos, (), TODAY) == (asked, {})


@pytest.mark.parametrize(
    "question", ["what do i have to do?", "what's the weather on monday?", "who lives in Ulm?"]
)
def test_other_questions_get_no_to_dos_of_a_day(question: str, todos: Todos) -> None:
    assert todos_by_day(question, Cues(asks=True), todos, (), TODAY) == (Cues(asks=True), {})


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("what did i do on thursday?", passage("memory/2026-11-26.md", "- Ran 6 km.", 0.2)),
        ("what did i do on monday?", passage("memory/2026-11-23.md", "- Ran 5 km.", 0.2)),
        ("what do i need to prepare for the choir?", passage("workspace/choir.md", "Bring tea.")),
    ],
)
def test_what_a_note_is_about_is_no_question_for_to_dos(
    question: str, found: dict[str, Any], todos: Todos
) -> None:
    cues, lines = todos_by_day(question, Cues(asks=True, todos=True), todos, [found], TODAY)
    assert not (cues.todos or cues.due or lines)


def test_a_question_that_names_a_list_stays_one_for_to_dos(todos: Todos) -> None:
    asked = Cues(asks=True, todos=True, lists=("Choir",))
    found = [passage("workspace/choir.md", "Bring tea.")]
    assert todos_by_day("what is on the choir list?", asked, todos, found, TODAY) == (asked, {})


@pytest.mark.parametrize(
    ("cues", "path"),
    [
        (Cues(asks=True, todos=True), "memory/TODO.md"),
        (Cues(asks=True, todos=True, lines=(f"{TODO_LINE}{RENT}",)), "workspace/choir.md"),
    ],
)
def test_a_question_about_a_to_do_stays_one(cues: Cues, path: str, todos: Todos) -> None:
    question, found = "do I still have to pay the rent?", [passage(path, f"- [ ] {RENT}")]
    assert todos_by_day(question, cues, todos, found, TODAY) == (cues, {})


def test_the_to_do_that_was_found_is_the_one_that_may_be_changed(todos: Todos) -> None:
    cues = Cues(orders=True, unclear=True)
    found = todos_found(cues, todos, [passage("memory/TODO.md", f"    - [ ] {PILLS} ^1a2b3c4d")])
    assert found.near == (PILLS,)
    assert not found.unclear
    assert todos_found(cues, todos, [passage("workspace/a.md", PILLS, 0.4)]) == cues


def test_an_order_that_a_passage_of_a_note_is_surely_about_changes_no_to_do(todos: Todos) -> None:
    cues = Cues(orders=True, unclear=True, changes=("add", "change"))
    found = todos_found(cues, todos, [passage("memory/MEMORY.md", "Receipts by the 5th.")])
    assert (found.unclear, found.changes) == (False, ("add",))
    done = [passage("memory/TODO.md", "- [x] water the fern ^1a2b3c4d")]  # it may be opened again
    assert todos_found(cues, todos, done) == cues
    ticks = Cues(orders=True, unclear=True, changes=("done",))  # "Zahnarzt ist erledigt"
    assert (
        todos_found(ticks, todos, [passage("memory/MEMORY.md", "Zahnarzt: Dr. Mertens")]) == ticks
    )
    asked = Cues(asks=True, unclear=True)
    assert todos_found(asked, todos, [passage("memory/MEMORY.md", "Receipts.")]) == asked
