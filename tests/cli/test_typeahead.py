"""Text that is typed during an answer is asked next, or stands in the input line afterwards."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.input.vt100_parser import Vt100Parser

from openclaw.cli.typeahead import Typed, TypedAhead
from tests.fakes.ollama_server import Answer, FakeOllama
from tests.fakes.terminal import READ, TIMEOUT, Terminal, kill, on_terminal, terminals

ENTER, ALT_ENTER, BACKSPACE, CTRL_C, CTRL_D, CTRL_U = "\r", "\x1b\r", "\x7f", "\x03", "\x04", "\x15"
COLLECTS = """
import os, signal, sys, time
from openclaw.cli.typeahead import TypedAhead
typed = TypedAhead()
try:
    with typed:
        print("busy", flush=True)
        if sys.argv[1] == "term":
            os.kill(os.getpid(), signal.SIGTERM)
        while typed.line != sys.argv[1]:
            time.sleep(0.01)
    print("ended", end=" ")
except KeyboardInterrupt:
    print("interrupted", end=" ")
print(typed.prompts, repr(typed.line), flush=True)
"""


def pressed(keys: str) -> Typed:
    typed = Typed(lambda text: f"[{len(text)}]" if len(text) > 10 else text)
    Vt100Parser(typed.press).feed_and_flush(keys)
    return typed


@pytest.mark.parametrize(
    ("keys", "prompts", "line"),
    [
        (f"buy milk{ENTER}and br", ["buy milk"], "and br"),
        (f"a{ENTER}{ENTER}\n b\n", ["a", " b"], ""),
        (f"one{ALT_ENTER}two{ENTER}", ["one\ntwo"], ""),
        (f"one\\{ENTER}two{ENTER}", ["one\ntwo"], ""),
        (f"wrong{CTRL_U}right{BACKSPACE}", [], "righ"),
        (f"a{ENTER}{BACKSPACE}b", [], "ab"),
        ("\x1b[A\x1b[Dx\x1by\x1bOP\t", [], "x"),
        ("see \x1b[200~a\nb\x1b[201~ now", [], "see a\nb now"),
        ("see \x1b[200~a long text\n\x1b[201~", [], "see [12]"),
        ("Grüße 你好", [], "Grüße 你好"),
    ],
)
def test_keys_become_prompts_and_a_line(keys: str, prompts: list[str], line: str) -> None:
    assert ((typed := pressed(keys)).prompts, typed.line) == (prompts, line)


def test_prompts_are_sent_in_turn_and_the_line_is_not() -> None:
    typed = pressed(f"a{ENTER}b{ENTER}c")
    assert typed.preview() == "a \u21b5 b \u21b5 c"
    assert [typed.take() for _ in range(4)] == [("a", True), ("b", True), ("c", False), ("", False)]


def test_a_yes_is_seen_before_it_is_sent() -> None:
    assert pressed(f"yes{ENTER}").take() == ("yes", False)


def test_what_is_held_stands_in_the_line_whole() -> None:
    typed = pressed(f"a{ENTER}b{ENTER}c")
    typed.hold()
    assert typed.take() == ("a\nb\nc", False)
    typed = pressed(f"a{ENTER}")
    typed.hold("to be changed")
    assert typed.take() == ("to be changed\na", False)


def test_control_d_leaves_when_all_is_asked() -> None:
    typed = pressed(f"a{ENTER}{CTRL_D}")
    assert typed.take() == ("a", True)
    with pytest.raises(EOFError):
        typed.take()
    assert pressed(f"{CTRL_D}b").take() == ("b", False)


def test_what_was_typed_into_a_question_stands_in_the_line_unless_it_was_meant_as_reply() -> None:
    typed = TypedAhead()
    typed.keep("y\n")
    typed.keep("n")
    assert (typed.prompts, typed.line) == ([], "")
    typed.keep("and butter\nand eggs")
    typed.keep("!")
    assert (typed.prompts, typed.line) == ([], "and butter\nand eggs!")


# -------- on a terminal


def collecting(last: str) -> Any:
    """A process that collects what is typed until the line is `last`."""
    terminal = on_terminal("-c", COLLECTS, last, pause=0.2)
    terminal.expect("busy")
    return terminal


@terminals
def test_nothing_is_echoed_and_nothing_is_lost() -> None:
    terminal = collecting("second")
    terminal.send(f"first{ENTER}sec")
    terminal.send("ond")
    terminal.expect(r"ended \['first'\] 'second'")
    assert "sec" not in terminal.before and terminal.getecho()


@terminals
@pytest.mark.parametrize("key", [CTRL_C, "\x1b"])
def test_control_c_and_escape_interrupt_and_leave_what_was_typed(key: str) -> None:
    terminal = collecting("never typed")
    terminal.send(f"first{ENTER}sec\x1b[D")
    terminal.send(key)
    terminal.expect(r"interrupted \['first'\] 'sec'")
    assert terminal.getecho()


@terminals
def test_a_signal_that_ends_the_process_leaves_the_terminal_as_it_was() -> None:
    import pexpect

    terminal = collecting("term")
    terminal.expect(pexpect.EOF)
    assert terminal.getecho()


INTERRUPTED = """
import os, signal, termios, threading, time
from openclaw.cli.typeahead import TypedAhead
before, left = termios.tcgetattr(0), 0
signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
for microseconds in range(2, 502, 2):
    typed = TypedAhead()
    try:
        signal.setitimer(signal.ITIMER_REAL, microseconds / 1_000_000)
        with typed:
            time.sleep(0.01)
    except KeyboardInterrupt:
        pass
    left += termios.tcgetattr(0) != before or threading.active_count() > 1
print("left", left, "times", flush=True)
"""


@terminals
def test_control_c_at_the_very_beginning_leaves_the_terminal_as_it_was() -> None:
    on_terminal("-c", INTERRUPTED).expect("left 0 times")


SIGNALLED = """
import os, signal, termios, threading, time
from openclaw.cli.typeahead import KeyReader
before, heard = termios.tcgetattr(0), threading.Event()
def own(number, frame):
    pass
signal.signal(signal.SIGHUP, own)
def hear(text):
    heard.set()
    while signal.getsignal(signal.SIGHUP) is not own:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGHUP)  # the reader is being left, and waits for this thread
with KeyReader(hear, lambda: None):
    print("busy", flush=True)
    heard.wait()
print("same", termios.tcgetattr(0) == before, threading.active_count(), flush=True)
"""


@terminals
def test_a_signal_while_it_is_left_does_not_begin_it_again() -> None:
    terminal = on_terminal("-c", SIGNALLED, pause=0.05)
    terminal.expect("busy")
    terminal.send("x")
    terminal.expect("same True 1")


@terminals
def test_control_z_gives_the_terminal_back_and_fg_goes_on(tmp_path: Path) -> None:
    import pexpect

    script = tmp_path / "collects.py"
    script.write_text(COLLECTS, "utf-8")
    shell = pexpect.spawn("bash", ["--norc", "-i"], encoding="utf-8", timeout=TIMEOUT)
    shell.delaybeforesend = 0.3
    shell.sendline("PS1='$ '; bind 'set enable-bracketed-paste off'")
    shell.sendline(f"{sys.executable} {script} second")
    shell.expect("busy")
    shell.send("first\r\x1a")
    shell.expect("Stopped")
    shell.sendline("stty -a | grep -c ' echo ' && fg")
    shell.expect("1\r\n")
    shell.expect("collects.py second\r\n")
    shell.send("second")
    shell.expect(r"ended \['first'\] 'second'")
    kill(shell)


def prompts(fake_ollama: FakeOllama) -> list[str]:
    """The prompts of the chat requests: the last line of each one's last message."""
    asked = [body["messages"][-1] for body in fake_ollama.chats]
    return [one["content"].splitlines()[-1] for one in asked if one["role"] == "user"]


def test_a_line_typed_while_an_answer_streams_is_asked_next(
    terminal: Callable[..., Terminal], fake_ollama: FakeOllama
) -> None:
    typed = threading.Event()
    fake_ollama.say(Answer(["Once ", "upon ", "a time."], go_on=typed), "Second.", "Third.")
    screen = terminal("chat")
    screen.wait(lambda text: "mode ask" in text)
    screen.send(f"one{ENTER}")
    screen.wait(lambda text: "Once" in text)
    screen.send(f"two{ENTER}thr")
    screen.wait(lambda text: "> two \u21b5 thr" in text)
    typed.set()
    screen.wait(lambda text: "Second." in text)
    screen.send(f"ee{ENTER}")
    screen.wait(lambda text: "Third." in text)
    assert prompts(fake_ollama) == ["one", "two", "three"]


def test_what_is_typed_before_a_question_is_no_reply_and_waits_in_the_line(
    terminal: Callable[..., Terminal], fake_ollama: FakeOllama, home: Path
) -> None:
    call, typed = ("write_file", {"path": "workspace/new.md", "content": "x"}), threading.Event()
    writes = Answer(["I write it."], calls=[call], go_on=typed)
    fake_ollama.say(writes, "Not written.", "Bought.")
    screen = terminal("chat")
    screen.wait(lambda text: "mode ask" in text)
    screen.send(f"write it{ENTER}")
    screen.wait(lambda text: "I write it." in text)
    screen.send(f"yes{ENTER}buy milk")
    screen.wait(lambda text: "> yes \u21b5 buy milk" in text)
    typed.set()
    say_no(screen)
    screen.wait(lambda text: "> yes buy milk" in " ".join(text.split()))
    screen.send(f" now{ENTER}")
    screen.wait(lambda text: "Bought." in text)
    assert not (home / "workspace" / "new.md").exists()
    assert prompts(fake_ollama) == ["write it", "buy milk now"]


def say_no(screen: Terminal) -> None:
    """Refuse a call; once more where the question was so late to listen that it came too soon."""
    said = 0

    def is_next(text: str) -> bool:
        return text.count("Allow?") > said or "refused: " in text

    while "refused: " not in screen.wait(is_next):
        time.sleep(READ)
        screen.send(f"n{ENTER}")
        said += 1
