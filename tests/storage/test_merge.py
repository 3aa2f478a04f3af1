"""Three-way merge: laws, conflicts, and the same answers as git's."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from openclaw.storage.merge import Conflict, changes, merge, merge_bytes

few_words = some.lists(some.sampled_from("abcdef"), max_size=12)
"""Short texts that repeat their lines, the hard case of a diff."""


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


@given(few_words, few_words)
def test_a_change_of_one_side_is_taken(base: list[str], changed: list[str]) -> None:
    for touching in (False, True):
        assert merge(base, base, changed, touching=touching).lines == changed
        assert merge(base, changed, base, touching=touching).lines == changed
        assert merge(base, changed, base, touching=touching).conflicts == ()


@given(few_words, few_words)
def test_the_same_change_of_both_sides_is_no_conflict(base: list[str], new: list[str]) -> None:
    merged = merge(base, new, new)

    assert merged.lines == new
    assert merged.conflicts == ()


@given(few_words, few_words, few_words)
def test_the_sides_may_be_exchanged(base: list[str], left: list[str], right: list[str]) -> None:
    one, other = merge(base, left, right), merge(base, right, left)

    assert len(one.conflicts) == len(other.conflicts)
    for here, there in zip(one.conflicts, other.conflicts, strict=True):
        assert (here.base, here.ours, here.theirs) == (there.base, there.theirs, there.ours)
    if not one.conflicts:
        assert one.lines == other.lines


@given(few_words, few_words, few_words, some.booleans())
def test_no_line_is_invented_and_conflicts_stand_where_they_say(
    base: list[str], left: list[str], right: list[str], touching: bool
) -> None:
    merged = merge(base, left, right, touching=touching)

    assert set(merged.lines) <= {*base, *left, *right}
    for conflict in merged.conflicts:
        end = conflict.at + len(conflict.ours)
        assert tuple(merged.lines[conflict.at : end]) == conflict.ours
        assert conflict.ours != conflict.theirs


@given(few_words, few_words)
def test_changes_lead_from_one_text_to_the_other(base: list[str], side: list[str]) -> None:
    rebuilt: list[str] = []
    at = 0
    for change in changes(base, side):
        assert change.start >= at
        rebuilt += base[at : change.start] + side[change.new_start : change.new_end]
        at = change.end

    assert rebuilt + base[at:] == side


def test_changes_of_different_places_are_both_in_it() -> None:
    merged = merge(lines("a\nb\nc\n"), lines("A\nb\nc\n"), lines("a\nb\nC\n"))

    assert "".join(merged.lines) == "A\nb\nC\n"
    assert merged.conflicts == ()


def test_different_changes_of_one_line_are_a_conflict_that_keeps_ours() -> None:
    merged = merge(["a", "b", "c"], ["a", "x", "c"], ["a", "y", "c"])

    assert merged.lines == ["a", "x", "c"]
    assert merged.conflicts == (Conflict(1, ("b",), ("x",), ("y",)),)


def test_a_line_that_one_deleted_and_the_other_changed_is_a_conflict() -> None:
    merged = merge(["a", "b", "c"], ["a", "c"], ["a", "y", "c"])

    assert merged.conflicts == (Conflict(1, ("b",), (), ("y",)),)


def test_changes_that_touch_are_a_conflict_unless_allowed() -> None:
    base, ours, theirs = ["a", "x"], ["a", "x", "y"], ["a"]

    assert len(merge(base, ours, theirs).conflicts) == 1
    assert merge(base, ours, theirs, touching=True).lines == ["a", "y"]
    assert merge(base, ours, theirs, touching=True).conflicts == ()


def test_two_insertions_at_one_place_are_a_conflict_even_where_touching_is_allowed() -> None:
    assert merge(["a"], ["a", "x"], ["a", "y"], touching=True).conflicts == (
        Conflict(1, (), ("x",), ("y",)),
    )


def test_two_big_texts_with_few_changes_are_merged() -> None:
    base = [f"line {number}" if number % 3 else "" for number in range(10_000)]
    ours, theirs = [*base], [*base]
    ours[100:105] = ["ours"]
    theirs[9_000:9_000] = ["", "theirs", ""]

    merged = merge(base, ours, theirs)

    assert merged.conflicts == ()
    assert merged.lines == [*base[:100], "ours", *base[105:9_000], "", "theirs", "", *base[9_000:]]


def test_texts_that_differ_everywhere_are_compared_roughly_but_rightly() -> None:
    base = [str(number % 1_000) for number in range(1_200)]
    shuffled = [str(number * 7 % 1_000) for number in range(1_200)]

    assert merge(base, shuffled, base).lines == shuffled


def test_bytes_come_out_as_they_were() -> None:
    data, merged = merge_bytes(b"a\r\n\xff\nc", b"A\r\n\xff\nc", b"a\r\n\xff\nc\n")

    assert data == b"A\r\n\xff\nc\n"
    assert merged.conflicts == ()


def test_a_last_line_without_an_end_gets_one_when_it_is_no_longer_last() -> None:
    data, merged = merge_bytes(b"a\r\nb\r\n", b"a\r\nb", b"a\r\nb\r\nc\r\n", touching=True)

    assert data == b"a\r\nb\r\nc\r\n"
    assert merged.conflicts == ()


def test_a_nul_byte_is_no_text() -> None:
    with pytest.raises(ValueError, match="not text"):
        merge_bytes(b"a\n", b"a\0\n", b"b\n")


def by_git(folder: Path, texts: Sequence[Sequence[str]]) -> tuple[str, int]:
    """git merge-file's text and its number of conflicts."""
    for name, text in zip(("base", "ours", "theirs"), texts, strict=True):
        (folder / name).write_bytes("".join(text).encode())
    words = ["git", "merge-file", "-p", "--diff3", "ours", "base", "theirs"]
    done = subprocess.run(words, cwd=folder, capture_output=True, check=False)
    return done.stdout.decode(), done.returncode


EDITS = some.lists(
    some.tuples(some.integers(0, 19), some.sampled_from(["change", "delete", "insert"])),
    max_size=4,
)


def edited(base: list[str], edits: Sequence[tuple[int, str]], who: str) -> list[str]:
    side = {at: [line] for at, line in enumerate(base)}
    for number, (at, what) in enumerate(edits):
        mine = f"{who} {number % 2}\n"
        side[at] = {"change": [mine], "delete": [], "insert": [base[at], mine]}[what]
    return [line for at in sorted(side) for line in side[at]]


@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
def test_merges_are_those_of_git(tmp_path: Path) -> None:
    base = [f"line {number}\n" for number in range(20)]

    @given(EDITS, EDITS)
    def compare(left: list[tuple[int, str]], right: list[tuple[int, str]]) -> None:
        ours, theirs = edited(base, left, "new"), edited(base, right, "new")
        expected, conflicts = by_git(tmp_path, (base, ours, theirs))
        merged = merge(base, ours, theirs)

        assert bool(merged.conflicts) == bool(conflicts)
        if not conflicts:
            assert "".join(merged.lines) == expected

    compare()
