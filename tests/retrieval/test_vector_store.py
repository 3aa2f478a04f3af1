"""Vector stores beside the index: a copy that follows it, and costs no answer when it fails.

Milvus is tested as a file and as a server wherever the extra is installed; the server is the one
that OPENCLAW_TEST_MILVUS names, else Milvus Lite's own.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from openclaw.cli.main import run
from openclaw.errors import OpenclawError, UsageError
from openclaw.retrieval.scan import IndexOptions
from openclaw.retrieval.search import Search, choose_engine
from openclaw.retrieval.vector_store import LazyEngine, SentVectors, VectorEngine
from openclaw.storage.home import Home
from tests.fakes.embedder import WordEmbedder
from tests.fakes.ollama_server import FakeModel, FakeOllama

QUESTIONS = [
    "feline dwelling",
    "Which automobile passed number9?",
    '"number5 sat"',
    "car house number11 Olsen",
    "Did the cat leave the house at time 225?",
    "chlorophyll",
]
FILTERS: list[dict[str, str]] = [
    {},
    {"path": "workspace/"},
    {"path": "memory/2026-03"},
    {"since": "2026-05-01"},
    {"path": "memory/log.md", "since": "2026-06-01"},
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    root = tmp_path / "home"
    for n in range(12):
        day = f"2026-{n % 6 + 1:02}-{n + 1:02}"
        text = f"# {day}\n\n- The cat number{n} sat in the house\n- A car passed number{n * 3}\n"
        write(root, f"memory/{day}.md", text)
    write(root, "workspace/trip.md", "# Trip\n\nThe ferry of Olsen takes a car, no feline.\n")
    # Many near lines of old days beside a few of later ones.
    write(
        root,
        "memory/log.md",
        "".join(
            f"- 2026-0{1 if n < 220 else 7}-01: the cat left the house again, time {n}\n"
            for n in range(230)
        ),
    )
    return root


@pytest.fixture
def opened(home: Path) -> Iterator[Callable[..., Search]]:
    made = []

    def open_search(engine: Any = None, embedder: WordEmbedder | None = None) -> Search:
        chosen = embedder or WordEmbedder()
        search = Search(
            Home(home), IndexOptions(), lambda: chosen, home / ".openclaw", engine=engine
        )
        made.append(search)
        return search

    yield open_search
    for search in made:
        search.close()


def write(home: Path, path: str, text: str) -> None:
    file = home / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8", newline="")


def answers(search: Search, **how: Any) -> list[list[tuple[str, int, float]]]:
    """The passages for each question, with scores as exact as a copy must be."""
    return [
        [(p.path, p.start_line, round(p.score, 3)) for p in search.search(q, 20, **how)]
        for q in QUESTIONS
    ]


# -------- what the settings name


def test_the_index_itself_needs_no_engine(home: Path) -> None:
    assert choose_engine("embedded", "", Home(home)) is None


@pytest.mark.parametrize(
    ("kind", "uri", "message"),
    [
        ("qdrant", "", "no such vector store: qdrant"),
        ("milvus", "data/vectors", "not a place for Milvus: data/vectors"),
    ],
)
def test_what_is_no_vector_store_is_a_usage_error(
    home: Path, kind: str, uri: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        choose_engine(kind, uri, Home(home))


def test_an_engine_that_is_not_installed_costs_a_notice(
    home: Path, opened: Callable[..., Search], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "openclaw.retrieval.milvus", raising=False)
    monkeypatch.setitem(sys.modules, "llama_index.vector_stores.milvus", None)
    search = opened(choose_engine("milvus", "", Home(home)))
    assert answers(search) == answers(opened())
    [notice] = search.notices
    assert "Milvus is not installed" in notice
    assert "pip install 'openclaw[milvus]'" in notice


# -------- an engine of a few lines


class Copy:
    """An engine that searches where the index does, and fails while `is_away`."""

    def __init__(self) -> None:
        self.is_away = False
        self.asked: list[bool] = []
        self.closed = 0

    def __call__(self) -> VectorEngine:
        return self

    def vectors(self, view: Any, embedder: Any, *, patient: bool = False) -> Any:
        from openclaw.retrieval.llamaindex import stored_vectors

        self.asked.append(patient)
        if self.is_away:
            raise ConnectionError("nobody there")
        return stored_vectors(view, embedder)

    def close(self) -> None:
        self.closed += 1


def test_vectors_are_searched_in_the_engine(opened: Callable[..., Search]) -> None:
    copy = Copy()
    search = opened(copy)
    assert answers(search) == answers(opened())
    assert copy.asked == [False] * len(QUESTIONS)
    assert search.notices == []
    search.close()
    assert copy.closed == 1


def test_an_engine_is_brought_up_to_date_without_a_question(opened: Callable[..., Search]) -> None:
    copy = Copy()
    search = opened(copy)
    search.refresh()
    search.embed()
    assert copy.asked == [True]
    search.embed(seconds=1.0)
    assert copy.asked == [True]


def test_an_engine_that_fails_rests_and_the_index_answers(opened: Callable[..., Search]) -> None:
    copy = Copy()
    search = opened(copy)
    expected = answers(opened())
    assert answers(search) == expected
    copy.is_away = True
    assert answers(search) == expected
    assert copy.asked == [False] * (len(QUESTIONS) + 1)
    assert copy.closed == 1
    assert search.notices == ["the vector store failed and is not used for now: nobody there"]


def test_an_engine_is_opened_again_after_its_rest() -> None:
    made: list[Copy] = []

    def make() -> VectorEngine:
        made.append(Copy())
        made[-1].is_away = True
        return made[-1]

    nothing: Any = None
    attached = LazyEngine(make, rest_seconds=0.05)
    for _ in range(2):
        with pytest.raises(ConnectionError):
            attached.vectors(nothing, nothing)
    assert len(made) == 1
    attached.failed()
    ready = [attached.is_ready]
    time.sleep(0.06)
    ready.append(attached.is_ready)
    assert ready == [False, True]
    with pytest.raises(ConnectionError):
        attached.vectors(nothing, nothing)
    assert [copy.closed for copy in made] == [1, 0]
    attached.close()
    attached.close()
    assert [copy.closed for copy in made] == [1, 1]


def test_without_an_engine_there_is_none_to_ask() -> None:
    attached = LazyEngine(None)
    assert not attached.is_ready
    attached.failed()
    attached.close()


def test_what_was_sent_is_known_before_and_after_it_arrived(tmp_path: Path) -> None:
    sent = SentVectors(tmp_path / "new" / "sent.sqlite")
    sent.sending(["a", "b", "c"])
    sent.arrived(["a"])
    sent.gone(["b"])
    sent.set_state(width="64")
    sent.close()
    sent = SentVectors(tmp_path / "new" / "sent.sqlite")
    assert (sent.nodes(), sent.state("width")) == ({"a": True, "c": False}, "64")
    sent.clear()
    assert (sent.nodes(), sent.state("width")) == ({}, "")
    sent.close()


def test_a_damaged_list_is_made_anew_and_an_unusable_one_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "sent.sqlite"
    path.write_bytes(b"no database" * 1000)
    sent = SentVectors(path)
    assert sent.nodes() == {}
    sent.close()
    with pytest.raises(OpenclawError, match="the list of what it was sent cannot be used"):
        SentVectors(path / "below a file")


# -------- Milvus, as a file and as a server


@pytest.fixture(scope="session")
def milvus() -> Any:
    pytest.importorskip("llama_index.vector_stores.milvus")
    pytest.importorskip("milvus_lite")
    return pytest.importorskip("pymilvus")


@pytest.fixture(scope="module")
def server(milvus: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server."""
    if os.environ.get("OPENCLAW_TEST_MILVUS"):
        yield os.environ["OPENCLAW_TEST_MILVUS"]
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("server") / "data"
    command = ["server", "--data-dir", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    child = subprocess.Popen(
        [sys.executable, "-m", "milvus_lite", *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for _ in range(300):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    yield f"http://127.0.0.1:{port}"
    child.kill()
    child.wait()


@pytest.fixture(params=["file", "server"])
def uri(request: pytest.FixtureRequest, milvus: Any) -> str:
    return "" if request.param == "file" else str(request.getfixturevalue("server"))


class Place:
    """The Milvus of a home, seen from outside."""

    def __init__(self, pymilvus: Any, home: Path, uri: str) -> None:
        self.index = home / ".openclaw" / "index"
        self.make = choose_engine("milvus", uri, Home(home))
        self._target = uri or str(self.index / "milvus.db")
        self._pymilvus = pymilvus

    def collection(self) -> str:
        sent = SentVectors(self.index / "milvus.sqlite")
        name = sent.state("collection")
        sent.close()
        return name

    def count(self) -> int:
        return int(self("query", output_fields=["count(*)"])[0]["count(*)"])

    def __call__(self, method: str, **how: Any) -> Any:
        """Change the collection as another program would."""
        client = self._pymilvus.MilvusClient(uri=self._target)
        try:
            return getattr(client, method)(self.collection(), **how)
        finally:
            client.close()


@pytest.fixture
def place(milvus: Any, home: Path, uri: str) -> Iterator[Place]:
    place = Place(milvus, home, uri)
    yield place
    if place.index.exists() and place.collection():
        place("drop_collection")


@pytest.mark.parametrize("how", FILTERS, ids=str)
def test_milvus_finds_what_the_index_finds(
    opened: Callable[..., Search], place: Place, how: dict[str, str]
) -> None:
    search = opened(place.make)
    assert answers(search, **how) == answers(opened(), **how)
    assert search.notices == []
    assert any(answers(search, **how))


def test_milvus_follows_the_files(home: Path, opened: Callable[..., Search], place: Place) -> None:
    search, own = opened(place.make), opened()
    answers(search)
    first = place.collection()
    (home / "memory/2026-01-01.md").unlink()
    (home / "memory/2026-02-02.md").rename(home / "workspace/moved.md")
    write(home, "workspace/trip.md", "Olsen sold the car. A feline sat there: number11.\n")
    write(home, "workspace/new.md", "The house of Olsen has number11.\n")
    assert answers(search) == answers(own)
    assert place.count() == vectors(home)
    assert (place.collection(), search.notices) == (first, [])
    search.close()
    write(home, "workspace/new.md", "The car of Olsen has number12.\n")
    assert answers(opened(place.make)) == answers(own)
    assert (place.collection(), place.count()) == (first, vectors(home))


def test_another_embedding_model_gets_a_collection_of_its_own(
    home: Path, opened: Callable[..., Search], place: Place
) -> None:
    answers(opened(place.make))
    first = place.collection()
    wide = opened(place.make, WordEmbedder("fake/wide", width=96))
    assert answers(wide) == answers(opened(None, WordEmbedder("fake/wide", width=96)))
    assert place.collection() != first
    assert place.count() == vectors(home)
    assert not any("vector store" in notice for notice in wide.notices)


@pytest.mark.parametrize("method", ["drop_collection", "delete"])
def test_a_collection_that_somebody_emptied_is_filled_anew(
    home: Path, opened: Callable[..., Search], place: Place, method: str
) -> None:
    search = opened(place.make)
    expected = answers(search)
    search.close()
    place(method, **({"filter": 'id != ""'} if method == "delete" else {}))
    again = opened(place.make)
    assert answers(again) == expected
    assert place.count() == vectors(home)
    assert again.notices == []


@pytest.mark.parametrize("method", ["drop_collection", "delete"])
def test_a_server_that_is_emptied_meanwhile_is_filled_anew(
    milvus: Any, home: Path, opened: Callable[..., Search], server: str, method: str
) -> None:
    place = Place(milvus, home, server)
    search = opened(place.make)
    expected = answers(search)
    place(method, **({"filter": 'id != ""'} if method == "delete" else {}))
    assert answers(search) == expected
    assert (place.count(), search.notices) == (vectors(home), [])
    place("drop_collection")


def test_a_list_that_is_lost_or_damaged_means_filling_anew(
    home: Path, opened: Callable[..., Search], place: Place
) -> None:
    search = opened(place.make)
    expected = answers(search)
    search.close()
    (place.index / "milvus.sqlite").write_bytes(b"no database" * 1000)
    again = opened(place.make)
    assert answers(again) == expected
    assert (place.count(), again.notices) == (vectors(home), [])


def test_what_a_killed_process_left_half_sent_is_put_right(
    home: Path, opened: Callable[..., Search], place: Place
) -> None:
    search = opened(place.make)
    expected = answers(search)
    search.close()
    lost = place("query", filter='id != ""', output_fields=["id"], limit=3)
    place("delete", ids=[row["id"] for row in lost])
    sent = SentVectors(place.index / "milvus.sqlite")
    sent.sending([row["id"] for row in lost])
    sent.sending(["never arrived"])
    sent.close()
    assert answers(opened(place.make)) == expected
    assert place.count() == vectors(home)


def test_a_search_waits_for_a_part_and_the_index_answers(
    home: Path, opened: Callable[..., Search], place: Place
) -> None:
    write(home, "workspace/long.md", "".join(f"- item number{n} of many\n" for n in range(2_100)))
    own = opened()
    own.search("cat", complete=True)
    search = opened(place.make)
    assert answers(search) == answers(own)
    [notice] = search.notices
    assert "Milvus has only 2,000 of 2," in notice
    assert "openclaw memory index" in notice
    filled = opened(place.make)
    filled.embed()
    assert place.count() == vectors(home)
    assert answers(filled) == answers(own)
    assert filled.notices == []


def vectors(home: Path) -> int:
    """How many passages of the index have a vector."""
    search = Search(Home(home), IndexOptions(), WordEmbedder, home / ".openclaw")
    search.refresh()
    _, wanted = search.meaning.counts(search.current(None))
    search.close()
    return wanted


def test_lines_that_say_nothing_are_no_trouble(
    home: Path, opened: Callable[..., Search], place: Place
) -> None:
    for file in [*(home / "memory").iterdir(), home / "workspace/trip.md"]:
        file.unlink()
    write(home, "memory/rules.md", "---\n\n***\n")
    search = opened(place.make)
    search.embed()
    assert answers(search) == [[]] * len(QUESTIONS)
    assert search.notices == []


HOLD = """
import sys
from pathlib import Path
from openclaw.storage.home import Home
from openclaw.retrieval.search import choose_engine
from openclaw.retrieval.scan import IndexOptions
from openclaw.retrieval.search import Search
from tests.fakes.embedder import WordEmbedder
home = Home(Path(sys.argv[1]))
engine = choose_engine("milvus", "", home)
search = Search(home, IndexOptions(), WordEmbedder, home.private, engine=engine)
print(len(search.search("cat")), *search.notices, flush=True)
sys.stdin.read()
search.close()
"""


def test_a_file_that_another_process_holds_costs_a_notice(
    milvus: Any, home: Path, opened: Callable[..., Search]
) -> None:
    command = [sys.executable, "-c", HOLD, str(home)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin and child.stdout
    assert child.stdout.readline() == "5\n"
    search = opened(choose_engine("milvus", "", Home(home)))
    assert answers(search) == answers(opened())
    [notice] = search.notices
    assert "a file serves one process at a time" in notice
    child.communicate("")
    assert child.returncode == 0
    free = opened(choose_engine("milvus", "", Home(home)))
    assert answers(free) == answers(opened())
    assert free.notices == []


def test_a_server_that_is_away_costs_a_notice(
    milvus: Any, home: Path, opened: Callable[..., Search], closed_port: int
) -> None:
    address = f"127.0.0.1:{closed_port}"
    search = opened(choose_engine("milvus", f"http://me:secret@{address}", Home(home)))
    search.search("cat")
    began = time.monotonic()
    assert answers(search) == answers(opened())
    assert time.monotonic() - began < 10
    [notice] = search.notices
    assert f"Milvus at http://{address}: " in notice
    assert "(is it running?)" in notice
    assert "secret" not in notice


def test_a_server_that_says_nothing_is_not_waited_for(
    milvus: Any, home: Path, opened: Callable[..., Search]
) -> None:
    own = answers(opened())
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        address = f"http://127.0.0.1:{mute.getsockname()[1]}"
        search = opened(choose_engine("milvus", address, Home(home)))
        began = time.monotonic()
        assert answers(search) == own
        assert time.monotonic() - began < 15
    assert len(search.notices) == 1


def test_the_settings_choose_milvus(
    home: Path,
    place: Place,
    uri: str,
    fake_ollama: FakeOllama,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fake_ollama.models.append(FakeModel("nomic-embed-text:latest", dimensions=32))
    write(home, "workspace/SOUL.md", "# Soul\n")
    index = f"index:\n  vectors: milvus\n  vectors_uri: '{uri}'\n"
    write(home, "openclaw.yaml", f"embedding: ollama/nomic-embed-text\n{index}")
    assert run(["memory", "index"]) == 0
    capsys.readouterr()
    assert place.count() > 200
    assert run(["memory", "search", "the ferry of Olsen", "--json"]) == 0
    out, err = capsys.readouterr()
    assert (json.loads(out)[0]["path"], err) == ("workspace/trip.md", "")
