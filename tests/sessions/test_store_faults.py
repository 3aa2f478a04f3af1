"""Forks, deletions and damage: nobody has another's notes or archive, and nothing is silent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openclaw.agent.after_answer import update_notes
from openclaw.cli.main import run
from openclaw.errors import Damaged, OpenclawError
from openclaw.messages import Entry
from openclaw.sessions.session import ARCHIVED, Session
from openclaw.sessions.session_search import search
from openclaw.sessions.store import SessionStore, notes_path
from tests.fakes.command import CommandLine
from tests.fakes.needs import posix
from tests.fakes.talk import talk

claw = CommandLine("sessions")


def saved(store: SessionStore, count: int = 10, name: str = "long") -> Session:
    """A session with messages "0" to "n"."""
    session = store.new(name)
    for number in range(count):
        session.messages.append(Entry("assistant" if number % 2 else "user", str(number)))
    store.save(session)
    return session


def say(store: SessionStore, session: Session, words: str) -> None:
    """A turn, kept in the notes as the app keeps them."""
    session.messages += [Entry("user", words), Entry("assistant", "ok")]
    update_notes(store.folder, session)
    store.save(session)


def archive(store: SessionStore, name: str = "long") -> Path:
    return store.folder / "archive" / name


def said(session: Session) -> list[str]:
    return [entry.content for entry in session.messages]


def whole(store: SessionStore, session: Session) -> list[str]:
    return [entry.content for _, entry in store.messages(session)]


def below(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


# -------- notes of a fork


PLAN = (
    "Remember that the server is alpha-17.example.com.",
    "Remember that the budget is 4200 euros.",
    "Remember that the codeword is Bluebird-77.",
)


@pytest.mark.parametrize("compacted", [0, 2, 4])
def test_the_notes_of_a_fork_say_nothing_of_what_came_later(
    store: SessionStore, compacted: int
) -> None:
    session = store.new("plan")
    for words in PLAN:
        say(store, session, words)
    if compacted:
        store.compact(session, compacted, "in short")
    fork = store.fork("plan", 4)
    assert not notes_path(store.folder, fork.id).exists()
    say(store, fork, "Remember that the backup is at /srv/backup-3.")
    notes = notes_path(store.folder, fork.id).read_text("utf-8")
    assert "backup-3" in notes
    assert "Bluebird-77" not in notes
    if fork.archived < 4:
        assert "4200 euros" in notes
    assert "Bluebird-77" in notes_path(store.folder, "plan").read_text("utf-8")


@pytest.mark.parametrize("upto", [None, 6])
@pytest.mark.parametrize("compacted", [0, 4, 6])
def test_a_fork_of_the_whole_conversation_has_its_notes(
    store: SessionStore, upto: int | None, compacted: int
) -> None:
    session = store.new("plan")
    for words in PLAN:
        say(store, session, words)
    if compacted:
        store.compact(session, compacted, "in short")
    fork = store.fork("plan", upto)
    notes = notes_path(store.folder, fork.id).read_text("utf-8")
    assert notes == notes_path(store.folder, "plan").read_text("utf-8")
    assert (fork.archived, fork.extra["noted"]) == (compacted, 6)


# -------- damaged, and begun anew under the same name


def test_what_belongs_to_a_damaged_session_is_moved_aside_with_it(store: SessionStore) -> None:
    session = store.new("k")
    for words in PLAN:
        say(store, session, words)
    store.compact(session, 4, "in short")
    file = store.folder / "k.json"
    good = file.read_bytes()
    file.write_bytes(good[:-5])
    with pytest.raises(Damaged, match="set aside") as caught:
        store.load("k")
    fresh = store.new("k")
    say(store, fresh, "Remember that the cat is called Momo.")
    assert "4200 euros" not in notes_path(store.folder, "k").read_text("utf-8")
    store.delete("k")
    (aside,) = store.folder.glob("k.damaged-*.json")
    assert below(store.folder) == sorted(
        [
            *("archive", f"archive/{aside.stem}", f"archive/{aside.stem}/0001.json"),
            *(aside.name, f"{aside.stem}.notes.md"),
        ]
    )
    likewise = f"likewise archive/{aside.stem} and {aside.stem}.notes.md"
    assert f"repair {aside} and name it k.json again, {likewise}" in caught.value.hint
    assert "openclaw doctor --fix" in caught.value.hint
    file.write_bytes(good)
    archive(store, aside.stem).rename(archive(store, "k"))
    mended = store.load("k")
    assert [entry.content for entry in mended.messages] == [PLAN[2], "ok"]
    assert whole(store, mended)[0] == PLAN[0]


def test_two_that_are_damaged_within_a_second_are_both_kept(store: SessionStore) -> None:
    for data in (b"{one", b"{two"):
        store.folder.mkdir(exist_ok=True)
        (store.folder / "k.json").write_bytes(data)
        with pytest.raises(Damaged):
            store.load("k")
    kept = {path.read_bytes() for path in store.folder.glob("k.damaged-*.json")}
    assert kept == {b"{one", b"{two"}


@posix
def test_a_damaged_session_stays_whole_where_its_notes_cannot_be_moved(
    store: SessionStore,
) -> None:
    name = "x" * 225  # with what is added the archive has a name that can be, the notes have not
    session = Session(name, messages=[Entry("user", "one"), Entry("user", "two")])
    store.compact(session, 1, "in short")
    notes_path(store.folder, name).write_text("# Notes\n", "utf-8")
    (store.folder / f"{name}.json").write_bytes(b"{")
    before = below(store.folder)
    with pytest.raises(Damaged, match="cannot be set aside"):
        store.load(name)
    assert below(store.folder) == before


# -------- deleted elsewhere while it is open


def test_a_conversation_that_was_deleted_elsewhere_is_told_once_and_goes_on_as_a_new_one(
    store: SessionStore,
) -> None:
    session = saved(store)
    session.extra |= {"shortened": 2, "noted": 10, "mood": "good"}
    store.compact(session, 4, "in short")
    SessionStore(store.folder, store.locks).delete("long")
    told = "conversation long was deleted or moved by another program, with 4 archived messages"
    with pytest.raises(OpenclawError, match=told) as caught:
        store.refresh(session)
    assert "say it again" in caught.value.hint
    assert below(store.folder) == ["archive"]
    assert not store.refresh(session)
    session.messages.append(Entry("user", "10"))
    store.save(session)
    fresh = store.load("long")
    assert (fresh.archived, set(fresh.extra)) == (0, {"mood"})
    assert whole(store, fresh) == [str(number) for number in range(4, 11)]
    assert store.search("5") and store.problems == []


@pytest.mark.parametrize(
    "change",
    [
        lambda store, session: store.save(session),
        lambda store, session: store.compact(session, 2, "again"),
        lambda store, session: store.restore(session),
    ],
)
def test_one_that_is_deleted_within_a_turn_is_saved_anew_and_that_is_told(
    store: SessionStore, change: Callable[[SessionStore, Session], object]
) -> None:
    session = saved(store)
    store.compact(session, 4, "in short")
    store.compact(session, 2, "in short")
    (store.folder / "long.json").unlink()
    (archive(store) / "0001.json").unlink()
    with pytest.raises(OpenclawError, match=r"4 archived messages; .* saved again"):
        change(store, session)
    assert store.load("long") == session
    assert (session.archived, whole(store, session)) == (2, ["4", "5", "6", "7", "8", "9"])
    store.save(session)


def test_a_file_that_alone_was_deleted_leaves_the_archive_in_its_place(
    store: SessionStore,
) -> None:
    session = saved(store)
    store.compact(session, 4, "in short")
    (store.folder / "long.json").unlink()
    with pytest.raises(OpenclawError, match=r"by another program$"):
        store.refresh(session)
    store.save(session)
    assert whole(store, store.load("long")) == [str(number) for number in range(10)]


def test_a_prompt_in_a_conversation_that_was_deleted_is_not_answered_unasked(
    tmp_path: Path,
) -> None:
    it = talk(tmp_path / "home")
    it.say("My locker is number 4417.", "Noted.")
    SessionStore(it.app.sessions.folder, it.app.sessions.locks).delete(it.session.id)
    with pytest.raises(OpenclawError, match="was deleted or moved"):
        it.say("How are you?")
    assert it.app.sessions.list() == []
    it.say("How are you?", "Fine.")
    assert said(it.app.sessions.load("latest"))[-2:] == ["How are you?", "Fine."]


# -------- forks of an archive


def test_nobody_changes_a_session_while_it_is_forked(store: SessionStore) -> None:
    store.compact(saved(store), 4, "in short")
    with store.writing("long"), pytest.raises(OpenclawError, match="conversation long is in use"):
        store.fork("long")
    assert [summary.id for summary in store.list()] == ["long"]
    fork = store.fork("latest")
    assert whole(store, fork) == [str(number) for number in range(10)]


@pytest.mark.parametrize("upto", [[], ["--at", "9"]])
def test_a_fork_of_an_archive_with_a_missing_part_has_the_rest_and_says_so(
    store: SessionStore, upto: list[str]
) -> None:
    session = saved(store)
    for _ in range(3):
        store.compact(session, 2, "in short")
    (archive(store) / "0002.json").unlink()
    out = claw("fork", "long", *upto)
    assert "openclaw: messages 3 to 4 are missing and not in the fork\n" in claw.err
    fork = store.load(out.split(":")[0])
    assert [part.file for part in fork.parts] == ["0001.json", "0003.json"]
    end = 9 if upto else 10
    assert whole(store, fork) == [str(n) for n in range(end) if n not in (2, 3)]
    assert store.problems == []


def test_a_fork_ends_at_the_message_of_that_number_when_a_part_was_edited(
    store: SessionStore,
) -> None:
    session = saved(store)
    for _ in range(2):
        store.compact(session, 4, "in short")
    first = archive(store) / "0001.json"
    document = json.loads(first.read_bytes())
    document["messages"] = document["messages"][:2]
    first.write_text(json.dumps(document), "utf-8")
    for end in (1, 2, 4, 6, 8, 9):
        numbered = [entry.content for number, entry in store.messages(session) if number <= end]
        assert whole(store, store.fork("long", end)) == numbered
    assert said(store.fork("long", 6)) == ["0", "1", "4", "5"]


# -------- deleting


@posix
def test_deleting_does_not_follow_a_linked_archive(
    store: SessionStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store.compact(saved(store), 4, "in short")
    outside = tmp_path / "outside"
    archive(store).rename(outside)
    (outside / "precious.txt").write_text("x", "utf-8")
    archive(store).symlink_to(outside)
    assert run(["sessions", "delete", "long", "--yes"]) == 0
    assert below(outside) == ["0001.json", "precious.txt"]
    assert below(store.folder) == ["archive"]
    assert f"what it led to was left: {outside}" in " ".join(capsys.readouterr().err.split())


@posix
@pytest.mark.parametrize("target", ["nowhere", "long"])
def test_a_link_that_leads_nowhere_is_deleted(store: SessionStore, target: str) -> None:
    saved(store)
    archive(store).parent.mkdir()
    archive(store).symlink_to(archive(store, target))
    store.delete("long")
    assert below(store.folder) == ["archive"]


def test_deleting_removes_parts_only_and_leaves_what_else_lies_there(store: SessionStore) -> None:
    store.compact(saved(store), 4, "in short")
    (archive(store) / ".openclaw-0123456789ab.tmp").write_text("half a part", "utf-8")
    (archive(store) / "mine.txt").write_text("x", "utf-8")
    (archive(store) / "0002.json").mkdir()
    out = claw("delete", "long", "--yes")
    assert out == "deleted long\n"
    assert f"{archive(store)} was left" in claw.err
    left = ["archive", "archive/long", "archive/long/0002.json", "archive/long/mine.txt"]
    assert below(store.folder) == left
    store.compact(saved(store), 4, "in short")
    assert whole(store, store.load("long")) == [str(number) for number in range(10)]


def test_a_file_in_place_of_the_archive_is_left(store: SessionStore) -> None:
    saved(store)
    archive(store).parent.mkdir()
    archive(store).write_text("mine", "utf-8")
    store.delete("long")
    assert store.problems == [f"{archive(store)} was left: it is no folder"]
    assert below(store.folder) == ["archive", "archive/long"]


# -------- many compactions


def test_a_search_reads_the_list_of_parts_once_a_conversation(store: SessionStore) -> None:
    looks = []

    class Listed(list[object]):
        def __iter__(self) -> Iterator[object]:
            looks.append(1)
            return super().__iter__()

    session = saved(store, 60)
    for _ in range(25):
        store.compact(session, 2, "in short")
    session.messages += [Entry("user", "a fox")] * 50
    session.extra[ARCHIVED] = Listed(session.extra[ARCHIVED])
    assert len(search(store.talks(session), "fox")) == 50
    assert len(looks) <= 4


@posix
def test_a_file_that_is_no_plain_one_is_told_with_what_to_do(store: SessionStore) -> None:
    saved(store)
    (store.folder / "other.json").symlink_to(store.folder / "long.json")
    assert [each.id for each in store.list()] == ["long"]
    (problem,) = store.problems
    assert "is a link" in problem and problem.endswith("(move it to another folder)")
