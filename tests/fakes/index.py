"""A plain splitter, word counter and embedder for the index, and what an index holds as values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from openclaw.errors import ServerAway
from openclaw.retrieval.chunking import Chunk
from openclaw.retrieval.embedder_choice import Embedder
from openclaw.retrieval.index_store import IndexStore
from openclaw.retrieval.indexer import Indexer
from openclaw.retrieval.scan import IndexOptions
from openclaw.retrieval.shared_store import LazyStore
from openclaw.retrieval.snapshot import Snapshot
from openclaw.retrieval.vector_upkeep import VectorFiller, missing
from openclaw.storage.home import Home


def split_lines(text: str, kind: str, path: str) -> list[Chunk]:
    """A chunk for each line that is not blank, ranked with the line before it; "# Name" stands
    above all that follows."""
    chunks: list[Chunk] = []
    headings: tuple[str, ...] = ()
    before = ""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        if line.startswith("# "):
            headings = (line[2:],)
        chunks.append(Chunk(number, number, line, (line, *([before] if before else [])), headings))
        before = line
    return chunks


def count_words(chunks: Sequence[Chunk]) -> tuple[dict[str, Any], npt.NDArray[np.float32]]:
    found: dict[str, list[tuple[int, int]]] = {}
    lengths = []
    for ordinal, chunk in enumerate(chunks):
        words = " ".join(chunk.parts).lower().split()
        lengths.append(len(words))
        for word, count in Counter(words).items():
            found.setdefault(word, []).append((ordinal, count))
    postings = {
        word: (np.array([o for o, _ in pairs], np.int32), np.array([n for _, n in pairs], "f4"))
        for word, pairs in found.items()
    }
    return postings, np.array(lengths, np.float32)


class FakeEmbedder:
    """Vectors made of the text's hash; remembers what it was given, fails when `left` runs out."""

    def __init__(self, name: str = "fake/one", width: int = 8, left: int = 1_000_000) -> None:
        self.name = name
        self.width = width
        self.left = left
        self.seen: list[str] = []

    def documents(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        if len(texts) > self.left:
            raise ServerAway("the embedding server is away", "start it")
        self.left -= len(texts)
        self.seen += texts
        return np.array([self.query(text) for text in texts], np.float32)

    def query(self, text: str) -> npt.NDArray[np.float32]:
        seed = int.from_bytes(f"{self.name}{text}".encode()[-8:], "little") % 2**32 + len(text)
        vector = np.random.default_rng(seed).standard_normal(self.width)
        unit: npt.NDArray[np.float32] = (vector / np.linalg.norm(vector)).astype(np.float32)
        return unit

    def load(self) -> None: ...

    def close(self) -> None:
        self.left = 0


def open_store(home: Path, **how: Any) -> IndexStore:
    return IndexStore(home / ".openclaw" / "index" / "index.sqlite", **how)


def plain_upkeep(home: Path, store: IndexStore, **how: Any) -> Indexer:
    """Upkeep with the plain splitter; `options` and `clock` as wanted."""
    how = {"options": IndexOptions(), "split": split_lines, "made_by": "plain", **how}
    return Indexer(Home(home), store, how.pop("options"), **how)


def embed_pending(upkeep: Indexer, embedder: Embedder, **how: Any) -> int:
    """Embed what has no vector yet. Returns how many contexts are left."""
    VectorFiller(upkeep.store, embedder, upkeep.contexts, LazyStore()).run(**how)
    left = missing(upkeep.store.snapshot(), embedder.name)
    return len({context for _, contexts in left for context in contexts.tolist()})


def matrix_of(
    snapshot: Snapshot, embedder: str
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
    """The vector of each row, zeros where it has none, and which rows have one."""
    vectors = snapshot.vectors(embedder)
    matrix = np.zeros((snapshot.count, vectors.width), np.float32)
    matrix[vectors.known] = vectors.read(np.flatnonzero(vectors.known))
    return matrix, vectors.known


def contents(store: IndexStore) -> dict[str, Any]:
    """All that a search can see, without the numbers that depend on the history of the index."""
    view = store.snapshot()
    rows = view.rows(range(view.count))
    ids = view.node_ids(range(view.count))
    places = [(chunk.path, chunk.start_line, node) for chunk, node in zip(rows, ids, strict=True)]
    words = {str(term) for (term,) in store.query("SELECT term FROM postings")}
    postings = {}
    for word in words:
        at, counts = view.postings(word)
        assert list(at) == sorted(set(at.tolist()))
        if len(at):
            pairs = zip(at.tolist(), counts.tolist(), strict=True)
            postings[word] = sorted((*places[row], count) for row, count in pairs)
    kept = ("text", "headings", "date", "label", "struck", "mtime_ns", "end_line")
    chunks = {
        place: (*(getattr(chunk, name) for name in kept), float(length), int(context))
        for place, chunk, length, context in zip(
            places, rows, view.lengths, view.contexts, strict=True
        )
    }
    assert len(chunks) == view.count
    return {"chunks": chunks, "postings": postings}


def built_anew(home: Path, folder: Path) -> dict[str, Any]:
    """What an index that is made from nothing holds."""
    store = IndexStore(folder / "anew.sqlite")
    report = plain_upkeep(home, store).refresh()
    assert not report.changed and not report.removed
    result = contents(store)
    store.close()
    for file in folder.glob("anew.sqlite*"):
        file.unlink()
    return result
