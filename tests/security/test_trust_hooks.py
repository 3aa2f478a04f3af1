"""Whose programs run: none without a yes to this home, these commands and these very files."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from openclaw.config.hook_settings import Hook
from openclaw.security.policy import Policy
from openclaw.security.program_files import MAX_FILES, find_programs
from openclaw.security.program_trust import make_trust_request
from openclaw.storage.home import Home
from openclaw.storage.trust_store import Trust
from openclaw.types import Action
from tests.fakes.files import write_file

CHECK = Hook("before_tool", "./hooks/check.sh --strict", ("run_*",))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    for folder in ("workspace", "memory", "hooks/lib"):
        (tmp_path / "home" / folder).mkdir(parents=True)
    for name in ("hooks/check.sh", "hooks/lib/words.py", "workspace/one.py", "workspace/SOUL.md"):
        (tmp_path / "home" / name).write_text("pass\n", "utf-8")
    return Home(tmp_path / "home")


@pytest.fixture
def trust(tmp_path: Path) -> Trust:
    return Trust(tmp_path / "data" / "trust.json")


def said_yes(trust: Trust, home: Home, *hooks: Hook) -> Callable[[], str]:
    """Say yes to these hooks; gives their state later."""
    trust.allow(home, make_trust_request(home, hooks).mark)
    assert trust.state(home, make_trust_request(home, hooks).mark) == "trusted"
    return lambda: trust.state(home, make_trust_request(home, hooks).mark)


def test_a_yes_is_for_one_home(home: Home, trust: Trust, tmp_path: Path) -> None:
    said_yes(trust, home, CHECK)
    shutil.copytree(home.root, tmp_path / "copy")
    copy = Home(tmp_path / "copy")
    assert trust.state(copy, make_trust_request(copy, [CHECK]).mark) == "new"


def test_a_yes_holds_by_whatever_path_the_home_is_reached(
    home: Home, trust: Trust, tmp_path: Path
) -> None:
    said_yes(trust, home, CHECK)
    try:
        (tmp_path / "link").symlink_to(home.root, target_is_directory=True)
    except OSError:
        pytest.skip("no links here")
    linked = Home(tmp_path / "link")
    assert trust.state(linked, make_trust_request(linked, [CHECK]).mark) == "trusted"


@pytest.mark.parametrize(
    "other",
    [
        Hook("before_tool", "./hooks/check.sh", ("run_*",)),
        Hook("after_tool", "./hooks/check.sh --strict", ("run_*",)),
        Hook("before_tool", "./hooks/check.sh --strict"),
        Hook("before_tool", "./hooks/check.sh --strict", ("run_*",), trusted=True),
        Hook("before_tool", "./hooks/check.sh --strict", ("run_*",), env=("TOKEN",)),
    ],
)
def test_another_command_or_key_is_asked_for_anew(home: Home, trust: Trust, other: Hook) -> None:
    said_yes(trust, home, CHECK)
    assert trust.state(home, make_trust_request(home, [other]).mark) == "changed"
    assert trust.state(home, make_trust_request(home, [CHECK, other]).mark) == "changed"


@pytest.mark.parametrize(
    "path",
    [
        "hooks/check.sh",
        "hooks/lib/words.py",
        "hooks/lib/new.py",
        "hooks/__pycache__/words.cpython-312.pyc",
        "Makefile",
        "package.json",
        "json.py",
        "json/__init__.py",
        "build/a.mk",
        "node_modules/yaml/index.js",
        ".local/lib/python3.11/site-packages/usercustomize.py",
    ],
)
def test_a_file_that_a_hook_may_run_is_asked_for_anew(home: Home, trust: Trust, path: str) -> None:
    state = said_yes(trust, home, CHECK)
    write_file(home.root / path, "import os\n")
    assert state() == "changed"


@pytest.mark.parametrize("path", ["memory/TODO.md", "workspace/SOUL.md", "openclaw.yaml", "A.md"])
def test_what_changes_every_day_is_not(home: Home, trust: Trust, path: str) -> None:
    state = said_yes(trust, home, CHECK)
    (home.root / path).write_text("- [ ] buy milk\n", "utf-8")
    assert state() == "trusted"


def test_a_program_that_appears_where_none_was_is_asked_for_anew(home: Home, trust: Trust) -> None:
    state = said_yes(trust, home, Hook("before_turn", "sh workspace/two.sh"))
    (home.workspace / "two.sh").write_text("rm -r x\n", "utf-8")
    assert state() == "changed"


@pytest.mark.skipif(os.name == "nt", reason="no such right on Windows")
def test_a_file_that_may_now_be_run_is_asked_for_anew(home: Home, trust: Trust) -> None:
    state = said_yes(trust, home, CHECK)
    (home.root / "hooks/check.sh").chmod(0o755)
    assert state() == "changed"


def test_a_link_is_what_it_leads_to(home: Home, trust: Trust, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.sh").write_text("true\n", "utf-8")
    try:
        (home.root / "hooks/linked.sh").symlink_to(tmp_path / "elsewhere.sh")
    except OSError:
        pytest.skip("no links here")
    state = said_yes(trust, home, CHECK)
    (tmp_path / "elsewhere.sh").write_text("false\n", "utf-8")
    assert state() == "changed"


@pytest.mark.parametrize(
    "command",
    [
        "python3 workspace/one.py",
        ["python3", "workspace/one.py"],
        "cat - | python3 ./workspace/one.py >/dev/null",
        "true;python3 workspace/one.py",
        "python3 'workspace/one.py'",
        "bash -c 'cd . && python3 workspace/one.py'",
        "tool --script=workspace/one.py",
        "python3 -m workspace.one",
        "python3 memory/../workspace/one.py",
        "$OPENCLAW_HOME/workspace/one.py",
        'python3 "${OPENCLAW_HOME}/workspace/one.py"',
        "$PWD/workspace/one.py",
        "~/home/workspace/one.py",
        "$HOME/home/workspace/one.py",
        "sh -c ~/home/workspace/one.py",
        "true\npython3 workspace/one.py",
        "echo `workspace/one.py`",
        'echo "$(workspace/one.py)"',
        "PATH=/usr/bin:workspace/one.py x",
    ],
)
def test_a_named_file_is_found_however_it_is_written(
    home: Home, command: str | list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home.root.parent))
    found = find_programs(home, [command])
    assert found.named == ("workspace/one.py",) or "workspace/one.py" in found.named
    assert "workspace/one.py" in found.files and "workspace/SOUL.md" not in found.files
    absolute = find_programs(home, [f"python3 {home.root / 'workspace' / 'one.py'}"])
    assert (
        os.name == "nt" or absolute.hash == find_programs(home, ["python3 workspace/one.py"]).hash
    )


def test_what_lies_beside_a_named_file_counts_too(home: Home) -> None:
    (home.workspace / "scripts").mkdir()
    (home.workspace / "scripts" / "go.py").write_text("import helper\n", "utf-8")
    (home.workspace / "scripts" / "helper.py").write_text("pass\n", "utf-8")
    assert "workspace/scripts/helper.py" in find_programs(home, ["workspace/scripts/go.py"]).files


@pytest.mark.parametrize(
    "command",
    [
        "make -C workspace check",
        "make -Cworkspace",
        "python3 workspace",
        "cd workspace && ./run.sh",
        "sh workspace/*.sh",
        ["make", "--directory=memory"],
        'echo "$(sh -c memory)"',
        "tar -I memory/x -cf /b.tar memory",
        "cat memory | sh",
    ],
)
def test_a_command_over_all_that_changes_daily_cannot_be_said_yes_to(
    home: Home, command: str | list[str]
) -> None:
    found = find_programs(home, [command])
    assert "where files change in every turn" in found.trouble and found.hash == ""


@pytest.mark.parametrize(
    "command", ["tar czf /b.tgz memory workspace", "cat workspace/SOUL.md; date >> memory/log.txt"]
)
def test_what_a_command_only_reads_may_change(home: Home, trust: Trust, command: str) -> None:
    (home.memory / "log.txt").touch()
    state = said_yes(trust, home, Hook("after_turn", command))
    (home.memory / "log.txt").write_text("today", "utf-8")
    (home.workspace / "SOUL.md").write_text("another", "utf-8")
    assert state() == "trusted"


def test_a_named_folder_counts_whole(home: Home, trust: Trust) -> None:
    (home.workspace / "tool" / "deep").mkdir(parents=True)
    state = said_yes(trust, home, Hook("before_turn", "make -C workspace/tool"))
    (home.workspace / "tool" / "deep" / "x.mk").touch()
    assert state() == "changed"


def test_a_linked_folder_counts_with_what_it_holds(home: Home, trust: Trust) -> None:
    (home.workspace / "lib").mkdir()
    (home.workspace / "lib" / "x.sh").write_text("true\n", "utf-8")
    try:
        (home.root / "hooks" / "more").symlink_to("../workspace/lib", target_is_directory=True)
        (home.workspace / "lib" / "loop").symlink_to("../lib", target_is_directory=True)
    except OSError:
        pytest.skip("no links here")
    state = said_yes(trust, home, CHECK)
    (home.workspace / "lib" / "x.sh").write_text("false\n", "utf-8")
    assert state() == "changed"
    for place in ("../workspace", ".."):
        (home.root / "hooks" / "more").unlink()
        (home.root / "hooks" / "more").symlink_to(place, target_is_directory=True)
        assert "hooks/more links to where" in make_trust_request(home, [CHECK]).programs.trouble


def test_a_word_longer_than_a_name_may_be_is_no_file(home: Home) -> None:
    words = "x" * 5_000
    found = find_programs(home, [["python3", "-c", f"{words}; {words}"], f"./{words}", f"/{words}"])
    assert found.trouble == "" and found.named == () and found.missing == (f"./{words}",)


@pytest.mark.parametrize(
    "command",
    ["cd hooks && ./a.sh", "echo see backup.sh", "true; ./a.sh", ["logger", "x.py"], "sh -c a.sh"],
)
def test_only_a_program_that_is_started_first_can_be_missing(
    home: Home, command: str | list[str]
) -> None:
    assert find_programs(home, [command]).missing == ()


def test_a_program_that_is_not_there_is_told(home: Home) -> None:
    found = find_programs(home, ["./hooks/none", "python3 hooks/gone.py", "date >> hooks/log.txt"])
    assert found.missing == ("./hooks/none", "hooks/gone.py")


def test_too_many_files_cannot_be_said_yes_to(home: Home, trust: Trust) -> None:
    for number in range(MAX_FILES + 1):
        (home.root / "hooks" / f"{number}.txt").touch()
    now = make_trust_request(home, [CHECK])
    assert now.mark == "" and "more than 500 files" in now.programs.trouble
    trust.allow(home, now.mark)
    assert trust.state(home, now.mark) == "new"


def test_a_yes_can_be_taken_back(home: Home, trust: Trust) -> None:
    state = said_yes(trust, home, CHECK)
    assert trust.revoke(home) and not trust.revoke(home)
    assert state() == "new"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"homes": 3}', '{"homes": {"x": 3}}', "\0"])
def test_a_damaged_list_says_yes_to_nothing_and_is_made_anew(
    home: Home, trust: Trust, text: str
) -> None:
    trust.file.parent.mkdir()
    trust.file.write_text(text, "utf-8")
    assert trust.state(home, make_trust_request(home, [CHECK]).mark) == "new"
    said_yes(trust, home, CHECK)


def test_other_homes_keep_their_yes(home: Home, trust: Trust, tmp_path: Path) -> None:
    shutil.copytree(home.root, tmp_path / "copy")
    copy = Home(tmp_path / "copy")
    state = said_yes(trust, home, CHECK)
    said_yes(trust, copy, CHECK)
    trust.revoke(copy)
    assert state() == "trusted"
    assert list(json.loads(trust.file.read_text("utf-8"))["homes"]) == [
        os.path.normcase(os.path.realpath(home.root))
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="rights of its folder there")
def test_the_list_can_be_read_by_the_user_only(home: Home, trust: Trust) -> None:
    said_yes(trust, home, CHECK)
    assert trust.file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("mode", ["ask", "edit"])
@pytest.mark.parametrize("target", ["openclaw.yaml", "/home/x/.local/openclaw/openclaw-trust.json"])
def test_the_agent_asks_before_it_writes_what_names_or_allows_hooks(mode: str, target: str) -> None:
    effect = "write-elsewhere" if target.startswith("/") else "write"
    policy = Policy(mode, ask=lambda question: "")  # type: ignore[arg-type]
    verdict = policy.decide(Action("write_file", effect, target), tainted=False)  # type: ignore[arg-type]
    assert (verdict.decision, verdict.rule) == ("ask", "identity")
    full = Policy("full", ask=lambda question: "")
    assert full.decide(Action("write_file", effect, target), tainted=True).decision == "ask"  # type: ignore[arg-type]


UNTAINTED_FULL = Policy("full", hooked=True, ask=lambda question: "")


@pytest.mark.parametrize(
    "target",
    [
        "hooks/notes.txt",
        "Hooks/check.sh",
        "workspace/../hooks/check.sh",
        ".local/lib/python3.11/site-packages/x.pth",
        "node_modules/yaml/index.js",
        "build/a.mk",
        "Makefile",
    ],
)
@pytest.mark.parametrize("mode", ["ask", "edit"])
def test_the_agent_asks_before_it_writes_where_programs_of_hooks_look(
    mode: str, target: str
) -> None:
    action = Action("write_file", "write", target)
    policy = Policy(mode, hooked=True, ask=lambda question: "")  # type: ignore[arg-type]
    for tainted in (False, True):
        assert policy.decide(action, tainted=tainted).rule in ("identity", "hooked")
        assert policy.offers(action, tainted=tainted) == ()
    assert UNTAINTED_FULL.decide(action, tainted=False).decision == "allow"
    assert UNTAINTED_FULL.decide(action, tainted=True).decision == "ask"


def test_what_the_agent_works_with_is_free_in_a_home_with_hooks_too() -> None:
    policy = Policy("edit", hooked=True)
    for target in ("workspace/a.md", "workspace/src/x.py", "memory/TODO.md", "sessions/x.md"):
        verdict = policy.decide(Action("write_file", "write", target), tainted=False)
        assert verdict.decision == "allow"
    without = Policy("edit").decide(Action("write_file", "write", "build/a.mk"), tainted=False)
    assert without.decision == "allow"
