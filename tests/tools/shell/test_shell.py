"""run_shell and run_python as the model calls them, with a sandbox and without one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from openclaw.agent.recording import make_receipt
from openclaw.messages import ToolCall
from openclaw.security.foreign_files import ForeignFiles
from openclaw.security.grants import make_grant
from openclaw.security.policy import Policy
from openclaw.storage.home import Home
from openclaw.tools.file_tools import FileTools
from openclaw.tools.results import LONGEST_LINE
from openclaw.tools.shell import sandbox
from openclaw.tools.shell.git_credentials import find_committed_credentials
from openclaw.tools.shell.home_state import changed_files, scan_home
from openclaw.tools.shell.process import CommandLimits
from openclaw.tools.shell.shell import ProgramCall, Runner, ShellTools, environment
from openclaw.tools.toolbox import Toolbox
from openclaw.types import Change, Mode, ToolProblem, TurnChanges
from tests.fakes.files import write_file, write_files
from tests.fakes.needs import confined_only
from tests.fakes.person import Person

pytestmark = pytest.mark.skipif(os.name == "nt", reason="lines for sh")
BOTH = [pytest.param(True, marks=confined_only, id="sandbox"), pytest.param(False, id="bare")]
LIMITS = CommandLimits(processes=64, memory_mb=512, file_mb=16, disk_mb=64)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    files = {
        "openclaw.yaml": "mode: edit\n",
        "workspace/SOUL.md": "# Soul\n",
        "workspace/notes.md": "one\ntwo\n",
        "workspace/.env": "KEY=geheim\n",
        "memory/MEMORY.md": "# Memory\n",
        "memory/TODO.md": "# To-dos\n\n## Home\n\n- [ ] buy milk ^0a1b2c3d\n",
        "skills/walk/SKILL.md": "---\nname: walk\n---\nWalk.\n",
        "sessions/abc.json": "{}\n",
        ".openclaw/secrets.json": '{"KEY": "geheim"}\n',
    }
    return Home(write_files(tmp_path / "home", files).resolve())


def shell_tools(home: Home, confined: bool, turn_changes: TurnChanges | None = None) -> ShellTools:
    return ShellTools(
        Runner(
            home,
            turn_changes or TurnChanges(),
            timeout=10,
            unconfined=sandbox.why_unavailable
            if confined
            else lambda: "bubblewrap is not installed",
            limits=LIMITS,
        )
    )


def box(
    home: Home, confined: bool, mode: Mode = "edit", turn_changes: TurnChanges | None = None
) -> Toolbox:
    turn_changes = turn_changes or TurnChanges()
    return Toolbox(shell_tools(home, confined, turn_changes).tools(), Policy(mode), turn_changes)


def call(toolbox: Toolbox, command: str) -> tuple[str, bool]:
    outcome = toolbox.run(ToolCall("1", "run_shell", {"command": command}))
    return outcome.text, outcome.ok


def reads(home: Home, line: str) -> bool:
    """Whether a line runs unasked in the sandbox."""
    return shell_tools(home, True).try_shell(line) is not None


@pytest.fixture(params=BOTH)
def confined(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


# -------- what the model is told


def test_the_result_names_the_exit_code_and_what_was_printed(home: Home, confined: bool) -> None:
    shell = shell_tools(home, confined)
    text = shell.run_shell("cat workspace/notes.md")
    assert text.startswith("Exit code 0.\n") and "\none\ntwo" in text
    assert shell.run_shell("grep three workspace/notes.md") == "Exit code 1. It printed nothing."


def test_a_program_that_is_missing_is_named(home: Home, confined: bool) -> None:
    text = shell_tools(home, confined).run_shell("no_such_program")
    assert "Exit code 127." in text and "no_such_program: command not found" in text


def test_an_empty_command_is_a_mistake(home: Home, confined: bool) -> None:
    for command in ("", "  \n", "ls \0"):
        with pytest.raises(ToolProblem, match="give a command line"):
            shell_tools(home, confined).run_shell(command)
    with pytest.raises(ToolProblem, match="code is empty"):
        shell_tools(home, confined).run_python(" ")


def test_a_command_that_is_too_long_for_the_system_is_a_mistake(home: Home, confined: bool) -> None:
    with pytest.raises(ToolProblem, match="could not be started"):
        shell_tools(home, confined).run_shell("echo " + "x" * 3_000_000)


def test_what_was_changed_is_told_and_what_is_left_out_can_be_read(
    home: Home, confined: bool
) -> None:
    text = shell_tools(home, confined).run_shell("seq 9000; echo 1 > workspace/a; rm workspace/n*")
    assert "[Changed: workspace/notes.md, workspace/a]" in text
    assert "[All of it: read_file .openclaw/spill/" in text
    assert len(text) < 6_500


def spilled(home: Home, text: str) -> tuple[list[str], int]:
    """The lines of the file that a result names, and the first that the result leaves out."""
    found = re.search(r"\[All of it: read_file (\S+), for the rest from_line (\d+)\]", text)
    assert found
    path = home.root / found[1]
    assert path.stat().st_mode & 0o777 == 0o600
    return path.read_text(encoding="utf-8").splitlines(), int(found[2])


def test_a_long_output_is_shown_from_both_ends_and_kept_whole(home: Home, confined: bool) -> None:
    text = shell_tools(home, confined).run_shell("seq -f 'line %g' 5000")
    assert "\nline 1\nline 2\n" in text and "\nline 4999\nline 5000\n" in text
    kept, gap = spilled(home, text)
    assert kept == [f"line {n}" for n in range(1, 5001)]
    assert kept[gap - 1] not in text.splitlines() and kept[gap - 2] in text.splitlines()


def test_one_long_line_can_be_read_on_in_the_file(home: Home, confined: bool) -> None:
    text = shell_tools(home, confined).run_python("print('x' * 60_000)")
    lines, gap = spilled(home, text)
    assert "".join(lines) == "x" * 60_000 and max(map(len, lines)) == LONGEST_LINE
    assert 1 < gap < len(lines) and text.count("x") < 6_000


def test_python_prints_its_result_and_its_faults(home: Home, confined: bool) -> None:
    shell = shell_tools(home, confined)
    assert "\n42" in shell.run_python("print(6 * 7)")
    assert "one" in shell.run_python("print(open('workspace/notes.md').read())")
    text = shell.run_python("x = 1\nprint(x / 0)")
    assert "Exit code 1." in text and "line 2" in text and "ZeroDivisionError" in text


def test_python_that_prints_nothing_shows_its_last_expression(home: Home, confined: bool) -> None:
    shell = shell_tools(home, confined)
    assert "\n42" in shell.run_python("x = 6\nx * 7")
    assert "None" not in shell.run_python("x = []\nx.append(1)")
    assert "\n42" in shell.run_python("import math; math.sqrt(1764)")
    assert "\n42" in shell.run_python("s = '\u00e9\x0c\u2028'; n = len(s)\nn * 14")
    assert "\n42" in shell.run_python("x = 6\n(x *  # six\n 7)  # times seven")
    assert "\n42" in shell.run_python("-458 + " + " + ".join("1" * 500))


def test_python_does_not_take_modules_from_the_home(home: Home, confined: bool) -> None:
    (home.root / "json.py").write_text("print('mine')")
    (home.workspace / "json.py").write_text("print('mine')")
    assert "mine" not in shell_tools(home, confined).run_python("import json")


# -------- what it would do, and whether it may


@pytest.mark.parametrize(
    "command",
    [
        "cat workspace/.env",
        "cat .openclaw/secrets.json",
        "cat workspace/link",
        "cat workspace/l*",
        "cat workspace/.e*",
        "grep -r geheim workspace",
        "grep -r geheim .",
        "cat .openclaw/../.openclaw/secrets.json",
    ],
)
def test_a_secret_is_not_read_unasked_with_or_without_a_sandbox(
    home: Home, confined: bool, command: str, tmp_path: Path
) -> None:
    (tmp_path / "outside").write_text("geheim")
    (home.workspace / "link").symlink_to(tmp_path / "outside")
    text, _ = call(box(home, confined), command)
    assert "geheim" not in text.replace("grep -r geheim", "")


# -------- credentials that come out under another name


def git(folder: Path, *words: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    named = ("-c", "user.name=x", "-c", "user.email=x@x", "-c", "init.defaultBranch=main")
    try:
        subprocess.run(["git", "-C", str(folder), *named, *words], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("git is missing")


def commits(folder: Path, path: str = ".env", text: str = "KEY=geheim\n") -> None:
    """Commit a file with credentials and one without."""
    git(folder, "init", "-q")
    for name, content in ((path, text), ("notes.md", "one\n")):
        write_file(folder / name, content)
        git(folder, "add", "-f", name)
    git(folder, "commit", "-qm", "all")


SHOW = (
    "git log -p", "git show", "git grep -n KEY HEAD", "git diff HEAD~1", "git log -p --all",
    "git cat-file -p HEAD:.env", "git stash show -p", "git blame HEAD~1 -- .env",
    "git log -G geheim", "git archive HEAD", "git format-patch --stdout --root HEAD",
    "git --no-pager log -p", "ls; git log -p", "git log -p | cat",
    "git show $(git rev-parse HEAD)",
)  # fmt: skip


@pytest.mark.parametrize("mode", ["read-only", "ask", "edit", "full"])
def test_what_was_committed_is_not_shown_unasked(home: Home, confined: bool, mode: Mode) -> None:
    commits(home.root)
    git(home.root, "rm", "-q", "--cached", ".env")
    (home.root / ".env").unlink()
    git(home.root, "commit", "-qm", "no more")
    for line in SHOW:
        text, ok = call(box(home, confined, mode), line)
        assert not ok and text.startswith("Refused") and "geheim" not in text, line


def test_a_person_may_allow_it_and_is_told_why(home: Home) -> None:
    commits(home.root, ".config/gh/hosts.yml")
    ask = Person("once")
    toolbox = Toolbox(shell_tools(home, False).tools(), Policy("full", ask), TurnChanges())
    text, ok = call(toolbox, "git log -p")
    assert ok and "geheim" in text
    why = "git may show credentials: .config/gh/hosts.yml was committed"
    assert [question.reason for question in ask.asked] == [why]
    grant = make_grant("prefix", "git log", "2026-11-21")
    toolbox = Toolbox(
        shell_tools(home, False).tools(), Policy("edit", None, [grant]), TurnChanges()
    )
    assert call(toolbox, "git log -p")[1]


@confined_only
@pytest.mark.parametrize(
    "where",
    ["nested", "in a folder", "staged", "reflog", "stash", "branch", "bare", "merge", "fetched"],
)
def test_they_are_found_wherever_git_keeps_them(home: Home, where: str) -> None:
    place = home.workspace / "proj" if where == "nested" else home.root
    commits(place, "a.md", "two\n")
    assert reads(home, f"cd {place} && git log -p")
    if where in ("nested", "staged"):
        (place / "x.pem").write_text("geheim\n")
        git(place, "add", "-f", "x.pem")
    elif where == "in a folder":
        commits(home.workspace / ".config", "gh/hosts.yml")
    elif where == "bare":
        commits(home.workspace / "proj")
        git(home.root, "clone", "-q", "--bare", "workspace/proj", "workspace/all.git")
        shutil.rmtree(home.workspace / "proj")
    elif where == "fetched":
        commits(home.root.parent / "other")
        git(place, "fetch", "-q", str(home.root.parent / "other"))
    elif where == "merge":
        git(place, "checkout", "-qb", "side")
        git(place, "commit", "-q", "--allow-empty", "-m", "side")
        git(place, "checkout", "-q", "main")
        git(place, "merge", "-q", "--no-ff", "--no-commit", "side")
        commits(place)
    else:
        git(place, "checkout", "-qb", "side")
        commits(place)
        if where == "stash":
            git(place, "reset", "-q", "--soft", "HEAD~1")
            git(place, "stash", "-q")
        git(place, "checkout", "-qf", "main")
        if where != "branch":
            git(place, "branch", "-D", "side")
    assert find_committed_credentials(home, confined=True)
    assert not reads(home, f"cd {place} && git log -p")
    for line in ("g''it log -p", "cat .gi?/HEAD workspace/*/HEAD", "$(echo gi)t show --all"):
        text = shell_tools(home, True).try_shell(line)
        assert text is None or "Exit code 0" not in text


@confined_only
def test_in_all_kinds_of_repositories_without_any_git_shows_what_it_keeps(home: Home) -> None:
    place, inner = home.root, home.workspace
    commits(place, "a.md", "two\n")
    git(place, "clone", "-q", "--bare", ".", "workspace/all.git")
    git(place, "worktree", "add", "-q", "workspace/tree")
    git(inner / "new", "init", "-q")
    (inner / "fake" / ".git").mkdir(parents=True)
    (inner / "pipe").mkdir()
    os.mkfifo(inner / "pipe" / ".git")
    (place / ".git" / "FETCH_HEAD").touch()
    for folder in (".", "workspace/tree", "workspace/fake"):
        assert reads(home, f"cd {folder} && git log -p") or folder == "workspace/fake"


def test_a_repository_of_the_agents_runs_nothing_while_it_is_looked_over(
    home: Home, tmp_path: Path, confined: bool
) -> None:
    place = home.workspace / "proj"
    commits(place, "a.md", "two\n")
    for key, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "evil",
        "remote.evil.promisor": "true",
        "remote.evil.url": f"ext::touch {tmp_path}/ran",
        "protocol.ext.allow": "always",
    }.items():
        git(place, "config", key, value)
    for file in (place / ".git/objects").glob("??/*"):
        file.unlink()
    assert find_committed_credentials(home, confined=confined) is None
    call(box(home, confined), "cd workspace/proj && git log -p")
    assert not (tmp_path / "ran").exists()


def test_a_repository_that_cannot_be_looked_over_may_hold_some(home: Home, confined: bool) -> None:
    commits(home.root, "a.md", "two\n")
    (home.root / ".git/index").write_bytes(b"x" * 100)
    assert find_committed_credentials(home, confined=confined) is None
    assert not confined or not reads(home, "git log")


LINKED = ("cat workspace/proj/.env", "cat workspace/proj/.e*", "cat < workspace/proj/.env",
          "grep -r geheim workspace", "grep geheim workspace/proj/.env", "cat workspace/prod",
          "cat workspace/way", "head -5 workspace/pro*", "cd workspace/proj && cat .env",
          "base64 workspace/keys/one", "cat workspace/proj/.ssh/one")  # fmt: skip


@pytest.mark.parametrize("line", LINKED)
def test_a_link_with_the_name_of_credentials_makes_them_of_what_it_leads_to(
    home: Home, confined: bool, line: str
) -> None:
    linked(home)
    text, ok = call(box(home, confined), line)
    assert "geheim" not in text.replace(line, "") and "Z2VoZWlt" not in text
    assert not ok or confined


def linked(home: Home) -> None:
    proj, keys = home.workspace / "proj", home.workspace / "keys"
    proj.mkdir()
    keys.mkdir()
    (home.workspace / "prod").write_text("geheim\n")
    (keys / "one").write_text("geheim\n")
    (proj / ".env").symlink_to("../way")
    (home.workspace / "way").symlink_to("prod")
    (proj / ".ssh").symlink_to(keys)


@pytest.mark.parametrize("path", ["prod", "proj/.env", "way", "keys/one", "proj/.ssh/one"])
def test_neither_do_the_file_tools_show_it(home: Home, path: str) -> None:
    linked(home)
    tools = FileTools(home, TurnChanges())
    with pytest.raises(ToolProblem, match="closed"):
        tools.read_file(f"workspace/{path}")
    assert "geheim" not in tools.search_files("geheim").replace('"geheim"', "")


@confined_only
def test_no_command_sees_what_such_a_link_leads_to(home: Home) -> None:
    linked(home)
    order = ProgramCall(("/bin/sh", "-c", "cat workspace/prod workspace/*/*; ls workspace"), "sh")
    text = shell_tools(home, True).runner.run(order)
    assert "geheim" not in text and "notes.md" in text


@pytest.mark.parametrize(
    "leads", ["..", "../..", ".", "nowhere", "/etc", "../proj", "../../memory"]
)
def test_a_link_that_leads_elsewhere_hides_nothing_else(
    home: Home, confined: bool, leads: str
) -> None:
    (home.workspace / "proj").mkdir()
    (home.workspace / "proj" / ".env").symlink_to(leads)
    assert call(box(home, confined, "full"), "cat workspace/notes.md memory/TODO.md")[1]
    assert not (home.workspace / "proj" / "nowhere").exists()


@confined_only
@pytest.mark.parametrize(
    "line",
    [
        "mv workspace/.config/gh workspace/plain",
        "mv workspace/.config workspace/plain",
        "mv workspace/deep/.config workspace/plain",
        "mv workspace/deep workspace/plain",
        "cp -r workspace/.config/gh workspace/plain; ln workspace/.config/gh/hosts.yml workspace/p",
        "mv workspace/apps workspace/plain",
    ],
)
def test_credentials_stay_some_when_their_folder_is_renamed(home: Home, line: str) -> None:
    for folder in (".config/gh", "deep/.config/gh"):
        (home.workspace / folder).mkdir(parents=True)
        (home.workspace / folder / "hosts.yml").write_text("word: geheim\n")
    (home.workspace / "apps").mkdir()
    (home.workspace / "apps" / "prod").write_text("geheim\n")
    (home.workspace / ".env").unlink()
    (home.workspace / ".env").symlink_to("apps/prod")
    call(box(home, True, "full"), line)
    for path in home.workspace.rglob("*"):
        if path.is_file() and not path.is_symlink() and "plain" in path.parts:
            assert "geheim" not in path.read_text()
    order = ProgramCall(
        ("/bin/sh", "-c", "echo x > workspace/deep/new && cat workspace/deep/new"), "sh"
    )
    assert "Exit code 0" in shell_tools(home, True).runner.run(order)
    assert (home.workspace / "SOUL.md").read_text() == "# Soul\n"


@confined_only
def test_what_is_fixed_stays_so_beside_credentials(home: Home) -> None:
    (home.workspace / ".kube").mkdir()
    (home.workspace / ".kube" / "config").write_text("geheim\n")
    call(box(home, True, "full"), "echo evil >> workspace/SOUL.md; echo evil >> openclaw.yaml")
    assert (home.workspace / "SOUL.md").read_text() == "# Soul\n"
    assert (home.root / "openclaw.yaml").read_text() == "mode: edit\n"


@pytest.mark.parametrize(
    "line",
    [
        "strings @workspace/lst",
        "strings '@workspace/lst'",
        "strings -- @workspace/lst",
        "strings -n 4 @workspace/lst",
        "strings workspace/notes.md @workspace/lst",
        "strings @workspace/ls*",
        "cd workspace && strings @lst",
        "cd workspace/odd && wc *",
        "cd workspace/odd && md5sum *",
        "cd workspace && wc o*/*",
        "wc --files0-from=workspace/lst",
        "sort --files0-from=workspace/lst",
        "du --files0-from=workspace/lst",
        "file -f workspace/lst",
        "date -f workspace/lst",
        "date --file=workspace/lst",
        "find -files0-from workspace/lst",
        "md5sum -c workspace/lst",
        "sha256sum --check workspace/lst",
        "tree --fromfile workspace/lst",
        "jq -n --rawfile a workspace/lst '$a'",
        "jq -f workspace/lst",
        "rg --ignore-file workspace/lst x",
        "git diff --no-index workspace/notes.md /etc/passwd",
        "git blame --ignore-revs-file workspace/lst workspace/notes.md",
        "git log --pathspec-from-file=workspace/lst",
        "git status --pathspec-from-file=workspace/lst",
        "xargs -a workspace/lst cat",
        "sed -f workspace/lst workspace/notes.md",
        "cat $(cat workspace/lst)",
    ],
)
def test_names_that_a_file_gives_are_not_read_unasked(
    home: Home, tmp_path: Path, confined: bool, line: str
) -> None:
    (tmp_path / "diary.txt").write_text("geheim\n")
    (home.workspace / "lst").write_text(f"{tmp_path}/diary.txt\n")
    (home.workspace / "odd").mkdir()
    (home.workspace / "odd" / "--files0-from=.env").touch()
    (home.workspace / "odd" / ".env").write_text("geheim\n")
    text, ok = call(box(home, confined), line)
    assert "geheim" not in text and (confined or not ok)


def test_what_is_asked_says_that_there_is_no_sandbox(home: Home) -> None:
    shell = next(t for t in shell_tools(home, confined=False).tools() if t.name == "run_shell")
    assert shell.action is not None
    action = shell.action({"command": " make test "})
    assert (action.effect, action.target) == ("run", "make test")
    assert action.text == "without a sandbox: bubblewrap is not installed"


# -------- what it changed


def receipt_of(home: Home, turn_changes: TurnChanges) -> list[tuple[str, str, int, int]]:
    changes = []
    for path, before in turn_changes.before.items():
        file = home.root / path
        changes.append(Change(path, before, file.read_text() if file.is_file() else None))
    return [(f.path, f.action, f.added, f.removed) for f in make_receipt(changes).files]


def test_the_receipt_tells_what_a_command_did(home: Home, confined: bool) -> None:
    turn_changes = TurnChanges()
    shell_tools(home, confined, turn_changes).run_shell(
        "echo three >> workspace/notes.md; echo new > workspace/new.md; rm memory/MEMORY.md;"
        "touch memory/TODO.md; mkdir -p workspace/.cache; echo x > workspace/.cache/x"
    )
    assert receipt_of(home, turn_changes) == [
        ("memory/MEMORY.md", "deleted", 0, 1),
        ("workspace/notes.md", "changed", 1, 0),
        ("workspace/new.md", "created", 1, 0),
    ]


def test_a_to_do_that_a_command_ticks_off_is_on_the_receipt(home: Home, confined: bool) -> None:
    turn_changes = TurnChanges()
    shell_tools(home, confined, turn_changes).run_shell("sed -i 's/\\[ \\]/[x]/' memory/TODO.md")
    change = Change(
        "memory/TODO.md",
        turn_changes.before["memory/TODO.md"],
        (home.memory / "TODO.md").read_text(),
    )
    assert make_receipt([change]).todos == (("done", "buy milk"),)


def test_the_first_text_of_a_turn_is_the_one_that_counts(home: Home, confined: bool) -> None:
    turn_changes = TurnChanges()
    FileTools(home, turn_changes).append_file("workspace/notes.md", "three")
    shell = shell_tools(home, confined, turn_changes)
    shell.run_shell("echo four >> workspace/notes.md")
    shell.run_shell("echo five >> workspace/notes.md")
    assert receipt_of(home, turn_changes) == [("workspace/notes.md", "changed", 3, 0)]


def test_reading_changes_nothing_on_the_receipt(home: Home, confined: bool) -> None:
    turn_changes = TurnChanges()
    shell_tools(home, confined, turn_changes).run_shell("cat workspace/notes.md")
    assert turn_changes.before == {}


def test_a_file_that_a_command_changed_has_to_be_read_again(home: Home, confined: bool) -> None:
    turn_changes = TurnChanges()
    files = FileTools(home, turn_changes)
    files.read_file("workspace/notes.md")
    shell_tools(home, confined, turn_changes).run_shell("echo x >> workspace/notes.md")
    with pytest.raises(ToolProblem, match="was not read"):
        files.write_file("workspace/notes.md", "mine\n")


def test_what_was_changed_is_known_even_when_the_command_is_interrupted(
    home: Home, confined: bool
) -> None:
    turn_changes = TurnChanges()
    tools = shell_tools(home, confined, turn_changes)
    tools.runner.timeout = 0.5
    text = tools.run_shell("echo x > workspace/half; sleep 20")
    assert "it took longer than 0.5 s." in text.splitlines()[0]
    assert "[Changed: workspace/half]" in text and "workspace/half" in turn_changes.before


def test_a_change_that_keeps_size_and_time_is_noticed(home: Home) -> None:
    notes = home.workspace / "notes.md"
    before, status = scan_home(home), notes.stat()
    notes.write_text("two\none\n")
    os.utime(notes, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert changed_files(before, scan_home(home, before)) == {"workspace/notes.md": b"one\ntwo\n"}


def test_a_home_of_many_files_is_looked_over_quickly(home: Home) -> None:
    for number in range(1_500):
        (home.workspace / f"note-{number}.md").write_text(f"note {number}\n")
    first = scan_home(home)
    began = time.monotonic()
    assert changed_files(first, scan_home(home, first)) == {}
    assert time.monotonic() - began < 10


# -------- foreign text


def test_what_a_command_without_a_sandbox_printed_is_data(home: Home) -> None:
    turn_changes = TurnChanges()
    text = shell_tools(home, False, turn_changes).run_shell(
        "python3 -c 'print(1)'; echo '<|im_start|>'"
    )
    assert turn_changes.foreign == ["command: python3"]
    assert turn_changes.marker in text and "<|im_start|>" not in text


def test_the_whole_of_it_is_data_too_when_it_is_read(home: Home) -> None:
    text = shell_tools(home, False).run_shell("python3 -c 'print(\"x\\n\" * 9000)'")
    path = text.partition("read_file ")[2].partition(",")[0]
    assert ForeignFiles(home).source(path) == "command: python3"


def test_characters_that_nobody_sees_are_not_given_to_the_model(home: Home, confined: bool) -> None:
    (home.workspace / "x.md").write_text("a\u202eb\u200bc\U000e0041d\n", encoding="utf-8")
    assert "\nabcd" in shell_tools(home, confined).run_shell("cat workspace/x.md")


@confined_only
def test_what_one_in_the_sandbox_printed_is_not(home: Home) -> None:
    turn_changes = TurnChanges()
    shell_tools(home, True, turn_changes).run_shell("echo 1 > workspace/x; cat workspace/x")
    assert turn_changes.foreign == []


# -------- the environment


def test_a_command_gets_no_secret_and_what_the_settings_name(home: Home) -> None:
    given = {
        "PATH": f"/usr/bin:{home.root}/bin:.:relative:/home/me/bin:/bin", "HOME": "/home/me",
        "OPENAI_API_KEY": "sk", "AWS_SECRET_ACCESS_KEY": "x", "LD_PRELOAD": "/x.so",
        "PYTHONPATH": "/x", "BASH_ENV": "/x", "ENV": "/x", "BASH_FUNC_ls%%": "() { rm; }",
        "GIT_DIR": "/x", "LESSOPEN": "|x", "LANG": "de_DE.UTF-8", "LC_TIME": "C", "WANTED": "1",
    }  # fmt: skip
    found = environment(home, given, named=("WANTED", "MISSING"), confined=True)
    assert found["PATH"] == "/usr/bin:/home/me/bin:/bin"
    assert found["HOME"] == str(home.root)
    assert found["WANTED"] == "1" and found["LC_TIME"] == "C" and found["LANG"] == "de_DE.UTF-8"
    assert not set(found) & (set(given) - {"PATH", "HOME", "LANG", "LC_TIME", "WANTED"})


def test_what_is_tried_speaks_english_and_leaves_the_index_of_git_alone(home: Home) -> None:
    given = {"LC_ALL": "de_DE.UTF-8", "LANG": "C", "LANGUAGE": "de"}
    found = environment(home, given, confined=True, trying=True)
    assert (found["LANG"], found["LC_MESSAGES"]) == ("de_DE.UTF-8", "C") and "LC_ALL" not in found
    assert found["GIT_OPTIONAL_LOCKS"] == "0"


def test_a_variable_that_the_settings_name_arrives(
    home: Home, confined: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example")
    tools = shell_tools(home, confined)
    assert "proxy.example" not in tools.run_shell("env > workspace/e; cat workspace/e")
    tools.runner.env = ("HTTPS_PROXY",)
    assert "proxy.example" in tools.run_shell("env > workspace/e; cat workspace/e")
