"""undo, redo, log, diff, show and blame, as a user types them: in a shell and in a talk."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from openclaw.cli.chat.chat import Chat
from openclaw.cli.formatting import colour_diff
from openclaw.cli.history_lines import state_words
from openclaw.cli.main import run
from openclaw.history.turns import Turn
from tests.fakes.command import CommandLine
from tests.fakes.git_home import GitTalk, git_talk, identity
from tests.fakes.needs import needs_git
from tests.fakes.talk import Talk, answer, call, talk
from tests.fakes.typed_chat import type_into

A = "workspace/a.md"
claw = CommandLine()


@pytest.fixture
def it(tmp_path: Path) -> GitTalk:
    """A talk in a home without git; `tests/agent/test_undo.py` has both kinds of homes."""
    return GitTalk(talk(tmp_path / "home"))


def newest(it: GitTalk) -> Turn:
    return it.talk.app.history.find()


# -------- undo and redo


def test_undo_tells_what_it_took_back_and_redo_puts_it_back(it: GitTalk) -> None:
    it.write(A, "one\n")
    turn = newest(it)
    out = claw("undo")
    assert claw.err == ""
    lines = out.splitlines()
    assert lines[0].startswith(f"{turn.id}  2") and lines[0].endswith(f"Write {A}.")
    assert lines[1:] == [
        f"  {A} created (+1 -0)" if "created" in lines[1] else f"  {A} deleted (+0 -1)",
        "  3 messages of the conversation",
        "taken back; openclaw redo puts it back",
    ]
    assert not (it.root / A).exists() and not list((it.root / "sessions").glob("*.json"))
    out = claw("redo")
    assert "put back; openclaw undo takes it back" in out
    assert (it.root / A).read_text() == "one\n"
    assert len(it.talk.stored["messages"]) == 3


def test_more_turns_than_there_are_take_a_yes(it: GitTalk) -> None:
    it.write(A, "one\n")
    first = it.talk.session.id
    it.talk.session = it.talk.app.sessions.new()
    it.append(A, "two\n")
    claw("todo", "add", "buy milk")
    assert claw("undo", "999", code=2) == ""
    assert (
        "only 3 turns to undo, of 2 conversations. Take all" in claw.err and "add --yes" in claw.err
    )
    assert (it.root / A).read_text() == "one\ntwo\n"
    out = claw("undo", "999", "--yes")
    assert not (it.root / A).exists()
    assert f"Write {A}.  ({first})" in out and f"({it.talk.session.id})" in out
    assert "todo add buy milk  (a command)" in out and "messages of 2 conversations" in out
    assert "nothing to undo" in claw.error("undo", "999", code=2)
    assert "messages of 2 conversations" in claw("redo")
    claw("undo", "3")
    claw("todo", "add", "buy milk")
    assert "There is only 1 turn to undo. Take it back?" in claw.error("undo", "2", code=2)


def test_only_the_named_conversation_is_taken_back(it: GitTalk) -> None:
    it.write(A, "one\n")
    first = it.talk.session.id
    it.talk.session = it.talk.app.sessions.new()
    it.write("workspace/b.md", "two\n")
    claw("undo", "--session", first)
    assert not (it.root / A).exists() and (it.root / "workspace" / "b.md").exists()
    assert "nothing to undo" in claw.error("undo", "--session", first, code=2)
    claw("redo", "--session", first)  # the session is gone, its name is known
    assert (it.root / A).exists()
    claw("undo", "--session", "nonsense", code=2)


def test_files_or_the_talk_alone_are_taken_back(it: GitTalk) -> None:
    it.write(A, "one\n")
    it.append(A, "two\n")
    said = it.talk.stored["messages"]
    out = claw("undo", "--files")
    assert "messages" not in out
    assert (it.root / A).read_text() == "one\n" and it.talk.stored["messages"] == said
    out = claw("undo", "--talk")
    assert "created" not in out and "changed" not in out and "3 messages" in out
    assert len(it.talk.stored["messages"]) < len(said)
    claw("undo", "--talk", "--files", code=2)
    claw("redo", "2")
    assert (it.root / A).read_text() == "one\ntwo\n" and it.talk.stored["messages"] == said


def test_nothing_to_take_back_says_so(it: GitTalk) -> None:
    for verb in ("undo", "redo"):
        assert claw(verb, code=2) == "" and f"there is nothing to {verb}" in claw.err
    claw("undo", "0", code=2)
    claw("undo", "x", code=2)


def test_a_turn_that_broke_the_settings_is_found_and_taken_back(it: GitTalk) -> None:
    settings = it.talk.app.home.settings
    settings.write_text("model: auto\n", "utf-8")
    it.talk.app.mode = "full"
    broken = call("edit_file", path=settings.name, find="auto", replace="[")
    it.talk.say("Change the model.", broken, "It is changed.")
    for words in (["log"], ["show"], ["diff"], ["blame", settings.name], ["why"]):
        assert claw(*words)
        assert "openclaw.yaml line 1: not YAML" in claw.err and "default settings" in claw.err
    claw("undo")
    assert settings.read_text("utf-8") == "model: auto\n"
    claw("redo")
    assert claw.err == "" and settings.read_text("utf-8") == "model: [\n"


def test_later_edits_of_other_lines_are_kept_and_named(it: GitTalk) -> None:
    it.write(A, "one\ntwo\nthree\nfour\nfive\n")
    edit = call("edit_file", path=A, find="two", replace="TWO")
    it.talk.say("Make two large.", edit, "It is large.")
    (it.root / A).write_text("one\nTWO\nthree\nfour\nmine\n")
    out = claw("undo")
    assert f"{A}: later changes of others are kept" in out
    assert (it.root / A).read_text() == "one\ntwo\nthree\nfour\nmine\n"
    claw("redo")
    assert (it.root / A).read_text() == "one\nTWO\nthree\nfour\nmine\n"


def test_a_conflict_is_shown_and_nothing_is_taken_back(it: GitTalk) -> None:
    it.write(A, "one\ntwo\nthree\nfour\nfive\n")
    both = "one\nTWO\nthree\nfour\nfive\nsix\n"
    it.talk.say("Change it.", call("write_file", path=A, content=both), "Changed.")
    (it.root / A).write_text(both.replace("TWO", "mine\x1b[31m"))
    said = it.talk.stored["messages"]
    assert claw("undo", code=1) == ""
    err = claw.err
    assert f"{A}: the same lines were changed since" in err and "\n  <<<<<<< now\n" in err
    assert err.count("openclaw: ") == 1, "once, not before each line of the diff"
    assert "mine" in err and "TWO" in err and "\x1b" not in err
    assert "nothing was taken back; openclaw undo --keep takes back the rest" in err
    assert (it.root / A).read_text() == both.replace("TWO", "mine\x1b[31m")
    assert it.talk.stored["messages"] == said
    out = claw("undo", "--keep")
    assert "taken back" in out and "these lines stay as they are" in claw.err
    assert (it.root / A).read_text() == "one\nmine\x1b[31m\nthree\nfour\nfive\n"


def test_an_undo_as_json_has_files_and_conflicts(it: GitTalk) -> None:
    it.write(A, "one\n")
    turn = newest(it)
    (it.root / A).write_text("mine\n")
    found = claw.json("undo", code=1)
    assert found["turn"] is None
    assert [conflict["path"] for conflict in found["conflicts"]] == [A]
    (it.root / A).write_text("one\n")
    found = claw.json("undo")
    assert found["turn"] == newest(it).id
    assert [each["id"] for each in found["of"]] == [turn.id]
    assert [each["path"] for each in found["files"]] == [A] and found["messages"] == 3


def test_an_undo_is_a_turn_of_the_log_and_what_it_took_is_marked(it: GitTalk) -> None:
    it.write(A, "one\n")
    it.append(A, "two\n")
    claw("undo", "--files")
    lines = claw("log").splitlines()
    assert lines[0].split() == ["ID", "AT", "KIND", "FILES", "LINES", "SESSION", "SUBJECT"]
    assert " undo " in lines[1] and "+0 -1" in lines[1]
    assert lines[2].endswith(f"Add to {A}.   files undone") or lines[2].endswith("files undone")
    assert "+1 -0" in lines[2] and f"{it.talk.session.id}:2" in lines[2]
    assert "undone" not in lines[3]
    claw("redo")
    kinds = [turn["kind"] for turn in claw.json("log")]
    assert kinds == ["redo", "undo", "turn", "turn"]
    assert claw.json("log")[2]["undone"] is None


def test_words_that_were_said_after_the_undo_stay_when_it_is_put_back(it: GitTalk) -> None:
    it.write(A, "one\n")
    it.talk.say("Second.", answer("Two."))
    it.talk.app.undo()
    it.talk.say("Third.", answer("Three."))
    assert it.talk.app.redo().conflicts == ()
    said = [m["content"] for m in it.talk.stored["messages"] if m["role"] == "user"]
    assert said == [f"Write {A}.", "Second.", "Third."]


def test_a_turn_in_which_the_conversation_was_compacted_can_be_taken_back(it: GitTalk) -> None:
    for number in range(4):
        it.talk.say(f"Number {number}.", answer("Noted."))
    before = it.talk.stored
    list(it.talk.app.compact(it.talk.session))
    assert it.talk.stored["archived"]
    it.talk.say("After it.", answer("Noted."))
    it.there_and_back()
    it.talk.app.undo()
    left = [m["content"] for m in it.talk.stored["messages"] if m["role"] == "user"]
    assert "After it." not in left and "Number 3." in left
    session = it.talk.app.sessions.load(it.talk.session.id)
    assert [e.content for _, e in it.talk.app.sessions.messages(session)] == [
        message["content"] for message in before["messages"]
    ]


# -------- log


def test_the_log_names_kind_files_lines_session_and_prompt(it: GitTalk) -> None:
    it.write(A, "one\ntwo\n")
    it.talk.say("Who are you?\x1b[31m", answer("I am Claw."))
    _, last, first = claw("log").splitlines()
    assert "Who are you?" in last and "\x1b" not in last and "+" not in last
    turn = it.talk.app.history.find(f"{it.talk.session.id}:1")
    assert first.split()[0] == turn.id and "  turn  " in first
    assert "  1      +2 -0  " in first and f"{it.talk.session.id}:1" in first


def test_the_log_can_be_of_a_session_a_file_and_short(it: GitTalk) -> None:
    it.write(A, "one\n")
    first = it.talk.session.id
    it.talk.session = it.talk.app.sessions.new()
    it.write("workspace/b.md", "two\n")
    it.append(A, "two\n")

    def subjects(*words: str) -> list[str]:
        return [turn["subject"] for turn in claw.json("log", *words)]

    assert subjects("--session", first) == [f"Write {A}."]
    assert subjects("--file", A) == [f"Add to {A}.", f"Write {A}."]
    assert subjects("-n", "1") == [f"Add to {A}."]
    assert subjects("--file", "workspace/none.md") == []


def test_an_empty_log_says_so(it: GitTalk) -> None:
    assert claw("log") == "" and claw.err == "openclaw: no turns yet\n"
    assert claw("log", "--file", "a.md") == ""
    assert claw.err == "openclaw: no turn has changed a.md\n"
    assert claw.json("log") == []


def test_what_is_to_be_known_of_a_turn_is_marked() -> None:
    assert state_words(Turn("1")) == ""
    assert state_words(Turn("1", state="interrupted", undone="all")) == "undone, interrupted"
    assert state_words(Turn("1"), "a merge is not finished") == "not committed"
    assert state_words(Turn("1", commit="abc"), "a merge is not finished") == ""


# -------- diff and show


def test_a_diff_is_that_of_git_and_the_conversation_is_one_line(it: GitTalk) -> None:
    it.write(A, "one\ntwo\n")
    it.append(A, "three\n")
    out = claw("diff")
    lines = out.splitlines()
    assert lines[:7] == [
        f"diff --git a/{A} b/{A}",
        *(f"--- a/{A}", f"+++ b/{A}", "@@ -1,2 +1,3 @@", " one", " two", "+three"),
    ]
    assert f"sessions/{it.talk.session.id}.json: 3 messages" in lines
    assert '"role"' not in out and '+      "role": "user",' in claw("diff", "--all")
    assert "+one" in claw("diff", f"{it.talk.session.id}:1")


@needs_git
def test_a_diff_can_be_applied_by_git(it: GitTalk) -> None:
    it.write(A, "one\n")
    it.append(A, "two\u202e\r\n")
    out = claw("diff")
    words = ["git", "apply", "-R", "--include", A, "-"]
    lines = [line for line in out.split("\n") if not line.startswith("sessions/")]
    patch = "\n".join(lines).encode()
    subprocess.run(words, cwd=it.root, input=patch, check=True, capture_output=True)
    assert (it.root / A).read_bytes() == b"one\n"


def test_a_turn_is_named_by_id_place_or_commit(it: GitTalk) -> None:
    it.write(A, "one\n")
    it.append(A, "two\n")
    first = it.talk.app.history.find(f"{it.talk.session.id}:1")
    for ref in filter(None, (first.id, first.id[:5], first.commit, first.commit[:9])):
        assert claw.json("diff", ref)["id"] == first.id
    assert "there is no turn 'ffffffff'" in claw.error("diff", "ffffffff", code=2)
    claw("show", "x", code=2)


def test_a_diff_as_json_has_the_files(it: GitTalk) -> None:
    it.write(A, "one\n")
    found = claw.json("diff")
    by_path = {each["path"]: each for each in found["files"]}
    assert by_path[A]["action"] == "created" and by_path[A]["added"] == 1
    assert by_path[A]["diff"].endswith("+one\n")
    assert found["kind"] == "turn" and found["number"] == 1


def test_show_has_the_words_the_calls_and_the_diff(it: GitTalk) -> None:
    it.write(A, "one\n")
    it.talk.say("And now?", answer("Nothing."))
    turn = it.talk.app.history.find(f"{it.talk.session.id}:1")
    out = claw("show", turn.id)
    for text in (
        f"turn {turn.id}", f"Session:    {it.talk.session.id}, turn 1", "Model:      scripted/",
        "Tools:      write_file", f"Prompt:\n    Write {A}.\n", "Answer:\n    It is written.\n",
        f"    write_file {A} one", f"    {A} created (+1 -0)\n", "+one\n",
    ):  # fmt: skip
        assert text in out, text
    assert "And now?" not in out
    found = claw.json("show", turn.id)
    assert (found["prompt"], found["answer"]) == (f"Write {A}.", "It is written.")
    assert "no files" not in out and "Nothing." in claw("show")


def test_show_knows_what_was_said_when_the_session_is_gone(it: GitTalk) -> None:
    it.write(A, "one\n")
    it.append(A, "two\n")
    turn = newest(it)
    it.talk.app.sessions.delete(it.talk.session.id)
    out = claw("show", turn.id)
    assert f"Prompt:\n    Add to {A}.\n" in out and "Answer:\n    Added.\n" in out


def test_show_of_an_undo_says_of_what(it: GitTalk) -> None:
    it.write(A, "one\n")
    turn = newest(it)
    claw("undo", "--files")
    out = claw("show")
    assert f"Takes back: {turn.id} (files only)" in out and "-one" in out
    assert "Prompt:" not in out and "turn 0" not in out
    claw("redo")
    assert "Puts back: " in claw("show")


def test_what_a_file_holds_does_nothing_to_a_terminal(
    it: GitTalk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    it.write(A, "one\x1b]0;title\x07\u202e\n")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    for words in (("diff",), ("show",), ("blame", A)):
        assert run(words) == 0
        out = capsys.readouterr().out
        assert "\x1b" not in out and "\u202e" not in out and "one" in out


def test_a_diff_is_coloured_as_by_git() -> None:
    lines = ["Prompt:", "- no diff yet", "diff --git a/x b/x", "--- a/x", "@@ -1 +1 @@", "-a", "+b"]
    shown = list(colour_diff(lines))
    assert shown[:2] == lines[:2]
    assert shown[2:4] == ["\x1b[1mdiff --git a/x b/x\x1b[m", "\x1b[1m--- a/x\x1b[m"]
    assert shown[4:] == ["\x1b[36m@@ -1 +1 @@\x1b[m", "\x1b[31m-a\x1b[m", "\x1b[32m+b\x1b[m"]


# -------- blame


def test_blame_names_turn_session_and_prompt_of_each_line(it: GitTalk) -> None:
    it.write(A, "one\n")
    it.append(A, "two\n")
    (it.root / A).write_text("one\ntwo\nmine\n")
    first, second = (it.talk.app.history.find(f"{it.talk.session.id}:{n}") for n in (1, 2))
    lines = claw("blame", A).splitlines()
    assert lines[0].startswith(first.id) and f"{it.talk.session.id}:1" in lines[0]
    assert f"Write {A}." in lines[0] and lines[0].endswith("1| one")
    assert lines[1].startswith(second.id) and lines[1].endswith("2| two")
    assert lines[2].startswith("not recorded") and lines[2].endswith("3| mine")
    assert len(claw("blame", f"{A}:2-3").splitlines()) == 2


def test_blame_of_one_line_tells_its_turn_and_opens_it(it: GitTalk) -> None:
    it.write(A, "one\n")
    it.append(A, "two\n")
    second = newest(it)
    out = claw("blame", f"{A}:2")
    assert out.splitlines()[0] == f"{A}:2  two"
    assert f"by turn {second.id}" in out and f"in {it.talk.session.id}, turn 2" in out
    assert f"prompt: Add to {A}." in out and f"openclaw show {second.id}" in out
    shown = claw("blame", f"{A}:2", "--open")
    assert shown == claw("show", second.id)


def test_blame_as_json(it: GitTalk) -> None:
    it.write(A, "one\n")
    (found,) = claw.json("blame", A)
    turn = newest(it)
    assert found["turn"] == turn.id and found["prompt"] == f"Write {A}."
    assert (found["path"], found["line"], found["text"]) == (A, 1, "one")
    assert found["session"] == it.talk.session.id


@needs_git
def test_lines_that_the_user_committed_are_yours(tmp_path: Path) -> None:
    it = git_talk(tmp_path / "home")
    identity(it.root)
    (it.root / A).write_text("mine\n")
    it.git("add", A)
    it.git("commit", "-q", "-m", "My file")
    it.append(A, "two\n")
    out = claw("blame", A).splitlines()
    assert out[0].startswith("you ") and "My file" in out[0]
    assert "by you" in claw("blame", f"{A}:1")
    claw("blame", f"{A}:1", "--open")
    starter = claw("blame", "workspace/SOUL.md:1")
    assert "A new home" in starter


def test_a_file_is_named_from_the_home_or_from_the_folder_in_it(
    it: GitTalk, monkeypatch: pytest.MonkeyPatch
) -> None:
    it.write(A, "one\n")
    it.write("workspace/odd:3", "odd\n")
    monkeypatch.chdir(it.root / "workspace")
    assert claw("blame", "a.md") == claw("blame", A) != ""
    assert "workspace/odd:3:1  odd\n" in claw("blame", "workspace/odd:3")
    assert claw("blame", str(it.root / A)) == claw("blame", A)


@pytest.mark.parametrize(
    "where, told",
    [
        ("workspace/none.md", "there is no file 'workspace/none.md'"),
        ("workspace/none.md:3", "there is no file 'workspace/none.md'"),
        (f"{A}:9", f"{A} has 1 line"),
        (f"{A}:0", "counted from 1"),
        (f"{A}:3-1", f"{A} has 1 line"),
        ("../outside.md", "there is no file"),
        (".openclaw/secrets.json", "there is no file"),
        ("workspace", "there is no file"),
    ],
)
def test_what_cannot_be_blamed_is_told(where: str, told: str, tmp_path: Path) -> None:
    it = GitTalk(talk(tmp_path / "home"))
    it.write(A, "one\n")
    (tmp_path / "outside.md").write_text("x\n")
    assert claw("blame", where, code=2) == "" and told in claw.err


def test_a_file_that_is_no_text_has_no_lines(tmp_path: Path) -> None:
    it = GitTalk(talk(tmp_path / "home"))
    (it.root / "workspace" / "x.bin").write_bytes(b"\0\1")
    (it.root / "workspace" / "empty.md").touch()
    assert "is no text" in claw.error("blame", "workspace/x.bin", code=1)
    assert claw("blame", "workspace/empty.md") == "" and claw.err == ""


# -------- in a talk


def chat(it: Talk, *said: str) -> tuple[str, Chat]:
    """What a talk prints, the lines typed into it, and the talk."""
    _, shown, chat = type_into(it.app, it.session, *said)
    return shown, chat


def test_a_talk_takes_back_its_own_turns_and_goes_on(it: GitTalk) -> None:
    it.write("workspace/other.md", "other\n")
    it.talk.session = it.talk.app.sessions.new()
    it.write(A, "one\n")
    it.append(A, "two\n")
    it.talk.model.say(answer("Hello again."))
    shown, after = chat(it.talk, "/undo", "And now?", "/log 1")
    assert "taken back; /redo puts it back" in shown and "Hello again." in shown
    assert (it.root / A).read_text() == "one\n"
    said = [entry.content for entry in after.session.messages if entry.role == "user"]
    assert said == [f"Write {A}.", "And now?"]
    assert shown.splitlines()[-1].endswith("And now?")
    chat(it.talk, "/undo 2", "/undo")
    assert (it.root / "workspace" / "other.md").exists()


def test_a_talk_without_its_first_turn_begins_anew_under_its_name(it: GitTalk) -> None:
    it.talk.session = it.talk.app.sessions.new("garden")
    it.write(A, "one\n")
    it.talk.model.say(answer("Hello."))
    shown, after = chat(it.talk, "/undo", "hi", "/redo")
    assert "nothing is left of this conversation" in shown
    assert after.session.id == "garden"
    said = [entry.content for entry in after.session.messages if entry.role == "user"]
    assert said == [f"Write {A}.", "hi"], shown
    assert (it.root / A).exists()


@pytest.mark.parametrize("typed", ["/undo x", "/undo 0", "/undo 1 2", "/redo --files", "/log x"])
def test_words_that_mean_nothing_are_told(typed: str, tmp_path: Path) -> None:
    it = GitTalk(talk(tmp_path / "home"))
    it.write(A, "one\n")
    shown, _ = chat(it.talk, typed)
    assert "openclaw: " in shown and (it.root / A).exists()


def test_a_conflict_in_a_talk_names_the_way_out(it: GitTalk) -> None:
    it.write(A, "one\n")
    it.talk.say("Change it.", call("write_file", path=A, content="two\n"), "Changed.")
    (it.root / A).write_text("mine\n")
    shown, after = chat(it.talk, "/undo", "/undo --keep")
    assert "nothing was taken back; /undo --keep takes back the rest" in shown
    assert "these lines stay as they are" in shown
    assert (it.root / A).read_text() == "mine\n"
    assert [e.content for e in after.session.messages if e.role == "user"] == [f"Write {A}."]


def test_an_undo_leaves_a_session_that_is_in_use_alone(tmp_path: Path) -> None:
    it = GitTalk(talk(tmp_path / "home"))
    it.write(A, "one\n")
    with it.talk.app.sessions.writing(it.talk.session.id):  # for other processes
        words = [sys.executable, "-m", "openclaw", "undo"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "in use" in done.stderr, done.stderr
    assert (it.root / A).exists()
