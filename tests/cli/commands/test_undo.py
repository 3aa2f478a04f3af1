"""undo, redo, log, diff, show and blame, as a user types them: in a shell and in a talk."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openclaw.cli.chat.chat import Chat
from openclaw.cli.chat.prompt_line import PipedLines
from openclaw.cli.formatting import colour_diff
from openclaw.cli.history_lines import state_words
from openclaw.cli.main import run
from openclaw.cli.render import PlainText
from openclaw.history.turns import Turn
from tests.fakes.git_home import GitTalk, git_talk, identity, needs_git
from tests.fakes.talk import Talk, answer, call, talk

A = "workspace/a.md"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(params=[pytest.param("git", marks=needs_git), "no git"])
def it(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GitTalk]:
    home = tmp_path / "home"
    yield git_talk(home) if request.param == "git" else GitTalk(talk(home))


@pytest.fixture
def openclaw(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command line; exit code, stdout and stderr."""

    def do(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(list(words))
        told = capsys.readouterr()
        return code, told.out, told.err

    return do


def newest(it: GitTalk) -> Turn:
    return it.talk.app.history.find()


# -------- undo and redo


def test_undo_tells_what_it_took_back_and_redo_puts_it_back(it: GitTalk, openclaw: Run) -> None:
    it.write(A, "one\n")
    turn = newest(it)
    code, out, err = openclaw("undo")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith(f"{turn.id}  2") and lines[0].endswith(f"Write {A}.")
    assert lines[1:] == [
        f"  {A} created (+1 -0)" if "created" in lines[1] else f"  {A} deleted (+0 -1)",
        "  3 messages of the conversation",
        "taken back; openclaw redo puts it back",
    ]
    assert not (it.root / A).exists() and not list((it.root / "sessions").glob("*.json"))
    code, out, _ = openclaw("redo")
    assert code == 0 and "put back; openclaw undo takes it back" in out
    assert (it.root / A).read_text() == "one\n"
    assert len(it.talk.stored["messages"]) == 3


def test_several_turns_go_at_once_whichever_conversation_they_are_of(
    it: GitTalk, openclaw: Run
) -> None:
    it.write(A, "one\n")
    it.talk.session = it.talk.app.sessions.new()
    it.append(A, "two\n")
    it.append(A, "three\n")
    assert openclaw("undo", "2")[0] == 0
    assert (it.root / A).read_text() == "one\n"
    assert openclaw("redo")[0] == 0
    assert (it.root / A).read_text() == "one\ntwo\nthree\n"


def test_more_turns_than_there_are_take_a_yes(it: GitTalk, openclaw: Run) -> None:
    it.write(A, "one\n")
    first = it.talk.session.id
    it.talk.session = it.talk.app.sessions.new()
    it.append(A, "two\n")
    assert openclaw("todo", "add", "buy milk")[0] == 0
    code, out, err = openclaw("undo", "999")
    assert (code, out) == (2, "")
    assert "only 3 turns to undo, of 2 conversations. Take all" in err and "add --yes" in err
    assert (it.root / A).read_text() == "one\ntwo\n"
    code, out, _ = openclaw("undo", "999", "--yes")
    assert code == 0 and not (it.root / A).exists()
    assert f"Write {A}.  ({first})" in out and f"({it.talk.session.id})" in out
    assert "todo add buy milk  (a command)" in out and "messages of 2 conversations" in out
    code, _, err = openclaw("undo", "999")
    assert code == 2 and "nothing to undo" in err


def test_only_the_named_conversation_is_taken_back(it: GitTalk, openclaw: Run) -> None:
    it.write(A, "one\n")
    first = it.talk.session.id
    it.talk.session = it.talk.app.sessions.new()
    it.write("workspace/b.md", "two\n")
    assert openclaw("undo", "--session", first)[0] == 0
    assert not (it.root / A).exists() and (it.root / "workspace" / "b.md").exists()
    code, _, err = openclaw("undo", "--session", first)
    assert code == 2 and "nothing to undo" in err
    assert openclaw("redo", "--session", first)[0] == 0, "the session is gone, its name is known"
    assert (it.root / A).exists()
    assert openclaw("undo", "--session", "nonsense")[0] == 2


def test_files_or_the_talk_alone_are_taken_back(it: GitTalk, openclaw: Run) -> None:
    it.write(A, "one\n")
    it.append(A, "two\n")
    said = it.talk.stored["messages"]
    code, out, _ = openclaw("undo", "--files")
    assert code == 0 and "messages" not in out
    assert (it.root / A).read_text() == "one\n" and it.talk.stored["messages"] == said
    code, out, _ = openclaw("undo", "--talk")
    assert code == 0 and "created" not in out and "changed" not in out and "3 messages" in out
    assert len(it.talk.stored["messages"]) < len(said)
    assert openclaw("undo", "--talk", "--files")[0] == 2
    assert openclaw("redo", "2")[0] == 0
    assert (it.root / A).read_text() == "one\ntwo\n" and it.talk.stored["messages"] == said


def test_nothing_to_take_back_says_so(it: GitTalk, openclaw: Run) -> None:
    for verb in ("undo", "redo"):
        code, out, err = openclaw(verb)
        assert (code, out) == (2, "") and f"there is nothing to {verb}" in err
    assert openclaw("undo", "0")[0] == 2 and openclaw("undo", "x")[0] == 2


def test_later_edits_of_other_lines_are_kept_and_named(it: GitTalk, openclaw: Run) -> None:
    it.write(A, "one\ntwo\nthree\nfour\nfive\n")
    edit = call("edit_file", path=A, find="two", replace="TWO")
    it.talk.say("Make two large.", edit, "It is large.")
    (it.root / A).write_text("one\nTWO\nthree\nfour\nmine\n")
    code, out, _ = openclaw("undo")
    assert code == 0 and f"{A}: later changes of others are kept" in out
    assert (it.root / A).read_text() == "one\ntwo\nthree\nfour\nmine\n"
    assert openclaw("redo")[0] == 0
    assert (it.root / A).read_text() == "one\nTWO\nthree\nfour\nmine\n"


def test_a_conflict_is_shown_and_nothing_is_taken_back(it: GitTalk, openclaw: Run) -> None:
    it.write(A, "one\ntwo\nthree\nfour\nfive\n")
    both = "one\nTWO\nthree\nfour\nfive\nsix\n"
    it.talk.say("Change it.", call("write_file", path=A, content=both), "Changed.")
    (it.root / A).write_text(both.replace("TWO", "mine\x1b[31m"))
    said = it.talk.stored["messages"]
    code, out, err = openclaw("undo")
    assert (code, out) == (1, "")
    assert f"{A}: the same lines were changed since" in err and "\n  <<<<<<< now\n" in err
    assert err.count("openclaw: ") == 1, "once, not before each line of the diff"
    assert "mine" in err and "TWO" in err and "\x1b" not in err
    assert "nothing was taken back; openclaw undo --keep takes back the rest" in err
    assert (it.root / A).read_text() == both.replace("TWO", "mine\x1b[31m")
    assert it.talk.stored["messages"] == said
    code, out, err = openclaw("undo", "--keep")
    assert code == 0 and "taken back" in out and "these lines stay as they are" in err
    assert (it.root / A).read_text() == "one\nmine\x1b[31m\nthree\nfour\nfive\n"


def test_an_undo_as_json_has_files_and_conflicts(it: GitTalk, openclaw: Run) -> None:
    it.write(A, "one\n")
    turn = newest(it)
    (it.root / A).write_text("mine\n")
    code, out, _ = openclaw("undo", "--json")
    found = json.loads(out)
    assert code == 1 and found["turn"] is None
    assert [conflict["path"] for conflict in found["conflicts"]] == [A]
    (it.root / A).write_text("one\n")
    code, out, _ = openclaw("undo", "--json")
    found = json.loads(out)
    assert code == 0 and found["turn"] == newest(it).id
    assert [each["id"] for each in found["of"]] == [turn.id]
    assert [each["path"] for each in found["files"]] == [A] and found["messages"] == 3


def test_an_undo_is_a_turn_of_the_log_and_what_it_took_is_marked(
    it: GitTalk, openclaw: Run
) -> None:
    it.write(A, "one\n")
    it.append(A, "two\n")
    openclaw("undo", "--files")
    lines = openclaw("log")[1].splitlines()
    assert lines[0].split() == ["ID", "AT", "KIND", "FILES", "LINES", "SESSION", "SUBJECT"]
    assert " undo " in lines[1] and "+0 -1" in lines[1]
    assert lines[2].endswith(f"Add to {A}.   files undone") or lines[2].endswith("files undone")
    assert "+1 -0" in lines[2] and f"{it.talk.session.id}:2" in lines[2]
    assert "undone" not in lines[3]
    openclaw("redo")
    kinds = [turn["kind"] for turn in json.loads(openclaw("log", "--json")[1])]
    assert kinds == ["redo", "undo", "turn", "turn"]
    assert json.loads(openclaw("log", "--json")[1])[2]["undone"] is None


def test_an_undo_can_be_taken_back_after_other_turns(it: GitTalk, openclaw: Run) -> None:
    it.write(A, "one\n")
    it.write("workspace/b.md", "two\n")
    openclaw("undo")
    it.talk.session = it.talk.app.sessions.new()
    it.write("workspace/c.md", "three\n")
    assert openclaw("redo")[0] == 0
    assert (it.root / "workspace" / "b.md").exists() and (it.root / "workspace" / "c.md").exists()


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


def test_the_log_names_kind_files_lines_session_and_prompt(it: GitTalk, openclaw: Run) -> None:
    it.write(A, "one\ntwo\n")
    it.talk.say("Who are you?\x1b[31m", answer("I am Claw."))
    _, last, first = openclaw("log")[1].splitlines()
    assert "Who are you?" in last and "\x1b" not in last and "+" not in last
    turn = it.talk.app.history.find(f"{it.talk.session.id}:1")
    assert first.split()[0] == turn.id and "  turn  " in first
    assert "  1      +2 -0  " in first and f"{it.talk.session.id}:1" in first


def test_the_log_can_be_of_a_session_a_file_and_short(it: GitTalk, openclaw: Run) -> None:
    it.write(A, "one\n")
    first = it.talk.session.id
    it.talk.session = it.talk.app.sessions.new()
    it.write("workspace/b.md", "two\n")
    it.append(A, "two\n")

    def subjects(*words: str) -> list[str]:
        return [turn["subject"] for turn in json.loads(openclaw("log", "--json", *words)[1])]

    assert subjects("--session", first) == [f"Write {A}."]
    assert subjects("--file", A) == [f"Add to {A}.", f"Write {A}."]
    assert subjects("-n", "1") == [f"Add to {A}."]
    assert subjects("--file", "workspace/none.md") == []


def test_an_empty_log_says_so(it: GitTalk, openclaw: Run) -> None:
    assert openclaw("log") == (0, "", "openclaw: no turns yet\n")
    assert json.loads(openclaw("log", "--json")[1]) == []


def test_what_is_to_be_known_of_a_turn_is_marked() -> None:
    assert state_words(Turn("1")) == ""
    assert state_words(Turn("1", state="interrupted", undone="all")) == "undone, interrupted"
    assert state_words(Turn("1"), "a merge is not finished") == "not committed"
    assert state_words(Turn("1", commit="abc"), "a merge is not finished") == ""


# -------- diff and show


def test_a_diff_is_that_of_git_and_the_conversation_is_one_line(it: GitTalk, openclaw: Run) -> None:
    it.write(A, "one\ntwo\n")
    it.append(A, "three\n")
    code, out, _ = openclaw("diff")
    lines = out.splitlines()
    assert code == 0
    assert lines[:7] == [
        f"diff --git a/{A} b/{A}",
        *(f"--- a/{A}", f"+++ b/{A}", "@@ -1,2 +1,3 @@", " one", " two", "+three"),
    ]
    assert f"sessions/{it.talk.session.id}.json: 3 messages" in lines
    assert '"role"' not in out and '+      "role": "user",' in openclaw("diff", "--all")[1]
    assert "+one" in openclaw("diff", f"{it.talk.session.id}:1")[1]


@needs_git
def test_a_diff_can_be_applied_by_git(it: GitTalk, openclaw: Run) -> None:
    it.write(A, "one\n")
    it.append(A, "two\u202e\r\n")
    out = openclaw("diff")[1]
    words = ["git", "apply", "-R", "--include", A, "-"]
    lines = [line for line in out.split("\n") if not line.startswith("sessions/")]
    patch = "\n".join(lines).encode()
    subprocess.run(words, cwd=it.root, input=patch, check=True, capture_output=True)
    assert (it.root / A).read_bytes() == b"one\n"


def test_a_turn_is_named_by_id_place_or_commit(it: GitTalk, openclaw: Run) -> None:
    it.write(A, "one\n")
    it.append(A, "two\n")
    first = it.talk.app.history.find(f"{it.talk.session.id}:1")
    for ref in filter(None, (first.id, first.id[:5], first.commit, first.commit[:9])):
        assert json.loads(openclaw("diff", ref, "--json")[1])["id"] == first.id
    code, _, err = openclaw("diff", "ffffffff")
    assert code == 2 and "there is no turn 'ffffffff'" in err
    assert openclaw("show", "x")[0] == 2


def test_a_diff_as_json_has_the_files(it: GitTalk, openclaw: Run) -> None:
    it.write(A, "one\n")
    found = json.loads(openclaw("diff", "--json")[1])
    by_path = {each["path"]: each for each in found["files"]}
    assert by_path[A]["action"] == "created" and by_path[A]["added"] == 1
    assert by_path[A]["diff"].endswith("+one\n")
    assert found["kind"] == "turn" and found["number"] == 1


def test_show_has_the_words_the_calls_and_the_diff(it: GitTalk, openclaw: Run) -> None:
    it.write(A, "one\n")
    it.talk.say("And now?", answer("Nothing."))
    turn = it.talk.app.history.find(f"{it.talk.session.id}:1")
    code, out, _ = openclaw("show", turn.id)
    assert code == 0
    for text in (
        f"turn {turn.id}", f"Session:    {it.talk.session.id}, turn 1", "Model:      scripted/",
        "Tools:      write_file", f"Prompt:\n    Write {A}.\n", "Answer:\n    It is written.\n",
        f"    write_file {A} one", f"    {A} created (+1 -0)\n", "+one\n",
    ):  # fmt: skip
        assert text in out, text
    assert "And now?" not in out
    found = json.loads(openclaw("show", turn.id, "--json")[1])
    assert (found["prompt"], found["answer"]) == (f"Write {A}.", "It is written.")
    assert "no files" not in out and "Nothing." in openclaw("show")[1]


def test_show_knows_what_was_said_when_the_session_is_gone(it: GitTalk, openclaw: Run) -> None:
    it.write(A, "one\n")
    it.append(A, "two\n")
    turn = newest(it)
    it.talk.app.sessions.delete(it.talk.session.id)
    out = openclaw("show", turn.id)[1]
    assert f"Prompt:\n    Add to {A}.\n" in out and "Answer:\n    Added.\n" in out


def test_show_of_an_undo_says_of_what(it: GitTalk, openclaw: Run) -> None:
    it.write(A, "one\n")
    turn = newest(it)
    openclaw("undo", "--files")
    out = openclaw("show")[1]
    assert f"Takes back: {turn.id} (files only)" in out and "-one" in out
    assert "Prompt:" not in out and "turn 0" not in out
    openclaw("redo")
    assert "Puts back: " in openclaw("show")[1]


def test_what_a_file_holds_does_nothing_to_a_terminal(
    it: GitTalk, openclaw: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    it.write(A, "one\x1b]0;title\x07\u202e\n")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    for words in (("diff",), ("show",), ("blame", A)):
        code, out, _ = openclaw(*words)
        assert code == 0
        assert "\x1b" not in out and "\u202e" not in out and "one" in out


def test_a_diff_is_coloured_as_by_git() -> None:
    lines = ["Prompt:", "- no diff yet", "diff --git a/x b/x", "--- a/x", "@@ -1 +1 @@", "-a", "+b"]
    shown = list(colour_diff(lines))
    assert shown[:2] == lines[:2]
    assert shown[2:4] == ["\x1b[1mdiff --git a/x b/x\x1b[m", "\x1b[1m--- a/x\x1b[m"]
    assert shown[4:] == ["\x1b[36m@@ -1 +1 @@\x1b[m", "\x1b[31m-a\x1b[m", "\x1b[32m+b\x1b[m"]


# -------- blame


def test_blame_names_turn_session_and_prompt_of_each_line(it: GitTalk, openclaw: Run) -> None:
    it.write(A, "one\n")
    it.append(A, "two\n")
    (it.root / A).write_text("one\ntwo\nmine\n")
    first, second = (it.talk.app.history.find(f"{it.talk.session.id}:{n}") for n in (1, 2))
    lines = openclaw("blame", A)[1].splitlines()
    assert lines[0].startswith(first.id) and f"{it.talk.session.id}:1" in lines[0]
    assert f"Write {A}." in lines[0] and lines[0].endswith("1| one")
    assert lines[1].startswith(second.id) and lines[1].endswith("2| two")
    assert lines[2].startswith("not recorded") and lines[2].endswith("3| mine")
    assert len(openclaw("blame", f"{A}:2-3")[1].splitlines()) == 2


def test_blame_of_one_line_tells_its_turn_and_opens_it(it: GitTalk, openclaw: Run) -> None:
    it.write(A, "one\n")
    it.append(A, "two\n")
    second = newest(it)
    out = openclaw("blame", f"{A}:2")[1]
    assert out.splitlines()[0] == f"{A}:2  two"
    assert f"by turn {second.id}" in out and f"in {it.talk.session.id}, turn 2" in out
    assert f"prompt: Add to {A}." in out and f"openclaw show {second.id}" in out
    shown = openclaw("blame", f"{A}:2", "--open")[1]
    assert shown == openclaw("show", second.id)[1]


def test_blame_as_json(it: GitTalk, openclaw: Run) -> None:
    it.write(A, "one\n")
    (found,) = json.loads(openclaw("blame", A, "--json")[1])
    turn = newest(it)
    assert found["turn"] == turn.id and found["prompt"] == f"Write {A}."
    assert (found["path"], found["line"], found["text"]) == (A, 1, "one")
    assert found["session"] == it.talk.session.id


def test_lines_that_an_undo_gave_back_are_their_writers(it: GitTalk, openclaw: Run) -> None:
    it.write(A, "one\n")
    first = newest(it)
    (it.root / "workspace" / "b.md").write_text("b\n")
    it.talk.say("Change it.", call("write_file", path=A, content="two\n"), "Changed.")
    openclaw("undo")
    (found,) = json.loads(openclaw("blame", A, "--json")[1])
    assert (found["text"], found["turn"]) == ("one", first.id)


@needs_git
def test_lines_that_the_user_committed_are_yours(tmp_path: Path, openclaw: Run) -> None:
    it = git_talk(tmp_path / "home")
    identity(it.root)
    (it.root / A).write_text("mine\n")
    it.git("add", A)
    it.git("commit", "-q", "-m", "My file")
    it.append(A, "two\n")
    out = openclaw("blame", A)[1].splitlines()
    assert out[0].startswith("you ") and "My file" in out[0]
    assert "by you" in openclaw("blame", f"{A}:1")[1]
    assert openclaw("blame", f"{A}:1", "--open")[0] == 0
    starter = openclaw("blame", "workspace/SOUL.md:1")[1]
    assert "A new home" in starter


def test_a_file_is_named_from_the_home_or_from_the_folder_in_it(
    it: GitTalk, openclaw: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    it.write(A, "one\n")
    it.write("workspace/odd:3", "odd\n")
    monkeypatch.chdir(it.root / "workspace")
    assert openclaw("blame", "a.md")[1] == openclaw("blame", A)[1] != ""
    assert "workspace/odd:3:1  odd\n" in openclaw("blame", "workspace/odd:3")[1]
    assert openclaw("blame", str(it.root / A))[1] == openclaw("blame", A)[1]


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
def test_what_cannot_be_blamed_is_told(
    where: str, told: str, tmp_path: Path, openclaw: Run
) -> None:
    it = GitTalk(talk(tmp_path / "home"))
    it.write(A, "one\n")
    (tmp_path / "outside.md").write_text("x\n")
    code, out, err = openclaw("blame", where)
    assert (code, out) == (2, "") and told in err


def test_a_file_that_is_no_text_has_no_lines(tmp_path: Path, openclaw: Run) -> None:
    it = GitTalk(talk(tmp_path / "home"))
    (it.root / "workspace" / "x.bin").write_bytes(b"\0\1")
    (it.root / "workspace" / "empty.md").touch()
    code, _, err = openclaw("blame", "workspace/x.bin")
    assert code == 1 and "is no text" in err
    assert openclaw("blame", "workspace/empty.md") == (0, "", "")


# -------- in a talk


def chat(it: Talk, *said: str) -> tuple[str, Chat]:
    """What a talk prints, the lines typed into it, and the talk."""
    out = io.StringIO()
    listener = PlainText(out, out, tools=False, notes=False, dim=False)
    lines = PipedLines(io.StringIO("".join(f"{line}\n" for line in said)))
    open_chat = Chat(it.app, it.session, lines, listener, lambda line: print(line, file=out))
    open_chat.run()
    return out.getvalue(), open_chat


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


def test_a_talk_shows_diff_show_and_blame(it: GitTalk) -> None:
    it.write(A, "one\n")
    turn = newest(it)
    shown, _ = chat(it.talk, "/diff", f"/show {turn.id}", f"/blame {A}:1", "/blame")
    assert shown.count("+one") == 2 and f"by turn {turn.id}" in shown
    assert "Answer:" in shown and "which file?" in shown


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
