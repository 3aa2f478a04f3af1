"""Suites: what is expected of recorded conversations, and `openclaw sessions test`."""

from __future__ import annotations

from pathlib import Path

import pytest

from openclaw.evals.recorded_turns import RecordedTurn
from openclaw.evals.replay_compare import ReplayedTurn, ReplayResult
from openclaw.evals.replay_suite import (
    EVERY,
    Expectation,
    failure_reason,
    read_expectations,
)
from openclaw.messages import Entry, ToolUse
from tests.fakes.command import CommandLine
from tests.fakes.git_home import copy_home
from tests.fakes.ollama_server import Answer, FakeOllama

claw = CommandLine()

LIST_FILES = Answer(calls=[("list_files", {"path": "workspace"})])


# -------- the file


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('- turn 2: answer contains "Ferryhill"', Expectation(2, "contains", "Ferryhill")),
        ("* Turn 2, contains Ferryhill", Expectation(2, "contains", "Ferryhill")),
        ("1. turn 2 - calls `todo`", Expectation(2, "calls", "todo")),
        ("- **turn 2**: does not call run_shell", Expectation(2, "calls not", "run_shell")),
        ("- every turn: doesn't call run_shell", Expectation(EVERY, "calls not", "run_shell")),
        ("- turn 1: calls nothing", Expectation(1, "calls not", "")),
        ("- turn 1: does not call any tool", Expectation(1, "calls not", "")),
        ("- turn 1: answer matches /^ok\\b/i", Expectation(1, "matches", "/^ok\\b/i")),
        ("- turn 1: answer does not contain 'no'", Expectation(1, "lacks", "no")),
        ("- turn 1: same", Expectation(1, "same")),
        ("- [ ] turn 1: same tools", Expectation(1, "same calls")),
        ("| 3 | answer contains \u201cx | y\u201d |", Expectation(3, "contains", "x | y")),
        ("| turn 3 | calls todo |", Expectation(3, "calls", "todo")),
    ],
)
def test_items_and_rows_are_expectations(line: str, expected: Expectation) -> None:
    found, problems = read_expectations(line)
    assert problems == []
    assert [(e.turn, e.check, e.value) for e in found] == [
        (expected.turn, expected.check, expected.value)
    ]
    assert read_expectations(f"- turn 1: {found[0]}")[0][0].value == expected.value  # as it is told


def test_a_heading_names_the_turn_of_its_items_and_prose_is_for_people() -> None:
    text = (
        "\ufeff# Suite\n\nWhat turn 1 says matters.\n- a list about something\n\n"
        "| turn | expect |\n|---|---|\n| 1 | calls todo |\n\n"
        "## Turn 2\n\n> hello\n\n- same\n- calls todo\n\n"
        "```\n- turn 9: same\n```\n# Notes\n- it is raining\n"
    )
    found, problems = read_expectations(text)
    assert problems == []
    assert [(e.turn, e.check, e.line) for e in found] == [
        (1, "calls", 8),
        (2, "same", 14),
        (2, "calls", 15),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "- turn 2: anwser contains x",
        "- turn 2: matches /(/",
        "- turn 2:",
        "- Turn one: calls todo",
        "- first turn: is nice",
        "- in turn 1, is nice",
        '- answer contains "Ferryhill"',
        "- turn 0: same",
        "- same",
        "| one | calls todo |",
    ],
)
def test_what_looks_like_an_expectation_and_is_none_is_a_problem(line: str) -> None:
    found, problems = read_expectations(f"\n{line}\n")
    assert found == []
    assert problems[0].startswith("line 2: ")


def replayed(
    answer: str, *calls: str, then: str = "", then_called: tuple[str, ...] = ()
) -> ReplayedTurn:
    """A turn with this answer after these calls, and with what was recorded."""

    def said(text: str, names: tuple[str, ...]) -> tuple[Entry, ...]:
        uses = tuple(ToolUse("1", name, {}, "", True) for name in names)
        return Entry("assistant", "", tool_calls=uses), Entry("assistant", text)

    recorded = RecordedTurn(1, Entry("user", "x"), said(then, then_called))
    return ReplayedTurn(recorded, ReplayResult(said(answer, calls), "answer"))


@pytest.mark.parametrize(
    ("check", "value", "passes", "fails"),
    [
        ("contains", "Tea", "green tea", "coffee"),
        ("lacks", "tea", "coffee", "Tea"),
        ("matches", "/^t.a$/i", "TEA", "teas"),
        ("same", "", "as it was", "as it is"),
    ],
)
def test_answers_are_checked(check: str, value: str, passes: str, fails: str) -> None:
    expected = Expectation(1, check, value)  # type: ignore[arg-type]
    assert failure_reason(expected, replayed(passes, then="as it was")) == ""
    assert failure_reason(expected, replayed(fails, then="as it was")) != ""


def test_calls_are_checked_by_the_names_of_tools() -> None:
    made = replayed("", "todo", "todo", then_called=("todo",))
    assert failure_reason(Expectation(1, "calls", "Todo"), made) == ""
    assert failure_reason(Expectation(1, "calls", "tod"), made) == "calls tod: called todo, todo"
    assert failure_reason(Expectation(1, "calls not", "todo"), made) != ""
    assert failure_reason(Expectation(1, "calls not"), made) != ""
    assert failure_reason(Expectation(1, "calls not"), replayed("")) == ""
    assert failure_reason(Expectation(1, "same calls"), made) == "called todo, todo instead of todo"


# -------- the command


@pytest.fixture
def suite(tmp_path: Path, fake_ollama: FakeOllama) -> Path:
    """A folder with a recorded conversation, `one`: a turn with a call, and one without."""
    settings = "model: ollama/fake:1b\nprotocol: native\nrecall: tool\n"
    copy_home(tmp_path / "home", f"{settings}git:\n  auto_commit: false\n")
    fake_ollama.say(LIST_FILES, "Three files.", "You are welcome.")
    for words in ("What is there?", "Thanks."):
        claw("ask", "--quiet", "--session", "one", words)
    claw("sessions", "test", str(tmp_path / "suite"), "--from", "one")
    assert claw.err.count("wrote ") == 2
    return tmp_path / "suite"


def expect(suite: Path, *lines: str) -> None:
    text = "".join(f"- {line}\n" for line in lines)
    (suite / "one.expect.md").write_text(text, "utf-8")


def test_a_conversation_that_was_put_there_is_expected_to_call_the_same_tools(
    suite: Path, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(LIST_FILES, "Other words.", "Bye.")
    assert claw("sessions", "test", str(suite)).splitlines() == [
        "one  What is there?",
        "  ok    turn 1  What is there?",
        "  ok    turn 2  Thanks.",
        "",
        "1 session, 2 turns, 2 expectations: all turns passed",
    ]
    (suite / "one.expect.md").unlink()
    fake_ollama.say("Three files.", LIST_FILES)
    out = claw("sessions", "test", str(suite), code=1)
    assert "called nothing instead of list_files" in out
    assert "called list_files instead of nothing" in out
    assert "it ended at list_files, which was not recorded with this input" in out
    assert out.endswith("2 turns failed\n")


def test_only_turns_of_which_something_is_expected_are_run(
    suite: Path, fake_ollama: FakeOllama
) -> None:
    expect(suite, 'turn 2: answer contains "welcome"', "turn 2: does not call run_shell")
    fake_ollama.say("Always welcome.")
    told = claw.json("sessions", "test", str(suite))
    (session,) = told["sessions"]
    (turn,) = session["turns"]
    assert (told["passed"], turn["turn"], turn["checks"], turn["failures"]) == (True, 2, 2, [])
    fake_ollama.say("Bye.")
    out = claw("sessions", "test", str(suite), code=1)
    assert '  FAIL  turn 2  Thanks.\n        not so: answer contains "welcome"' in out


def test_a_line_that_cannot_be_read_fails_the_suite(suite: Path, fake_ollama: FakeOllama) -> None:
    expect(suite, "turn 2: same", "turn 2: is nice", "turn 7: same")
    fake_ollama.say("You are welcome.")
    out = claw("sessions", "test", str(suite), code=1)
    assert "FAIL  one.expect.md line 2: not understood: is nice" in out
    assert "FAIL  one.expect.md line 3: there is no turn 7" in out
    assert "  ok    turn 2" in out and "1 session, 1 turn, 1 expectation: " in out


def test_an_empty_folder_a_file_that_is_no_session_and_a_second_copy_are_told(
    suite: Path, tmp_path: Path
) -> None:
    assert "--from ID" in claw.error("sessions", "test", str(tmp_path / "nothing"), code=2)
    assert "is there already" in claw.error("sessions", "test", str(suite), "--from", "one", code=2)


def test_a_file_that_is_no_session_is_a_fault_and_the_others_are_run(
    suite: Path, fake_ollama: FakeOllama
) -> None:
    (suite / "a-notes.json").write_text('{"note": 1}', "utf-8")
    fake_ollama.say(LIST_FILES, "Other words.", "Bye.")
    out = claw("sessions", "test", str(suite), code=1)
    assert "FAIL  a-notes.json is no session: no list of messages" in out
    assert out.endswith("2 expectations: all turns passed, 1 fault\n")
    assert (suite / "a-notes.json").read_text("utf-8") == '{"note": 1}'


def test_a_file_of_expectations_with_none_in_it_fails_the_suite(suite: Path) -> None:
    (suite / "one.expect.md").write_text("# Trip\n\nIt should find the town.\n", "utf-8")
    out = claw("sessions", "test", str(suite), code=1)
    assert "FAIL  one.expect.md holds no expectation" in out
    assert out.endswith("no turn was run, 1 fault\n")


def test_the_model_of_a_suite_is_that_of_the_home_whatever_its_files_name(
    suite: Path, fake_ollama: FakeOllama
) -> None:
    file = suite / "one.json"
    text = file.read_text("utf-8")
    assert '"ollama/fake:1b"' in text
    file.write_text(text.replace('"ollama/fake:1b"', '"openai/elsewhere"'), "utf-8")
    fake_ollama.say(LIST_FILES, "Other words.", "Bye.")
    assert "all turns passed" in claw("sessions", "test", str(suite))
