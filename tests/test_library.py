"""openclaw in another program, by its three documented calls alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from openclaw.errors import OpenclawError
from openclaw.library import open_home
from tests.fakes.git_home import copy_home
from tests.fakes.ollama_server import Answer, FakeOllama

WRITE = Answer(calls=[("write_file", {"path": "workspace/a.md", "content": "one\n"})])


@pytest.fixture
def folder(tmp_path: Path, fake_ollama: FakeOllama) -> Path:
    settings = "model: ollama/fake:1b\nprotocol: native\nembedding: none\n"
    return copy_home(tmp_path / "home", settings)


def test_a_program_asks_goes_on_and_searches(folder: Path, fake_ollama: FakeOllama) -> None:
    (folder / "memory/MEMORY.md").write_text("# Memory\n\n- The boat is called Tern.\n")
    fake_ollama.say(WRITE, "I wrote it down.", Answer(["Two", "."]))
    with open_home(folder) as home:
        first = home.ask("Write one into workspace/a.md")
        assert (first.text, first.stop) == ("I wrote it down.", "answer")
        assert (first.changed, first.model) == (("workspace/a.md",), "ollama/fake:1b")
        pieces: list[str] = []
        second = home.ask("And then?", first.session, pieces.append)
        assert (second.session, "".join(pieces)) == (first.session, "Two.")
        [found] = home.search("boat")
        assert (found.path, found.start_line) == ("memory/MEMORY.md", 3)
        assert "Tern" in found.text


def test_nobody_is_asked_for_a_yes(folder: Path, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(WRITE, "I may not.")
    with open_home(str(folder), mode="ask") as home:
        answer = home.ask("Write one into workspace/a.md")
    assert answer.refused
    assert not (folder / "workspace/a.md").exists()


def test_what_goes_wrong_is_one_kind_of_error(
    folder: Path, tmp_path: Path, fake_ollama: FakeOllama
) -> None:
    with pytest.raises(OpenclawError, match="no openclaw home"):
        open_home(tmp_path / "nothing")
    with open_home(folder, model="ollama/other:1b") as home, pytest.raises(OpenclawError):
        home.ask("Hello.")
    with open_home(folder) as home, pytest.raises(OpenclawError):
        home.search("boat", since="some day")
