"""`openclaw skills install` from a git repository; nothing of it runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from openclaw.errors import OpenclawError
from openclaw.skills import sources
from openclaw.skills.sources import Origin, read_origin
from tests.fakes.files import write_files
from tests.fakes.needs import needs_git, posix
from tests.fakes.skill_home import SKILL, Claw, in_git, repository


@needs_git
def test_a_repository_is_installed_at_its_commit(claw: Claw, weather: Path) -> None:
    repo = repository(weather.rename(weather.parent / "weather.git"))
    commit = in_git(repo, "rev-parse", "HEAD")
    claw("install", str(repo), "--yes")
    assert sorted(claw.skills()) == ["weather/SKILL.md", "weather/scripts/run.sh"]
    assert claw.sources()["weather"]["commit"] == commit


@needs_git
def test_branch_commit_and_folder_are_named_after_the_url(claw: Claw, tmp_path: Path) -> None:
    files = {"skills/a/SKILL.md": SKILL.format("a"), "skills/b/SKILL.md": SKILL.format("b")}
    repo = repository(write_files(tmp_path / "many.git", files))
    first = in_git(repo, "rev-parse", "HEAD")
    in_git(repo, "checkout", "--quiet", "-b", "dev/x")
    write_files(repo, {"skills/a/new.md": "x"})
    in_git(repo, "add", "--all")
    in_git(repo, "commit", "--quiet", "--message", "two")
    claw("install", str(repo), "--yes", code=2)
    assert "b  (skills/b)" in claw.err
    claw("install", f"{repo}#dev/x:skills/a", "--yes")
    assert sorted(claw.skills()) == ["a/SKILL.md", "a/new.md"]
    claw("install", f"{repo}#{first}:skills/a", "--yes", "--force")
    assert sorted(claw.skills()) == ["a/SKILL.md"]
    claw("install", f"{repo}#main", "--yes", "--name", "b")
    claw("install", f"{repo}#main:skills/c", "--yes", code=2)
    assert "no folder skills/c" in claw.err
    claw("install", f"{repo}#nowhere", "--yes", code=1)
    assert "cannot be fetched" in claw.err
    claw("install", f"{repo}#main:../up", "--yes", code=7)
    assert not list(claw.home.skills.glob(".staging*"))


@needs_git
@posix
def test_nothing_of_a_repository_runs(claw: Claw, weather: Path, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    write_files(weather, {".gitattributes": "* filter=evil\n"})
    repo = repository(weather.rename(weather.parent / "weather.git"))
    template = write_files(
        tmp_path / "template", {"hooks/post-checkout": f"#!/bin/sh\ntouch {mark}\n"}
    )
    (template / "hooks/post-checkout").chmod(0o755)
    config = tmp_path / "user" / "gitconfig"
    config.write_text(
        f"[init]\n\ttemplateDir = {template}\n[core]\n\thooksPath = {template}/hooks\n"
    )
    claw("install", str(repo), "--yes")
    assert not mark.exists()


@needs_git
@posix
def test_links_in_a_repository_are_refused(claw: Claw, weather: Path, tmp_path: Path) -> None:
    outside = write_files(tmp_path / "outside", {"SKILL.md": SKILL.format("outside")})
    (weather / "key").symlink_to(outside / "SKILL.md")
    files = weather.rename(weather.parent / "weather.git")
    write_files(files, {"deep/weather/SKILL.md": SKILL.format("deep")})
    (files / "way").symlink_to(outside)
    repo = repository(files)
    claw("install", str(repo), "--yes", code=7)
    claw("install", f"{repo}#main:way", "--yes", code=7)
    assert not claw.home.skills.exists()


@needs_git
def test_a_tree_that_names_its_files_millions_of_times_is_refused(
    claw: Claw, tmp_path: Path
) -> None:
    """A git bomb: each tree names the one below it ten times."""
    repo = write_files(tmp_path / "bomb.git", {})
    repo.mkdir()
    in_git(repo, "init", "--quiet")
    (tmp_path / "blob").write_text("x")
    kind, name = "100644 blob", in_git(repo, "hash-object", "-w", str(tmp_path / "blob"))
    for _ in range(8):
        listing = "".join(f"{kind} {name}\td{n}\n" for n in range(10))
        words = ["git", "-C", str(repo), "mktree"]
        made = subprocess.run(words, input=listing, check=True, capture_output=True, text=True)
        kind, name = "040000 tree", made.stdout.strip()
    commit = in_git(repo, "commit-tree", "-m", "x", name)
    in_git(repo, "update-ref", "refs/heads/main", commit)
    claw("install", str(repo), "--yes", code=7)
    assert "too large" in claw.err
    assert not claw.home.skills.exists()


@needs_git
def test_git_that_takes_too_long_is_ended(tmp_path: Path, weather: Path) -> None:
    repo = repository(weather.rename(weather.parent / "weather.git"))
    with pytest.raises(OpenclawError, match="took longer"):
        sources.fetch(Origin("git", str(repo)), tmp_path / "into", seconds=-1.0)


def test_without_git_the_error_says_so(
    claw: Claw, weather: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    weather.rename(weather.parent / "weather.git")
    monkeypatch.setenv("PATH", str(tmp_path))
    claw("install", str(weather.parent / "weather.git"), "--yes", code=1)
    assert "install git" in claw.err


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://x.example/o/r", "https://x.example/o/r"),
        ("https://me:secret@x.example/o/r.git#v1", "https://x.example/o/r.git#v1"),
        ("https://secret@x.example/o/r/", "https://x.example/o/r"),
        ("ssh://git:secret@x.example/o/r#:a/b", "ssh://git@x.example/o/r#:a/b"),
        ("git@x.example:o/r.git#main:skills/a", "git@x.example:o/r.git#main:skills/a"),
        ("https://x.example/o/r/tree/main/skills/a", "https://x.example/o/r#main:skills/a"),
        ("https://x.example/o/r/-/tree/v1", "https://x.example/o/r#v1"),
    ],
)
def test_a_git_url_is_understood_and_kept_without_its_password(
    tmp_path: Path, text: str, shown: str
) -> None:
    origin = read_origin(text, tmp_path)
    assert (origin.kind, str(origin)) == ("git", shown)
    assert str(read_origin(shown, tmp_path)) == shown
