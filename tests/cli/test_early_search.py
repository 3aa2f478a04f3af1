"""The search starts before typer is loaded, where a command line has a prompt."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from openclaw.cli.command_line import search_early
from openclaw.cli.main import run
from openclaw.storage.home import Home
from openclaw.storage.trust_store import trust_home
from tests.fakes.files import write_file
from tests.fakes.talk import new_home


@pytest.fixture
def searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A trusted home in which memory was searched before; the current folder."""
    home = Home(new_home(tmp_path / "home"))
    trust_home(home)
    write_file(home.private / "index" / "index.sqlite", "")
    monkeypatch.chdir(home.root)
    monkeypatch.delenv("OPENCLAW_HOME", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    return home


def begins(*words: str) -> bool:
    search = search_early(words)
    running = search is not None and search.running
    if search:
        search.close()
    return running


def test_a_prompt_starts_the_search(searched: Home, tmp_path: Path) -> None:
    assert begins("what is due?")
    assert begins("--model", "ollama/some", "todo")
    assert begins("ask", "todo")
    os.chdir(tmp_path)
    assert not begins("what is due?")
    assert begins("what is due?", f"--home={searched.root}")
    assert begins("--home", str(tmp_path), "--debug", "--home", str(searched.root), "what is due?")


@pytest.mark.parametrize(
    "words",
    [
        ("todo", "add", "call Anna"),
        ("help", "todo"),
        ("--help",),
        ("--version",),
        ("what is due?", "--no-memory"),
        ("what is due?", "--home", "elsewhere"),
    ],
)
def test_nothing_is_started_for_other_words(searched: Home, words: tuple[str, ...]) -> None:
    assert not begins(*words)


def test_a_server_or_a_question_of_trust_comes_first(searched: Home) -> None:
    searched.server_file.write_text("{}", "utf-8")
    assert not begins("what is due?")
    assert begins("what is due?", "--no-server")
    searched.server_file.unlink()
    (searched.root / ".openclaw" / "id").unlink()
    assert search_early(["what is due?"]) is None


def test_a_command_line_that_is_wrong_ends_the_search(searched: Home) -> None:
    search = search_early(["what is due?", "--mod"])
    assert search
    assert run(["what is due?", "--mod"], search) == 2
    assert not search.running


def test_what_reads_a_command_line_is_not_loaded_for_it() -> None:
    code = "import sys, openclaw.cli.command_line; sys.exit('typer' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
