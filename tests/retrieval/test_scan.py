"""Which files of a home are indexed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from openclaw.retrieval.database import Stamp
from openclaw.retrieval.scan import IgnoreCache, IndexOptions, Scan, find_files
from openclaw.storage.home import Home
from tests.fakes.files import write_files
from tests.fakes.needs import posix


@pytest.fixture
def home(tmp_path: Path) -> Path:
    root = tmp_path / "home"
    for name in ("memory", "workspace"):
        (root / name).mkdir(parents=True)
    return root


def put(root: Path, *paths: str, text: str = "x\n") -> None:
    write_files(root, dict.fromkeys(paths, text))


def found(root: Path, *paths: str, sessions: bool = False) -> list[str]:
    options = IndexOptions(tuple(paths), sessions)
    return sorted(file.path for file in find_files(Home(root), options))


def problems(root: Path, *paths: str) -> dict[str, str]:
    scan = Scan(Home(root), IndexOptions(paths))
    assert list(scan.files()) is not None
    return dict(scan.problems)


def test_memory_and_workspace_are_found_with_all_their_folders(home: Path) -> None:
    put(home, "memory/MEMORY.md", "memory/inbox/a.md", "workspace/SOUL.md", "workspace/a/b/c.py")
    put(home, "skills/x/SKILL.md", "openclaw.yaml", "sessions/one.json", "notes.md")
    assert found(home) == [
        "memory/MEMORY.md",
        "workspace/SOUL.md",
        "workspace/a/b/c.py",
    ]


def test_a_home_without_folders_has_no_files(tmp_path: Path) -> None:
    assert found(tmp_path) == []


def test_a_found_file_says_where_it_is_and_what_it_looks_like(home: Path) -> None:
    put(home, "memory/a.md", text="hello\n")
    (file,) = find_files(Home(home), IndexOptions())
    assert file.name == str(home / "memory/a.md")
    assert file.stat.st_size == 6


def test_files_may_be_asked_for_by_their_paths(home: Path) -> None:
    put(home, "memory/a.md", "memory/b.md", "workspace/b/c.md", "sessions/b.json", "notes/b.md")
    options = IndexOptions(("notes/b.md", "notes"), sessions=True)
    asked = find_files(Home(home), options, lambda path: path.endswith("b.md"))
    assert sorted(file.path for file in asked) == ["memory/b.md", "notes/b.md"]


def test_sessions_are_found_only_when_they_are_wanted(home: Path) -> None:
    put(
        home, "sessions/one.json", "sessions/archive/old.json", "sessions/x.json.bad", "memory/a.md"
    )
    put(home, "sessions/.hidden.json")
    assert found(home) == ["memory/a.md"]
    assert found(home, sessions=True) == ["memory/a.md", "sessions/one.json"]


def test_the_archive_is_found_with_the_sessions_and_only_with_them(home: Path) -> None:
    put(home, "sessions/one.json", "sessions/one.notes.md", "sessions/archive/old.json")
    put(home, "sessions/archive/one/0001.json", "sessions/archive/one/0001.txt")
    put(home, "sessions/archive/one/deep/0001.json", "sessions/archive/.x/0001.json")
    assert found(home) == []
    assert found(home, sessions=True) == ["sessions/archive/one/0001.json", "sessions/one.json"]


def test_hidden_files_and_folders_of_packages_are_left_out(home: Path) -> None:
    put(home, "workspace/.env", "workspace/.git/config", "workspace/.obsidian/x.json")
    put(home, "workspace/node_modules/a/readme.md", "workspace/__pycache__/a.txt")
    put(home, ".openclaw/index/x.md", "workspace/kept.md")
    assert found(home) == ["workspace/kept.md"]


def test_what_gitignore_names_is_left_out(home: Path) -> None:
    put(home, ".gitignore", text="*.log\nbuild/\n/workspace/private.md\n")
    put(home, "workspace/a.log", "workspace/build/out.md", "workspace/private.md")
    put(home, "workspace/sub/private.md", "workspace/build.md", "memory/extra.log")
    assert found(home) == ["workspace/build.md", "workspace/sub/private.md"]


def test_the_nearest_gitignore_decides(home: Path) -> None:
    put(home, ".gitignore", text="*.log\n")
    put(home, "workspace/sub/.gitignore", text="!kept.log\n*.tmp\n")
    put(home, "workspace/sub/kept.log", "workspace/sub/b.log", "workspace/sub/c.tmp")
    put(home, "workspace/c.tmp", "workspace/kept.log")
    assert found(home) == ["workspace/c.tmp", "workspace/sub/kept.log"]


def test_a_line_of_gitignore_that_is_no_pattern_does_not_void_the_others(home: Path) -> None:
    put(home, ".gitignore", text="!\n*.log\n\\\n[z-a]\n")
    put(home, "workspace/a.log", "workspace/b.md")
    assert found(home) == ["workspace/b.md"]


def test_a_clone_of_the_source_finds_its_own_notes_though_git_ignores_them(home: Path) -> None:
    rules = Path(__file__).parents[2] / ".gitignore"
    put(home, ".gitignore", text=rules.read_text("utf-8"))
    put(home, "memory/2026-11-21.md", "memory/inbox/x.md", "memory/TODO.md", "sessions/one.json")
    assert found(home, sessions=True) == [
        "memory/2026-11-21.md",
        "memory/TODO.md",
        "sessions/one.json",
    ]


def test_known_files_are_matched_again_only_when_a_gitignore_changed(home: Path) -> None:
    put(home, ".gitignore", text="*.log\n")
    put(home, "workspace/a.log", "workspace/sub/b.md")
    known = {"workspace/a.log": (0, 0, 0, 0), "workspace/sub/b.md": (0, 0, 0, 0)}
    first = Scan(Home(home), IndexOptions())
    assert [file.path for file in first.files()] == ["workspace/sub/b.md"]
    memo = IgnoreCache.of(first.memo.text())
    assert memo == first.memo
    # A file that is said to be known is taken without a look at the rules while these are the same.
    again = Scan(Home(home), IndexOptions(), known, memo)
    assert {file.path for file in again.files()} == known.keys()
    put(home, ".gitignore", text="*.log\n*.md\n")
    anew = Scan(Home(home), IndexOptions(), known, again.memo)
    assert list(anew.files()) == []
    (home / ".gitignore").unlink()
    assert len(list(Scan(Home(home), IndexOptions(), known, anew.memo).files())) == 2


def test_what_looks_as_at_the_last_scan_is_not_sought_again(home: Path) -> None:
    class Asked(dict[str, Stamp]):
        def get(self, path: str, default: object = None) -> Any:
            asked.append(path)
            return super().get(path, default)

    asked: list[str] = []
    put(home, "memory/a.md", "memory/b.md", "memory/c.md", "memory/.hidden", "workspace/d.md")
    files = find_files(Home(home), IndexOptions())
    known = Asked({file.path: Stamp.of(file.stat) for file in files})
    looks: dict[int, str] = {}

    def scan() -> tuple[list[str], list[str]]:
        asked.clear()
        one = Scan(Home(home), IndexOptions(), known, looks=looks)
        new = [file.path for file in one.files()]
        assert one.seen == {f"memory/{path.name}" for path in home.glob("memory/[a-z]*")} | {
            "workspace/d.md"
        }
        return new, sorted(set(asked))

    assert scan() == ([], sorted(known))
    assert scan() == ([], [])
    put(home, "memory/b.md", text="other\n")
    assert scan() == (["memory/b.md"], ["memory/b.md"])
    assert scan() == (["memory/b.md"], ["memory/b.md"])
    (home / "memory/a.md").unlink()
    put(home, "memory/e.md")
    assert scan()[0] == ["memory/b.md", "memory/e.md"]
    assert scan() == (["memory/b.md", "memory/e.md"], ["memory/b.md", "memory/e.md"])


def test_what_cannot_be_a_memo_is_an_empty_one() -> None:
    assert (
        IgnoreCache.of("")
        == IgnoreCache.of("[]")
        == IgnoreCache.of('{"rules": 3}')
        == IgnoreCache()
    )


def test_more_paths_may_be_files_or_folders_inside_or_outside(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "user", "notes/a.md", "notes/.hidden/b.md", "one.txt")
    put(home, "docs/x.md", "docs/y.md", "single.md")
    user = (tmp_path / "user").as_posix()
    assert found(home, "docs", "single.md", "~/notes", f"{user}/one.txt", "docs/x.md") == [
        f"{user}/notes/a.md",
        f"{user}/one.txt",
        "docs/x.md",
        "docs/y.md",
        "single.md",
    ]


def test_gitignore_holds_in_more_folders_but_not_for_a_file_that_is_named(
    home: Path, tmp_path: Path
) -> None:
    put(tmp_path / "other", "a.log", "b.md")
    put(tmp_path / "other", ".gitignore", text="*.log\n")
    put(home, ".gitignore", text="secret/\n*.log\n")
    put(home, "docs/secret/x.md", "docs/y.md", "docs/z.log")
    other = (tmp_path / "other").as_posix()
    assert found(home, "docs", other) == [f"{other}/b.md", "docs/y.md"]
    assert found(home, "docs/z.log") == ["docs/z.log"]


def test_a_path_that_is_not_there_or_not_allowed_is_a_problem(home: Path, tmp_path: Path) -> None:
    put(home, ".openclaw/x.md")
    told = problems(home, "nowhere", ".openclaw", str(tmp_path))
    assert told["nowhere"].startswith("there is no such file or folder")
    assert told[".openclaw"].startswith("is private to the program")
    assert told[str(tmp_path)].startswith("holds the home itself")


def test_the_home_itself_may_be_named_and_what_is_no_note_stays_out(home: Path) -> None:
    put(home, "memory/a.md", "sessions/one.json", "openclaw.yaml", "top.md", ".openclaw/x.md")
    put(home, "skills/x/SKILL.md", "skills/x/evals/triggers.yaml", "skills/chords.md")
    put(home, "logseq/bak/pages/Old.md", ".obsidian/notes.md", ".trash/Old.md", "pages/Old.md")
    assert found(home, ".") == ["memory/a.md", "pages/Old.md", "skills/chords.md", "top.md"]
    assert "skills/x/SKILL.md" in found(home, "skills")


@posix
def test_a_symlink_that_leaves_the_home_is_not_followed(home: Path, tmp_path: Path) -> None:
    put(tmp_path, "outside/secret.md")
    (home / "workspace/file.md").symlink_to(tmp_path / "outside/secret.md")
    (home / "workspace/folder").symlink_to(tmp_path / "outside")
    (home / "workspace/broken.md").symlink_to(home / "nowhere.md")
    assert found(home) == []


@posix
def test_a_symlink_to_a_closed_folder_is_not_followed(home: Path) -> None:
    put(home, ".openclaw/x.md", "sessions/one.json", "memory/inbox/c.md", "memory/TESTS.md")
    (home / "workspace/in").symlink_to(home / "memory/inbox")
    (home / "workspace/tests.md").symlink_to(home / "memory/TESTS.md")
    (home / "workspace/one.json").symlink_to(home / "sessions/one.json")
    (home / "workspace/index").symlink_to(home / ".openclaw")
    (home / "workspace/x.md").symlink_to(home / ".openclaw/x.md")
    (home / "workspace/said").symlink_to(home / "sessions")
    assert found(home) == []


@posix
def test_a_symlink_to_a_folder_whose_name_begins_like_a_closed_one_is_followed(home: Path) -> None:
    put(home, "sessions-of-yoga/monday.md")
    (home / "workspace/yoga").symlink_to(home / "sessions-of-yoga")
    assert found(home) == ["workspace/yoga/monday.md"]


@posix
def test_a_symlink_inside_the_home_gives_each_file_once(home: Path) -> None:
    put(home, "memory/a.md", "skills/x/SKILL.md")
    (home / "workspace/again.md").symlink_to(home / "memory/a.md")
    (home / "workspace/loop").symlink_to(home / "workspace")
    (home / "workspace/skill").symlink_to(home / "skills/x")
    assert found(home) == ["memory/a.md", "workspace/skill/SKILL.md"]


@pytest.mark.skipif(os.name == "nt", reason="names of bytes")
def test_a_name_that_is_not_utf_8_is_a_problem(home: Path) -> None:
    try:
        Path(os.fsdecode(os.fsencode(home / "memory") + b"/b\xff.md")).write_text("x", "utf-8")
    except OSError:
        pytest.skip("this file system takes no such name")
    assert problems(home) == {"memory/b\\udcff.md": "its name is not UTF-8"}


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="modes do not bind root")
def test_a_folder_that_may_not_be_read_is_a_problem(home: Path) -> None:
    put(home, "workspace/closed/a.md", "workspace/b.md")
    (home / "workspace/closed").chmod(0)
    try:
        assert problems(home)["workspace/closed"].startswith("cannot be read")
    finally:
        (home / "workspace/closed").chmod(0o755)


def test_files_and_folders_that_vanish_during_the_walk_are_passed_over(home: Path) -> None:
    put(home, "workspace/a/1.md", "workspace/b/2.md", "workspace/c/3.md", "memory/first.md")
    walk = find_files(Home(home), IndexOptions())
    assert next(walk).path == "memory/first.md"
    shutil.rmtree(home / "workspace/b")
    assert sorted(file.path for file in walk) == ["workspace/a/1.md", "workspace/c/3.md"]


def test_a_file_in_place_of_a_folder_is_no_folder(home: Path) -> None:
    shutil.rmtree(home / "memory")
    put(home, "memory", "workspace/a.md")
    assert found(home) == ["workspace/a.md"]
