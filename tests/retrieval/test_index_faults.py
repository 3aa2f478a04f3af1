"""The index when things go wrong: killed, locked, full, damaged, deleted. It always answers, from
the files as they are."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openclaw.retrieval.index_store import IndexStore
from openclaw.retrieval.indexer import Indexer
from tests.fakes.index import (
    FakeEmbedder,
    built_anew,
    contents,
    embed_pending,
    open_store,
    plain_upkeep,
    split_lines,
)
from tests.fakes.needs import posix

BEGIN = """\
import sys, time
from pathlib import Path
import openclaw.retrieval.indexer as upkeep_module
from tests.fakes.index import (
    FakeEmbedder, contents, embed_pending, open_store, plain_upkeep, split_lines,
)
home = Path(sys.argv[1])
"""
# Builds in small batches, each file a little slowly, says how far it is, and waits where told to.
SLOW_BUILD = (
    BEGIN
    + """\
upkeep_module.BATCH_CHUNKS = 40
def slowly(*args):
    time.sleep(0.003)
    return split_lines(*args)
upkeep = plain_upkeep(home, open_store(home), split=slowly)
def tell(done, total):
    print(done, total, flush=True)
    if sys.argv[2:] == [str(done)]:
        time.sleep(60)
upkeep.refresh(on_progress=tell)
print("built", flush=True)
"""
)
# Writes one transaction after the other.
COMMITS = (
    BEGIN
    + """\
store = open_store(home)
upkeep = plain_upkeep(home, store)
print("begun", flush=True)
while True:
    upkeep.refresh(force=True)
    embed_pending(upkeep, FakeEmbedder(str(time.time())))
"""
)
REFRESH = (
    BEGIN
    + """\
store = open_store(home)
report = plain_upkeep(home, store).refresh()
print(report.added, report.chunks, len(contents(store)["chunks"]), store.in_memory)
print("|".join(store.notices))
store.close()
"""
)
LIMITED = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (60_000,) * 2)\n" + REFRESH
# As a user for whom modes count: root's power to pass them by is given up first.
COMMON = (
    """\
import ctypes, os, sys
if os.geteuid() == 0:
    prctl = ctypes.CDLL(None).prctl
    if prctl(24, 1, 0, 0, 0) or prctl(24, 2, 0, 0, 0):
        sys.exit(99)
os.execv(sys.executable, [sys.executable, "-c", '''"""
    + REFRESH
    + """''', *sys.argv[1:]])
"""
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Sixty files of ten lines."""
    root = tmp_path / "home"
    for name in ("memory", "workspace"):
        (root / name).mkdir(parents=True)
    for number in range(60):
        text = "".join(f"word{number} line {n} of file {number}\n" for n in range(10))
        (root / "memory" / f"{number:02}.md").write_text(text, "utf-8")
    return root


@pytest.fixture
def store(home: Path) -> Iterator[IndexStore]:
    store = open_store(home, busy_seconds=0.3)
    yield store
    store.close()


def started(script: str, home: Path, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, str(home), *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def said(script: str, home: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", script, str(home)], capture_output=True, text=True, timeout=60
    )
    if done.returncode == 99:
        pytest.skip("root may not give up its power here")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def answer(upkeep: Indexer, store: IndexStore) -> dict[str, Any]:
    """The content of the index, read as a search does: recovers from an error of the file."""
    for _ in range(3):
        report = upkeep.refresh()
        assert report.problems == []
        try:
            return contents(store)
        except sqlite3.Error as error:
            store.recover(error)
    raise AssertionError("no answer")


def edit(home: Path, number: int) -> None:
    (home / "memory" / f"{number % 60:02}.md").write_text(f"edited {number}\n", "utf-8")


@posix
def test_a_build_that_is_killed_goes_on_where_it_was(home: Path, tmp_path: Path) -> None:
    child = started(SLOW_BUILD, home, "30")
    assert child.stdout
    assert "30 60\n" in child.stdout
    child.kill()
    child.communicate()
    store = open_store(home)
    kept = len(store.files())
    assert 20 <= kept < 30
    assert len(contents(store)["chunks"]) == kept * 10
    report = plain_upkeep(home, store).refresh()
    assert report.added == 60 - kept
    assert contents(store) == built_anew(home, tmp_path)
    assert store.notices == []
    store.close()


@pytest.mark.slow
@posix
def test_an_index_is_whole_whenever_its_writer_is_killed(home: Path, tmp_path: Path) -> None:
    chance = random.Random(5)
    for number in range(6):
        child = started(COMMITS, home)
        assert child.stdout and child.stdout.readline() == "begun\n"
        time.sleep(chance.random() * 0.15)
        child.send_signal(signal.SIGKILL)
        child.communicate()
        store = open_store(home)
        assert store.query("PRAGMA integrity_check") == [("ok",)]
        edit(home, number)
        plain_upkeep(home, store).refresh()
        assert contents(store) == built_anew(home, tmp_path)
        assert (store.notices, store.in_memory) == ([], False)
        store.close()


@pytest.mark.slow
def test_two_processes_that_build_at_once_do_no_harm(home: Path, tmp_path: Path) -> None:
    children = [started(SLOW_BUILD, home) for _ in range(2)]
    for child in children:
        out, _ = child.communicate(timeout=60)
        assert out.endswith("built\n")
        assert child.returncode == 0
    store = open_store(home)
    assert plain_upkeep(home, store).refresh().unchanged == 60
    assert contents(store) == built_anew(home, tmp_path)
    store.close()


@pytest.mark.slow
def test_edits_between_the_refreshes_of_two_processes_are_never_lost(
    home: Path, store: IndexStore, tmp_path: Path
) -> None:
    other = open_store(home)
    both = [(plain_upkeep(home, each), each) for each in (store, other)]
    for number in range(40):
        edit(home, number)
        for upkeep, each in reversed(both) if number % 3 else both[:1]:
            upkeep.refresh()
            assert f"edited {number}" in str(contents(each)["chunks"])
    assert answer(*both[1]) == answer(*both[0]) == built_anew(home, tmp_path)
    other.close()


@pytest.mark.slow
def test_many_threads_refresh_search_and_embed_at_once(
    home: Path, store: IndexStore, tmp_path: Path
) -> None:
    upkeep, embedder, errors = plain_upkeep(home, store), FakeEmbedder(), []
    upkeep.refresh()
    stop = threading.Event()

    def loop(work: Any) -> None:
        while not stop.is_set():
            try:
                work()
            except Exception as error:  # noqa: BLE001 - the test fails by it, with its text
                errors.append(error)
                return

    jobs = [upkeep.refresh, lambda: contents(store), lambda: embed_pending(upkeep, embedder)]
    threads = [threading.Thread(target=loop, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for number in range(60):
        edit(home, number)
        time.sleep(0.01)
    stop.set()
    for thread in threads:
        thread.join()
    assert errors == []
    assert answer(upkeep, store) == built_anew(home, tmp_path)
    assert embed_pending(upkeep, embedder) == 0
    assert store.snapshot().vectors(embedder.name).known.all()


def test_a_locked_index_is_left_to_its_holder(
    home: Path, store: IndexStore, tmp_path: Path
) -> None:
    """A process that holds the lock for ever: go on in memory, with what stood there."""
    plain_upkeep(home, store).refresh()
    holder = sqlite3.connect(store.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    edit(home, 3)
    upkeep = plain_upkeep(home, store)
    report = upkeep.refresh()
    assert (report.changed, report.unchanged, report.problems) == (1, 59, [])
    assert contents(store) == built_anew(home, tmp_path)
    assert store.in_memory
    assert store.notices == [
        "the memory index is kept in memory only: another process holds its file"
    ]
    edit(home, 4)
    assert answer(upkeep, store) == built_anew(home, tmp_path)
    assert len(store.notices) == 1
    holder.execute("ROLLBACK")
    holder.close()


def test_an_index_that_is_locked_from_the_start_is_built_in_memory(
    home: Path, tmp_path: Path
) -> None:
    first = open_store(home)
    plain_upkeep(home, first).refresh()
    first.close()
    holder = sqlite3.connect(first.path, isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    store = open_store(home, busy_seconds=0.2)
    assert answer(plain_upkeep(home, store), store) == built_anew(home, tmp_path)
    assert store.in_memory
    assert len(store.notices) == 1
    store.close()
    holder.close()


def test_a_full_disk_moves_the_index_to_memory(home: Path, tmp_path: Path) -> None:
    store = open_store(home, max_pages=30)
    upkeep, embedder = plain_upkeep(home, store), FakeEmbedder(width=64)
    report = upkeep.refresh()
    assert (report.chunks, report.problems) == (600, [])
    assert embed_pending(upkeep, embedder) == 0
    edit(home, 1)
    assert answer(upkeep, store) == built_anew(home, tmp_path)
    assert store.notices == ["the memory index is kept in memory only: the disk is full"]
    assert store.in_memory
    store.close()
    roomy = open_store(home)
    assert answer(plain_upkeep(home, roomy), roomy) == built_anew(home, tmp_path)
    assert (roomy.notices, roomy.in_memory) == ([], False)
    roomy.close()


def test_vectors_that_do_not_fit_on_the_disk_are_kept_in_memory(home: Path) -> None:
    store = open_store(home, max_pages=90)
    upkeep, embedder = plain_upkeep(home, store), FakeEmbedder(width=384)
    upkeep.refresh()
    assert store.notices == []
    left = embed_pending(upkeep, embedder)
    assert store.notices == ["the memory index is kept in memory only: the disk is full"]
    assert embed_pending(upkeep, embedder) == 0
    assert left < 600
    assert store.snapshot().vectors(embedder.name).known.all()
    store.close()


@posix
def test_a_limit_on_the_size_of_files_is_a_full_disk(home: Path) -> None:
    counts, notice = said(LIMITED, home)
    assert counts == "60 600 600 True"
    assert notice.startswith("the memory index is kept in memory only: ")


@posix
def test_a_folder_that_may_not_be_written_means_an_index_in_memory(home: Path) -> None:
    """Empty at first, then with an index of before in it, which is taken over."""
    folder = home / ".openclaw" / "index"
    folder.mkdir(parents=True)
    expected = "the memory index is kept in memory only: its folder cannot be written"
    folder.chmod(0o555)
    try:
        assert said(COMMON, home) == ["60 600 600 True", expected]
        folder.chmod(0o755)
        assert said(COMMON, home) == ["60 600 600 False", ""]
        edit(home, 7)
        (folder / "index.sqlite").chmod(0o444)
        folder.chmod(0o555)
        assert said(COMMON, home) == ["0 591 591 True", expected]
    finally:
        folder.chmod(0o755)


def test_a_file_in_place_of_the_folder_means_an_index_in_memory(home: Path, tmp_path: Path) -> None:
    (home / ".openclaw").write_text("in the way", "utf-8")
    store = open_store(home)
    assert store.in_memory
    assert len(store.notices) == 1
    upkeep = plain_upkeep(home, store)
    assert answer(upkeep, store) == built_anew(home, tmp_path)
    edit(home, 1)
    view = store.snapshot()
    upkeep.refresh()
    assert view.rows([10])[0].text != "edited 1"
    assert contents(store) == built_anew(home, tmp_path)
    store.close()


@pytest.mark.parametrize("damage", ["garbage", "empty", "text", "half", "page 2", "zeros"])
def test_a_damaged_index_is_built_anew(home: Path, tmp_path: Path, damage: str) -> None:
    store = open_store(home)
    plain_upkeep(home, store).refresh()
    store.close()
    whole = store.path.read_bytes()
    made = {
        "garbage": random.Random(1).randbytes(len(whole)),
        "empty": b"",
        "text": b"no database",
        "half": whole[: len(whole) // 2],
        "page 2": whole[:4096] + b"\xaa" * 4096 + whole[8192:],
        "zeros": bytes(len(whole)),
    }
    store.path.write_bytes(made[damage])
    store = open_store(home)
    assert answer(plain_upkeep(home, store), store) == built_anew(home, tmp_path)
    told = [] if damage == "empty" else ["the memory index was damaged and is built again"]
    assert (store.notices, store.in_memory) == (told, False)
    store.close()


@pytest.mark.slow
def test_damage_to_any_page_is_found_when_it_matters(home: Path, tmp_path: Path) -> None:
    store = open_store(home)
    plain_upkeep(home, store).refresh()
    store.close()
    whole, expected = store.path.read_bytes(), built_anew(home, tmp_path)
    for start in range(0, len(whole), 4096):
        store.path.write_bytes(whole[:start] + b"\x55" * 4096 + whole[start + 4096 :])
        store = open_store(home)
        assert answer(plain_upkeep(home, store), store) == expected, start
        store.close()


def test_an_index_that_is_damaged_while_it_is_open(home: Path, tmp_path: Path) -> None:
    store = open_store(home)
    upkeep = plain_upkeep(home, store)
    upkeep.refresh()
    other = open_store(home)
    store.path.write_bytes(b"x" * store.path.stat().st_size)
    edit(home, 1)
    for each in (store, other):
        assert answer(plain_upkeep(home, each), each) == built_anew(home, tmp_path)
        assert len(each.notices) <= 2
    store.close()
    other.close()


@posix
def test_an_index_that_is_deleted_while_it_is_open_is_built_anew(
    home: Path, store: IndexStore, tmp_path: Path
) -> None:
    upkeep = plain_upkeep(home, store)
    upkeep.refresh()
    for file in store.path.parent.iterdir():
        file.unlink()
    store.path.parent.rmdir()
    edit(home, 1)
    assert answer(upkeep, store) == built_anew(home, tmp_path)
    assert (store.notices, store.in_memory) == ([], False)
    again = open_store(home)
    assert again.files().keys() == store.files().keys()
    again.close()


def test_a_file_that_is_deleted_while_it_is_read_leaves_the_rest(
    home: Path, store: IndexStore, tmp_path: Path
) -> None:
    def deleting(text: str, kind: str, path: str) -> Any:
        for number in range(20, 30):
            (home / "memory" / f"{number}.md").unlink(missing_ok=True)
        return split_lines(text, kind, path)

    assert plain_upkeep(home, store, split=deleting).refresh().problems == []
    assert answer(plain_upkeep(home, store), store) == built_anew(home, tmp_path)


def test_a_file_that_is_edited_while_it_is_split_is_read_again(
    home: Path, store: IndexStore, tmp_path: Path
) -> None:
    def editing(text: str, kind: str, path: str) -> Any:
        (home / path).write_text(text.replace("word", "term"), "utf-8")
        return split_lines(text, kind, path)

    plain_upkeep(home, store, split=editing).refresh()
    assert "word1" in contents(store)["postings"]
    assert answer(plain_upkeep(home, store), store) == built_anew(home, tmp_path)
    assert "term1" in contents(store)["postings"]


def test_a_file_that_grows_all_the_time_is_never_stale(home: Path, store: IndexStore) -> None:
    path, stop = home / "workspace" / "app.log", threading.Event()
    path.write_text("line 0\n", "utf-8")

    def grow() -> None:
        with path.open("a", encoding="utf-8") as file:
            for number in range(1, 100_000):
                file.write(f"line {number}\n")
                file.flush()
                if stop.wait(0.0005):
                    return

    writer = threading.Thread(target=grow)
    writer.start()
    upkeep = plain_upkeep(home, store)
    try:
        for _ in range(30):
            least = path.read_text("utf-8").count("\n")
            assert upkeep.refresh().problems == []
            assert store.files()["workspace/app.log"].chunks >= least - 1
    finally:
        stop.set()
        writer.join()
    upkeep.refresh()
    assert store.files()["workspace/app.log"].chunks == path.read_text("utf-8").count("\n")
