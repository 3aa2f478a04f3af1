"""The doctor saves what can be read of damaged conversations, of parts of archives, of turns."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from openclaw.errors import Damaged, OpenclawError
from openclaw.history import record
from openclaw.history.turns import Turn
from openclaw.maintenance.doctor.finding import RepairCopies, View
from openclaw.maintenance.doctor.home_files import turns
from openclaw.messages import Entry
from openclaw.sessions.repair import join_sessions, rescue
from openclaw.sessions.session import Session, from_json, to_json
from openclaw.sessions.store import SessionStore
from openclaw.storage.git import Git
from openclaw.storage.home import Home
from openclaw.storage.lock import hold_lock
from tests.fakes.git_home import copy_home
from tests.fakes.needs import needs_git
from tests.maintenance.doctor.test_checkup import kept, look, one, put, repaired


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(copy_home(tmp_path / "home"))


def store(home: Home) -> SessionStore:
    return SessionStore(home.sessions, home.private / "locks")


def talk(home: Home, name: str = "talk", exchanges: int = 3) -> Session:
    session = store(home).new(name, "ollama/fake:1b")
    for number in range(exchanges):
        at = f"2026-11-2{number}T10:00:00+00:00"
        session.messages.append(Entry("user", f"question {number}", at=at))
        session.messages.append(Entry("assistant", f'answer "{number}" {{"role": 1}}', at=at))
    store(home).save(session)
    return session


def path_of(home: Home, name: str = "talk") -> Path:
    return home.sessions / f"{name}.json"


def said(home: Home, name: str = "talk") -> list[str]:
    return [entry.content for entry in store(home).load(name).messages]


def damage(path: Path, change: Callable[[bytes], bytes]) -> bytes:
    data = change(path.read_bytes())
    path.write_bytes(data)
    return data


def committed(home: Home) -> None:
    git = Git(home.root)
    git.run("add", "-A")
    git.run("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "talk")


# -------- damaged in its place


def test_a_truncated_session_keeps_all_messages_before_the_cut(home: Home) -> None:
    talk(home)
    data = damage(path_of(home), lambda data: data[: data.index(b"question 2") + 8])
    result = repaired(home, "sessions")
    assert result.fixed == "5 messages saved"
    assert said(home)[-2:] == ['answer "1" {"role": 1}', "question"]
    assert store(home).load("talk").title == "question 0"
    assert kept(home) == {"sessions/talk.json": data}


def test_broken_json_in_the_middle_costs_that_message_only(home: Home) -> None:
    session = talk(home)
    session.extra["forked_from"] = {"id": "other", "messages": 2}
    store(home).save(session)
    damage(path_of(home), lambda data: data.replace(b'"content": "question 1",', b'"content" '))
    repaired(home, "sessions")
    assert [text for text in said(home) if text.startswith("question")] == [
        "question 0",
        "question 2",
    ]
    assert store(home).load("talk").extra["forked_from"] == {"id": "other", "messages": 2}


def test_zeros_at_the_end_of_a_file_do_no_harm(home: Home) -> None:
    talk(home)
    damage(path_of(home), lambda data: data[:-300] + bytes(5000))
    assert repaired(home, "sessions").fixed.endswith("messages saved")
    assert len(said(home)) >= 5


@needs_git
def test_the_last_commit_is_taken_when_it_has_more(home: Home) -> None:
    talk(home)
    committed(home)
    damage(path_of(home), lambda data: bytes(len(data)))
    assert repaired(home, "sessions").fixed == "6 messages saved"
    assert len(said(home)) == 6


@needs_git
def test_the_file_is_taken_when_the_last_commit_has_less(home: Home) -> None:
    session = talk(home)
    committed(home)
    session.messages += [Entry("user", "newest"), Entry("assistant", "yes")]
    store(home).save(session)
    damage(path_of(home), lambda data: data[:-5])
    repaired(home, "sessions")
    assert said(home)[-2:] == ["newest", "yes"]


@needs_git
def test_the_file_is_taken_when_only_its_list_of_parts_was_lost(home: Home) -> None:
    session, _ = archived(home)
    committed(home)
    session.messages += [Entry("user", "newest"), Entry("assistant", "yes")]
    store(home).save(session)
    damage(path_of(home), lambda data: data[: data.rindex(b'"archived"')])
    assert repaired(home, "sessions").fixed == "8 messages saved"
    assert said(home)[-2:] == ["newest", "yes"] and store(home).load("talk").archived == 4


def test_a_session_that_lost_its_last_keys_counts_as_one_that_others_wrote_in(home: Home) -> None:
    session = talk(home)
    session.extra["foreign"] = {"the inbox": 0}
    store(home).save(session)
    damage(path_of(home), lambda data: data[: data.index(b'"foreign"')])
    repaired(home, "sessions")
    assert store(home).load("talk").extra["foreign"] == {"a damaged conversation": 4}
    damage(path_of(home), lambda data: data.replace(b'"content": "question 1",', b'"content" '))
    repaired(home, "sessions")
    assert store(home).load("talk").extra["foreign"] == {"a damaged conversation": 4}


def test_a_session_cut_off_inside_a_character_keeps_the_others(home: Home) -> None:
    session = talk(home)
    session.messages.append(Entry("user", "\u597d\u7684 Z\u00fcrich \u597d\u7684"))
    store(home).save(session)
    damage(path_of(home), lambda data: data[: data.rindex("\u7684".encode()) + 1])
    assert look(home, "encoding", fix=True)[0].found == ""
    repaired(home, "sessions")
    assert said(home)[-1] == "\u597d\u7684 Z\u00fcrich \u597d"


@pytest.mark.parametrize("data", [b"", b"\0" * 500, b"not json at all", b'{"version": 2}'])
def test_what_has_no_message_is_kept_apart(home: Home, data: bytes) -> None:
    put(home, "sessions/talk.json", data)
    assert "no message of it" in repaired(home, "sessions").fixed
    assert not path_of(home).exists()
    assert kept(home) == {"sessions/talk.json": data}


def test_looking_moves_nothing_aside(home: Home) -> None:
    put(home, "sessions/talk.json", b"{")
    assert one(home, "sessions").exit_code == Damaged.exit_code
    assert [path.name for path in home.sessions.iterdir()] == ["talk.json"]


def test_a_session_in_use_is_left_to_who_uses_it(home: Home) -> None:
    put(home, "sessions/talk.json", b"{")
    with hold_lock(home.private / "locks" / "session-talk.lock"):
        (result,) = look(home, "sessions", fix=True)
    assert result.state == "fault" and "conversation talk is in use" in result.advice
    assert path_of(home).read_bytes() == b"{"


def test_a_newer_version_is_left_alone(home: Home) -> None:
    data = b'{"version": 3, "talk": ["of another shape"]}'
    put(home, "sessions/talk.json", data)
    (result,) = look(home, "sessions", fix=True)
    assert (result.state, result.exit_code) == ("warning", 0)
    assert "version 3" in result.found and "newer openclaw" in result.advice
    assert path_of(home).read_bytes() == data


# -------- the archive


def archived(home: Home) -> tuple[Session, Path]:
    session = talk(home)
    store(home).compact(session, 4, "what was said")
    return session, home.sessions / "archive" / "talk" / "0001.json"


def test_a_damaged_part_of_the_archive_is_saved_and_counted_anew(home: Home) -> None:
    _, part = archived(home)
    damage(part, lambda data: data[: data.index(b"question 1")])
    assert repaired(home, "sessions").fixed == "2 of its 4 messages could be saved"
    session = store(home).load("talk")
    contents = [entry.content for _, entry in store(home).messages(session)]
    assert contents[:2] == ["question 0", 'answer "0" {"role": 1}']
    assert session.archived == len(contents) - 2


def test_a_missing_part_is_listed_no_longer(home: Home) -> None:
    _, part = archived(home)
    part.unlink()
    assert "no longer lists" in repaired(home, "sessions").fixed
    assert store(home).load("talk").parts == ()
    assert "sessions/talk.json" in kept(home)


def test_a_session_cut_off_before_its_list_finds_its_archive_again(home: Home) -> None:
    archived(home)
    damage(path_of(home), lambda data: data[: data.index(b'"archived"')])
    repaired(home, "sessions")
    session = store(home).load("talk")
    assert (session.archived, len(session.messages)) == (4, 2)
    assert session.compressed_context == "what was said"


# -------- moved aside


def test_what_was_moved_aside_is_put_back_with_its_archive(home: Home) -> None:
    archived(home)
    (home.sessions / "talk.notes.md").write_text("# Notes\n", "utf-8")
    damage(path_of(home), lambda data: data[:-40])
    with pytest.raises(Damaged, match="set aside"):
        store(home).load("talk")
    assert "set aside" in one(home, "aside").found
    assert repaired(home, "aside").fixed.startswith("conversation talk: ")
    session = store(home).load("talk")
    assert (session.archived, len(session.messages)) == (4, 2)
    assert (home.sessions / "talk.notes.md").exists()
    assert not list(home.sessions.rglob("*damaged*"))
    assert len(kept(home)) == 3


def test_a_name_that_was_taken_meanwhile_stays_with_who_has_it(home: Home) -> None:
    talk(home)
    damage(path_of(home), lambda data: data[:-40])
    with pytest.raises(Damaged):
        store(home).load("talk")
    talk(home, exchanges=1)
    repaired(home, "aside")
    assert len(said(home)) == 2
    others = [s for s in store(home).list() if s.id != "talk"]
    assert [(s.title, s.messages) for s in others] == [("question 0 (saved)", 6)]


@needs_git
def test_what_was_moved_aside_is_completed_from_the_last_commit_with_it(home: Home) -> None:
    talk(home)
    committed(home)
    damage(path_of(home), lambda data: data[: data.index(b"question 1")])
    with pytest.raises(Damaged, match="set aside"):
        store(home).load("talk")
    committed(home)  # by now the file is deleted in git
    assert repaired(home, "aside").fixed == "conversation talk: 6 messages saved"
    assert len(said(home)) == 6


@needs_git
def test_the_commit_of_who_has_the_name_by_now_is_not_taken(home: Home) -> None:
    talk(home, exchanges=1)
    damage(path_of(home), lambda data: data[:-10])
    with pytest.raises(Damaged):
        store(home).load("talk")
    talk(home)
    committed(home)
    repaired(home, "aside")
    assert sorted(s.messages for s in store(home).list()) == [2, 6]


def test_what_was_moved_aside_without_a_message_is_kept_apart(home: Home) -> None:
    put(home, "sessions/talk.damaged-20261121-101010.json", b"nothing")
    assert "no message of it" in repaired(home, "aside").fixed
    assert not list(home.sessions.iterdir())
    assert kept(home) == {"sessions/talk.damaged-20261121-101010.json": b"nothing"}


# -------- both sides of a merge


def merged_text(base: Session, ours: list[str], theirs: list[str]) -> str:
    """The file as `git pull` leaves it when both sides have gone on with the session."""

    def lines(said: list[str], day: int) -> list[str]:
        entries = [Entry("user", text, at=f"2026-12-{day:02d}T10:00:00+00:00") for text in said]
        whole = Session(base.id, base.title, messages=[*base.messages, *entries])
        return to_json(whole).splitlines(keepends=True)

    a, b = lines(ours, 2), lines(theirs, 1)
    start = next(n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y)
    end = 2  # the closing brackets of both
    parts = [*a[:start], "<<<<<<< HEAD\n", *a[start:-end], "=======\n", *b[start:-end]]
    return "".join([*parts, ">>>>>>> theirs\n", *a[-end:]])


def test_both_sides_of_a_merge_are_joined_in_the_order_of_time(home: Home) -> None:
    session = talk(home, exchanges=1)
    path = path_of(home)
    path.write_text(merged_text(session, ["mine", "mine too"], ["yours"]), "utf-8")
    assert "conflict markers in line" in one(home, "sessions").found
    assert repaired(home, "sessions").fixed == "both sides joined: 5 messages"
    assert said(home) == ["question 0", 'answer "0" {"role": 1}', "yours", "mine", "mine too"]


def test_reading_both_sides_of_a_merge_moves_them_nowhere(home: Home) -> None:
    session = talk(home, exchanges=1)
    text = merged_text(session, ["mine"], ["yours"])
    path_of(home).write_text(text, "utf-8")
    with pytest.raises(Damaged, match="both sides of a merge") as caught:
        store(home).load("talk")
    assert "openclaw doctor --fix" in caught.value.hint
    assert path_of(home).read_text("utf-8") == text


def test_both_sides_that_were_moved_aside_are_joined(home: Home) -> None:
    text = merged_text(talk(home, exchanges=1), ["mine"], ["yours"])
    path_of(home).unlink()
    put(home, "sessions/talk.damaged-20261121-101010.json", text)
    repaired(home, "aside")
    assert said(home)[-2:] == ["yours", "mine"]


def test_a_merge_that_only_a_person_can_decide_is_told(home: Home) -> None:
    text = '{\n<<<<<<< a\n"messages": [\n=======\n"messages": {}\n>>>>>>> b\n'
    put(home, "sessions/talk.json", text)
    (result,) = look(home, "sessions", fix=True)
    assert result.state == "fault" and "--ours" in result.advice and not result.fixed
    assert path_of(home).read_text("utf-8") == text


def test_sessions_with_different_archives_are_not_joined() -> None:
    part = {"file": "0001.json", "messages": 2, "turns": 1, "at": ""}
    ours, theirs = Session("x", extra={"archived": [part]}), Session("x")
    assert join_sessions(ours, theirs) is None
    assert join_sessions(theirs, Session("x")) is not None


# -------- turns that were killed


def test_a_turn_of_a_killed_process_is_told_and_closed(home: Home) -> None:
    session = talk(home)
    record.Journal.begin(home, Turn("1234abcd", subject="add milk", session=session.id))
    with hold_lock(home.private / "locks" / f"session-{session.id}.lock"):
        assert one(home, "turns").state == "ok"
    assert "'add milk'" in one(home, "turns").found
    (result,) = look(home, "turns", fix=True)
    assert result.fixed
    assert one(home, "turns").state == "ok"


def test_a_record_that_cannot_be_read_is_taken_out(home: Home) -> None:
    aged(put(home, ".openclaw/history/turns/1-1234abcd/turn.jsonl", b"\0\0\0"))
    assert "no record of a turn" in one(home, "turns").found
    repaired(home, "turns")


def test_a_record_whose_first_line_is_on_its_way_is_left(home: Home) -> None:
    path = put(home, ".openclaw/history/turns/1-1234abcd/turn.jsonl", b"")
    put(home, ".openclaw/history/turns/1-1234abcd/running", b"")
    assert one(home, "turns").found == ""
    aged(path)
    with hold_lock(home.private / "locks" / "session-other.lock"):
        (result,) = look(home, "turns", fix=True)
    assert "in use" in result.advice and path.exists()
    (finding,) = turns(View(home))
    begun = record.Record(path.parent, Turn("1234abcd"), mac=path.parent.name)
    begun.add({"version": record.VERSION, "id": "1234abcd"})
    with pytest.raises(OpenclawError, match="can be read by now"):
        assert finding.repair and finding.repair(RepairCopies(home))
    assert path.exists()


def aged(path: Path) -> None:
    for each in (*path.parent.iterdir(), path.parent):
        os.utime(each, (1e9, 1e9))


def test_a_record_that_was_not_written_here_is_told_and_taken_out(home: Home) -> None:
    aged(put(home, ".openclaw/history/turns/1-1234abcd/turn.jsonl", b'{"version": 1}\n'))
    assert "not written by you on this machine" in one(home, "turns").found
    repaired(home, "turns")


def test_a_record_of_a_newer_version_is_left_alone(home: Home) -> None:
    path = put(home, ".openclaw/history/turns/1-1234abcd/turn.jsonl", b'{"version": 9}\n')
    (result,) = look(home, "turns", fix=True)
    assert "version 9" in result.found and path.exists()


# -------- what is saved of any damage


@pytest.mark.parametrize("share", [n / 20 for n in range(21)])
def test_every_whole_message_before_a_cut_is_saved(share: float) -> None:
    messages = [Entry("user" if n % 2 == 0 else "assistant", f"say {n}") for n in range(10)]
    data = to_json(Session("x", "t", messages=messages)).encode()
    cut = data[: int(len(data) * share)]
    whole = sum(cut.count(f'"say {n}",'.encode()) for n in range(10))
    found = rescue(cut, "x")
    texts = [entry.content for entry in found.messages] if found else []
    assert texts[:whole] == [f"say {n}" for n in range(whole)]
    if found:
        assert from_json(to_json(found), "x").messages == found.messages


def test_a_damaged_session_of_version_1_is_saved() -> None:
    items = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    found = rescue(json.dumps(items).encode()[:-3], "x")
    assert found and [entry.content for entry in found.messages] == ["a", "b"]


@pytest.mark.parametrize("indent", [None, 2])
def test_messages_are_found_in_any_order_of_keys_and_not_in_what_a_tool_was_given(
    indent: int | None,
) -> None:
    given = {"id": "c", "tool": "x", "input": {"content": "not said", "role": "user"}}
    items = [{"content": f"say {n}", "role": "user"} for n in range(3)]
    items.insert(1, {"content": "broken", "tool_calls": [given], "role": "assistant"})  # type: ignore[dict-item]
    data = json.dumps({"messages": items}, indent=indent).replace('"broken"', '"broken" "')[:-3]
    found = rescue(data.encode(), "x")
    assert found
    texts = [entry.content for entry in found.messages]
    assert texts[0] == "say 0" and texts[-2:] == ["say 1", "say 2"] and "not said" not in texts


@pytest.mark.parametrize(("broken", "indent"), [("say 1", None), ("say 1", 2), ("say 2", 2)])
def test_what_follows_the_messages_is_kept_when_one_of_them_is_broken(
    broken: str, indent: int | None
) -> None:
    items = [{"role": "user", "content": f"say {n}"} for n in range(3)]
    others = {"foreign": {"a page": 0}, "mine": [{"role": "user", "content": "not said"}]}
    data = json.dumps({"messages": items, **others}, indent=indent)
    data = data.replace(f'"{broken}"', f'"{broken}')
    found = rescue(data.encode(), "x")
    assert found and found.state.foreign == {"a page": 0}
    assert found.extra["mine"] == others["mine"]
    assert "not said" not in [entry.content for entry in found.messages]


def test_rubbish_without_end_is_no_session() -> None:
    assert rescue(b'{"messages": [' + b'{"role": ' * 3000, "x") is None
    assert rescue(b"[" * 100_000, "x") is None
