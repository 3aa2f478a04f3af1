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
from tests.fakes.command import CommandLine
from tests.fakes.terminal import exit_code, on_terminal, terminals

claw = CommandLine("sessions")


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


def test_the_list_shows_ids_and_titles(store: SessionStore) -> None:
    session = saved(store, "buy milk\x1b[31m", "ok")
    head, line = claw("list").splitlines()
    assert head.split() == ["ID", "UPDATED", "MESSAGES", "TITLE"]
    assert line.startswith(session.id)
    assert "buy milk" in line
    assert "\x1b" not in line
    (item,) = claw.json("list")
    assert set(item) == {"id", "title", "created_at", "updated_at", "model", "messages"}
    assert item["messages"] == 2


def test_only_the_last_used_are_listed_when_so_many_are_wanted(store: SessionStore) -> None:
    for number in range(3):
        now = partial(datetime, 2026, 1, 1 + number, tzinfo=UTC)
        saved(SessionStore(store.folder, store.locks, now), f"number {number}")
    found = [item["title"] for item in claw.json("list", "-n", "2")]
    assert found == ["number 2", "number 1"]


def test_an_empty_list_is_an_empty_json_list(store: SessionStore) -> None:
    assert claw.json("list") == []
    out = claw("list")
    assert (out, claw.err) == ("", "no conversations yet\n")


def test_a_damaged_session_is_reported_and_the_others_are_listed(store: SessionStore) -> None:
    session = saved(store, "good")
    (store.folder / "bad.json").write_bytes(b"{")
    out = claw("list", "--json")
    assert [item["id"] for item in json.loads(out)] == [session.id]
    assert "conversation bad is damaged" in claw.err
    (store.folder / "worse.json").write_bytes(b"{")
    assert "set aside" in claw.error("show", "worse", code=6)


def test_a_session_is_shown_as_markdown_or_as_its_file(store: SessionStore) -> None:
    session = saved(store, "hello there", "hi \x1b]0;x\x07")
    out = claw("show", "latest")
    assert out.startswith("# hello there\n")
    assert "\x1b" not in out
    assert json.loads(claw("show", session.id[:18], "--raw"))["id"] == session.id


def test_a_search_names_session_and_message(store: SessionStore) -> None:
    session = saved(store, "find the fox", "The Fox is here")
    (hit,) = claw.json("search", "fox here")
    assert (hit["id"], hit["number"], hit["snippet"]) == (session.id, 2, "The Fox is here")
    assert f"{session.id} #1" in claw("search", "fox")
    assert claw("search", "cow") == ""


def test_without_a_message_that_holds_all_words_the_nearest_are_shown(store: SessionStore) -> None:
    session = saved(store, "the plumber has the key", "Good.", "x", 'say "well done" to Ana')
    out = claw("search", "plumber key Monday")
    assert f"{session.id} #1" in out
    assert claw.err == "no message holds all of the words\n"
    out = claw("search", "plumber key Monday", "--json")
    (hit,) = json.loads(out)
    assert set(hit) == {
        *("id", "title", "at", "role", "number", "snippet"),
        *("tool", "missing", "archived", "reply"),
    }
    assert (hit["missing"], hit["archived"], claw.err) == (["monday"], False, "")
    claw("search", '"done to Ana"')
    assert claw.err == "nothing found\n"


def test_a_compacted_session_is_shown_and_found_whole_and_restored(store: SessionStore) -> None:
    session = saved(store, "the first fox", "yes", "the second fox", "no", "the third fox", "ok")
    for upto in (2, 2):
        store.compact(session, upto, "foxes were counted")
    assert claw("list").splitlines()[1].split()[3] == "6"
    for words in (["show", "latest"], ["export", session.id]):
        out = claw(*words)
        order = ("first fox", "second fox", "with message 5", "foxes were counted", "third fox")
        assert sorted(map(out.index, order)) == [out.index(words) for words in order]
    assert len(json.loads(claw("show", "latest", "--raw"))["messages"]) == 2
    hits = claw.json("search", "fox")
    assert sorted((hit["number"], hit["archived"]) for hit in hits) == [
        *((1, True), (3, True), (5, False))
    ]
    said = f"{session.id}: 2 messages are back, 2 are still in the archive\n"
    assert claw("restore", "latest") == said
    assert claw("restore", session.id[:17]) == f"{session.id}: 2 messages are back\n"
    assert len(store.load(session.id).messages) == 6
    assert "nothing of conversation" in claw.error("restore", session.id, code=2)


def test_a_damaged_part_of_the_archive_is_one_line_and_no_failure(store: SessionStore) -> None:
    session = saved(store, "one", "two", "three")
    store.compact(session, 2, "in short")
    (store.folder / "archive" / session.id / "0001.json").write_bytes(b"{")
    for words in (["show", "latest"], ["export", "latest"], ["search", "three"]):
        out = claw(*words)
        assert "three" in out
        (line,) = claw.err.splitlines()
        assert f"messages 1 to 2 of conversation {session.id} cannot be read" in line
    claw("restore", "latest", code=6)


def test_an_export_overwrites_nothing_without_force(store: SessionStore, tmp_path: Path) -> None:
    saved(store, "hello")
    target = tmp_path / "talk.md"
    target.write_text("mine\n")
    assert (
        "is there already" in claw.error("export", "latest", "-o", str(target), code=2)
        and target.read_text() == "mine\n"
    )
    claw("export", "latest", "-o", str(tmp_path), "--force", code=2)
    claw("export", "latest", "-o", str(target), "--force")
    assert target.read_text().startswith("# hello")


def test_a_session_is_renamed_forked_exported_and_deleted(
    store: SessionStore, tmp_path: Path
) -> None:
    session = saved(store, "one", "two", "three")
    claw("rename", session.id, "Numbers")
    assert "Numbers (fork)" in claw("fork", "numbers", "--at", "2")
    target = tmp_path / "out" / "numbers.md"
    claw("export", "numbers", "-o", str(target))
    assert target.read_text(encoding="utf-8").startswith("# Numbers\n")
    assert claw("export", "numbers") == target.read_text(encoding="utf-8")
    claw("delete", "numbers", "--yes")
    assert [summary.title for summary in store.list()] == ["Numbers (fork)"]


def test_latest_names_the_newest_session_in_every_command(store: SessionStore) -> None:
    session = saved(store, "one", "two")
    claw("rename", "latest", "Numbers")
    assert store.load(session.id).title == "Numbers"
    claw("delete", "latest", "--yes")
    assert "there is no conversation yet" in claw.error("rename", "latest", "Numbers", code=2)


def test_deleting_asks_and_without_a_terminal_wants_yes(store: SessionStore) -> None:
    session = saved(store, "one")
    assert "--yes" in claw.error("delete", session.id, code=2)
    assert len(store.list()) == 1


def test_an_unknown_session_is_wrong_usage_and_names_the_newest(store: SessionStore) -> None:
    older = SessionStore(store.folder, store.locks, lambda: datetime(2026, 1, 1, tzinfo=UTC))
    older.save(older.new("zebra"))
    session = saved(store, "one")
    out = claw("show", "nothing", code=2)
    assert out == ""
    assert f"the newest: {session.id}, zebra" in claw.err
    claw("fork", session.id, "--at", "9", code=2)


@terminals
@pytest.mark.parametrize(("reply", "code", "left"), [("n", 1, 1), ("y", 0, 0)])
def test_on_a_terminal_deleting_asks_first(
    store: SessionStore, reply: str, code: int, left: int
) -> None:
    session = saved(store, "one")
    terminal = on_terminal("-m", "openclaw", "sessions", "delete", "latest")
    terminal.expect(f"Delete conversation {session.id}")
    terminal.sendline(reply)
    assert exit_code(terminal) == code
    assert len(store.list()) == left
