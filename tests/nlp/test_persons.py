"""Names of persons are told from words, firms and places; lines from those about others."""

from __future__ import annotations

import pytest

from openclaw.nlp.persons import find_names, persons_of


def of_one(line: str, *names: str) -> list[str]:
    return next(persons_of([line], set(names)))


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        (["My sister Lena can't have hazelnuts"], {"Lena"}),
        (["Besuch von Hilde", "Oma Hilde strickt"], {"Hilde"}),
        (["Meine Schwester Anke kommt"], {"Anke"}),
        (["Lunch with Rafael", "Rafael wants the numbers by Friday"], {"Rafael"}),
        (["Lunch with Rafael"], set()),  # once may be chance
        (["Bosch has sent the wrong battery", "Called Bosch again", "Bosch says Friday"], set()),
        (["Two weeks in Vienna", "Vienna is cold", "Saw Vienna from above"], set()),
        (["Coffee with Monday's crew", "Coffee with Tuesday people", "Then He rang"], set()),
    ],
)
def test_a_name_is_a_persons_when_the_notes_treat_it_so(lines: list[str], names: set[str]) -> None:
    assert find_names(lines) == names


@pytest.mark.parametrize(
    "line",
    [
        "Gave Rose the tickets",
        "Rose's mobile: 0151",
        "Rose got a dog",
        "rose says no",
        "Walked home with Rose",
        "Tom and Rose are late",
    ],
)
def test_a_line_tells_of_whom_it_names(line: str) -> None:
    assert "Rose" in of_one(line, "Rose", "Tom")


@pytest.mark.parametrize(
    "line",
    [
        "The Rose by the gate has greenfly",
        "rose at six, fog over the river",
        "Rose early, worked late",
        "Roses cut back",
        "Read about Rose Island",
        "Amazing Rose on the radio",
        "Ten days in Rose",
        "St. Rose church is closed",
        "Queen Rose's grave in the programme",
    ],
)
def test_a_word_or_another_name_is_no_person(line: str) -> None:
    assert of_one(line, "Rose") == []


def test_a_pronoun_means_the_one_person_of_the_line_before() -> None:
    names = {"Tom", "Lena"}
    lines = [
        "Tom keeps bees",
        "He has two hives",
        "Rain",
        "He is tired",
        "Tom met Lena",
        "She sang",
    ]
    assert [*persons_of(lines, names)] == [["Tom"], ["Tom"], [], [], ["Tom", "Lena"], []]
