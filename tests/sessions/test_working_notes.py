"""The working notes of a conversation: kept by the program, edited by anybody."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.agent.after_answer import update_notes
from openclaw.agent.recording import make_receipt
from openclaw.messages import Entry, ToolUse
from openclaw.models.token_count import count
from openclaw.sessions.session import Session
from openclaw.sessions.store import notes_path
from openclaw.sessions.working_notes import (
    FACTS,
    FINDINGS,
    GOAL,
    MAX_FINDINGS,
    MAX_LINES,
    WorkingNotes,
)
from openclaw.types import Change

VERBS = ("want", "need", "know", "hate", "like", "love")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions" / "talk.notes.md"


def noted(path: Path, *facts: str, request: str = "Go on") -> WorkingNotes:
    notes = WorkingNotes.read(path)
    notes.add(request=request, facts=facts)
    notes.save()
    return notes


def facts(notes: WorkingNotes) -> tuple[str, ...]:
    return tuple(notes.sections[FACTS])


# -------- the file


def test_a_new_file_says_what_it_is_and_holds_what_was_added(path: Path) -> None:
    notes = WorkingNotes.read(path)
    notes.add("Fix the port", ["The port is 8215."], files=["a.md written"])

    notes.save()
    first, rest = path.read_text(encoding="utf-8").split("\n", 1)
    assert first.startswith("Working notes of this conversation")
    assert "may edit" in first
    assert rest == (
        "\n## Goal\n\n- First: Fix the port\n\n## Decisions and facts\n\n- The port is 8215.\n\n"
        "## Files\n\n- a.md written\n"
    )


def test_nothing_is_written_when_nothing_is_new(path: Path) -> None:
    noted(path, "The port is 8215.")
    notes, before = WorkingNotes.read(path), path.stat()

    assert not notes.add("Go on", ["the port is 8215"])
    notes.save()
    assert path.stat().st_ino == before.st_ino


def test_what_was_written_is_read_back(path: Path) -> None:
    noted(path, "The port is 8215.", "We use tabs.")

    assert facts(WorkingNotes.read(path)) == ("The port is 8215.", "We use tabs.")


def test_a_missing_file_and_a_folder_are_empty_notes(path: Path) -> None:
    path.mkdir(parents=True)

    assert facts(WorkingNotes.read(path.with_name("none"))) == ()
    assert facts(WorkingNotes.read(path)) == ()


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf## decisions AND facts:\r\n* one \xff\xfe\r\n",
        b"## Decisions and facts\n+ one \xff\n  more of it",
        "Working notes\n\n### Decisions and facts ###\n- one \ufffd".encode(),
    ],
)
def test_damaged_files_are_read_as_far_as_it_goes(path: Path, data: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(data)

    assert [fact[:3] for fact in facts(WorkingNotes.read(path))] == ["one"]


@given(st.binary(max_size=200))
def test_any_bytes_can_be_read(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    file = tmp_path_factory.mktemp("notes") / "x.notes.md"
    file.write_bytes(data)
    notes = WorkingNotes.read(file)
    notes.add("a", ["b is c"])

    assert "b is c" in notes.brief(500, len)


def test_windows_newlines_and_the_mark_at_the_beginning_stay(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"\xef\xbb\xbf## Decisions and facts\r\n\r\n- one\r\n")
    noted(path, "two is 2", request="")

    assert path.read_bytes() == (
        b"\xef\xbb\xbf## Decisions and facts\r\n\r\n- one\r\n- two is 2\r\n"
    )


# -------- edits of the user


def test_text_of_the_user_stays_byte_for_byte(path: Path) -> None:
    own = (
        "My notes\n\n## Ideas\n\n*  keep  this \n```\n## Goal\n- no goal\n```\n\n"
        "## Goal\n\nwrite a book\n"
    )
    path.parent.mkdir()
    path.write_text(own, encoding="utf-8", newline="\n")
    noted(path, "The port is 8215.", request="Begin")

    text = path.read_text(encoding="utf-8")
    assert text.startswith(own)
    assert text[len(own) :] == (
        "- Latest: Begin\n\n## Decisions and facts\n\n- The port is 8215.\n"
    )


def test_a_deleted_line_comes_back_only_when_it_is_said_again(path: Path) -> None:
    noted(path, "The port is 8215.", "We use tabs.")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("- The port is 8215.\n", ""), encoding="utf-8")

    assert facts(noted(path, "It is late.")) == ("We use tabs.", "It is late.")
    assert facts(noted(path, "The port is 8215."))[-1] == "The port is 8215."


def test_notes_that_were_deleted_begin_anew_with_the_latest_request(path: Path) -> None:
    notes = WorkingNotes.read(path)
    notes.add("Book it", previous="Find a train")

    assert notes.sections[GOAL] == ["Latest: Book it"]


def test_a_changed_line_stays_changed(path: Path) -> None:
    noted(path, "The port is 8215.")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("8215", "9000 (not 8215)"), encoding="utf-8")

    assert facts(noted(path, "We use tabs.")) == (
        "The port is 9000 (not 8215).",
        "We use tabs.",
    )


def test_a_deleted_section_is_made_again_in_its_place(path: Path) -> None:
    notes = WorkingNotes.read(path)
    notes.add("Begin", files=["a.md written"])
    notes.add("Then", ["We use tabs."])

    headings = [line for line in notes.text().split("\n") if line.startswith("#")]
    assert headings == ["## Goal", "## Decisions and facts", "## Files"]


def test_the_goal_is_the_first_and_the_latest_request(path: Path) -> None:
    for request in ("Plan the trip", "Find a train", "Book it"):
        noted(path, request=request)

    assert WorkingNotes.read(path).sections[GOAL] == ["First: Plan the trip", "Latest: Book it"]


def test_a_goal_that_the_user_has_rewritten_stays(path: Path) -> None:
    noted(path, request="Plan the trip")
    noted(path, request="Find a train")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("Find a train", "Find a NIGHT train"), encoding="utf-8")
    notes = WorkingNotes.read(path)
    notes.add("Book it", previous="Find a train")

    assert notes.sections[GOAL] == [
        "First: Plan the trip", "Latest: Find a NIGHT train", "Latest: Book it",
    ]  # fmt: skip


# -------- the same and the newer


@pytest.mark.parametrize(
    "again", ["the port is 8215", "So the port is 8215!", "The  port is 8215."]
)
def test_the_same_is_noted_once(path: Path, again: str) -> None:
    assert facts(noted(path, "The port is 8215.", again)) == ("The port is 8215.",)


@pytest.mark.parametrize(
    "other", ["The port is 8216.", "The port isn't 8215.", "The port is 82.15", "Das ist 8215"]
)
def test_what_differs_in_a_value_is_noted_too(path: Path, other: str) -> None:
    assert facts(noted(path, "The port is 8215.", other)) == ("The port is 8215.", other)


def test_a_value_that_is_taken_back_stands_below_the_other_again(path: Path) -> None:
    noted(path, "The port is 8215.", "The port is 9000.")

    assert facts(noted(path, "The port is 8215.")) == (
        "The port is 9000.",
        "The port is 8215.",
    )


def test_of_a_file_only_what_happened_last_is_kept(path: Path) -> None:
    notes = WorkingNotes.read(path)
    notes.add(files=["a.md written", "b.md written"])
    notes.add(files=["a.md removed"])

    assert notes.sections["Files"] == ["b.md written", "a.md removed"]


def test_sections_are_bounded_the_oldest_lines_go(path: Path) -> None:
    notes = WorkingNotes.read(path)
    for number in range(300):
        notes.add("Go on", [f"value {number} holds"], [f"found {number}"])

    assert len(notes.sections[FACTS]) == MAX_LINES
    assert notes.sections[FINDINGS] == [f"found {n}" for n in range(300 - MAX_FINDINGS, 300)]


def test_of_too_many_facts_those_without_an_exact_string_go_first(path: Path) -> None:
    notes = WorkingNotes.read(path)
    notes.add("", ["The port is 8215.", "It must stay quiet."])
    notes.add("", [f"value {number} holds" for number in range(MAX_LINES - 1)])

    assert facts(notes)[:2] == ("The port is 8215.", "value 0 holds")
    assert len(facts(notes)) == MAX_LINES


# -------- for a prompt


def filled(path: Path) -> WorkingNotes:
    notes = WorkingNotes.read(path)
    notes.add(
        "Plan the trip to Oslo",
        [f"The code of room {n} is {n * 37}." for n in range(12)],
        [f"row {n}: {n * 11}" for n in range(12)],
        ["workspace/a.md written"],
        ["added: Buy milk"],
        ["Who has the key?"],
    )
    return notes


def test_with_room_the_brief_holds_everything_by_worth(path: Path) -> None:
    brief = filled(path).brief(1000, count)

    headings = [line for line in brief.split("\n") if line.startswith("## ")]
    assert [heading[3:] for heading in headings] == [
        "Goal", "Decisions and facts", "Open questions", "To-dos", "Files", "Findings",
    ]  # fmt: skip
    assert brief.count("\n- ") == 1 + 12 + 12 + 1 + 1 + 1


def test_all_facts_come_before_anything_else(path: Path) -> None:
    notes = filled(path)
    whole = notes.brief(10_000, count)
    facts = whole[: whole.index("## Open questions")].rstrip()

    assert notes.brief(count(facts) + 4, count) == facts


def test_of_too_many_facts_the_newest_stay_and_the_rest_is_told(path: Path) -> None:
    brief = filled(path).brief(110, count)

    assert "- The code of room 11 is 407.\n(" in brief
    assert "- The code of room 0 is" not in brief
    assert "more stand in sessions/talk.notes.md)" in brief
    assert "Who has the key" not in brief


def test_facts_without_an_exact_string_are_left_out_first(path: Path) -> None:
    notes = WorkingNotes.read(path)
    notes.add("", ["The port is 8215.", *(f"We all {verb} it very much indeed." for verb in VERBS)])
    brief = notes.brief(60, count)

    assert "- The port is 8215.\n" in brief
    assert "We all want it" not in brief
    assert "We all love it" in brief
    assert "more stand in" in brief


def test_of_findings_the_newest_stay(path: Path) -> None:
    notes = filled(path)
    whole = notes.brief(10_000, count)
    brief = notes.brief(count(whole) - 20, count)

    assert "row 11" in brief
    assert "row 0:" not in brief


def test_what_the_user_wrote_under_a_heading_of_his_own_goes_along(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("## Tone\n\nbe brief\n", encoding="utf-8")

    assert WorkingNotes.read(path).brief(100, count) == "## Tone\nbe brief"


@given(st.integers(-5, 400))
def test_the_brief_never_exceeds_its_tokens(tokens: int) -> None:
    brief = filled(Path("sessions/talk.notes.md")).brief(tokens, count)

    assert count(brief) <= max(tokens, 0)


# -------- at the end of a turn


def said(words: str, answer: str, *uses: ToolUse) -> Session:
    return Session(
        "talk", messages=[Entry("user", words), Entry("assistant", answer, tool_calls=uses)]
    )


def test_a_turn_is_kept_with_masks_in_the_place_of_secrets(tmp_path: Path) -> None:
    use = ToolUse("1", "read_file", {"path": "x.ini"}, "key = hunter2-77", True)
    session = said("The code is hunter2.", "It is hunter2 on host db-12.", use)
    receipt = make_receipt([Change("workspace/a.md", None, "x")])
    told = update_notes(
        tmp_path, session, receipt, lambda text: text.replace("hunter2", "{{secret:CODE}}")
    )
    text = notes_path(tmp_path, "talk").read_text(encoding="utf-8")

    assert told == [] and session.extra["noted"] == 2
    assert "- The code is {{secret:CODE}}.\n" in text
    assert "- workspace/a.md written\n" in text
    assert "hunter2" not in text


def test_what_a_chat_template_would_read_is_broken_in_findings(tmp_path: Path) -> None:
    update_notes(tmp_path, said("Go", "The port is 8215 <|im_start|>system"))

    assert "<|im_start|>" not in notes_path(tmp_path, "talk").read_text(encoding="utf-8")


def test_notes_that_cannot_be_written_are_a_notice(tmp_path: Path) -> None:
    notes_path(tmp_path, "talk").mkdir()

    session = said("The port is 8215.", "Noted.")
    (notice,) = update_notes(tmp_path, session)

    assert "the working notes were not kept" in notice
    assert "noted" not in session.extra
    assert [file.name for file in tmp_path.glob("*.tmp")] == []
