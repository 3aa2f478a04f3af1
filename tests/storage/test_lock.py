"""One process at a time."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from openclaw.errors import OpenclawError
from openclaw.storage.lock import Owner, command, hold_lock, owner

HOLD = (
    "import sys, time; from pathlib import Path\n"
    "from openclaw.storage.lock import hold_lock\n"
    "with hold_lock(Path(sys.argv[1]), 5):\n"
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
        with hold_lock(lock, 0):
            pass


def test_a_second_process_is_told_who_holds_the_lock(
    lock: Path, holder: subprocess.Popen[str]
) -> None:
    said = f"conversation x is in use by process {holder.pid}"
    with (
        pytest.raises(OpenclawError, match=said) as caught,
        hold_lock(lock, 0.1, what="conversation x"),
    ):
        pass
    assert "wait" in caught.value.hint


def test_a_killed_holder_frees_the_lock(lock: Path, holder: subprocess.Popen[str]) -> None:
    holder.kill()
    holder.wait()
    with hold_lock(lock, 5):
        pass


def test_waiting_ends_when_the_holder_is_done(lock: Path, holder: subprocess.Popen[str]) -> None:
    assert holder.stdin
    holder.stdin.write("\n")
    holder.stdin.flush()
    with hold_lock(lock, 10):
        pass


def test_the_same_process_cannot_hold_it_twice(lock: Path) -> None:
    with (
        hold_lock(lock, 0),
        pytest.raises(OpenclawError, match="thing is in use by this process"),
        hold_lock(lock, 0.1),
    ):
        pass


def test_a_lock_that_cannot_be_made_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with (
        pytest.raises(OpenclawError, match="cannot write"),
        hold_lock(tmp_path / "file" / "a.lock", 0),
    ):
        pass


def test_the_owner_is_named_with_command_computer_and_time(
    lock: Path, holder: subprocess.Popen[str]
) -> None:
    found = owner(lock)
    assert found is not None
    assert found.pid == holder.pid
    assert re.fullmatch(
        rf"process {holder.pid} \(openclaw on \S+ since (\d{{4}}-\d\d-\d\d )?\d\d:\d\d\)",
        str(found),
    )


def test_what_a_dead_holder_wrote_is_not_believed(
    lock: Path, holder: subprocess.Popen[str]
) -> None:
    holder.kill()
    holder.wait()
    assert lock.with_name("thing.lock.owner").exists()
    assert owner(lock) is None
    with hold_lock(lock, 5):
        found = owner(lock)
        assert found is not None
        assert found.pid == os.getpid()
    assert not lock.with_name("thing.lock.owner").exists()


@pytest.mark.parametrize("said", [b"", b"123", b"{}", b'{"pid": "x"}', b"[1]"])
def test_an_owner_file_that_says_nothing_names_nobody(lock: Path, said: bytes) -> None:
    lock.parent.mkdir()
    lock.with_name("thing.lock.owner").write_bytes(said)
    assert owner(lock) is None


def test_an_owner_of_another_computer_may_live(lock: Path) -> None:
    assert Owner(2**22 + 1, "another-computer", 0.0, "openclaw chat").alive
    assert not Owner(2**22 + 1, socket.gethostname(), 0.0, "openclaw chat").alive


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["/bin/openclaw", "chat", "--session", "x"], "openclaw chat"),
        (["/bin/openclaw", "todo", "add", "secret"], "openclaw todo add"),
        (["/bin/openclaw", "my password is hunter2"], "openclaw"),
        (["/bin/openclaw", "--home", "x", "chat"], "openclaw"),
    ],
)
def test_the_command_is_told_without_what_was_typed(
    monkeypatch: pytest.MonkeyPatch, words: list[str], told: str
) -> None:
    monkeypatch.setattr(sys, "argv", words)
    assert command() == told


COUNT = (
    "import sys; from pathlib import Path\n"
    "from openclaw.storage.lock import hold_lock\n"
    "file = Path(sys.argv[2])\n"
    "for _ in range(40):\n"
    "    with hold_lock(Path(sys.argv[1]), 5):\n"
    "        file.write_text(str(int(file.read_text()) + 1))\n"
)


@pytest.mark.slow
def test_many_that_take_turns_all_come_in(lock: Path, tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0", encoding="ascii")
    command = [sys.executable, "-c", COUNT, str(lock), str(counter)]
    running = [subprocess.Popen(command) for _ in range(5)]
    assert [process.wait() for process in running] == [0] * 5
    assert counter.read_text(encoding="ascii") == "200"
