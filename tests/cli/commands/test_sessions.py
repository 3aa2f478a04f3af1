"""`openclaw sessions`, as a user types it."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from openclaw.cli.main import run
from openclaw.messages import Entry
from openclaw.sessions.session import Session
from openclaw.sessions.store import SessionStore
from openclaw.storage.home import Home


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


@pytest.mark.parametrize("words", [["show", "latest", "--raw"], ["list", "--json"]])
def test_json_is_harmless_on_a_terminal_and_as_it_is_elsewhere(
    store: SessionStore,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
) -> None:
    saved(store, "buy milk", "ok")
    session = store.load("latest")
    session.title = "red \x9b31m"
    store.save(session)
    assert run(["sessions", *words]) == 0 and "\x9b31m" in capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert run(["sessions", *words]) == 0 and "\x9b" not in capsys.readouterr().out


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


def test_only_the_last_used_are_listed_when_so_many_are_wanted(
    store: SessionStore, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(3):
        now = partial(datetime, 2026, 1, 1 + number, tzinfo=UTC)
        saved(SessionStore(store.folder, store.locks, now), f"number {number}")
    assert run(["sessions", "list", "-n", "2", "--json"]) == 0
    found = [item["title"] for item in json.loads(capsys.readouterr().out)]
    assert found == ["number 2", "number 1"]


def test_an_empty_list_is_an_empty_json_list(
    store: SessionStore, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["sessions", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert run(["sessions", "list"]) == 0
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "no conversations yet\n")


def test_a_damaged_session_is_reported_and_the_others_are_listed(
    store: SessionStore, capsys: pytest.CaptureFixture[str]
) -> None:
    session = saved(store, "good")
    (store.folder / "bad.json").write_bytes(b"{")
    assert run(["sessions", "list", "--json"]) == 0
    told = capsys.readouterr()
    assert [item["id"] for item in json.loads(told.out)] == [session.id]
    assert "conversation bad is damaged" in told.err
    (store.folder / "worse.json").write_bytes(b"{")
    assert run(["sessions", "show", "worse"]) == 6
    assert "set aside" in capsys.readouterr().err


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


def test_without_a_message_that_holds_all_words_the_nearest_are_shown(
    store: SessionStore, capsys: pytest.CaptureFixture[str]
) -> None:
    session = saved(store, "the plumber has the key", "Good.", "x", 'say "well done" to Ana')
    assert run(["sessions", "search", "plumber key Monday"]) == 0
    told = capsys.readouterr()
    assert f"{session.id} #1" in told.out
    assert told.err == "no message holds all of the words\n"
    assert run(["sessions", "search", "plumber key Monday", "--json"]) == 0
    told = capsys.readouterr()
    (hit,) = json.loads(told.out)
    assert set(hit) == {
        *("id", "title", "at", "role", "number", "snippet"),
        *("tool", "missing", "archived", "reply"),
    }
    assert (hit["missing"], hit["archived"], told.err) == (["monday"], False, "")
    assert run(["sessions", "search", '"done to Ana"']) == 0
    assert capsys.readouterr().err == "nothing found\n"


def test_a_compacted_session_is_shown_and_found_whole_and_restored(
    store: SessionStore, capsys: pytest.CaptureFixture[str]
) -> None:
    session = saved(store, "the first fox", "yes", "the second fox", "no", "the third fox", "ok")
    for upto in (2, 2):
        store.compact(session, upto, "foxes were counted")
    assert run(["sessions", "list"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[3] == "6"
    for words in (["show", "latest"], ["export", session.id]):
        assert run(["sessions", *words]) == 0
        out = capsys.readouterr().out
        order = ("first fox", "second fox", "with message 5", "foxes were counted", "third fox")
        assert sorted(map(out.index, order)) == [out.index(words) for words in order]
    assert run(["sessions", "show", "latest", "--raw"]) == 0
    assert len(json.loads(capsys.readouterr().out)["messages"]) == 2
    assert run(["sessions", "search", "fox", "--json"]) == 0
    hits = json.loads(capsys.readouterr().out)
    assert sorted((hit["number"], hit["archived"]) for hit in hits) == [
        *((1, True), (3, True), (5, False))
    ]
    assert run(["sessions", "restore", "latest"]) == 0
    said = f"{session.id}: 2 messages are back, 2 are still in the archive\n"
    assert capsys.readouterr().out == said
    assert run(["sessions", "restore", session.id[:17]]) == 0
    assert capsys.readouterr().out == f"{session.id}: 2 messages are back\n"
    assert len(store.load(session.id).messages) == 6
    assert run(["sessions", "restore", session.id]) == 2
    assert "nothing of conversation" in capsys.readouterr().err


def test_a_damaged_part_of_the_archive_is_one_line_and_no_failure(
    store: SessionStore, capsys: pytest.CaptureFixture[str]
) -> None:
    session = saved(store, "one", "two", "three")
    store.compact(session, 2, "in short")
    (store.folder / "archive" / session.id / "0001.json").write_bytes(b"{")
    for words in (["show", "latest"], ["export", "latest"], ["search", "three"]):
        assert run(["sessions", *words]) == 0
        told = capsys.readouterr()
        assert "three" in told.out
        (line,) = told.err.splitlines()
        assert f"messages 1 to 2 of conversation {session.id} cannot be read" in line
    assert run(["sessions", "restore", "latest"]) == 6


def test_an_export_overwrites_nothing_without_force(
    store: SessionStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved(store, "hello")
    target = tmp_path / "talk.md"
    target.write_text("mine\n")
    assert run(["sessions", "export", "latest", "-o", str(target)]) == 2
    assert "is there already" in capsys.readouterr().err and target.read_text() == "mine\n"
    assert run(["sessions", "export", "latest", "-o", str(tmp_path), "--force"]) == 2
    assert run(["sessions", "export", "latest", "-o", str(target), "--force"]) == 0
    assert target.read_text().startswith("# hello")


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


def test_latest_names_the_newest_session_in_every_command(
    store: SessionStore, capsys: pytest.CaptureFixture[str]
) -> None:
    session = saved(store, "one", "two")
    assert run(["sessions", "rename", "latest", "Numbers"]) == 0
    assert store.load(session.id).title == "Numbers"
    assert run(["sessions", "delete", "latest", "--yes"]) == 0
    assert run(["sessions", "rename", "latest", "Numbers"]) == 2
    assert "there is no conversation yet" in capsys.readouterr().err


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
    terminal.delaybeforesend = 0.5  # a reply that comes sooner does not count
    terminal.expect(f"Delete conversation {session.id}")
    terminal.sendline(reply)
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == code
    assert len(store.list()) == left
