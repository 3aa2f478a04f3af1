"""A process that this program starts finds the same program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import openclaw
from openclaw.files.package import child_environment

# -S: as if nothing were installed
WHERE = [sys.executable, "-S", "-P", "-c", "import openclaw; print(openclaw.__file__)"]


@pytest.mark.parametrize("path", [None, "", "further"])
def test_a_child_finds_the_checkout_that_its_parent_runs_from(
    path: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("PYTHONPATH")
    if path is not None:
        monkeypatch.setenv("PYTHONPATH", path)
    done = subprocess.run(
        WHERE, env=child_environment(), cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert Path(done.stdout.strip()) == Path(openclaw.__file__).resolve()


def test_what_stood_in_the_path_stays_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "further")
    assert child_environment()["PYTHONPATH"].endswith("further")
