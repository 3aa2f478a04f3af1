"""The status line while a turn runs: the activity and its time; it leaves no trace afterwards."""

from __future__ import annotations

import io
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyte
import pytest

from openclaw.cli.render import Listener, show_turn
from openclaw.cli.terminal import LiveLines, Screen
from openclaw.events import Event, NewResponse, Notice, Progress, Start, Token, ToolEnd
from openclaw.events import ToolStart as Call
from tests.cli.test_render import Terminal, done, screen_of
from tests.fakes.terminal import kill

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stream is no console")
DRAWN = 0.9  # seconds after which a status line is on the screen


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TERM": "xterm-256color", "COLUMNS": "60", "LINES": "20"}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def out() -> Terminal:
    return Terminal()


@pytest.fixture
def screen(out: Terminal) -> Iterator[Screen]:
    shown = Screen(out, out, notes=True)
    yield shown
    shown.close()


def after(screen: Screen, *events: Event) -> None:
    for event in events:
        screen(event)
    time.sleep(DRAWN)


def test_a_wait_shows_what_goes_on_and_leaves_no_trace(screen: Screen, out: Terminal) -> None:
    screen.begin("getting ready")
    time.sleep(DRAWN)
    assert screen_of(out.getvalue())[0][2:] == "getting ready"
    after(screen, Start("s1", "m", 8192, "json"))
    assert "waiting for the model" in screen_of(out.getvalue())[0]
    for event in (Token("Hello."), done("Hello.")):
        screen(event)
    assert screen_of(out.getvalue()) == ["Hello."]
    length = len(out.getvalue())
    time.sleep(0.2)
    assert len(out.getvalue()) == length, "it is drawn no more"


def test_seconds_and_the_share_that_is_done(screen: Screen, out: Terminal) -> None:
    screen.begin("getting ready")
    after(screen, Progress("reading the instructions", 0.354))
    time.sleep(0.6)
    assert screen_of(out.getvalue())[0][2:] == "reading the instructions 35 %, 1 s"


def test_a_tool_shows_its_name_and_the_tail_of_what_it_prints(
    screen: Screen, out: Terminal
) -> None:
    screen.begin("getting ready")
    screen(Call("1", "run_shell", {"command": "make"}))
    screen.meanwhile(Progress(tail=("one", "two\x1b[2J", "t" * 90)))
    time.sleep(DRAWN)
    lines = screen_of(out.getvalue())
    assert lines[0][2:] == "run_shell make"
    assert lines[1:3] == ["  one", "  two\u241b[2J"] and lines[3].endswith("t\u2026")
    screen.meanwhile(Progress("starting MCP server time"))
    after(screen)
    assert "starting MCP server time" in screen_of(out.getvalue())[0]
    after(screen, ToolEnd("1", "run_shell", "Exit code 0.\na\nb", True, 1.0), NewResponse(2))
    lines = screen_of(out.getvalue())
    assert lines[0] == "run_shell make: 2 lines, 1.0 s"
    assert len(lines) == 2 and "waiting for the model" in lines[1]


def test_a_notice_is_printed_above_what_goes_on(screen: Screen, out: Terminal) -> None:
    screen.begin("getting ready")
    after(screen, Start("s1", "m", 8192, "json"))
    after(screen, Notice("loading model"))
    lines = screen_of(out.getvalue())
    assert lines[0] == "loading model" and "waiting for the model" in lines[1]


def test_what_is_typed_ahead_stands_below_and_is_cut(out: Terminal) -> None:
    screen = Screen(out, out, notes=True, typed=lambda: "and then\x07 " + "x" * 80)
    screen.begin("getting ready")
    time.sleep(DRAWN)
    lines = screen_of(out.getvalue())
    assert lines[1].startswith("> \u2026x") and len(lines[1]) < 60
    screen.close()
    assert screen_of(out.getvalue()) == []


def test_a_question_has_the_screen_for_itself(screen: Screen, out: Terminal) -> None:
    screen.begin("getting ready")
    time.sleep(DRAWN)
    screen.pause()
    assert screen_of(out.getvalue()) == []
    screen.meanwhile(Progress("late news of a thread"))
    time.sleep(DRAWN)
    assert screen_of(out.getvalue()) == []
    screen.resume()
    time.sleep(DRAWN)
    assert screen_of(out.getvalue())


def test_nothing_is_drawn_between_turns(screen: Screen, out: Terminal) -> None:
    after(screen, Notice("hello"))
    screen.meanwhile(Progress("late news of a thread"))
    time.sleep(DRAWN)
    assert screen_of(out.getvalue()) == ["hello"]


@pytest.mark.parametrize(("bell", "rings"), [(0.2, True), (5.0, False), (0.0, False)])
def test_the_bell_rings_after_a_long_answer_only(bell: float, rings: bool, out: Terminal) -> None:
    screen = Screen(out, out, notes=True, bell=bell)
    screen.begin("getting ready")
    time.sleep(0.25)
    screen(Token("Hello."))
    screen(done("Hello."))
    assert ("\a" in out.getvalue()) is rings


def test_a_line_that_a_narrower_terminal_has_wrapped_is_erased_whole(
    out: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = LiveLines(out, lambda width, height: ["x" * 50])
    lines.start()
    lines.draw()
    monkeypatch.setenv("COLUMNS", "20")
    before = len(out.getvalue())
    lines.stop()
    assert "\x1b[2A\x1b[J" in out.getvalue()[before:]


def test_a_terminal_that_is_gone_ends_the_drawing_quietly() -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(5, "Input/output error")

    lines = LiveLines(Gone(), lambda width, height: ["x"])
    lines.start()
    time.sleep(0.3)
    lines.stop()


def test_who_interrupts_its_beginning_gets_the_terminal_back() -> None:
    class Interrupted(Listener):
        closed = False

        def begin(self, what: str) -> None:
            raise KeyboardInterrupt

        def close(self) -> None:
            self.closed = True

    listener = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        show_turn(iter(()), listener)
    assert listener.closed


# -------- on a real terminal

WORKS = """
import sys, time
from openclaw.cli.terminal import Screen
screen = Screen(sys.stdout, sys.stderr, notes=True)
print("ready", flush=True)
screen.begin("working")
time.sleep(1.5)
screen.close()
print("over", flush=True)
"""


def seen(text: str) -> list[str]:
    screen = pyte.Screen(80, 24)
    pyte.Stream(screen).feed(text)
    return [line.rstrip() for line in screen.display if line.strip()]


def test_a_signal_that_ends_the_process_leaves_the_terminal_as_it_was() -> None:
    import pexpect

    spawn: Any = pexpect.spawn
    terminal = spawn(sys.executable, ["-c", WORKS], encoding="utf-8", timeout=10)
    terminal.expect("working")
    terminal.kill(signal.SIGTERM)
    terminal.expect(pexpect.EOF)
    assert terminal.before.endswith("\x1b[?25h")  # the cursor is seen again
    assert terminal.getecho()


@pytest.mark.skipif(not shutil.which("bash"), reason="it takes a shell with job control")
def test_keys_are_not_echoed_into_it_and_ctrl_z_takes_it_away(tmp_path: Path) -> None:
    import pexpect

    script = tmp_path / "works.py"
    script.write_text(WORKS, "utf-8")
    spawn: Any = pexpect.spawn
    shell = spawn("bash", ["--norc", "-i"], encoding="utf-8", timeout=10, env={
        **os.environ, "PS1": "$ ", "HISTFILE": os.devnull,
    })  # fmt: skip
    shell.logfile_read = io.StringIO()
    shell.expect_exact("$ ")
    shell.sendline(f"{sys.executable} {script}")
    shell.expect("working")
    shell.send("abc\n")
    shell.sendcontrol("z")
    shell.expect("Stopped")
    shell.expect_exact("$ ")
    lines = seen(shell.logfile_read.getvalue())
    assert not [line for line in lines if "abc" in line or line.endswith("working")], lines
    shell.sendline("fg")
    shell.expect("working")
    shell.expect("over")
    kill(shell)
