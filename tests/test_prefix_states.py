"""The folder of saved prefix states: whole files only, of limited size, never an error."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from openclaw.models.prefix import PrefixStates, state_key


def _saved(states: PrefixStates, key: str, size: int = 1000) -> Path:
    name = states.new_name(key)
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
    _saved(states, "one")
    assert not old.exists()
    assert running.exists()


def test_a_state_that_another_process_took_away_is_no_error(states: PrefixStates) -> None:
    states.accept("one", "never-written.part")
    states.discard("one")
    assert states.find("one") is None


def test_a_folder_that_cannot_be_made_is_said_by_false(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert not PrefixStates(tmp_path / "file" / "kv", 1).prepare()
