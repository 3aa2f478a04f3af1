"""`openclaw config`, as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from openclaw.cli.main import run
from openclaw.storage.home import Home
from openclaw.storage.trust_store import trust_home


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "home" / "workspace").mkdir(parents=True)
    trust_home(Home(tmp_path / "home"))
    return tmp_path / "home"


def test_all_keys_are_shown_with_value_and_origin(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "openclaw.yaml").write_text("\nwindow: 4096\n", encoding="utf-8")
    for words in (["config"], ["config", "show"]):
        assert run(words) == 0
        rows = [line.split() for line in capsys.readouterr().out.splitlines()]
        assert rows[0] == ["KEY", "VALUE", "FROM"]
        assert ["window", "4096", "openclaw.yaml:2"] in rows
        assert ["ollama.host", '""', "default"] in rows
    assert run(["config", "--json"]) == 0
    found = {item["key"]: item for item in json.loads(capsys.readouterr().out)}
    assert found["window"] == {"key": "window", "value": 4096, "origin": "openclaw.yaml:2"}
    assert found["fallbacks"]["value"] == []


def test_a_value_is_set_and_read_back(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "set", "model", "ollama/qwen3:4b"]) == 0
    assert capsys.readouterr().out == "model: ollama/qwen3:4b (openclaw.yaml:1)\n"
    assert run(["config", "get", "model"]) == 0
    assert capsys.readouterr().out == "ollama/qwen3:4b\n"
    assert run(["config", "set", "keep_alive", "-1s"]) == 0
    capsys.readouterr()
    assert run(["config", "get", "keep_alive", "--json"]) == 0
    assert capsys.readouterr().out == '"-1s"\n'
    assert run(["config", "get", "think"]) == 0
    assert capsys.readouterr().out == "null\n"


def test_null_is_no_text_and_true_is_quoted_as_one(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for typed, kept in (("null", "auto"), ("true", '"true"'), ("5", '"5"')):
        assert run(["config", "set", "model", typed]) == 0
        assert capsys.readouterr().out == f"model: {kept} (openclaw.yaml:1)\n"
        assert (root / "openclaw.yaml").read_text("utf-8") == f"model: {kept}\n"


def test_the_path_is_printed_even_of_a_broken_file(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "openclaw.yaml").write_text("a: [", encoding="utf-8")
    assert run(["config", "path"]) == 0
    assert capsys.readouterr().out == f"{root / 'openclaw.yaml'}\n"
    assert run(["config"]) == 2
    assert "openclaw.yaml line 1: not YAML" in capsys.readouterr().err


def test_wrong_words_are_wrong_usage(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "get", "windw"]) == 2
    assert "did you mean 'window'?" in capsys.readouterr().err
    assert run(["config", "set", "window", "big"]) == 2
    assert "expected a whole number of at least 1024, not 'big'" in capsys.readouterr().err
    assert not (root / "openclaw.yaml").exists()
