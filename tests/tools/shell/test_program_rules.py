"""Repositories in which git, only asked to read, would start a program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from openclaw.storage.home import Home
from openclaw.tools.shell.program_rules import git_doubt, settings_doubt
from openclaw.tools.shell.read_only import read_line
from openclaw.tools.shell.shell import environment
from tests.data.shell_lines import READS

PLAIN = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
# a comment
[user]
\tname = Ann
\temail = ann@example.org
[remote "origin"]
\turl = https://example.org/x.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
\tremote = origin
\tmerge = refs/heads/main
"""


def git(folder: Path, *words: str) -> None:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    named = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    subprocess.run(
        ["git", *named, *words], cwd=folder, env=env, check=True, capture_output=True, timeout=30
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    root = tmp_path / "home"
    (root / "memory").mkdir(parents=True)
    (root / "notes.md").write_text("milk\n")
    git(root, "init", "-q", "-b", "main", ".")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    git(root, "tag", "v1")
    return root


def test_a_repository_as_git_makes_it_raises_no_doubt(home: Path) -> None:
    assert git_doubt(home, home) == ""
    assert git_doubt(home / "memory", home) == ""
    assert settings_doubt(PLAIN) == ""
    assert settings_doubt(PLAIN.replace("\n", "\r\n")) == ""


def test_a_folder_without_a_repository_raises_no_doubt(tmp_path: Path) -> None:
    assert git_doubt(tmp_path, tmp_path) == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[core]\n\tfsmonitor = ./x", "core.fsmonitor"),
        ("[core] fsmonitor = ./x", "cannot be read"),
        ("[CORE]\n\tFSMonitor = ./x", "core.fsmonitor"),
        ("[core]\n\tpager = ./x", "core.pager"),
        ("[core]\n\thooksPath = x", "core.hookspath"),
        ("[core]\n\tsshCommand = ./x", "core.sshcommand"),
        ("[core]\n\tworktree = /", "core.worktree"),
        ("[core]\n\tattributesFile = x", "core.attributesfile"),
        ('[filter "x"]\n\tclean = ./x', "filter.x.clean"),
        ("[filter.x]\n\tclean = ./x", "filter.x.clean"),
        ('[diff "x"]\n\ttextconv = ./x', "diff.x.textconv"),
        ('[diff "x"]\n\tcommand = ./x', "diff.x.command"),
        ("[diff]\n\texternal = ./x", "diff.external"),
        ("[gpg]\n\tprogram = ./x", "gpg.program"),
        ("[log]\n\tshowSignature", "log.showsignature"),
        ("[format]\n\tpretty = %G?", "format.pretty"),
        ('[pretty]\n\tx = "%G?"', "pretty.x"),
        ("[include]\n\tpath = /x", "include.path"),
        ('[includeIf "gitdir:/"]\n\tpath = /x', "includeif.gitdir:/.path"),
        ('[remote "x"]\n\tpromisor = true', "remote.x.promisor"),
        ('[remote "x"]\n\tuploadpack = ./x', "remote.x.uploadpack"),
        ("[extensions]\n\tpartialClone = x", "extensions.partialclone"),
        ("[extensions]\n\tworktreeConfig = true", "extensions.worktreeconfig"),
        ('[submodule "x"]\n\tactive = true', "submodule.x.active"),
        ("[user]\n\tname = a\\\n[core]", "cannot be read"),
        ('[user "a\\"]\n\tname = b', "cannot be read"),
        ("name = x", "cannot be read"),
        ("[user]\n\tname = x\n[core", "cannot be read"),
        ("\ufeff[user]\n\tname = x", "cannot be read"),
    ],
)
def test_settings_that_may_name_a_program_raise_doubt(text: str, reason: str) -> None:
    assert reason in settings_doubt(f"{PLAIN}{text}\n" if text[0] == "[" else f"{text}\n")


def test_a_repository_above_the_home_raises_doubt(home: Path) -> None:
    assert "outside" in git_doubt(home / "memory", home / "memory")


def test_data_that_lie_elsewhere_raise_doubt(home: Path) -> None:
    (home / "inner").mkdir()
    (home / "inner" / ".git").write_text("gitdir: ../.git\n")
    assert "elsewhere" in git_doubt(home / "inner", home)
    (home / ".git" / "commondir").write_text("..\n")
    assert "elsewhere" in git_doubt(home, home)


def test_a_folder_that_poses_as_a_repository_raises_doubt(home: Path) -> None:
    (home / "memory" / "objects").mkdir()
    (home / "memory" / "HEAD").write_text("ref: refs/heads/main\n")
    assert "poses" in git_doubt(home / "memory", home)


def test_a_repository_that_holds_another_raises_doubt(home: Path) -> None:
    git(home, "init", "-q", "inner")
    git(home / "inner", "commit", "-q", "--allow-empty", "-m", "first")
    assert git_doubt(home, home) == ""
    git(home, "-c", "advice.addEmbeddedRepo=false", "add", "inner")
    assert "holds others" in git_doubt(home, home)


def test_settings_in_the_home_raise_doubt(home: Path) -> None:
    (home / ".gitconfig").write_text("[diff]\n\texternal = ./x\n")
    assert "settings of git" in git_doubt(home, home)


@pytest.mark.skipif(sys.platform == "win32", reason="the lines are for POSIX shells")
def test_the_git_lines_that_only_read_change_nothing_and_start_nothing(home: Path) -> None:
    trap = home.parent / "trap"
    trap.write_text(f"#!/bin/sh\necho ran >> {home.parent}/ran\n")
    trap.chmod(0o755)
    for hook in ("post-index-change", "pre-commit", "reference-transaction"):
        (home / ".git" / "hooks" / hook).write_text(trap.read_text())
        (home / ".git" / "hooks" / hook).chmod(0o755)
    env = environment(Home(home), os.environ, confined=False, reading=True)
    os.utime(home / "notes.md", (1, 1))  # what git has noted of the file is out of date
    (home / "new.md").write_text("new")
    before = {path: path.stat().st_mtime_ns for path in home.parent.rglob("*")}
    lines = [line for line in READS if line.startswith("git ")]
    assert len(lines) > 30
    for line in lines:
        reading = read_line(line, home=str(home), git=lambda at: git_doubt(home / at, home))
        assert reading.safe, line
        subprocess.run(["sh", "-c", line], cwd=home, env=env, capture_output=True, timeout=30)
    assert {path: path.stat().st_mtime_ns for path in home.parent.rglob("*")} == before


@pytest.mark.skipif(sys.platform == "win32", reason="the lines are for POSIX shells")
def test_git_would_start_what_the_settings_name(home: Path) -> None:
    """Why settings are looked at: no variable keeps git from it."""
    ran = home.parent / "ran"
    (home.parent / "trap").write_text(f"#!/bin/sh\n: > '{ran}'\ncat\n")
    (home.parent / "trap").chmod(0o755)
    (home / ".gitattributes").write_text("* filter=x\n")
    git(home, "config", "filter.x.clean", str(home.parent / "trap"))
    (home / "notes.md").write_text("mild\n")
    env = environment(Home(home), os.environ, confined=False, reading=True)
    subprocess.run(["git", "status"], cwd=home, env=env, capture_output=True, timeout=30)
    assert ran.exists()
    assert git_doubt(home, home) == "the repository sets filter.x.clean"
