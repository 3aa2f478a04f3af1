"""One process at a time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from openclaw.errors import OpenclawError
from openclaw.files.lock import locked

HOLD = (
    "import sys, time; from pathlib import Path\n"
    "from openclaw.files.lock import locked\n"
    "with locked(Path(sys.argv[1]), 5):\n"
    "    print('held', flush=True)\n"
    "    sys.stdin.readline()\n"
)


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "locks" / "thing.lock"


@pytest.fixture
def holder(lock: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLD, str(lock)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_lock_is_free_again_after_its_block(lock: Path) -> None:
    for _ in range(2):
        with locked(lock, 0):
            pass


def test_a_second_process_is_told_who_holds_the_lock(
    lock: Path, holder: subprocess.Popen[str]
) -> None:
    said = f"session x is in use by process {holder.pid}"
    with (
        pytest.raises(OpenclawError, match=said) as caught,
        locked(lock, 0.1, what="session x"),
    ):
        pass
    assert "wait" in caught.value.hint


def test_a_killed_holder_frees_the_lock(lock: Path, holder: subprocess.Popen[str]) -> None:
    holder.kill()
    holder.wait()
    with locked(lock, 5):
        pass


def test_waiting_ends_when_the_holder_is_done(lock: Path, holder: subprocess.Popen[str]) -> None:
    assert holder.stdin
    holder.stdin.write("\n")
    holder.stdin.flush()
    with locked(lock, 10):
        pass


def test_the_same_process_cannot_hold_it_twice(lock: Path) -> None:
    with (
        locked(lock, 0),
        pytest.raises(OpenclawError, match="thing is in use by this process"),
        locked(lock, 0.1),
    ):
        pass


def test_a_lock_that_cannot_be_made_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with (
        pytest.raises(OpenclawError, match="cannot write"),
        locked(tmp_path / "file" / "a.lock", 0),
    ):
        pass
