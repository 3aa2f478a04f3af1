"""The to-dos of two devices are merged by their ids."""

from __future__ import annotations

import pytest

from openclaw.agent.sync_merge import MergedFile, merge_file

RENT, HERE, THERE = (
    f"- [ ] {text} ^{name * 8}\n" for text, name in (("rent", "a"), ("here", "b"), ("there", "c"))
)
DONE = RENT.replace("[ ]", "[x]")


@pytest.mark.parametrize(
    ("mine", "theirs", "merged"),
    [
        (HERE, RENT + THERE, HERE + THERE),
        (RENT + HERE, THERE, HERE + THERE),
        (HERE, DONE + THERE, HERE + DONE + THERE),
        (DONE + HERE, THERE, DONE + HERE + THERE),
        (HERE, THERE, HERE + THERE),
    ],
    ids=["removed here", "there", "and done there", "done here", "removed by both"],
)
def test_a_to_do_that_a_device_removed_takes_no_new_ones_with_it(
    mine: str, theirs: str, merged: str
) -> None:
    base, ours, other, want = (
        f"# To-dos\n\n{text}".encode() for text in (RENT, mine, theirs, merged)
    )
    assert merge_file("memory/TODO.md", base, ours, other) == MergedFile(want)
