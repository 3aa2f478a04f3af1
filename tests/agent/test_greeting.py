"""The greeting of a talk, and the effect of a yes right after it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from openclaw.agent.greeting import Greeting, greeting
from openclaw.agent.todo_offers import FILE
from openclaw.cli.chat.prompt_line import PipedLines
from openclaw.memory.notes import Notes
from tests.fakes.talk import NOON, Talk, call, talk
from tests.fakes.typed_chat import type_lines

FIND = "Find a dentist near the office"


@pytest.fixture
def it(tmp_path: Path) -> Talk:
    it = talk(tmp_path / "home", preload=False)
    write(it)
    return it


def write(it: Talk, *todos: str, name: str = "Tasks") -> None:
    lines = "".join(f"- [ ] {todo}\n" for todo in todos)
    (it.root / "memory" / "TODO.md").write_text(f"# To-dos\n\n## {name}\n\n{lines}", "utf-8")


def prompts(it: Talk) -> list[str]:
    return [entry.content for entry in it.session.messages if entry.role == "user"]


# -------- what is due, what waits


def test_nothing_is_said_when_there_is_nothing_to_say(it: Talk) -> None:
    write(it, "buy milk", "water the plants due:2026-12-01")
    with (it.root / "memory" / "TODO.md").open("a", encoding="utf-8") as file:
        file.write("- [x] done due:2026-11-01\n")
    assert greeting(it.app) == Greeting()
    (it.root / "memory" / "TODO.md").unlink()
    assert greeting(it.app) == Greeting()


def test_due_todos_are_named_the_latest_first_without_a_model(it: Talk) -> None:
    write(it, "tax due:2026-11-21", "milk", "rent due:2026-11-19", "plants due:2026-11-22")
    assert greeting(it.app).lines == ("Due: rent (2 days late), tax (today).",)
    it.app.now = lambda: NOON + timedelta(days=1)
    assert greeting(it.app).lines == ("Due: rent (3 days late), tax (1 day late), plants (today).",)
    assert not it.requests


def test_many_due_todos_fit_one_line_of_80_columns(it: Talk) -> None:
    write(
        it, *(f"a thing number {n} that has a rather long text due:2026-11-0{n}" for n in "1234567")
    )
    [line] = greeting(it.app).lines
    assert len(line) < 80
    assert line.startswith("Due: a thing number 1 that has") and line.endswith("and 6 more.")


def test_candidates_that_wait_for_a_yes_are_counted(it: Talk) -> None:
    notes = Notes(it.root / "memory", today=lambda: NOON.date())
    notes.propose("The office moves to Ulm", "web: example.org")
    notes.propose("The cat is called Mimi", "web: example.org")
    (it.root / "skills" / ".proposed" / "brew").mkdir(parents=True)
    assert greeting(it.app).lines == (
        "Inbox: 2 memories (openclaw memory review), 1 skill (openclaw skills review)",
    )


def test_everything_at_once_is_three_lines_of_80_columns(it: Talk) -> None:
    write(it, "rent due:2026-11-19", "tax due:2026-11-21", FIND)
    for number in range(120):
        path = it.root / "memory" / "inbox" / "2026-11-20.md"
        path.parent.mkdir(exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"- a candidate {number}\n")
    (it.root / "skills" / ".proposed" / "brew").mkdir(parents=True)
    lines = greeting(it.app).lines
    assert len(lines) == 3 and all(len(line) <= 80 for line in lines)
    assert "120 memories" in lines[1] and FIND in lines[2]


def test_the_setting_and_no_memory_silence_it(tmp_path: Path) -> None:
    off = talk(tmp_path / "off", proactive="off")
    write(off, "rent due:2026-11-19", FIND)
    assert greeting(off.app) == Greeting()
    blind = talk(tmp_path / "blind")
    write(blind, "rent due:2026-11-19", FIND)
    blind.app.use_memory = False
    assert greeting(blind.app) == Greeting()


# -------- the offer and the yes


def test_a_yes_right_after_the_offer_asks_the_words_that_were_shown(it: Talk) -> None:
    write(it, f"{FIND} due:2026-12-01 #health")
    it.model.say("There is one in Main Street.")
    shown = type_lines(it, "Yes!")
    assert f'"{FIND}"? (yes)' in shown
    assert prompts(it) == [FIND]


@pytest.mark.parametrize(("before", "asked"), [("hi", ["hi", "yes"]), ("/todo", ["yes"])])
def test_a_prompt_or_command_in_between_takes_the_offer_back(
    it: Talk, before: str, asked: list[str]
) -> None:
    write(it, FIND)
    it.model.say(*["Hello."] * len(asked))
    type_lines(it, before, "yes")
    assert prompts(it) == asked


def test_an_offer_is_made_once_for_ever(it: Talk, tmp_path: Path) -> None:
    write(it, FIND)
    assert FIND in type_lines(it)
    assert FIND not in type_lines(talk(tmp_path / "home"))
    assert (it.root / ".openclaw" / FILE).read_text("utf-8").startswith("2026-11-21\t")


def test_the_next_todo_has_its_turn_the_next_time(it: Talk, tmp_path: Path) -> None:
    write(it, FIND, "Look up the bus to Ulm due:2026-12-01")
    assert "the bus to Ulm" in type_lines(it)  # what has a day comes first
    assert FIND in type_lines(talk(tmp_path / "home"))


def test_nothing_is_offered_where_nobody_can_say_yes(it: Talk, tmp_path: Path) -> None:
    write(it, FIND)
    assert type_lines(it, lines=PipedLines) == ""
    assert FIND in type_lines(talk(tmp_path / "home"))


def test_a_continued_talk_offers_nothing_since_a_yes_may_answer_its_last_words(it: Talk) -> None:
    it.say("hi", "Shall I tell you a story?")
    write(it, FIND)
    it.model.say("Once upon a time.")
    assert "(yes)" not in type_lines(it, "yes")
    assert prompts(it) == ["hi", "yes"]


def test_nothing_is_offered_when_the_offer_cannot_be_saved(it: Talk) -> None:
    write(it, FIND)
    (it.root / ".openclaw" / FILE).mkdir(parents=True)
    assert greeting(it.app) == Greeting()


def test_a_todo_that_would_attach_a_file_or_is_too_long_to_show_is_not_offered(it: Talk) -> None:
    write(
        it, "Look up @memory/MEMORY.md", f"Find a {'very ' * 40}good dentist", "Find a\u202etsitned"
    )
    assert greeting(it.app) == Greeting()


def test_a_person_to_call_is_looked_up_in_the_notes(it: Talk) -> None:
    write(it, "Call Maria about the roof")
    assert greeting(it.app).offer is None
    (it.root / "memory" / "people.md").write_text("# People\n\n- Maria, roofer\n", "utf-8")
    offer = greeting(it.app).offer
    assert offer and offer.prompt == "Look in my notes for what I need to call Maria about the roof"


def test_an_offer_runs_as_any_prompt_does_under_the_same_policy(it: Talk) -> None:
    write(it, "Look up the price of heat pumps")
    it.app.mode = "ask"
    it.model.say(call("web_search", query="heat pumps"), "I was not allowed to search.")
    assert "refused: web_search" in type_lines(it, "yes")
