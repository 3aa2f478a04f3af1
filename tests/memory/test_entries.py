"""Memories are read and written as lines of Markdown, and nothing else changes."""

from __future__ import annotations

import time

import pytest

from openclaw.memory.entries import (
    Meta,
    append_entry,
    entries_of,
    format_entry,
    insert_below,
    parse_meta,
    remove_entry,
    strike_through,
    strip_marks,
)
from openclaw.types import ToolProblem

FULL = Meta("preference", "2026-11-21", "session 4f2a9c turn 3", 0.7)


def texts(text: str) -> list[str]:
    return [entry.text for entry in entries_of(text)]


# ---- metadata


def test_metadata_is_written_in_one_order_and_read_back() -> None:
    line = "I like tea. <!-- preference, 2026-11-21, session 4f2a9c turn 3, importance 0.7 -->"
    assert format_entry("I like tea.", FULL) == line
    (entry,) = entries_of(f"- {line}\n")
    assert (entry.text, entry.meta) == ("I like tea.", FULL)
    assert format_entry("x", Meta()) == "x"


@pytest.mark.parametrize(
    ("comment", "meta"),
    [
        (" importance 0.7, session 4f2a9c turn 3, 2026-11-21, Preference ", FULL),
        ("category: preference; date: 2026-11-21; source: session 4f2a9c turn 3; importance=7/10",
         FULL),
        ("fact,2026-11-21", Meta("fact", "2026-11-21")),
        ("2026-11-21", Meta(date="2026-11-21")),
        ("decisions", Meta("decision")),
        ("importance 3", Meta(importance=1.0)),
        ("fact, https://a.example/?b=1,2, read twice",
         Meta("fact", source="https://a.example/?b=1,2, read twice")),
        ("fact, preference", Meta("fact", source="preference")),
        ("ask Anna", None),
        ("a fact", None),
        ("see 2026-11-21", None),
        ("", None),
    ],
)  # fmt: skip
def test_a_comment_is_read_leniently_and_a_users_own_is_none(
    comment: str, meta: Meta | None
) -> None:
    assert parse_meta(comment) == meta


def test_a_comment_of_thousands_of_digits_is_read_at_once_and_tells_no_importance() -> None:
    began = time.process_time()
    assert parse_meta("importance " + "1" * 10_000 + "x") is None
    assert parse_meta(f"importance {'9' * 400}/{'9' * 400}") is None  # would be no number
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("a --> b <!-- c", "a -> b <!- c"),
        ("two\nlines", "two lines"),
        ("---->", "->"),
        ("x" * 300, "x" * 200),
    ],
)
def test_a_source_cannot_end_the_comment(source: str, kept: str) -> None:
    (entry,) = entries_of("- " + format_entry("t", Meta("fact", source=source)))
    assert entry.text == "t"
    assert entry.meta.source == kept


# ---- reading


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("- a\n* b\n+ c\n", ["a", "b", "c"]),
        ("- a\n  - b\n    - c\n", ["a", "b", "c"]),
        ("- a\n  goes on\n\n  another text\n- b\n", ["a goes on", "b"]),
        ("- a <!-- x --> b <!-- fact -->\n", ["a b"]),
        ("- ~~a~~ (until 2026-01-02) <!-- fact -->\n", ["a"]),
        ("- ~~a~~ and b\n", ["~~a~~ and b"]),
        ("---\ntags:\n- no\n---\n- yes\n", ["yes"]),
        ("---\n- yes\n---\n- and\n", ["yes", "and"]),
        ("```\n- no\n```\n~~~\n- no\n~~~\n<!--\n- no\n-->\n    - code\n", []),
        ("1. no\n- - -\n***\n-no\n- <!-- only -->\n-\n", []),
        ("- a\r- b\r\n- c", ["a", "b", "c"]),
        ("- a\u2028b\n", ["a\u2028b"]),
    ],
)
def test_these_lines_are_memories(text: str, found: list[str]) -> None:
    assert texts(text) == found


def test_a_struck_line_is_superseded_and_says_until_when() -> None:
    first, second, third = entries_of("- ~~a~~ (until 2026-01-02) <!-- fact -->\n- ~~b~~\n- c\n")
    assert (first.superseded, first.until, first.meta) == (True, "2026-01-02", Meta("fact"))
    assert (second.superseded, second.until) == (True, "")
    assert not third.superseded


@pytest.mark.parametrize(
    ("text", "plain"),
    [("~~a~~", "a"), ("~~a~~ (until 2026-01-02) <!-- fact -->", "a"), ("a ~~b~~", "a ~~b~~"),
     ("~~~~a~~~~", "~~~~a~~~~"), ("<!-- x -->", "")],
)  # fmt: skip
def test_a_new_memory_is_neither_comment_nor_struck_through(text: str, plain: str) -> None:
    assert strip_marks(text) == plain


# ---- changing


@pytest.mark.parametrize(
    ("text", "result", "line"),
    [
        ("", "- x\n", 1),
        ("# M\n", "# M\n\n- x\n", 3),
        ("# M\n\n", "# M\n\n- x\n", 3),
        ("# M", "# M\n\n- x\n", 3),
        ("# M\n- a", "# M\n- a\n- x\n", 3),
        ("words\n", "words\n\n- x\n", 3),
        ("# M\n\nwords\n\n## P\n", "# M\n\nwords\n\n- x\n\n## P\n", 5),
        ("M\n===\n\n- a\n\nTwo\nlines\n---\n", "M\n===\n\n- a\n- x\n\nTwo\nlines\n---\n", 5),
        ("# M\n\n- x\n- y\n", "# M\n\n- x\n- y\n- x\n", 5),
        ("# M\n\n- a\n  more\n", "# M\n\n- a\n  more\n- x\n", 5),
        ("# M\n\n```\n# no heading\n```\n", "# M\n\n```\n# no heading\n```\n\n- x\n", 7),
        ("# M\n\n```\nopen\n", "# M\n\n- x\n\n```\nopen\n", 3),
        ("---\ntitle: M\n---\n", "---\ntitle: M\n---\n\n- x\n", 5),
        ("# M\r\n- a\r\n", "# M\r\n- a\r\n- x\r\n", 3),
        ("# M\r- a\r", "# M\r- a\r- x\r", 3),
    ],
)
def test_an_entry_is_put_in(text: str, result: str, line: int) -> None:
    assert append_entry(text, "x") == (result, line)


def test_a_correction_goes_below_with_the_same_mark_and_indent() -> None:
    text = "1. list\n   *  old\n      more\n   *  next"
    entry = entries_of(text)[0]
    new, line = insert_below(text, entry, "new")
    assert new == "1. list\n   *  old\n      more\n   *  new\n   *  next"
    assert line == 4
    last = entries_of(text)[1]
    assert insert_below(text, last, "new")[0] == f"{text}\n   *  new\n"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("- a\n- b\n", "- ~~a~~ (until 2026-11-21)\n- b\n"),
        ("*\ta  <!-- fact -->  \r\n", "*\t~~a~~ (until 2026-11-21)  <!-- fact -->  \r\n"),
        ("- a <!-- x --> b", "- ~~a <!-- x --> b~~ (until 2026-11-21)"),
        ("- a ~~b~~ c\n", "- ~~a b c~~ (until 2026-11-21)\n"),
        ("- a\n  b <!-- fact -->\n- c\n", "- ~~a b~~ (until 2026-11-21) <!-- fact -->\n- c\n"),
    ],
)
def test_an_entry_is_struck_through(text: str, result: str) -> None:
    assert strike_through(text, entries_of(text)[0], "2026-11-21") == result


def test_an_entry_with_others_below_it_is_not_struck_through() -> None:
    text = "- a\n  - b\n"
    with pytest.raises(ToolProblem, match="editor"):
        strike_through(text, entries_of(text)[0], "2026-11-21")


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("# M\n\n- a\n- b\n", "# M\n\n- b\n"),
        ("- a\n  more\n\n  text\n\nwords\n", "\nwords\n"),
        ("- a\n  - below\n- b\n", "- b\n"),
        ("- a\n  ```\ncode\n  ```\n- b\n", "- b\n"),
        ("- a\nwords\n", "words\n"),
        ("- a", ""),
    ],
)
def test_an_entry_is_taken_out(text: str, result: str) -> None:
    assert remove_entry(text, entries_of(text)[0]) == result
