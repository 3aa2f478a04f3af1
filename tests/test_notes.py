"""Memories as list items: where they go, and that the same is not kept twice."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from openclaw.memory.notes import Note, Notes, items_of, with_item
from openclaw.memory.similar import same
from openclaw.shapes import ToolProblem

DAY = date(2026, 11, 21)


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    return Notes(tmp_path / "memory", today=lambda: DAY)


def test_todays_note_is_made_with_its_heading_and_grows_at_the_end(notes: Notes) -> None:
    path, line = notes.remember("met Ada", "today")
    assert (path.name, line) == ("2026-11-21.md", 3)
    assert notes.remember("lunch at\n two", "today") == (path, 4)
    assert path.read_bytes() == b"# 2026-11-21\n\n- met Ada\n- lunch at two\n"


def test_a_lasting_fact_goes_below_the_title_and_all_else_stays(notes: Notes) -> None:
    notes.folder.mkdir()
    path = notes.target("lasting")
    text = (
        "# Memory\r\n\r\n<!-- a\r\n- not an item\r\n-->\r\n\r\n- one\r\n\r\n## People\r\n- Ada\r\n"
    )
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert notes.remember("- two", "lasting") == (path, 8)
    expected = text.replace("- one\r\n", "- one\r\n- two\r\n")
    assert path.read_bytes() == b"\xef\xbb\xbf" + expected.encode()


@pytest.mark.parametrize(
    ("text", "result", "line"),
    [
        ("# M\n", "# M\n\n- x\n", 3),
        ("# M\n\n", "# M\n\n- x\n", 3),
        ("# M", "# M\n\n- x\n", 3),
        ("# M\n- a", "# M\n- a\n- x\n", 3),
        ("words\n", "words\n\n- x\n", 3),
        ("# M\n\nwords\n\n## P\n", "# M\n\nwords\n\n- x\n\n## P\n", 5),
        ("# M\n\n- x\n- y\n", "# M\n\n- x\n- y\n- x\n", 5),
        ("# M\n\n- a\n  more\n", "# M\n\n- a\n  more\n- x\n", 5),
        ("# M\n\n```\n# no heading\n```\n", "# M\n\n```\n# no heading\n```\n\n- x\n", 7),
    ],
)
def test_an_item_is_put_in(text: str, result: str, line: int) -> None:
    assert with_item(text, "x") == (result, line)


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("The user likes tea.", "user like tea"),
        ("The user's name is Anna", "User name: Anna"),
        ("Ada works in the backend team", "Ada works in the backed team"),
        ("likes tea", "Likes tea!"),
    ],
)
def test_the_same_in_other_words_is_refused_and_quoted(notes: Notes, known: str, new: str) -> None:
    notes.remember(known, "lasting")
    with pytest.raises(ToolProblem, match=r"Already known, MEMORY.md:3: "):
        notes.remember(new, "lasting")
    with pytest.raises(ToolProblem, match="Already known"):
        notes.remember(new, "today")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("The port is 8080", "The port is 8081"),
        ("The meeting is on Monday", "The meeting is on Sunday"),
        ("I like tea", "I do not like tea"),
        ("Ada visited Bruno in Rome", "Bruno visited Ada in Rome"),
        ("Maria plays piano", "Mario plays piano"),
        ("user likes red", "user dislikes red"),
        ("rent is due in May", "rent is due in March"),
        ("C++", "C#"),
    ],
)
def test_what_differs_in_a_name_a_number_or_a_not_is_another_fact(left: str, right: str) -> None:
    assert not same(left, right)
    assert same(left, left)


def test_what_was_noted_today_can_become_lasting(notes: Notes) -> None:
    notes.remember("likes tea", "today")
    assert notes.remember("likes tea", "lasting")[0].name == "MEMORY.md"


@pytest.mark.parametrize("text", ["", " \n", "- ", "x" * 501])
def test_nothing_and_too_much_are_refused(notes: Notes, text: str) -> None:
    with pytest.raises(ToolProblem):
        notes.remember(text, "lasting")
    assert not notes.target("lasting").exists()


def test_the_list_has_lasting_facts_first_and_then_the_newest_day(notes: Notes) -> None:
    assert notes.list() == []
    notes.remember("a note", "today")
    notes.remember("a fact", "lasting")
    (notes.folder / "2026-11-20.md").write_text("- yesterday\n", encoding="utf-8")
    (notes.folder / "TODO.md").write_text("- [ ] no memory\n", encoding="utf-8")
    assert [(note.path.name, note.text) for note in notes.list()] == [
        ("MEMORY.md", "a fact"),
        ("2026-11-21.md", "a note"),
        ("2026-11-20.md", "yesterday"),
    ]


def test_forgetting_takes_that_line_and_only_while_it_is_there(notes: Notes) -> None:
    notes.remember("one", "lasting")
    path, line = notes.remember("two", "lasting")
    note = Note(path, line, "two")
    notes.forget(note)
    assert items_of(path.read_text("utf-8")) == [(3, "one")]
    with pytest.raises(ToolProblem, match="has changed"):
        notes.forget(note)
