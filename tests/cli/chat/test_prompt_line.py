"""A long pasted text is folded in the input line, and becomes material as piped text does."""

from __future__ import annotations

import pytest

from openclaw.cli.chat.prompt_line import Pastes, mark_before
from openclaw.errors import UsageError
from openclaw.messages import Material


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\r\nb\rc", "a\nb\nc"),
        ("line\n" * 10, "line\n" * 10),
        ("line\n" * 11, "[pasted 11 lines #1]"),
        ("x" * 1_234, "[pasted 1,234 characters #1]"),
    ],
)
def test_what_is_long_is_folded(text: str, shown: str) -> None:
    assert Pastes().fold(text) == shown


def test_each_text_is_material_of_the_prompt_that_names_it() -> None:
    pastes = Pastes()
    first, second = pastes.fold("a\n" * 20), pastes.fold("b\n" * 30)
    assert pastes.material(f"{second} or {second}?") == (Material(second[1:-1], "b\n" * 30),)
    assert [each.text[0] for each in pastes.material(f"{first} {second}")] == ["a", "b"]
    assert pastes.material("neither") == ()
    assert mark_before(f"see {first}") == first and not mark_before(f"{first} ")


def test_a_short_text_alone_is_the_prompt_itself() -> None:
    pastes = Pastes()
    short, long = pastes.fold("Do this.\n" * 20), pastes.fold("line\n" * 2_000)
    assert pastes.prompt(f" {short}\n") == "Do this.\n" * 20
    assert pastes.prompt(long) == long
    assert pastes.prompt(f"why? {short}") == f"why? {short}"


def test_a_very_long_text_is_cut_as_standard_input_is() -> None:
    pastes = Pastes()
    mark = pastes.fold("line of words\n" * 30_000)
    assert "bytes are cut here]" in pastes.material(mark)[0].text


def test_a_text_of_an_earlier_talk_is_no_longer_there() -> None:
    with pytest.raises(UsageError, match="no longer here"):
        Pastes().material("what is [pasted 2,000 lines #1]?")
