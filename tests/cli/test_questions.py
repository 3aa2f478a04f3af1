"""A reply counts only when the user could read the question before typing it."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from openclaw.cli.questions import read_letter
from tests.data.sample import sample
from tests.fakes.git_home import make_repository
from tests.fakes.ollama_server import Answer, FakeOllama
from tests.fakes.terminal import READ, exit_code, kill, on_terminal, terminals

ASKS = """
import sys, time
from openclaw.cli.questions import read_reply
print("busy", flush=True)
time.sleep(float(sys.argv[1]))
try:
    print("got", read_reply("Sure? ", sys.stdout).split())
except EOFError:
    print("got nothing")
"""
SOON = 0.05  # seconds after which nobody has read a question yet


def asking(seconds: float = 0.0) -> Any:
    """A process on a terminal that asks a question after so many seconds."""
    terminal = on_terminal("-c", ASKS, str(seconds), pause=SOON)
    terminal.expect("busy")
    return terminal


def got(terminal: Any) -> str:
    terminal.expect("got (.*)\r\n")
    said = str(terminal.match[1])
    exit_code(terminal)
    return said


def asked_again(terminal: Any, reply: str = "n") -> str:
    """The reply that counts when this is typed after the question was shown again."""
    terminal.expect_exact("Sure? ")
    time.sleep(READ)
    terminal.sendline(reply)
    return got(terminal)


@terminals
@pytest.mark.parametrize(
    "keys", sample(["y\n", "y\n" * 3_000, "y", "a\ny\ny\n", "\x1b[200~y\ny\n\x1b[201~"], 2)
)
def test_what_was_typed_before_the_question_is_no_reply(keys: str) -> None:
    terminal = asking(1.0)
    terminal.send(keys)
    assert asked_again(terminal) == "['n']"


@terminals
@pytest.mark.parametrize("keys", sample(["y\n", "\x04", "y", "\n", "a\ny\n"], 2))
def test_a_reply_within_a_moment_is_asked_for_again(keys: str) -> None:
    terminal = asking()
    terminal.expect_exact("Sure? ")
    terminal.send(keys)
    terminal.expect("too soon")
    assert asked_again(terminal) == "['n']"


@terminals
def test_after_a_stop_the_question_is_shown_again() -> None:
    terminal = asking()
    terminal.expect_exact("Sure? ")
    time.sleep(READ)
    terminal.kill(signal.SIGSTOP)
    terminal.kill(signal.SIGCONT)
    assert asked_again(terminal) == "['n']"


@terminals
def test_what_follows_a_question_without_a_reply_begins_on_its_own_line() -> None:
    terminal = asking()
    terminal.expect_exact("Sure? ")
    time.sleep(READ)
    terminal.sendeof()
    terminal.expect_exact("\r\ngot nothing")


@terminals
def test_a_key_that_is_held_down_is_no_reply() -> None:
    terminal = asking()
    terminal.expect_exact("Sure? ")
    for _ in range(15):
        terminal.send("y\n")
    terminal.expect("too soon")
    assert asked_again(terminal) == "['n']"


@terminals
@pytest.mark.parametrize("keys", sample(["y\nand more\n", "y\nand more", "y\n\n"]))
def test_a_line_of_a_pasted_text_is_no_reply(keys: str) -> None:
    terminal = asking()
    terminal.expect_exact("Sure? ")
    time.sleep(READ)
    terminal.send(keys)
    terminal.expect("pasted")
    assert asked_again(terminal) == "['n']"


@terminals
def test_who_has_read_the_question_is_heard_and_the_end_of_input_is_no_reply() -> None:
    assert asked_again(asking(), "yes") == "['yes']"
    terminal = asking()
    terminal.expect_exact("Sure? ")
    time.sleep(READ)
    terminal.sendeof()
    assert got(terminal) == "nothing"


@terminals
def test_a_name_in_a_question_cannot_rewrite_it(home: Path) -> None:
    import pexpect

    make_repository(home)
    config = home / ".git" / "config"
    config.write_text(config.read_text() + '[remote "origin"]\n\turl = "https://a\x1b[2K.test"\n')
    words = ["-m", "openclaw", "--home", str(home), "trust", "--remote", "origin"]
    terminal = pexpect.spawn(sys.executable, words, encoding="utf-8", timeout=20)
    terminal.expect_exact("yours, and all that push to it?")
    assert "\x1b[2K" not in terminal.before and "\u241b[2K" in terminal.before
    kill(terminal)


def test_what_is_piped_in_is_read_as_it_comes() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ASKS, "0"],
        input="y\nmore\n", capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "busy\nSure? got ['y']\n"


@pytest.mark.parametrize(
    ("typed", "letter"), [("\n", "n"), ("what\nSkip\n", "s"), ("view\n", "v"), ("y\n", "y")]
)
def test_a_letter_or_its_word_chooses(
    typed: str, letter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    assert read_letter("[y]es [v]iew [s]kip [N]o ", "yvsn", "n") == letter


# -------- where it matters


def writes(stall: float = 0.0) -> Answer:
    call = ("write_file", {"path": "workspace/new.md", "content": "x"})
    return Answer(calls=[call], stall=stall)


@terminals
@pytest.mark.parametrize("keys", sample(["yes\ny\na\n", "y\n"]))
def test_a_yes_typed_while_the_model_works_allows_nothing(
    home: Path, fake_ollama: FakeOllama, keys: str
) -> None:
    fake_ollama.say(writes(2.0), "I was not allowed to.")
    words = ("--mode", "ask", "--no-memory", "write it down")
    terminal = on_terminal("-m", "openclaw", *words, pause=SOON)
    time.sleep(1.0)
    terminal.send(keys)
    terminal.expect(r"Allow\?")
    time.sleep(READ)
    terminal.send("n\n")
    exit_code(terminal)
    assert not (home / "workspace" / "new.md").exists()
    assert "write_file" not in (home / "openclaw.yaml").read_text("utf-8")


@terminals
def test_a_yes_that_a_prompt_finds_typed_is_no_reply_to_an_offer() -> None:
    from prompt_toolkit.application import create_app_session
    from prompt_toolkit.input import create_pipe_input
    from prompt_toolkit.output import DummyOutput

    from openclaw.cli.chat.completion import CompletionSources
    from openclaw.cli.chat.prompt_line import TypedLines

    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        lines = TypedLines(None, CompletionSources(lambda: ()), clock=lambda: 0.0)
        keys.send_text("yes\ry\rgo on\r")
        assert lines.read(lambda: "") == "go on"
