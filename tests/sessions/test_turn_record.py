"""The record of a turn: read from any JSON, and written without touching what others wrote."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw.messages import Entry, TurnRecord

ODD: list[Any] = [None, True, 7, 0.5, "x", [1], {"a": 1}]


@pytest.mark.parametrize("value", ODD)
def test_a_value_of_any_type_is_read(value: Any) -> None:
    names = TurnRecord.__dataclass_fields__
    record = TurnRecord.from_json(dict.fromkeys((*names, "newer"), value))
    assert record.as_json().keys() <= {*names}
    assert record.model in (None, "", value) and record.window in (None, 0, value)


def test_what_is_not_noted_is_not_written() -> None:
    assert TurnRecord.from_json({"model": None}).as_json() == {}
    noted = TurnRecord(skill="", found=False, cut=[], stop="answer").as_json()
    assert list(noted.items()) == [("cut", []), ("found", False), ("skill", ""), ("stop", "answer")]


def test_a_change_leaves_other_keys_and_the_order_as_they_are() -> None:
    entry = Entry("user", "x", record_json={"newer": 1, "head": 7, "cut": "?", "model": ["m"]})
    made = entry.with_record(TurnRecord(head="ab", refused=True))
    assert list(made.record_json.items()) == [
        ("newer", 1),
        ("head", "ab"),
        ("cut", "?"),
        ("model", ["m"]),
        ("refused", True),
    ]
    assert made.record.refused and not entry.record.refused
