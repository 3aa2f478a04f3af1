"""`openclaw models` as a user types it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from openclaw.models import catalog
from tests.fakes.gguf import chat_model
from tests.fakes.ollama_server import FakeModel, FakeOllama


def _models(*words: str, home: Path | None = None) -> subprocess.CompletedProcess[str]:
    where = ["--home", str(home)] if home else []
    return subprocess.run(
        [sys.executable, "-m", "openclaw", *where, "models", *words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "talks"
    (home / "workspace").mkdir(parents=True)
    (home / "workspace" / "SOUL.md").write_text("You are Claw.\n", encoding="utf-8")
    (home / "openclaw.yaml").write_text("# mine\nwindow: 4096\n", encoding="utf-8")
    return home


@pytest.fixture
def own_model() -> Path:
    path = catalog.models_folder() / "Little-Q4.gguf"
    path.parent.mkdir(parents=True)
    path.write_bytes(chat_model())
    return path


def test_list_shows_the_catalogue_own_files_and_ollama(
    own_model: Path, fake_ollama: FakeOllama
) -> None:
    done = _models("list")
    assert done.returncode == 0, done.stderr
    assert "embedded/qwen2.5-coder-1.5b-instruct" in done.stdout
    assert "1.12 GB" in done.stdout
    assert "embedded/little-q4" in done.stdout
    assert "ollama/fake:1b" in done.stdout


def test_list_as_json_tells_what_is_here_and_does_without_ollama(own_model: Path) -> None:
    done = _models("list", "--json")
    assert done.returncode == 0
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert rows["embedded/little-q4"]["path"] == str(own_model)
    assert rows["embedded/qwen2.5-coder-1.5b-instruct"]["installed"] is False
    assert not [name for name in rows if name.startswith("ollama/")]


def test_use_writes_the_model_and_keeps_the_other_lines(home: Path, own_model: Path) -> None:
    done = _models("use", "little-q4", home=home)
    assert done.returncode == 0, done.stderr
    text = (home / "openclaw.yaml").read_text(encoding="utf-8")
    assert "embedded/little-q4" in text
    assert text.startswith("# mine\nwindow: 4096\n")


@pytest.mark.parametrize(
    ("said", "written"),
    [("qwen3:4b", "ollama/qwen3:4b"), ("openai/gpt-x", "openai/gpt-x"), ("auto", "auto")],
)
def test_use_understands_the_names_of_other_providers(home: Path, said: str, written: str) -> None:
    assert _models("use", said, home=home).stdout == f"model: {written}\n"


def test_use_of_a_path_writes_the_whole_path(home: Path, own_model: Path) -> None:
    moved = own_model.rename(home / "Own.gguf")
    assert _models("use", str(moved), home=home).stdout == f"model: {moved}\n"


def test_use_of_a_model_that_is_not_here_names_the_command(home: Path) -> None:
    done = _models("use", "qwen2.5-coder-0.5b-instruct", home=home)
    assert done.returncode == 5
    assert "openclaw models pull qwen2.5-coder-0.5b-instruct" in done.stderr
    assert "model:" not in (home / "openclaw.yaml").read_text(encoding="utf-8")


def test_pull_of_an_unknown_name_lists_the_known_ones_and_needs_no_home() -> None:
    done = _models("pull", "gpt-9")
    assert done.returncode == 2
    assert "smollm2-135m-instruct" in done.stderr


def test_pull_if_needed_does_nothing_when_a_file_is_here(own_model: Path) -> None:
    done = _models("pull", "--if-needed")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "nothing to fetch: embedded/little-q4 is here\n"
    assert [path.name for path in own_model.parent.iterdir()] == [own_model.name]


def test_pull_if_needed_does_nothing_when_ollama_has_a_chat_model(fake_ollama: FakeOllama) -> None:
    done = _models("pull", "--if-needed")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "nothing to fetch: ollama/fake:1b is here\n"
    assert "/api/pull" not in fake_ollama.paths


@pytest.mark.parametrize("names", [[], ["nomic-embed-text:latest"]])
def test_pull_if_needed_fetches_when_there_is_nothing_to_talk_to(
    names: list[str], fake_ollama: FakeOllama
) -> None:
    fake_ollama.models[:] = [FakeModel(name) for name in names]
    catalog.models_folder().write_text("a file where the folder should be", encoding="utf-8")
    done = _models("pull", "--if-needed")
    assert done.returncode == 1
    assert "nothing to fetch" not in done.stderr
    assert str(catalog.models_folder()) in done.stderr


def test_pull_if_needed_of_a_name_is_refused() -> None:
    done = _models("pull", "smollm2-135m-instruct", "--if-needed")
    assert done.returncode == 2
    assert "openclaw models pull smollm2-135m-instruct" in done.stderr


def test_ollama_names_are_pulled_by_ollama(fake_ollama: FakeOllama) -> None:
    fake_ollama.pullable.append(FakeModel("new:1b"))
    done = _models("pull", "ollama/new:1b")
    assert done.returncode == 0, done.stderr
    assert "ollama/new:1b is ready" in done.stdout
    assert "100 %" in done.stderr


def test_pull_by_an_ollama_that_is_away_says_so() -> None:
    done = _models("pull", "new:1b")
    assert done.returncode == 4
    assert "ollama serve" in done.stderr
