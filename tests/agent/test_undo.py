"""Undo and redo of turns: files and conversation together; later changes are kept."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from openclaw.errors import UsageError
from openclaw.events import Event, ToolEnd
from openclaw.history.history import History
from openclaw.history.rollback import Undo
from openclaw.history.turns import UNKNOWN, Turn, TurnStep
from tests.fakes.git_home import GitTalk, git_talk, snapshot
from tests.fakes.needs import needs_git
from tests.fakes.talk import call

A, B, TODO = "workspace/a.md", "workspace/b.md", "memory/TODO.md"


@pytest.fixture(params=[pytest.param(True, marks=needs_git), False], ids=["git", "copies"])
def it(request: pytest.FixtureRequest, tmp_path: Path) -> GitTalk:
    """A talk in a home that stores turns as commits, and in one that stores copies."""
    if request.param:
        return git_talk(tmp_path / "home")
    from tests.fakes.talk import talk

    return GitTalk(talk(tmp_path / "home"))


def text_of(it: GitTalk, path: str) -> str | None:
    file = it.root / path
    return file.read_text("utf-8") if file.exists() else None


def prompts(it: GitTalk) -> list[str]:
    return [m["content"] for m in it.talk.stored["messages"] if m["role"] == "user"]


# -------- back and forth


def test_files_and_conversation_go_back_together(it: GitTalk) -> None:
    it.write(A, "one\n")
    before = snapshot(it.root)
    it.append(A, "two\n")
    taken = it.talk.app.undo()
    assert snapshot(it.root) == before
    assert [turn.subject for turn in taken.of] == [f"Add to {A}."]
    assert [(f.path, f.action, f.added, f.removed) for f in taken.files] == [(A, "changed", 0, 1)]
    assert taken.messages == 3 and prompts(it) == [f"Write {A}."]


def test_many_steps_back_and_forth_end_where_they_began(it: GitTalk) -> None:
    states = [snapshot(it.root)]
    for number in range(4):
        it.append(A, f"{number}\n")
        states.append(snapshot(it.root))
    for state in reversed(states[:-1]):
        it.talk.app.undo()
        assert snapshot(it.root) == state
    with pytest.raises(UsageError, match="nothing to undo"):
        it.talk.app.undo()
    for state in states[1:]:
        it.talk.app.redo()
        assert snapshot(it.root) == state
    with pytest.raises(UsageError, match="nothing to redo"):
        it.talk.app.redo()


def test_several_turns_go_back_at_once_and_come_back_at_once(it: GitTalk) -> None:
    for name in (A, B):
        it.write(name, "one\n")
    after = snapshot(it.root)
    taken = it.talk.app.undo(2)
    assert len(taken.of) == 2 and text_of(it, A) is text_of(it, B) is None
    it.talk.app.redo()
    assert snapshot(it.root) == after


def test_what_was_undone_can_be_put_back_after_a_new_turn(it: GitTalk) -> None:
    it.write(A, "one\n")
    it.talk.app.undo()
    it.talk.session = it.talk.app.sessions.new(None)
    it.write(B, "two\n")
    assert not it.talk.app.redo().conflicts
    assert text_of(it, A) == "one\n" and text_of(it, B) == "two\n"


def test_a_redone_turn_can_be_undone_again(it: GitTalk) -> None:
    it.write(A, "one\n")
    for _ in range(3):
        it.talk.app.undo()
        assert text_of(it, A) is None
        it.talk.app.redo()
        assert text_of(it, A) == "one\n"


def test_the_history_shows_undone_turns(it: GitTalk) -> None:
    it.write(A, "one\n")
    it.append(A, "two\n")
    it.talk.app.undo()
    kinds = [(turn.kind, turn.undone) for turn in it.talk.app.history.turns()]
    assert kinds == [("undo", None), ("turn", "all"), ("turn", None)]
    it.talk.app.redo()
    kinds = [(turn.kind, turn.undone) for turn in it.talk.app.history.turns()]
    assert kinds == [("redo", None), ("undo", "all"), ("turn", None), ("turn", None)]


# -------- only a part


def test_only_the_files_go_back_and_the_conversation_stays(it: GitTalk) -> None:
    it.write(A, "one\n")
    assert it.talk.app.undo(scope="files").messages == 0
    assert text_of(it, A) is None and prompts(it) == [f"Write {A}."]
    it.talk.app.undo(scope="talk")
    assert not (it.root / "sessions" / f"{it.talk.session.id}.json").exists()
    with pytest.raises(UsageError):
        it.talk.app.undo()


def test_only_the_conversation_goes_back_and_the_files_stay(it: GitTalk) -> None:
    it.write(A, "one\n")
    it.append(A, "two\n")
    it.talk.app.undo(scope="talk")
    assert text_of(it, A) == "one\ntwo\n" and prompts(it) == [f"Write {A}."]


def test_turns_of_one_session_go_back_while_a_later_one_of_another_stays(it: GitTalk) -> None:
    it.write(A, "one\n")
    mine, it.talk.session = it.talk.session, it.talk.app.sessions.new(None)
    it.write(B, "two\n")
    it.talk.app.undo(session=mine.id)
    assert text_of(it, A) is None and text_of(it, B) == "two\n"


# -------- what came later


def test_an_edit_of_the_user_elsewhere_in_the_file_is_kept(it: GitTalk) -> None:
    it.write(A, "one\ntwo\nthree\n")
    it.append(A, "four\n")
    (it.root / A).write_text("ONE\ntwo\nthree\nfour\n")
    taken = it.talk.app.undo()
    assert text_of(it, A) == "ONE\ntwo\nthree\n" and taken.merged == (A,) and not taken.conflicts
    it.talk.app.redo()
    assert text_of(it, A) == "ONE\ntwo\nthree\nfour\n"


def test_a_line_that_the_user_added_right_below_is_kept(it: GitTalk) -> None:
    it.write(A, "one\n")
    it.append(A, "two\n")
    (it.root / A).write_text("one\ntwo\nmine\n")
    assert not it.talk.app.undo().conflicts
    assert text_of(it, A) == "one\nmine\n"


def test_a_line_that_the_user_changed_too_stops_the_undo_and_is_shown(
    it: GitTalk,
) -> None:
    it.write(A, "one\ntwo\n")
    it.write(B, "other\n")
    it.talk.say("Edit.", call("edit_file", path=A, find="two", replace="TWO"), "Done.")
    (it.root / A).write_text("one\nmine\n")
    before = snapshot(it.root)
    taken = it.talk.app.undo()
    assert snapshot(it.root) == before and taken.turn is None
    assert [conflict.path for conflict in taken.conflicts] == [A]
    assert taken.conflicts[0].text.splitlines() == [
        "<<<<<<< now", "mine", "||||||| after the turn", "TWO", "=======", "two",
        ">>>>>>> before the turn",
    ]  # fmt: skip


def test_the_rest_goes_back_when_the_user_keeps_his_lines(it: GitTalk) -> None:
    it.write(A, "one\ntwo\n")
    edit = call("edit_file", path=A, find="two", replace="TWO")
    it.talk.say("Edit both.", edit, call("write_file", path=B, content="new\n"), "Done.")
    (it.root / A).write_text("one\nmine\n")
    taken = it.talk.app.undo(keep=True)
    assert text_of(it, A) == "one\nmine\n" and text_of(it, B) is None and taken.conflicts


def test_a_new_file_that_the_user_went_on_with_is_a_conflict(it: GitTalk) -> None:
    it.write(A, "one\n")
    (it.root / A).write_text("one\nmine\n")
    assert [conflict.path for conflict in it.talk.app.undo().conflicts] == [A]
    assert text_of(it, A) == "one\nmine\n"


def test_a_file_that_the_user_removed_stays_removed(it: GitTalk) -> None:
    it.write(A, "one\n")
    it.append(A, "two\n")
    (it.root / A).unlink()
    assert it.talk.app.undo().merged == (A,)
    assert text_of(it, A) is None


def test_a_turn_that_the_user_took_back_by_hand_counts_as_undone(it: GitTalk) -> None:
    it.write(A, "one\n")
    it.append(A, "two\n")
    (it.root / A).write_text("one\n")
    it.talk.app.undo(scope="files")
    assert text_of(it, A) == "one\n"
    it.talk.app.undo(scope="files")
    assert text_of(it, A) is None


def test_a_turn_in_the_middle_of_a_conversation_leaves_the_later_ones(it: GitTalk) -> None:
    it.write(A, "one\n")
    it.write(B, "two\n")
    first, second = list(it.talk.app.history.turns())[1], next(it.talk.app.history.turns())
    assert (first.number, second.number) == (1, 2)
    it.talk.app.undo(2)
    it.talk.app.redo()
    it.talk.say("And now?", "The sun is out.")
    it.talk.app.undo(scope="talk")
    assert prompts(it) == [f"Write {A}.", f"Write {B}."]


# -------- turns beside each other


def two_turns_at_once(it: GitTalk) -> tuple[Iterator[Event], GitTalk]:
    """An unfinished turn that has added a to-do, and a talk of another session."""
    add = call("todo", action="add", items=["buy milk"])
    running = it.talk.events("Add milk.", add, call("list_files"), "Added.")
    for event in running:
        if isinstance(event, ToolEnd):
            break
    other = git_talk(it.root)
    return running, other


def test_each_of_two_turns_at_once_takes_back_its_own_line(it: GitTalk) -> None:
    running, other = two_turns_at_once(it)
    other.talk.app.settings = it.talk.app.settings
    other.talk.say("Add eggs.", call("todo", action="add", items=["lay eggs"]), "Added.")
    list(running)
    text = text_of(it, TODO) or ""
    assert "buy milk" in text and "lay eggs" in text
    it.talk.app.undo(session=it.talk.session.id)
    assert "buy milk" not in (text_of(it, TODO) or "") and "lay eggs" in (text_of(it, TODO) or "")
    other.talk.app.undo(session=other.talk.session.id)
    assert "lay eggs" not in (text_of(it, TODO) or "")


@needs_git
def test_each_of_two_turns_at_once_is_a_commit_of_its_own_line(tmp_path: Path) -> None:
    it = git_talk(tmp_path / "home")
    running, other = two_turns_at_once(it)
    other.talk.say("Add eggs.", call("todo", action="add", items=["lay eggs"]), "Added.")
    eggs = it.git("show", "HEAD", "--", TODO)
    assert "+- [ ] lay eggs" in eggs and "milk" not in eggs
    list(running)
    assert it.log() == ["Add milk.", "Add eggs.", "A new home"]
    assert "+- [ ] buy milk" in it.git("show", "HEAD", "--", TODO) and it.dirty() == ""


def test_an_edit_of_the_user_in_the_middle_of_a_turn_is_not_the_turns(it: GitTalk) -> None:
    running, _ = two_turns_at_once(it)
    file = it.root / TODO
    file.write_text("# Mine\n\n" + file.read_text("utf-8"))
    list(running)
    it.talk.app.undo()
    assert (text_of(it, TODO) or "").startswith("# Mine\n")
    assert "buy milk" not in (text_of(it, TODO) or "")


# -------- contents that are gone


def test_a_file_without_stored_content_is_named_and_left_alone(tmp_path: Path) -> None:
    turn = Turn("1", steps=(TurnStep(A, UNKNOWN, "x"), TurnStep(B, None, "x")))
    (tmp_path / "workspace").mkdir()
    for path, text in ((A, "now"), (B, "x")):
        (tmp_path / path).write_text(text)
    undoing = Undo(
        tmp_path,
        lambda name: b"x" if name == "x" else None,
        lambda path, base, ours, theirs: None,
    )
    plan = undoing.plan([turn], "all")
    assert [*plan.missing] == [A] and plan.changes == [B] and plan.wanted[B] is None


def test_the_last_turn_is_undone_first_even_when_the_clock_went_back(
    it: GitTalk, monkeypatch: pytest.MonkeyPatch
) -> None:
    it.write(A, "one\n")
    before = time.time_ns() - 30 * 86_400 * 10**9
    monkeypatch.setattr(time, "time_ns", lambda: before)
    it.write(A, "one\ntwo\n")
    it.write(A, "one\ntwo\nthree\n")
    undone = it.talk.app.undo(2)
    assert not undone.conflicts and text_of(it, A) == "one\n"
    it.talk.app.redo()
    assert text_of(it, A) == "one\ntwo\nthree\n"


def test_records_without_git_do_not_grow_without_end(
    it: GitTalk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openclaw.history.history.MAX_KEPT", 3)
    for number in range(5):
        it.append(A, f"{number}\n")
    history: History = it.talk.app.history
    assert len(list(history.turns())) == (5 if history.in_git else 3)
    assert text_of(it, A) == "0\n1\n2\n3\n4\n"
