"""`openclaw config`, as a user types it."""

from __future__ import annotations

from pathlib import Path

import pytest

from openclaw.storage.home import Home
from openclaw.storage.trust_store import trust_home
from tests.fakes.command import CommandLine
from tests.fakes.files import write_file
from tests.fakes.ollama_server import FakeModel, FakeOllama

claw = CommandLine()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "home" / "workspace").mkdir(parents=True)
    trust_home(Home(tmp_path / "home"))
    return tmp_path / "home"


def test_all_keys_are_shown_with_value_and_origin(root: Path) -> None:
    (root / "openclaw.yaml").write_text("\nwindow: 4096\n", encoding="utf-8")
    for words in (["config"], ["config", "show"]):
        rows = [line.split() for line in claw(*words).splitlines()]
        assert rows[0] == ["KEY", "VALUE", "FROM"]
        assert ["window", "4096", "openclaw.yaml:2"] in rows
        assert ["ollama.host", '""', "default"] in rows
    found = {item["key"]: item for item in claw.json("config")}
    assert found["window"] == {"key": "window", "value": 4096, "origin": "openclaw.yaml:2"}
    assert found["fallbacks"]["value"] == []


def test_a_value_is_set_and_read_back(root: Path) -> None:
    said = claw("config", "set", "model", "ollama/qwen3:4b")
    assert said == "model: ollama/qwen3:4b (openclaw.yaml:1)\n"
    assert claw("config", "get", "model") == "ollama/qwen3:4b\n"
    claw("config", "set", "keep_alive", "-1s")
    assert claw("config", "get", "keep_alive", "--json") == '"-1s"\n'
    assert claw("config", "get", "think") == "null\n"


def test_null_is_no_text_and_true_is_quoted_as_one(root: Path) -> None:
    for typed, kept in (("null", "auto"), ("true", '"true"'), ("5", '"5"')):
        assert claw("config", "set", "language", typed) == f"language: {kept} (openclaw.yaml:1)\n"
        assert (root / "openclaw.yaml").read_text("utf-8") == f"language: {kept}\n"


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("model", "qwen3:4b", "for example ollama/qwen3:4b"),
        ("fallbacks", "auto, foo/bar", "not a model: 'foo/bar'"),
    ],
)
def test_a_name_that_means_no_model_is_not_written(
    root: Path, key: str, value: str, told: str
) -> None:
    assert told in claw.error("config", "set", key, value, code=2)
    assert not (root / "openclaw.yaml").exists()


def test_the_path_is_printed_even_of_a_broken_file(root: Path) -> None:
    (root / "openclaw.yaml").write_text("a: [", encoding="utf-8")
    assert claw("config", "path") == f"{root / 'openclaw.yaml'}\n"
    assert "openclaw.yaml line 1: not YAML" in claw.error("config", code=2)


def test_wrong_words_are_wrong_usage(root: Path) -> None:
    assert "did you mean 'window'?" in claw.error("config", "get", "windw", code=2)
    assert "expected a whole number of at least 1024, not 'big'" in claw.error(
        "config", "set", "window", "big", code=2
    )
    assert not (root / "openclaw.yaml").exists()


def test_another_embedder_is_set_with_what_it_costs(root: Path, fake_ollama: FakeOllama) -> None:
    fake_ollama.models += [
        FakeModel("old:latest", dimensions=8),
        FakeModel("new:latest", dimensions=4),
    ]
    write_file(root / "memory/2026-05-09.md", "# 2026-05-09\n\n- The boiler leaks.\n- Dentist.\n")
    claw("config", "set", "embedding", "ollama/old")
    assert claw.err == ""  # nothing was searched yet
    claw("memory", "search", "boiler")
    sent = len(fake_ollama.embeds)
    assert claw("config", "set", "embedding", "ollama/new").startswith("embedding: ollama/new (")
    assert "0 of 3 passages have vectors" in claw.err
    assert "model is now ollama/new:latest@abc, before it was ollama/old:latest@" in claw.err
    assert "(back: openclaw config set embedding ollama/old:latest)" in claw.err
    assert len(fake_ollama.embeds) == sent + 2  # a text to load it, and a few to time it
    claw("config", "set", "embedding", "ollama/old:latest")
    assert claw.err == ""
    claw("config", "set", "embedding", "ollama/none")
    assert "Ollama has no model none, search goes by words only" in claw.err
