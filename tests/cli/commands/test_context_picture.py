"""The picture of the window: a bar that reads without colour, and a table that explains it."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.cli.commands.context import (
    ASCII,
    BLOCKS,
    Canvas,
    canvas,
    report_lines,
    share_columns,
)
from openclaw.inspection.context import ContextReport, RequestPart
from openclaw.messages import TurnRecord
from openclaw.models.base import Request
from tests.cli.test_render import Terminal

PLAIN = Canvas(80, ASCII)


def part(name: str, tokens: int, path: str = "", *, cut: bool = False) -> RequestPart:
    return RequestPart(name, path, tokens, 4 * tokens, cut)


def report(
    *parts: RequestPart, window: int = 8000, reply: int = 1000, **more: Any
) -> ContextReport:
    used = sum(each.tokens for each in parts)
    return ContextReport(window, used, parts, Request((), max_tokens=reply), b"", **more)


def test_each_part_is_a_segment_with_its_letter_and_its_share() -> None:
    told = report(part("soul", 2000, "workspace/SOUL.md"), part("history", 1000))
    lines = report_lines(told, PLAIN)
    assert lines[1] == "a" + "#" * 19 + "b" + "#" * 9 + "." * 40 + "-" * 10
    assert lines[4].split() == ["a", "soul", "2,000", "25.0%", "workspace/SOUL.md"]
    assert lines[5].split() == ["b", "history", "1,000", "12.5%"]


def test_free_room_and_the_room_for_the_reply_are_parts_too() -> None:
    lines = report_lines(report(part("soul", 2000)), PLAIN)
    assert lines[5].split() == ["together", "2,000", "25.0%"]
    assert lines[6].split() == [".", "free", "5,000", "62.5%"]
    assert lines[7].split() == ["-", "for", "the", "reply", "1,000", "12.5%"]
    assert lines[8].split() == ["window", "8,000", "100.0%"]


def test_a_cut_part_names_the_rule() -> None:
    cut = [{"part": "memory", "path": "memory/MEMORY.md", "rule": "6 % of the window"}]
    told = report(part("memory", 480, "memory/MEMORY.md", cut=True), record=TurnRecord(cut=cut))
    assert report_lines(told, PLAIN)[-1] == "memory cut: 6 % of the window"


def test_what_was_cut_of_the_conversation_is_told_by_what_is_left_of_it() -> None:
    rules = [
        {"part": "history", "path": "s", "rule": "4 messages are archived"},
        {"part": "results", "path": "s", "rule": "results in one line"},
    ]
    record = TurnRecord(cut=rules, left_out=[{"path": "a"}, {"path": "b"}])
    told = report(part("earlier", 9), part("history", 9), part("passages", 9), record=record)
    assert report_lines(told, PLAIN)[-3:] == [
        "earlier cut: 4 messages are archived",
        "history cut: results in one line",
        "passages cut: 2 more not included",
    ]


def test_passages_name_the_files_that_they_are_from() -> None:
    offered = [{"path": "memory/a.md"}, {"path": "memory/a.md"}, {"path": "b.md"}]
    lines = report_lines(report(part("passages", 9), record=TurnRecord(offered=offered)), PLAIN)
    assert lines[4].endswith("  memory/a.md and 1 more")


def test_what_has_to_be_put_away_first_and_notices_are_told() -> None:
    told = report(part("soul", 1), compacted=12, notices=("a.txt is too long\x1b[2J",))
    lines = report_lines(told, PLAIN)
    assert any(line.startswith("12 messages would be compacted first") for line in lines)
    assert lines[-1].startswith("a.txt is too long") and "\x1b" not in lines[-1]


def test_a_request_larger_than_the_window_leaves_nothing_free() -> None:
    told = report(part("soul", 9000))
    assert (told.free, told.reply) == (0, 0)
    assert report_lines(told, PLAIN)[1] == "a" + "#" * 79


def test_colours_add_nothing_to_the_words() -> None:
    told = report(part("soul", 2000), part("history", 10))
    plain = report_lines(told, Canvas(80, BLOCKS))
    coloured = report_lines(told, Canvas(80, BLOCKS, coloured=True))
    assert coloured != plain
    for code in ("\x1b[36m", "\x1b[32m", "\x1b[2m", "\x1b[m"):
        coloured = [line.replace(code, "") for line in coloured]
    assert coloured == plain


def test_as_json_the_parts_keep_their_five_keys() -> None:
    cuts = [{"part": "soul", "rule": "6 %"}]
    record = TurnRecord(model="ollama/x", protocol="json", cut=cuts)
    shape = report(part("soul", 2000, "workspace/SOUL.md"), record=record).as_json()
    assert shape["parts"] == [
        {"name": "soul", "path": "workspace/SOUL.md", "tokens": 2000, "bytes": 8000, "cut": False}
    ]
    assert (shape["window"], shape["used"]) == (8000, 2000)
    assert (shape["free"], shape["reply"], shape["cuts"]) == (5000, 1000, cuts)


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=25), st.integers(40, 200))
def test_columns_are_given_out_whole_and_what_is_something_is_seen(
    amounts: list[int], columns: int
) -> None:
    given_out = share_columns(amounts, columns)
    assert sum(given_out) == (columns if sum(amounts) else 0)
    assert all(size >= 1 for amount, size in zip(amounts, given_out, strict=True) if amount)
    assert all(size == 0 for amount, size in zip(amounts, given_out, strict=True) if not amount)


@pytest.mark.parametrize(
    ("environ", "blocks"),
    [
        ({"LANG": "de_DE.UTF-8", "TERM": "xterm"}, True),
        ({"TERM": "xterm"}, True),
        ({"LC_ALL": "C", "LANG": "de_DE.UTF-8", "TERM": "xterm"}, False),
        ({"TERM": "dumb"}, False),
    ],
)
def test_blocks_are_drawn_where_they_come_out(
    environ: dict[str, str], blocks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LC_ALL", "LC_CTYPE", "LANG", "TERM"):
        monkeypatch.setenv(name, environ.get(name, ""))
    assert canvas(Terminal()).marks is (BLOCKS if blocks else ASCII)


def test_no_colours_for_a_pipe_or_a_user_who_wants_none(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, pipe = Terminal(), io.StringIO()
    for name, value in (("TERM", "xterm"), ("NO_COLOR", ""), ("COLUMNS", "140")):
        monkeypatch.setenv(name, value)
    assert canvas(terminal).coloured and not canvas(pipe).coloured
    assert canvas(pipe).width == 140
    monkeypatch.setenv("NO_COLOR", "1")
    assert not canvas(terminal).coloured
