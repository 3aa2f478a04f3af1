"""Chunks of text as they are cited, and as they are ranked."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from openclaw.retrieval.chunking import Chunk, split
from openclaw.retrieval.units import WINDOW_BYTES, size

KINDS = ("markdown", "text", "code", "html", "pdf", "session")
NAMES = ("a.md", "2026-11-21.md", "app.log", "rows.csv", "settings.yaml", "main.py", "")

# Pieces that mean something to one of the readers, so that random texts are not all paragraphs.
PIECES = st.sampled_from(
    [
        *("\n", "\n\n", "\r\n", "\r", " ", "    ", "\t", "\f", "\x0b", "\x85", "\u2028", "\x00"),
        *(
            "# ",
            "## Title",
            "- ",
            "* ",
            "1. ",
            "- [ ] task",
            "> ",
            "---",
            "===",
            "***",
            "```",
            "~~~",
        ),
        *("<!--", "-->", "<!-- fact, 2026-11-21 -->", "| a | b |", "|---|---|", "~~gone~~", "~~"),
        *("[link](http://x)", "[[note|name]]", "^a1b2c3d4", "word", "Port: 80", "a. B", "."),
        *("2026-11-21 ", "2026-11-21T10:00:00Z INFO x", "def f():", "class A:", "  key:", "[part]"),
        *("\u65e5\u672c\u8a9e", "x" * 700, "word " * 150, "\U0001f600", "\ud800"),
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=12), max_size=30).map("".join)


def lines_of(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def texts(text: str, kind: str = "markdown", path: str = "") -> list[str]:
    return [chunk.text for chunk in split(text, kind, path)]


def the(needle: str, chunks: list[Chunk]) -> Chunk:
    return next(chunk for chunk in chunks if needle in chunk.text)


@given(TEXTS, st.sampled_from(KINDS), st.sampled_from(NAMES))
@example("---\n\n---\n---", "markdown", "")
@example("<!--\n\n```\n- a", "markdown", "")
@example("a\n=\nb | c\n--|--", "markdown", "")
@example("\n\x1c\n \n", "text", "")
def test_every_line_that_is_not_blank_is_in_one_chunk_and_they_stand_in_order(
    text: str, kind: str, path: str
) -> None:
    lines, chunks = lines_of(text), split(text, kind, path)
    seen: list[int] = []
    for chunk in chunks:
        assert 1 <= chunk.start_line <= chunk.end_line <= len(lines)
        own = lines[chunk.start_line - 1 : chunk.end_line]
        if seen and chunk.start_line == chunk.end_line == seen[-1]:
            assert chunk.text in own[0]  # a further piece of one long line
            continue
        assert not seen or chunk.start_line > seen[-1]
        assert chunk.text == "\n".join(own) or (len(own) == 1 and own[0].strip())
        seen.extend(range(chunk.start_line, chunk.end_line + 1))
    assert {at for at, line in enumerate(lines, 1) if line.strip()} <= set(seen)


@given(TEXTS, st.sampled_from(KINDS), st.sampled_from(NAMES))
def test_a_context_fits_the_window_of_the_embedding_model(text: str, kind: str, path: str) -> None:
    for chunk in split(text, kind, path):
        own = size(chunk.parts[0]) if chunk.parts else 0
        assert own <= WINDOW_BYTES or chunk.headings or chunk.start_line == chunk.end_line
        title = size(" > ".join(chunk.headings))
        assert size("\n".join(chunk.parts)) <= max(WINDOW_BYTES, own) + title + 210


@given(st.text(max_size=3000), st.sampled_from(KINDS))
def test_the_pieces_of_a_long_line_hold_all_its_words(text: str, kind: str) -> None:
    line = " ".join(text.split()) or "x"
    found = " ".join(texts(f"a {line}", kind)).split()
    assert "".join(found) == "".join(f"a {line}".split())


def test_a_list_item_is_a_chunk_with_the_lines_that_continue_it() -> None:
    assert texts("- one\n- two\n  goes on\nlazily\n\n- three\n") == [
        "- one",
        "- two\n  goes on\nlazily",
        "- three",
    ]


def test_lines_that_an_editor_wrapped_are_one_paragraph() -> None:
    text = (
        "The harbour office opens at seven and closes at noon, but on\n"
        "market days the clerk stays until four in the afternoon.\n"
        "\n"
        "Another paragraph.\n"
    )
    assert len(texts(text)) == 2


def test_lines_whose_break_was_meant_are_chunks_of_their_own() -> None:
    assert texts("Port: 80\nHost: example\nUser: anna\n", "text") == [
        "Port: 80",
        "Host: example",
        "User: anna",
    ]


@pytest.mark.parametrize(
    "time", ["[19:44]", "19:44", "12/03/26, 7:44 PM -", "(2026-03-12 19:44:05)"]
)
def test_each_message_of_an_exported_chat_is_a_chunk_with_its_speaker(time: str) -> None:
    long = "The coach firms have answered, and both of them have a bus with a toilet on board"
    chat = f"{time} Nimmi: {long}\n{time} Gareth: Which is cheaper?\n{time} Nimmi: {long}\n"
    assert [chunk.label for chunk in split(chat, "markdown")] == ["Nimmi", "Gareth", "Nimmi"]


def test_a_sentence_that_goes_on_in_the_next_line_is_not_torn() -> None:
    assert len(texts("We met at\nthe station and\nwent home.\n")) == 1


def test_a_chunk_is_ranked_with_a_neighbour_on_each_side_and_twice_its_headings() -> None:
    text = "# House\n\n## Kitchen\n" + "".join(f"- item{n}\n" for n in range(7))
    chunk = the("item3", split(text, "markdown"))
    assert chunk.text == "- item3"
    assert chunk.headings == ("House", "Kitchen")
    assert chunk.parts == ("item3", *["House > Kitchen"] * 2, "item2", "item4")


def test_a_message_of_a_talk_is_ranked_with_two_neighbours_on_each_side() -> None:
    chunks = split("# Monday\n" + "".join(f"- Ada: m{n}\n" for n in range(7)), "markdown")
    around = ("Ada: m1", "Ada: m2", "Ada: m4", "Ada: m5")
    assert the("m3", chunks).parts[1:] == ("Monday", *around)


def test_neighbours_are_of_the_same_section() -> None:
    text = "# A\n- one\n\n# B\n- two\n"
    assert "one" not in the("two", split(text, "markdown")).parts


def test_neighbours_are_fewer_when_they_are_long() -> None:
    text = "".join(f"- n{n} {'long ' * 90}\n" for n in range(5))
    assert len(the("n2 ", split(text, "markdown")).parts) < 3


def test_lines_of_marks_alone_have_no_neighbours_and_take_no_time_to_look_for_them() -> None:
    began = time.process_time()
    chunks = split("name: tea\n" + "[],\n" * 10_000, "code", "rows.json")
    assert [chunk.parts for chunk in chunks[:2]] == [("name: tea",), ("[],",)]
    assert time.process_time() - began < 3


def test_a_nested_item_is_ranked_with_the_item_it_belongs_to() -> None:
    text = "- Berlin office\n" + "".join(f"  - room {n}\n" for n in range(6))
    assert "Berlin office" in the("room 5", split(text, "markdown")).parts


HEAD = "| name | town |\n|---|---|\n"


def test_a_short_table_stays_whole() -> None:
    table = f"{HEAD}| Anna | Ulm |\n| Ben | Bern |"
    assert texts(f"Before.\n\n{table}\n\nAfter.\n")[1] == table


def test_a_long_header_without_rows_is_found() -> None:
    (header,) = split(f"| {'weather station ' * 40}|\n|---|\n", "markdown")
    assert "weather station" in header.parts[0]


def test_a_row_of_a_longer_table_is_ranked_with_the_header_and_without_other_rows() -> None:
    rows = [f"| person {n} | a town with a long name |" for n in range(30)]
    heads, *found = split("# Guests\n" + HEAD + "\n".join(rows), "markdown")[1:]
    assert not heads.parts
    assert [chunk.text for chunk in found] == rows
    own = "person 7 a town with a long name"
    assert found[7].parts == (own, "Guests", "Guests", "name town")


def test_a_row_of_a_longer_table_has_its_day_and_may_be_struck_through() -> None:
    rows = "| 2026-03-01 | boiler |\n| ~~2026-03-02~~ | ~~taps~~ |\n" + "| roof | tiles |\n" * 50
    dated, struck = split(HEAD + rows, "markdown")[1:3]
    assert (dated.date, dated.struck, struck.struck) == ("2026-03-01", False, True)


def test_a_row_of_a_csv_file_is_ranked_with_the_header_and_without_other_rows() -> None:
    head, *rows = lines = ["order,customer,total", "1041,Abara,38", "1042,Lind,44", "1043,Osei,11"]
    chunks = split("\n".join(lines), "text", "orders.csv")
    assert [chunk.parts for chunk in chunks] == [(head,), *((row, head) for row in rows)]
    assert head not in split("\n".join(lines), "text", "orders.log")[3].parts


@pytest.mark.parametrize("rows", ["\na,b\n", "a\tb\n", "a,b\n1,2\n1,2\n1,2\n1,2\n1,2\n3,4\n 5,6"])
def test_the_header_of_a_table_is_its_first_text_once(rows: str) -> None:
    chunks = split(f"{rows}1,2\n1,2\n1,2", "text", "rows.tsv")
    header = chunks[0].parts[0]
    assert [chunk.parts.count(header) for chunk in chunks] == [1] * len(chunks)


def test_a_code_block_stays_whole_with_its_blank_lines() -> None:
    block = "```python\nx = 1\n\n# no heading\ny = 2\n```"
    chunks = split(f"# T\n\n{block}\n\nText.\n", "markdown")
    assert chunks[1].text == block
    assert chunks[2].headings == ("T",)


def test_a_fence_that_is_never_closed_does_not_swallow_the_rest() -> None:
    assert texts("```\n# Title\n- one\n- two\n")[-2:] == ["- one", "- two"]


def test_front_matter_stays_whole_and_gives_title_and_date() -> None:
    chunks = split("---\ntitle: Harbour\ndate: 2026-03-01\n---\n\nText.\n", "markdown", "x.md")
    assert chunks[0].text.count("\n") == 3
    assert chunks[1].headings == ("Harbour",)
    assert chunks[1].date == "2026-03-01"


def test_underlined_headings_are_headings() -> None:
    chunks = split("House\n=====\n\nKitchen\n-------\nText.\n", "markdown")
    assert chunks[-1].headings == ("House", "Kitchen")


def test_the_comment_of_an_entry_is_not_ranked_but_dates_it() -> None:
    chunk = split("- Anna likes tea <!-- preference, 2026-11-21, turn 4 -->\n", "markdown")[0]
    assert chunk.parts == ("Anna likes tea",)
    assert chunk.date == "2026-11-21"


def test_task_boxes_block_ids_and_link_targets_are_not_ranked() -> None:
    text = "- [ ] buy [milk](https://shop.example/aisle7) ^1a2b3c4d\n"
    assert split(text, "markdown")[0].parts == ("buy milk",)


def test_a_line_struck_through_as_a_whole_is_struck_and_its_neighbours_do_not_know_it() -> None:
    text = "- Lives in Ulm\n- ~~Lives in Berlin~~ (until 2026-11-21) <!-- fact, 2026-01-02 -->\n"
    live, gone = split(text, "markdown")
    assert gone.struck and not live.struck
    assert "Berlin" not in str(live.parts)
    assert "Ulm" not in str(gone.parts) and "Berlin" in str(gone.parts)


def test_words_struck_in_a_living_line_are_not_ranked() -> None:
    chunk = split("- The meeting is on ~~Monday~~ Tuesday\n", "markdown")[0]
    assert not chunk.struck
    assert chunk.parts == ("The meeting is on Tuesday",)


def test_a_comment_or_a_rule_alone_has_nothing_to_rank() -> None:
    chunks = split("# T\n\n<!-- written\nby the program -->\n\n---\n\n- one\n", "markdown")
    assert [chunk.parts for chunk in chunks] == [("T",), (), (), ("one", "T", "T")]


def test_the_date_is_that_of_the_entry_else_of_the_heading_else_of_the_file() -> None:
    text = "- a\n\n## 2026-05-02 Monday\n- b\n- 2026-05-01: c\n"
    assert [chunk.date for chunk in split(text, "markdown", "memory/2026-04-30.md")] == [
        "2026-04-30",
        "2026-05-02",
        "2026-05-02",
        "2026-05-01",
    ]


def test_the_label_is_who_speaks_or_which_key_is_set() -> None:
    labels = [c.label for c in split("- Caroline: hi\n- **Port**: 80\n- no label\n", "markdown")]
    assert labels == ["Caroline", "Port", ""]


def test_a_log_is_one_chunk_a_line_and_a_stack_trace_stays_with_its_line() -> None:
    text = (
        "2026-11-21 10:00:00 INFO start # 1\n"
        "2026-11-21 10:00:01 ERROR boom\n"
        "    at Main.run\n"
        "    at Main.main\n"
        "2026-11-21 10:00:02 INFO * end\n"
    )
    chunks = split(text, "text", "app.log")
    assert [(c.start_line, c.end_line) for c in chunks] == [(1, 1), (2, 4), (5, 5)]
    assert chunks[1].date == "2026-11-21"
    assert [c.text for c in split(text, "text", "notes.txt")] == [c.text for c in chunks]


def test_source_is_cut_at_blank_lines_and_definitions_and_told_with_what_is_around_it() -> None:
    text = (
        "import os\n\nclass Store:\n    def load(self):\n        x = 1\n\n        return x\n"
        "    def save(self):\n        pass\n"
    )
    chunks = split(text, "code", "store.py")
    assert [chunk.text.strip().split("\n")[0] for chunk in chunks] == [
        "import os",
        "class Store:",
        "def load(self):",
        "return x",
        "def save(self):",
    ]
    assert "class Store def load(self)" in the("return x", chunks).parts


def test_a_settings_line_is_told_with_the_keys_above_it() -> None:
    text = "server:\n  host: a\n  port: 80\nclient:\n  port: 81\n"
    chunk = the("port: 80", split(text, "code", "config.yaml"))
    assert chunk.label == "port"
    assert "server" in chunk.parts


def test_one_very_long_line_is_cut_at_sentences_with_the_same_number() -> None:
    line = "".join(f"Sentence number {n} says something of note. " for n in range(80))
    chunks = split(line, "markdown")
    assert len(chunks) > 3
    assert {(c.start_line, c.end_line) for c in chunks} == {(1, 1)}
    assert all(chunk.text.endswith(".") for chunk in chunks)


def test_line_numbers_are_those_of_an_editor_whatever_ends_a_line() -> None:
    for newline in ("\n", "\r\n", "\r"):
        text = newline.join(["# T", "", "- one", "- two\x0bx\u2028y", ""])
        assert [c.start_line for c in split(text, "markdown")] == [1, 3, 4]


def test_an_empty_text_has_no_chunks() -> None:
    assert split("", "markdown") == split(" \n\t\n", "text") == []


@pytest.mark.slow
def test_a_hostile_text_takes_no_more_than_its_share_of_time() -> None:
    started = time.process_time()
    for piece in (
        "~~a ",
        "<!--\n",
        "[[",
        "](",
        "```\n",
        "| -",
        "- ",
        "# #",
        "\t",
        "<a ",
        "`",
        "((a",
    ):
        split(piece * 20_000, "markdown")
        split("# " + piece * 20_000 + "x", "markdown")
        split("a | b\n" + piece * 20_000 + "x", "markdown")
    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    "line, days",
    [
        ("Yesterday Hedwig fell on the stairs.", ["2026-05-05"]),
        ("Vorgestern war ich segeln.", ["2026-05-04"]),
        ("Il y a trois jours, un orage.", ["2026-05-03"]),
        ("The flight is on 2 August.", ["2026-08-02"]),
        ("Today and on 2026-05-06 it rained.", []),
        ("A quiet month, as in March.", []),
        ("Nothing new.", []),
    ],
)
def test_a_chunk_of_a_day_knows_the_other_days_that_it_tells_of(line: str, days: list[str]) -> None:
    chunks = split(f"# 2026-05-06\n\n- {line}\n", "markdown")
    assert list(chunks[-1].days) == days


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("- The museum trip is on 9 December.\n", ["--12-09"]),
        ("## Tuesday 1 December\n\n10:00 Moose\n", ["--12-01"]),
        ("## Urlaub\n\n3.-5. M\u00e4rz: Harz\n", ["--03-03", "--03-04", "--03-05"]),
        ("- The 29th of February is a holiday.\n", ["--02-29"]),
        ("- The boiler was checked in May.\n", []),
        ("- Paid on 7 December 2025.\n", []),
        ("- Yesterday it rained.\n", []),
    ],
)
def test_a_chunk_without_a_day_knows_the_days_of_every_year_that_it_tells_of(
    text: str, days: list[str]
) -> None:
    assert list(split(text, "markdown")[-1].days) == days


def test_last_week_is_each_of_its_days() -> None:
    days = split("# 2026-05-06\n\nLast week we sailed.\n", "markdown")[-1].days
    assert (days[0], days[-1], len(days)) == ("2026-04-27", "2026-05-03", 7)
