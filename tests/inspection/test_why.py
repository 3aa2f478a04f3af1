"""`openclaw why`: what an answer is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from openclaw.cli.commands.why import styled, why_lines
from openclaw.cli.commands.why import why_in_chat as why_in_talk
from openclaw.errors import UsageError
from openclaw.inspection.why import NO_RECORD, find_why, why
from openclaw.messages import Entry, ToolUse
from openclaw.models.base import Reply
from openclaw.retrieval.passages import IN_HEAD, STRUCK
from tests.fakes.command import CommandLine
from tests.fakes.talk import Talk, answer, call, new_home, talk

claw = CommandLine()

NOTES = {
    "memory/MEMORY.md": "# Memory\n\n- The plumber is called Olsen.\n",
    "memory/2026-11-18.md": "# 2026-11-18\n\n- The plumber comes on Thursday at ten.\n"
    "- ~~The plumber comes on Monday at ten.~~ (until 2026-11-17)\n\n# Other\n\n- Dentist.\n",
}


@pytest.fixture
def noted(tmp_path: Path) -> Iterator[Talk]:
    home = new_home(tmp_path / "home")
    (home / "openclaw.yaml").write_text("embedding: none\n", "utf-8")
    for path, text in NOTES.items():
        (home / path).write_text(text, "utf-8")
    it = talk(home, recall="auto")
    it.app.recall.search("plumber", 1)  # a turn waits only four seconds for the first answer
    yield it
    it.app.close()


def asked(it: Talk) -> Talk:
    it.say("When does the plumber come?", answer("The plumber comes on Thursday at ten."))
    return it


# -------- one turn


def test_a_turn_records_what_was_left_out_and_forgets_it_for_the_next(noted: Talk) -> None:
    asked(noted)
    noted.say("Hello!", answer("Hello."))
    records = [m["record"] for m in noted.stored["messages"] if m["role"] == "user"]
    left = {(each["path"], each["start_line"]): each["rule"] for each in records[0]["left_out"]}
    assert left["memory/MEMORY.md", 3] == IN_HEAD
    assert left["memory/2026-11-18.md", 4] == STRUCK
    assert records[1]["left_out"] == []


def test_all_of_a_turn_is_told(noted: Talk) -> None:
    asked(noted)
    found = why(noted.session.id, noted.session.messages, 1)
    assert found.recorded and found.prompt == "When does the plumber come?"
    assert [each["path"] for each in found.offered] == ["memory/2026-11-18.md"]
    assert list(found.offered[0]["ranks"]) == ["words"]
    assert found.answer == "The plumber comes on Thursday at ten."
    assert found.sources == ("memory/2026-11-18.md:3",)
    assert (found.stop, found.citations) == ("answer", ())


def test_steps_hold_thoughts_calls_and_results(tmp_path: Path) -> None:
    it = talk(new_home(tmp_path / "home"))
    (it.root / "workspace/trip.md").write_text("The ferry leaves at noon.\n", "utf-8")
    look = call("read_file", path="workspace/trip.md")

    def thinking(request: Any) -> Reply:
        said = look(request) if callable(look) else look
        assert isinstance(said, Reply)
        return replace(said, thinking="I should look at trip.md.")

    it.say("When does the ferry leave?", thinking, answer("At noon."))
    found = why(it.session.id, it.session.messages, 1)
    assert [step.thought for step in found.steps] == ["I should look at trip.md.", ""]
    (use,) = found.steps[0].calls
    assert (use.tool, use.ok) == ("read_file", True) and "noon" in use.output
    assert found.sources == ("workspace/trip.md:1",)
    shown = "\n".join(why_lines(found, 80))
    assert "  1  thought  I should look at trip.md.\n" in shown
    assert "     action   read_file\n              path: workspace/trip.md\n" in shown
    assert "  2  answer   At noon." in shown


def old(**last: Any) -> list[Entry]:
    return [
        Entry("user", "When is tea?"),
        Entry("assistant", "Tea is at four.", **last),
    ]


def test_a_turn_without_a_record_shows_what_there_is_and_says_so() -> None:
    found = why("s", old(), 1)
    assert (found.recorded, found.offered, found.left_out, found.sources) == (False, (), (), ())
    told = "\n".join(why_lines(found, 80))
    assert f"  ({NO_RECORD})" in told and "  1  answer   Tea is at four." in told
    assert "offered" not in told and "rests on" not in told


def test_a_turn_that_is_not_there_names_how_many_are() -> None:
    with pytest.raises(UsageError, match="no turn 2; it has 1 turn"):
        why("s", old(), 2)
    with pytest.raises(UsageError, match="nothing was said"):
        why("s", [], 1)


RANKS = {"words": ["1", "x"], "meaning": [1, "y"]}


@pytest.mark.parametrize(
    "spoilt",
    [{"offered": 3}, {"offered": ["x", {}]}, {"cut": {}}, {"offered": [{"ranks": RANKS}]}],
)
def test_a_record_that_an_editor_has_spoilt_breaks_nothing(spoilt: dict[str, Any]) -> None:
    user, last = old(record_json={"citations": "?", "sources": 7, "stop": None})
    found = why("s", [replace(user, record_json=spoilt), last], 1)
    assert list(why_lines(found, 80))


# -------- on the screen


def long_turn() -> Any:
    output = "\n".join(f"line {n} of the result" for n in range(1, 21))
    use = ToolUse("1", "read_file", {"path": "a.md", "text": "x" * 500}, output, True)
    record = {
        "model": "m",
        "cut": [{"part": "soul", "path": "workspace/SOUL.md", "rule": "6 % of the window"}],
    }
    ended = {
        "stop": "steps",
        "changed": ["a.md"],
        "unbacked": ["I saved it"],
        "citations": [
            {"path": "a.md", "start_line": 1, "end_line": 2, "verified": True},
            {"path": "b.md", "start_line": 9, "end_line": 9, "verified": False},
        ],
    }
    messages = [
        Entry("user", "Do it \x1b[31mnow", record_json=record),
        Entry("assistant", "", tool_calls=(use,), thought="word " * 200, hint="Go on."),
        Entry("assistant", "Done.", record_json=ended),
    ]
    return why("s", messages, 1)


def test_long_texts_are_cut_unless_all_is_asked_for() -> None:
    lines = list(why_lines(long_turn(), 80))
    assert any(line.endswith("[16 more lines: --full]") for line in lines)
    assert max(map(len, lines)) <= 80 or "x" * 60 in "".join(lines)
    assert len(lines) < 45
    whole = "\n".join(why_lines(long_turn(), 80, full=True))
    assert "line 20 of the result" in whole and "--full" not in whole


def test_on_a_wide_terminal_a_reason_stands_beside_its_passage(noted: Talk) -> None:
    found = why("s", asked(noted).session.messages, 1)
    narrow, wide = list(why_lines(found, 80)), list(why_lines(found, 140))
    assert len(wide) == len(narrow) - 1
    assert any("% of the words" in line and "2026-11-18.md:3" in line for line in wide)


def test_verdicts_cuts_and_changes_are_in_words() -> None:
    shown = "\n".join(why_lines(long_turn(), 100))
    assert "  a.md:1-2  cited, and shown to the model" in shown
    assert "  b.md:9  cited, but not shown to it" in shown
    assert "  soul  workspace/SOUL.md  6 % of the window" in shown
    assert "ended: steps" in shown and "not true: I saved it" in shown and "changed: a.md" in shown
    assert "\x1b" not in shown


def test_without_a_terminal_nothing_is_coloured() -> None:
    assert list(styled(["steps", "  1"])) == ["steps", "  1"]


# -------- which turn


def test_turns_are_named_by_number_session_and_id(noted: Talk) -> None:
    asked(noted)
    noted.say("Thanks!", answer("You are welcome."))
    app, name = noted.app, noted.session.id
    assert find_why(app, "").turn == 2
    assert find_why(app, "1").prompt == "When does the plumber come?"
    assert find_why(app, "1", name).turn == 1
    assert find_why(app, f"{name}:2").prompt == "Thanks!"
    ids = {turn.number: turn.id for turn in app.history.turns() if turn.session == name}
    assert find_why(app, ids[1]).prompt == "When does the plumber come?"
    with pytest.raises(UsageError, match="no turn 9"):
        find_why(app, "9")
    with pytest.raises(UsageError):
        find_why(app, "no-such-turn")


def test_a_turn_that_was_taken_back_is_found_by_its_id(noted: Talk) -> None:
    asked(noted)
    noted.say("Thanks!", answer("You are welcome."))
    turn = noted.app.history.find("")
    noted.app.undo()
    assert find_why(noted.app, turn.id).prompt == "Thanks!"
    assert find_why(noted.app, "").prompt == "When does the plumber come?"


def test_archived_turns_are_found_by_their_number(noted: Talk) -> None:
    asked(noted)
    for n in range(3):
        noted.say(f"Word {n}", answer(f"Reply {n}"))
    list(noted.app.compact(noted.session))
    assert noted.session.archived == 4
    assert find_why(noted.app, "1").sources == ("memory/2026-11-18.md:3",)
    assert find_why(noted.app, "4").prompt == "Word 2"
    with pytest.raises(UsageError, match="no turn 6; it has 4 turns"):
        find_why(noted.app, "6")


def test_the_command_prints_lines_and_json(noted: Talk) -> None:
    asked(noted)
    value = claw.json("why")
    assert value["turn"] == 1 and value["recorded"] and "record" not in value
    assert value["offered"][0]["ranks"]["words"][0] == 1
    out = claw("why", f"{noted.session.id}:1")
    assert "offered from memory" in out and "rests on\n  memory/2026-11-18.md:3\n" in out
    assert "has no turn 7; it has 1 turn\n" in claw.error("why", "7", code=2)


def test_in_a_talk_it_is_about_this_talk(noted: Talk) -> None:
    with pytest.raises(UsageError, match="nothing was said"):
        why_in_talk(noted.app, noted.session, "")
    asked(noted)
    lines = why_in_talk(noted.app, noted.session, "--full")
    assert "When does the plumber come?" in "\n".join(lines)
