"""The archive: what is compacted is kept whole, whatever happens meanwhile, and comes back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from openclaw.errors import Damaged, OpenclawError, UsageError
from openclaw.messages import Entry, ToolUse
from openclaw.sessions.export import export_markdown
from openclaw.sessions.session import Session, from_json
from openclaw.sessions.store import SessionStore
from tests.fakes.needs import posix


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / "sessions", tmp_path / "private" / "locks")


def saved(store: SessionStore, count: int, name: str = "long") -> Session:
    """A session of so many messages, "0" to "n"; each answer has a call."""
    session = store.new(name, "fake/one")
    for number in range(count):
        call = ToolUse(
            str(number), "read_file", {"path": f"f{number}"}, f"result {number}", ok=True
        )
        said = Entry("user", str(number))
        answer = Entry("assistant", str(number), tool_calls=(call,), hint="Now answer.")
        session.messages.append(answer if number % 2 else said)
    store.save(session)
    return session


def whole(store: SessionStore, session: Session) -> list[str]:
    return [entry.content for _, entry in store.messages(session)]


def archive(store: SessionStore, name: str = "long") -> Path:
    return store.folder / "archive" / name


def parts(store: SessionStore, name: str = "long") -> list[str]:
    return sorted(path.name for path in archive(store, name).iterdir())


def numbers(count: int) -> list[str]:
    return [str(number) for number in range(count)]


# -------- compact


def test_what_is_compacted_goes_to_the_archive_as_it_was(store: SessionStore) -> None:
    session = saved(store, 10)
    before = list(session.messages)
    session.extra |= {"shortened": 3, "head": {"sha256": "x"}, "history_from": 2, "mood": "good"}
    session.compressed_context = "older"
    store.compact(session, 4, "in short")
    assert session == store.load("long")
    assert (session.messages, session.compressed_context) == (before[4:], "in short")
    assert (session.archived, session.turns) == (4, 5)
    assert set(session.extra) == {"archived", "shortened", "mood"}
    assert session.extra["shortened"] == 0
    (listed,) = session.extra["archived"]
    assert set(listed) == {"file", "messages", "turns", "at"}
    assert (listed["file"], listed["messages"], listed["turns"]) == ("0001.json", 4, 2)
    text = (archive(store) / "0001.json").read_text("utf-8")
    document = from_json(text, "long")
    assert (document.messages, document.compressed_context) == (before[:4], "older")
    assert document.extra == {"part": 1, "first": 1, "shortened": 3}
    assert json.loads(text)["version"] == 2


def test_the_parts_are_numbered_and_the_whole_conversation_is_in_order(store: SessionStore) -> None:
    session = saved(store, 12)
    for upto in (2, 4, 3):
        store.compact(session, upto, f"without {upto}")
    assert parts(store) == ["0001.json", "0002.json", "0003.json"]
    assert [(part.first, part.last) for part in session.parts] == [(1, 2), (3, 6), (7, 9)]
    third = from_json((archive(store) / "0003.json").read_text("utf-8"), "long")
    assert third.extra == {"part": 3, "first": 7}
    assert [(n, e.content) for n, e in store.messages(session)] == [
        (number + 1, str(number)) for number in range(12)
    ]
    assert (session.archived, session.turns) == (9, 6)
    session.messages.append(Entry("user", "12"))
    store.save(session)
    assert whole(store, store.load("long")) == numbers(13)


def test_what_was_shortened_is_counted_from_the_new_beginning(store: SessionStore) -> None:
    session = saved(store, 10)
    session.extra["shortened"] = 7
    store.compact(session, 4, "in short")
    assert session.extra["shortened"] == 3


@pytest.mark.parametrize("upto", [0, -1, 5])
def test_only_messages_that_are_there_can_be_compacted(store: SessionStore, upto: int) -> None:
    session = saved(store, 4)
    with pytest.raises(ValueError):
        store.compact(session, upto, "in short")
    assert not archive(store).exists()


def test_a_part_that_a_killed_process_left_is_written_over(store: SessionStore) -> None:
    session = saved(store, 8)
    store.compact(session, 6, "never saved")
    left = (archive(store) / "0001.json").read_bytes()
    store.delete("long")
    session = saved(store, 8)
    archive(store).mkdir(parents=True)
    (archive(store) / "0001.json").write_bytes(left)
    store.compact(session, 4, "in short")
    assert parts(store) == ["0001.json"]
    assert whole(store, store.load("long")) == numbers(8)


def test_a_part_that_an_editor_took_out_of_the_list_is_never_written_over(
    store: SessionStore,
) -> None:
    session = saved(store, 8)
    store.compact(session, 4, "in short")
    kept = (archive(store) / "0001.json").read_bytes()
    del session.extra["archived"]
    store.save(session)
    store.compact(session, 2, "in short")
    assert parts(store) == ["0001.json", "0002.json"]
    assert (archive(store) / "0001.json").read_bytes() == kept
    assert whole(store, session) == ["4", "5", "6", "7"]


@pytest.mark.parametrize(
    "listed",
    [
        None,
        7,
        {"file": "0001.json"},
        [7, None, {}, {"file": "../../x.json", "messages": 3}, {"file": "0001.json"}],
        [{"file": "0001.json", "messages": "4"}, {"file": "0001.json", "messages": True}],
        [{"file": ["0001.json"], "messages": 4}, {"file": "0001.json", "messages": -4}],
    ],
)
def test_rubbish_in_the_list_of_parts_is_passed_over(store: SessionStore, listed: Any) -> None:
    session = saved(store, 4)
    session.extra["archived"] = listed
    store.save(session)
    session = store.load("long")
    assert (session.archived, session.turns, session.parts) == (0, 2, ())
    assert whole(store, session) == numbers(4)
    store.compact(session, 2, "in short")
    assert whole(store, store.load("long")) == numbers(4)


def test_a_session_that_another_program_changed_is_kept_beside_it_and_not_compacted(
    store: SessionStore,
) -> None:
    session = saved(store, 8)
    store.compact(session, 2, "in short")
    (store.folder / "long.notes.md").write_text("# Notes\n", "utf-8")
    theirs = store.load("long")
    theirs.messages.append(Entry("user", "theirs"))
    store.save(theirs)
    with pytest.raises(OpenclawError, match="changed by another program"):
        store.compact(session, 2, "again")
    assert session.id != "long"
    assert whole(store, store.load(session.id)) == numbers(8)
    assert whole(store, store.load("long")) == [*numbers(8), "theirs"]
    assert (store.folder / f"{session.id}.notes.md").exists()


# -------- restore


def test_a_compaction_is_undone(store: SessionStore) -> None:
    session = saved(store, 9)
    session.extra["shortened"] = 5
    session.compressed_context = "older"
    store.save(session)
    before = (store.folder / "long.json").read_bytes()
    store.compact(session, 6, "in short")
    assert store.restore(session) == 6
    assert (store.folder / "long.json").read_bytes() == before
    assert not archive(store).exists()
    with pytest.raises(UsageError, match="nothing of conversation long was compacted"):
        store.restore(session)


def test_compactions_are_undone_one_by_one_with_what_was_said_since(store: SessionStore) -> None:
    session = saved(store, 9)
    store.compact(session, 3, "one")
    store.compact(session, 4, "two")
    session.messages.append(Entry("user", "9"))
    store.save(session)
    assert store.restore(session) == 4
    assert (session.compressed_context, session.archived, parts(store)) == ("one", 3, ["0001.json"])
    assert "shortened" not in session.extra
    assert store.restore(session) == 3
    assert [entry.content for entry in store.load("long").messages] == numbers(10)


def test_nothing_changes_when_the_part_to_restore_cannot_be_read(store: SessionStore) -> None:
    session = saved(store, 6)
    store.compact(session, 4, "in short")
    (archive(store) / "0001.json").write_bytes(b"{")
    before = (store.folder / "long.json").read_bytes()
    with pytest.raises(Damaged, match="messages 1 to 4 of conversation long cannot be read"):
        store.restore(session)
    assert (store.folder / "long.json").read_bytes() == before
    assert session.archived == 4


# -------- the rest of the store


def test_a_damaged_part_is_told_and_the_rest_is_shown_and_searched(store: SessionStore) -> None:
    session = saved(store, 9)
    for _ in range(3):
        store.compact(session, 2, "in short")
    (archive(store) / "0002.json").write_bytes(b"\xff")
    (archive(store) / "0003.json").unlink()
    text = export_markdown(session, store.archived(session))
    assert "(Messages 3 to 4 are in the archive and cannot be read.)" in text
    assert text.index("result 1") < text.index("Messages 3 to 4") < text.index("result 7")
    assert len(store.problems) == 2
    assert "messages 3 to 4 of conversation long cannot be read" in store.problems[0]
    assert [(hit.number, hit.archived) for hit in store.search("result")] == [(8, False), (2, True)]
    assert len(store.problems) == 2
    assert len(store.list()) == 1
    assert store.problems == []


def test_the_list_counts_archived_messages_and_the_markdown_has_them_first(
    store: SessionStore,
) -> None:
    session = saved(store, 8)
    store.compact(session, 4, "They counted to three.")
    assert [summary.messages for summary in store.list()] == [8]
    text = export_markdown(session, store.archived(session))
    places = [
        text.index(words)
        for words in (
            "result 1",
            "result 3",
            "(Messages 1 to 4 are in the archive. The conversation goes on with message 5.)",
            "## Earlier, in short",
            "They counted to three.",
            "result 5",
        )
    ]
    assert places == sorted(places)


def test_a_compacted_session_is_continued_renamed_and_the_latest(store: SessionStore) -> None:
    session = saved(store, 6)
    store.compact(session, 4, "in short")
    store.rename("long", "Counting")
    latest = store.load("latest")
    assert (latest.id, latest.title, latest.archived) == ("long", "Counting", 4)
    mine = store.load("counting")
    latest.messages.append(Entry("user", "6"))
    store.save(latest)
    assert store.refresh(mine)
    assert whole(store, mine) == numbers(7)


def test_deleting_leaves_nothing_of_a_session_and_all_of_others(
    store: SessionStore, tmp_path: Path
) -> None:
    states = tmp_path / "private" / "cache" / "kv"
    states.mkdir(parents=True)
    for name in ("s-long.abc.kv", "s-long.def.kv", "s-longer.abc.kv", "abc.kv"):
        (states / name).write_bytes(b"x")
    for name in ("long", "longer"):
        store.compact(saved(store, 6, name), 4, "in short")
        (store.folder / f"{name}.notes.md").write_text("# Notes\n", "utf-8")
    store.delete("long")
    left = sorted(path.relative_to(store.folder).as_posix() for path in store.folder.rglob("*"))
    assert left == [
        *("archive", "archive/longer", "archive/longer/0001.json"),
        *("longer.json", "longer.notes.md"),
    ]
    assert sorted(path.name for path in states.iterdir()) == ["abc.kv", "s-longer.abc.kv"]


@pytest.mark.parametrize(
    ("upto", "live", "archived"),
    [(None, 4, 6), (9, 3, 6), (7, 1, 6), (6, 6, 0), (5, 5, 0), (1, 1, 0)],
)
def test_a_fork_counts_over_the_whole_conversation(
    store: SessionStore, upto: int | None, live: int, archived: int
) -> None:
    source = saved(store, 10)
    (store.folder / "long.notes.md").write_text("# Notes\n", "utf-8")
    store.compact(source, 2, "one")
    store.compact(source, 4, "two")
    source.extra["shortened"] = 2
    store.save(source)
    fork = store.load(store.fork("long", upto).id)
    assert (len(fork.messages), fork.archived) == (live, archived)
    assert whole(store, fork) == numbers(live + archived)
    assert fork.compressed_context == ("two" if archived else "")
    assert fork.shortened == (min(2, live) if archived else 0)
    assert (store.folder / f"{fork.id}.notes.md").exists() == (upto is None)
    assert fork.extra["forked_from"] == {"id": "long", "messages": live + archived}
    store.delete("long")
    assert whole(store, fork) == numbers(live + archived)


def test_a_fork_past_the_end_is_wrong_usage_and_says_how_many_there_are(
    store: SessionStore,
) -> None:
    store.compact(saved(store, 10), 6, "in short")
    for upto in (0, 11, -1):
        with pytest.raises(UsageError, match="10 messages"):
            store.fork("long", upto)


def test_a_fork_into_a_damaged_part_is_refused_and_one_behind_it_is_made(
    store: SessionStore,
) -> None:
    store.compact(saved(store, 10), 6, "in short")
    (archive(store) / "0001.json").write_bytes(b"{")
    with pytest.raises(Damaged):
        store.fork("long", 5)
    assert [summary.id for summary in store.list()] == ["long"]
    assert len(store.fork("long", 8).messages) == 2


# -------- faults and kills


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
def test_an_archive_that_is_read_only_leaves_the_session_as_it_was(store: SessionStore) -> None:
    session = saved(store, 6)
    archive(store).mkdir(parents=True)
    archive(store).chmod(0o500)
    with pytest.raises(OpenclawError, match="read-only"):
        store.compact(session, 4, "in short")
    archive(store).chmod(0o700)
    assert session == store.load("long")
    assert len(session.messages) == 6


def test_an_archive_in_whose_place_a_file_lies_leaves_the_session_as_it_was(
    store: SessionStore,
) -> None:
    session = saved(store, 6)
    (store.folder / "archive").write_text("mine", "utf-8")
    with pytest.raises(OpenclawError, match="cannot write") as caught:
        store.compact(session, 4, "in short")
    assert caught.value.exit_code == 1
    assert session == store.load("long")
    assert whole(store, session) == numbers(6)


FULL_DISK = (
    "import resource, sys; from pathlib import Path\n"
    "from openclaw.errors import OpenclawError\n"
    "from openclaw.sessions.store import SessionStore\n"
    "store = SessionStore(Path(sys.argv[1]), Path(sys.argv[2]))\n"
    "session = store.load('long')\n"
    "limit = int(sys.argv[3])\n"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))\n"
    "try: store.compact(session, 6, 's' * 3000)\n"
    "except OpenclawError as error: print(error.exit_code, error)\n"
    "assert len(session.messages) == 8 and 'archived' not in session.extra\n"
)


@posix
@pytest.mark.parametrize(("limit", "file"), [(500, "0001.json"), (3000, "long.json")])
def test_a_full_disk_leaves_the_session_as_it_was(
    store: SessionStore, limit: int, file: str
) -> None:
    session = saved(store, 8)
    command = [sys.executable, "-c", FULL_DISK, str(store.folder), str(store.locks), str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("1 cannot write")
    assert file in done.stdout
    assert store.load("long") == session
    store.compact(session, 4, "in short")
    assert parts(store) == ["0001.json"]
    assert whole(store, store.load("long")) == numbers(8)
