"""Programs run in the foreground: their output, their end, and nothing left of them."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.tools.shell.output import KEPT, Output, strip_terminal_codes
from openclaw.tools.shell.process import (
    CMD,
    CommandLimits,
    FinishedRun,
    LimitWatch,
    control_group,
    join_group,
    run,
    threads_below,
    to_command_line,
)
from tests.fakes.needs import linux, posix

ENV = {"PATH": os.environ.get("PATH", os.defpath)}


def python(
    folder: Path,
    code: str,
    *,
    timeout: float = 20,
    env: Mapping[str, str] = ENV,
) -> FinishedRun:
    argv = [sys.executable, "-I", "-c", code]
    kind = {"SYSTEMROOT": os.environ["SYSTEMROOT"]} if os.name == "nt" else {}
    return run_in(folder, argv, env={**kind, **env}, timeout=timeout)


def sh(folder: Path, line: str, timeout: float = 20, **more: Any) -> FinishedRun:
    return run_in(folder, ["/bin/sh", "-c", line], timeout=timeout, **more)


def run_in(folder: Path, words: Sequence[str], **more: Any) -> FinishedRun:
    return run(words, cwd=folder, **{"env": ENV, "timeout": 8, **more})


def lives(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def gone(pid: int, seconds: float = 3) -> bool:
    """Whether a process ends within the time; one that nobody has waited for yet is gone too."""
    until = time.monotonic() + seconds
    while lives(pid):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def test_output_and_errors_come_as_one_with_the_exit_code(tmp_path: Path) -> None:
    code = "import sys, os; os.write(1, b'out\\n'); os.write(2, b'err\\n'); sys.exit(3)"
    finished = python(tmp_path, code)
    assert (finished.code, finished.text) == (3, "out\nerr\n")
    assert not finished.stopped


def test_standard_input_is_empty(tmp_path: Path) -> None:
    assert python(tmp_path, "import sys; print(repr(sys.stdin.read()))").text == "''\n"


def test_the_environment_is_what_was_given_and_a_mark(tmp_path: Path) -> None:
    text = python(tmp_path, "import os; print(*sorted(os.environ))", env={"A": "1"}).text
    assert {"A", "OPENCLAW_RUN"} <= set(text.split())
    assert "HOME" not in text


def test_a_program_that_takes_too_long_is_ended_and_what_it_said_is_kept(tmp_path: Path) -> None:
    started = time.monotonic()
    finished = python(
        tmp_path, "import time; print('begun', flush=True); time.sleep(60)", timeout=0.7
    )
    assert time.monotonic() - started < 10
    assert "longer than" in finished.stopped and finished.code is None
    assert finished.text == "begun\n"
    assert finished.stopped == "it took longer than 0.7 s"


@posix
def test_one_that_ignores_the_request_to_end_is_killed(tmp_path: Path) -> None:
    started = time.monotonic()
    assert sh(tmp_path, "trap '' TERM; while :; do sleep 0.2; done", timeout=0.3).stopped
    assert time.monotonic() - started < 5


@posix
def test_one_that_tidies_up_when_asked_to_end_may_do_so(tmp_path: Path) -> None:
    line = "trap 'echo tidied; exit 0' TERM; while :; do sleep 0.05; done"
    assert "tidied" in sh(tmp_path, line, timeout=0.5).text


@linux
@pytest.mark.parametrize(
    "line",
    [
        "sleep 60 & echo $!",
        "nohup sleep 60 >/dev/null 2>&1 & echo $!",
        "setsid sleep 60 >/dev/null 2>&1 & echo $!",
        "sleep 60 >/dev/null 2>&1 & echo $!; kill -9 $$",
    ],
)
def test_what_a_command_leaves_running_ends_with_it(tmp_path: Path, line: str) -> None:
    started = time.monotonic()
    finished = sh(tmp_path, line)
    assert time.monotonic() - started < 10
    assert gone(int(finished.text))


@posix
def test_ctrl_c_ends_the_program_and_is_passed_on(tmp_path: Path) -> None:
    class Stop(KeyboardInterrupt):
        pass

    seen = []

    def interrupt(process: int) -> str:
        seen.append(process)
        raise Stop

    with pytest.raises(Stop):
        sh(tmp_path, "sleep 60", watch=interrupt)
    assert gone(seen[0])


@posix
def test_a_program_that_closes_its_output_is_waited_for(tmp_path: Path) -> None:
    assert sh(tmp_path, "exec >&- 2>&-; sleep 0.2; exit 5").code == 5


def test_a_program_that_is_not_there_raises(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        run_in(tmp_path, ["/no/such"])


def test_no_thread_stays_behind(tmp_path: Path) -> None:
    before = threading.active_count()
    python(tmp_path, "print(1)")
    assert threading.active_count() == before


@pytest.mark.slow
def test_what_prints_without_end_is_bounded_in_memory(tmp_path: Path) -> None:
    code = f"import os\nfor _ in range(3): os.write(1, b'a' * {KEPT // 2})\nprint('the end')"
    finished = python(tmp_path, code, timeout=60)
    assert finished.lost > KEPT * 0.4
    assert finished.text.endswith("the end\n") and len(finished.text) < KEPT * 1.1
    assert "bytes were not kept" in finished.text


# -------- what a terminal would have made of it


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;cm0gLXJm\x07x", "x"),
        ("\x1b(Bplain\x1b=", "plain"),
        ("\x9b31mred", "red"),
        ("10%\r50%\r100%\n", "100%\n"),
        ("one\r\ntwo\r\n", "one\ntwo\n"),
        ("b\bbo\bol\bld\bd", "bold"),
        ("a\x00b\x07c\x7f\td\n", "abc\td\n"),
        ("\x1b]0;never ended", "0;never ended"),
    ],
)
def test_what_only_a_terminal_understands_is_taken_out(raw: str, text: str) -> None:
    assert strip_terminal_codes(raw) == text


@given(st.text(st.sampled_from("a\n\r\b\x1b[]0;m\x07\\\x9b\x00é\t")))
def test_no_control_character_is_left(text: str) -> None:
    assert all(c >= " " or c in "\n\t" for c in strip_terminal_codes(text))
    assert not any("\x7f" <= c <= "\x9f" for c in strip_terminal_codes(text))


def test_bytes_that_are_no_text_are_shown_as_such() -> None:
    output = Output()
    output.feed(b"caf\xe9 \xff")
    assert output.text() == "caf\ufffd \ufffd"


def test_a_million_unfinished_escapes_are_read_in_no_time() -> None:
    started = time.monotonic()
    strip_terminal_codes(
        "\x1b]x" * 300_000 + "\x1b[1" * 300_000 + "a" * 1_000_000 + "\r" * 1_000_000
    )
    assert time.monotonic() - started < 5


@pytest.mark.slow
def test_what_was_not_kept_is_counted(tmp_path: Path) -> None:
    done = python(tmp_path, f"print('x' * {KEPT + 200_000})")
    assert done.lost > 100_000 and python(tmp_path, "print('x' * 9_000)").lost == 0


def test_cmd_gets_its_line_as_it_was_shown() -> None:
    line = 'echo "a b" & dir "C:\\x y"'
    assert to_command_line(("cmd.exe", *CMD, line)) == f'cmd.exe /d /s /c "{line}"'
    assert to_command_line(("C:\\my tools\\cmd.exe", *CMD, "ver")) == (
        '"C:\\my tools\\cmd.exe" /d /s /c "ver"'
    )
    assert to_command_line(("bash", "-c", line)) == ["bash", "-c", line]


# -------- what a command may use up


class TestWatch:
    def test_lets_a_quiet_command_be(self, tmp_path: Path) -> None:
        assert LimitWatch(CommandLimits(), tmp_path)(os.getpid()) == ""

    @linux
    def test_counts_the_threads_of_a_process_and_of_its_children(self) -> None:
        before = threads_below(os.getpid())
        ends = threading.Event()
        threads = [threading.Thread(target=ends.wait) for _ in range(5)]
        for thread in threads:
            thread.start()
        try:
            assert threads_below(os.getpid()) == before + 5
        finally:
            ends.set()
            for thread in threads:
                thread.join()

    @linux
    def test_ends_a_command_that_starts_too_many_processes(self, tmp_path: Path) -> None:
        line = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 9 & done; wait"
        watch = LimitWatch(CommandLimits(processes=6), tmp_path)
        finished = sh(tmp_path, line, timeout=8, watch=watch)
        assert finished.stopped == "it started more than 6 processes"

    @linux
    def test_does_not_blame_a_command_for_what_others_write(self, tmp_path: Path) -> None:
        mine, others = tmp_path / "mine", tmp_path / "others"
        mine.mkdir()
        watch = LimitWatch(CommandLimits(disk_mb=5), mine)
        others.write_bytes(bytes(90_000_000))
        assert watch(os.getpid()) == ""

    @linux
    def test_ends_a_command_that_fills_the_disk(self, tmp_path: Path) -> None:
        watch = LimitWatch(CommandLimits(disk_mb=5), tmp_path)
        line = "head -c 90000000 /dev/zero > big; sleep 9"
        finished = sh(tmp_path, line, timeout=8, watch=watch)
        assert finished.stopped == "it wrote more than 5 MB"


@linux
def test_a_control_group_holds_even_root_to_a_number_of_processes(tmp_path: Path) -> None:
    with control_group(12) as made:
        if made is None:
            pytest.skip("only root can make a control group, and not in most containers")
        line = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do sleep 9 & done; echo all"
        finished = run_in(tmp_path, join_group(["/bin/sh", "-c", line], made))
        assert "fork" in finished.text.lower() and finished.code != 0
    assert not made.exists()


def test_where_there_are_no_control_groups_a_program_runs_without(tmp_path: Path) -> None:
    with control_group(12, tmp_path) as made:
        assert made is None
        assert join_group(["true"], made) == ["true"]
