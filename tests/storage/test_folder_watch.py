"""Watching folders: a hint that files changed, never more."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from openclaw.storage.folder_watch import watch_folders


class Bell:
    """Counts how often it was rung, and waits for it."""

    def __init__(self) -> None:
        self.rung = 0
        self._again = threading.Condition()

    def ring(self) -> None:
        with self._again:
            self.rung += 1
            self._again.notify_all()

    def wait(self, times: int = 1) -> bool:
        with self._again:
            return self._again.wait_for(lambda: self.rung >= times, timeout=5)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "memory"
    (folder / "inbox").mkdir(parents=True)
    return folder


@pytest.mark.parametrize("name", ["a.md", "inbox/a.md"])
def test_a_change_in_a_folder_or_below_it_is_told(folder: Path, name: str) -> None:
    bell = Bell()
    with watch_folders([folder], bell.ring, 0.05):
        (folder / name).write_text("one\n", "utf-8")
        assert bell.wait()


def test_an_editor_that_saves_by_renaming_is_noticed(folder: Path) -> None:
    (folder / "a.md").write_text("one\n", "utf-8")
    (folder.parent / "new").write_text("two\n", "utf-8")
    bell = Bell()
    with watch_folders([folder], bell.ring, 0.05):
        (folder.parent / "new").replace(folder / "a.md")
        assert bell.wait()


def test_many_changes_are_told_once_and_the_next_one_again(folder: Path) -> None:
    bell = Bell()
    with watch_folders([folder], bell.ring, 0.5):
        for number in range(20):
            (folder / f"{number}.md").write_text("one\n", "utf-8")
        assert bell.rung == 0
        assert bell.wait()
        time.sleep(0.7)
        assert bell.rung == 1
        (folder / "a.md").write_text("one\n", "utf-8")
        assert bell.wait(2)


def test_reading_is_no_change(folder: Path) -> None:
    (folder / "a.md").write_text("one\n", "utf-8")
    time.sleep(0.05)
    bell = Bell()
    with watch_folders([folder], bell.ring, 0.05):
        for _ in range(5):
            assert (folder / "a.md").read_text("utf-8") == "one\n"
        time.sleep(0.3)
        assert bell.rung == 0


def test_the_folders_of_the_program_and_of_git_are_not_told(tmp_path: Path) -> None:
    for name in (".git", ".openclaw"):
        (tmp_path / name).mkdir()
    bell = Bell()
    with watch_folders([tmp_path], bell.ring, 0.05):
        for name in (".git", ".openclaw"):
            (tmp_path / name / "a.md").write_text("one\n", "utf-8")
        time.sleep(0.3)
        assert bell.rung == 0
        (tmp_path / "a.md").write_text("one\n", "utf-8")
        assert bell.wait()


def test_it_leaves_no_thread(folder: Path) -> None:
    before = set(threading.enumerate())
    bell = Bell()
    with watch_folders([folder], bell.ring, 0.01):
        assert set(threading.enumerate()) > before
    assert set(threading.enumerate()) <= before
    (folder / "a.md").write_text("one\n", "utf-8")
    time.sleep(0.1)
    assert bell.rung == 0


def test_a_folder_that_cannot_be_watched_keeps_no_other_from_it(folder: Path) -> None:
    bell = Bell()
    with watch_folders([folder.parent / "missing", folder], bell.ring, 0.05):
        (folder / "a.md").write_text("one\n", "utf-8")
        assert bell.wait()
