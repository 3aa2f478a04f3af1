"""A process dies at a known point: what it had told is there, and the next one goes on.

The death comes from the model, which kills the process that asks it, or from an audit hook of
Python that kills its own process just before or just after a file is put in its place.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openclaw.agent.agent import Agent
from openclaw.cli.main import run
from openclaw.config import load_settings
from openclaw.memory.notes import Notes
from openclaw.memory.todos import TodoFile
from openclaw.messages import Entry
from openclaw.sessions.session import INTERRUPTED, Session
from openclaw.sessions.store import SessionStore
from openclaw.storage.git import Git, GitDied, note_git_locks, remove_stale_locks
from openclaw.storage.home import Home
from openclaw.tools.shell.overlay import is_overlay_available
from openclaw.tools.shell.sandbox import LOCK, tidy_up
from tests.data.sample import sample
from tests.fakes.git_home import copy_home
from tests.fakes.ollama_server import Answer, FakeOllama, last_words

DEADLY = getattr(signal, "SIGKILL", signal.SIGTERM)
# Dies at the n-th audit event of a kind that concerns such a path. A file is put in its place
# between two of them: a new one beside it is opened, then removed, in vain where it was renamed.
DRIVER = """\
import os, sys
event, place, count = sys.argv[1:4]
left = int(count)
# A file is named by itself when its folder is open: then by the path of any open folder.
def whole(event, args):
    name = args[0]
    if event not in ("open", "os.remove", "os.link") or not isinstance(name, str) or "/" in name:
        return args
    if not os.path.isdir("/proc/self/fd"):
        return args
    open_now = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
    return [os.path.join(os.readlink(at), name) for at in open_now if os.path.isdir(at)]
def hear(name, args):
    global left
    if name != event:
        return
    if any(place in str(arg).replace(os.sep, "/") for arg in whole(name, args)):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), DEADLY)
sys.addaudithook(hear)
sys.argv[1:] = sys.argv[4:]
from openclaw.cli.main import run
sys.exit(run())
""".replace("DEADLY", str(int(DEADLY)))
BEFORE, AFTER = "open", "os.remove"
SETTINGS = """\
model: ollama/fake:1b
protocol: native
recall: tool
embedding: none
preload: false
"""
TALK = ("--session", "talk", "--mode", "full")
Result = subprocess.CompletedProcess[str]


def started(*words: str) -> Result:
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, *words],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False, encoding="utf-8",
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    return done


def died(event: str, place: str, *words: str, count: int = 1) -> str:
    """What a command said until it died there."""
    done = started(event, place, str(count), *words)
    assert done.returncode in (-DEADLY, DEADLY), (done.stdout, done.stderr)
    return done.stdout


def well(*words: str) -> str:
    """What a command says that does its work, in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(words)
    assert code == 0, (out.getvalue(), err.getvalue())
    return out.getvalue()


@pytest.fixture
def home(tmp_path: Path, fake_ollama: FakeOllama, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new home under git, with a file of the user's in it."""
    monkeypatch.setattr(sys, "stdin", None)
    root = copy_home(tmp_path / "home", SETTINGS)
    (root / "workspace" / "plan.md").write_text("buy seeds\n", "utf-8")
    return root


def writes(path: str = "workspace/plan.md", text: str = "water them\n") -> Answer:
    return Answer(calls=[("append_file", {"path": path, "text": text})])


def talk(home: Path, name: str = "talk") -> Session:
    return SessionStore(home / "sessions").load(name)


def said(home: Path, name: str = "talk") -> list[str]:
    store = SessionStore(home / "sessions")
    return [entry.content for _, entry in store.messages(store.load(name))]


def opened(home: Path) -> Agent:
    return Agent.open(Home(home), load_settings(Home(home)))


def plan(home: Path) -> str:
    return (home / "workspace" / "plan.md").read_text("utf-8")


def is_tidy(home: Path) -> None:
    """No trouble for a person is left after the doctor has been."""
    for temp in home.rglob(".openclaw-*.tmp"):  # the doctor leaves what may be in the making
        os.utime(temp, (0, time.time() - 7200))
    report = json.loads(well("doctor", "--fix", "--json"))
    assert [check for check in report["checks"] if check["state"] == "fault"] == []
    temps = [path for path in home.rglob(".openclaw-*.tmp") if "kept" not in path.parts]
    assert [*temps, *(home / ".git").rglob("*.lock")] == []
    git = ["git", "-C", str(home)]
    staged = subprocess.run([*git, "diff", "--cached", "--name-only"], capture_output=True)
    assert staged.stdout == b""
    subprocess.run([*git, "fsck", "--connectivity-only"], check=True, capture_output=True)


# -------- while the model thinks


def kills(child: list[int]) -> Callable[[dict[str, Any]], Answer]:
    """An answer that never comes: the process that asks is killed."""

    def line(body: dict[str, Any]) -> Answer:
        os.kill(child.pop(), DEADLY)
        return Answer("too late")

    return line


def killed_by_the_model(*words: str, child: list[int]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "openclaw", *words], stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    child.append(process.pid)
    assert process.wait(30) in (-DEADLY, DEADLY)


def test_what_was_asked_is_kept_when_the_process_dies_before_the_answer(
    home: Path, fake_ollama: FakeOllama
) -> None:
    child: list[int] = []
    fake_ollama.say(kills(child), "Here I am.")
    killed_by_the_model(*TALK, "What grows in May?", child=child)
    assert said(home) == ["What grows in May?"]
    assert well(*TALK, "Are you there?") == "Here I am.\n"
    assert said(home) == ["What grows in May?", "Are you there?", "Here I am."]
    is_tidy(home)


def test_a_turn_that_dies_after_a_call_keeps_it_and_can_be_taken_back(
    home: Path, fake_ollama: FakeOllama
) -> None:
    child: list[int] = []
    fake_ollama.say(writes(), kills(child))
    killed_by_the_model(*TALK, "Append it to the plan.", child=child)
    (use,) = talk(home).messages[1].tool_calls
    assert (use.tool, use.ok) == ("append_file", True)
    assert plan(home) == "buy seeds\nwater them\n"
    is_tidy(home)
    turn = opened(home).history.find()
    assert (turn.state, [step.path for step in turn.steps if not step.is_talk]) == (
        "interrupted", ["workspace/plan.md"],
    )  # fmt: skip
    well("undo")
    assert plan(home) == "buy seeds\n"


# -------- in the middle of a call


@pytest.mark.parametrize(("event", "grown"), sample([(AFTER, "water them\n"), (BEFORE, "")]))
def test_a_call_that_dies_around_its_write_is_whole_and_marked(
    event: str, grown: str, home: Path, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(writes(), "I see.")
    words = (*TALK, "Append it to the plan.")
    died(event, "workspace/.openclaw-", *words)
    assert plan(home) == f"buy seeds\n{grown}"
    well(*TALK, "Go on.")
    (use,) = talk(home).messages[1].tool_calls
    assert (use.tool, use.ok, use.output) == ("append_file", False, INTERRUPTED)
    told = json.dumps(fake_ollama.chats[-1]["messages"])
    assert INTERRUPTED in told and last_words(fake_ollama.chats[-1])
    is_tidy(home)


def runs(line: str) -> Answer:
    return Answer(calls=[("run_shell", {"command": line})])


def needs_layers(home: Path) -> Path:
    if not is_overlay_available(home.resolve()):
        pytest.skip("there is no overlay here")
    return Path(os.environ["XDG_CACHE_HOME"], "openclaw", "commands")


def test_a_turn_that_dies_while_what_a_command_wrote_is_brought_in_can_be_taken_back(
    home: Path, fake_ollama: FakeOllama
) -> None:
    layers = needs_layers(home)
    fake_ollama.say(runs("echo 1 >> workspace/plan.md; echo 2 > workspace/two.md"), "I see.")
    died("os.rename", "upper/workspace/two.md", *TALK, "Run it.")
    assert plan(home) == "buy seeds\n1\n" and not (home / "workspace" / "two.md").exists()
    well(*TALK, "Go on.")
    is_tidy(home)
    _, turn = [turn for turn in opened(home).history.turns() if turn.kind == "turn"]
    assert turn.state == "interrupted"
    assert [step.path for step in turn.steps if not step.is_talk] == ["workspace/plan.md"]
    well("undo", "2")
    assert plan(home) == "buy seeds\n"
    fake_ollama.say(runs("rm workspace/plan.md"), "It ran.")
    well(*TALK, "Run it.")
    assert list(layers.iterdir()) == []


def test_a_command_that_is_killed_with_the_program_has_changed_nothing(
    home: Path, fake_ollama: FakeOllama
) -> None:
    layers = needs_layers(home)
    fake_ollama.say(runs("echo 1 >> workspace/plan.md; sleep 20"), "I see.")
    process = subprocess.Popen(
        [sys.executable, "-m", "openclaw", *TALK, "Run it."], stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    until = time.monotonic() + 20
    while not list(layers.glob("*/upper/workspace/plan.md")) and time.monotonic() < until:
        time.sleep(0.01)
    process.kill()
    assert process.wait(30) == -DEADLY
    assert plan(home) == "buy seeds\n"
    well(*TALK, "Go on.")
    is_tidy(home)
    assert plan(home) == "buy seeds\n"


# -------- taking back


@pytest.mark.parametrize("at", sample([1, 0, 2]))
def test_an_undo_that_dies_in_the_middle_is_completed_by_the_next_start(
    at: int, home: Path, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(writes(), writes("workspace/shed.md", "a spade\n"), "Both are done.")
    well(*TALK, "Append both.")
    died("os.remove", ("/shed.md", "/talk.json", "workspace/.openclaw-")[at], "undo")
    is_tidy(home)
    assert plan(home) == "buy seeds\n"
    assert not (home / "workspace" / "shed.md").exists()
    assert not (home / "sessions" / "talk.json").exists()
    well("redo")
    assert plan(home) == "buy seeds\nwater them\n"
    assert said(home) == ["Append both.", "", "", "Both are done."]


# -------- what stays of programs that die as well


def test_the_locks_of_a_git_that_died_with_us_are_taken_away_and_no_others(home: Path) -> None:
    note, folder = home / ".openclaw" / "history" / "committing", home / ".git"
    ours, theirs = folder / "index.lock", folder / "config.lock"
    note.parent.mkdir(parents=True)
    for path in (note, ours, theirs):
        path.touch()
        os.utime(path, (0, time.time() - 3600))
    os.utime(theirs, (0, time.time() - 60))
    remove_stale_locks(home, note)
    assert (ours.exists(), theirs.exists(), note.exists()) == (False, True, False)
    ours.touch()
    remove_stale_locks(home, note)
    assert ours.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
def test_a_git_that_is_killed_alone_leaves_a_note_of_its_locks(home: Path) -> None:
    note = home / ".openclaw" / "history" / "committing"
    (home / ".git" / "index.lock").touch()
    with pytest.raises(GitDied), note_git_locks(home, note):
        Git(home).run("-c", "alias.die=!kill -9 $PPID; true", "die")
    assert note.exists()
    remove_stale_locks(home, note)
    assert not (home / ".git" / "index.lock").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no sandbox")
def test_what_stood_in_for_missing_files_while_a_command_was_killed_goes(home: Path) -> None:
    named, empty = home / "workspace" / "TOOLS.md", home / "workspace" / "IDENTITY.md"
    named.touch()
    empty.touch()
    lock = home / LOCK
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.write_text("workspace/TOOLS.md\n../outside\n", "utf-8")
    tidy_up(Home(home))
    assert (named.exists(), empty.exists(), lock.read_bytes()) == (False, True, b"")


# -------- to-dos and memories


def test_a_todo_is_there_once_whether_it_was_told_or_not(home: Path) -> None:
    todos = TodoFile(home / "memory" / "TODO.md")
    assert "added" not in died(BEFORE, "memory/.openclaw-", "todo", "add", "sow beans")
    assert todos.find("sow beans") == []
    died(AFTER, "memory/.openclaw-", "todo", "add", "sow peas")
    assert [todo.text for todo in todos.find("sow")] == ["sow peas"]
    well("todo", "add", "sow beans")
    assert len(todos.find("sow")) == 2
    is_tidy(home)


def test_a_candidate_stays_in_the_inbox_until_it_is_in_the_memory(home: Path) -> None:
    notes = Notes(home / "memory")
    notes.propose("Lisa prefers tea", "session 1a2b3c turn 1")
    died(BEFORE, "memory/.openclaw-", "memory", "review", "--accept", "1")
    assert [note.text for note in notes.candidates()] == ["Lisa prefers tea"]
    died(AFTER, "memory/.openclaw-", "memory", "review", "--accept", "1")
    assert [note.text for note in notes.candidates()] == ["Lisa prefers tea"]
    assert "known already" in well("memory", "review", "--accept", "1")
    assert [note.text for note in notes.list()] == ["Lisa prefers tea"]
    assert notes.candidates() == []
    is_tidy(home)


# -------- conversations


def long_talk(home: Path) -> list[str]:
    store = SessionStore(home / "sessions")
    session = store.new("talk")
    for number in range(12):
        session.messages.append(Entry("assistant" if number % 2 else "user", f"message {number}"))
    store.save(session)
    return [f"message {number}" for number in range(12)]


@pytest.mark.parametrize(
    ("event", "place"),
    sample(
        [
            (AFTER, "archive/talk/.openclaw-"),
            (BEFORE, "archive/talk/.openclaw-"),
            (AFTER, "sessions/.openclaw-"),  # the second one; its notes were the first
        ]
    ),
)
def test_a_compaction_that_dies_leaves_each_message_once(
    event: str, place: str, home: Path, fake_ollama: FakeOllama
) -> None:
    whole = long_talk(home)
    fake_ollama.say(*["{}"] * 4)
    died(event, place, "sessions", "compact", "talk", count=1 if "archive" in place else 2)
    assert said(home) == whole
    if "archive" in place:
        well("sessions", "compact", "talk")
    assert said(home) == whole
    well("sessions", "restore", "talk")
    assert [entry.content for entry in talk(home).messages] == whole
    is_tidy(home)


def test_a_deletion_that_dies_can_be_done_again(home: Path, fake_ollama: FakeOllama) -> None:
    long_talk(home)
    fake_ollama.say("{}", "{}")
    well("sessions", "compact", "talk")
    died("os.remove", "sessions/talk.json", "sessions", "delete", "--yes", "talk")
    assert "deleted" in well("sessions", "delete", "--yes", "talk")
    assert [*(home / "sessions").rglob("*.json")] == []
    is_tidy(home)


def test_a_fork_that_dies_is_no_conversation_yet(home: Path, fake_ollama: FakeOllama) -> None:
    whole = long_talk(home)
    fake_ollama.say("{}", "{}")
    well("sessions", "compact", "talk")
    died(BEFORE, "sessions/.openclaw-", "sessions", "fork", "talk")
    assert [session.id for session in SessionStore(home / "sessions").list()] == ["talk"]
    assert said(home) == whole
    is_tidy(home)
