"""The command as a process of its own, and one that is held to limits."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.fakes.command import Result

COMMAND = [sys.executable, "-m", "openclaw"]

# A command under a limit on the size of files, or as a user for whom modes count (root's power to
# pass them by is given up before the command begins).
LIMITED = """\
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
os.execv(sys.executable, [sys.executable, "-B", "-m", "openclaw", *sys.argv[2:]])
"""
COMMON = """\
import ctypes, os, sys
if os.geteuid() == 0:
    prctl = ctypes.CDLL(None).prctl
    if prctl(24, 1, 0, 0, 0) or prctl(24, 2, 0, 0, 0):
        sys.exit(99)
os.execv(sys.executable, [sys.executable, "-B", "-m", "openclaw", *sys.argv[1:]])
"""


def started(*words: str, command: list[str] = COMMAND) -> Result:
    done = subprocess.run([*command, *words], input=b"", capture_output=True, timeout=60)
    out, err = done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
    assert "Traceback" not in err
    return subprocess.CompletedProcess(words, done.returncode, out, err)


def limited(size: int, *words: str) -> Result:
    return started(*words, command=[sys.executable, "-c", LIMITED, str(size)])


def common(*words: str) -> Result:
    if sys.platform != "linux" and os.geteuid() == 0:
        pytest.skip("root passes modes by")
    done = started(*words, command=[sys.executable, "-c", COMMON])
    if done.returncode == 99:
        pytest.skip("root may not give up its power here")
    return done
