"""`memory lint` on notes about persons: a heading or a file each, with the same lines below."""

from __future__ import annotations

from itertools import product

import pytest

from benchmarks.lint_sheets import HELD, TUNED
from openclaw.memory.lint import apply_fixes, lint
from openclaw.memory.lint_findings import Document, LintContext, LintFinding

SAME = tuple(zip(*TUNED, strict=True)) + tuple(zip(*HELD, strict=True))
DATED = " <!-- fact, 2026-01-01 -->", " <!-- fact, 2026-02-01 -->"


def found_in(*texts: tuple[str, str]) -> list[LintFinding]:
    return lint([Document(path, text) for path, text in texts], LintContext())


def to_items(lines: tuple[str, ...], date: str = "") -> str:
    return "".join(f"- {line}{date}\n" for line in lines)


@pytest.mark.parametrize("sheets", [TUNED, HELD])
@pytest.mark.parametrize("dates", [("", ""), DATED, DATED[::-1]])
def test_facts_about_two_persons_are_neither_duplicates_nor_contradictions(
    sheets: tuple[tuple[str, ...], ...], dates: tuple[str, str]
) -> None:
    sven, ingrid = map(to_items, sheets, dates)
    headings = f"# People\n\n## Sven Moen\n\n{sven}\n## Ingrid Solberg\n\n{ingrid}"
    assert found_in(("memory/people.md", headings)) == []
    titled = ("memory/sven.md", f"# Sven\n\n{sven}"), ("memory/i.md", f"# Ingrid\n\n{ingrid}")
    assert found_in(*titled) == []
    assert found_in(("memory/sven.md", sven), ("memory/ingrid.md", ingrid)) == []


@pytest.mark.parametrize(
    "between",
    [
        "\n**Ingrid**\n\n",
        "\nIngrid:\n\n",
        "\n1. Ingrid\n\n",
        "\nIngrid\n------\n\n",
        "\n## Ingrid\n\n### Contact\n\n",
        "\n## Contact\n\n",
    ],
)
def test_any_form_of_a_person_heading_separates_two_persons(between: str) -> None:
    for one, other in SAME:
        text = f"## Contact\n\n- {one}{DATED[0]}\n{between}- {other}{DATED[1]}\n"
        found = found_in(("memory/people.md", text))
        assert not [f for f in found if f.edits], (one, other)


def test_below_other_headings_nothing_is_changed_whatever_it_says() -> None:
    said = (
        "I take two sugars.",
        "My boss is Tor Berg.",
        "Ruth Vermeer likes oysters in May.",
        "The user wants short answers.",
    )
    other = (
        "I take two sugars.",
        "My boss is Jon Dahl.",
        "Ruth Vermeer does not like oysters in May.",
    )
    for one, two in product(said, (*other, "The user wants short answers.")):
        text = f"# Me\n\n- {one}{DATED[0]}\n\n# Ingrid\n\n- {two}{DATED[1]}\n"
        apart = (
            ("memory/MEMORY.md", f"- {one}{DATED[0]}\n"),
            ("memory/i.md", f"- {two}{DATED[1]}\n"),
        )
        found = [*found_in(("memory/MEMORY.md", text)), *found_in(*apart)]
        assert [(f.level, f.edits) for f in found] == [("advice", ())] * len(found)
        assert len(found) in (0, 2)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I take two sugars.", "I take two sugars."),
        ("Ruth Vermeer likes oysters.", "Ruth Vermeer does not like oysters."),
        ("My boss is Tor Berg.", "My boss is Jon Dahl."),
        ("The spare key is with Ida.", "The spare key is with Ida."),
    ],
)
def test_a_fact_that_names_its_subject_is_reported_in_any_place(one: str, other: str) -> None:
    texts = ("memory/MEMORY.md", f"# Work\n\n- {one}\n"), ("memory/house.md", f"- {other}\n")
    assert [(f.level, f.edits) for f in found_in(*texts)] == [("advice", ())]


def test_facts_with_he_or_her_are_reported_but_never_changed() -> None:
    text = (
        f"# Friends\n\n- He takes two sugars.{DATED[0]}\n- Ben is tall.\n- He takes two sugars.\n"
    )
    documents = [Document("memory/friends.md", text)]
    found = lint(documents, LintContext())
    assert [f.check for f in found] == ["duplicate"]
    assert apply_fixes(documents, found) == {}
