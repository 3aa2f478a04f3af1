"""`openclaw init` makes a home, and completes one without touching what is there."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from openclaw.cli.commands.init import chosen_folder
from openclaw.cli.main import run
from openclaw.config import Settings, load_settings
from openclaw.storage.home import Home
from openclaw.storage.new_home import create_home
from tests.fakes.command import CommandLine
from tests.fakes.files import write_files
from tests.fakes.needs import needs_git

claw = CommandLine()

GIT = shutil.which("git")


def git(root: Path, *words: str) -> str:
    done = subprocess.run(
        [GIT or "git", "-C", str(root), *words], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_a_new_home_has_all_files_and_says_so(tmp_path: Path) -> None:
    root = tmp_path / "new" / "home"
    out = claw("init", str(root))
    for name in ("workspace/SOUL.md", "memory/TODO.md", "openclaw.yaml", "sessions/", ".openclaw/"):
        assert f"created {name}\n" in out
        assert (root / name).exists()
    assert str(root) in out
    assert "next: openclaw" in out
    assert load_settings(Home(root)) == Settings()
    assert not [path for path in root.rglob("*") if path.name == "__pycache__"]


def test_a_second_init_changes_nothing_and_fills_gaps(tmp_path: Path) -> None:
    root = tmp_path / "home"
    claw("init")
    (root / "workspace" / "SOUL.md").write_text("mine", encoding="utf-8")
    (root / "memory" / "TODO.md").unlink()
    assert "created memory/TODO.md\n" in claw("init")
    assert (root / "workspace" / "SOUL.md").read_text(encoding="utf-8") == "mine"
    assert "nothing is missing" in claw("init")


@needs_git
def test_a_new_home_is_a_repository_with_one_commit_and_nothing_private(tmp_path: Path) -> None:
    root = tmp_path / "home"
    create_home(root, "# settings\n")
    (root / ".openclaw" / "index").mkdir()
    (root / ".openclaw" / "index" / "x").write_text("x", encoding="utf-8")
    assert git(root, "log", "--format=%an <%ae> %s").splitlines() == [
        "openclaw <openclaw@localhost> A new home"
    ]
    assert git(root, "status", "--porcelain") == ""
    tracked = git(root, "ls-files").splitlines()
    assert "workspace/SOUL.md" in tracked
    assert not [name for name in tracked if name.startswith(".openclaw")]


@needs_git
def test_the_users_own_files_are_not_committed(tmp_path: Path) -> None:
    root = tmp_path / "home"
    (root / "workspace").mkdir(parents=True)
    (root / "workspace" / "diary.md").write_text("private", encoding="utf-8")
    create_home(root)
    assert git(root, "status", "--porcelain") == "?? workspace/diary.md\n"


@needs_git
def test_a_home_in_another_repository_is_not_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outer, foreign = tmp_path / "outer", tmp_path / "foreign"
    for root in (outer, foreign):
        root.mkdir()
        git(root, "init", "-q")
    create_home(outer / "home")
    assert not (outer / "home" / ".git").exists()
    monkeypatch.setenv("GIT_DIR", str(foreign / ".git"))
    create_home(tmp_path / "own")
    monkeypatch.delenv("GIT_DIR")
    assert git(tmp_path / "own", "rev-list", "--count", "HEAD") == "1\n"
    assert not (foreign / ".git" / "index").exists()


def test_without_git_a_home_is_made_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "workspace/SOUL.md" in create_home(tmp_path / "home")
    assert not (tmp_path / "home" / ".git").exists()


def test_where_a_home_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    assert "cannot write" in claw.error("init", str(tmp_path / "file" / "home"), code=1)
    claw("init", str(tmp_path / "file"), code=1)


def test_the_folder_is_the_named_one_else_the_surrounding_home_else_this(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, here = tmp_path / "me", tmp_path / "here"
    user.mkdir()
    (here / "workspace").mkdir(parents=True)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(user))
    monkeypatch.setenv("OPENCLAW_HOME", "env")
    monkeypatch.chdir(here)
    assert chosen_folder(Path("named"), "flag") == here / "named"
    assert chosen_folder(None, "flag") == here / "flag"
    assert chosen_folder(None, None) == here / "env"
    monkeypatch.delenv("OPENCLAW_HOME")
    assert chosen_folder(None, None) == here
    monkeypatch.chdir(user)
    assert chosen_folder(None, None) == user / "openclaw"
    (here / "workspace" / "SOUL.md").write_text("soul", encoding="utf-8")
    monkeypatch.chdir(here / "workspace")
    assert chosen_folder(None, None) == here


def test_a_script_is_told_that_a_folder_is_full_of_something_else(tmp_path: Path) -> None:
    full = tmp_path / "project"
    full.mkdir()
    for name in ("README.md", "main.c", "Makefile"):
        (full / name).touch()
    claw("init", str(full))
    said = claw.err
    assert f"{full} holds other files already" in said and f'init "{full / "openclaw"}"\n' in said
    claw("init", str(full))  # it is one now
    assert not claw.err


def test_the_users_own_folder_becomes_a_home_only_with_a_yes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    assert claw.error("init", str(tmp_path), code=2).endswith("add --yes\n")
    assert not (tmp_path / "workspace").exists()
    claw("init", str(tmp_path), "--yes")


@pytest.mark.parametrize("names", [(), (".git",), (".obsidian", "a.png"), ("a.md", "b.md")])
def test_an_empty_folder_and_one_of_notes_are_not(names: tuple[str, ...], tmp_path: Path) -> None:
    root = tmp_path / "notes"
    root.mkdir()
    for name in names:
        (root / name).touch()
    assert run(["init", str(root)]) == 0


# -------- a vault of notes

NOTES = {
    ".obsidian/app.json": "{}",
    ".obsidian/plugins/it/notes.md": "The lighthouse of a plug-in.\n",
    ".trash/Old.md": "The lighthouse in the trash.\n",
    "AGENTS.md": "Write wikilinks.\n",
    "Projects/Sea.md": "# Sea\n\nThe lighthouse is white.\n",
    "attachments/a.png": "\x89PNG\0",
    "memory/Childhood.md": "The cat was called Misty.\n",
}


@pytest.fixture
def masker(tmp_path: Path) -> Path:
    """The folder that commands of a test take for the home."""
    return tmp_path / "home"


def make_vault(root: Path, files: dict[str, str]) -> dict[Path, bytes]:
    write_files(root, files)
    return {root / name: (root / name).read_bytes() for name in files}


def test_a_vault_becomes_a_home_as_it_is_and_its_notes_are_found(masker: Path) -> None:
    before = make_vault(masker, NOTES)
    out = claw("init")
    assert "created openclaw.yaml\n" in out and "created .openclaw/\n" in out
    assert "your notes are as they were; memory search finds " in out
    assert "holds other files" not in claw.err
    found = claw.json("memory", "search", "lighthouse")
    assert [passage["path"] for passage in found] == ["Projects/Sea.md"]
    assert before == {path: path.read_bytes() for path in before}


@needs_git
def test_the_repository_of_a_vault_keeps_its_index_and_its_work(masker: Path) -> None:
    files = {name: text for name, text in NOTES.items() if not name.startswith("memory/")}
    make_vault(masker, files | {".gitignore": ".trash/\n"})
    git(masker, "init", "-q")
    git(masker, "add", "Projects")
    said = claw("init")
    assert "created .git/" not in said and ".gitignore" not in said
    assert "is committed to the git repository that was here" in said
    claw("todo", "add", "paint the boat")
    claw("undo")
    assert git(masker, "ls-files").split() == ["Projects/Sea.md", "memory/TODO.md"]
    assert git(masker, "status", "--porcelain", "Projects", "AGENTS.md").splitlines() == [
        "A  Projects/Sea.md",
        "?? AGENTS.md",
    ]
    assert git(masker, "log", "--format=%s", "--", "Projects") == ""


def test_settings_that_are_there_are_left_alone(masker: Path) -> None:
    make_vault(masker, NOTES | {"openclaw.yaml": "bell: true\n"})
    assert run(["trust", "--yes"]) == 0
    assert run(["init", str(masker)]) == 0
    assert (masker / "openclaw.yaml").read_text() == "bell: true\n"


def test_a_file_with_the_name_of_a_folder_is_told_before_anything_is_written(masker: Path) -> None:
    make_vault(masker, {".obsidian/app.json": "{}", "skills": "of mine\n"})
    assert "skills is no folder, and a home has a folder of that name" in claw.error("init", code=1)
    assert sorted(path.name for path in masker.iterdir()) == [".obsidian", "skills"]
