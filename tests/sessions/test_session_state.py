"""The state of a session: read from any JSON, and written without touching what others wrote."""

from __future__ import annotations

import json
from typing import Any

import pytest

from openclaw.sessions.session import Session, SessionState, from_json, to_json

ODD: list[Any] = [None, True, -7, 0.5, "x", [1], {"a": 1}]


@pytest.mark.parametrize("value", ODD)
def test_values_of_any_type_are_read_and_written_back(value: Any) -> None:
    names = SessionState.__dataclass_fields__
    text = to_json(Session("x", extra=dict.fromkeys(("newer", *names), value)))
    session = from_json(text, "x")
    assert session.state.as_json().keys() <= {*names}
    assert (session.parts, session.shortened, session.turns) == ((), 0, 0)
    assert to_json(session) == text


def test_a_change_leaves_other_keys_and_the_order_as_they_are() -> None:
    session = Session("x", extra={"noted": 1, "newer": 2, "head": "?"})
    session.update_state(SessionState(named=["a"], noted=3))
    assert list(json.loads(to_json(session)).items())[-4:] == [
        ("noted", 3),
        ("newer", 2),
        ("head", "?"),
        ("named", ["a"]),
    ]
    session.forget("noted", "head")
    assert list(session.extra) == ["newer", "named"]


def test_a_copy_is_changed_alone() -> None:
    session = Session("x", extra={"shortened": 2})
    session.copy().update_state(SessionState(shortened=5, captured=1))
    assert (session.shortened, session.state.captured) == (2, None)
