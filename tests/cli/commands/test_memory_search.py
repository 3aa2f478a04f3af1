"""`openclaw memory search`, `index` and `reindex` as a user types them."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.command import CommandLine
from tests.fakes.files import write_file, write_files
from tests.fakes.ollama_server import FakeModel, FakeOllama, Vectors

FILES = {
    "openclaw.yaml": "embedding: none\n",
    "workspace/SOUL.md": "# Soul\n\nKind.\n",
    "memory/2026-03-02.md": "# 2026-03-02\n\n- The boiler was serviced by Olsen.\n- Dentist.\n",
    "memory/2026-05-09.md": "# 2026-05-09\n\n- The boiler leaks again.\n",
    "workspace/trip.md": "# Trip\n\nThe ferry to Bergen\nleaves at noon.\n",
}
DAMAGED = "openclaw: the memory index was damaged and is built again\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home that OPENCLAW_HOME names in every test; it is searched by words only."""
    return write_files(tmp_path / "home", FILES)


class Claw(CommandLine):
    def found(self, *words: str) -> list[str]:
        """PATH:LINE of what a search finds."""
        return [place(passage) for passage in self.json("search", *words)]

    def index(self, *words: str) -> dict[str, Any]:
        report: dict[str, Any] = self.json("index", *words)
        return report


@pytest.fixture
def claw(home: Path) -> Claw:
    return Claw("memory")


def place(passage: dict[str, Any]) -> str:
    return f"{passage['path']}:{passage['start_line']}"


# -------- search


def test_a_passage_is_shown_with_its_place_and_score(claw: Claw) -> None:
    first, *text = claw("search", "when", "does", "the", "ferry", "leave").splitlines()
    place, score = first.split()
    assert place == "workspace/trip.md:3-4"
    assert 0 < float(score) <= 1
    assert text == ["    The ferry to Bergen", "    leaves at noon."]
    assert claw.err == ""


def test_marks_and_comments_are_left_out_and_long_texts_are_cut(home: Path, claw: Claw) -> None:
    write_file(home / "memory/long.md", f"- [x] pay Ada {'very ' * 100}soon <!-- fact, typed -->\n")
    first, text = claw("search", "Ada").splitlines()
    assert first.startswith("memory/long.md:1  ")
    assert text.startswith("    pay Ada very very ")
    assert text.endswith("\u2026")
    assert len(text) == 404


def test_json_is_what_programs_are_promised(claw: Claw) -> None:
    (passage,) = json.loads(claw("search", "Bergen", "--json"))
    assert 0 < passage.pop("score") <= 1
    assert passage == {
        "path": "workspace/trip.md",
        "start_line": 3,
        "end_line": 4,
        "text": "The ferry to Bergen\nleaves at noon.",
    }


def test_nothing_found_is_no_error(claw: Claw) -> None:
    assert claw("search", "chlorophyll") == ""
    assert claw.err == "nothing found\n"
    assert claw.found("chlorophyll") == []
    assert claw.err == ""


@pytest.mark.parametrize("path", ["memory/2026-05", "./memory/2026-05-09.md"])
def test_a_path_narrows_the_search(claw: Claw, path: str) -> None:
    assert claw.found("boiler", "--path", path) == ["memory/2026-05-09.md:3"]
    assert claw.found("boiler", "--path", "workspace/") == []


@pytest.mark.parametrize("since", ["2026-04-01", "1 April 2026"])
def test_since_takes_days_as_people_write_them(claw: Claw, since: str) -> None:
    assert claw.found("boiler", "--since", since) == ["memory/2026-05-09.md:3"]


def test_explain_tells_ranks_and_reasons(claw: Claw) -> None:
    shown = claw("search", "boiler Olsen", "--explain", "-k", "1").splitlines()
    assert len(shown) == 3
    assert shown[2].startswith("    words rank 1 (")
    assert shown[2].endswith("; 100% of the words, all words")
    passage = json.loads(claw("search", "boiler Olsen", "--explain", "--json"))[0]
    assert passage["date"] == "2026-03-02"
    assert passage["ranks"]["words"]["rank"] == 1
    assert passage["ranks"]["words"]["score"] > 0
    assert passage["reason"] == "100% of the words, all words"


def test_escape_sequences_of_a_file_do_not_reach_the_terminal(home: Path, claw: Claw) -> None:
    write_file(home / "memory/evil.md", "- gotcha \x1b]0;owned\x07\x1b[2J\n")
    assert "\x1b" not in claw("search", "gotcha", "--explain")
    assert claw.found("gotcha") == ["memory/evil.md:1"]


def test_a_damaged_index_costs_a_notice(home: Path, claw: Claw) -> None:
    claw.found("ferry")
    index = home / ".openclaw/index/index.sqlite"
    index.write_bytes(b"no database" * 2000)
    assert claw.found("ferry") == ["workspace/trip.md:3"]
    assert claw.err == DAMAGED
    assert claw.found("ferry") == ["workspace/trip.md:3"]
    assert claw.err == ""


# -------- many questions


def test_a_batch_answers_line_by_line(claw: Claw) -> None:
    questions = b"boiler leaks\r\n\r\nchlorophyll\n  \nthe ferry"
    out = claw("search", "--batch", "-", "-k", "1", stdin=questions)
    lines = [json.loads(line) for line in out.splitlines()]
    assert [[place(passage) for passage in line] for line in lines] == [
        ["memory/2026-05-09.md:3"], [], [], [], ["workspace/trip.md:3"],
    ]  # fmt: skip
    assert sorted(lines[0][0]) == ["end_line", "path", "score", "start_line", "text"]


def test_a_batch_is_a_file_and_obeys_the_other_options(tmp_path: Path, claw: Claw) -> None:
    queries = tmp_path / "queries.txt"
    queries.write_bytes(b"boiler\nferry\n")
    told = claw("search", "--batch", str(queries), "--path", "memory/2026-05", "--explain")
    boiler, ferry = map(json.loads, told.splitlines())
    assert [place(passage) for passage in boiler] == ["memory/2026-05-09.md:3"]
    assert boiler[0]["reason"]
    assert ferry == []


def test_odd_characters_in_a_batch_keep_answers_in_step(claw: Claw) -> None:
    lines = "\ufeffferry\x0cBergen\u2028noon\n".encode() + b"boiler \xff leaks\n"
    out = claw("search", "--batch", "-", "-k", "1", stdin=lines)
    ferry, boiler = map(json.loads, out.split("\n")[:-1])
    assert place(ferry[0]) == "workspace/trip.md:3"
    assert place(boiler[0]) == "memory/2026-05-09.md:3"


def test_an_empty_batch_has_no_answers(claw: Claw) -> None:
    assert claw("search", "--batch", "-") == ""


def test_a_vault_that_was_made_a_home_is_told_how_to_be_searched(home: Path, claw: Claw) -> None:
    assert claw("search", "lighthouse") == ""
    assert "not searched" not in claw.err
    write_file(home / "skills/a/SKILL.md", "---\nname: a\n---\n")
    write_file(home / "Projects/Sea.md", "The lighthouse is white.\n")
    assert claw("search", "lighthouse") == ""
    assert "Markdown files outside memory/ and workspace/ are not searched" in claw.err
    assert claw("search", "ferry")
    assert "not searched" not in claw.err
    assert claw("search", "which keeper painted a lighthouse for the boiler?")
    assert "not searched" in claw.err
    told = "such as Projects/Sea.md (1 in all; search the whole home: openclaw config set"
    assert told in claw.err
    CommandLine()("config", "set", "index.paths", ".")
    assert claw.found("lighthouse") == ["Projects/Sea.md:1"]


def test_of_many_files_that_are_not_read_the_first_are_named(home: Path, claw: Claw) -> None:
    for number in range(30):
        (home / f"workspace/{number}.png").write_bytes(b"\0")
    claw("index")
    assert claw.err.count("binary, not text") == 10
    assert "and 20 more (--json lists all)" in claw.err


# -------- wrong words


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "say what to look for"),
        (["   "], "say what to look for"),
        (["boiler", "--batch", "-"], "say what to look for"),
        (["--batch", "no/such/file"], "cannot read no/such/file"),
        (["--batch", "."], "cannot read ."),
        (["boiler", "--since", "soon"], "soon is not a date"),
        (["boiler", "-k", "0"], "-k"),
        (["boiler", "-k", "many"], "-k"),
    ],
)
def test_wrong_words_are_usage_errors(claw: Claw, words: list[str], told: str) -> None:
    assert claw("search", *words, code=2) == ""
    assert told in claw.err


def test_without_a_home_there_is_nothing_to_search(
    tmp_path: Path, claw: Claw, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENCLAW_HOME", str(tmp_path / "nowhere"))
    for words in (["search", "boiler"], ["index"], ["reindex"]):
        assert claw(*words, code=6) == ""
        assert "nowhere" in claw.err


def test_wrong_settings_are_told(home: Path, claw: Claw) -> None:
    write_file(home / "openclaw.yaml", "index:\n  keep: perhaps\n")
    claw("search", "boiler", code=2)
    assert "index.keep" in claw.err
    write_file(home / "openclaw.yaml", "index:\n  vectors: milvus\n")
    claw("search", "boiler", code=2)
    assert "'index.vectors' is no longer a setting" in claw.err
    assert "remove the line; vectors on a server: index.store: {class: llama_index" in claw.err


def test_without_a_vector_store_nothing_is_swept(home: Path, claw: Claw) -> None:
    claw("index", "--sweep", code=1)
    assert "nothing was swept: there is no vector store" in claw.err


# -------- homes


def test_a_folder_with_only_notes_can_be_searched(
    tmp_path: Path, claw: Claw, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "notes"
    write_file(folder / "memory/2026-01-02.md", "- The plumber comes on Thursday.\n")
    monkeypatch.delenv("OPENCLAW_HOME")
    monkeypatch.chdir(folder)
    assert claw.found("plumber") == ["memory/2026-01-02.md:1"]
    assert claw.index()["files"] == 1
    assert sorted(path.name for path in folder.iterdir()) == [".openclaw", "memory"]


def test_a_meaning_is_found_by_the_model_that_the_settings_name(
    home: Path, claw: Claw, fake_ollama: FakeOllama
) -> None:
    fake_ollama.models.append(FakeModel("nomic-embed-text:latest", dimensions=32))
    write_file(home / "openclaw.yaml", "embedding: ollama/nomic-embed-text\n")
    (passage, *_) = json.loads(claw("search", "boiler leaks", "--explain", "--json"))
    assert sorted(passage["ranks"]) == ["meaning", "words"]
    assert claw.err == ""


# -------- index and reindex


def test_index_tells_what_changed(home: Path, claw: Claw) -> None:
    report = claw.index()
    assert report.pop("seconds") >= 0
    chunks = report.pop("chunks")
    assert report == {"files": 4, "added": 4, "changed": 0, "removed": 0, "problems": []}
    (home / "memory/2026-05-09.md").unlink()
    write_file(home / "workspace/trip.md", "One line.\n")
    write_file(home / "workspace/new.txt", "Another.\n")
    told = claw("index")
    assert "of 4 files (1 added, 1 changed, 1 removed), " in told
    assert int(told.split()[0]) < chunks
    assert "of 4 files (nothing has changed), " in claw("index")


def test_the_time_of_the_index_holds_that_of_the_vectors(
    home: Path, claw: Claw, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_file(home / "openclaw.yaml", "embedding: ollama/embed\n")
    with FakeOllama(models=[FakeModel("embed:latest", dimensions=8)]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        server.vectors_said.append(Vectors(stall=0.3))
        assert claw.index()["seconds"] >= 0.3


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_what_an_interrupted_index_has_kept_is_told(
    home: Path, claw: Claw, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_file(home / "openclaw.yaml", "embedding: ollama/embed\n")
    write_file(
        home / "memory/2026-05-10.md", "".join(f"- The ferry number {n}\n\n" for n in range(90))
    )
    with FakeOllama(models=[FakeModel("embed:latest", dimensions=8)]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        server.vectors_said.extend([Vectors()] * 4 + [Vectors(stall=20)])

        def interrupt() -> None:
            while len(server.embeds) < 5:
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        assert claw("index", code=130) == ""
        thread.join()
    assert "interrupted; kept: " in claw.err and "go on with: openclaw memory index" in claw.err
    kept = re.search(r"([0-9]+) passages of 5 files, ([0-9]+) of them with vectors", claw.err)
    assert kept and 0 < int(kept[2]) < int(kept[1])


@pytest.mark.parametrize("words", [["reindex"], ["index", "--force"]])
def test_every_file_can_be_read_anew(claw: Claw, words: list[str]) -> None:
    claw.index()
    report = json.loads(claw(*words, "--json"))
    assert (report["files"], report["changed"]) == (4, 4)
    assert claw.found("ferry") == ["workspace/trip.md:3"]
