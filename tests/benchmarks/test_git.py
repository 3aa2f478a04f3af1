"""benchmarks/git.py measures real turns, and tells when the user's work was touched."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from benchmarks import git as benchmark
from benchmarks.git import QUICK, USERS, main, make_home, seen_of_user, state, users_work
from tests.fakes.needs import needs_git

pytestmark = needs_git


@pytest.mark.slow
def test_the_quick_run_finds_nothing_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick"]) == 0
    shown = capsys.readouterr().out
    rows = [line for line in shown.splitlines() if line.startswith(("| 20 files", "| 20 commits"))]
    assert len(rows) == len(QUICK.homes)
    for row in rows:
        numbers = [float(number) for number in re.findall(r"-?\d+\.\d", row)]
        assert len(numbers) == 7
        assert all(number > 0 for number in (*numbers[:4], *numbers[5:]))
    assert f"{QUICK.turns} turns, {QUICK.turns} commits of turns" in shown
    assert f"{QUICK.undos} undos lead back" in shown


@pytest.mark.parametrize("way", ["file", "index", "chmod"])
def test_a_change_of_the_users_work_is_seen(way: str, tmp_path: Path) -> None:
    root = make_home(tmp_path / "home", 3, 1)
    users_work(root, random.Random(1))
    before, files = seen_of_user(root), state(root)
    assert seen_of_user(root) == before and state(root) == files
    if way == "file":
        (root / USERS[0]).write_bytes((root / USERS[0]).read_bytes() + b"\n")
        assert state(root) != files
    elif way == "index":
        benchmark.git(root, "add", "--", USERS[3])
    else:
        benchmark.git(root, "update-index", "--chmod=-x", "--", USERS[7])
    assert seen_of_user(root) != before


def test_homes_have_the_files_and_commits_that_were_asked_for(tmp_path: Path) -> None:
    root = make_home(tmp_path / "home", 5, 4)
    assert len(list(root.glob("workspace/d0/n*.md"))) == 5
    assert int(benchmark.git(root, "rev-list", "--count", "HEAD")) == 2 + 4
    assert benchmark.git(root, "status", "--porcelain") == b""
