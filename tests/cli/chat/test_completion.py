"""Completions of the text before the cursor."""

from __future__ import annotations

from pathlib import Path

import pytest

from openclaw.cli.chat.completion import (
    ARGUMENTS,
    COMMANDS,
    MAX_FILES,
    MODES,
    Choice,
    CompletionSources,
    completions,
    sources_of,
)
from tests.fakes.ollama_server import FakeOllama
from tests.fakes.talk import answer, talk

WAITING = [("2026-11-22-101500-ab12", "Trip to Oslo"), ("garden", "Roses and herbs")]


def known(*folders: Path) -> CompletionSources:
    commands = [*((name, words) for name, (_, words) in COMMANDS.items()), ("tidy", "Tidy it.")]
    arguments: dict[str, list[Choice]] = {"mode": [(mode, "") for mode in MODES], "resume": WAITING}
    files = ("workspace/trip.md", "workspace/road-trip.md", "memory/TODO.md", "a b/trip x.md")
    return CompletionSources(
        lambda: commands, lambda name: arguments.get(name, []), folders, lambda: files
    )


def found(text: str, *folders: Path) -> list[str]:
    return [word for word, *_ in completions(text, known(*folders))]


def test_commands_skills_modes_and_paths_are_completed(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    (folder / "memory").mkdir(parents=True)
    for name in ("a b.md", "notes.md", "memory/TODO.md", ".hidden"):
        (folder / name).touch()
    assert found("/mo") == ["/model", "/mode"]
    assert found("/t") == ["/todo", "/tidy"]
    assert found("/mode r") == ["read-only"]
    assert found("see @n", folder) == ["@notes.md"]
    assert found("see @", folder) == ['@"a b.md"', "@memory/", "@notes.md"]
    assert found("see @memory/T", folder) == ["@memory/TODO.md"]
    assert found("see memory", folder) == found("a /mo") == []
    assert found("see @~nobody-here/n", folder) == []


def test_a_command_comes_with_its_meaning() -> None:
    assert [*completions("/qui", known())] == [("/quit", -4, COMMANDS["quit"][1])]


@pytest.mark.parametrize("part", ["gar", "ROSES", "and her"])
def test_what_a_command_takes_is_found_by_its_meaning_too(part: str) -> None:
    assert [*completions(f"/resume {part}", known())] == [("garden", -len(part), WAITING[1][1])]
    assert found("/resume ") == [WAITING[0][0], "garden"]
    assert found("/help ") == []


def test_a_to_do_is_found_by_its_words(tmp_path: Path) -> None:
    it = talk(tmp_path / "home")
    (it.root / "memory" / "TODO.md").write_text("## Home\n\n- [ ] buy milk ^1a2b3c4d\n", "utf-8")
    assert [*completions("/todo done mil", sources_of(it.app))] == [("1a2b3c4d", -3, "buy milk")]


def test_a_file_of_the_home_is_found_by_a_part_of_its_name() -> None:
    long = CompletionSources(tuple, files=lambda: [f"{'a' * 60}.md"])
    assert [*completions("@aaaaaaaz", long)] == []  # without trying each a as the first one
    assert {*found("see @trip")[:2]} == {"@workspace/trip.md", '@"a b/trip x.md"'}
    assert found("see @trip")[2:] == ["@workspace/road-trip.md"]
    assert found("see @tdo") == ["@memory/TODO.md"]
    assert found("see @work") == []  # the folder is offered, and what is in it then
    assert found("see @work/tr") == ["@workspace/trip.md", "@workspace/road-trip.md"]


def test_an_open_home_tells_what_its_commands_take(tmp_path: Path, fake_ollama: FakeOllama) -> None:
    it = talk(tmp_path / "home", answer("Fine."))
    it.say("Plan the garden.")
    (it.root / "workspace" / ".git").mkdir()
    (it.root / "workspace" / ".git" / "config.md").touch()
    home = sources_of(it.app)
    offered = {name: [choice for choice, _ in home.arguments(name)] for name in ARGUMENTS}
    turn = it.app.history.find()
    assert offered["show"] == offered["diff"] == offered["why"] == [turn.id]
    assert offered["resume"] == [it.session.id]
    assert "ollama/fake:1b" in offered["model"]
    assert "memory/TODO.md" in offered["blame"]
    assert not [path for path in offered["blame"] if path.startswith(("sessions", "workspace/."))]
    assert "@workspace/AGENTS.md" in [word for word, *_ in completions("@agents", home)]


def test_conversations_do_not_use_up_the_files_that_are_offered(tmp_path: Path) -> None:
    it = talk(tmp_path / "home")
    it.app.home.sessions.mkdir(exist_ok=True)
    for number in range(MAX_FILES):
        (it.app.home.sessions / f"{number}.json").touch()
    assert "workspace/AGENTS.md" in sources_of(it.app).files()
