"""`@frozen` gives what `@dataclass(frozen=True, slots=True)` gives."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, dataclass, field, replace
from typing import Any

import pytest

from openclaw.frozen import frozen


class Body:
    name: str
    size: int = 1
    parts: list[int] = field(default_factory=list)
    seconds: float = field(default=0.0, compare=False)
    secret: str = field(default="", repr=False)


def made_by(decorate: Callable[[type], type]) -> Any:
    return decorate(type("Named", (), dict(vars(Body))))


LIGHT = made_by(frozen)
USUAL = made_by(dataclass(frozen=True, slots=True))


@frozen
class Point:
    x: int
    y: int = 0

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("left of everything")


@frozen
class Named(Point):
    name: str = ""


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (("a",), {}),
        (("a", 2, [3], 4.0, "x"), {}),
        ((), {"name": "a", "parts": [1]}),
        (("a",), {"secret": "x", "size": 9}),
    ],
)
def test_an_object_is_as_one_of_a_dataclass(given: tuple[Any, ...], named: dict[str, Any]) -> None:
    light, usual = LIGHT(*given, **named), USUAL(*given, **named)
    assert repr(light) == repr(usual)
    assert asdict(light) == asdict(usual)
    assert asdict(replace(light, size=7)) == asdict(replace(usual, size=7))
    assert light == LIGHT(*given, **named)
    assert light != usual


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ((), {}),
        ((1, 2, 3, 4, 5, 6), {}),
        (("a",), {"name": "b"}),
        (("a",), {"color": "red"}),
        ((), {"size": 1}),
    ],
)
def test_wrong_values_are_refused(given: tuple[Any, ...], named: dict[str, Any]) -> None:
    for each in (LIGHT, USUAL):
        with pytest.raises(TypeError):
            each(*given, **named)


def test_an_object_does_not_change_and_may_be_a_key() -> None:
    point = Point(1)
    with pytest.raises(FrozenInstanceError):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del point.x
    with pytest.raises(AttributeError):
        object.__setattr__(point, "z", 1)
    assert {point: "here"}[Point(1, 0)] == "here"


def test_what_does_not_compare_makes_no_difference() -> None:
    assert LIGHT("a", seconds=1.0) == LIGHT("a", seconds=2.0)
    assert LIGHT("a") != LIGHT("b")


def test_each_object_has_a_list_of_its_own() -> None:
    assert LIGHT("a").parts is not LIGHT("a").parts


def test_a_class_may_check_its_values_and_have_heirs() -> None:
    with pytest.raises(ValueError, match="left"):
        Named(-1)
    assert repr(Named(1, name="home")) == "Named(x=1, y=0, name='home')"
    assert Named(1) != Point(1)
    match Named(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))]
)
def test_an_object_can_be_copied_and_saved(copied: Callable[[Any], Any]) -> None:
    assert copied(Named(1, 2, "home")) == Named(1, 2, "home")
