"""Exact strings of texts, in tables of texts and their identifiers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.nlp.identifiers import LONGEST, exact_strings, has_identifier, identifiers


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The staging port is 8215, the ticket OPS-4217.", ("8215", "OPS-4217")),
        ("dana.reyes@example.org, +49 30 1234567", ("dana.reyes@example.org", "+49 30 1234567")),
        ("See workspace/plan.md and ~/x.txt.", ("workspace/plan.md", "~/x.txt")),
        ("Open /etc/hosts or C:\\Users\\me\\a.txt", ("/etc/hosts", "C:\\Users\\me\\a.txt")),
        ("He/she can and/or cannot at 10 km/h.", ("10 km/h",)),
        ("The task ^1a2b3c4d and commit 9f86d08188.", ("^1a2b3c4d", "9f86d08188")),
        ("It costs 1,200 euros, $900 or 15 %.", ("1,200 euros", "$900", "15 %")),
        ("Due 3 May 2026 at 9:30 am.", ("3 May 2026", "9:30 am")),
        ("Am 14. M\u00e4rz um 15 Uhr in Raum B12.", ("14. M\u00e4rz", "15 Uhr", "Raum B12")),
        ("v1.2.3 on 192.168.0.12:8080", ("v1.2.3", "192.168.0.12:8080")),
        ("See https://example.org/a?b=c.", ("https://example.org/a?b=c",)),
        ("Set max_tokens of SessionStore by --yes.", ("max_tokens", "SessionStore", "--yes")),
        ("The song \u201cBlue Heron\u201d on `main`.", ("Blue Heron", "main")),
        ("DE89 3704 0044 0532 0130 00", ("DE89 3704 0044 0532 0130 00",)),
        ("\u30dd\u30fc\u30c8\u306f8215\u3067\u3059\u3002", ("8215",)),
        ("Then Dana Reyes met Ludwig van Beethoven.", ("Dana Reyes", "Ludwig van Beethoven")),
        ("We met in Paris. Paris is fine.", ("Paris",)),
        ("Meine Frau hei\u00dft Sabine Keller und mag die Blumen.", ("Sabine Keller",)),
        ("10 apples, 2nd row, 3x as many, 0 or 7.", ()),
        ("1. Buy milk\n2. call the plumber\n12. go home", ()),
        ("Nothing here stands out. It is plain. E.g. this, i.e. that, z.B. so.", ()),
        ("", ()),
    ],
)
def test_the_exact_strings_of_a_text_are_found(text: str, found: tuple[str, ...]) -> None:
    assert identifiers(text) == found


def test_a_string_that_comes_twice_is_listed_once() -> None:
    assert identifiers("8215, then OPS-1 and again 8215") == ("8215", "OPS-1")


def test_exact_strings_leave_out_plain_names() -> None:
    assert exact_strings("Then Dana Reyes opened db.example.org on 8215") == (
        "db.example.org",
        "8215",
    )


@pytest.mark.parametrize(
    ("text", "identifier", "held"),
    [
        ("the port is 8215.", "8215", True),
        ("localhost:8215", "8215", True),
        ("82150 or 18215", "8215", False),
        ("8215.5", "8215", False),
        ("(OPS-42)", "OPS-42", True),
        ("OPS-421", "OPS-42", False),
        ("see notes/a.md", "a.md", False),
        ("see notes/a.md, a.md", "a.md", True),
        ("see men\u00fc/a.md", "a.md", False),
        ("see a.md/\u00e9t\u00e9", "a.md", False),
        ("Dana\nReyes", "Dana Reyes", True),
        ("Dana's cat", "Dana", True),
        ("dana", "Dana", False),
        ("1,000 euros", "000", False),
        ("1.2.3", "1.2", False),
        ("2026\u5e74", "2026", True),
        ("anything", "", False),
    ],
)
def test_a_text_holds_an_identifier_only_as_a_whole(text: str, identifier: str, held: bool) -> None:
    assert has_identifier(text, identifier) is held


@given(st.text(alphabet="aB1 .,/:-_'\"`@#^\n\u00e9\u3042", max_size=80))
def test_a_text_has_each_identifier_found_in_it(text: str) -> None:
    for found in identifiers(text):
        assert found in text
        assert 1 < len(found) <= LONGEST


@pytest.mark.slow
def test_a_megabyte_of_hostile_text_is_read_to_its_end() -> None:
    pieces = ("a", "A", "a.", "1.", "1 ", "Aa ", '"', "'a ", "/a", "a_", "+1 ", "0-", "DE89 ", "`")
    hostile = "\n".join(piece * (72_000 // len(piece)) for piece in pieces)

    assert len(hostile) > 1_000_000
    assert identifiers(f"{hostile} \n\n OPS-4217")[-1] == "OPS-4217"
