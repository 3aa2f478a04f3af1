"""The harness kills and fails real commands, and finds losses where there are any."""

from __future__ import annotations

import errno
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("the benchmark forks", allow_module_level=True)

from tests.crash.checks import leftovers
from tests.crash.harness import key_of, main, tasks_of
from tests.crash.run import BEGIN, END, Ran, Seen, read_told
from tests.crash.stores import STORES, todo_commands, todo_lost


@pytest.mark.slow
def test_a_few_runs_lose_nothing_but_those_of_the_naive_writer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = main(["--quick", "--workers", "1"])
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    kills, errors = out.split("\n\n")[:2]
    naive = re.search(r"\| naive writer \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|", kills)
    assert naive and int(naive[4]) > 0
    for table in (kills, errors):
        ours = re.search(r"\| all but the naive writer \| (\d+) \| (\d+) \| (\d+) \| 0 \|", table)
        assert ours and int(ours[2]) > 0 and int(ours[3]) > 0


def test_the_whole_benchmark_has_the_runs_that_it_promises_in_an_order_that_may_end_anywhere() -> (
    None
):
    from tests.crash.harness import SCENARIOS

    tasks = tasks_of(SCENARIOS, 3, 1.0)
    kinds = [task["kind"] for task in tasks]
    assert kinds.count("kill") >= 500 and kinds.count("error") >= 200
    assert len({key_of(task) for task in tasks}) == len(tasks)
    assert len({task["scenario"] for task in tasks[:40]}) == len(SCENARIOS)


def test_only_whole_lines_of_a_dead_process_were_told() -> None:
    commands = (("todo", "add", "a"), ("todo", "add", "b"))
    told = [f"{BEGIN}0", "added to Tasks: a (0a0a0a0a)", f"{END}0 0", f"{BEGIN}1"]
    assert read_told(commands, told) == (
        Ran(commands[0], ("added to Tasks: a (0a0a0a0a)",), 0),
        Ran(commands[1]),
    )


def test_a_todo_that_was_told_and_is_not_there_is_found(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    told = Ran(("todo", "add", "sow peas"), ("added to Tasks: sow peas (0a0a0a0a)",), 0)
    untold = Ran(("todo", "add", "sow beans"))
    lost = list(todo_lost(Seen(tmp_path, (told, untold))))
    assert lost == ["to-do 0a0a0a0a sow peas", "the turn of todo add sow peas"]
    (tmp_path / "memory" / "TODO.md").write_text("## Tasks\n\n- [ ] sow peas ^0a0a0a0a\n", "utf-8")
    lost = list(todo_lost(Seen(tmp_path, (told, untold))))
    assert lost == ["the turn of todo add sow peas"]


def test_what_a_death_leaves_is_found(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / ".openclaw-0a0a0a.tmp").write_text("half", "utf-8")
    (tmp_path / "workspace" / "TOOLS.md").touch()
    assert list(leftovers(Seen(tmp_path, ()))) == [
        "temp file workspace/.openclaw-0a0a0a.tmp",
        "empty file workspace/TOOLS.md",
    ]


def test_a_run_is_the_same_when_it_is_repeated() -> None:
    assert todo_commands(random.Random(5)) == todo_commands(random.Random(5))
    assert {scenario.name for scenario in STORES} >= {"todo", "memory", "index"}


FAULT = """\
import errno, sys
from pathlib import Path
from tests.crash.faults import Fault
top = Path(sys.argv[1])
Fault(top / "home", top / "counter", "fail", 2, 2, errno.ENOSPC).arm()
for path in (top / "beside", top / "home" / "a", top / "home" / "b", top / "home" / "c"):
    try:
        path.write_text("x")
        print("written")
    except OSError as error:
        print(error.strerror)
"""


def test_a_fault_comes_at_its_change_and_not_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", FAULT, str(tmp_path)], capture_output=True, text=True, check=True
    )
    full = os.strerror(errno.ENOSPC)
    assert done.stdout.splitlines() == ["written", "written", full, "written"]
