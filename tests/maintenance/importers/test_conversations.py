"""The parts of an import: foreign conversations and memories, taken apart and put together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.maintenance.importers.conversations import (
    LONGEST_RESULT,
    content_text,
    home_id,
    iso_time,
    read_foreign,
    thread,
)
from openclaw.maintenance.importers.memories import (
    append_blocks,
    as_list,
    blocks,
    entries,
    new_blocks,
    text_of,
)
from openclaw.maintenance.importers.source import Source
from openclaw.maintenance.importers.steps import SourceItem
from openclaw.memory.entries import entries_of
from openclaw.sessions.session import INTERRUPTED, NotASession, from_json, to_json


def test_blocks_know_headings_lists_code_and_leave_out_matter() -> None:
    text = (
        "---\ntags: [a]\n---\n# Memory\n\n<!-- a note -->\n\n## House\n\nTwo\nlines.\n\n- one\n"
        "  - below\n- two\n\n```\n\n# no heading\n```\n\n***\n\nTown\n----\n\n1. first\n"
    )
    assert [(block.heading, block.text) for block in blocks(text)] == [
        ("House", "Two\nlines."),
        ("House", "- one\n  - below"),
        ("House", "- two"),
        ("House", "```\n\n# no heading\n```"),
        ("Town", "1. first"),
    ]


def test_the_next_import_of_a_day_goes_on_below_the_same_heading() -> None:
    first = append_blocks("# M\n", new_blocks("- a b c\n", "# M\n"), "Imported")
    both = append_blocks(first, new_blocks("- a b c\n- d e f\n", first), "Imported")
    assert both == "# M\n\n## Imported\n\n- a b c\n\n- d e f\n"


def test_newlines_of_the_file_are_kept() -> None:
    known = "# M\r\n\r\n- mine\r\n"
    text = append_blocks(known, new_blocks("- theirs\n\nwords\n", known), "Imported")
    assert text == f"{known}\r\n## Imported\r\n\r\n- theirs\r\n\r\nwords\r\n"


@given(
    st.lists(
        st.sampled_from(["- a", "- b c", "  more", "", "# T", "## U", "words", "1. x", "```"])
    ),
    st.lists(st.sampled_from(["- a", "- z", "", "## Mine", "text"])),
)
def test_nothing_comes_twice_and_nothing_goes(theirs: list[str], mine: list[str]) -> None:
    known = "".join(f"{line}\n" for line in mine)
    text = "".join(f"{line}\n" for line in theirs)
    once = append_blocks(known, new_blocks(text, known), "Imported")
    assert once.startswith(known)
    facts = {entry.text for entry in entries_of(once)}
    assert {entry.text for entry in entries_of(known)} <= facts


def test_memories_of_hermes_are_list_items() -> None:
    memories = entries("one\n\u00a7\ntwo\nmore\n\u00a7\n\n\u00a7\n- three\n- four\n")
    assert memories == ["one", "two\nmore", "- three\n- four"]
    assert as_list(memories) == "- one\n- two\n  more\n- three\n- four\n"


# -------- conversations


def test_results_go_to_the_calls_that_they_name() -> None:
    calls = [
        {"id": "1", "function": {"name": "a", "arguments": "{}"}},
        {"id": "2", "function": {"name": "b", "arguments": "not json"}},
    ]
    entry = thread(
        [
            {"role": "system", "content": "never"},
            {"role": "tool", "tool_call_id": "0", "content": "of nobody"},
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": "2", "content": "second"},
        ]
    )[0]
    assert [(use.tool, use.output, use.ok) for use in entry.tool_calls] == [
        ("a", INTERRUPTED, False),
        ("b", "second", True),
    ]
    assert entry.tool_calls[1].input == {"input": "not json"}


def test_a_result_goes_to_no_call_from_before_the_last_message_of_the_user() -> None:
    call = {"id": "1", "function": {"name": "a", "arguments": ""}}
    first, *_ = thread(
        [
            {"role": "assistant", "tool_calls": [call]},
            {"role": "user", "content": "Stop."},
            {"role": "tool", "content": "of nobody"},
        ]
    )
    assert [(use.output, use.input) for use in first.tool_calls] == [(INTERRUPTED, {})]


def test_a_failed_call_and_a_long_result_say_so() -> None:
    call = {"type": "toolCall", "id": "1", "name": "exec", "arguments": {"command": "ls"}}
    long = "x" * (LONGEST_RESULT + 5)
    entry = thread(
        [
            {"role": "assistant", "content": [call]},
            {"role": "toolResult", "toolCallId": "1", "content": long, "isError": True},
        ]
    )[0]
    (use,) = entry.tool_calls
    assert not use.ok
    assert use.output.endswith("[5 more characters not imported]")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("said", "said"),
        ([{"type": "text", "text": "a"}, {"type": "image", "data": "AA=="}], "a\n[image]"),
        ([{"type": "image_url", "image_url": {"url": "x"}}, "b"], "[image]\nb"),
        ([{"type": "thinking", "thinking": "never"}], ""),
        (None, ""),
        (5, ""),
    ],
)
def test_the_text_of_any_content(content: Any, text: str) -> None:
    assert content_text(content) == text


@pytest.mark.parametrize("value", [1768209243107, 1768209243.107, "2026-01-12T09:14:03.107Z"])
def test_times_of_all_shapes(value: Any) -> None:
    from datetime import UTC, datetime

    at = datetime.fromisoformat(iso_time(value))
    assert at == datetime(2026, 1, 12, 9, 14, 3, 107000, UTC)


@pytest.mark.parametrize("value", [None, "", "soon", -1, True, 1e300, [], {}])
def test_what_is_no_time_is_none(value: Any) -> None:
    assert iso_time(value) == ""


def node(own: str, parent: str, text: str) -> dict[str, Any]:
    message = {"role": "user", "content": text}
    return {"type": "message", "id": own, "parentId": parent, "message": message}


def test_a_broken_tree_is_read_in_its_order() -> None:
    lines = [{"type": "session", "id": "s"}, node("b", "lost", "1"), node("c", "b", "2")]
    found, _ = read_foreign("\n".join(map(json.dumps, lines)), "s")
    assert [entry.content for entry in found.messages] == ["1", "2"]


def test_a_message_may_hold_any_line_end(tmp_path: Path) -> None:
    said = [{"role": "user", "content": "one\u2028two"}, {"role": "assistant", "content": "a\x85b"}]
    lines = (json.dumps(each, ensure_ascii=False) for each in said)
    found, unread = read_foreign("\n".join(lines), "s")
    assert [entry.content for entry in found.messages] == ["one\u2028two", "a\x85b"]
    assert not unread
    (tmp_path / "history.jsonl").write_text('{"content": "one\u2028two"}\n', encoding="utf-8")
    log = SourceItem("note", "history.jsonl", "x.md", "log")
    assert "one" in text_of(Source(tmp_path), log)


def test_a_tree_whose_entries_go_round_ends() -> None:
    lines = [node("a", "b", "1"), node("b", "a", "2")]
    found, _ = read_foreign("\n".join(map(json.dumps, lines)), "s")
    assert len(found.messages) == 2


def test_ids_are_the_same_each_time_and_never_two_of_one_name() -> None:
    assert home_id("hermes", "20260411_192600_a1b2") == "hermes-20260411_192600_a1b2"
    assert home_id("nanobot", "cli:direct") == "nanobot-cli-direct"
    odd = [home_id("nanobot", own) for own in ("a/b", "a b", "a:b", "x" * 90, "x" * 91)]
    assert len(set(odd)) == 5
    assert all(len(name) <= 64 for name in odd)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    "role content type id parentId message tool_calls arguments function name "
                    "timestamp _type key metadata messages tool_call_id".split()
                ),
                inner
                | st.sampled_from(["user", "assistant", "tool", "message", "metadata", "toolCall"]),
                max_size=6,
            )
        ),
        max_leaves=25,
    )
)
def test_whatever_a_file_holds_becomes_a_session_or_is_none(value: Any) -> None:
    try:
        found, _ = read_foreign(json.dumps(value), "name")
    except NotASession:
        return
    found.id = "x"
    again = from_json(to_json(found), "x")
    assert [entry.role for entry in again.messages] == [e.role for e in found.messages]
