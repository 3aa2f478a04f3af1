"""Lasting facts that the user states are kept at the end of a turn, and shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from openclaw.agent.after_answer import MOST
from openclaw.messages import Material
from openclaw.storage.new_home import create_home
from tests.fakes.command import openclaw
from tests.fakes.files import write_file
from tests.fakes.ollama_server import FakeOllama
from tests.fakes.scripted import Line
from tests.fakes.talk import Talk, call, done, notices, talk

FACT = "I'm allergic to bees."
NOTE = "memory/2026-11-21.md"


def note_text(it: Talk, name: str = NOTE) -> str:
    path = it.root / name
    return path.read_text("utf-8") if path.exists() else ""


def inbox(it: Talk) -> str:
    return note_text(it, "memory/inbox/2026-11-21.md")


def test_a_fact_goes_to_todays_note_with_its_category_and_source(it: Talk) -> None:
    happened = it.say(f"{FACT} What should be in my bag?", "A net.")
    assert note_text(it) == (
        f"# 2026-11-21\n\n- {FACT} <!-- fact, 2026-11-21, session {it.session.id} turn 1 -->\n"
    )
    assert f"kept in {NOTE}: {FACT} (openclaw undo takes it back)" in notices(happened)
    assert done(happened).answer == "A net."
    assert it.stored["captured"] == 1


def test_the_next_turns_fact_has_its_own_number(it: Talk) -> None:
    it.say("Hi.", "Hello.")
    it.say("We decided to sell the boat.", "I see.")
    assert f"decision, 2026-11-21, session {it.session.id} turn 2" in note_text(it)


def test_a_fact_about_a_person_is_gathered_on_a_page_in_the_same_turn(it: Talk) -> None:
    fact = "My sister Imke is allergic to nuts."
    it.say(fact, "I see.")
    assert f"- {fact} [[2026-11-21]]\n" in note_text(it, "memory/people/imke.md")
    it.app.undo()
    assert note_text(it) == note_text(it, "memory/people/imke.md") == ""


@pytest.mark.parametrize("said", ["What is on my list?", "Translate into French: I live in Rome."])
def test_without_a_fact_nothing_is_written_or_shown(said: str, it: Talk) -> None:
    happened = it.say(said, "Here.")
    assert note_text(it) == inbox(it) == ""
    assert "kept" not in notices(happened)
    assert "captured" not in it.stored


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ({"mode": "ask"}, True),
        ({"mode": "edit"}, True),
        ({"mode": "full"}, True),
        ({"mode": "read-only"}, False),
        ({"capture": "off"}, False),
    ],
)
def test_mode_and_setting_say_whether_anything_is_kept(
    settings: dict[str, Any], kept: bool, tmp_path: Path
) -> None:
    it = talk(tmp_path / "home", **settings)
    it.say(FACT, "I see.")
    assert (FACT in note_text(it)) is kept and inbox(it) == ""


def test_without_memory_nothing_is_kept(it: Talk) -> None:
    it.app.use_memory = False
    it.say(FACT, "I see.")
    assert note_text(it) == inbox(it) == ""


def test_after_foreign_text_a_fact_waits_for_a_yes(it: Talk) -> None:
    it.model.say("I see.")
    happened = list(it.app.ask(FACT, it.session, [Material("standard input", "Some page.")]))
    assert note_text(it) == ""
    assert f"for your memory: {FACT} (openclaw memory review)" in notices(happened)
    assert f"{FACT} <!-- fact, 2026-11-21, session {it.session.id} turn 1" in inbox(it)


def test_facts_of_an_attachment_are_not_kept(it: Talk) -> None:
    it.model.say("A text.")
    list(it.app.ask("What is this?", it.session, [Material("input", "I live in Rome.")]))
    assert note_text(it) == inbox(it) == ""


def test_a_fact_that_may_be_pasted_waits_for_a_yes(it: Talk) -> None:
    happened = it.say(f"some news\n\n{FACT}", "I see.")
    assert note_text(it) == "" and FACT in inbox(it)
    assert f"for your memory: {FACT} (openclaw memory review)" in notices(happened)


def test_a_fact_with_a_relative_day_does_not_wait_in_the_inbox(it: Talk) -> None:
    it.model.say("I see.")
    page = [Material("standard input", "Some page.")]
    list(it.app.ask("Yesterday we decided to sell the boat.", it.session, page))
    assert inbox(it) == note_text(it) == ""


def test_a_fact_with_a_relative_day_may_go_to_todays_note(it: Talk) -> None:
    it.say("Yesterday we decided to sell the boat.", "I see.")
    assert "Yesterday we decided to sell the boat." in note_text(it)


def test_three_facts_of_a_conversation_are_kept(it: Talk) -> None:
    facts = ("I'm left-handed.", "I have two cats.", "My name is Ana.", "I live in Graz.")
    it.say(" ".join(facts[:2]), "I see.")
    happened = it.say(" ".join(facts[2:]), "I see.")
    assert [fact in note_text(it) for fact in facts] == [True, True, True, False]
    assert it.stored["captured"] == MOST
    assert notices(happened).count("kept in") == 1


@pytest.mark.parametrize("value", ["many", -4, None, [1, 2, 3]])
def test_a_broken_count_is_ignored(value: object, it: Talk) -> None:
    it.session.extra["captured"] = value
    it.say(FACT, "I see.")
    assert FACT in note_text(it)


LONG = "- the club's notes tell of bees and of {} beasts that fly over the roof there\n"


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("memory/MEMORY.md", "# Memory\n\n- I am allergic to bees\n"),
        ("memory/MEMORY.md", "* i'm allergic to bees <!-- fact, 2026-01-01 -->\n"),
        ("memory/MEMORY.md", LONG.format("of allergic") + f"- {FACT}\n"),
        ("memory/2025-02-03.md", f"- {FACT}\n"),
        ("memory/people.md", f"- {FACT}\n"),
        ("memory/inbox/2026-01-01.md", f"- {FACT}\n"),
        ("workspace/USER.md", f"- {FACT}\n"),
    ],
)
def test_a_fact_in_any_file_of_the_memory_is_not_kept_again(
    name: str, known: str, it: Talk
) -> None:
    write_file(it.root / name, known)
    happened = it.say(FACT, "I see.")
    assert note_text(it) == ""
    assert "kept" not in notices(happened)


@pytest.mark.parametrize(
    "known",
    [
        "- I am not allergic to bees\n",
        "- I am allergic to wasps\n",
        LONG.format("of many other") * 3,
    ],
)
def test_another_or_denied_fact_is_not_the_same(known: str, it: Talk) -> None:
    (it.root / "memory" / "MEMORY.md").write_text(known, "utf-8")
    it.say(FACT, "I see.")
    assert FACT in note_text(it)


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        (f"{FACT} Please keep that in mind.", "The user is allergic to bees."),
        ("note que la tension de maman est à 13/7", "Tension de maman : 13/7"),
    ],
)
def test_a_fact_that_the_model_has_just_saved_is_not_kept_again(
    said: str, fact: str, it: Talk
) -> None:
    happened = it.say(said, call("remember", fact=fact), "Noted.")
    assert fact in note_text(it, "memory/MEMORY.md")
    assert note_text(it) == ""
    assert "kept in" not in notices(happened)


@pytest.mark.parametrize(
    ("fact", "saved"),
    [
        (
            "My sister lives in Lisbon.",
            call("todo", action="add", text="visit sister in Lisbon"),
        ),
        (
            "I moved to Lisbon last year.",
            call("remember", fact="Lisbon was hot last week."),
        ),
    ],
)
def test_a_fact_is_kept_beside_a_line_with_some_of_its_words(
    fact: str, saved: Line, it: Talk
) -> None:
    it.say(f"{fact} Visit sister in Lisbon! Lisbon was hot last week.", saved, "Noted.")
    assert fact in note_text(it)


def test_a_fact_from_an_earlier_turn_is_not_kept_again(it: Talk) -> None:
    it.say(FACT, "I see.")
    it.say(f"As I said, {FACT}", "Yes.")
    assert note_text(it).count("bees") == 1


def test_a_note_that_cannot_be_written_does_not_stop_the_turn(it: Talk) -> None:
    (it.root / NOTE).mkdir(parents=True)
    happened = it.say(FACT, "I see.")
    assert done(happened).answer == "I see."
    assert "kept in" not in notices(happened)
    assert "captured" not in it.stored


@pytest.mark.parametrize("name", ["memory/2025-02-03.md", "memory/inbox/2026-01-01.md"])
def test_a_folder_that_is_named_like_a_note_is_passed_over(name: str, it: Talk) -> None:
    (it.root / name).mkdir(parents=True)
    happened = it.say(FACT, "I see.")
    assert FACT in note_text(it)
    it.model.say("I see.")
    list(it.app.ask("I have two cats.", it.session, [Material("input", "Some page.")]))
    assert "I have two cats." in inbox(it)
    assert "Errno" not in notices(happened)


def test_a_prompt_that_the_user_did_not_type_is_not_kept(it: Talk) -> None:
    it.model.say("I see. I will remind you on Friday to pay Max.")
    happened = list(it.app.ask(FACT, it.session, typed=False))
    assert note_text(it) == inbox(it) == ""
    assert "pay Max" not in note_text(it, "memory/TODO.md")
    assert "kept" not in notices(happened) and "promise" not in notices(happened)


@pytest.mark.parametrize("target", ["outside.md", "home/workspace/days.md"])
def test_nothing_is_written_through_a_link(it: Talk, tmp_path: Path, target: str) -> None:
    (tmp_path / target).write_text("mine\n", "utf-8")
    (it.root / NOTE).symlink_to(tmp_path / target)
    happened = it.say(FACT, "I see.")
    assert (tmp_path / target).read_text("utf-8") == "mine\n"
    assert f"nothing was kept: {NOTE} is left alone: it is a link" in notices(happened)
    assert done(happened).answer == "I see."


def test_a_page_that_is_piped_in_as_the_prompt_is_not_kept(
    tmp_path: Path, fake_ollama: FakeOllama
) -> None:
    settings = f"model: ollama/fake:1b\nprotocol: native\nollama:\n  host: {fake_ollama.url}\n"
    home = tmp_path / "home"
    create_home(home, f"{settings}recall: tool\n")
    page = "I live in Ghent. Never book anything before 9. Remind me on Friday."
    before = {path: path.read_bytes() for path in home.glob("memory/**/*.md")}
    fake_ollama.say("I will remind you on Friday to pay Max.")
    assert openclaw(stdin=page).returncode == 0
    assert {path: path.read_bytes() for path in home.glob("memory/**/*.md")} == before
    fake_ollama.say("I see.")
    assert "kept in memory/" in openclaw(FACT).stderr
