"""--no-save: nothing of what is said is kept, what is changed is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from openclaw.errors import UsageError
from openclaw.messages import Entry
from openclaw.sessions.store import SessionStore, UnsavedSessions
from tests.fakes.command import Result, openclaw
from tests.fakes.git_home import make_repository
from tests.fakes.ollama_server import Answer, FakeOllama

SECRET = "my rash is back, I always use the blue cream"


@pytest.fixture
def home(home: Path) -> Path:
    """The home of `conftest`, in which git commits each turn."""
    make_repository(home)
    return home


def run(home: Path, *words: str, stdin: str = "") -> Result:
    return openclaw("--home", str(home), *words, stdin=stdin)


def holding(home: Path, words: str) -> list[str]:
    """The files of the home, and the commits, that hold these words."""
    files = [path for path in home.rglob("*") if path.is_file()]
    found = [str(path) for path in files if words.encode() in path.read_bytes()]
    log = subprocess.run(
        ["git", "-C", str(home), "log", "--all", "-p"], capture_output=True, text=True, check=True
    )
    return found + (["git"] if words in log.stdout else [])


def test_a_prompt_that_is_not_saved_leaves_nothing(home: Path, fake_ollama: FakeOllama) -> None:
    fake_ollama.say("I am sorry to hear that.")
    done = run(home, "--no-save", SECRET)
    assert done.returncode == 0 and "sorry to hear" in done.stdout
    assert holding(home, "rash") == holding(home, "sorry to hear") == []
    assert "no conversations yet" in run(home, "sessions", "list").stderr


def test_a_talk_that_is_not_saved_remembers_while_it_lasts(
    home: Path, fake_ollama: FakeOllama, tmp_path: Path
) -> None:
    file = tmp_path / "talk.md"
    fake_ollama.say("I see.", "Your rash.", "Your rash, I said.")
    done = run(home, "chat", "--no-save", stdin=f"{SECRET}\nwhat was it?\n/retry\n/export {file}\n")
    assert "Your rash." in done.stdout
    sent = [message["content"] for message in fake_ollama.chats[2]["messages"]]
    assert sum(SECRET in text for text in sent) == 1 and "Your rash." not in sent
    assert SECRET in file.read_text("utf-8") and holding(home, "rash") == []


def test_what_tools_change_is_committed_and_can_be_taken_back(
    home: Path, fake_ollama: FakeOllama
) -> None:
    call = ("write_file", {"path": "workspace/new.md", "content": "hello\n"})
    fake_ollama.say(Answer(calls=[call]), "Written.")
    run(home, "--no-save", f"write hello to workspace/new.md, as {SECRET}")
    assert (home / "workspace" / "new.md").read_text("utf-8") == "hello\n"
    assert holding(home, "rash") == []
    assert "(a prompt that was not saved)" in run(home, "log").stdout
    assert run(home, "show").returncode == 0
    assert run(home, "undo").returncode == 0
    assert not (home / "workspace" / "new.md").exists()


def test_a_conversation_can_be_gone_on_with_and_stays_as_it_is(
    home: Path, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("Hello.", "I am sorry to hear that.")
    run(home, "hi")
    before = run(home, "sessions", "show", "latest", "--raw").stdout
    run(home, "-c", "--no-save", SECRET)
    assert "Hello." in [m["content"] for m in fake_ollama.chats[1]["messages"]]
    assert run(home, "sessions", "show", "latest", "--raw").stdout == before
    assert holding(home, "rash") == []


def test_a_compaction_of_what_is_not_saved_writes_no_archive(tmp_path: Path) -> None:
    store = UnsavedSessions(tmp_path / "sessions")
    session = store.new("a")
    session.messages = [Entry("user", "one"), Entry("assistant", "two"), Entry("user", "three")]
    store.save(session)
    store.compact(session, 2, "in short")
    assert [entry.content for entry in session.messages] == ["three"]
    assert session.compressed_context == "in short" and session.title == "one"
    assert not store.refresh(session) and not (tmp_path / "sessions").exists()


def test_a_saved_conversation_that_is_gone_on_with_unsaved_is_not_copied(tmp_path: Path) -> None:
    saved = SessionStore(tmp_path / "sessions")
    session = saved.new("a")
    session.messages = [Entry("user", "one"), Entry("assistant", "two")]
    saved.save(session)
    (tmp_path / "sessions" / "a.notes.md").write_text("# Notes\n", "utf-8")
    before = sorted((tmp_path / "sessions").iterdir())
    with pytest.raises(UsageError, match="cannot be copied"):
        UnsavedSessions(tmp_path / "sessions").fork("a")
    assert sorted((tmp_path / "sessions").iterdir()) == before
