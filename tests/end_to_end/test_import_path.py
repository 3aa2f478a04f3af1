"""No module comes from the folder that the program or one of its children is started in."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import openclaw
from openclaw.storage.program import python_command
from tests.data.sample import sample

TOP = Path(openclaw.__file__).resolve().parent.parent
# Packages of the standard library, of a dependency, and one that nobody has installed.
TAKEN = ("json", "re", "pathlib", "typer", "yaml", "readline", "tomllib_of_nobody")


def run(words: list[str], folder: Path) -> str:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture
def taken(tmp_path: Path) -> Path:
    """A home in which modules lie; each that is imported leaves a file."""
    (tmp_path / "workspace").mkdir()
    for name in TAKEN:
        (tmp_path / name).mkdir()
        told = f"open({str(tmp_path / 'imported')!r}, 'a').write(__name__)"
        (tmp_path / name / "__init__.py").write_text(told, "utf-8")
    return tmp_path


@pytest.mark.parametrize("path", sample([".", None, "", os.pathsep]))
def test_the_program_takes_no_module_from_the_home_it_is_started_in(
    taken: Path, path: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = [str(TOP), *([] if path is None else [path])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(entries))
    home = ["--home", str(taken)]
    assert "config" in run([sys.executable, "-m", "openclaw", *home, "--help"], taken)
    run([sys.executable, "-m", "openclaw", *home, "config"], taken)
    run([sys.executable, "-m", "openclaw", *home, "todo", "add", "water"], taken)
    assert not (taken / "imported").exists()


def test_a_clone_that_is_not_installed_runs_in_its_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", sysconfig.get_path("purelib"))  # with -S: without its .pth
    (tmp_path / "openclaw").symlink_to(TOP / "openclaw")
    (tmp_path / "json").mkdir()
    (tmp_path / "json" / "__init__.py").write_text("raise SystemExit('taken')", "utf-8")
    assert "config" in run([sys.executable, "-S", "-m", "openclaw", "--help"], tmp_path)


@pytest.mark.parametrize("path", sample([".", None, "", "further"]))
def test_a_child_finds_the_program_that_its_parent_runs_and_nothing_in_its_folder(
    taken: Path, path: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    if path is not None:
        monkeypatch.setenv("PYTHONPATH", path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    assert "commands" in run(python_command("pip", "help"), taken).casefold()
    assert run(python_command("openclaw", "--version"), taken).startswith("openclaw ")
    subprocess.run(
        python_command("openclaw.home.search_worker", str(taken)),
        cwd=taken,
        stdin=subprocess.DEVNULL,
        check=True,
    )
    assert not (taken / "imported").exists()


def test_words_reach_the_child_as_they_are(tmp_path: Path) -> None:
    program = tmp_path / "told.py"
    program.write_text("import sys; print(sys.argv[1:])", "utf-8")
    sys.path.append(str(tmp_path))
    try:
        assert run(python_command("told", "3", "", "-x"), tmp_path) == "['3', '', '-x']\n"
    finally:
        sys.path.remove(str(tmp_path))
