"""What fixes a missing file for a command stays while any command of the home runs."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from openclaw.storage.home import Home
from openclaw.tools.shell import sandbox
from openclaw.tools.shell.process import CommandLimits
from openclaw.tools.shell.shell import ProgramCall, Runner
from openclaw.types import TurnChanges
from tests.fakes.needs import confined_only

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the sandbox is Linux's")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    root = tmp_path.resolve() / "home"
    (root / "workspace").mkdir(parents=True)
    return Home(root)


def standing(home: Home) -> set[str]:
    names = (*sandbox.FIXED_FILES, *sandbox.FIXED_FOLDERS, "memory")
    return {name for name in names if (home.root / name).exists()}


def test_the_last_one_takes_them_away_whoever_made_them(home: Home) -> None:
    first, second = (sandbox.placeholders(sandbox.SandboxOptions(home)) for _ in range(2))
    first.__enter__()
    made = standing(home)
    assert "workspace/HEARTBEAT.md" in made and "openclaw.yaml" in made
    second.__enter__()
    first.__exit__(None, None, None)
    assert standing(home) == made
    second.__exit__(None, None, None)
    assert standing(home) == set()


def test_what_a_crash_left_goes_and_what_has_a_text_or_is_the_users_stays(home: Home) -> None:
    lock = home.root / ".openclaw/locks/sandbox.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("workspace/TOOLS.md\nworkspace/mine.md\nworkspace/USER.md\n")
    for name in ("TOOLS.md", "mine.md", "IDENTITY.md"):
        (home.workspace / name).touch()
    (home.workspace / "USER.md").write_text("# Me\n")
    with sandbox.placeholders(sandbox.SandboxOptions(home)):
        pass
    left = {path.name for path in home.workspace.iterdir()}
    assert left == {"mine.md", "IDENTITY.md", "USER.md"}


@confined_only
def test_a_command_that_ends_takes_the_protection_of_no_other_away(home: Home) -> None:
    def command(line: str) -> str:
        runner = Runner(
            home, TurnChanges(), timeout=10, limits=CommandLimits(), layered=lambda _: False
        )
        return runner.run(ProgramCall(("/bin/sh", "-c", line), "sh"))

    ended = home.workspace / "ended"
    started = "touch workspace/started; while ! test -e workspace/started2; do sleep 0.02; done"
    first = threading.Thread(target=command, args=(started,))
    first.start()
    while not (home.workspace / "started").exists():
        time.sleep(0.01)
    told: list[str] = []
    line = (
        "touch workspace/started2; while ! test -e workspace/ended; do sleep 0.02; done;"
        "for f in workspace/HEARTBEAT.md openclaw.yaml; do echo evil > $f; done; true"
    )
    second = threading.Thread(target=lambda: told.append(command(line)))
    second.start()
    first.join()
    ended.touch()
    second.join()
    assert standing(home) == set()
    assert told[0].count("Read-only file system") == 2
    assert told[0].endswith("[Changed: workspace/ended, workspace/started2]")
