"""The command line beside a running server: what goes through it, and `openclaw serve`."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from openclaw.server.access_tokens import Tokens, tokens_file
from openclaw.server.server_client import RunningServer
from openclaw.storage.home import Home
from tests.fakes.command import openclaw
from tests.fakes.ollama_server import Answer, FakeOllama

VARYING = re.compile(r'"(session_id|[a-z_]*_seconds|seconds)": ("[^"]*"|[\d.e-]+)')


def opened(ollama: FakeOllama) -> int:
    """How often a model was opened."""
    return [asked.path for asked in ollama.requests].count("/api/show")


def test_prompts_go_through_the_server(server: RunningServer, fake_ollama: FakeOllama) -> None:
    fake_ollama.say("One.", "Two.")
    said = openclaw("Say one.")
    assert (said.returncode, said.stdout) == (0, "One.\n")
    assert openclaw("-c", "Say two.").stdout == "Two.\n"
    assert opened(fake_ollama) == 1
    assert "Say one." in json.dumps(fake_ollama.chats[-1]["messages"])


def test_a_prompt_may_stay_in_its_process(server: RunningServer, fake_ollama: FakeOllama) -> None:
    fake_ollama.say("One.", "Two.")
    openclaw("Say one.", "--no-server")
    openclaw("Say two.", "--no-server")
    assert opened(fake_ollama) == 2


@pytest.mark.parametrize("output", ["json", "stream-json"])
def test_both_ways_print_the_same(
    server: RunningServer, fake_ollama: FakeOllama, output: str
) -> None:
    reading = Answer(calls=[("read_file", {"path": "workspace/USER.md"})])
    told = "It is about you."
    fake_ollama.say("Ready.", reading, told, reading, told)
    openclaw("Get ready.")  # the model is loaded from here on
    words = ("Sum up workspace/USER.md", "--output", output)
    here, there = (openclaw(*words, *more).stdout for more in (["--no-server"], []))
    assert opened(fake_ollama) == 2
    assert VARYING.sub("", here) == VARYING.sub("", there) != ""


def test_a_refusal_has_its_exit_code(server: RunningServer, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(Answer(calls=[("run_shell", {"command": "touch made.txt"})]), "I may not.")
    said = openclaw("Touch made.txt", "--mode", "ask")
    assert said.returncode == 7
    assert "refused" in said.stderr


def test_an_error_is_that_of_this_process(server: RunningServer) -> None:
    here, there = (openclaw("hi", "-s", "2026-01-01-000000-abcd", *more)
                   for more in (["--no-server"], []))  # fmt: skip
    assert (here.returncode, here.stderr) == (there.returncode, there.stderr)


def test_a_file_goes_along(server: RunningServer, fake_ollama: FakeOllama, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("milk and bread", "utf-8")
    fake_ollama.say("Milk and bread.")
    openclaw(f"What is in @{tmp_path}/list.txt", stdin="and eggs")
    said = json.dumps(fake_ollama.chats[-1]["messages"])
    assert "milk and bread" in said
    assert "and eggs" in said


def test_a_chat_goes_through_the_server(
    server: RunningServer, home: Path, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("One.", "Two.")
    said = openclaw("chat", stdin="Say one.\nSay two.\n/undo\n/sessions\n")
    assert "One.\n" in said.stdout
    assert "taken back" in said.stdout
    assert opened(fake_ollama) == 1
    (session,) = [json.loads(path.read_text("utf-8")) for path in home.glob("sessions/*.json")]
    assert [each["content"] for each in session["messages"]] == ["Say one.", "One."]


def test_a_chat_that_is_not_saved_stays_in_its_process(
    server: RunningServer, home: Path, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("One.", "Two.")
    openclaw("chat", "--no-save", stdin="Say one.\nSay two.\n")
    assert "Say one." in json.dumps(fake_ollama.chats[-1]["messages"])
    assert not [*home.glob("sessions/*.json")]


# -------- openclaw serve


def test_status_and_stop(server: RunningServer, home: Path) -> None:
    status: dict[str, Any] = json.loads(openclaw("serve", "--status").stdout)
    assert (status["port"], status["runs"]) == (server.port, [])
    assert openclaw("serve", "--stop").returncode == 0


def test_one_server_for_a_home(server: RunningServer) -> None:
    said = openclaw("serve", "--port", "0")
    assert (said.returncode, "runs for this home already" in said.stderr) == (2, True)


def test_a_link_logs_in_once(server: RunningServer) -> None:
    code = openclaw("serve", "--link").stdout.strip().partition("#")[2]
    token = server.call("POST", "/api/login", {"code": code})["token"]
    assert replace(server, token=token).call("GET", "/api/status")["port"] == server.port


def test_without_a_server_there_is_nothing_to_stop(home: Path) -> None:
    said = openclaw("serve", "--stop")
    assert (said.returncode, "no server runs" in said.stderr) == (1, True)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--host", "0.0.0.0"], "--host needs a token"),
        (["--token-file", "absent"], "cannot be read"),
        (["--token-file", "short"], "shorter than 32"),
        (["--token-file", "open"], "others may read"),
        (["--idle", "soon"], "is no duration"),
    ],
)
def test_what_cannot_be_served_is_told(
    home: Path, tmp_path: Path, words: list[str], reason: str
) -> None:
    for name, text, mode in (("short", "x", 0o600), ("open", "x" * 40, 0o644)):
        (tmp_path / name).write_text(text, "utf-8")
        (tmp_path / name).chmod(mode)
    said = openclaw("serve", *words, cwd=tmp_path)
    assert (said.returncode, reason in said.stderr) == (2, True)


def test_a_token_is_shown_once_and_removed(home: Path) -> None:
    none = openclaw("serve", "token")
    assert none.stdout == "" and none.stderr == "no tokens yet\n"
    token = openclaw("serve", "token", "add", "webui", "--scope", "chat").stdout.strip()
    assert Tokens(tokens_file(Home(home))).scopes_of(token) == frozenset({"chat"})
    assert token not in openclaw("serve", "token").stdout
    assert "webui" in openclaw("serve", "token", "list").stdout
    removed = openclaw("serve", "token", "remove", "webui")
    assert removed.stdout == "the token of webui does not count any more\n"
    assert Tokens(tokens_file(Home(home))).scopes_of(token) == frozenset()


def test_a_program_of_the_agent_gets_no_token(home: Path) -> None:
    said = openclaw("serve", "token", "add", "x", environ={"OPENCLAW_RUN": "1"})
    assert said.returncode == 7


@pytest.mark.parametrize("more", [[], ["--json"], ["--explain"], ["--json", "--explain"]])
def test_a_search_prints_the_same_through_the_server(
    server: RunningServer, home: Path, more: list[str]
) -> None:
    (home / "memory/MEMORY.md").write_text("# Memory\n\n- The boat costs 640 euros.\n")
    words = ("memory", "search", "price of the boat", *more)
    here, there = openclaw(*words, "--no-server"), openclaw(*words)
    assert "640" in there.stdout
    assert (here.stdout, here.stderr) == (there.stdout, there.stderr)


def test_a_search_for_nothing_fails_the_same_through_the_server(server: RunningServer) -> None:
    for words in (("lighthouse",), ("boat", "--path", "../x"), ("boat", "--since", "someday")):
        here, there = (
            openclaw("memory", "search", *words, *more) for more in (["--no-server"], [])
        )
        assert (here.returncode, here.stderr) == (there.returncode, there.stderr)


def test_a_chat_is_compacted_by_the_server(server: RunningServer, fake_ollama: FakeOllama) -> None:
    summary = '{"goal": "say one", "done": [], "decisions": [], "open": [], "identifiers": []}'
    fake_ollama.say("One.", "Two.", "Three.", summary, summary)
    said = openclaw("chat", stdin="Say one.\nSay two.\nSay three.\n/compact\n")
    assert "conversation compacted: " in said.stderr + said.stdout
    assert opened(fake_ollama) == 1
