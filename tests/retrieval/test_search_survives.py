"""`openclaw memory search` as whole processes: killed, side by side, without room on the disk.

What the index itself does about such faults is in test_index_faults.py.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from openclaw.retrieval.embedders import NAME
from openclaw.retrieval.scan import IndexOptions
from openclaw.retrieval.search import Search
from openclaw.storage.home import Home
from tests.end_to_end.test_faults import COMMAND, common, limited, posix
from tests.fakes.command import openclaw
from tests.fakes.embedder import WordEmbedder

FILES = 80
# Reads all files and makes all vectors, a little slowly; says when it begins.
SLOW = """\
import sys, time
from pathlib import Path
import openclaw.retrieval.indexer as upkeep
from openclaw.storage.home import Home
from openclaw.retrieval.scan import IndexOptions
from openclaw.retrieval.search import Search
from tests.fakes.embedder import WordEmbedder
upkeep.BATCH_CHUNKS = 40
home = Home(Path(sys.argv[1]))
search = Search(home, IndexOptions(), lambda: WordEmbedder(sys.argv[2], seconds=0.01), home.private)
print("begun", flush=True)
tell = lambda done, total: time.sleep(0.002)
search.on_reading = tell
search.refresh()
print("read", flush=True)
search.embed(on_progress=tell)
print("embedded", flush=True)
time.sleep(60)
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home that is searched by words only, named by OPENCLAW_HOME as in every test."""
    root = tmp_path / "home"
    for folder in ("memory", "workspace"):
        (root / folder).mkdir(parents=True)
    (root / "openclaw.yaml").write_text("embedding: none\n", "utf-8")
    (root / "workspace/SOUL.md").write_text("# Soul\n", "utf-8")
    for number in range(FILES):
        note(root, number, f"The cat number{number} slept in the house")
    return root


def note(home: Path, number: int, text: str) -> None:
    lines = "".join(f"- {text}, time {n} of file{number}\n" for n in range(8))
    (home / "memory" / f"{number:02}.md").write_text(f"# Note {number}\n\n{lines}", "utf-8")


def answers(home: Path, private: Path) -> list[Any]:
    """What a process that starts now finds, with what it has to say. Scores are those of MiniLM,
    whose scale is fixed: with other models it is taken from the vectors that happen to be kept."""
    search = Search(Home(home), IndexOptions(), lambda: WordEmbedder(NAME), private)
    search.refresh()
    search.embed()
    found = [
        [(p.path, p.start_line, p.text, round(p.score, 4)) for p in search.search(q)]
        for q in ("number7", "feline dwelling number31", "dog garden edited", '"time 3 of file55"')
    ]
    search.close()
    return [found, search.notices]


@pytest.mark.slow
@posix
def test_after_a_kill_at_any_moment_a_search_is_right(home: Path, tmp_path: Path) -> None:
    """Killed while files are read, while vectors are made, and when all is done."""
    moments = [("begun", 0.0), ("begun", 0.1), ("read", 0.0), ("read", 0.1), ("embedded", 0.0)]
    for number, (after, wait) in enumerate(moments):
        shutil.rmtree(home / ".openclaw", ignore_errors=True)
        child = subprocess.Popen(
            [sys.executable, "-c", SLOW, str(home), NAME], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout
        while (line := child.stdout.readline()) != f"{after}\n":
            assert line
        time.sleep(wait)
        child.kill()
        child.communicate()
        note(home, number, "The dog of the garden was edited")
        (home / "memory" / f"{number + 40}.md").unlink()
        found, notices = answers(home, home / ".openclaw")
        assert found == answers(home, tmp_path / f"anew{number}")[0]
        assert found[2]
        assert notices == []


@pytest.mark.slow
def test_searches_side_by_side_in_a_new_home_find_the_same(home: Path) -> None:
    children = [
        subprocess.Popen(
            [*COMMAND, "memory", "search", "number7", "--json", "-k", "3"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(3)
    ]
    said = [child.communicate(timeout=60) for child in children]
    assert [child.returncode for child in children] == [0, 0, 0]
    assert {err for _, err in said} == {b""}
    assert len({out for out, _ in said}) == 1
    assert all(p["path"] == "memory/07.md" for p in json.loads(said[0][0]))


@posix
def test_a_full_disk_costs_a_notice(home: Path) -> None:
    done = limited(40_000, "memory", "search", "number7", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)[0]["path"] == "memory/07.md"
    assert done.stderr.startswith("openclaw: the memory index is kept in memory only: ")
    assert done.stderr.count("\n") == 1
    roomy = openclaw("memory", "search", "number7", "--json")
    assert (roomy.stdout, roomy.stderr) == (done.stdout, "")


@posix
def test_a_home_that_may_not_be_written_can_be_searched(home: Path) -> None:
    home.chmod(0o555)
    try:
        done = common("memory", "search", "number7", "--json")
    finally:
        home.chmod(0o755)
    assert done.returncode == 0
    assert json.loads(done.stdout)[0]["path"] == "memory/07.md"
    assert done.stderr == (
        "openclaw: the memory index is kept in memory only: its folder cannot be written\n"
    )
    assert not os.path.lexists(home / ".openclaw")
