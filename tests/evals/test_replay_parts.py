"""The parts of a replay: results that are played back, words that differ, what a file once held."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from openclaw.agent.agent import Agent
from openclaw.cli.commands.sessions.replay import turn_lines
from openclaw.config import Settings
from openclaw.evals.playback import NotRecorded, Playback
from openclaw.evals.recorded_turns import RecordedTurn, find_first_change, recorded_turns
from openclaw.evals.replay import count_unchanging, cues_from, real_calls
from openclaw.evals.replay_compare import ReplayedTurn, ReplayResult, TurnDifference, word_diff
from openclaw.messages import Entry, ToolCall, ToolUse
from openclaw.storage.home import Home
from openclaw.tools.toolbox import Toolbox
from tests.cli.test_render import Terminal
from tests.fakes.needs import needs_git
from tests.fakes.talk import answer, call, new_home, new_toolbox, talk


@pytest.fixture
def box(tmp_path: Path) -> Toolbox:
    app = Agent.open(Home(new_home(tmp_path / "home")), Settings(recall="tool"))
    return new_toolbox(app)


def use(tool: str, output: str, ok: bool = True, **given: object) -> ToolUse:
    return ToolUse("call_1", tool, given, output, ok)


def asked(tool: str, **given: object) -> ToolCall:
    return ToolCall("id0", tool, given)


def test_results_come_in_their_order_each_once_whatever_the_order_of_arguments(
    box: Toolbox,
) -> None:
    first, second = (use("read_file", text, path="a.md", lines="1") for text in ("one", "two"))
    player = Playback(box, [first, second, use("list_files", "", ok=False)])
    assert player.run(asked("read_file", lines="1", path="a.md")).text == "one"
    assert player.run(asked("list_files")).ok is False
    assert player.run(asked("read_file", path="a.md", lines="1")).text == "two"
    with pytest.raises(NotRecorded) as raised:
        player.run(asked("read_file", path="a.md", lines="1"))
    assert raised.value.call.name == "read_file"


def test_only_changing_calls_that_succeeded_count_as_changes(box: Toolbox) -> None:
    uses = [
        use("list_files", "a.md"),
        use("write_file", "no", ok=False, path="a.md", content="x"),
        use("write_file", "yes", path="b.md", content="x"),
    ]
    player = Playback(box, uses)
    assert [player.run(asked(u.tool, **u.input)).ok for u in uses] == [True, False, True]
    assert player.changes == 1
    assert player.specs() == box.specs()


def test_a_secret_in_a_call_is_found_under_its_name(box: Toolbox) -> None:
    player = Playback(box, [use("read_file", "x", path="NAME")], mask=lambda t: t.upper())
    assert player.run(asked("read_file", path="name")).text == "x"


def test_what_the_loop_said_of_a_repeated_call_is_no_result_of_a_tool() -> None:
    told = use("todo", "Already done in this turn; the result was:\nx\nDo not call it again.")
    recorded = RecordedTurn(1, Entry("user", "x"), (Entry("assistant", "", tool_calls=(told,)),))
    assert real_calls(recorded) == []


def test_changes_before_a_claim_that_was_sent_back_changed_nothing(box: Toolbox) -> None:
    write = use("write_file", "same as before", path="a.md", content="x")
    sent_back = Entry("assistant", "I wrote it.", hint='Nothing was changed in this turn, yet "')
    said = (Entry("assistant", "", tool_calls=(write,)), sent_back)
    player = Playback(box, [write])
    assert count_unchanging(RecordedTurn(1, Entry("user", "x"), said), player) == 1
    assert count_unchanging(RecordedTurn(1, Entry("user", "x"), said[:1]), player) == 0


def test_cues_come_back_as_they_were_noted() -> None:
    noted = {"named": ["a.md"], "asks": True, "errands": {"urls": ["x"], "new": 1}, "newer": 2}
    seen = cues_from(noted)
    assert (seen.named, seen.asks, seen.errands.urls) == (("a.md",), True, ("x",))
    assert cues_from({}) == type(seen)()


def test_two_texts_are_compared_word_by_word() -> None:
    assert list(word_diff("Tea at four.", "Tea at five o'clock.")) == [
        ("same", "Tea at "),
        ("then", "four"),
        ("now", "five o'clock"),
        ("same", "."),
    ]
    assert list(word_diff("", "")) == []
    pieces = list(word_diff("a b c", "b c d"))
    assert "".join(t for kind, t in pieces if kind != "now") == "a b c"
    assert "".join(t for kind, t in pieces if kind != "then") == "b c d"


@pytest.mark.parametrize("in_git", [False, pytest.param(True, marks=needs_git)])
def test_a_file_is_found_as_it_was_when_a_turn_began(tmp_path: Path, in_git: bool) -> None:
    from openclaw.storage.new_home import create_home

    if in_git:
        create_home(tmp_path / "home")
    it = talk(tmp_path / "home")
    for text in ("one", "two"):
        write = call("write_file", path="workspace/a.md", content=text)
        it.say(f"Write {text} over all of it.", write, answer("Done."))
    turns = recorded_turns(it.app.sessions, it.session)
    past = [*it.app.history.turns()]

    def content(path: str, turn: RecordedTurn) -> bytes | None:
        step = find_first_change(past, path, it.session.id, turn)
        assert step is not None
        return it.app.history.read(step.before)

    assert content("workspace/a.md", turns[0]) is None
    assert content("workspace/a.md", turns[1]) == b"one\n"
    assert find_first_change(past, "workspace/never.md", it.session.id, turns[0]) is None
    later = replace(turns[1], number=3, user=replace(turns[1].user, at="2099-01-01T00:00:00"))
    assert find_first_change(past, "workspace/a.md", it.session.id, later) is None


def test_on_a_terminal_words_are_coloured_and_what_a_model_wrote_is_not_obeyed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer_differs = TurnDifference(
        "answer", "answer", pieces=(("then", "tea"), ("now", "\x1b[2J"))
    )
    turn = ReplayedTurn(
        RecordedTurn(1, Entry("user", "x"), ()), ReplayResult((), ""), (answer_differs,)
    )
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "xterm")
    coloured = "\n".join(turn_lines(turn, set()))
    assert "\x1b[31m[-tea-]\x1b[m\x1b[32m{+\u241b[2J+}\x1b[m" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    assert "[-tea-]{+\u241b[2J+}" in "\n".join(turn_lines(turn, set()))


def test_the_same_diff_of_the_head_is_shown_once() -> None:
    lines = ("@@ workspace/SOUL.md @@", "-Be loud.", "+", "+Be brief.")
    head = TurnDifference("head", "workspace/SOUL.md", lines)
    turn = ReplayedTurn(RecordedTurn(1, Entry("user", "x"), ()), ReplayResult((), ""), (head,))
    told: set[tuple[str, ...]] = set()
    first, second = ("\n".join(turn_lines(turn, told)) for _ in range(2))
    assert "-Be loud.\n" in first and "+Be brief." in first and "@@" not in first
    assert "workspace/SOUL.md, as above" in second and "loud" not in second
