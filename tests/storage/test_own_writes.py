"""Commands without a layer of their own: what openclaw itself writes meanwhile is not the
command's, what is fixed for it is not replaced, and sockets are not there."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from openclaw.config import set_value
from openclaw.memory.todos import TodoFile
from openclaw.storage.atomic import PLACE, watch_writes
from openclaw.storage.home import Home
from openclaw.storage.text import write_text
from openclaw.tools.shell import sandbox
from openclaw.tools.shell.shell import ProgramCall, Runner, shell_argv
from openclaw.types import FileContent, TurnChanges
from tests.fakes.needs import confined_only

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a shell and locks of POSIX")
BOTH = [pytest.param(True, marks=confined_only, id="sandbox"), pytest.param(False, id="bare")]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    root = tmp_path.resolve() / "home"
    for name in ("workspace", "memory", "sessions", "skills"):
        (root / name).mkdir(parents=True)
    (root / "openclaw.yaml").write_text("mode: edit\n")
    (root / "workspace/USER.md").write_text("# User\n")
    (root / "memory/TODO.md").write_text("# To do\n")
    return Home(root)


def runner(home: Home, confined: bool, turn_changes: TurnChanges | None = None) -> Runner:
    return Runner(
        home,
        turn_changes or TurnChanges(),
        timeout=10,
        unconfined=sandbox.why_unavailable if confined else lambda: "bubblewrap is not installed",
        layered=lambda _: False,
    )


def beside(running: Runner, line: str, act: Callable[[], object]) -> str:
    """Run a command while somebody else does something: after its `touch began`."""

    def waits() -> None:
        until = time.monotonic() + 10
        while time.monotonic() < until and not (running.home.root / "began").exists():
            time.sleep(0.01)
        act()

    other = threading.Thread(target=waits)
    other.start()
    text = running.run(ProgramCall(shell_argv(f"touch began; {line}"), "sh"))
    other.join()
    return text


@pytest.mark.parametrize("confined", BOTH)
def test_what_openclaw_wrote_meanwhile_is_not_the_commands(home: Home, confined: bool) -> None:
    def others() -> None:
        TodoFile(home.memory / "TODO.md").add("", ["call the bank"])
        write_text(home.memory / "2026-11-22.md", "- does not drink\n")
        (home.sessions / "b.json").write_text("{}\n")

    running = runner(home, confined)
    beside(running, "sleep 0.5; echo x > workspace/out.txt", others)
    assert list(running.turn_changes.before) == ["began", "workspace/out.txt"]
    assert list((home.root / PLACE).iterdir()) == []


@pytest.mark.parametrize("confined", BOTH)
def test_of_what_both_wrote_it_is_not_known_what_it_held(home: Home, confined: bool) -> None:
    told: dict[str, FileContent] = {}

    def altered(
        names: Iterable[str],
        before: Callable[[str], FileContent],
        after: Callable[[str], FileContent],
    ) -> Callable[[str], None]:
        told.update({name: before(name) for name in names})
        return lambda _: None

    running = runner(home, confined, TurnChanges(altered=altered))
    todos = TodoFile(home.memory / "TODO.md")
    beside(
        running, "sleep 0.5; echo mine >> memory/TODO.md", lambda: todos.add("", ["call the bank"])
    )
    assert told == {"began": None, "memory/TODO.md": (None, False)}


@confined_only
def test_what_is_fixed_is_written_when_the_command_has_ended(home: Home) -> None:
    def others() -> None:
        set_value(home, "window", "4096")
        write_text(home.workspace / "USER.md", "# Ada\n")

    line = (
        "end=$((SECONDS + 1)); while [ $SECONDS -le $end ]; do"
        " echo evil >> openclaw.yaml; echo evil >> workspace/USER.md; done 2>/dev/null; true"
    )
    text = beside(runner(home, confined=True), line, others)
    assert text.startswith("Exit code 0.")
    assert (home.root / "openclaw.yaml").read_text() == "mode: edit\nwindow: 4096\n"
    assert (home.workspace / "USER.md").read_text() == "# Ada\n"


@confined_only
def test_a_command_ends_when_an_editor_replaces_what_is_fixed(home: Home) -> None:
    def editor() -> None:
        (home.root / "new").write_text("mode: ask\n")
        (home.root / "new").replace(home.root / "openclaw.yaml")

    text = beside(runner(home, confined=True), "sleep 9", editor)
    assert "openclaw.yaml, which is fixed for it, was saved meanwhile" in text
    assert (home.root / "openclaw.yaml").read_text() == "mode: ask\n"


@confined_only
def test_a_socket_of_the_home_is_not_there(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home.workspace)  # a socket's path is short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("dev.sock")
        listener.listen()
        code = 'import socket; socket.socket(socket.AF_UNIX).connect("workspace/dev.sock")'
        text = runner(home, confined=True).run(
            ProgramCall(shell_argv(f"python3 -c '{code}'"), "sh")
        )
        assert "Connection refused" in text


def test_the_notes_of_a_killed_command_hold_nobody_up(home: Home) -> None:
    left = home.root / PLACE / "0a0a"
    left.parent.mkdir(parents=True)
    left.write_text('["openclaw.yaml"]\n')
    set_value(home, "window", "4096")
    assert not left.exists()
    with watch_writes(home.root) as others:
        write_text(home.workspace / "a\nb.md", "x")
        assert list(others.written()) == ["workspace/a\nb.md"]
