"""The index follows the files: whatever another program does to them, the next refresh knows."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from openclaw.errors import ServerAway
from openclaw.retrieval.index_store import IndexStore
from openclaw.retrieval.indexer import Indexer, IndexReport
from openclaw.retrieval.scan import MANY, IndexOptions
from openclaw.retrieval.vector_upkeep import AROUND, keep_only
from openclaw.storage.home import Home
from openclaw.storage.lock import hold_lock
from tests.data.sample import sample
from tests.fakes.files import write_file
from tests.fakes.index import (
    FakeEmbedder,
    built_anew,
    contents,
    embed_pending,
    matrix_of,
    open_store,
    plain_upkeep,
    split_lines,
)
from tests.fakes.pdf import pdf

TICK_SECONDS = 0.02


@pytest.fixture
def home(tmp_path: Path) -> Path:
    root = tmp_path / "home"
    for name in ("memory", "workspace"):
        (root / name).mkdir(parents=True)
    return root


@pytest.fixture
def store(home: Path) -> Iterator[IndexStore]:
    store = open_store(home)
    yield store
    store.close()


def put(home: Path, path: str, text: str) -> Path:
    return write_file(home / path, text)


def late() -> int:
    """A clock ten seconds ahead: what was just written looks settled, so its stamp is trusted."""
    return time.time_ns() + 10_000_000_000


def counts(report: IndexReport) -> tuple[int, int, int, int]:
    return report.added, report.changed, report.removed, report.unchanged


def texts(store: IndexStore) -> list[str]:
    view = store.snapshot()
    return [chunk.text for chunk in view.rows(range(view.count))]


def test_an_empty_home_has_an_empty_index(home: Path, store: IndexStore) -> None:
    report = plain_upkeep(home, store).refresh()
    assert counts(report) == (0, 0, 0, 0)
    assert (report.chunks, report.problems) == (0, [])
    shutil.rmtree(home / "memory")
    shutil.rmtree(home / "workspace")
    assert counts(plain_upkeep(home, store).refresh()) == (0, 0, 0, 0)


def test_the_report_counts_what_was_done(home: Path, store: IndexStore) -> None:
    upkeep = plain_upkeep(home, store)
    for name in "abc":
        put(home, f"memory/{name}.md", f"one {name}\ntwo\n")
    assert counts(upkeep.refresh()) == (3, 0, 0, 0)
    put(home, "memory/a.md", "other\n")
    (home / "memory/b.md").unlink()
    put(home, "memory/d.md", "new\n")
    report = upkeep.refresh()
    assert counts(report) == (1, 1, 1, 1)
    assert (report.chunks, report.problems) == (4, [])
    assert report.seconds > 0
    assert counts(upkeep.refresh()) == (0, 0, 0, 3)


def test_the_real_splitter_and_words_are_the_default(home: Path, store: IndexStore) -> None:
    put(home, "memory/sea.md", "# Sea\n\n- Blue whales are singing\n- Port: 8080\n")
    put(home, "workspace/page.html", "<h1>Ships</h1>\n<p>A frigate</p>\n")

    report = Indexer(Home(home), store, IndexOptions()).refresh()
    assert counts(report) == (2, 0, 0, 0)
    view = store.snapshot()
    (row,) = view.postings("frigat")[0].tolist()
    assert (view.rows([row])[0].path, view.rows([row])[0].start_line) == ("workspace/page.html", 2)
    assert len(view.postings("whale")[0])


def test_files_of_all_sizes_and_line_ends_are_found_again(home: Path, store: IndexStore) -> None:
    (home / "memory/word.md").write_bytes(b"aardvark")
    (home / "memory/empty.md").write_bytes(b"")
    (home / "memory/blank.md").write_bytes(b"\n \n\t\n")
    (home / "memory/crlf.md").write_bytes(b"first\r\n\r\nbadger here\r\n")
    (home / "memory/latin.md").write_bytes("Der Käse heißt Camembert\n".encode("latin-1") * 3)
    line = "filler words in a long line of a large file " * 10
    (home / "workspace/large.txt").write_text(f"{line}\n" * 11_500 + "\nthe chinchilla\n", "utf-8")
    assert (home / "workspace/large.txt").stat().st_size > 5_000_000
    report = plain_upkeep(home, store).refresh()
    assert (counts(report), report.problems) == ((6, 0, 0, 0), [])
    view = store.snapshot()
    places = {
        word: [(c.path, c.start_line) for c in view.rows(view.postings(word)[0].tolist())][-1]
        for word in ("aardvark", "badger", "camembert", "chinchilla")
    }
    assert places == {
        "aardvark": ("memory/word.md", 1),
        "badger": ("memory/crlf.md", 3),
        "camembert": ("memory/latin.md", 3),
        "chinchilla": ("workspace/large.txt", 11_502),
    }


def test_a_settled_file_is_not_even_opened(home: Path, store: IndexStore) -> None:
    """Its stamp says enough; the index is not written to either."""
    put(home, "memory/a.md", "one\n")
    upkeep = plain_upkeep(home, store, clock=late)
    upkeep.refresh()
    before = store.files()["memory/a.md"], store.query("SELECT * FROM state")
    for _ in range(3):
        assert counts(upkeep.refresh()) == (0, 0, 0, 1)
    assert (store.files()["memory/a.md"], store.query("SELECT * FROM state")) == before


def test_a_file_that_was_just_written_is_read_again_until_it_is_settled(
    home: Path, store: IndexStore
) -> None:
    put(home, "memory/a.md", "one\n")
    plain_upkeep(home, store).refresh()
    generation = store.snapshot().generation
    assert counts(plain_upkeep(home, store, clock=late).refresh()) == (0, 0, 0, 1)
    settled = store.files()["memory/a.md"]
    assert settled.read_at_ns > time.time_ns() + 5_000_000_000
    assert store.snapshot().generation == generation


def test_an_edit_of_the_same_size_within_a_tick_is_seen(home: Path, store: IndexStore) -> None:
    file = put(home, "memory/a.md", "word 000\n")
    upkeep = plain_upkeep(home, store)
    for number in range(1, 200):
        upkeep.refresh()
        with file.open("r+b") as open_file:
            open_file.write(b"word %03d\n" % number)
        upkeep.refresh()
        assert texts(store) == [f"word {number:03}"]


def test_an_edit_whose_time_was_set_back_is_seen(home: Path, store: IndexStore) -> None:
    file = put(home, "memory/a.md", "word one\n")
    upkeep = plain_upkeep(home, store, clock=late)
    upkeep.refresh()
    before = file.stat()
    time.sleep(TICK_SECONDS)
    file.write_text("word two\n", "utf-8")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_mtime_ns == before.st_mtime_ns
    if os.name != "nt":
        upkeep.refresh()
        assert texts(store) == ["word two"]


def test_an_edit_by_an_editor_that_saves_by_renaming_is_seen(home: Path, store: IndexStore) -> None:
    file = put(home, "memory/a.md", "word one\n")
    upkeep = plain_upkeep(home, store, clock=late)
    upkeep.refresh()
    before = file.stat()
    temp = put(home, "memory/.a.md.swp", "word two\n")
    os.utime(temp, ns=(before.st_atime_ns, before.st_mtime_ns))
    temp.replace(file)
    if os.name != "nt":
        upkeep.refresh()
        assert texts(store) == ["word two"]


def test_two_files_that_change_places_are_seen(home: Path, store: IndexStore) -> None:
    one, two = put(home, "memory/a.md", "word one\n"), put(home, "memory/b.md", "word two\n")
    same = one.stat().st_mtime_ns
    os.utime(two, ns=(same, same))
    upkeep = plain_upkeep(home, store, clock=late)
    upkeep.refresh()
    one.rename(home / "c")
    two.rename(one)
    (home / "c").rename(two)
    if os.name != "nt":
        upkeep.refresh()
        view = store.snapshot()
        assert {chunk.path: chunk.text for chunk in view.rows([0, 1])} == {
            "memory/a.md": "word two",
            "memory/b.md": "word one",
        }


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_clock_that_was_set_back_makes_no_file_trusted(
    home: Path, store: IndexStore, goes_on: bool
) -> None:
    """A file read "in the future" is read again; then it is current under the new clock."""
    put(home, "memory/a.md", "one\n")
    ahead = [10**18]
    upkeep = plain_upkeep(home, store, clock=lambda: late() + ahead[0])
    upkeep.refresh()
    upkeep.refresh()
    ahead[0] = 0
    if not goes_on:
        upkeep = plain_upkeep(home, store, clock=late)
    upkeep.refresh()
    read_at = store.files()["memory/a.md"].read_at_ns
    assert read_at < late() + 10**9
    upkeep.refresh()
    assert store.files()["memory/a.md"].read_at_ns == read_at


def test_a_touched_file_keeps_its_rows_and_takes_its_new_time(
    home: Path, store: IndexStore
) -> None:
    file = put(home, "memory/a.md", "one\n")
    upkeep = plain_upkeep(home, store, clock=late)
    upkeep.refresh()
    os.utime(file, ns=(5_000_000_000, 5_000_000_000))
    assert counts(upkeep.refresh()) == (0, 0, 0, 1)
    assert store.snapshot().rows([0])[0].mtime_ns == 5_000_000_000


def test_a_renamed_file_is_found_under_its_new_name_only(home: Path, store: IndexStore) -> None:
    put(home, "memory/a.md", "one\n")
    upkeep = plain_upkeep(home, store)
    upkeep.refresh()
    (home / "memory/a.md").rename(home / "memory/b.md")
    assert counts(upkeep.refresh()) == (1, 0, 1, 0)
    assert store.snapshot().rows([0])[0].path == "memory/b.md"


def test_a_file_that_became_a_folder_and_back(home: Path, store: IndexStore) -> None:
    put(home, "memory/a.md", "one\n")
    upkeep = plain_upkeep(home, store)
    upkeep.refresh()
    (home / "memory/a.md").unlink()
    put(home, "memory/a.md/inner.md", "two\n")
    upkeep.refresh()
    assert texts(store) == ["two"]
    shutil.rmtree(home / "memory/a.md")
    put(home, "memory/a.md", "three\n")
    upkeep.refresh()
    assert texts(store) == ["three"]


def test_a_folder_that_goes_takes_its_files_along(home: Path, store: IndexStore) -> None:
    put(home, "workspace/sub/a.md", "one\n")
    put(home, "workspace/b.md", "two\n")
    upkeep = plain_upkeep(home, store)
    upkeep.refresh()
    shutil.rmtree(home / "workspace/sub")
    assert counts(upkeep.refresh()) == (0, 0, 1, 1)
    assert texts(store) == ["two"]


def test_a_gitignore_written_later_takes_files_out_and_lets_them_back_in(
    home: Path, store: IndexStore
) -> None:
    put(home, "workspace/a.log", "one\n")
    put(home, "workspace/b.md", "two\n")
    upkeep = plain_upkeep(home, store, clock=late)
    upkeep.refresh()
    rules = put(home, "workspace/.gitignore", "*.log\n")
    assert counts(upkeep.refresh()) == (0, 0, 1, 1)
    assert counts(plain_upkeep(home, store, clock=late).refresh()) == (0, 0, 0, 1)
    rules.write_text("*.txt\n", "utf-8")
    assert counts(upkeep.refresh()) == (1, 0, 0, 1)


def test_an_ignored_file_goes_when_it_is_not_named_any_more(home: Path, store: IndexStore) -> None:
    put(home, ".gitignore", "a.md\n")
    put(home, "workspace/a.md", "one\n")
    named = IndexOptions(("workspace/a.md",))
    assert counts(plain_upkeep(home, store, options=named, clock=late).refresh()) == (1, 0, 0, 0)
    assert counts(plain_upkeep(home, store, options=named, clock=late).refresh()) == (0, 0, 0, 1)
    assert counts(plain_upkeep(home, store, clock=late).refresh()) == (0, 0, 1, 0)


def test_what_cannot_be_read_is_in_the_report_and_stops_nothing(
    home: Path, store: IndexStore
) -> None:
    put(home, "memory/a.md", "one\n")
    (home / "workspace/photo.jpg").write_bytes(b"\xff\xd8\0\0" * 9)
    (home / "workspace/doc.pdf").write_bytes(b"%PDF-1.4 broken")
    put(home, "workspace/big.txt", "x" * 2000)
    options = IndexOptions(("nowhere",), max_bytes=1000)
    upkeep = plain_upkeep(home, store, options=options, clock=late)
    for added in (1, 0, 0):
        report = upkeep.refresh()
        assert counts(report) == (added, 0, 0, 1 - added)
        assert [(path, reason.partition(" (")[0]) for path, reason in report.problems] == [
            ("nowhere", "there is no such file or folder"),
            ("workspace/big.txt", "larger than 0.001 MB"),
            ("workspace/doc.pdf", "a damaged PDF"),
            ("workspace/photo.jpg", "binary, not text"),
        ]
    roomier = plain_upkeep(home, store, clock=late).refresh()
    assert counts(roomier) == (1, 1, 0, 0)
    plain_upkeep(home, store, options=options, clock=late).refresh()
    assert texts(store) == ["one"]
    plain_upkeep(home, store, clock=late).refresh()
    put(home, "workspace/photo.jpg", "no photo\n")
    assert len(plain_upkeep(home, store).refresh().problems) == 1


# A prompt ends its search, here in the middle of the file that is called slow.
KILLED = """
import os, sys
from pathlib import Path
from tests.fakes.index import open_store, plain_upkeep, split_lines

def split(text, kind, path):
    return os._exit(9) if kind == "pdf" else split_lines(text, kind, path)

home = Path(sys.argv[1])
plain_upkeep(home, open_store(home), split=split).refresh()
"""


def test_a_file_in_whose_reading_each_process_is_ended_does_not_keep_the_others_from_being_found(
    home: Path, store: IndexStore
) -> None:
    (home / "memory/a.pdf").write_bytes(pdf("slow"))
    put(home, "workspace/z.md", "one\n")
    for tries in (1, 2, 3):
        done = subprocess.run([sys.executable, "-c", KILLED, str(home)], check=False)
        assert done.returncode == 9, tries
        assert [known.chunks for known in store.files().values()] == [1]
    upkeep = plain_upkeep(home, store, clock=late)
    for _ in range(2):
        ((path, problem),) = upkeep.refresh().problems
        assert (path, problem.partition(";")[0]) == (
            "memory/a.pdf",
            "reading it was interrupted each time",
        )
    assert upkeep.refresh(force=True).problems == []
    (home / "memory/a.pdf").write_bytes(pdf("other"))
    assert counts(upkeep.refresh()) == (0, 1, 0, 1)


def test_a_file_that_becomes_unreadable_leaves_no_old_text(home: Path, store: IndexStore) -> None:
    put(home, "memory/a.md", "one\n")
    upkeep = plain_upkeep(home, store)
    upkeep.refresh()
    (home / "memory/a.md").write_bytes(b"one\0\n")
    assert upkeep.refresh().problems == [("memory/a.md", "binary, not text")]
    assert texts(store) == []


def test_everything_is_read_anew_when_that_is_wanted(home: Path, store: IndexStore) -> None:
    put(home, "memory/a.md", "one\n")
    put(home, "memory/b.md", "two\n")
    seen: list[tuple[int, int]] = []
    upkeep = plain_upkeep(home, store, clock=late)
    upkeep.refresh()
    report = upkeep.refresh(force=True, on_progress=lambda done, total: seen.append((done, total)))
    assert counts(report) == (0, 2, 0, 0)
    assert seen == [(1, 2), (2, 2)]


def test_other_code_makes_other_chunks(home: Path, store: IndexStore) -> None:
    put(home, "memory/a.md", "one\ntwo\n")
    plain_upkeep(home, store, clock=late).refresh()
    whole = plain_upkeep(
        home, store, clock=late, made_by="loud",
        split=lambda text, kind, path: split_lines(text.upper(), kind, path),
    )  # fmt: skip
    assert counts(whole.refresh()) == (0, 1, 0, 0)
    assert texts(store) == ["ONE", "TWO"]
    assert counts(whole.refresh()) == (0, 0, 0, 1)


def test_the_name_of_the_code_is_made_of_modules_that_exist() -> None:
    from openclaw.retrieval.indexer import MODULES, recipe

    folder = Path(split_lines.__code__.co_filename).parents[2] / "openclaw" / "retrieval"
    assert [name for name in MODULES if not (folder / f"{name}.py").is_file()] == []
    assert len(recipe()) == 12


def test_an_edit_of_one_file_writes_its_rows_only(home: Path, store: IndexStore) -> None:
    for number in range(50):
        put(home, f"memory/{number}.md", "".join(f"word{number}of{n} x\n" for n in range(20)))
    upkeep = plain_upkeep(home, store, clock=late)
    upkeep.refresh()
    before = store._writer.total_changes
    with (home / "memory/7.md").open("a", encoding="utf-8") as file:
        file.write("a last line\n")
    assert counts(upkeep.refresh()) == (0, 1, 0, 49)
    assert store._writer.total_changes - before < 20


def test_sessions_are_indexed_when_they_are_wanted(home: Path, store: IndexStore) -> None:
    said = '{"messages": [\n{"role": "user", "content": "where is the port?"}\n]}\n'
    put(home, "sessions/one.json", said)
    plain_upkeep(home, store, options=IndexOptions(sessions=True)).refresh()
    assert [(c.text, c.start_line) for c in store.snapshot().rows([0])] == [
        ("user: where is the port?", 2)
    ]
    assert counts(plain_upkeep(home, store).refresh()) == (0, 0, 1, 0)


Edit = Callable[[random.Random, Path, list[Path]], None]


def _write(chance: random.Random, home: Path, files: list[Path]) -> None:
    folder = chance.choice(["memory", "workspace", "workspace/sub", "workspace/sub/deep"])
    name = f"{folder}/{chance.randrange(30)}.md"
    if not (home / name).is_dir():  # which another edit may have made of it
        put(home, name, _text(chance))


def _append(chance: random.Random, home: Path, files: list[Path]) -> None:
    with chance.choice(files).open("a", encoding="utf-8") as file:
        file.write(_text(chance))


def _delete(chance: random.Random, home: Path, files: list[Path]) -> None:
    chance.choice(files).unlink()


def _rename(chance: random.Random, home: Path, files: list[Path]) -> None:
    chance.choice(files).replace(home / "memory" / f"{chance.randrange(30)}.md")


def _touch(chance: random.Random, home: Path, files: list[Path]) -> None:
    when = chance.randrange(10**18, 2 * 10**18)
    os.utime(chance.choice(files), ns=(when, when))


def _swap(chance: random.Random, home: Path, files: list[Path]) -> None:
    one, two = chance.choice(files), chance.choice(files)
    if one != two:
        one.rename(home / "swap")
        two.rename(one)
        (home / "swap").rename(two)


def _same_size(chance: random.Random, home: Path, files: list[Path]) -> None:
    file = chance.choice(files)
    data = bytearray(file.read_bytes())
    for place, byte in enumerate(data):
        if byte > 96 and chance.random() < 0.1:
            data[place] = chance.randrange(97, 123)
    with file.open("r+b") as open_file:
        open_file.write(data)


def _unreadable(chance: random.Random, home: Path, files: list[Path]) -> None:
    chance.choice(files).write_bytes(b"\0" * chance.randrange(20))


def _move_lines(chance: random.Random, home: Path, files: list[Path]) -> None:
    file = chance.choice(files)
    lines = file.read_text("utf-8", errors="replace").split("\n")
    chance.shuffle(lines)
    file.write_text("\n".join(lines), "utf-8")


def _ignore(chance: random.Random, home: Path, files: list[Path]) -> None:
    pattern = chance.choice(["1*.md", "sub/", "*7.md\n!17.md", "", "deep/*", "!*"])
    put(home, chance.choice([".gitignore", "workspace/sub/.gitignore"]), pattern)


def _move_folder(chance: random.Random, home: Path, files: list[Path]) -> None:
    sub, other = home / "workspace/sub", home / "workspace/other"
    if sub.exists() and not other.exists():
        sub.rename(other)
    elif other.exists():
        shutil.rmtree(other)


def _other_kind(chance: random.Random, home: Path, files: list[Path]) -> None:
    """A folder, a hidden file or a link in place of a file."""
    file = chance.choice(files)
    moved = file.rename(file.with_name(f".{file.name}"))
    if chance.random() < 0.5:
        moved.rename(put(home, f"{file.relative_to(home)}/inside.md", "x\n"))
    elif os.name != "nt" and chance.random() < 0.5:
        file.symlink_to(chance.choice(files))


def _text(chance: random.Random) -> str:
    words = [f"word{chance.randrange(40)}" for _ in range(chance.randrange(30))]
    lines = [" ".join(words[at : at + 3]) for at in range(0, len(words), 3)]
    return "".join(f"{chance.choice(['', '', '# ', '- '])}{line}\n" for line in lines)


EDITS: list[Edit] = [
    *([_write] * 4), *([_append] * 3), _delete, _rename, _rename, _touch, _swap, _same_size,
    _same_size, _unreadable, _move_lines, _ignore, _move_folder, _other_kind,
]  # fmt: skip


@pytest.mark.parametrize("clock", [time.time_ns, late])
@pytest.mark.parametrize("seed", sample(range(3)))
def test_after_any_edits_the_index_equals_one_that_is_made_anew(
    home: Path, store: IndexStore, seed: int, clock: Callable[[], int], tmp_path: Path
) -> None:
    """50 edits, one to three between two refreshes, some by an upkeep that was just opened. Of
    what looks settled much is kept from one refresh for the next."""
    chance = random.Random(seed)
    upkeep = plain_upkeep(home, store, clock=clock)
    left = 50
    while left > 0:
        for _ in range(chance.randrange(1, 4)):
            left -= 1
            files = [path for path in sorted(home.glob("[mw]*/**/*.md")) if path.is_file()]
            chance.choice(EDITS if files else [_write])(chance, home, files)
        if chance.random() < 0.1:
            upkeep = plain_upkeep(home, store, clock=clock)
        for _ in range(chance.randrange(1, 4)):
            upkeep.refresh()
        assert contents(store) == built_anew(home, tmp_path)
        time.sleep(TICK_SECONDS if clock is late else 0)
    assert store.notices == []


def test_vectors_are_made_for_what_has_none(home: Path, store: IndexStore) -> None:
    put(home, "memory/a.md", "one\ntwo\n")
    put(home, "memory/b.md", "one\n")
    upkeep, embedder = plain_upkeep(home, store), FakeEmbedder()
    upkeep.refresh()
    seen: list[tuple[int, int]] = []
    assert embed_pending(upkeep, embedder, on_progress=lambda *at: seen.append(at)) == 0
    assert sorted(embedder.seen) == ["one", "two"]
    assert seen == [(2, 2)]
    view = store.snapshot()
    matrix, known = matrix_of(view, embedder.name)
    assert known.all()
    one, two = embedder.query("one"), embedder.query("two") + AROUND * embedder.query("one")
    wanted = np.array([one, two / np.linalg.norm(two), one])
    assert abs(matrix - wanted).max() < 1e-3
    assert embed_pending(upkeep, embedder) == 0
    assert len(embedder.seen) == 2


def test_only_changed_contexts_are_embedded_again(home: Path, store: IndexStore) -> None:
    put(home, "memory/a.md", "".join(f"line {n}\n" for n in range(100)))
    upkeep, embedder = plain_upkeep(home, store), FakeEmbedder()
    upkeep.refresh()
    embed_pending(upkeep, embedder)
    embedder.seen.clear()
    lines = (home / "memory/a.md").read_text("utf-8").split("\n")
    lines[50] = "another line"
    put(home, "memory/a.md", "\n".join(lines))
    upkeep.refresh()
    assert not store.snapshot().vectors(embedder.name).known.all()
    embed_pending(upkeep, embedder)
    assert sorted(embedder.seen) == ["another line", "line 49", "line 51"]


def test_a_rename_and_an_undo_embed_nothing(home: Path, store: IndexStore) -> None:
    file = put(home, "memory/a.md", "one\ntwo\nthree\n")
    upkeep, embedder = plain_upkeep(home, store), FakeEmbedder()
    upkeep.refresh()
    embed_pending(upkeep, embedder)
    file.rename(home / "workspace/b.md")
    upkeep.refresh()
    put(home, "workspace/b.md", "something else\n")
    upkeep.refresh()
    embed_pending(upkeep, embedder)
    put(home, "workspace/b.md", "one\ntwo\nthree\n")
    upkeep.refresh()
    assert embed_pending(upkeep, embedder) == 0
    assert sorted(embedder.seen) == ["one", "something else", "three", "two"]
    assert store.snapshot().vectors(embedder.name).known.all()


def test_an_embedder_that_fails_half_way_keeps_what_it_did(home: Path, store: IndexStore) -> None:
    put(home, "memory/a.md", "".join(f"line {n}\n" for n in range(200)))
    upkeep = plain_upkeep(home, store)
    upkeep.refresh()
    with pytest.raises(ServerAway):
        embed_pending(upkeep, FakeEmbedder(left=150))
    known = store.snapshot().vectors("fake/one").known
    assert 32 <= known.sum() <= 150  # the first batch, at least
    again = FakeEmbedder()
    assert embed_pending(upkeep, again) == 0
    assert len(again.seen) == 200 - known.sum() + 1  # and the line before


def test_embedding_ends_when_time_is_up(home: Path, store: IndexStore) -> None:
    put(home, "memory/a.md", "".join(f"line {n}\n" for n in range(200)))
    upkeep, embedder = plain_upkeep(home, store), FakeEmbedder()
    upkeep.refresh()
    assert embed_pending(upkeep, embedder, seconds=0) == 200
    assert embed_pending(upkeep, embedder) == 0


def test_the_vectors_of_two_embedders_stand_side_by_side(home: Path, store: IndexStore) -> None:
    put(home, "memory/a.md", "".join(f"line {n}\n" for n in range(200)))
    upkeep = plain_upkeep(home, store)
    upkeep.refresh()
    one, two = FakeEmbedder("fake/one"), FakeEmbedder("fake/two", width=12, left=150)
    embed_pending(upkeep, one)
    with pytest.raises(ServerAway):
        embed_pending(upkeep, two)
    two.left = 200
    assert store.snapshot().vectors("fake/one").known.all()
    assert store.snapshot().vectors("fake/two").known.any()
    assert embed_pending(upkeep, two) == 0
    assert store.snapshot().vectors("fake/two").known.all()
    assert store.snapshot().vectors("fake/one").known.all()
    with store.write() as writer:
        keep_only(writer, "fake/two", "fake/three")
    assert store.snapshot().vectors("fake/two").known.all()
    assert not store.snapshot().vectors("fake/one").known.any()


def test_a_file_that_changed_since_is_left_for_the_next_refresh(
    home: Path, store: IndexStore
) -> None:
    put(home, "memory/a.md", "one\n")
    put(home, "memory/b.md", "two\n")
    upkeep, embedder = plain_upkeep(home, store), FakeEmbedder()
    upkeep.refresh()
    put(home, "memory/b.md", "three\n")
    assert embed_pending(upkeep, embedder) == 1
    assert embedder.seen == ["one"]
    upkeep.refresh()
    assert embed_pending(upkeep, embedder) == 0
    assert embedder.seen == ["one", "three"]


def test_lines_that_say_nothing_get_no_vector(home: Path, store: IndexStore) -> None:
    put(home, "memory/a.md", "one\n---\n")

    def without_rules(text: str, kind: str, path: str) -> list[object]:
        from dataclasses import replace

        chunks = split_lines(text, kind, path)
        return [replace(c, parts=()) if c.text == "---" else c for c in chunks]

    upkeep, embedder = plain_upkeep(home, store, split=without_rules), FakeEmbedder()
    upkeep.refresh()
    assert embed_pending(upkeep, embedder) == 0
    assert embedder.seen == ["one"]
    assert store.snapshot().vectors(embedder.name).known.tolist() == [True, False]


def test_many_new_files_are_read_by_one_process_at_a_time(home: Path, store: IndexStore) -> None:
    for number in range(MANY + 1):
        put(home, f"memory/n{number}.md", f"- Note {number}.\n")
    upkeep = Indexer(Home(home), store, IndexOptions())
    with hold_lock(home / ".openclaw" / "locks" / "index.lock"):  # by another process
        report = upkeep.refresh(leave_many=True)
        assert (report.left, report.added, report.chunks) == (MANY + 1, 0, 0)
    report = upkeep.refresh(leave_many=True)
    assert (report.left, report.added) == (0, MANY + 1)


def test_who_asks_for_the_index_reads_all_the_same(home: Path, store: IndexStore) -> None:
    for number in range(MANY + 1):
        put(home, f"memory/n{number}.md", f"- Note {number}.\n")
    with hold_lock(home / ".openclaw" / "locks" / "index.lock"):
        assert Indexer(Home(home), store, IndexOptions()).refresh().added == MANY + 1
