"""A line is tried in the sandbox: what only reads runs unasked, what would do more is asked for."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from openclaw.messages import ToolCall
from openclaw.security.masking import Masker
from openclaw.security.policy import PermissionQuestion, Policy
from openclaw.storage.home import Home
from openclaw.tools.shell import overlay, sandbox
from openclaw.tools.shell.named_files import hides_names, named_files
from openclaw.tools.shell.shell import Runner, ShellTools
from openclaw.tools.toolbox import Toolbox
from openclaw.types import Action, Mode, TurnChanges
from tests.attacks.harm import TOKEN
from tests.fakes.files import write_files
from tests.fakes.needs import confined_only

REASON = sandbox.why_unavailable()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    files = {
        "workspace/SOUL.md": "# Soul\n",
        "workspace/notes.md": "one\ntwo\n",
        "workspace/.env": "KEY=geheim\n",
        "memory/inbox/a.md": "- obey\n",
        ".openclaw/secrets.json": '{"KEY": "geheim"}\n',
    }
    return Home(write_files(tmp_path / "home", files).resolve())


def content(home: Home) -> dict[str, bytes]:
    found = home.root.rglob("*")
    return {str(path): path.read_bytes() for path in found if path.is_file()}


@pytest.fixture(params=[True, False], ids=["layer", "read-only"])
def runner(home: Home, request: pytest.FixtureRequest) -> Runner:
    if not request.param:
        return Runner(home, TurnChanges(), timeout=10, layered=lambda root: False)
    if REASON is None and not overlay.is_overlay_available(home.root):
        pytest.skip("no layers here")
    return Runner(home, TurnChanges(), timeout=10)


def tried(runner: Runner, line: str) -> str | None:
    before = content(runner.home)
    said = ShellTools(runner).try_shell(line)
    assert content(runner.home) == before
    return said


# -------- what runs unasked


@confined_only
@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("ls workspace", "SOUL.md\nnotes.md"),
        ("cat workspace/notes.md | sort | head -1", "one"),
        ("for f in workspace/n*; do wc -l < $f; done", "2"),
        ("cd /tmp && echo x > a && cat a", "x"),
        ("python3 -c 'print(6 * 7)'", "42"),
        ("ls -d memory skills 2>/dev/null; true", "memory"),
    ],
)
def test_a_line_that_only_reads_is_its_result(runner: Runner, line: str, printed: str) -> None:
    assert tried(runner, line) == f"Exit code 0.\n{printed}"


@confined_only
def test_a_line_that_fails_is_its_result(runner: Runner) -> None:
    assert tried(runner, "grep three workspace/notes.md") == "Exit code 1. It printed nothing."
    assert "command not found" in (tried(runner, "no_such_program") or "")


@confined_only
@pytest.mark.parametrize(
    "line",
    [
        "echo x > workspace/a",
        "echo x >> workspace/SOUL.md",
        "echo x > openclaw.yaml",
        "rm -rf workspace; true",
        "mv workspace w",
        "mkdir skills",
        "touch workspace/notes.md",
        "chmod 600 workspace/notes.md",
        "ln -s notes.md workspace/l",
        "sed -i s/one/1/ workspace/notes.md",
        "find . -name notes.md -delete",
        'python3 -c \'open("x", "w")\'',
        "cat workspace/notes.md; $(echo to)uch x",
        "echo x > /etc/x",
        "git init workspace/r",
        "cat .git/config",
        "curl http://a.example/",
        "curl -s http://a.example/",
        "python3 -c 'import urllib.request as u; u.urlopen(\"http://a.example\")'",
    ],
)
def test_a_line_that_wants_more_is_asked_for_and_has_changed_nothing(
    runner: Runner, line: str
) -> None:
    assert tried(runner, line) is None
    assert runner.turn_changes.before == {} and runner.turn_changes.exit is None


@confined_only
@pytest.mark.parametrize("line", ["echo x > a 2>/dev/null; true", "touch a || echo no"])
def test_the_layer_also_tells_what_a_line_does_not(home: Home, line: str) -> None:
    if not overlay.is_overlay_available(home.root):
        pytest.skip("no layers here")
    assert tried(Runner(home, TurnChanges()), line) is None


@confined_only
def test_a_line_is_ended_as_soon_as_it_writes(home: Home) -> None:
    if not overlay.is_overlay_available(home.root):
        pytest.skip("no layers here")
    began = time.monotonic()
    assert tried(Runner(home, TurnChanges()), "echo x > a; sleep 8") is None
    assert time.monotonic() - began < 8


@confined_only
def test_the_long_output_of_a_line_that_is_asked_for_is_not_kept(runner: Runner) -> None:
    assert tried(runner, "seq 9000; echo x > workspace/a") is None
    assert not list(runner.home.root.glob(".openclaw/spill/*"))
    said = ShellTools(runner).try_shell("seq 9000")
    assert said and ".openclaw/spill/" in said


@confined_only
def test_it_gets_no_variable_of_the_settings(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANTED", "geheim")
    runner = Runner(home, TurnChanges(), env=("WANTED",))
    assert "geheim" not in (tried(runner, "env") or "geheim")
    assert tried(runner, "echo $WANTED") is None


def test_nothing_is_tried_without_a_sandbox(home: Home) -> None:
    runner = Runner(home, TurnChanges(), unconfined=lambda: "bubblewrap is not installed")
    assert tried(runner, "ls") is None
    bare = Policy("read-only", unconfined=runner.unconfined)
    assert bare.refuses("read", "run_shell") and not bare.refuses("read", "read_file")
    assert not Policy("ask", lambda question: "", unconfined=runner.unconfined).refuses(
        "read", "run_shell"
    )
    assert not Policy("read-only").refuses("read", "run_shell")


@confined_only
def test_the_vault_knows_the_secrets_of_the_files_that_a_line_names(home: Home) -> None:
    (home.workspace / "keys.md").write_text(f"token: {TOKEN}\n", encoding="utf-8")
    for line in ("rev workspace/keys.md", "cd workspace; rev k*", "cat $(echo workspace/k*) | rev"):
        masker = Masker(home.private / "secrets.json")
        said = ShellTools(Runner(home, TurnChanges()), masker).try_shell(line)
        assert TOKEN[::-1] not in masker.mask(said or TOKEN[::-1])


# -------- with the policy


class Hooks:
    """Hooks of a user that refuse an effect."""

    def __init__(self, refused: str = "") -> None:
        self.refused, self.seen = refused, list[str]()

    def before(self, action: Action, arguments: Mapping[str, Any]) -> str:
        self.seen.append(action.effect)
        return "not so" if action.effect == self.refused else ""

    def after(self, action: Action, *more: object) -> str:
        self.seen.append(f"after {action.effect}")
        return ""


def box(
    home: Home,
    mode: Mode = "edit",
    ask: Callable[[PermissionQuestion], str] | None = None,
    hooks: Hooks | None = None,
) -> Toolbox:
    changes = TurnChanges()
    tools = ShellTools(Runner(home, changes, timeout=10)).tools()
    return Toolbox(tools, Policy(mode, ask), changes, hooks=hooks)


def call(toolbox: Toolbox, line: str) -> tuple[str, bool, str | None]:
    found = toolbox.run(ToolCall("1", "run_shell", {"command": line}))
    return found.text, found.ok, found.effect


@confined_only
@pytest.mark.parametrize("mode", ["read-only", "ask", "edit", "full"])
def test_a_reading_line_runs_unasked_in_every_mode(home: Home, mode: Mode) -> None:
    assert call(box(home, mode), "wc -l < workspace/notes.md") == ("Exit code 0.\n2", True, "read")


@confined_only
def test_a_writing_line_is_asked_for_once_and_runs_after_a_yes(home: Home) -> None:
    asked: list[PermissionQuestion] = []

    def ask(question: PermissionQuestion) -> str:
        asked.append(question)
        assert not (home.workspace / "a").exists()
        return answers.pop()

    answers = ["once", ""]
    assert not call(box(home, ask=ask), "echo x > workspace/a")[1]
    assert not (home.workspace / "a").exists()
    text, ok, effect = call(box(home, ask=ask), "echo x > workspace/a")
    assert ok and effect == "run" and "[Changed: workspace/a]" in text
    assert [question.action.effect for question in asked] == ["run", "run"]
    assert [grant.kind for grant in asked[0].offers] == ["command"]


@confined_only
def test_in_mode_read_only_a_writing_line_is_refused(home: Home) -> None:
    text, ok, _ = call(box(home, "read-only"), "echo x > workspace/a")
    assert not ok and "mode read-only forbids running a command" in text
    assert not (home.workspace / "a").exists()


@confined_only
def test_hooks_see_what_a_line_may_do_before_it_does_it(home: Home) -> None:
    hooks = Hooks()
    call(box(home, "full", hooks=hooks), "ls")
    assert hooks.seen == ["read", "after read"]
    hooks = Hooks()
    call(box(home, hooks=hooks), "ls")
    assert hooks.seen == ["read", "after read"]
    hooks = Hooks("run")
    assert not call(box(home, "full", hooks=hooks), "echo x > workspace/a")[1]
    hooks = Hooks("read")
    assert not call(box(home, hooks=hooks), "ls")[1] and hooks.seen == ["read"]


# -------- which files a line names


@pytest.mark.skipif(os.name == "nt", reason="lines for sh")
@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("cat workspace/notes.md", ["workspace/notes.md"]),
        ("cat 'workspace/notes.md'|wc", ["workspace/notes.md"]),
        ("cd workspace && cat notes.md", ["workspace/", "workspace/notes.md"]),
        ("cat memory/i*/*", ["memory/inbox/a.md"]),
        ("cat ~/memory/$x/a.md", ["memory/inbox/a.md"]),
        (
            "cat memory/{inbox,b}/a.md <workspace/notes.md",
            ["memory/inbox/a.md", "workspace/notes.md"],
        ),
        ("sort --files0-from=workspace/notes.md", ["workspace/notes.md"]),
        ('cat "workspace/notes.md', []),
        ("cat workspace/link", ["memory/inbox/a.md"]),
        ("cat ../x /etc/passwd", []),
        ("date", []),
    ],
)
def test_the_files_that_a_line_names_are_found(home: Home, line: str, names: list[str]) -> None:
    if "link" in line:
        (home.workspace / "link").symlink_to("../memory/inbox/a.md")
    assert named_files(home.root, line) == names


def test_a_line_may_name_files_that_do_not_stand_in_it() -> None:
    for line in ("cat $(ls)", "cat `ls`", "wc <(ls)", "cat $'\\x61'", "eval $x"):
        assert hides_names(line)
    assert not hides_names("for f in *.md; do cat $f; done")
