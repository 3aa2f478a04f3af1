"""The next process finishes the work of a killed one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from openclaw.agent.agent import Agent
from openclaw.errors import OpenclawError
from openclaw.history.record import LINES, Journal, new_turn, place_of, read, unreadable
from openclaw.history.turns import Kind, Turn, TurnStep
from tests.fakes.git_home import GitTalk, git_talk
from tests.fakes.needs import needs_git, posix
from tests.fakes.talk import call

pytestmark = needs_git
A = "workspace/a.md"


@pytest.fixture
def it(tmp_path: Path) -> GitTalk:
    return git_talk(tmp_path / "home")


def kill_after_begin(it: GitTalk, kind: Kind = "turn", of: tuple[str, ...] = ()) -> Journal:
    """Return the record of an operation that was killed just after it began."""
    turn = new_turn("Broken off.", kind, session=it.talk.session.id, number=2, model="m", of=of)
    files = it.talk.app.sessions.files_of(it.talk.session.id)
    return Journal.begin(it.talk.app.home, turn, talk=files)


def again(it: GitTalk) -> Agent:
    """Open the app of the next process."""
    return git_talk(it.root).talk.app


def test_without_an_unfinished_record_nothing_is_done(it: GitTalk) -> None:
    it.write(A, "one\n")
    assert again(it).recover() == [] and not [*place_of(it.talk.app.home).iterdir()]


def test_a_turn_that_was_broken_off_is_committed_with_what_it_had_done(it: GitTalk) -> None:
    it.write(A, "one\n")
    journal = kill_after_begin(it)
    journal.writes(it.root / A, b"one\n", b"two\n")
    (it.root / A).write_bytes(b"two\n")
    news = again(it).recover()
    assert "interrupted" in news[0] and it.log()[0] == "Broken off." and it.dirty() == ""
    assert it.git("log", "-1", "--format=%(trailers:key=Openclaw,valueonly)").strip() == (
        "interrupted"
    )
    again(it).undo()
    assert (it.root / A).read_bytes() == b"one\n"


def test_a_write_that_did_not_happen_is_not_committed(it: GitTalk) -> None:
    it.write(A, "one\n")
    journal = kill_after_begin(it)
    journal.writes(it.root / A, b"one\n", b"two\n")
    again(it).recover()
    assert it.log() == [f"Write {A}.", "A new home"] and it.dirty() == ""


def test_a_call_that_was_begun_is_marked_in_the_conversation(it: GitTalk) -> None:
    it.write(A, "one\n")
    journal = kill_after_begin(it)
    journal.call("c1", "read_file", {"path": A})
    journal.ended("c1", "one", True)
    journal.call("c2", "run_shell", {"command": "sleep 9"})
    again(it).recover()
    last = it.talk.stored["messages"][-1]
    assert [(use["tool"], use["output"], use["ok"]) for use in last["tool_calls"]] == [
        ("read_file", "one", True),
        ("run_shell", "(interrupted)", False),
    ]
    assert it.dirty() == ""


def test_a_recovery_that_was_killed_marks_a_call_once(it: GitTalk) -> None:
    it.write(A, "one\n")
    journal = kill_after_begin(it)
    journal.call("c1", "run_shell", {"command": "sleep 9"})
    kept = (journal.record.folder / LINES).read_bytes()
    again(it).recover()
    messages = it.talk.stored["messages"]
    journal.record.folder.mkdir(exist_ok=True)
    (journal.record.folder / "running").touch()
    (journal.record.folder / LINES).write_bytes(kept)
    assert "interrupted" in again(it).recover()[0]
    assert it.talk.stored["messages"] == messages


def test_the_rest_of_a_removed_record_is_removed_with_the_next(it: GitTalk) -> None:
    place = place_of(it.talk.app.home)
    left = place.parent / "dropped" / "00000000000000000001-0a0a0a0a"
    left.mkdir(parents=True)
    (left / "running").touch()
    it.write(A, "one\n")
    assert [*place.iterdir()] == [] and not left.parent.exists()


def test_calls_of_a_saved_message_are_not_put_in_twice(it: GitTalk) -> None:
    it.write(A, "one\n")
    messages = len(it.talk.stored["messages"])
    journal = kill_after_begin(it)
    journal.call("c1", "read_file", {"path": A})
    journal.ended("c1", "one", True)
    journal.saved()
    again(it).recover()
    assert len(it.talk.stored["messages"]) == messages


def test_the_conversation_goes_on_after_a_recovery(it: GitTalk) -> None:
    it.write(A, "one\n")
    kill_after_begin(it).call("c1", "read_file", {"path": A})
    it.talk.say("Go on.", "Gladly.")
    assert [m["content"] for m in it.talk.stored["messages"]][-2:] == ["Go on.", "Gladly."]
    assert it.log()[0] == "Go on." and it.dirty() == ""


def test_a_finished_turn_that_was_not_committed_is_committed_by_the_next_start(
    it: GitTalk,
) -> None:
    (it.root / A).write_bytes(b"one\n")
    journal = kill_after_begin(it)
    journal.writes(it.root / A, None, b"one\n")
    journal.finish("done")
    assert again(it).recover() == []
    assert it.log()[0] == "Broken off." and it.dirty() == ""


def test_a_turn_that_still_runs_is_left_alone(it: GitTalk) -> None:
    running = it.talk.events("Go.", call("list_files"), "Gone.")
    next(running)
    while not it.talk.app.history.unfinished():
        next(running)
    assert again(it).recover() == []
    list(running)
    assert it.log()[0] == "Go."


def test_an_undo_that_was_broken_off_is_completed(it: GitTalk) -> None:
    it.write(A, "one\n")
    turn = next(it.talk.app.history.turns())
    (it.root / "workspace" / "b.md").write_bytes(b"old\n")
    journal = kill_after_begin(it, "undo", (turn.id,))
    journal.intend(A, (b"one\n", False), None)
    journal.intend("workspace/b.md", (b"old\n", False), (b"new\n", False))
    journal.record.seal()
    (it.root / A).unlink()
    news = again(it).recover()
    assert "completed" in news[0]
    assert (it.root / "workspace" / "b.md").read_bytes() == b"new\n" and it.dirty() == ""


def test_files_that_the_user_saved_after_the_kill_stay(it: GitTalk) -> None:
    it.write(A, "one\n")
    turn = next(it.talk.app.history.turns())
    journal = kill_after_begin(it, "undo", (turn.id,))
    journal.intend(A, (b"one\n", False), None)
    journal.record.seal()
    (it.root / A).write_bytes(b"mine\n")
    again(it).recover()
    assert (it.root / A).read_bytes() == b"mine\n"


def test_a_line_that_was_cut_off_is_ignored(it: GitTalk) -> None:
    journal = kill_after_begin(it)
    journal.writes(it.root / A, None, b"one\n")
    lines = journal.record.folder / LINES
    whole = read(journal.record.folder).turn.steps
    with lines.open("ab") as file:
        file.write(b'{"path":"works')
    assert read(journal.record.folder).turn.steps == whole == journal.record.turn.steps
    assert len(whole) == 1


@posix
def test_a_record_that_cannot_be_begun_leaves_nothing(it: GitTalk) -> None:
    import resource

    place = place_of(it.talk.app.home)
    allowed = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, allowed[1]))
    try:
        with pytest.raises(OpenclawError, match="larger than this system allows"):
            Journal.begin(it.talk.app.home, Turn("abcd1234"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, allowed)
    assert not it.talk.app.history.has_work() and not [*place.iterdir()]


def test_steps_are_voided_and_replaced_by_their_numbers(it: GitTalk) -> None:
    record = Journal.begin(it.talk.app.home, Turn("abcd1234")).record
    numbers = [record.step(TurnStep(f"workspace/{n}", None, str(n))) for n in range(3)]
    record.void(numbers[1])
    record.swap(numbers[2], TurnStep("workspace/2", None, "x"))
    record.void(numbers[0])
    record.step(TurnStep("workspace/3", None, "3"))
    names = [(step.path, step.after) for step in record.turn.steps]
    assert names == [("workspace/2", "x"), ("workspace/3", "3")]
    assert read(record.folder).turn.steps == record.turn.steps


def test_a_record_of_a_newer_version_is_left_alone(it: GitTalk) -> None:
    folder = place_of(it.talk.app.home) / "1-abcd"
    folder.mkdir(parents=True)
    (folder / LINES).write_text('{"version":9,"id":"abcd"}\n')
    (folder / "running").touch()
    found = [path for path, _ in unreadable(place_of(it.talk.app.home))]
    assert again(it).recover() == [] and found == [folder]
    assert (folder / LINES).exists()


def test_a_record_whose_commit_is_there_already_is_dropped(it: GitTalk, tmp_path: Path) -> None:
    (it.root / A).write_bytes(b"one\n")
    journal = kill_after_begin(it)
    journal.writes(it.root / A, None, b"one\n")
    journal.finish("done")
    kept = shutil.copytree(journal.record.folder, tmp_path / "record")
    again(it).recover()
    shutil.copytree(kept, journal.record.folder)
    again(it).recover()
    assert it.log() == ["Broken off.", "A new home"] and not journal.record.folder.exists()


def test_an_undo_that_had_written_nothing_is_dropped(it: GitTalk) -> None:
    it.write(A, "one\n")
    turn = next(it.talk.app.history.turns())
    journal = kill_after_begin(it, "undo", (turn.id,))
    journal.intend(A, (b"one\n", False), None)
    assert again(it).recover() == []
    assert (it.root / A).read_bytes() == b"one\n"
    assert next(it.talk.app.history.turns()).undone is None
