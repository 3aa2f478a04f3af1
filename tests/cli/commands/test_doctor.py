"""The doctor finds each fault and says what to do about it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from openclaw.cli.commands.doctor import check_lines, check_schema
from openclaw.config import load_settings
from openclaw.errors import Damaged
from openclaw.maintenance.doctor.checkup import examine
from openclaw.maintenance.doctor.finding import Check
from openclaw.models import catalog
from openclaw.storage import program
from openclaw.storage.home import Home
from openclaw.storage.new_home import create_home
from tests.cli.test_render import Terminal
from tests.fakes.command import CommandLine
from tests.fakes.git_home import copy_home
from tests.fakes.ollama_server import Answer, FakeModel, FakeOllama

claw = CommandLine()


@pytest.fixture
def home(tmp_path: Path, fake_ollama: FakeOllama) -> Home:
    return Home(copy_home(tmp_path / "home", "model: ollama/fake:1b\n"))


def checks(home: Home, model: str | None = None) -> dict[str, Check]:
    return {check.name: check for check in examine(lambda: home, check_schema, model)}


def test_a_sound_home_has_no_fault(home: Home) -> None:
    found = checks(home)
    assert {check.state for check in found.values()} <= {"ok", "warning"}
    assert found["home"].found == str(home.root)
    assert found["index"].found == "not built yet"
    assert found["tokenizer"].state == "ok"


def test_the_model_s_window_and_abilities_are_told(home: Home) -> None:
    window = load_settings(home).window
    assert checks(home)["model"].found.startswith(
        f"ollama/fake:1b: window {window:,} tokens, tools"
    )


@pytest.mark.parametrize(
    ("reply", "state", "words"),
    [
        ('{"code":"k7-q2"}', "ok", "are held to a schema"),
        ("Hello!", "warning", "are not held to a schema"),
        (Answer(status=500, error="runner died"), "warning", "runner died"),
    ],
)
def test_whether_a_model_that_can_think_is_held_to_a_schema_is_tried(
    home: Home, fake_ollama: FakeOllama, reply: str | Answer, state: str, words: str
) -> None:
    fake_ollama.models[:] = [FakeModel(capabilities=("completion", "thinking"))]
    fake_ollama.say(reply)
    check = checks(home)["schema"]
    assert check.state == state and words in check.found
    [asked] = fake_ollama.chats
    assert (asked["think"], asked["options"]["num_ctx"]) == (False, load_settings(home).window)


def test_a_model_that_cannot_think_is_not_asked(home: Home, fake_ollama: FakeOllama) -> None:
    assert "schema" not in checks(home)
    assert not fake_ollama.chats


def test_the_size_of_a_model_has_one_digit(home: Home, fake_ollama: FakeOllama) -> None:
    for size, told in (("1777.09M", ", 1.8 billion"), ("22M", ", 0.02 billion")):
        fake_ollama.models[:] = [FakeModel(parameter_size=size)]
        assert told in checks(home)["model"].found


def test_a_missing_soul_is_a_warning_that_names_init(home: Home) -> None:
    (home.workspace / "SOUL.md").unlink()
    check = checks(home)["SOUL.md"]
    assert (check.state, "openclaw init" in check.advice) == ("warning", True)


def test_wrong_settings_are_a_fault_with_their_line(home: Home) -> None:
    home.settings.write_text("modell: auto\n", encoding="utf-8")
    found = checks(home)
    assert found["settings"].state == "fault" and "modell" in found["settings"].found
    assert "model" not in found and "git" in found


def test_settings_that_can_never_take_effect_are_warnings(home: Home) -> None:
    with home.settings.open("a", encoding="utf-8") as file:
        file.write("grants: [nonsense, 2026-11-21 host a.test, 2026-11-21 tool run_shell]\n")
        file.write('web: {allow_hosts: ["http://foo/", "foo/bar", "a b", "localhost:8080"]}\n')
        file.write("mcp: {a: {}, b: {}, c: {url: nowhere}, d: {command: x, args: 1}}\n")
    found = checks(home)
    states = {found[name].state for name in ("grants", "web.allow_hosts", "mcp")}
    assert states == {"warning"}
    assert "'nonsense'" in found["grants"].found and "kind command" in found["grants"].found
    assert "a.test" not in found["grants"].found
    assert found["web.allow_hosts"].found.endswith(": http://foo/; foo/bar; a b")
    assert "MCP server a" in found["mcp"].found and "and 1 more" in found["mcp"].found


def test_settings_that_do_take_effect_are_ok(home: Home) -> None:
    with home.settings.open("a", encoding="utf-8") as file:
        file.write("grants: [2026-11-21 host a.test, 2026-11-21 tool run_python]\n")
        file.write('web: {allow_hosts: ["localhost:8080", nas.lan, "[::1]:8000", 10.0.0.2]}\n')
        file.write("mcp: {a: {command: x, disabled: true}}\n")
    found = checks(home)
    for name in ("grants", "web.allow_hosts", "mcp"):
        assert found[name].state == "ok", found[name]


@pytest.mark.slow
def test_a_server_that_is_away_is_a_fault_that_leaves_with_4(home: Home, closed_port: int) -> None:
    home.settings.write_text(
        f"model: ollama/fake:1b\nollama:\n  host: 127.0.0.1:{closed_port}\n", encoding="utf-8"
    )
    check = checks(home)["model"]
    assert (check.state, check.exit_code) == ("fault", 4)
    assert check.advice


def test_a_missing_model_leaves_with_5(home: Home) -> None:
    check = checks(home, "ollama/none:1b")["model"]
    assert (check.state, check.exit_code) == ("fault", 5)
    assert "pull" in check.advice


def test_without_an_embedding_model_the_command_that_gets_one_is_named(home: Home) -> None:
    check = checks(home)["embedding"]
    assert (check.state, check.exit_code) == ("warning", 0)
    assert "words only" in check.found
    assert check.advice == "openclaw models pull all-minilm-l6-v2"


def test_a_damaged_embedding_model_is_found_by_trying_it(home: Home) -> None:
    entry = catalog.embedding_entry()
    for file in entry.files:
        path = program.models_folder() / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as content:
            content.truncate(file.size)
    check = checks(home)["embedding"]
    assert check.state == "warning" and "damaged" in check.found
    assert check.advice == "openclaw models pull all-minilm-l6-v2"


def test_an_embedding_model_of_ollama_is_tried_and_told(
    home: Home, fake_ollama: FakeOllama
) -> None:
    fake_ollama.models.append(FakeModel("bge-m3:latest", digest="0" * 64, dimensions=24))
    check = checks(home)["embedding"]
    assert check.state == "ok"
    assert check.found == "ollama/bge-m3:latest@000000000000, 24 dimensions"


@pytest.mark.parametrize(
    ("setting", "state", "advice"),
    [("none", "ok", ""), ("ollama/bge-m3", "warning", "ollama pull bge-m3"), ("e5", "fault", "")],
)
def test_the_embedding_that_is_set_is_the_one_that_is_looked_at(
    home: Home, setting: str, state: str, advice: str
) -> None:
    text = home.settings.read_text(encoding="utf-8")
    home.settings.write_text(f"{text}embedding: {setting}\n", encoding="utf-8")
    check = checks(home)["embedding"]
    assert check.state == state
    assert advice in check.advice


def test_no_home_leaves_with_6_and_checks_the_rest() -> None:
    def find() -> Home:
        raise Damaged("there is no openclaw home here", "make one: openclaw init")

    found = {check.name: check for check in examine(find, check_schema)}
    assert found["home"].exit_code == 6 and found["home"].advice == "make one: openclaw init"
    assert {"tokenizer", "engine", "model folder"} <= set(found)


def test_a_home_inside_another_repository_is_told(tmp_path: Path, fake_ollama: FakeOllama) -> None:
    if not shutil.which("git"):
        pytest.skip("no git here")
    create_home(tmp_path / "outer")
    create_home(tmp_path / "outer" / "workspace" / "inner")
    check = checks(Home(tmp_path / "outer" / "workspace" / "inner"))["git"]
    assert "lies in the repository" in check.found
    assert "the home is a repository" in checks(Home(tmp_path / "outer"))["git"].found


def test_the_command_prints_advice_and_leaves_with_the_code(home: Home) -> None:
    assert claw("doctor").startswith("ok       home")
    assert "\n" + " " * 21 + " -> " in claw("doctor", "--model", "ollama/none:1b", code=5)


def test_json_tells_whether_the_home_is_usable(home: Home) -> None:
    shape = claw.json("doctor")
    assert shape["usable"] is True
    assert set(shape["checks"][0]) == {"name", "state", "found", "advice", "exit_code", "fixed"}


def test_fix_repairs_and_a_second_look_is_clean(home: Home) -> None:
    home.sessions.joinpath("talk.json").write_text('{"messages": [{"role": "user", "con', "utf-8")
    out = claw("doctor", code=6)
    assert "fault    sessions     sessions/talk.json does not load" in out
    assert "-> --fix saves what can be read" in out
    out = claw("doctor", "--fix")
    assert "fixed    sessions" in out and "copies of what was repaired: .openclaw/kept/" in out
    checks = claw.json("doctor")["checks"]
    assert {c["state"] for c in checks if c["name"] in ("sessions", "aside")} == {"ok"}


def test_what_was_fixed_is_told_in_json(home: Home) -> None:
    (home.memory / "a.md").write_bytes(b"caf\xe9")
    checks = {c["name"]: c for c in claw.json("doctor", "--fix")["checks"]}
    assert checks["encoding"]["fixed"] == "converted from Latin-1 to UTF-8"
    assert checks["encoding"]["state"] == "ok"
    assert checks["disk"]["fixed"] == ""


def test_of_many_findings_the_first_are_printed(home: Home) -> None:
    for number in range(20):
        (home.memory / f"{number:02}.md").write_bytes(b"\xe9")
    out = claw("doctor")
    assert out.count("warning  encoding") == 8 and "12 more of encoding" in out
    assert "\nok       other checks 15 ok" in out


def test_settings_in_another_encoding_are_mended_before_they_are_read(home: Home) -> None:
    text = home.settings.read_text("utf-8")
    home.settings.write_bytes(f"{text}# Gr\u00fcn\n".encode("utf-16"))
    mended = {check.name: check for check in examine(lambda: home, check_schema, fix=True)}
    assert mended["encoding"].fixed and mended["settings"].state == "ok"


def test_on_a_terminal_lines_are_broken_at_its_width_and_states_coloured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = "word " * 20 + "end"
    checks = [Check("git", "warning", found, "openclaw doctor --fix"), Check("disk", "ok", "")]
    assert next(check_lines(checks)) == f"warning  git          {found}"
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "")
    monkeypatch.setattr(sys, "stdout", Terminal())
    lines = list(check_lines(checks, width=60))
    assert lines[0].startswith("\x1b[33mwarning\x1b[m  git          word word")
    assert all(line.startswith(" " * 22 + "word") for line in lines[1:3])
    assert lines[-2:] == [
        " " * 22 + "-> openclaw doctor --fix",
        "\x1b[32mok\x1b[m       other checks 1 ok (--json lists them)",
    ]
