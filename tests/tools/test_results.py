"""A result that is too long is cut to both ends, and knows which lines it still shows."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from openclaw.storage.home import Home
from openclaw.tools.results import (
    LONGEST_LINE,
    ResultLimits,
    cut_to_limits,
    excerpt,
    spill,
    wrap_lines,
)
from openclaw.types import Shown
from tests.fakes.files import write_files


@given(st.lists(st.integers(0, 4_000), min_size=1, max_size=30), st.integers(300, 3_000))
def test_the_lines_that_a_cut_leaves_are_shown_whole(lengths: list[int], most: int) -> None:
    lines = [f"line {n} begins {'x' * length} ends {n}." for n, length in enumerate(lengths, 1)]
    cut = cut_to_limits("\n".join(lines), ResultLimits(chars=most))
    parts = cut.still_shown({0: Shown("a.md", 1, len(lines))})
    left = {n for part in parts for n in range(part.start_line, part.end_line + 1)}
    shown = cut.text.replace("\n", "")
    assert {n for n, line in enumerate(lines, 1) if line in shown} == left


def test_lines_in_the_middle_of_a_result_are_clipped_to_what_is_left() -> None:
    text = "\n".join(f"{n} {'word ' * 8}" for n in range(30))
    cut = cut_to_limits(text, ResultLimits(chars=600))
    first, last = cut.gap.start, cut.gap.stop
    lines = {1: Shown("a.md", 11, 39), 0: Shown("b.md", 7, 7), first: Shown("c.md", 1, 2)}
    assert cut.still_shown(lines) == (
        Shown("a.md", 11, 9 + first),
        Shown("a.md", 10 + last, 39),
        Shown("b.md", 7, 7),
    )


def test_only_the_newest_long_outputs_are_kept(tmp_path: Path) -> None:
    names = [f".openclaw/spill/20200101-0000{number:02}-abcd.txt" for number in range(25)]
    home = Home(write_files(tmp_path, dict.fromkeys(names, "old")))
    new = spill(home, "x\n" * 999)
    left = sorted(home.relative(path) for path in (home.private / "spill").iterdir())
    assert left == sorted([*names[6:], new])


@given(st.text(max_size=300), st.integers(10, 60))
def test_an_excerpt_is_short_and_has_both_ends(text: str, limit: int) -> None:
    shown = excerpt(text, limit)
    if len(text) <= limit:
        assert shown.text == text
    else:
        assert len(shown.text) <= limit + 60
        assert shown.text.endswith(text[-1:])
        assert 1 <= shown.gap <= text.count("\n") + 1


@given(st.text(alphabet="ab \n", max_size=9_000))
def test_wrapping_loses_nothing_and_leaves_no_long_line(text: str) -> None:
    text = text.replace("b", "word " * 30)
    assert wrap_lines(text).replace("\n", "") == text.replace("\n", "")
    assert max(map(len, wrap_lines(text).split("\n"))) <= LONGEST_LINE


def test_a_secret_is_not_cut_when_a_long_line_is_wrapped() -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    for before in (1_400, 1_490, 1_499, 2_950):
        lines = wrap_lines(("so " * 1_000)[:before] + f" {key}" + " so" * 500).split("\n")
        assert any(key in line for line in lines) and max(map(len, lines)) <= LONGEST_LINE
