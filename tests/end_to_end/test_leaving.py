"""The end of the process: quick, and yet nothing that was said or begun is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TextIO

import pytest

LONG = 300_000  # characters: more than a pipe holds


def python(code: str, stdout: int | TextIO = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    """What a Python does with this code, its output buffered as usual."""
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    return subprocess.run(
        [sys.executable, "-c", code],
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=environ,
        encoding="utf-8",
        timeout=30,
        check=False,
    )


def test_all_that_was_printed_arrives_with_the_exit_code() -> None:
    code = f"import sys; from openclaw.__main__ import leave; print('x' * {LONG}); "
    done = python(code + "sys.stderr.write('said'); leave(3)")
    assert (done.returncode, len(done.stdout.strip()), done.stderr) == (3, LONG, "said")


def test_what_must_not_be_cut_off_is_waited_for_and_a_daemon_is_not() -> None:
    code = """
import atexit, threading, time
from openclaw.__main__ import leave
def work():
    time.sleep(0.3)
    print("done")
atexit.register(print, "bye")
threading.Thread(target=work).start()
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
leave(7)
"""
    done = python(code)
    assert (done.returncode, done.stdout) == (7, "done\nbye\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("code", [0, 4])
def test_words_that_cannot_be_printed_are_a_failure(code: int) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = python(f"from openclaw.__main__ import leave; print(1); leave({code})", full)
    assert done.returncode == (code or 1)


def test_a_control_c_while_the_program_loads_shows_no_trace() -> None:
    code = """
import sys
class Pressed:
    def find_spec(self, name, path=None, target=None):
        if name == "openclaw.cli.main":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Pressed())
sys.argv = ["openclaw", "todo", "list"]
from openclaw.__main__ import main
main()
"""
    done = python(code)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "\nopenclaw: interrupted\n")
