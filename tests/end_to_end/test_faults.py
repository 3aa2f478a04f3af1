"""Faults as a user meets them: `python -m openclaw` against a loopback Ollama that misbehaves, and
homes that cannot be read or written. Other exit codes are in test_cli.py."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.command import openclaw
from tests.fakes.ollama_server import Answer, FakeOllama, last_words

COMMAND = [sys.executable, "-m", "openclaw"]
posix = pytest.mark.skipif(os.name == "nt", reason="limits, signals and modes of POSIX")

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
Result = subprocess.CompletedProcess[str]


def started(*words: str, stdin: bytes = b"", command: list[str] = COMMAND) -> Result:
    done = subprocess.run(
        [*command, *words], input=stdin, capture_output=True, timeout=60, check=False
    )
    out, err = done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
    assert "Traceback" not in err
    return subprocess.CompletedProcess(words, done.returncode, out, err)


def asked(*words: str, stdin: bytes = b"") -> Result:
    done = openclaw(*words, stdin=stdin)
    assert "Traceback" not in done.stderr
    return done


def limited(size: int, *words: str) -> Result:
    return started(*words, command=[sys.executable, "-c", LIMITED, str(size)])


def common(*words: str) -> Result:
    if sys.platform != "linux" and os.geteuid() == 0:
        pytest.skip("root passes modes by")
    done = started(*words, command=[sys.executable, "-c", COMMON])
    if done.returncode == 99:
        pytest.skip("root may not give up its power here")
    return done


def said(home: Path) -> list[str]:
    """What stands in the one session of the home."""
    (path,) = home.glob("sessions/*.json")
    return [m["content"] for m in json.loads(path.read_text("utf-8"))["messages"]]


def called(tool: str, **arguments: Any) -> Answer:
    return Answer(calls=[(tool, arguments)])


# -------- the server


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (Answer(status=500, error="out of memory"), r"out of memory"),
        (Answer("Once upon a time", cut_after=2), r"(?i)cut|broke|ended|connection"),
        (Answer("Once upon a time", end_after=2), r"(?i)cut|broke|ended|connection"),
        (Answer("Once upon a time", malformed_after=2), r"not a chat reply"),
        (Answer("Once", prompt_tokens=30), r"read only 30 of about \d{3,} tokens"),
    ],
    ids=["500", "cut", "ended", "malformed", "too few tokens"],
)
def test_a_failing_server_is_one_clear_line_and_what_was_asked_is_kept(
    fault: Answer, told: str, home: Path, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(fault)
    done = asked("Tell a story.")
    assert done.returncode == 1
    *_, message, hint = done.stderr.splitlines()
    assert message.startswith("openclaw: ") and re.search(told, message)
    assert hint.startswith("  ")
    assert len(fake_ollama.chats) == 1
    assert said(home) == ["Tell a story."]


def test_a_slow_first_word_is_waited_for_and_said(home: Path, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(Answer("Hello.", stall=1.5))
    done = asked("Say hello.")
    assert (done.returncode, done.stdout) == (0, "Hello.\n")
    assert "loading" in done.stderr
    assert len(fake_ollama.chats) == 1


def test_after_a_fault_the_conversation_goes_on(home: Path, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(called("list_files"), Answer("Once", cut_after=0), "Here I am.")
    assert asked("What is there?").returncode == 1
    done = asked("-c", "Are you there?")
    assert (done.returncode, done.stdout) == (0, "Here I am.\n")
    assert said(home) == ["What is there?", "", "Are you there?", "Here I am."]


# -------- the disk


@posix
def test_a_disk_that_is_full_while_saving_loses_nothing(
    home: Path, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("One.", "Two.")
    assert asked("first").returncode == 0
    (path,) = home.glob("sessions/*.json")
    before = path.read_bytes()
    done = limited(len(before), "-c", "second")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-2].startswith("openclaw: cannot write ")
    assert path.read_bytes() == before
    assert not list(home.rglob(".openclaw-*.tmp"))
    assert asked("-c", "third").stdout == "Two.\n"


@posix
def test_a_read_only_home_is_one_clear_line(home: Path, fake_ollama: FakeOllama) -> None:
    folders = [home, *(path for path in home.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        done = common("Say hello.")
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert done.returncode == 1
    assert "read-only" in done.stderr.splitlines()[-2]
    assert str(home) in done.stderr
    assert not list(home.glob("sessions/*.json"))


@posix
def test_an_unreadable_home_leaves_with_6(home: Path) -> None:
    home.chmod(0o000)
    try:
        done = common("Say hello.")
    finally:
        home.chmod(0o755)
    assert done.returncode == 6
    assert done.stderr.startswith("openclaw: ") and str(home) in done.stderr


# -------- processes


@pytest.mark.slow
def test_two_processes_in_one_session_take_turns(home: Path, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(Answer("One.", stall=0.3), Answer("Two."))
    words = [*COMMAND, "--session", "garden"]
    pair = [
        subprocess.Popen([*words, text], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        for text in ("first", "second")
    ]
    answers = [child.communicate(timeout=60)[0].decode() for child in pair]
    assert [child.returncode for child in pair] == [0, 0]
    assert sorted(answer.strip() for answer in answers) == ["One.", "Two."]
    stored = said(home)
    assert [stored[1], stored[3]] == ["One.", "Two."]
    assert sorted([stored[0], stored[2]]) == ["first", "second"]
    assert len(fake_ollama.chats[1]["messages"]) == 4


# -------- what files hold


def test_bytes_that_are_no_text_are_shown_and_never_written_back(
    home: Path, fake_ollama: FakeOllama
) -> None:
    old = "caf\u00e9 at nine\n".encode("latin-1")
    (home / "workspace" / "old.txt").write_bytes(old)
    fake_ollama.say(
        called("read_file", path="workspace/old.txt"),
        called("edit_file", path="workspace/old.txt", find="nine", replace="ten"),
        "It could not be changed.",
    )
    done = asked("Change nine to ten in old.txt", stdin=b"seen at the caf\xe9\n")
    assert done.returncode == 0
    assert "seen at the caf\ufffd" in last_words(fake_ollama.chats[0])
    assert "caf\ufffd at nine" in last_words(fake_ollama.chats[1])
    assert "UTF-8" in last_words(fake_ollama.chats[2])
    assert (home / "workspace" / "old.txt").read_bytes() == old


# -------- what the model does
