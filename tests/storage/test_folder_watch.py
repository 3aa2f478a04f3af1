"""Watching folders: a hint that files changed, never more."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openclaw.storage.folder_watch import FolderWatcher


class Bell:
    """Counts how often it was rung, and waits for it."""

    def __init__(self) -> None:
        self.rung = 0
        self.thread = ""
        self._again = threading.Condition()

    def ring(self) -> None:
        with self._again:
            self.rung += 1
            self.thread = threading.current_thread().name
            self._again.notify_all()

    def wait(self, times: int = 1) -> bool:
        with self._again:
            return self._again.wait_for(lambda: self.rung >= times, timeout=5)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "memory"
    (folder / "inbox").mkdir(parents=True)
    return folder


Watched = Callable[..., FolderWatcher]


@pytest.fixture
def watched(folder: Path) -> Iterator[Watched]:
    """Starts watches of `folder` that look often; closes them."""
    watches: list[FolderWatcher] = []

    def start(on_change: Callable[[], None], *folders: Path, delay: float = 0.05) -> FolderWatcher:
        watch = FolderWatcher(folders or (folder,), on_change, delay, look_seconds=0.05)
        watches.append(watch)
        return watch

    yield start
    for watch in watches:
        watch.close()


def test_a_change_is_told_from_a_thread_of_its_own(folder: Path, watched: Watched) -> None:
    bell = Bell()
    assert watched(bell.ring).notice == ""
    (folder / "a.md").write_text("one\n", "utf-8")
    assert bell.wait()
    assert bell.thread == "openclaw-watch"


def test_changes_in_folders_below_are_told(folder: Path, watched: Watched) -> None:
    bell = Bell()
    watched(bell.ring)
    (folder / "inbox" / "a.md").write_text("one\n", "utf-8")
    assert bell.wait()


def test_an_editor_that_saves_by_renaming_is_noticed(folder: Path, watched: Watched) -> None:
    (folder / "a.md").write_text("one\n", "utf-8")
    (folder.parent / "new").write_text("two\n", "utf-8")
    bell = Bell()
    watched(bell.ring)
    (folder.parent / "new").replace(folder / "a.md")
    assert bell.wait()


def test_many_changes_are_told_once_when_they_are_over(folder: Path, watched: Watched) -> None:
    bell = Bell()
    watched(bell.ring, delay=0.5)
    for number in range(20):
        (folder / f"{number}.md").write_text("one\n", "utf-8")
        time.sleep(0.01)
    assert bell.rung == 0
    assert bell.wait()
    time.sleep(0.7)
    assert bell.rung == 1


def test_reading_is_no_change(folder: Path, watched: Watched) -> None:
    (folder / "a.md").write_text("one\n", "utf-8")
    time.sleep(0.05)
    bell = Bell()
    watched(bell.ring)
    for _ in range(5):
        assert (folder / "a.md").read_text("utf-8") == "one\n"
    time.sleep(0.3)
    assert bell.rung == 0


def test_the_folders_of_the_program_and_of_git_are_not_told(
    tmp_path: Path, watched: Watched
) -> None:
    for name in (".git", ".openclaw"):
        (tmp_path / name).mkdir()
    bell = Bell()
    watched(bell.ring, tmp_path)
    for name in (".git", ".openclaw"):
        (tmp_path / name / "a.md").write_text("one\n", "utf-8")
    time.sleep(0.3)
    assert bell.rung == 0
    (tmp_path / "a.md").write_text("one\n", "utf-8")
    assert bell.wait()


def test_a_folder_that_goes_and_comes_back_is_watched_again(folder: Path, watched: Watched) -> None:
    bell = Bell()
    watch = watched(bell.ring)
    shutil.rmtree(folder)
    assert bell.wait()
    time.sleep(0.3)
    folder.mkdir()
    time.sleep(0.3)
    before = bell.rung
    (folder / "a.md").write_text("one\n", "utf-8")
    assert bell.wait(before + 1)
    assert (watch.notice, watch.error) == ("", None)


def test_a_folder_that_does_not_exist_yet_is_watched_when_it_comes(
    tmp_path: Path, watched: Watched
) -> None:
    bell = Bell()
    assert watched(bell.ring, tmp_path / "later").notice == ""
    (tmp_path / "later").mkdir()
    assert bell.wait()
    time.sleep(0.2)
    before = bell.rung
    (tmp_path / "later" / "a.md").write_text("one\n", "utf-8")
    assert bell.wait(before + 1)


def test_a_failing_listener_does_not_end_the_watch(folder: Path, watched: Watched) -> None:
    bell = Bell()

    def fail() -> None:
        bell.ring()
        raise ValueError("no")

    watch = watched(fail)
    (folder / "a.md").write_text("one\n", "utf-8")
    assert bell.wait()
    time.sleep(0.2)
    (folder / "a.md").write_text("two\n", "utf-8")
    assert bell.wait(2)
    assert isinstance(watch.error, ValueError)


def test_a_closed_watch_is_silent_and_leaves_no_thread(folder: Path) -> None:
    before = set(threading.enumerate())
    bell = Bell()
    watch = FolderWatcher([folder], bell.ring, 0.01)
    assert set(threading.enumerate()) > before
    watch.close()
    watch.close()
    assert set(threading.enumerate()) <= before
    (folder / "a.md").write_text("one\n", "utf-8")
    time.sleep(0.1)
    assert bell.rung == 0


def test_a_watch_may_be_closed_by_its_own_listener(folder: Path) -> None:
    closed = threading.Event()

    def close() -> None:
        watch.close()
        closed.set()

    watch = FolderWatcher([folder], close, 0.01)
    (folder / "a.md").write_text("one\n", "utf-8")
    assert closed.wait(5)


def test_a_folder_that_cannot_be_watched_is_a_notice(tmp_path: Path, watched: Watched) -> None:
    (tmp_path / "file").write_text("no folder\n", "utf-8")
    watch = watched(lambda: None, tmp_path / "file" / "inner")
    assert watch.notice == ""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("watchdog.observers.api.BaseObserver.schedule", _no_watches)
        watch = watched(lambda: None, tmp_path)
    reason = "inotify watch limit reached"
    said = f"{tmp_path} is not watched ({reason}); it is still looked at when needed"
    assert watch.notice == said


def _no_watches(*args: object, **more: object) -> None:
    raise OSError(28, "inotify watch limit reached")
