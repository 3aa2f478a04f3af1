"""Compounds by the words of a collection."""

from __future__ import annotations

import pytest

from openclaw.nlp.compounds import find_compounds

KNOWN = ("boat", "green", "greenhous", "greenish", "hallenschlussel", "roof", "self-care")


def like(beginning: str) -> list[str]:
    return [word for word in KNOWN if word.startswith(beginning)]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("schlussel hall", [("hallenschlussel", "hall", "schlussel")]),
        ("green lock hous", [("greenhous", "green", "hous")]),
        ("boatroof", [("boatroof", "boat", "roof")]),
        ("bootsroof", []),
        ("backroof", []),
        ("green greenhous", []),
        ("self care", []),
    ],
)
def test_compounds_are_found_among_the_known_words(
    words: str, found: list[tuple[str, str, str]]
) -> None:
    assert [*find_compounds(words.split(), like, KNOWN.__contains__)] == found
