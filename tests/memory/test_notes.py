"""Memories are stored as list items in the right place, and no fact twice."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from openclaw.memory.entries import Meta
from openclaw.memory.markdown import is_same_statement
from openclaw.memory.notes import AlreadyKnownError, Note, Notes, find_notes
from openclaw.types import ToolProblem

DAY = date(2026, 11, 21)


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    return Notes(tmp_path / "memory", today=lambda: DAY)


def lasting(notes: Notes, text: str) -> Path:
    notes.folder.mkdir(exist_ok=True)
    path = notes.target("lasting")
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_todays_note_is_made_with_its_heading_and_grows_at_the_end(notes: Notes) -> None:
    note = notes.remember("met Ada", "today").note
    assert (note.path.name, note.line) == ("2026-11-21.md", 3)
    assert notes.remember("lunch at\n two", "today").note.line == 4
    assert note.path.read_bytes() == (
        b"# 2026-11-21\n\n- met Ada <!-- fact, 2026-11-21 -->\n"
        b"- lunch at two <!-- fact, 2026-11-21 -->\n"
    )


def test_a_lasting_fact_goes_below_the_title_and_all_else_stays(notes: Notes) -> None:
    text = (
        "\ufeff# Memory\r\n\r\n<!-- a\r\n- not an item\r\n-->\r\n\r\n- one\r\n\r\n"
        "## People\r\n- Ada\r\n"
    )
    path = lasting(notes, text)
    assert notes.remember("- two", "lasting").note.line == 8
    expected = text.replace("- one\r\n", "- one\r\n- two <!-- fact, 2026-11-21 -->\r\n")
    assert path.read_bytes() == expected.encode()


def test_a_memory_says_when_and_where_it_was_learned_and_of_what_kind(tmp_path: Path) -> None:
    notes = Notes(tmp_path, today=lambda: DAY, source=lambda: "session 4f2a9c turn 3")
    note = notes.remember("I prefer tea", meta=Meta(importance=0.7)).note
    assert (note.category, note.date, note.source, note.importance) == (
        "preference", "2026-11-21", "session 4f2a9c turn 3", 0.7,
    )  # fmt: skip
    comment = "<!-- preference, 2026-11-21, session 4f2a9c turn 3, importance 0.7 -->"
    assert f"\n- I prefer tea {comment}\n" in notes.target("lasting").read_text("utf-8")
    assert notes.remember("tea is green", meta=Meta("other")).note.category == "other"


def test_lines_typed_by_hand_need_no_metadata(notes: Notes) -> None:
    lasting(notes, "- I like tea\n- Ada <!-- my sister -->\n- x <!-- importance 1 -->\n")
    (notes.folder / "2026-11-20.md").write_text("* rain\n", encoding="utf-8")
    found = [(n.text, n.category, n.date, n.source, n.importance) for n in notes.list()]
    assert found == [
        ("I like tea", "preference", "", "", None),
        ("Ada", "fact", "", "", None),
        ("x", "fact", "", "", 1.0),
        ("rain", "fact", "2026-11-20", "", None),
    ]


# ---- corrections


def test_a_corrected_fact_is_struck_through_where_it_stood(notes: Notes) -> None:
    path = lasting(
        notes, "# Memory\n\n- The standup is at 9:30 <!-- in room 4? -->\n- I like tea\n"
    )
    kept = notes.remember("The standup is at 10:00")
    assert path.read_text("utf-8") == (
        "# Memory\n\n- ~~The standup is at 9:30~~ (until 2026-11-21) <!-- in room 4? -->\n"
        "- The standup is at 10:00 <!-- fact, 2026-11-21 -->\n- I like tea\n"
    )
    (old,) = kept.superseded
    assert (old.text, old.line, old.until) == ("The standup is at 9:30", 3, "2026-11-21")
    assert [note.text for note in notes.list()] == ["The standup is at 10:00", "I like tea"]
    assert old in notes.list(everything=True)


def test_a_struck_fact_is_unknown_and_may_be_added_again(notes: Notes) -> None:
    for time in ("9:30", "10:00", "9:30"):
        notes.remember(f"The standup is at {time}")
    assert [note.text for note in notes.list()] == ["The standup is at 9:30"]
    assert len(notes.list(everything=True)) == 3


def test_a_fact_noted_today_is_struck_through_there(notes: Notes) -> None:
    notes.remember("The standup is at 9:30", "today")
    kept = notes.remember("The standup is at 10:00", "lasting")
    assert kept.note.path.name == "MEMORY.md"
    assert [old.path.name for old in kept.superseded] == ["2026-11-21.md"]
    assert "- ~~The standup is at 9:30~~ (until" in notes.target("today").read_text("utf-8")


def test_a_fact_corrects_nothing_where_it_may_mean_several_things(notes: Notes) -> None:
    things = "## Car\n\n- The tyre pressure is 2.4 bar\n\n## Bike\n\n- The tyre pressure is 4 bar\n"
    path = lasting(notes, f"# Memory\n\n{things}")
    assert notes.remember("The tyre pressure is 2.5 bar").superseded == ()
    assert [old.line for old in notes.remember("The tyre pressure is 2.6 bar").superseded] == [3]
    assert path.read_text("utf-8").endswith(things)
    lasting(notes, things)  # its first heading is none of the whole page
    assert notes.remember("The tyre pressure is 2.7 bar").superseded == ()


def test_a_note_of_today_corrects_no_lasting_fact_and_no_other_day(notes: Notes) -> None:
    notes.remember("My weight is 80 kg")
    (notes.folder / "2026-11-20.md").write_text("- My weight is 81 kg\n", encoding="utf-8")
    assert notes.remember("My weight is 79 kg", "today").superseded == ()
    assert len(notes.remember("My weight is 78 kg", "today").superseded) == 1
    assert [note.text[-5:] for note in notes.list()] == ["80 kg", "78 kg", "81 kg"]


@pytest.mark.parametrize("named", ["I like tea", "tea", "MEMORY.md:1", "memory/MEMORY.md:1"])
def test_the_fact_to_replace_can_be_named(notes: Notes, named: str) -> None:
    path = lasting(notes, "- I like tea\n  with milk\n- Ada\n")
    kept = notes.remember("I like coffee", replaces=named)
    assert [old.text for old in kept.superseded] == ["I like tea with milk"]
    assert path.read_text("utf-8").startswith(
        "- ~~I like tea with milk~~ (until 2026-11-21)\n- I like coffee <!-- preference"
    )


def test_a_line_of_thousands_of_digits_is_no_place(notes: Notes) -> None:
    lasting(notes, "- Ada\n")
    assert not find_notes("MEMORY.md:" + "9" * 5000, notes.list())


def test_only_the_named_one_of_two_equal_facts_is_replaced(notes: Notes) -> None:
    path = lasting(notes, "## Anna\n\n- likes tea\n\n## Bob\n\n- likes tea\n")
    notes.remember("likes coffee", replaces="MEMORY.md:7")
    assert path.read_text("utf-8").splitlines()[2:7:4] == [
        "- likes tea", "- ~~likes tea~~ (until 2026-11-21)"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("named", "told"),
    [("cheese", "is not remembered"), ("like", "fits several"), ("MEMORY.md:9", "not remembered"),
     ("Bob", "indented below")],
)  # fmt: skip
def test_an_impossible_replacement_is_refused_and_writes_nothing(
    notes: Notes, named: str, told: str
) -> None:
    text = "- I like tea\n- I like milk\n- Bob\n  - likes rain\n- ~~cheese~~\n"
    path = lasting(notes, text)
    with pytest.raises(ToolProblem, match=told):
        notes.remember("I like coffee", replaces=named)
    assert path.read_text("utf-8") == text


# ---- what is refused


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("The user likes tea.", "user like tea"),
        ("The user's name is Anna", "User name: Anna"),
        ("Ada works in the backend team", "Ada works in the backed team"),
        ("likes tea", "Likes tea!"),
    ],
)
def test_the_same_fact_in_other_words_is_refused_and_quoted(
    notes: Notes, known: str, new: str
) -> None:
    notes.remember(known, "lasting")
    with pytest.raises(ToolProblem, match=r"Already in memory/MEMORY.md:3: "):
        notes.remember(new, "lasting")
    with pytest.raises(ToolProblem, match="Already in"):
        notes.remember(new, "today")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("The port is 8080", "The port is 8081"),
        ("The meeting is on Monday", "The meeting is on Sunday"),
        ("I like tea", "I do not like tea"),
        ("Ada visited Bruno in Rome", "Bruno visited Ada in Rome"),
        ("Maria plays piano", "Mario plays piano"),
        ("Sven was the chairman", "Sven is the chairman"),
        ("user likes red", "user dislikes red"),
        ("rent is due in May", "rent is due in March"),
        ("C++", "C#"),
    ],
)
def test_another_name_number_or_a_not_makes_another_fact(left: str, right: str) -> None:
    assert not is_same_statement(left, right)
    assert is_same_statement(left, left)


def test_a_note_of_today_can_become_lasting(notes: Notes) -> None:
    notes.remember("likes tea", "today")
    assert notes.remember("likes tea", "lasting").note.path.name == "MEMORY.md"


@pytest.mark.parametrize("text", ["", " \n", "- ", "x" * 501])
def test_empty_and_too_long_texts_are_refused(notes: Notes, text: str) -> None:
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


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        ("i like TEA.", [1]),
        ("like", [1, 2]),
        ("ceylon tea", [2]),
        ("old", [3]),
        ("MEMORY.md:2", [2]),
        ("memory/MEMORY.md:3", [3]),
        ("TODO.md:2", []),
        ("coffee", []),
        ("", []),
    ],
)
def test_a_memory_is_found_by_place_text_or_words(words: str, lines: list[int]) -> None:
    path = Path("memory") / "MEMORY.md"
    known = [
        Note(path, 1, "I like tea"),
        Note(path, 2, "I like tea from Ceylon"),
        Note(path, 3, "I like old tea", superseded=True),
    ]
    assert [note.line for note in find_notes(words, known)] == lines


def test_forgetting_takes_that_line_and_only_while_it_is_there(notes: Notes) -> None:
    notes.remember("one", "lasting")
    note = notes.remember("two", "lasting").note
    notes.forget(note)
    assert [each.text for each in notes.list()] == ["one"]
    with pytest.raises(ToolProblem, match="has changed"):
        notes.forget(note)


def test_forgetting_takes_what_is_indented_below(notes: Notes) -> None:
    path = lasting(notes, "- Ada\n  - likes tea\n\n  a text\n- Bob\n")
    ada = notes.find("Ada")[0]
    assert notes.lines(ada) == ["- Ada", "  - likes tea", "", "  a text"]
    notes.forget(ada)
    assert path.read_text("utf-8") == "- Bob\n"


# ---- the inbox


def test_a_candidate_waits_and_is_no_memory(notes: Notes) -> None:
    waiting = notes.propose("Bob sells tea", "https://example.com/page, session 4f turn 2")
    assert waiting.path == notes.folder / "inbox" / "2026-11-21.md"
    assert waiting.path.read_text("utf-8") == (
        "# Inbox 2026-11-21\n\n- Bob sells tea"
        " <!-- fact, 2026-11-21, https://example.com/page, session 4f turn 2 -->\n"
    )
    assert notes.candidates() == [waiting]
    assert notes.list(everything=True) == []
    with pytest.raises(AlreadyKnownError):
        notes.propose("bob sells tea!", "elsewhere")


def test_an_accepted_candidate_moves_with_its_source_and_corrects(notes: Notes) -> None:
    notes.remember("The port is 80")
    waiting = notes.propose("The port is 81", "a web page", meta=Meta("other", importance=0.2))
    kept = notes.accept(waiting)
    assert [old.text for old in kept.superseded] == ["The port is 80"]
    note = kept.note
    assert (note.category, note.source, note.importance) == ("other", "a web page", 0.2)
    assert notes.candidates() == []
    assert not waiting.path.exists()


def test_accepting_a_known_candidate_only_removes_it(notes: Notes) -> None:
    waiting = notes.propose("The port is 80", "a web page")
    known = notes.remember("The port is 80").note
    kept = notes.accept(waiting)
    assert kept.known and kept.note == known
    assert notes.candidates() == []
    with pytest.raises(AlreadyKnownError):
        notes.propose("The port is 80", "another page")


def test_a_rejected_candidate_leaves_the_users_own_words(notes: Notes) -> None:
    first = notes.propose("one", "x")
    first.path.write_text(f"{first.path.read_text('utf-8')}\nmy words\n", encoding="utf-8")
    notes.reject(first)
    assert first.path.read_text("utf-8") == "# Inbox 2026-11-21\n\n\nmy words\n"
    with pytest.raises(ToolProblem, match="has changed"):
        notes.reject(first)


def test_bytes_that_are_no_utf_8_survive_a_change(notes: Notes) -> None:
    notes.folder.mkdir()
    path = notes.target("lasting")
    path.write_bytes(b"caf\xe9\n\n- th\xe9 vert\n- The port is 80 \xff\n")
    assert [note.text for note in notes.list()] == ["th\ufffd vert", "The port is 80 \ufffd"]
    notes.remember("I like coffee", replaces="th\ufffd vert")
    notes.forget(notes.find("port")[0])
    assert path.read_bytes() == (
        b"caf\xe9\n\n- ~~th\xe9 vert~~ (until 2026-11-21)\n"
        b"- I like coffee <!-- preference, 2026-11-21 -->\n"
    )
