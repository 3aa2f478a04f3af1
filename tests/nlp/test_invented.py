"""Figures, dates, addresses and names that a model can have from nowhere are found."""

from __future__ import annotations

import time
from datetime import date

import pytest

from openclaw.nlp.invented import Said, invented_names, invented_values

TODAY = date(2026, 11, 23)


def said(request: str, *read: str) -> Said:
    return Said(request, read, TODAY)


@pytest.mark.parametrize(
    ("request_", "read", "text", "values"),
    [
        ("Save Anna's number", "- Anna: 555-0101", "- Anna: 123-456-7890", ["123-456-7890"]),
        ("Write to Bob", "bob@example.org", "tom@example.org", ["tom@example.org"]),
        ("Note the page", "", "see https://made.example/up", ["https://made.example"]),
        ("Note the rent", "It is due on the 3rd.", "The rent is 1,250 euros", ["1,250"]),
        ("Note my appointment with the dentist", "", "Dentist on 2027-02-17", ["2027-02-17"]),
        ("The meeting is at 5", "", "Meeting at 14:20", ["14:20"]),
        ("Put the sum of the costs into garden.md", "", "It costs $1500.", ["1500"]),
    ],
)
def test_a_value_from_nowhere_is_named(
    request_: str, read: str, text: str, values: list[str]
) -> None:
    assert invented_values(text, said(request_, read)) == values


@pytest.mark.parametrize(
    ("request_", "read", "text"),
    [
        ("Save it: 0170 555 12 34", "", "Anna: 01705551234"),
        ("Note the rent", "Rent: 1.250,00 EUR", "The rent is 1250 euros"),
        ("I spent 120.50 and 99 today", "", "Spent 219.50"),
        ("What is 15 % of 1300? Note it.", "", "15 % of 1300 is 195"),
        ("Dentist tomorrow at half past three", "", "Dentist 2026-11-24 15:30"),
        ("Party on 3 May", "", "Party due:2027-05-03"),
        ("Pay the bill at the end of December", "", "Pay the bill due:2026-12-31"),
        ("It costs two hundred euros", "", "It costs 200 euros"),
        ("Write a poem about the sea", "", "A sea of 1000 stars"),
        ("We are 7", "", "1. soup\n2. bread for 14"),
    ],
)
def test_what_was_said_read_or_worked_out_is_no_invention(
    request_: str, read: str, text: str
) -> None:
    assert invented_values(text, said(request_, read)) == []


def test_what_is_replaced_more_or_less_is_no_invention() -> None:
    used = Said("we used 25 kg today", (), TODAY, replaced="| flour | 140 | kg |")
    assert not invented_values("| flour | 115 | kg |", used)
    assert invented_values("| flour | 117 | kg |", used) == ["117"]


def test_a_long_text_without_blanks_takes_no_time() -> None:
    began = time.process_time()
    assert invented_values("a" * 30_000, said("write it")) == []
    assert time.process_time() - began < 1


def test_a_name_within_a_sentence_must_have_been_said() -> None:
    known = said("my sister moved to ghent in march")
    assert invented_names("The sister of the user moved to Ghent with Robert", known) == ["Robert"]
    assert invented_names("The sister of the user moved to Ghent on a Monday", known) == []


def test_a_title_has_capitals_without_names() -> None:
    assert invented_names("Weekly Shopping And Repairs", said("make a list")) == []
