"""Homes that a stranger has made, opened by eight commands: nothing happens outside of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.data.sample import sample

TOP = Path(__file__).parents[2]
COUNT = 10


@pytest.mark.skipif(sys.platform != "linux", reason="limits and devices of Linux")
@pytest.mark.parametrize("first", sample(range(0, 5_000, COUNT), 1))
def test_a_hostile_home_does_no_harm(first: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.hostile.run", "--first", str(first), "--count", str(COUNT)],
        cwd=TOP,
        capture_output=True,
        text=True,
        check=False,
    )
    assert [json.loads(line) for line in done.stdout.splitlines()] == []
    assert done.returncode == 0, done.stderr[-2000:]
