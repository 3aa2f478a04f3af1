"""Tokens counted offline, long texts cut visibly, old exchanges dropped in good time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.messages import Message, ToolCall
from openclaw.models.token_count import (
    MAX_SAVED,
    Meter,
    SavedCounts,
    count,
    cut,
    request_text,
    surely_fits,
)
from tests.fakes.loaded import loaded_by


def test_the_tokenizer_needs_no_network(tmp_path: Path) -> None:
    code = (
        "import socket\n"
        "def refuse(*a, **k): raise AssertionError('reached out')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "from openclaw.models.token_count import count; import sys\n"
        "print(count('Say hello.'), 'llama_index.core' in sys.modules)"
    )
    environ = {k: v for k, v in os.environ.items() if not k.startswith("TIKTOKEN")}
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**environ, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert shown.stdout.split() == ["3", "False"]
    assert not list(tmp_path.glob("data-gym-cache/*"))


def test_marks_of_a_chat_template_in_a_text_are_counted_as_text() -> None:
    assert count("<|endoftext|>") > 1


def test_a_request_costs_its_messages_their_calls_and_the_tools() -> None:
    plain = [Message("user", "Say hello.")]
    called = [Message("assistant", "", (ToolCall("1", "read_file", {"path": "a.md"}),))]
    assert Meter(1.0).cost(plain) > count("Say hello.")
    assert "read_file" in request_text(called) and "a.md" in request_text(called)
    assert Meter(1.0).tools([{"name": "read_file"}]) > 0


# -------- cut


def test_a_text_that_fits_is_left_alone() -> None:
    assert cut("one\ntwo", 10, "more") == ("one\ntwo", False)


def test_a_long_text_is_cut_at_a_line_end_and_says_what_is_missing_and_what_to_do() -> None:
    lines = [f"line number {n} of the file" for n in range(500)]
    text, was_cut = cut("\n".join(lines), 100, "read_file notes.md")
    *kept, mark = text.split("\n")
    assert was_cut and kept == lines[: len(kept)] and kept
    assert mark == f"[cut here, {500 - len(kept)} more lines: read_file notes.md]"
    assert count("\n".join(kept)) <= 100


def test_one_endless_line_is_cut_too() -> None:
    text, was_cut = cut("word " * 5000, 50, "read it")
    assert was_cut and count(text.rpartition("\n")[0]) <= 50


@given(st.text(alphabet="ab\n \u4eca\u65e5#-1", max_size=400), st.integers(1, 60))
def test_what_is_kept_is_the_beginning_and_small_enough(text: str, tokens: int) -> None:
    kept, was_cut = cut(text, tokens, "x")
    if was_cut:
        kept = kept.rpartition("\n[cut here")[0]
        assert text.startswith(kept) and count(kept) <= tokens
    else:
        assert kept == text


# -------- surely_fits

WORDS = st.sampled_from(
    "the Meeting is on Friday at 15:30 caf\u00e9 M\u00fcller na\u00efve README.md memory/TODO.md "
    "https://example.com/a?b=1 2026-11-21 3.14 1,000 v0.9.2 due:2026-12-01 [x] [ ] - # ## ** | --- "
    "def f(x): return {'a':1}; \u4eca\u5929\u7684\u4f1a\u8bae \u4eca\u65e5\u306f \uc624\ub298 "
    "\u10e8\u10d4\u10ee\u10d5\u10d4\u10d3\u10e0\u10d0 \u05d4\u05e4\u05d2\u05d9\u05e9\u05d4 "
    "\u0412\u0441\u0442\u0440\u0435\u0447\u0430 \u03a3\u03ae\u03bc\u03b5\u03c1\u03b1 "
    "d41d8cd98f00b204e980 550e8400-e29b-41d4-a716-446655440000 \u2192 \u2014 \u20ac "
    "\u00a7 \u201cyes\u201d 0.33,7,12 ERROR WARN ==== //// >>> \\n %s $HOME @path".split()
) | st.just("- [ ] call Ada about the garden ^1a2b3c4d")


@given(st.lists(WORDS, min_size=12, max_size=40, unique=True), st.sampled_from([" ", "\n", ", "]))
def test_a_text_is_never_said_to_fit_when_it_does_not(words: list[str], between: str) -> None:
    text = between.join(words)
    assert not surely_fits(text, count(text) - 1)


@pytest.mark.parametrize(
    "line",
    ["{0},{1},0.{0}", "d41d8cd98f00b204e9800998ecf84{0:03}", "|{0}|{1}|", "2026-11-21T10:{0}:00Z"],
)
def test_tables_hashes_and_times_count_for_more_than_prose(line: str) -> None:
    text = "\n".join(line.format(n, n * 7 % 13) for n in range(300))
    assert not surely_fits(text, count(text) - 1)


def test_short_prose_is_known_to_fit_without_the_tokenizer() -> None:
    code = (
        "from openclaw.models.token_count import surely_fits\n"
        "assert surely_fits('A short text of common words.', 60)"
    )
    assert loaded_by(code, "tiktoken") == []


def test_half_a_pair_of_surrogates_is_no_error() -> None:
    assert surely_fits("\ud83d", 10)
    assert count("\ud83d") >= 1


def test_a_text_that_was_counted_before_is_not_counted_again(tmp_path: Path) -> None:
    file = tmp_path / "counts.json"
    assert SavedCounts(file).count("Hello, world.") == 4
    file.write_text(file.read_text("utf-8").replace(": 4", ": 9"), "utf-8")
    assert SavedCounts(file).count("Hello, world.") == 9
    assert SavedCounts(file).count("Hello.") == 2


@pytest.mark.parametrize("damaged", ["", "[]", '{"7d793037a0760186574b0282f2f435e7": "x"}', "\0"])
def test_a_damaged_file_of_counts_is_made_again(tmp_path: Path, damaged: str) -> None:
    file = tmp_path / "counts.json"
    file.write_text(damaged, "utf-8")
    assert SavedCounts(file).count("Hello, world.") == 4
    assert 4 in json.loads(file.read_text("utf-8")).values()


def test_the_file_of_counts_keeps_the_newest(tmp_path: Path) -> None:
    file = tmp_path / "counts.json"
    counts = SavedCounts(file)
    for number in range(MAX_SAVED + 5):
        counts.count(f"text {number}")
    assert len(json.loads(file.read_text("utf-8"))) == MAX_SAVED
