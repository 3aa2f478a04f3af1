"""Temporary folders: what killed processes have left is removed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from openclaw.storage.scratch import PREFIX, STALE_SECONDS, temporary_folder


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (top := tmp_path / "top").mkdir()
    return top


def test_a_temporary_folder_is_gone_in_the_end(top: Path) -> None:
    with temporary_folder(top) as folder:
        (folder / "notes.md").write_text("mine\n", "utf-8")
    assert not [*top.iterdir()]


def test_old_folders_of_processes_that_have_ended_are_removed(top: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    old, new = time.time() - STALE_SECONDS - 60, time.time()
    for name, at in (
        (f"{PREFIX}{ended.pid}-old", old),
        (f"{PREFIX}{ended.pid}-new", new),
        (f"{PREFIX}{os.getpid()}-old", old),
        ("other", old),
    ):
        (top / name).mkdir()
        os.utime(top / name, (at, at))
    with temporary_folder(top) as folder:
        left = {path.name for path in top.iterdir()} - {folder.name}
    assert left == {f"{PREFIX}{ended.pid}-new", f"{PREFIX}{os.getpid()}-old", "other"}
