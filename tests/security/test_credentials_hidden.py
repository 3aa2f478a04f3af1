"""Files with credentials are found wherever they lie, and hidden from commands."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from openclaw.security import credentials as module
from openclaw.security.credentials import find_credentials
from openclaw.storage.home import Home
from openclaw.tools.shell.home_state import changed_files, drop_setuid, scan_home
from openclaw.tools.shell.process import CommandLimits
from openclaw.tools.shell.shell import ProgramCall, Runner, ShellTools
from openclaw.types import ToolProblem, TurnChanges
from tests.fakes.needs import confined_only

FOLDERS = (".", ".git", "workspace", "workspace/node_modules/a", "workspace/venv", "memory/.x")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    root = tmp_path.resolve() / "home"
    for folder in FOLDERS:
        write(root / folder / ".env", "WORD=geheim\n")
    return Home(root)


def write(path: Path, text: str = "x\n") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def found(home: Home) -> set[str]:
    return {path.relative_to(home.root).as_posix() for path in find_credentials(home.root).paths}


def test_they_are_found_in_every_folder(home: Home) -> None:
    write(home.workspace / ".ssh/config")
    assert found(home) == {
        *(Path(folder, ".env").as_posix() for folder in FOLDERS), "workspace/.ssh",
    }  # fmt: skip


def test_a_new_one_is_found_in_a_folder_that_was_looked_at_before(home: Home) -> None:
    folder = home.workspace / "old"
    write(folder / "a.md")
    for each in (folder, home.workspace, home.root):
        os.utime(each, (1, 1))
    assert "workspace/old/b.pem" not in found(home)
    write(folder / "b.pem")
    assert "workspace/old/b.pem" in found(home)
    (folder / "b.pem").rename(folder / "c.txt")
    assert "workspace/old/b.pem" not in found(home)


def test_a_folder_of_many_counts_as_a_whole_but_no_main_folder_of_the_home(home: Home) -> None:
    for number in range(30):
        write(home.workspace / f"certs/{number}.pem")
        write(home.workspace / f"{number}.key")
    names = found(home)
    assert "workspace/certs" in names and "workspace/certs/1.pem" not in names
    assert "workspace" not in names and "workspace/1.key" in names


@confined_only
def test_no_command_sees_them(home: Home) -> None:
    for number in range(3_000):
        write(home.workspace / f"certs/{number}.pem", "geheim\n")
    runner = Runner(home, TurnChanges(), timeout=10, limits=CommandLimits())
    for unasked in (True, False):
        order = ProgramCall(("/bin/sh", "-c", "cat workspace/certs/7.pem; grep -r geheim ."), "sh")
        text = (runner.try_out if unasked else runner.run)(order) or ""
        assert "WORD" not in text and "\ngeheim" not in text and "Exit code" in text


@confined_only
def test_too_many_to_hide_are_refused_with_the_name_of_their_folder(home: Home) -> None:
    for number in range(600):
        write(home.workspace / f"apps/{number}/.env")
    runner = Runner(home, TurnChanges(), timeout=10, limits=CommandLimits())
    with pytest.raises(ToolProblem, match="most of them in workspace/apps, and only 500 can"):
        runner.run(ProgramCall(("/bin/sh", "-c", "ls"), "sh"))


@confined_only
def test_where_not_all_are_known_nothing_runs_unasked(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home.workspace / "notes.md")
    tools = ShellTools(Runner(home, TurnChanges()))
    line = "cat workspace/notes.md workspace/node_modules/a/.env"
    text = tools.try_shell(line)
    assert text and "\nx\n" in text and "geheim" not in text
    monkeypatch.setattr(module, "MAX_ENTRIES", 3)
    assert tools.try_shell(line) is None


def test_in_a_home_of_too_many_files_only_what_a_command_touched_is_a_change(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(10):
        write(home.workspace / f"{number}.md")
    monkeypatch.setattr("openclaw.tools.paths.MAX_FILES", 9)
    time.sleep(0.05)
    before = scan_home(home)
    write(home.workspace / "00.md")
    assert changed_files(before, scan_home(home, before)) == {"workspace/00.md": None}
    before = scan_home(home)
    (home.workspace / "00.md").unlink()
    assert changed_files(before, scan_home(home, before)) == {"workspace/00.md": b"x\n"}


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
def test_a_file_is_disarmed_where_the_system_cannot_leave_links_alone(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = home.workspace / "program"
    write(program)
    program.chmod(0o4755)
    change = Path.chmod

    def chmod(path: Path, mode: int, *, follow_symlinks: bool = True) -> None:
        if not follow_symlinks:
            raise NotImplementedError("chmod: follow_symlinks unavailable on this platform")
        change(path, mode)

    monkeypatch.setattr(Path, "chmod", chmod)
    drop_setuid(scan_home(home))
    assert program.stat().st_mode & 0o7777 == 0o755
