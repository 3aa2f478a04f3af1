"""Many processes on one home: nothing is lost and nothing is double."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import concurrency
from openclaw.memory.todos import TodoFile
from openclaw.storage.home import Home
from openclaw.tools.file_tools import FileTools
from openclaw.types import ToolProblem, TurnChanges


@pytest.fixture
def home(tmp_path: Path) -> Home:
    root = tmp_path / "home"
    (root / "workspace").mkdir(parents=True)
    (root / "workspace" / "SOUL.md").write_bytes(b"# Soul\n")
    (root / "workspace" / "plan.md").write_bytes(b"# Plan\n\nbuy paint\n\nask Maria\n")
    return Home(root.resolve())


@pytest.mark.slow
def test_a_small_run_of_the_benchmark_loses_nothing() -> None:
    said: list[str] = []

    assert concurrency.main(["--quick"], said.append) == 0, "\n".join(said)
    assert "| to-dos and memories present | 52 of 52 |" in said
    assert "| lines that they appended to one file, each once | 4 of 4 |" in said


def test_the_benchmark_finds_what_is_lost(tmp_path: Path) -> None:
    said: list[str] = []
    todos = TodoFile(tmp_path / "memory" / "TODO.md")
    todos.add("", ["job w0n0", "job w0n0"])

    assert not concurrency.counted(tmp_path, [("w0", 0), ("w0", 1)], said.append)
    assert said[0] == "| to-dos and memories present | 1 of 4 |"
    assert said[1] == "| double, ids given twice | 1, 0 |"
    assert not concurrency.outside(tmp_path, [{"marks": ["(edit0)"], "again": 0}], said.append)


# ---- the tools of the agent, while the user saves


def test_a_file_that_the_user_saved_since_it_was_read_gets_both_changes(home: Home) -> None:
    turn_changes = TurnChanges()
    files = FileTools(home, turn_changes)
    plan = home.workspace / "plan.md"
    files.read_file("plan.md")
    plan.write_bytes(b"# Plan\n\nbuy paint\n\nask Maria\nask Paul\n")

    said = files.write_file("plan.md", "# Plan\n\nbuy green paint\n\nask Maria\n")

    assert "The user had changed it meanwhile; both changes are in it." in said
    assert plan.read_bytes() == b"# Plan\n\nbuy green paint\n\nask Maria\nask Paul\n"
    assert (
        turn_changes.before["workspace/plan.md"] == "# Plan\n\nbuy paint\n\nask Maria\nask Paul\n"
    )


def test_what_was_merged_has_to_be_read_before_it_is_replaced_again(home: Home) -> None:
    files = FileTools(home, TurnChanges())
    files.read_file("plan.md")
    (home.workspace / "plan.md").write_bytes(b"# Plan\n\nbuy paint\n\nask Paul\n")
    files.write_file("plan.md", "# My plan\n\nbuy paint\n\nask Maria\n")

    with pytest.raises(ToolProblem, match="was not read"):
        files.write_file("plan.md", "# All new\n")


def test_a_change_of_the_same_lines_is_told_and_nothing_is_written(home: Home) -> None:
    files = FileTools(home, TurnChanges())
    files.read_file("plan.md")
    (home.workspace / "plan.md").write_bytes(b"# Plan\n\nbuy brushes\n\nask Maria\n")

    with pytest.raises(ToolProblem, match=r"changed meanwhile in the same lines.*Read it again"):
        files.write_file("plan.md", "# Plan\n\nbuy green paint\n\nask Maria\n")
    assert (home.workspace / "plan.md").read_bytes() == b"# Plan\n\nbuy brushes\n\nask Maria\n"


def test_each_write_of_a_tool_is_told_to_the_record_first(home: Home) -> None:
    told: list[tuple[str, bytes | None, bytes | None]] = []
    plan = home.workspace / "plan.md"

    def keep(path: Path, before: bytes | None, after: bytes | None) -> Callable[[], None]:
        assert path.read_bytes() == before
        told.append((path.name, before, after))
        return lambda: None

    FileTools(home, TurnChanges(keeper=keep)).append_file("plan.md", "call Ann")

    assert told == [("plan.md", b"# Plan\n\nbuy paint\n\nask Maria\n", plan.read_bytes())]
    assert plan.read_bytes().endswith(b"ask Maria\ncall Ann\n")
