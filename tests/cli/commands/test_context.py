"""`openclaw context` as a user types it, and /context and /usage in a talk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from openclaw.storage.home import Home
from tests.fakes.command import CommandLine, openclaw
from tests.fakes.files import write_files
from tests.fakes.ollama_server import FakeOllama
from tests.fakes.skill_home import SKILL
from tests.fakes.talk import Talk, answer, call, new_home, talk
from tests.fakes.typed_chat import type_into

claw = CommandLine("context")


@pytest.fixture
def home(tmp_path: Path, fake_ollama: FakeOllama) -> Home:
    found = Home(new_home(tmp_path / "home"))
    settings = {"model": "ollama/fake:1b", "recall": "tool", "ollama": {"host": fake_ollama.url}}
    found.settings.write_text(json.dumps(settings), "utf-8")
    return found


def newest(raw: str) -> str:
    """The content of the newest message of a request."""
    body: dict[str, Any] = json.loads(raw)
    return str(body["messages"][-1]["content"])


def test_what_is_named_and_what_is_piped_in_go_along_as_when_asking(
    home: Home, fake_ollama: FakeOllama
) -> None:
    (home.workspace / "soup.md").write_text("Leeks, potatoes.\n", "utf-8")
    words = ("What fits? @workspace/soup.md",)
    raw = claw("--raw", *words, stdin=b"The shop has leeks.\n")
    assert claw.err == ""
    assert "Leeks, potatoes." in newest(raw) and "The shop has leeks." in newest(raw)
    assert not fake_ollama.chats


def test_without_a_prompt_standard_input_is_left_alone(home: Home) -> None:
    raw = claw("--raw", stdin=b"What fits?\n")
    assert "What fits?" not in newest(raw)


def test_a_skill_that_is_asked_for_is_followed(home: Home) -> None:
    write_files(home.root, {"skills/boat/SKILL.md": SKILL.format("boat")})
    raw = claw("--raw", "--skill", "boat")
    assert "# boat" in newest(raw) and newest(raw).endswith("Do what the skill boat says.")


def test_the_latest_conversation_is_gone_on_with(home: Home, fake_ollama: FakeOllama) -> None:
    fake_ollama.say("Claw, at your service.")
    openclaw("Who are you?", "--quiet")
    assert "Claw, at your service." in claw("--raw", "-c", "And?")
    assert "Claw, at your service." not in claw("--raw", "And?")


def test_a_name_that_is_not_there_yet_is_a_new_conversation(home: Home) -> None:
    claw("--session", "trip", "Hello.")
    assert not list(home.sessions.glob("trip*"))


def test_the_picture_tells_parts_and_files(home: Home) -> None:
    told = claw("Hello.")
    assert "workspace/SOUL.md" in told and "for the reply" in told
    assert told.startswith("ollama/fake:1b, protocol json, window 8,192 tokens\n")


def test_json_keeps_its_shape(home: Home) -> None:
    shape = claw.json("Hello.")
    assert {"window", "used", "parts"} <= set(shape)
    assert all(set(p) == {"name", "path", "tokens", "bytes", "cut"} for p in shape["parts"])
    assert shape["used"] == sum(part["tokens"] for part in shape["parts"])
    assert shape["used"] + shape["free"] + shape["reply"] == shape["window"]


def test_parts_of_the_message_are_told_apart(home: Home) -> None:
    (home.workspace / "soup.md").write_text("Leeks, potatoes.\n", "utf-8")
    shape = claw.json("What fits? @workspace/soup.md")
    names = [part["name"] for part in shape["parts"]]
    assert names[-3:] == ["tail", "attached", "message"]


@pytest.mark.parametrize("words", [("--raw", "--json"), ("--cache", "--diff"), ("--raw", "--diff")])
def test_what_cannot_be_shown_together_is_refused(home: Home, words: tuple[str, ...]) -> None:
    assert claw(*words, code=2) == "" and "exclude each other" in claw.err


def test_the_difference_is_shown_for_the_latest_conversation(
    home: Home, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("Claw.")
    openclaw("Who are you?", "--quiet")
    with (home.workspace / "SOUL.md").open("a", encoding="utf-8") as soul:
        soul.write("Be brief.\n")
    assert "+Be brief." in claw("--diff")
    assert claw.json("--diff")["changes"][0]["name"] == "soul"


# -------- in a talk


def typed(it: Talk, *lines: str) -> str:
    """What is shown when these lines are typed into a talk."""
    return type_into(it.app, it.session, *lines)[1]


def test_a_talk_shows_the_window_with_the_words_that_come_next(tmp_path: Path) -> None:
    it = talk(tmp_path / "home")
    short, long = typed(it, "/context"), typed(it, f"/context {'word ' * 300}")
    assert "workspace/SOUL.md" in short and "for the reply" in short
    assert tokens(long, "message") - 300 in (0, 1) and not it.requests


def tokens(shown: str, part: str) -> int:
    line = next(line for line in shown.splitlines() if f" {part} " in line)
    return int(line.split(part)[1].split()[0].replace(",", ""))


def test_a_talk_shows_what_was_read_before_and_what_has_changed(tmp_path: Path) -> None:
    it = talk(tmp_path / "home")
    it.say("Look.", call("list_files"), answer("Nothing."))
    assert "2 calls, " in typed(it, "/context --cache")
    assert "nothing has changed" in typed(it, "/context --diff")
    assert "what is '--nonsense'?" in typed(it, "/context --nonsense")


def test_a_talk_shows_what_its_turns_cost(tmp_path: Path) -> None:
    it = talk(tmp_path / "home")
    it.say("Look.", call("list_files"), answer("Nothing."))
    shown = typed(it, "/usage")
    assert f"{it.session.id}: scripted/model" in shown and "in all" in shown
    assert "1 turn in 1 conversation" in typed(it, "/usage --all")
    assert "what is 'more'?" in typed(it, "/usage more")
