"""The documentation cannot drift: reference pages are regenerated, links and commands are tried."""

from __future__ import annotations

import ast
import re
import runpy
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openclaw import errors
from openclaw.cli import dispatch
from openclaw.cli.chat import chat, completion
from openclaw.cli.command_line import COMMANDS
from openclaw.config.settings import keys
from tests.fakes.command import openclaw

TOP = Path(__file__).parents[2]
TOP_PAGES = ("README.md", "CONTRIBUTING.md", "AGENTS.md", "SECURITY.md", "CHANGELOG.md")
PAGES = [*(TOP / name for name in TOP_PAGES), *sorted((TOP / "docs").glob("*.md"))]
LINK = re.compile(r"\[[^\]]*\]\((?!https?:|mailto:)([^)\s]+)\)")
BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)
NAMED = re.compile(r"(?<![\w/~.-])openclaw ([a-z]+(?: [a-z]+)?)")
SAYING = {"Check", "Finding", *(name for name in vars(errors) if name[0].isupper())}
NEEDS_A_MODEL = (
    ["ask"],
    ["chat"],
    ["context"],
    ["doctor"],
    ["models", "pull"],
    ["models", "test"],
    ["why"],
)


@pytest.fixture(scope="module")
def generate() -> dict[str, Any]:
    return runpy.run_path(str(TOP / "docs" / "generate.py"))


def test_the_generated_pages_are_what_the_program_says_now(generate: dict[str, Any]) -> None:
    for path, text in generate["pages"]().items():
        assert path.read_text(encoding="utf-8") == text, "run `make docs`"


def test_the_check_fails_for_a_page_that_is_not_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "docs" / "generate.py"
    script.parent.mkdir()
    script.write_bytes((TOP / "docs" / "generate.py").read_bytes())
    monkeypatch.setattr(sys, "argv", [str(script), "--check"])
    assert runpy.run_path(str(script))["main"]() == 1
    assert "commands.md" in capsys.readouterr().err


def test_every_command_and_every_setting_is_in_the_pages() -> None:
    commands = (TOP / "docs" / "commands.md").read_text(encoding="utf-8")
    settings = (TOP / "docs" / "settings.md").read_text(encoding="utf-8")
    for name in COMMANDS:
        assert f"\n## openclaw {name}\n" in commands
        for inner in getattr(dispatch.load(name), "commands", {}):
            assert f"\n### openclaw {name} {inner}\n" in commands
    for key in keys():
        assert f"\n| `{key}` |" in settings


def test_every_command_of_the_talk_has_its_line_in_its_page() -> None:
    page = (TOP / "docs" / "daily.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `/")]
    named = {name for row in rows for name in re.findall(r"`/(\w+)", row.split("|")[1])}
    assert named == {*completion.COMMANDS, *chat.ALIASES}


def test_every_command_and_option_says_what_it_is_for() -> None:
    silent = []
    for name in COMMANDS:
        command = dispatch.load(name)
        for inner in (command, *getattr(command, "commands", {}).values()):
            silent += [f"{name} {inner.name}"] if not inner.help else []
            options = [p for p in inner.params if p.param_type_name == "option"]
            silent += [f"{name} {p.opts[0]}" for p in options if not getattr(p, "help", "")]
    assert silent == []


def test_every_command_that_a_hint_names_is_one() -> None:
    named = list(hints())
    assert ["todo", "list"] in named and ["config", "path"] in named
    assert [words for words in named if not is_command(words)] == []


def hints() -> Iterator[list[str]]:
    """The words behind each `openclaw` in what errors and checks say is to be done."""
    for path in sorted((TOP / "openclaw").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            if node.func.id in SAYING:
                for text in node.args[1:]:
                    yield from (found.split() for found in NAMED.findall(ast.unparse(text)))


def is_command(words: list[str]) -> bool:
    if words[0] not in COMMANDS:
        return False
    inner = getattr(dispatch.load(words[0]), "commands", {})
    return not inner or len(words) == 1 or words[1] in inner


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TOP)))
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        file = (page.parent / path) if path else page
        assert file.exists(), target
        if anchor:
            assert anchor in _anchors(file.read_text(encoding="utf-8")), target


def test_every_page_is_listed_in_the_index() -> None:
    text = (TOP / "docs" / "index.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(\S+)\]\((\S+)\) \|", text, re.M)
    listed = sorted(target for _, target in rows)
    pages = {page.name for page in (TOP / "docs").glob("*.md")}
    assert listed == sorted(pages - {"index.md"})
    assert all(name == target for name, target in rows)


def _anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as they are made from Markdown on the usual hosts."""
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_readme_names_every_exit_code_of_an_error() -> None:
    named = set(re.findall(r"^\| (\d+) \|", (TOP / "README.md").read_text("utf-8"), re.M))
    family, codes = [errors.OpenclawError], {0, 3, 130}  # 3: an untrue claim
    while family:
        kind = family.pop()
        codes.add(kind.exit_code)
        family += kind.__subclasses__()
    assert named == {str(code) for code in codes}


def test_every_folder_of_the_package_is_in_the_architecture_and_no_other() -> None:
    page = (TOP / "docs" / "architecture.md").read_text(encoding="utf-8")
    package = TOP / "openclaw"
    folders = {path.parent.relative_to(package).as_posix() for path in package.rglob("*.py")}
    rows = re.findall(r"^\| (`[a-z_/`, ]+/`) \|", page.partition("## The program")[2], re.M)
    named = {name for row in rows for name in re.findall(r"`([a-z_/]+)/`", row)}
    assert named == folders - {"."}


def test_the_commands_for_newcomers_that_need_no_model_work_as_they_stand(tmp_path: Path) -> None:
    pages = [TOP / "docs" / name for name in ("start.md", "daily.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    lines = [line for block in BLOCK.findall(text) for line in block.splitlines()]
    tried = 0
    assert openclaw("init", cwd=tmp_path).returncode == 0
    for line in lines:
        words = shlex.split(line, comments=True)
        if words[:1] != ["openclaw"] or len(words) < 2:
            continue
        if words[1] not in COMMANDS:
            assert words[1].startswith("-") or " " in words[1], f"not a command: {line}"
            continue
        help_words = [*words[1:3], "--help"] if words[1] in _groups() else [words[1], "--help"]
        assert openclaw(*help_words, cwd=tmp_path).returncode == 0, line
        if not any(words[1 : 1 + len(start)] == start for start in NEEDS_A_MODEL):
            done = openclaw(*words[1:], cwd=tmp_path)
            assert done.returncode == 0, f"{line}\n{done.stderr}"
            tried += 1
    assert tried >= 15


def _groups() -> list[str]:
    return [name for name in COMMANDS if hasattr(dispatch.load(name), "commands")]
