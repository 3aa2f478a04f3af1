"""`openclaw context --diff`: what changed in the head, and who changed it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from openclaw.cli.commands.context import change_lines
from openclaw.errors import UsageError
from openclaw.inspection.context import HeadChanges, context_report, head_changes
from tests.fakes.files import write_files
from tests.fakes.git_home import GitTalk, git_talk
from tests.fakes.needs import needs_git
from tests.fakes.skill_home import SKILL
from tests.fakes.talk import Talk, answer, call, talk

SOUL = "workspace/SOUL.md"


@pytest.fixture
def it(tmp_path: Path) -> GitTalk:
    made = git_talk(tmp_path / "home")
    made.talk.say("Who are you?", "Claw.")
    return made


def changes(it: Talk) -> HeadChanges:
    return head_changes(it.app, it.session)


def shown(it: Talk) -> str:
    return "\n".join(change_lines(changes(it)))


def add(it: Talk, path: str, line: str) -> None:
    with (it.root / path).open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def commit(it: GitTalk, message: str) -> None:
    """A commit of the user's own."""
    author = ("-c", "user.name=Mira", "-c", "user.email=mira@example.org")
    it.git(*author, "commit", "-qam", message)


@needs_git
def test_nothing_has_changed_at_first(it: GitTalk) -> None:
    assert "nothing has changed in the head since it was sent" in shown(it.talk)


@needs_git
def test_a_turn_that_changed_a_file_of_the_head_is_named(it: GitTalk) -> None:
    it.append("workspace/USER.md", "- Mira sails.")
    told = shown(it.talk)
    turn = it.talk.app.history.find()
    assert f"by turn {turn.id}, " in told
    assert f"{it.talk.session.id}:2: Add to workspace/USER.md." in told
    assert "+- Mira sails." in told and "--- a/workspace/USER.md" in told


@needs_git
def test_a_commit_of_the_users_is_named(it: GitTalk) -> None:
    add(it.talk, SOUL, "Be brief.")
    commit(it, "A briefer soul")
    told = shown(it.talk)
    head = it.git("rev-parse", "--short=8", "HEAD").strip()
    assert f"commit {head}: A briefer soul" in told and "  by you, " in told
    assert "(the model does not know it yet)" in told


@needs_git
def test_an_edit_that_is_not_committed_yet_is_told_beside_what_is(it: GitTalk) -> None:
    add(it.talk, SOUL, "Be brief.")
    commit(it, "A briefer soul")
    add(it.talk, SOUL, "Be kind.")
    found = changes(it.talk).changes[0]
    assert found.name == "soul" and found.path == SOUL
    newest, older = found.writers
    assert newest is None
    assert older is not None and (older.kind, older.subject) == ("outside", "A briefer soul")


@needs_git
def test_what_was_there_before_the_conversation_is_not_told(tmp_path: Path) -> None:
    it = git_talk(tmp_path / "home")
    add(it.talk, SOUL, "Be brief.")
    commit(it, "A briefer soul")
    it.talk.say("Who are you?", "Claw.")
    add(it.talk, SOUL, "Be kind.")
    assert changes(it.talk).changes[0].writers == (None,)


@needs_git
def test_an_edit_that_a_turn_has_told_the_model_is_marked_so(it: GitTalk) -> None:
    add(it.talk, SOUL, "Be brief.")
    it.talk.say("Hello?", "Hello.")
    assert [change.told for change in changes(it.talk).changes] == [True]
    add(it.talk, SOUL, "Be kind.")
    assert [change.told for change in changes(it.talk).changes] == [False]


@needs_git
def test_an_edit_that_was_taken_back_is_none(it: GitTalk) -> None:
    it.append("workspace/USER.md", "- Mira sails.")
    it.talk.app.undo()
    it.talk.app.sessions.refresh(it.talk.session)
    assert changes(it.talk).changes == ()


@needs_git
def test_a_removed_file_is_a_change(it: GitTalk) -> None:
    (it.root / SOUL).unlink()
    found = changes(it.talk).changes[0]
    assert (found.name, found.after, found.writers) == ("soul", "", (None,))


@needs_git
def test_a_comment_in_a_file_is_no_change_of_the_head(it: GitTalk) -> None:
    add(it.talk, SOUL, "<!-- for people only -->")
    assert changes(it.talk).changes == ()


@needs_git
def test_a_new_skill_is_a_change_and_so_is_its_writer(it: GitTalk) -> None:
    write_files(it.root, {"skills/boat/SKILL.md": SKILL.format("boat")})
    assert "  by an edit that no turn or commit holds yet" in shown(it.talk)
    it.git("add", "skills")
    commit(it, "A boat")
    told = shown(it.talk)
    assert "+- boat: Does boat. Use when asked." in told and ": A boat" in told
    assert "they can be used now, this list changes with the next conversation" in told


def test_without_a_history_the_change_is_shown_all_the_same(tmp_path: Path) -> None:
    it = talk(tmp_path / "home")
    it.say("Who are you?", "Claw.")
    add(it, SOUL, "Be brief.")
    assert "+Be brief." in shown(it)


def test_tools_that_came_and_went_are_named(tmp_path: Path) -> None:
    it = talk(tmp_path / "home")
    it.say("Who are you?", "Claw.")
    kept = it.session.extra["head"]
    names = [name for name in kept["tools"] if name != "todo"]
    it.session.extra["head"] = {**kept, "tools": [*names, "old_tool"]}
    found = changes(it)
    assert found.tools == ("+todo", "-old_tool")
    assert "tools: +todo, -old_tool" in shown(it)
    assert not found.described  # the specs themselves are those that were sent


def test_a_model_that_lists_its_tools_in_the_head_has_none_beside_it(tmp_path: Path) -> None:
    it = talk(tmp_path / "home", protocol="json")
    it.say("Who are you?", answer("Claw.", "json"))
    assert it.session.extra["head"]["tools"] == []
    assert changes(it).changes == () and not changes(it).tools


def test_options_that_are_not_given_are_those_of_the_last_turn(tmp_path: Path) -> None:
    it = talk(tmp_path / "home", mode="full")
    add(it, "memory/MEMORY.md", "- Mira sails.")
    it.app.use_memory, it.app.ask_user = False, lambda question: "no"
    it.say("Who are you?", "Claw.")
    it.app.mode, it.app.use_memory, it.app.ask_user = "read-only", True, None
    now = head_changes(it.app, it.session)
    assert now.tools and [change.name for change in now.changes] == ["memory"]
    then = head_changes(it.app, it.session, ())
    assert (then.tools, then.described, then.changes) == ((), False, ())
    assert [c.name for c in head_changes(it.app, it.session, ["memory"]).changes] == ["memory"]
    assert it.app.mode == "read-only"


def test_a_head_that_is_no_longer_kept_is_told(tmp_path: Path) -> None:
    it = talk(tmp_path / "home")
    it.say("Who are you?", "Claw.")
    shutil.rmtree(it.root / ".openclaw" / "cache" / "heads")
    found = changes(it)
    assert not found.known and not found.changes
    assert "no longer kept" in shown(it)


def test_a_session_without_a_turn_is_refused(tmp_path: Path) -> None:
    it = talk(tmp_path / "home")
    with pytest.raises(UsageError, match="nothing was sent"):
        changes(it)


def test_to_look_changes_nothing(tmp_path: Path) -> None:
    it = talk(tmp_path / "home")
    it.say("Write.", call("write_file", path="workspace/a.md", content="a"), "Written.")
    add(it, SOUL, "Be brief.")
    before = it.stored
    shown(it)
    context_report(it.app, it.session, "Hello?")
    assert it.stored == before and len(it.requests) == 2


@needs_git
def test_as_json_each_change_has_its_diff_and_its_writers(it: GitTalk) -> None:
    it.append("workspace/USER.md", "- Mira sails.")
    add(it.talk, SOUL, "Be brief.")
    shape = json.loads(json.dumps(changes(it.talk).as_json()))
    soul, user = shape["changes"]
    assert (soul["name"], soul["by"], soul["told"]) == ("soul", [None], False)
    assert user["by"][0]["id"] == it.talk.app.history.find().id
    assert user["diff"].endswith("+- Mira sails.\n")
    assert shape["tools_changed"] is False
