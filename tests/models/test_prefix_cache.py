"""The folder of saved prefix states: whole files only, of limited size, never an error."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from openclaw.models.prefix_cache import PrefixStates, session_key, share_read, state_key


def _saved(states: PrefixStates, key: str, size: int = 1000) -> Path:
    name = states.new_name()
    (states.folder / name).write_bytes(os.urandom(size))
    states.accept(key, name)
    return states.folder / f"{key}.kv"


@pytest.fixture
def states(tmp_path: Path) -> PrefixStates:
    states = PrefixStates(tmp_path / "kv", megabytes=1)
    assert states.prepare()
    return states


def test_a_saved_state_is_found_again_under_its_key(states: PrefixStates) -> None:
    path = _saved(states, "one")
    assert states.find("one") == path.name
    assert states.find("two") is None


def test_the_key_depends_on_every_part_and_on_where_parts_end() -> None:
    assert state_key("ab", "c") != state_key("a", "bc")
    assert state_key("a", "b") == state_key("a", "b")


@pytest.mark.parametrize("damage", ["cut", "longer", "flipped", "empty"])
def test_a_damaged_state_is_deleted_and_not_given_to_the_engine(
    states: PrefixStates, damage: str
) -> None:
    path = _saved(states, "one")
    data = path.read_bytes()
    flipped = data[:500] + bytes([data[500] ^ 1]) + data[501:]
    path.write_bytes(
        {"cut": data[:-300], "longer": data + b"x", "flipped": flipped, "empty": b""}[damage]
    )
    assert states.find("one") is None
    assert not path.exists()


def test_the_least_recently_used_states_go_when_the_folder_is_full(states: PrefixStates) -> None:
    for n in range(3):
        old = _saved(states, f"old{n}", 300_000)
        os.utime(old, (time.time() - 1000 + n, time.time() - 1000 + n))
    assert states.find("old0")
    _saved(states, "new", 300_000)
    kept = sorted(path.stem for path in states.folder.iterdir())
    assert kept == ["new", "old0", "old2"]


def test_a_state_larger_than_the_folder_may_be_is_not_kept(states: PrefixStates) -> None:
    _saved(states, "huge", 1_500_000)
    assert list(states.folder.iterdir()) == []


def test_leavings_of_a_killed_process_are_swept_and_running_ones_left(
    states: PrefixStates,
) -> None:
    old, running = states.folder / "a-1-x.part", states.folder / "b-2-y.part"
    for path in (old, running):
        path.write_bytes(b"begun")
    os.utime(old, (time.time() - 7200, time.time() - 7200))
    assert states.prepare()
    assert not old.exists()
    assert running.exists()


def test_what_a_dead_process_began_is_swept_when_the_folder_is_opened(
    states: PrefixStates,
) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    names = [f"{ended.pid}-x.part", states.new_name(), f"{10**30}-x.part", "a-b.part"]
    for name in names:
        (states.folder / name).write_bytes(b"begun")
    assert states.prepare()
    left = {path.name for path in states.folder.iterdir()}
    assert left == set(names[1 if os.name != "nt" else 0 :])


def test_a_disk_that_the_states_could_fill_has_no_room_for_them(tmp_path: Path) -> None:
    assert not PrefixStates(tmp_path, megabytes=10**9).has_room()
    assert not PrefixStates(tmp_path / "none", megabytes=1).has_room()


def test_a_state_that_another_process_took_away_is_no_error(states: PrefixStates) -> None:
    states.accept("one", "never-written.part")
    states.discard("one.kv")
    assert states.find("one") is None


def test_a_folder_that_cannot_be_made_is_said_by_false(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert not PrefixStates(tmp_path / "file" / "kv", 1).prepare()


def test_a_conversations_state_is_named_after_it_so_that_it_can_be_deleted_with_it(
    states: PrefixStates,
) -> None:
    mine, other = session_key("trip", "model", "head"), session_key("trip-2", "model", "head")
    _saved(states, mine)
    _saved(states, other)
    _saved(states, state_key("model", "head"))
    assert [path.stem for path in states.folder.glob("s-trip.*.kv")] == [mine]


def test_the_key_of_a_conversation_depends_on_model_and_head() -> None:
    keys = {session_key("trip", *parts) for parts in (("a", "b"), ("a", "c"), ("d", "b"))}
    assert len(keys) == 3
    assert all(key.startswith("s-trip.") for key in keys)


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a\\b", "a:b", "a\n", ".a", "a."])
def test_no_file_is_named_after_what_cannot_be_a_files_name(name: str) -> None:
    assert session_key(name, "model") == ""


def test_of_a_conversation_only_the_newest_state_is_kept(states: PrefixStates) -> None:
    old = _saved(states, session_key("trip", "first head"))
    other = _saved(states, session_key("trip-2", "first head"))
    head = _saved(states, state_key("first head"))
    new = _saved(states, session_key("trip", "second head"))
    assert not old.exists()
    assert other.exists() and head.exists() and new.exists()


def test_a_state_that_is_used_stays_longest(states: PrefixStates) -> None:
    for n, key in enumerate(("head", "later")):
        path = _saved(states, key, 400_000)
        os.utime(path, (time.time() - 1000 + n, time.time() - 1000 + n))
    states.touch("head")
    states.touch("never saved")
    _saved(states, "new", 400_000)
    assert sorted(path.stem for path in states.folder.iterdir()) == ["head", "new"]


WRITER = """
import os, sys
from pathlib import Path
from openclaw.models.prefix_cache import PrefixStates
states = PrefixStates(Path(sys.argv[1]), megabytes=50)
for n in range(60):
    name = states.new_name()
    (states.folder / name).write_bytes(os.urandom(1) * (20_000 + n))
    states.accept("shared", name)
"""


def test_processes_that_save_the_same_state_never_leave_half_a_one(states: PrefixStates) -> None:
    command = [sys.executable, "-c", WRITER, str(states.folder)]
    _saved(states, "shared")
    writers = [subprocess.Popen(command) for _ in range(2)]
    looks = 0
    while any(writer.poll() is None for writer in writers):
        looks += 1
        assert states.find("shared") == "shared.kv"
    assert [writer.wait() for writer in writers] == [0, 0]
    assert looks > 10
    assert [path.name for path in states.folder.iterdir()] == ["shared.kv"]


@pytest.mark.parametrize(
    ("chunk", "share"),
    [
        ({"prompt_progress": {"total": 900, "cache": 100, "processed": 500}}, 0.5),
        ({"prompt_progress": {"total": 900, "processed": 900}}, 1.0),
        ({"prompt_progress": {"total": 900, "cache": 900, "processed": 900}}, None),
        ({"choices": []}, None),
    ],
)
def test_the_share_that_was_read_leaves_out_what_was_known(
    chunk: dict[str, Any], share: float | None
) -> None:
    assert share_read(chunk) == share
