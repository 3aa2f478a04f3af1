"""The history where a command, git or another program has done what nobody would expect."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from openclaw.errors import OpenclawError
from openclaw.history.history import COMMITTING, History
from openclaw.history.record import place_of
from openclaw.storage.safe_open import NotOrdinary, read_plain_file
from tests.fakes.git_home import GitTalk, git, git_talk, identity, snapshot, waits
from tests.fakes.needs import needs_git, posix
from tests.fakes.talk import call, notices, talk

pytestmark = needs_git
A, B = "workspace/a.md", "workspace/b.md"


@pytest.fixture
def it(tmp_path: Path) -> GitTalk:
    return git_talk(tmp_path / "home")


# -------- what a command leaves


@posix
@pytest.mark.parametrize("leaf", [True, False], ids=["file", "folder"])
def test_nothing_is_written_or_removed_through_a_link_that_a_command_left(
    leaf: bool, it: GitTalk, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "keys").write_text("the user's own")
    it.shell("mkdir workspace/d; echo EVIL > workspace/d/keys")
    leads = f"ln -sf {outside}/keys workspace/d/keys"
    it.shell(leads if leaf else f"rm -r workspace/d; ln -s {outside} workspace/d")
    for _ in range(2):
        it.talk.app.undo(scope="files")
        assert (outside / "keys").read_text() == "the user's own"


@posix
def test_what_a_link_leads_to_is_not_read_into_the_history(it: GitTalk, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("never to be seen")
    it.write(A, "one\n")
    it.shell(f"rm {A}; ln -s {tmp_path}/secret {A}")
    every = it.git("cat-file", "--batch-all-objects", "--batch")
    assert "never to be seen" not in every


@posix
def test_a_pipe_in_place_of_a_file_holds_nobody_up(it: GitTalk) -> None:
    it.write(A, "one\n")
    it.shell(f"rm {A}; mkfifo {A}")
    assert it.talk.app.undo(scope="files").missing == (A,)
    assert stat.S_ISFIFO((it.root / A).lstat().st_mode)


@posix
def test_only_plain_files_are_looked_at(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "d")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name in ("link/f", "link", "zero"):
        with pytest.raises(NotOrdinary):
            read_plain_file(tmp_path, name, 10)
    found = read_plain_file(tmp_path, "d/f", 10)
    assert found is not None and found[0] == b"x"
    too_long = read_plain_file(tmp_path, "d/f", 0)
    assert too_long is not None and too_long[0] is None
    assert (
        read_plain_file(tmp_path, "d", 10)
        is read_plain_file(tmp_path, "d/f/g", 10)
        is read_plain_file(tmp_path, "x/y", 9)
        is None
    )


@posix
def test_a_file_of_which_not_all_was_kept_is_named_at_once_and_left_by_undo(
    it: GitTalk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openclaw.tools.shell.home_state.LARGEST", 10)
    (it.root / A).write_text("a line of the user\nand another\n")
    said = it.shell(f"sed -i 1d {A}")
    assert f"undo leaves it alone: {A}" in notices(said)
    taken = it.talk.app.undo(scope="files")
    assert taken.missing == (A,) and (it.root / A).read_text() == "and another\n"


@posix
def test_whether_a_file_can_be_run_goes_back_and_forth(it: GitTalk) -> None:
    it.write(A, "#!/bin/sh\n")
    it.shell(f"chmod +x {A}")
    assert it.git("ls-tree", "HEAD", A).startswith("100755")
    it.talk.app.undo(scope="files")
    assert not (it.root / A).stat().st_mode & 0o111
    it.talk.app.redo()
    assert (it.root / A).stat().st_mode & 0o111
    it.shell(f"rm {A}")
    it.talk.app.undo(scope="files")
    assert (it.root / A).stat().st_mode & 0o111


@posix
def test_copies_are_for_this_user_alone(tmp_path: Path) -> None:
    home = talk(tmp_path / "home")
    home.say("Write.", call("write_file", path=A, content="x\n"), "Done.")
    assert not place_of(home.app.home).stat().st_mode & 0o077


# -------- an undo that cannot be


@posix
@pytest.mark.skipif(os.name != "nt" and os.geteuid() == 0, reason="root may write anything")
def test_an_undo_that_cannot_write_leaves_all_as_it_was(it: GitTalk) -> None:
    two = (call("write_file", path=A, content="1\n"), call("write_file", path=B, content="1\n"))
    it.talk.say("Both.", *two, "Done.")
    before = snapshot(it.root)
    (it.root / B).parent.chmod(0o500)
    try:
        with pytest.raises(OpenclawError, match="read-only"):
            it.talk.app.undo()
    finally:
        (it.root / B).parent.chmod(0o755)
    assert snapshot(it.root) == before and not it.talk.app.history.unfinished()


@posix
def test_a_link_put_in_the_way_during_an_undo_undoes_the_undo(
    it: GitTalk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    it.write(A, "1\n")
    it.write(B, "1\n")
    from openclaw.history import record

    real = record.Journal.intend

    def intend(self: record.Journal, path: str, *rest: tuple[bytes | None, bool]) -> int:
        if path == B:
            (it.root / B).unlink()
            (it.root / B).symlink_to(tmp_path / "elsewhere")
        return real(self, path, *rest)

    monkeypatch.setattr(record.Journal, "intend", intend)
    with pytest.raises(OpenclawError, match="link"):
        it.talk.app.undo(2, scope="files")
    assert (it.root / A).read_text() == "1\n" and not it.talk.app.history.unfinished()


# -------- what the user does in git


def test_turns_from_before_there_were_commits_are_not_replayed_over_the_users(
    tmp_path: Path,
) -> None:
    it = GitTalk(talk(tmp_path / "home"))
    it.write(A, "one\n")
    (it.root / A).write_text("mine\n")
    git(it.root, "init", "-q")
    identity(it.root)
    git(it.root, "add", "-A")
    git(it.root, "commit", "-qm", "my own first")
    it.write(B, "two\n")
    assert it.log() == [f"Write {B}.", "my own first"] and it.dirty() == ""
    assert (it.root / A).read_text() == "mine\n" and it.blob(A) == b"mine\n"
    assert [turn.subject for turn in it.talk.app.history.turns()] == [
        f"Write {B}.",
        f"Write {A}.",
    ]


def test_an_intent_to_add_does_not_become_a_deletion(it: GitTalk) -> None:
    (it.root / A).write_text("mine\n")
    it.git("add", "-N", A)
    it.append(A, "two\n")
    identity(it.root)
    it.git("commit", "--allow-empty", "-qm", "something else")
    assert it.blob(A) == b"mine\ntwo\n" and it.dirty() == ""


def test_turns_that_came_with_a_merge_are_in_the_history(it: GitTalk, tmp_path: Path) -> None:
    identity(it.root)
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(it.root), str(other))
    git_talk(other).write(B, "elsewhere\n")
    it.write(A, "here\n")
    it.git("pull", "-q", "--no-rebase", str(other), "HEAD")
    assert {turn.subject for turn in it.talk.app.history.turns()} == {
        f"Write {A}.",
        f"Write {B}.",
    }


def test_a_commit_of_others_whose_number_is_none_leaves_the_history_readable(it: GitTalk) -> None:
    identity(it.root)
    trailers = f"Openclaw: turn\nOpenclaw-Id: 0a1b2c3d\nOpenclaw-Turn: {'1' * 5000}\n"
    it.git("commit", "--quiet", "--allow-empty", "-m", f"Odd\n\n{trailers}")
    found = it.talk.app.history.find("0a1b2c3d")
    assert (found.subject, found.number) == ("Odd", 0)


def test_a_turn_that_was_picked_onto_another_branch_is_one_turn(it: GitTalk) -> None:
    identity(it.root)
    it.git("checkout", "-qb", "side")
    it.write(A, "one\n")
    it.git("checkout", "-q", "main")
    (it.root / B).write_text("b\n")
    it.git("add", B)
    it.git("commit", "-qm", "between")
    it.git("cherry-pick", "side")
    it.git("merge", "-q", "--no-edit", "side")
    assert [turn.subject for turn in it.talk.app.history.turns()] == [f"Write {A}."]


@pytest.mark.parametrize("kind", ["fixed", "perl", "extended"])
def test_how_the_user_searches_in_git_changes_nothing(kind: str, it: GitTalk) -> None:
    it.git("config", "grep.patternType", kind)
    it.write(A, "one\n")
    assert [turn.subject for turn in it.talk.app.history.turns()] == [f"Write {A}."]


def test_a_lock_of_a_git_that_was_killed_with_us_is_taken_away(it: GitTalk) -> None:
    note = place_of(it.talk.app.home).parent / COMMITTING
    note.parent.mkdir(parents=True, exist_ok=True)
    note.touch()
    (it.root / ".git" / "index.lock").touch()
    assert not waits(it.write(A, "one\n"))
    assert it.log()[0] == f"Write {A}."


def test_why_a_turn_waits_can_be_asked_later(it: GitTalk) -> None:
    (it.root / ".git" / "MERGE_HEAD").write_text(it.git("rev-parse", "HEAD"))
    it.write(A, "one\n")
    assert "a merge" in it.talk.app.history.waiting
    assert notices(it.append(A, "two\n")).count("not committed yet") == 1, "and is told once a turn"
    (it.root / ".git" / "MERGE_HEAD").unlink()
    assert it.talk.app.history.waiting == ""


def test_nothing_is_committed_while_the_settings_cannot_say_that_it_may_be(it: GitTalk) -> None:
    settings = it.talk.app.home.settings
    settings.write_text("git: {auto_commit: false}\nmode: x\n", "utf-8")
    assert "not committed yet: openclaw.yaml line 2" in waits(it.write(A, "one\n"))
    settings.write_text("git: {auto_commit: true}\n", "utf-8")
    it.write(B, "two\n")
    assert it.log()[:2] == [f"Write {B}.", f"Write {A}."]


def test_a_home_with_a_broken_repository_does_not_commit_to_the_one_around_it(
    tmp_path: Path,
) -> None:
    git(tmp_path, "init", "-q")
    it = GitTalk(talk(tmp_path / "home"))
    (it.root / ".git").mkdir()
    assert "not committed yet" in waits(it.write(A, "one\n"))
    assert git(tmp_path, "count-objects").startswith("0 objects")


# -------- conversations


def test_a_session_that_another_program_replaced_is_not_the_turns_to_take_back(
    it: GitTalk,
) -> None:
    it.write(A, "one\n")
    path = it.root / "sessions" / f"{it.talk.session.id}.json"
    running = it.talk.events("Go on.", call("list_files"), "Gladly.")
    next(running)
    while not it.talk.app.history.unfinished():
        next(running)
    theirs = json.loads(path.read_text("utf-8"))
    theirs["messages"].append({"role": "user", "content": "FROM THE OTHER MACHINE"})
    path.write_text(json.dumps(theirs), "utf-8")
    with pytest.raises(OpenclawError, match="kept as"):
        list(running)
    it.talk.app.undo()
    assert "FROM THE OTHER MACHINE" in path.read_text("utf-8")


def test_a_session_of_a_newer_version_is_left_as_it_is(it: GitTalk) -> None:
    it.write(A, "one\n")
    it.write(B, "two\n")
    path = it.root / "sessions" / f"{it.talk.session.id}.json"
    newer = json.loads(path.read_text("utf-8")) | {"version": 3}
    path.write_text(json.dumps(newer), "utf-8")
    before = path.read_bytes()
    taken = it.talk.app.undo()
    assert [conflict.path for conflict in taken.conflicts] == [f"sessions/{path.name}"]
    it.talk.app.undo(keep=True)
    assert path.read_bytes() == before and not (it.root / B).exists()


def test_kept_turns_are_in_the_order_of_time_whatever_the_zone(it: GitTalk) -> None:
    (it.root / ".git" / "info" / "exclude").write_text("*.secret\nsessions/\n")
    it.write(A, "one\n")
    it.write("workspace/x.secret", "two\n")
    history: History = it.talk.app.history
    assert next(history.turns()).subject == "Write workspace/x.secret."
