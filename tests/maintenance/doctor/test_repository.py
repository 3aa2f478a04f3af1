"""The doctor finds what is wrong with a home's repository, and mends what can be mended."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from openclaw.storage.git import Git
from openclaw.storage.home import Home
from tests.fakes.git_home import copy_home, git
from tests.maintenance.doctor.test_checkup import kept, look, put, repaired

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="no git here")
WHO = ("-c", "user.name=a", "-c", "user.email=a@b.test")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(copy_home(tmp_path / "home"))


def troubles(home: Home, *, fix: bool = False, deep: bool = False) -> list[str]:
    return [r.found for r in look(home, "git", fix=fix, deep=deep) if r.state != "ok"]


def notes(home: Home) -> list[str]:
    return [r.found for r in look(home, "git") if r.state == "ok"]


def mend(home: Home) -> str:
    """Repair the one trouble; then there is none."""
    assert len(troubles(home)) == 1
    done = [r.fixed for r in look(home, "git", fix=True) if r.fixed]
    assert troubles(home) == []
    return "; ".join(done)


def commit(home: Home, path: str, text: str) -> None:
    put(home, path, text)
    Git(home.root).run("add", "--", path)
    Git(home.root).run(*WHO, "commit", "--quiet", "-m", f"write {path}")


def test_a_sound_repository_is_told_with_its_branch(home: Home) -> None:
    assert notes(home) == ["the home is a repository, on main"]


def test_a_home_without_a_repository_is_told_how_to_get_one(home: Home) -> None:
    shutil.rmtree(home.root / ".git")
    (result,) = look(home, "git", fix=True)
    assert result.state == "warning" and "openclaw init" in result.advice
    assert not (home.root / ".git").exists()


def test_without_git_its_absence_is_told(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert troubles(home) == ["git is not installed"]


def test_a_detached_head_is_a_note(home: Home) -> None:
    Git(home.root).run("checkout", "--quiet", "--detach")
    assert troubles(home) == [] and "detached HEAD" in notes(home)[0]


def test_a_repository_without_a_commit_is_sound(home: Home) -> None:
    shutil.rmtree(home.root / ".git")
    Git(home.root).run("init", "--quiet")
    assert troubles(home) == []


def test_an_old_lock_is_taken_away_and_a_young_one_left(home: Home) -> None:
    lock = put(home, ".git/index.lock", "")
    assert [t for t in troubles(home) if "gone" in t] == []
    os.utime(lock, (time.time() - 700,) * 2)
    ref = put(home, ".git/refs/heads/main.lock", "")
    os.utime(ref, (time.time() - 700,) * 2)
    assert "index.lock" in mend(home)
    assert not lock.exists() and not ref.exists()
    assert set(kept(home)) == {".git/index.lock", ".git/refs/heads/main.lock"}


def test_what_is_not_merged_yet_is_told(home: Home) -> None:
    git = Git(home.root)
    commit(home, "memory/a.md", "one\n")
    git.run("checkout", "--quiet", "-b", "other")
    commit(home, "memory/a.md", "two\n")
    git.run("checkout", "--quiet", "main")
    commit(home, "memory/a.md", "three\n")
    assert git.says(*WHO, "merge", "other") == ""
    before = (home.memory / "a.md").read_bytes()
    found = troubles(home, fix=True)
    assert "not merged yet: memory/a.md" in found
    assert any(text.startswith("a merge is not finished") for text in found)
    assert (home.memory / "a.md").read_bytes() == before


@pytest.mark.parametrize("mark", ["rebase-merge", "BISECT_LOG", "CHERRY_PICK_HEAD"])
def test_what_turns_wait_for_is_told(home: Home, mark: str) -> None:
    put(home, f".git/{mark}", Git(home.root).says("rev-parse", "HEAD") + "\n")
    assert "turns are committed after it" in troubles(home)[0]


def test_private_files_that_git_does_not_ignore_are_ignored(home: Home) -> None:
    put(home, ".gitignore", "*.pyc")
    (home.private / ".gitignore").unlink(missing_ok=True)
    assert "private" in troubles(home)[0]
    mend(home)
    text = (home.root / ".gitignore").read_text("utf-8")
    assert text.startswith("*.pyc\n") and ".openclaw/\n" in text
    assert kept(home) == {".gitignore": b"*.pyc"}


def test_private_files_that_git_has_are_taken_out_of_it(home: Home) -> None:
    path = put(home, ".openclaw/secrets.json", "{}")
    Git(home.root).run("add", "--force", ".openclaw/secrets.json")
    Git(home.root).run(*WHO, "commit", "--quiet", "-m", "oh")
    (result,) = [r for r in look(home, "git") if r.state != "ok"]
    assert "have the secrets in it replaced" in result.advice
    mend(home)
    assert path.exists() and ".git/index" in kept(home)
    assert Git(home.root).says("ls-files", ".openclaw") == ""


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("HEAD", b""),
        ("HEAD", b"\0" * 41),
        ("HEAD", b"rubbish\n"),
        ("refs/heads/main", b""),
        ("refs/heads/main", b"\0" * 41),
        ("refs/heads/main", b"1" * 40 + b"\n"),
    ],
)
def test_a_head_that_a_lost_power_supply_left_empty_is_written_again(
    home: Home, name: str, damage: bytes
) -> None:
    commit(home, "memory/a.md", "one\n")
    head = Git(home.root).says("rev-parse", "HEAD")
    put(home, f".git/{name}", damage)
    assert "git has no last commit" in repaired(home, "git").found
    assert Git(home.root).says("rev-parse", "HEAD") == head
    assert kept(home)[f".git/{name}"] == damage


def test_a_missing_head_is_written_again(home: Home) -> None:
    (home.root / ".git" / "HEAD").unlink()
    repaired(home, "git")
    assert notes(home) == ["the home is a repository, on main"]


def test_a_missing_head_is_on_the_branch_of_the_last_checkout(home: Home) -> None:
    git = Git(home.root)
    git.run("checkout", "--quiet", "-b", "work")
    commit(home, "memory/a.md", "one\n")
    (home.root / ".git" / "HEAD").unlink()
    repaired(home, "git")
    assert notes(home) == ["the home is a repository, on work"]


def test_a_head_that_nobody_knows_is_only_told(home: Home) -> None:
    git = Git(home.root)
    git.run("branch", "other")
    git.run("checkout", "--quiet", "--detach")
    head = put(home, ".git/HEAD", b"")
    assert len(troubles(home, fix=True)) == 1 and head.read_bytes() == b""


def test_a_branch_whose_newest_commit_was_lost_goes_back_to_the_one_before(home: Home) -> None:
    first = Git(home.root).says("rev-parse", "HEAD")
    commit(home, "memory/a.md", "one\n")
    newest = Git(home.root).says("rev-parse", "HEAD")
    lost = home.root / ".git" / "objects" / newest[:2] / newest[2:]
    lost.chmod(0o600)
    lost.write_bytes(b"")
    repaired(home, "git")
    assert Git(home.root).says("rev-parse", "HEAD") == first
    assert (home.memory / "a.md").read_text("utf-8") == "one\n"


def test_missing_objects_are_found_when_it_may_take_its_time(home: Home) -> None:
    commit(home, "memory/a.md", "one\n")
    blob = Git(home.root).says("rev-parse", "HEAD:memory/a.md")
    (home.root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    assert troubles(home) == []
    assert "not whole" in troubles(home, deep=True)[0]


def test_a_repository_that_git_refuses_is_told(
    home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put(home, ".git/config", "[core\n")
    assert "git cannot use the repository" in troubles(home)[0]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
def test_a_home_of_another_user_is_told(home: Home) -> None:
    for path in (home.root, home.root / ".git"):
        os.chown(path, 12345, 12345)
    (result,) = [r for r in look(home, "git") if r.state != "ok"]
    assert "another user's" in result.found and "safe.directory" in result.advice


def test_a_linked_worktree_is_a_repository(home: Home, tmp_path: Path) -> None:
    git(home.root, "worktree", "add", "--quiet", "../w")
    linked = Home(tmp_path / "w")
    assert troubles(linked) == [] and "on w" in notes(linked)[0]
    ref = home.root / ".git" / "refs" / "heads" / "w"
    head = ref.read_bytes()
    ref.write_bytes(b"")
    look(linked, "git", fix=True)
    assert ref.read_bytes() == head
    assert kept(linked) == {"elsewhere/refs/heads/w": b""}
    lock = put(home, ".git/refs/heads/w.lock", "")
    os.utime(lock, (time.time() - 700,) * 2)
    assert "w.lock" in mend(linked)
