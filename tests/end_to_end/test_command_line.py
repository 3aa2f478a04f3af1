"""The command as a user runs it: `python -m openclaw` against a loopback Ollama."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from openclaw.cli.command_line import COMMANDS, DEFAULT_COMMANDS, split_global_options
from openclaw.cli.dispatch import check_prompt, route
from openclaw.cli.error_report import wants_json
from openclaw.cli.main import run
from openclaw.errors import UsageError
from openclaw.storage.new_home import create_home
from tests.fakes.command import openclaw
from tests.fakes.needs import posix
from tests.fakes.ollama_server import Answer, FakeOllama, last_words
from tests.fakes.process import COMMAND, started

LISTING = [each for each in DEFAULT_COMMANDS.items() if each[0] != "serve"]


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def sessions(home: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text("utf-8")) for path in sorted(home.glob("sessions/*.json"))]


# -------- one prompt


def test_the_answer_alone_is_on_stdout_with_one_model_call(
    home: Path, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("Hello there.")
    done = started("Say hello.")
    assert (done.returncode, done.stdout) == (0, "Hello there.\n")
    assert len(fake_ollama.chats) == 1
    assert "Say hello." in last_words(fake_ollama.chats[0])


def test_words_without_quotes_are_one_prompt(home: Path, fake_ollama: FakeOllama) -> None:
    fake_ollama.say("Noon.")
    assert openclaw("what", "time", "is", "it", "--output", "text").stdout == "Noon.\n"
    assert "what time is it" in last_words(fake_ollama.chats[0])


def test_a_tool_changes_a_file_and_the_receipt_says_so(home: Path, fake_ollama: FakeOllama) -> None:
    call = ("write_file", {"path": "workspace/new.md", "content": "hello\n"})
    fake_ollama.say(Answer(calls=[call]), "I wrote it.")
    done = openclaw("write hello to workspace/new.md")
    assert (done.returncode, done.stdout) == (0, "I wrote it.\n")
    assert (home / "workspace" / "new.md").read_text("utf-8") == "hello\n"
    assert "workspace/new.md created +1 -0" in done.stderr


def test_piped_text_is_material_for_the_prompt(home: Path, fake_ollama: FakeOllama) -> None:
    fake_ollama.say("The disk.")
    assert openclaw("what failed?", stdin=b"disk full\n").stdout == "The disk.\n"
    said = last_words(fake_ollama.chats[0])
    assert "what failed?" in said
    assert re.search(r"<<data (\w{8}) from standard input, .*>>\ndisk full\n<</data \1>>", said)


def test_piped_text_alone_is_the_prompt(home: Path, fake_ollama: FakeOllama) -> None:
    fake_ollama.say("Hi.")
    assert openclaw(stdin="Say hi.\n").stdout == "Hi.\n"
    assert "standard input" not in last_words(fake_ollama.chats[0])


LATIN = "caf\udce9"  # what Python makes of "café" in Latin-1


def test_words_that_are_no_utf8_are_taken_as_text(home: Path, fake_ollama: FakeOllama) -> None:
    fake_ollama.say("Hi.")
    assert openclaw("say", LATIN).returncode == 0
    assert "say caf\ufffd" in last_words(fake_ollama.chats[0])
    assert openclaw("todo", "add", LATIN).returncode == 0
    assert "caf\ufffd" in (home / "memory" / "TODO.md").read_text("utf-8")


@pytest.mark.skipif(sys.platform != "linux", reason="any bytes are a name")
def test_a_home_whose_name_is_no_utf8_works(home: Path) -> None:
    odd = home.rename(home.with_name(LATIN))
    for words in (["--home", str(odd)], [f"--home={odd}"]):
        assert openclaw(*words, "todo", "list").returncode == 0


@pytest.mark.parametrize("key", [LATIN, "caf\xe9"])
def test_a_key_that_cannot_be_sent_is_an_error_that_does_not_tell_it(home: Path, key: str) -> None:
    environ = {"OPENAI_API_KEY": key}
    done = openclaw("--model", "openai/x", "hi", environ=environ)
    assert (done.returncode, "caf" in done.stderr) == (2, False)
    assert "OPENAI_API_KEY" in done.stderr
    assert "--debug" not in done.stderr


def test_an_attached_file_goes_along(
    home: Path, fake_ollama: FakeOllama, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.txt").write_text("a\nb\nc\n", encoding="utf-8")
    fake_ollama.say("b.")
    assert openclaw("what is in @log.txt:2-2?").returncode == 0
    assert "from file log.txt, lines 2-2, no orders>>\nb\n<</data" in last_words(
        fake_ollama.chats[0]
    )


def test_a_home_option_without_a_folder_says_so(home: Path) -> None:
    for words in (("todo", "list", "--home"), ("--home",)):
        done = openclaw(*words)
        assert (done.returncode, "--home needs a folder" in done.stderr) == (2, True)


def test_nothing_asked_says_so(home: Path) -> None:
    done = openclaw()
    assert done.returncode == 2
    assert done.stderr.startswith("openclaw: no prompt given\n  ")


# -------- formats


def test_an_error_is_an_event_too_when_json_was_asked_for(home: Path) -> None:
    done = openclaw("--output", "json", "--model", "ollama/missing", "hi")
    (shape,) = events(done.stdout)
    assert (shape["event"], shape["exit_code"]) == ("error", 5)
    assert done.returncode == 5


# -------- sessions


def test_continue_and_session_go_on_where_they_were(home: Path, fake_ollama: FakeOllama) -> None:
    fake_ollama.say("One.", "Two.", "Three.", "Four.")
    assert openclaw("first").returncode == 0
    assert openclaw("-c", "second").returncode == 0
    assert [len(session["messages"]) for session in sessions(home)] == [4]
    assert openclaw("--session", "garden", "third").returncode == 0
    assert openclaw("fourth", "--session", "garden").returncode == 0
    roles = [message["role"] for message in fake_ollama.chats[3]["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    assert {session["id"] for session in sessions(home)} > {"garden"}


def test_a_new_name_that_begins_like_another_is_a_new_session(
    home: Path, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("One.", "Two.")
    openclaw("--session", "workout", "first")
    openclaw("--session", "work", "second")
    assert {session["id"] for session in sessions(home)} == {"work", "workout"}


# -------- exit codes


def test_a_claim_without_a_deed_leaves_with_3(home: Path, fake_ollama: FakeOllama) -> None:
    fake_ollama.say("I have saved the file.", "I have saved the file.")
    done = openclaw("save the file notes.md")
    assert done.returncode == 3
    assert "not true" in done.stderr


def test_who_cannot_be_asked_has_refused_and_is_told_why(
    home: Path, fake_ollama: FakeOllama
) -> None:
    before = (home / "workspace" / "SOUL.md").read_bytes()
    change = ("append_file", {"path": "soul", "text": "I obey the web."})
    fake_ollama.say(Answer(calls=[change]), "It was not allowed.")
    done = openclaw("make it yours")
    assert done.returncode == 7
    assert (
        "refused: append_file workspace/SOUL.md (write): workspace/SOUL.md decides who the agent "
        "is and what it may do; nobody is there to ask" in done.stderr
    )
    assert (home / "workspace" / "SOUL.md").read_bytes() == before
    fake_ollama.say(Answer(calls=[("web_search", {"query": "news"})]), "It was not allowed.")
    done = openclaw("--output", "json", "what is new?")
    assert done.returncode == 7
    assert json.loads(done.stdout)["refused"] == [
        'web_search duckduckgo.com (get): mode "edit": getting from the network needs your OK; '
        "nobody is there to ask (allow it by openclaw policy allow host duckduckgo.com or --yes)"
    ]


def test_yes_allows_what_would_be_asked(home: Path, fake_ollama: FakeOllama) -> None:
    call = ("write_file", {"path": "workspace/new.md", "content": "x"})
    fake_ollama.say(Answer(calls=[call]), "It is written.")
    assert openclaw("--mode", "ask", "--yes", "write x to workspace/new.md").returncode == 0
    assert (home / "workspace" / "new.md").exists()


def test_a_server_that_is_away_leaves_with_4(tmp_path: Path) -> None:
    create_home(tmp_path / "home")
    done = openclaw("--model", "ollama/fake:1b", "hi")
    assert done.returncode == 4
    assert done.stderr.splitlines()[-2].startswith("openclaw: ") and done.stdout == ""


def test_a_missing_home_leaves_with_6(tmp_path: Path) -> None:
    done = openclaw("--home", str(tmp_path / "nowhere"), "hi")
    assert done.returncode == 6
    assert "openclaw init" in done.stderr and "Traceback" not in done.stderr


@posix
def test_a_current_folder_that_is_gone_is_named(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    done = openclaw("--home", str(home), "todo")
    assert done.returncode == 2
    assert "the current folder was removed\n  go to another one" in done.stderr


def test_debug_shows_the_trace(tmp_path: Path) -> None:
    done = openclaw("hi", "--home", str(tmp_path / "nowhere"), "--debug")
    assert done.returncode == 6 and "Traceback" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_leaves_with_130_and_keeps_what_was_said(
    home: Path, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(
        Answer(text=["Once ", "upon ", *(f"a{n} time " for n in range(500))], pause=0.05)
    )
    child = subprocess.Popen(
        [*COMMAND, "tell a story"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    seen = b""
    while b"upon" not in seen:
        seen += os.read(child.stdout.fileno(), 100)
    child.send_signal(signal.SIGINT)
    child.stdout.read()
    child.stdout.close()
    assert child.wait(20) == 130
    assert sessions(home)[0]["messages"][1]["content"].startswith("Once upon")


@pytest.mark.skipif(sys.platform == "win32", reason="pipes")
def test_a_reader_that_leaves_is_no_error_worth_a_trace(
    home: Path, fake_ollama: FakeOllama
) -> None:
    child = subprocess.Popen(
        [*COMMAND, "config", "show"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdout is not None and child.stderr is not None
    child.stdout.close()
    errors = child.stderr.read().decode()
    child.stderr.close()
    child.wait(20)
    assert errors == ""


# -------- words


def test_a_misspelt_command_is_not_sent_to_the_model(home: Path, fake_ollama: FakeOllama) -> None:
    done = openclaw("tood", "add", "buy milk", "--json")
    assert done.returncode == 2 and not fake_ollama.chats
    assert done.stderr.splitlines() == [
        "openclaw: no command 'tood'; did you mean 'todo'?",
        "  openclaw todo add 'buy milk' --json",
        "  to ask the model: openclaw ask 'tood add buy milk --json'",
    ]


@pytest.mark.parametrize(
    "words",
    [
        "why is the sky blue",
        "show me my todos",
        "undo that",
        "help me write",
        "todo buy milk",
        "log in to the bank",
        "memory lane",
    ],
)
def test_a_prompt_that_begins_with_a_command_is_shown_how_to_ask(
    words: str, home: Path, fake_ollama: FakeOllama
) -> None:
    done = openclaw(*words.split())
    assert done.returncode == 2 and not fake_ollama.chats
    hint = f"  to ask the model: openclaw ask '{words}'"
    assert done.stderr.splitlines()[-1] == hint
    fake_ollama.say("So.")
    assert openclaw(*shlex.split(hint)[5:]).stdout == "So.\n"
    assert last_words(fake_ollama.chats[0]).endswith(words)


@pytest.mark.parametrize("words", ["todo lst", "todo add", "todo list --jsn", "log --n 3"])
def test_what_can_only_be_a_command_is_not_offered_as_a_prompt(words: str, home: Path) -> None:
    done = openclaw(*words.split())
    assert done.returncode == 2 and "to ask the model" not in done.stderr


@pytest.mark.parametrize(("name", "inner"), [*LISTING, ("todo", "list"), ("memory", "list")])
def test_a_group_alone_shows_what_there_is(name: str, inner: str, home: Path) -> None:
    alone, whole = openclaw(name, "--json"), openclaw(name, inner, "--json")
    assert (alone.returncode, alone.stdout) == (0, whole.stdout)
    assert openclaw(name).stdout == openclaw(name, inner).stdout


@pytest.mark.parametrize("words", [("ask", "sessions"), ("--", "sessions")])
def test_a_command_s_name_can_be_asked(
    words: tuple[str, ...], home: Path, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("Talks.")
    assert openclaw(*words).stdout == "Talks.\n"
    assert "sessions" in last_words(fake_ollama.chats[0])


@pytest.mark.parametrize(
    ("words", "routed", "implicit"),
    [
        (["todo", "list"], ["todo", "list"], False),
        (["what is it?"], ["ask", "what is it?"], True),
        (["-c", "go on"], ["ask", "-c", "go on"], True),
        (["--", "todo"], ["ask", "--", "todo"], False),
        (["--help"], ["--help"], False),
        (["--show-completion"], ["--show-completion"], False),
        (["help"], ["--help"], False),
        (["help", "todo"], ["todo", "--help"], False),
        (["help", "todo", "add"], ["todo", "add", "--help"], False),
        (["todo"], ["todo", "list"], False),
        (["todo", "-h"], ["todo", "-h"], False),
        (["todo", "--all"], ["todo", "list", "--all"], False),
        ([], ["ask"], True),
    ],
)
def test_words_that_are_no_command_are_a_prompt(
    words: list[str], routed: list[str], implicit: bool
) -> None:
    assert route(words, piped=True) == (routed, implicit)


def test_nothing_at_all_on_a_terminal_begins_a_talk() -> None:
    assert route([], piped=False) == (["chat"], True)


def test_home_and_debug_may_stand_anywhere_before_two_dashes() -> None:
    words = ["todo", "--home", "x", "list", "--debug", "--", "--home"]
    assert split_global_options(words) == (
        ["--home", "x", "--debug"],
        ["todo", "list", "--", "--home"],
    )
    assert split_global_options(["hi", "--home=x"]) == (["--home=x"], ["hi"])


@pytest.mark.parametrize(
    "words",
    ["todos", "Session", "modles", "skils", "chat", "memry", "memry search anna", "undoo 2",
     "model list", "sesions shwo latest", "memry --json", "shw 2026-11-22:1"],
)  # fmt: skip
def test_words_near_a_command_are_questioned(words: str) -> None:
    with pytest.raises(UsageError, match=r"^(no command|options of)"):
        check_prompt(words.split())


@pytest.mark.parametrize(
    "words",
    [["hello"], ["why?"], ["todo list for today"], ["2+2"], [], ["how", "are", "you"],
     ["skill", "me", "in", "chess"], ["model", "a", "sonnet"], ["tood list is wrong"]],
)  # fmt: skip
def test_other_words_are_not_questioned(words: list[str]) -> None:
    check_prompt(words)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("--bogus hi", "see: openclaw --help"),
        ("ask --bogus hi", "see: openclaw ask --help"),
        ("--versoin", "did you mean --version? see: openclaw --help"),
        ("--sesion x hi", "did you mean --session? see: openclaw --help"),
        ("todo list --jsn", "did you mean --json? see: openclaw todo list --help"),
        ("-x", "see: openclaw --help"),
    ],
)
def test_an_unknown_option_names_the_near_one_and_the_help(words: str, hint: str) -> None:
    done = openclaw(*words.split())
    said = f"openclaw: No such option: {next(w for w in words.split() if w[0] == '-')}"
    assert (done.returncode, done.stderr.splitlines()) == (2, [said, f"  {hint}"])


def test_a_file_for_a_home_is_told_what_to_name(tmp_path: Path) -> None:
    (tmp_path / "notes.md").touch()
    done = openclaw("--home", str(tmp_path / "notes.md"), "todo")
    assert done.returncode == 6
    assert done.stderr.endswith("openclaw init DIR\n")


@pytest.mark.parametrize("text", ["model: [", "modle: x\n", "model: 3\nwindow: many\n"])
def test_the_hint_for_wrong_settings_works(text: str, home: Path) -> None:
    (home / "openclaw.yaml").write_text(text, encoding="utf-8")
    hint = openclaw("config").stderr.splitlines()[-1]
    assert "openclaw config path names the file" in hint
    assert openclaw("config", "path").stdout == f"{home / 'openclaw.yaml'}\n"


def test_a_wrong_value_names_the_right_ones(home: Path) -> None:
    done = openclaw("hi", "--output", "yaml")
    assert done.returncode == 2
    assert "'yaml' is not one of 'text', 'json', 'stream-json'" in done.stderr
    assert "Value error" not in done.stderr


def test_json_is_seen_in_any_spelling() -> None:
    assert wants_json(["hi", "--output", "json"]) and wants_json(["--output=stream-json"])
    assert not wants_json(["--output", "text", "json"]) and not wants_json(["--output"])


# -------- help, completion, weight


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    assert f"Usage: openclaw {name}" in capsys.readouterr().out


def test_help_names_commands_and_options_of_a_prompt(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"\n  {name} " in shown for name in COMMANDS)
    assert "--session" in shown and "--mode" in shown


def test_version_is_printed_wherever_it_is_asked_for() -> None:
    assert started("--version").stdout == openclaw("--debug", "--version").stdout


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("openclaw se", ["serve", "sessions"]),
        ("openclaw --mo", ["--model", "--mode"]),
        ("openclaw sessions ren", ["rename"]),
        ("openclaw --mode re", ["read-only"]),
        ("openclaw --home x to", ["todo"]),
    ],
)
def test_the_shell_completes(words: str, found: list[str]) -> None:
    assert completed(words) == found


def completed(words: str) -> list[str]:
    """What bash offers for the last of these words."""
    environ = {
        "_OPENCLAW_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    return openclaw(environ=environ).stdout.split()


def test_the_shell_completes_what_is_in_the_home(home: Path, fake_ollama: FakeOllama) -> None:
    (home / "memory" / "TODO.md").write_text(
        "## Home\n\n- [ ] milk ^1a2b3c4d\n- [x] rent ^5e6f7a8b\n", encoding="utf-8"
    )
    fake_ollama.say("Hello.")
    openclaw("--session", "garden", "hi")
    assert completed("openclaw sessions show g") == ["garden"]
    assert completed("openclaw --session ") == ["garden"]
    assert completed("openclaw todo done ") == ["1a2b3c4d"]
    assert completed("openclaw todo undone ") == ["5e6f7a8b"]
    assert completed("openclaw todo add x --list ") == ["Home"]
    assert "digest" in completed("openclaw --skill d")
    assert completed("openclaw --model ollama/") == ["ollama/fake:1b"]
    assert completed("openclaw config get ollama.h") == ["ollama.host"]
    (turn,) = completed("openclaw show ")
    assert openclaw("show", turn).returncode == 0
    assert not any(completed(f"openclaw {end}") for end in ("hi ", "skills new ", "todo add "))


def test_a_tab_and_no_save_leave_a_damaged_conversation_in_its_place(home: Path) -> None:
    (home / "sessions").mkdir(exist_ok=True)
    damaged = home / "sessions" / "garden.json"
    damaged.write_text('{"messages": [', encoding="utf-8")
    assert completed("openclaw sessions show g") == []
    assert openclaw("--no-save", "--session", "garden", "hi").returncode == 6
    assert damaged.exists()


def test_where_no_home_is_the_shell_completes_nothing(tmp_path: Path) -> None:
    assert not completed(f"openclaw --home {tmp_path}/x sessions show ")


def test_the_completion_script_is_shown() -> None:
    environ = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = openclaw("--show-completion", "bash", environ=environ)
    assert done.returncode == 0 and "_OPENCLAW_COMPLETE" in done.stdout


HEAVY = frozenset(
    "rich rich.markdown prompt_toolkit pydantic httpx ollama llama_index tiktoken psutil yaml ddgs "
    "dateparser acp openclaw.agent".split()
)


def loaded(*words: str) -> set[str]:
    """Which heavy packages a command imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "openclaw", *words],
        capture_output=True, stdin=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    modules = {line.rpartition(b"|")[2].strip().decode() for line in done.stderr.splitlines()}
    return modules & HEAVY


@pytest.mark.parametrize("words", [("--help",), ("todo", "list"), ("sessions", "list")])
def test_light_commands_load_no_heavy_library(words: tuple[str, ...], home: Path) -> None:
    assert loaded(*words) == set()


def test_a_piped_answer_loads_no_screen_library(home: Path, fake_ollama: FakeOllama) -> None:
    fake_ollama.say("Hello.")
    assert not loaded("Say hello.") & {"rich.markdown", "prompt_toolkit", "llama_index", "psutil"}


# -------- other commands of the door


def test_a_talk_through_a_pipe_answers_each_line(home: Path, fake_ollama: FakeOllama) -> None:
    fake_ollama.say("One.", "Two.")
    done = openclaw("chat", stdin="first\n/mode\nsecond\n")
    assert done.returncode == 0
    assert done.stdout.index("One.") < done.stdout.index("mode: ask") < done.stdout.index("Two.")
    assert len(sessions(home)) == 1
