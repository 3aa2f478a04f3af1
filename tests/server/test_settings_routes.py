"""Settings, models, policy and history over HTTP."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.fakes.ollama_server import Answer, FakeOllama


def value_of(http: httpx.Client, key: str) -> object:
    return next(each["value"] for each in http.get("/api/config").json() if each["key"] == key)


def test_settings_are_shown_and_changed_as_a_step_of_the_history(
    http: httpx.Client, home: Path
) -> None:
    changed = http.patch("/api/config", json={"temperature": 0.5, "skills.off": ["digest"]})
    assert changed.json() == {"temperature": 0.5, "skills.off": ["digest"]}
    assert value_of(http, "temperature") == 0.5
    http.post("/api/undo", json={})
    assert value_of(http, "temperature") == 0.0


@pytest.mark.parametrize("key", ["mode", "hooks", "mcp", "grants", "shell.network", "ollama.host"])
def test_what_belongs_to_the_terminal_is_not_set(http: httpx.Client, home: Path, key: str) -> None:
    before = (home / "openclaw.yaml").read_bytes()
    refused = http.patch("/api/config", json={"temperature": 1, key: "full"})
    assert (refused.status_code, refused.json()["hint"]) == (
        403,
        f"openclaw config set {key} VALUE",
    )
    assert (home / "openclaw.yaml").read_bytes() == before


@pytest.mark.parametrize("key", ["func", "call", "self", "nothing"])
def test_a_key_of_no_setting_is_refused_whatever_its_name(http: httpx.Client, key: str) -> None:
    refused = http.patch("/api/config", json={key: 1})
    assert (refused.status_code, refused.json()["error"]) == (400, f"unknown key '{key}'")


def test_a_wrong_value_is_refused_with_what_was_expected(http: httpx.Client) -> None:
    refused = http.patch("/api/config", json={"temperature": "hot"})
    assert (refused.status_code, "expected a number" in refused.json()["error"]) == (400, True)
    assert http.patch("/api/config", json={"temprature": 1}).status_code == 400


@pytest.mark.parametrize("wrong", [{"model": "qwen"}, {"fallbacks": ["x"]}, {"window": "wide"}])
def test_one_wrong_value_keeps_all_as_they_were(
    http: httpx.Client, home: Path, wrong: dict[str, object]
) -> None:
    before = (home / "openclaw.yaml").read_bytes()
    refused = http.patch("/api/config", json={"temperature": 1, **wrong})
    assert refused.status_code == 400
    assert (home / "openclaw.yaml").read_bytes() == before


def test_the_mode_of_recall_is_switched(http: httpx.Client) -> None:
    assert http.get("/api/config/rag-mode").json() == {"rag_mode": True, "recall": "auto"}
    switched = http.put("/api/config/rag-mode", json={"enabled": False}).json()
    assert switched == {"rag_mode": False, "recall": "tool"}
    assert value_of(http, "recall") == "tool"


def test_models_and_policy_are_those_of_the_command_line(http: httpx.Client) -> None:
    models = http.get("/api/models").json()
    assert models["model"] == "ollama/fake:1b"
    assert "ollama/fake:1b" in [each["name"] for each in models["models"]]
    assert set(http.get("/api/policy").json()) == {"mode", "modes", "rules", "sandbox", "grants"}


def test_the_next_request_is_shown_part_by_part(http: httpx.Client) -> None:
    parts = http.get("/api/context", params={"message": "Say one."}).json()["parts"]
    assert {"soul", "message"} <= {part["name"] for part in parts}


def test_a_turn_is_told_with_its_files_and_taken_back(
    http: httpx.Client, fake_ollama: FakeOllama, home: Path
) -> None:
    write = {"path": "workspace/a.md", "content": "one\n"}
    fake_ollama.say(Answer(calls=[("write_file", write)]), "Written.")
    http.post("/api/chat", json={"message": "Write one into workspace/a.md"})
    [turn, *_] = http.get("/api/log").json()
    assert "workspace/a.md" in [each["path"] for each in turn["files"]]
    shown = http.get(f"/api/log/{turn['id']}").json()
    assert any("+one" in each["diff"] for each in shown["files"])
    assert http.get("/api/log/nothing").status_code == 404
    assert [each["tool"] for each in http.get("/api/actions").json()] == ["write_file"]
    assert http.post("/api/undo", json={}).json()["of"][0]["id"] == turn["id"]
    assert not (home / "workspace/a.md").exists()
    http.post("/api/redo", json={})
    assert (home / "workspace/a.md").read_text() == "one\n"


def test_an_undo_of_lines_that_were_changed_since_tells_both_sides(
    http: httpx.Client, fake_ollama: FakeOllama, home: Path
) -> None:
    write = {"path": "workspace/a.md", "content": "one\n"}
    fake_ollama.say(Answer(calls=[("write_file", write)]), "Written.")
    http.post("/api/chat", json={"message": "Write one into workspace/a.md"})
    (home / "workspace/a.md").write_text("mine\n")
    refused = http.post("/api/undo", json={"scope": "files"})
    assert refused.status_code == 409
    assert refused.json()["conflicts"][0]["path"] == "workspace/a.md"
    assert (home / "workspace/a.md").read_text() == "mine\n"
    assert http.post("/api/undo", json={"scope": "none"}).status_code == 400
