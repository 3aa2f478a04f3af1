"""Standard input and output as shells and scripts give them: closed, full, shared with a loop."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.data.sample import sample
from tests.fakes.command import openclaw
from tests.fakes.needs import linux
from tests.fakes.ollama_server import FakeOllama, last_words

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="lines for a POSIX shell")
needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
MORE = ("--version", "todo list --json")
FULL = "openclaw: standard output cannot be written: No space left on device\n"


def shell(line: str, cwd: Path, stdin: int | None = subprocess.DEVNULL) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a line for sh, in which $openclaw is the command."""
    done = subprocess.run(
        ["sh", "-c", line],
        cwd=cwd,
        stdin=stdin,
        capture_output=True,
        env={**os.environ, "openclaw": f"{sys.executable} -m openclaw"},
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def messages(home: Path) -> list[str]:
    (path,) = home.glob("sessions/*.json")
    return [message["content"] for message in json.loads(path.read_text("utf-8"))["messages"]]


# -------- output


@pytest.mark.parametrize("words", sample(["todo list", "--version", "todo --help"]))
def test_a_closed_stream_is_no_failure(words: str, home: Path) -> None:
    assert shell(f"$openclaw {words} >&-", home) == (0, "", "")
    code, out, _ = shell(f"$openclaw {words} 2>&-", home)
    assert (code, bool(out)) == (0, True)


@needs_full
@pytest.mark.parametrize("words", sample(["todo list", "--help", *MORE], 2))
def test_what_cannot_be_printed_is_one_line_and_a_failure(words: str, home: Path) -> None:
    assert shell(f"$openclaw {words} >/dev/full", home) == (1, "", FULL)


@needs_full
def test_an_error_that_nobody_can_be_told_keeps_its_code(home: Path) -> None:
    assert shell("$openclaw todo done nothing 2>/dev/full", home) == (2, "", "")
    assert shell("$openclaw todo done nothing >&- 2>&-", home) == (2, "", "")


def test_a_file_that_is_opened_later_does_not_get_what_is_printed(home: Path) -> None:
    assert shell("$openclaw todo add milk <&- >&- 2>&-", home) == (0, "", "")
    assert "added to" not in (home / "memory" / "TODO.md").read_text("utf-8")


def test_a_reader_that_has_seen_enough_is_no_failure_and_the_turn_is_kept(
    home: Path, fake_ollama: FakeOllama
) -> None:
    answer = "".join(f"{number} bottles. " for number in range(50)).strip()
    fake_ollama.say(answer)
    line = '{ $openclaw hi; echo "code $?" >&2; } | head -c 3'
    code, out, err = shell(line, home)
    assert (code, out, err.splitlines()[-1]) == (0, "0 b", "code 0")
    assert messages(home) == ["hi", answer]


@needs_full
def test_an_answer_that_cannot_be_printed_is_kept(home: Path, fake_ollama: FakeOllama) -> None:
    fake_ollama.say("All is well.")
    code, _, err = shell("$openclaw --output json hi >/dev/full", home)
    assert (code, err.endswith(FULL)) == (1, True)
    assert messages(home) == ["hi", "All is well."]


# -------- input


def shown(fake: FakeOllama) -> list[str]:
    """What each request held behind the time of day."""
    return [last_words(body).partition("</context>")[2].strip() for body in fake.chats]


@pytest.mark.parametrize(
    "line",
    [
        'while read x; do $openclaw "$x"; done < list',
        pytest.param('cat list | while read x; do $openclaw "$x"; done', marks=linux),
        pytest.param(
            'cat list | while read x; do env $openclaw "$x"; done',
            marks=(linux, pytest.mark.slow),
        ),
    ],
)
def test_a_loop_runs_for_each_of_its_lines(line: str, home: Path, fake_ollama: FakeOllama) -> None:
    (home / "list").write_text("one\ntwo\n", encoding="utf-8")
    fake_ollama.say("A.", "B.")
    code, out, err = shell(line, home)
    assert (code, out, shown(fake_ollama)) == (0, "A.\nB.\n", ["one", "two"])
    assert err.count("standard input is left to the loop") == 1  # at the end nothing is left


@pytest.mark.parametrize(
    "line",
    sample(
        [
            "$openclaw ask < list",
            "cat list | env $openclaw ask",
            "{ read x; $openclaw ask -; } < list",
            "take() { $openclaw ask; }; cat list | take",
            "cat list | sh -c '$openclaw ask; true'",
            "{ read x; $openclaw ask --stdin; } < list",
        ],
        2,
    ),
)
def test_what_is_given_to_the_command_goes_along(
    line: str, home: Path, fake_ollama: FakeOllama
) -> None:
    (home / "list").write_text("one\ntwo\n", encoding="utf-8")
    fake_ollama.say("Seen.")
    line = line.replace("ask", '"sum up"')
    code, out, err = shell(line, home)
    assert (code, out, "standard input" in err) == (0, "Seen.\n", False)
    (asked,) = shown(fake_ollama)
    assert "two\n<</data" in asked and asked.endswith("sum up")


def test_standard_input_can_be_left_alone(home: Path, fake_ollama: FakeOllama) -> None:
    fake_ollama.say("Hi.")
    assert openclaw("--no-stdin", "hi", stdin="one").stdout == "Hi.\n"
    assert shown(fake_ollama) == ["hi"]
    assert "no prompt given" in openclaw("--no-stdin", stdin="one").stderr


def test_an_end_that_does_not_come_is_told(home: Path, fake_ollama: FakeOllama) -> None:
    fake_ollama.say("Hi.")
    with subprocess.Popen(
        [sys.executable, "-m", "openclaw", "--quiet", "hi"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as child:  # fmt: skip
        assert child.stderr is not None
        assert "reading standard input to its end" in child.stderr.readline()
        assert child.communicate()[0] == "Hi.\n"
