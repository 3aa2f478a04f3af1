"""Whatever stands in the file of a profile, it keeps nobody from using the model."""

from __future__ import annotations

import json
import os
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from openclaw.cli.commands.models.test import blocks
from openclaw.models.profile import (
    file_of,
    known_profiles,
    read_profile,
    with_profile,
    write_profile,
)
from tests.models.test_profile import CARD, FULL


def _damaged(**changed: Any) -> bytes:
    return json.dumps({**FULL.to_json(), **changed}).encode()


GOOD = _damaged()
DAMAGES = {
    "empty": b"",
    "a list": b"[]",
    "null": b"null",
    "half": GOOD[: len(GOOD) // 2],
    "zeros": b"\0" * 5000,
    "no text": b"\xff\xfe\x00\xd8" * 9,
    "deep": b"[" * 50_000,
    "deep inside": GOOD.replace(b"8192", b'{"a":' * 20_000),
    "large": GOOD + b" " * 5_000_000,
    "long number": GOOD.replace(b"8192", b"9" * 5000),
    "larger than a float": GOOD.replace(b"8192", b"9" * 400),
    "endless number": GOOD.replace(b"8192", b"Infinity"),
    "endless score": _damaged(native={"right": float("inf"), "of": 3}),
    "no number": _damaged(read_rate=float("nan")),
    "negative window": _damaged(window_fits=-5),
    "negative speed": _damaged(read_rate=-1.5),
    "negative score": _damaged(native={"right": -1, "of": 3}),
    "more right than asked": _damaged(native={"right": 4, "of": 3}),
    "text for a number": _damaged(window_fits="much"),
    "truth for a number": _damaged(window_fits=True),
    "fraction": _damaged(window_fits=0.5),
    "list for a score": _damaged(native=[1, 2]),
    "null for a score": _damaged(native=None),
    "number for tasks": _damaged(tasks=5),
    "text for a task": _damaged(tasks={"right tool": "yes"}),
    "half a character": _damaged(call_shape="\ud800"),
    "other version": _damaged(version=2),
    "no name": GOOD.replace(b'"model"', b'"models"'),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_profile_that_cannot_be_understood_is_none_and_in_nobodys_way(
    tmp_path: Path, damage: bytes
) -> None:
    file_of(tmp_path, FULL.model, FULL.digest).write_bytes(damage)
    assert read_profile(tmp_path, FULL.model, FULL.digest) is None
    assert known_profiles(tmp_path) == []
    assert with_profile(CARD, tmp_path) == CARD
    write_profile(tmp_path, replace(FULL, complete=False))
    assert known_profiles(tmp_path) == [replace(FULL, complete=False)]


@pytest.mark.parametrize("seed", range(8))
def test_whatever_happens_to_the_bytes_a_model_can_be_used_and_the_list_be_shown(
    tmp_path: Path, seed: int
) -> None:
    """Bytes changed, taken out and doubled at random places."""
    chance = random.Random(seed)
    path = file_of(tmp_path, FULL.model, FULL.digest)
    for _ in range(60):
        raw = bytearray(GOOD)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(raw))
            piece = [
                bytes([chance.choice(b'0-9e"[]{}:,.IN\\\0\x1b\xff')]),
                b"",
                raw[at : at + 9] * 2,
            ]
            raw[at : at + chance.randint(1, 9)] = chance.choice(piece)
        path.write_bytes(raw)
        card = with_profile(CARD, tmp_path)
        assert 2048 <= card.window <= CARD.window
        blocks(known_profiles(tmp_path), 80).encode()


@pytest.mark.skipif(os.name == "nt", reason="no such files there")
def test_what_is_no_file_is_no_profile(tmp_path: Path) -> None:
    path = file_of(tmp_path, FULL.model, FULL.digest)
    os.mkfifo(path)
    assert with_profile(CARD, tmp_path) is CARD
    assert known_profiles(tmp_path) == []
    path.unlink()
    path.mkdir()
    assert with_profile(CARD, tmp_path) is CARD
