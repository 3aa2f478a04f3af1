"""What is run of a home is what the yes was said to, whatever is exchanged meanwhile."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from openclaw.config.hook_settings import Hook
from openclaw.hooks.runner import run_hook
from openclaw.security.program_files import copied_files, find_programs
from openclaw.security.program_trust import make_trust_request
from openclaw.storage.home import Home
from openclaw.storage.scratch import PREFIX, STALE_SECONDS, scratch
from tests.fakes.files import exchanged, write_file
from tests.fakes.talk import new_home

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="scripts for sh")
GOOD, BAD = "#!/bin/sh\necho good\n", "#!/bin/sh\necho bad; touch bad_ran workspace/bad_ran\n"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(new_home(tmp_path / "home"))
    for path in ("check.sh", "hooks/check.sh", "workspace/lib/check.sh", "workspace/check.sh"):
        write_file(home.root / path, GOOD).chmod(0o755)
    return home


def hooked(home: Home, run: str | Sequence[str], cwd: str = "") -> str:
    """What a hook says that was trusted before its files were exchanged."""
    command = run if isinstance(run, str) else tuple(run)
    now = find_programs(home, [command])
    assert not now.trouble
    for path in home.root.rglob("check.sh"):
        path.write_text(BAD, "utf-8")
    (home.root / "Makefile").write_text("x:\n\ttouch bad_ran workspace/bad_ran", "utf-8")
    reply = run_hook(home, Hook("before_turn", command, cwd=cwd), {}, now.held)
    assert not list(home.root.rglob("bad_ran"))
    return reply.text.strip() or reply.failed


@pytest.mark.parametrize("cwd", ["", "."])
@pytest.mark.parametrize(
    "run",
    [
        "sh ./check.sh",
        "sh check.sh",
        "./check.sh",
        ["./check.sh"],
        ["sh", "check.sh"],
        ["hooks/check.sh"],
        "hooks/check.sh",
        "sh $OPENCLAW_HOME/hooks/check.sh",
        'sh "$OPENCLAW_HOME"/hooks/check.sh',
        'sh "${OPENCLAW_HOME}/hooks/check.sh"',
        "cd $OPENCLAW_HOME && sh hooks/check.sh",
        "cd $OPENCLAW_HOME/hooks && ./check.sh",
        "sh -c 'sh $PWD/hooks/check.sh'",
        "sh {home}/check.sh",
        ["sh", "{home}/hooks/check.sh"],
        "sh workspace/lib/check.sh",
        "sh ./workspace/check.sh | cat",
        "cd workspace/lib && ./check.sh",
        "cd workspace/lib/ && sh ./check.sh",
        'sh "workspace/lib/check.sh"',
        "true;workspace/check.sh",
    ],
)
def test_what_is_exchanged_after_the_hash_is_not_run(
    home: Home, run: str | list[str], cwd: str
) -> None:
    filled = (
        run.replace("{home}", str(home.root))
        if isinstance(run, str)
        else [word.replace("{home}", str(home.root)) for word in run]
    )
    assert hooked(home, filled, cwd) == "good"


@pytest.mark.parametrize(
    "run",
    [
        "sh workspace/../hooks/check.sh",
        "sh memory/../check.sh",
        "sh -eworkspace/check.sh",
        "sh {home}/workspace/../hooks/check.sh",
        "cd hooks && ./check.sh",
        "cd ./hooks; sh check.sh",
    ],
)
def test_nor_by_a_long_way(home: Home, run: str) -> None:
    said = hooked(home, run.replace("{home}", str(home.root)))
    assert said == "good" or "has to be written as a path from the home" in said


def test_files_exchanged_all_the_time_never_run(home: Home) -> None:
    bad = write_file(home.root / "notes.md", BAD)
    hook = Hook("before_turn", "sh ./check.sh")
    wanted = find_programs(home, [hook.run]).hash
    said: list[str] = []
    with exchanged(home.root / "check.sh", bad):
        for number in range(6_000):  # on a busy machine it is long never the right file
            if number > 60 and said:
                break
            now = find_programs(home, [hook.run])
            if now.hash == wanted:  # as `openclaw.security.trust` compares it
                said.append(run_hook(home, hook, {}, now.held).text.strip())
    assert said and set(said) == {"good"}


def test_what_lies_beside_a_program_comes_along(home: Home) -> None:
    for folder in ("hooks", "workspace/lib"):
        (home.root / folder / "words.py").write_text("said = 'good'\n", "utf-8")
        (home.root / folder / "one.py").write_text("import words; print(words.said)\n", "utf-8")
        assert hooked(home, [sys.executable, f"{folder}/one.py"]) == "good"


def test_a_hook_works_with_the_real_home(home: Home) -> None:
    (home.root / "MEMO.md").write_text("read\n", "utf-8")
    assert hooked(home, "date > workspace/new.txt; cat MEMO.md") == "read"
    assert (home.workspace / "new.txt").exists()
    assert hooked(home, "pwd") != str(home.root)
    assert hooked(home, "pwd", cwd=".") == str(home.root)


def test_a_folder_of_the_home_by_its_whole_path_is_a_copy(home: Home) -> None:
    folder = home.workspace / "lib"
    hook = Hook("before_turn", "./check.sh; pwd", cwd=str(folder))
    now = make_trust_request(home, [hook])
    assert "workspace/lib/check.sh" in now.programs.files
    (folder / "check.sh").write_text(BAD, "utf-8")
    said = run_hook(home, hook, {}, now.programs.held).text.split()
    assert said[0] == "good" and not Path(said[1]).is_relative_to(home.root)
    all_of_it = Hook("before_turn", "./check.sh", cwd=str(home.workspace))
    assert make_trust_request(home, [all_of_it]).mark == ""


def test_settings_in_the_home_s_top_are_those_of_the_yes(home: Home) -> None:
    (home.root / "Makefile").write_text("x:\n\t@echo good\n", "utf-8")
    assert hooked(home, "make -s x") == "good"


def test_a_linked_program_and_folder_are_what_they_were(home: Home, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "x.sh").write_text(GOOD, "utf-8")
    (home.root / "hooks" / "x.sh").symlink_to(tmp_path / "elsewhere" / "x.sh")
    (home.root / "hooks" / "more").symlink_to(tmp_path / "elsewhere")
    assert hooked(home, "sh hooks/x.sh && sh hooks/more/x.sh") == "good\ngood"


def test_a_pipe_in_the_place_of_a_program_stops_nothing(home: Home) -> None:
    os.mkfifo(home.root / "hooks" / "pipe")
    assert hooked(home, "sh hooks/check.sh") == "good"


def test_nothing_of_a_copy_is_left(home: Home) -> None:
    with copied_files(home.root, find_programs(home, ["sh check.sh"]).held) as copies:
        assert copies.folder.parent.stat().st_mode & 0o077 == 0
        assert not copies.folder.is_relative_to(home.root)
    assert not copies.folder.parent.exists() and (home.root / "workspace").is_dir()


@pytest.mark.parametrize("name", ["XDG_RUNTIME_DIR", "TMPDIR"])
def test_copies_do_not_lie_in_the_home(
    home: Home, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, str(home.root))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with scratch(home.root) as folder:
        assert not folder.is_relative_to(home.root)


def test_what_a_killed_process_left_goes_after_a_day(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    left, runs = tmp_path / f"{PREFIX}999999999-x", tmp_path / f"{PREFIX}{os.getpid()}-x"
    for folder in (left, runs):
        folder.mkdir()
        os.utime(folder, (1, folder.stat().st_mtime - 2 * STALE_SECONDS))
    with scratch(home.root):
        assert not left.exists() and runs.exists()
