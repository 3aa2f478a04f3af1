"""`openclaw sessions`, as a user types it."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from openclaw.cli.main import run
from openclaw.files.home import Home
from openclaw.sessions.store import Session, SessionStore
from openclaw.shapes import Entry


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    home = Home(tmp_path / "home")
    home.workspace.mkdir(parents=True)
    return SessionStore(home.sessions, home.private / "locks")


def saved(store: SessionStore, *texts: str) -> Session:
    session = store.new(None, "fake/one")
    for number, text in enumerate(texts):
        session.messages.append(Entry("assistant" if number % 2 else "user", text))
    store.save(session)
    return session


def test_the_list_shows_ids_and_titles(
    store: SessionStore, capsys: pytest.CaptureFixture[str]
) -> None:
    session = saved(store, "buy milk\x1b[31m", "ok")
    assert run(["sessions", "list"]) == 0
    head, line = capsys.readouterr().out.splitlines()
    assert head.split() == ["ID", "UPDATED", "MESSAGES", "TITLE"]
    assert line.startswith(session.id)
    assert "buy milk" in line
    assert "\x1b" not in line
    assert run(["sessions", "list", "--json"]) == 0
    (item,) = json.loads(capsys.readouterr().out)
    assert set(item) == {"id", "title", "created_at", "updated_at", "model", "messages"}
    assert item["messages"] == 2


def test_an_empty_list_is_an_empty_json_list(
    store: SessionStore, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["sessions", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert run(["sessions", "list"]) == 0
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "no sessions yet\n")


def test_a_damaged_session_is_reported_and_the_others_are_listed(
    store: SessionStore, capsys: pytest.CaptureFixture[str]
) -> None:
    session = saved(store, "good")
    (store.folder / "bad.json").write_bytes(b"{")
    assert run(["sessions", "list", "--json"]) == 0
    told = capsys.readouterr()
    assert [item["id"] for item in json.loads(told.out)] == [session.id]
    assert "session bad is damaged" in told.err
    (store.folder / "worse.json").write_bytes(b"{")
    assert run(["sessions", "show", "worse"]) == 6
    assert "moved aside" in capsys.readouterr().err


def test_a_session_is_shown_as_markdown_or_as_its_file(
    store: SessionStore, capsys: pytest.CaptureFixture[str]
) -> None:
    session = saved(store, "hello there", "hi \x1b]0;x\x07")
    assert run(["sessions", "show", "latest"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("# hello there\n")
    assert "\x1b" not in out
    assert run(["sessions", "show", session.id[:18], "--raw"]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == session.id


def test_a_search_names_session_and_message(
    store: SessionStore, capsys: pytest.CaptureFixture[str]
) -> None:
    session = saved(store, "find the fox", "The Fox is here")
    assert run(["sessions", "search", "fox here", "--json"]) == 0
    (hit,) = json.loads(capsys.readouterr().out)
    assert (hit["id"], hit["number"], hit["snippet"]) == (session.id, 2, "The Fox is here")
    assert run(["sessions", "search", "fox"]) == 0
    assert f"{session.id} #1" in capsys.readouterr().out
    assert run(["sessions", "search", "cow"]) == 0
    assert capsys.readouterr().out == ""


def test_a_session_is_renamed_forked_exported_and_deleted(
    store: SessionStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = saved(store, "one", "two", "three")
    assert run(["sessions", "rename", session.id, "Numbers"]) == 0
    assert run(["sessions", "fork", "numbers", "--at", "2"]) == 0
    assert "Numbers (fork)" in capsys.readouterr().out
    target = tmp_path / "out" / "numbers.md"
    assert run(["sessions", "export", "numbers", "-o", str(target)]) == 0
    assert target.read_text(encoding="utf-8").startswith("# Numbers\n")
    capsys.readouterr()
    assert run(["sessions", "export", "numbers"]) == 0
    assert capsys.readouterr().out == target.read_text(encoding="utf-8")
    assert run(["sessions", "delete", "numbers", "--yes"]) == 0
    assert [summary.title for summary in store.list()] == ["Numbers (fork)"]


def test_deleting_asks_and_without_a_terminal_wants_yes(
    store: SessionStore, capsys: pytest.CaptureFixture[str]
) -> None:
    session = saved(store, "one")
    assert run(["sessions", "delete", session.id]) == 2
    assert "--yes" in capsys.readouterr().err
    assert len(store.list()) == 1


def test_an_unknown_session_is_wrong_usage_and_names_the_newest(
    store: SessionStore, capsys: pytest.CaptureFixture[str]
) -> None:
    older = SessionStore(store.folder, store.locks, lambda: datetime(2026, 1, 1, tzinfo=UTC))
    older.save(older.new("zebra"))
    session = saved(store, "one")
    assert run(["sessions", "show", "nothing"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert f"the newest: {session.id}, zebra" in told.err
    assert run(["sessions", "fork", session.id, "--at", "9"]) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="pexpect needs a POSIX terminal")
@pytest.mark.parametrize(("reply", "code", "left"), [("n", 1, 1), ("y", 0, 0)])
def test_on_a_terminal_deleting_asks_first(
    store: SessionStore, reply: str, code: int, left: int
) -> None:
    import pexpect

    session = saved(store, "one")
    words = ["-m", "openclaw", "sessions", "delete", "latest"]
    terminal = pexpect.spawn(sys.executable, words, encoding="utf-8", timeout=20)
    terminal.expect(f"delete session {session.id}")
    terminal.sendline(reply)
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == code
    assert len(store.list()) == left
