"""`openclaw context` as a user types it, and /context and /usage in a talk."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from openclaw.cli.chat.chat import Chat
from openclaw.cli.chat.prompt_line import PipedLines
from openclaw.cli.render import PlainText
from openclaw.storage.home import Home
from tests.fakes import command
from tests.fakes.files import write_files
from tests.fakes.ollama_server import FakeOllama
from tests.fakes.skill_home import SKILL
from tests.fakes.talk import Talk, answer, call, new_home, talk


@pytest.fixture
def home(tmp_path: Path, fake_ollama: FakeOllama) -> Home:
    found = Home(new_home(tmp_path / "home"))
    settings = {"model": "ollama/fake:1b", "recall": "tool", "ollama": {"host": fake_ollama.url}}
    found.settings.write_text(json.dumps(settings), "utf-8")
    return found


def openclaw(*words: str, stdin: bytes = b"") -> tuple[int, bytes, str]:
    """Exit code, standard output and standard error of a command."""
    done = command.openclaw(*words, stdin=stdin)
    return done.returncode, done.stdout.encode(), done.stderr


def newest(raw: bytes) -> str:
    """The content of the newest message of a request."""
    body: dict[str, Any] = json.loads(raw)
    return str(body["messages"][-1]["content"])


def test_what_is_named_and_what_is_piped_in_go_along_as_when_asking(
    home: Home, fake_ollama: FakeOllama
) -> None:
    (home.workspace / "soup.md").write_text("Leeks, potatoes.\n", "utf-8")
    words = ("What fits? @workspace/soup.md",)
    code, raw, err = openclaw("context", "--raw", *words, stdin=b"The shop has leeks.\n")
    assert (code, err) == (0, "")
    assert "Leeks, potatoes." in newest(raw) and "The shop has leeks." in newest(raw)
    assert not fake_ollama.chats


def test_without_a_prompt_standard_input_is_left_alone(home: Home) -> None:
    raw = openclaw("context", "--raw", stdin=b"What fits?\n")[1]
    assert "What fits?" not in newest(raw)


def test_a_skill_that_is_asked_for_is_followed(home: Home) -> None:
    write_files(home.root, {"skills/boat/SKILL.md": SKILL.format("boat")})
    raw = openclaw("context", "--raw", "--skill", "boat")[1]
    assert "# boat" in newest(raw) and newest(raw).endswith("Do what the skill boat says.")


def test_the_latest_conversation_is_gone_on_with(home: Home, fake_ollama: FakeOllama) -> None:
    fake_ollama.say("Claw, at your service.")
    assert openclaw("Who are you?", "--quiet")[0] == 0
    assert b"Claw, at your service." in openclaw("context", "--raw", "-c", "And?")[1]
    assert b"Claw, at your service." not in openclaw("context", "--raw", "And?")[1]


def test_a_name_that_is_not_there_yet_is_a_new_conversation(home: Home) -> None:
    assert openclaw("context", "--session", "trip", "Hello.")[0] == 0
    assert not list(home.sessions.glob("trip*"))


def test_the_picture_tells_parts_and_files(home: Home) -> None:
    code, out, _ = openclaw("context", "Hello.")
    assert code == 0
    told = out.decode()
    assert "workspace/SOUL.md" in told and "for the reply" in told
    assert told.startswith("ollama/fake:1b, protocol json, window 8,192 tokens\n")


def test_json_keeps_its_shape(home: Home) -> None:
    shape = json.loads(openclaw("context", "--json", "Hello.")[1])
    assert {"window", "used", "parts"} <= set(shape)
    assert all(set(p) == {"name", "path", "tokens", "bytes", "cut"} for p in shape["parts"])
    assert shape["used"] == sum(part["tokens"] for part in shape["parts"])
    assert shape["used"] + shape["free"] + shape["reply"] == shape["window"]


def test_parts_of_the_message_are_told_apart(home: Home) -> None:
    (home.workspace / "soup.md").write_text("Leeks, potatoes.\n", "utf-8")
    shape = json.loads(openclaw("context", "--json", "What fits? @workspace/soup.md")[1])
    names = [part["name"] for part in shape["parts"]]
    assert names[-3:] == ["tail", "attached", "message"]


def test_tools_that_nobody_could_allow_are_not_offered_and_the_mode_decides(home: Home) -> None:
    seen = [openclaw("context", "--raw", "Hello.", *more)[1] for more in ([], ["--mode", "full"])]
    assert [b'"const":"web_search"' in raw for raw in seen] == [False, True]


@pytest.mark.parametrize("words", [("--raw", "--json"), ("--cache", "--diff"), ("--raw", "--diff")])
def test_what_cannot_be_shown_together_is_refused(home: Home, words: tuple[str, ...]) -> None:
    code, out, err = openclaw("context", *words)
    assert (code, out) == (2, b"") and "exclude each other" in err


def test_the_difference_is_shown_for_the_latest_conversation(
    home: Home, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("Claw.")
    openclaw("Who are you?", "--quiet")
    with (home.workspace / "SOUL.md").open("a", encoding="utf-8") as soul:
        soul.write("Be brief.\n")
    code, out, _ = openclaw("context", "--diff")
    assert code == 0 and b"+Be brief." in out
    assert json.loads(openclaw("context", "--diff", "--json")[1])["changes"][0]["name"] == "soul"


# -------- in a talk


def typed(it: Talk, *lines: str) -> str:
    """What is shown when these lines are typed into a talk."""
    out = io.StringIO()
    chat = Chat(
        it.app,
        it.session,
        PipedLines(io.StringIO("".join(f"{line}\n" for line in lines))),
        PlainText(out, out, tools=True, notes=True, dim=False),
        lambda line: print(line, file=out),
    )
    chat.run()
    return out.getvalue()


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
