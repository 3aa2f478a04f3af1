"""The two sides of `benchmarks.index`, each in a process of its own that prints JSON.

    python -m benchmarks.sides build|warm|cold openclaw|stock FOLDER [EDITS] [QUESTION ...]

FOLDER/home holds the notes. The stock side is LlamaIndex as its guide has it: a `VectorStoreIndex`
on the stores that `StorageContext.persist` writes as JSON, a `BM25Retriever`, and both in a
`QueryFusionRetriever` that asks no language model. Each line of the notes is a node, so that there
are as many nodes as we have passages.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from benchmarks.notes import RandomEmbedder, give_vectors, opened

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openclaw.retrieval.embedder_choice import Embedder
    from openclaw.retrieval.snapshot import Snapshot

FOUND = 5
NEAREST, ASKED, BLOCK = 20, 60, 20_000
SHORTEST = 25
"""Characters of a line that is worth a vector."""


class Side(Protocol):
    def build(self) -> int:
        """Build and save an index with random vectors; how many passages it holds."""
        ...

    def open(self, embedder: Embedder | None) -> None:
        """Be ready to be asked."""
        ...

    def ask(self, question: str) -> list[str]:
        """The best passages."""
        ...

    def edited(self, path: Path, number: int) -> None:
        """Bring the index along with a line (from 1) of a file that was changed."""
        ...

    def close(self) -> None:
        """Close what is open."""
        ...


class Openclaw:
    """Our own index."""

    def __init__(self, folder: Path) -> None:

        self._home, self._seeds = folder / "home", _load(folder / "seeds.npy")

    def build(self) -> int:
        shutil.rmtree(self._home / ".openclaw" / "index", ignore_errors=True)
        return give_vectors(self._home, self._seeds)

    def open(self, embedder: Embedder | None) -> None:
        self._search = opened(self._home, lambda: embedder)

    def ask(self, question: str) -> list[str]:
        return [passage.text for passage in self._search.search(question, FOUND)]

    def edited(self, path: Path, number: int) -> None:
        """The next question sees to it."""

    def snapshot(self) -> Snapshot:
        return self._search.current(0)

    def close(self) -> None:
        self._search.close()


class Stock:
    """LlamaIndex's stock stores."""

    def __init__(self, folder: Path) -> None:
        from llama_index.core import (  # noqa: F401 - not timed
            StorageContext,
            VectorStoreIndex,
            load_index_from_storage,
        )
        from llama_index.core.retrievers import QueryFusionRetriever  # noqa: F401
        from llama_index.retrievers.bm25 import BM25Retriever  # noqa: F401

        self._home, self._stores = folder / "home", folder / "stock"
        self._index: Any = None

    def build(self) -> int:
        from llama_index.core import VectorStoreIndex
        from llama_index.core.schema import TextNode

        from benchmarks.recall_llama import TextEmbedding

        shutil.rmtree(self._stores, ignore_errors=True)
        pages = sorted((self._home / "memory").glob("*.md"))
        nodes = [
            TextNode(id_=_id(path, number), text=line, metadata={"path": path.name})
            for path in pages
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
            if line.strip()
        ]
        embedder = RandomEmbedder()
        vectors = embedder.documents([node.text for node in nodes]).tolist()
        for node, vector in zip(nodes, vectors, strict=True):
            node.embedding = vector
        self._index = VectorStoreIndex(nodes, embed_model=TextEmbedding(embedder))
        self._save()
        return len(nodes)

    def open(self, embedder: Embedder | None) -> None:
        from llama_index.core import StorageContext, load_index_from_storage
        from llama_index.retrievers.bm25 import BM25Retriever

        from benchmarks.recall_llama import TextEmbedding

        storage = StorageContext.from_defaults(persist_dir=str(self._stores))
        model = TextEmbedding(embedder or RandomEmbedder())
        self._index = load_index_from_storage(storage, embed_model=model)
        self._fuse(BM25Retriever.from_persist_dir(str(self._stores / "bm25")))

    def ask(self, question: str) -> list[str]:
        return [found.text for found in self._retriever.retrieve(question)]

    def close(self) -> None:
        """Its stores are files that are read whole."""

    def edited(self, path: Path, number: int) -> None:
        from llama_index.core.schema import TextNode

        name = _id(path, number)
        line = path.read_text(encoding="utf-8").splitlines()[number - 1]
        self._index.delete_nodes([name], delete_from_docstore=True)
        self._index.insert_nodes([TextNode(id_=name, text=line, metadata={"path": path.name})])
        self._fuse(self._save())

    def _save(self) -> Any:
        """Persist vectors and texts, and the words made anew: BM25 cannot be changed."""
        from llama_index.retrievers.bm25 import BM25Retriever

        words = BM25Retriever.from_defaults(docstore=self._index.docstore, similarity_top_k=FOUND)
        self._index.storage_context.persist(str(self._stores))
        words.persist(str(self._stores / "bm25"))
        return words

    def _fuse(self, words: Any) -> None:
        from llama_index.core.llms import MockLLM
        from llama_index.core.retrievers import QueryFusionRetriever

        self._retriever = QueryFusionRetriever(
            [self._index.as_retriever(similarity_top_k=FOUND), words],
            llm=MockLLM(),
            num_queries=1,
            similarity_top_k=FOUND,
            use_async=False,
        )


class Timed:
    """An embedder that sums up what its documents cost, in seconds."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.seconds = 0.0
        self.name = embedder.name
        self.query, self.load, self.close = embedder.query, embedder.load, embedder.close

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        began = time.perf_counter()
        vectors = self._embedder.documents(texts)
        self.seconds += time.perf_counter() - began
        return vectors


def build(side: Side, folder: Path) -> dict[str, float]:
    began = time.perf_counter()
    chunks = side.build()
    return {"seconds": time.perf_counter() - began, "chunks": chunks}


def cold(side: Side, folder: Path, question: str) -> list[str]:
    """What `openclaw memory search` is on our side."""
    side.open(installed())
    return side.ask(question)


def warm(side: Side, folder: Path, edits: str, *questions: str) -> dict[str, float]:
    """Medians in seconds: of a question, and of an edit until its answer without the embedding of
    what changed, which is told apart."""
    embedder = installed()
    timed = Timed(embedder) if embedder else None
    side.open(timed)
    side.ask(questions[0])
    asked = [seconds(partial(side.ask, question)) for question in questions[1:]]
    pages = sorted((folder / "home" / "memory").glob("*.md"))[-int(edits) :]
    beyond, embedding = [], []
    for at, path in enumerate(pages):
        before = timed.seconds if timed else 0.0
        whole = edit(side, path, f"Marmalade{at}")
        embedding.append(timed.seconds - before if timed else 0.0)
        beyond.append(whole - embedding[-1])
    return {
        "warm": statistics.median(asked),
        "edit": statistics.median(beyond),
        "embedding": statistics.median(embedding),
    }


def recall(side: Openclaw, folder: Path) -> float:
    """The share of the exactly `NEAREST` rows that the index finds, mean of real questions."""
    import numpy as np

    side.open(None)
    name, rows = RandomEmbedder().name, side.snapshot().count
    vectors = side.snapshot().vectors(name)
    asked = np.load(folder / "questions.npy")
    exact = np.concatenate(
        [
            vectors.read(np.arange(start, min(start + BLOCK, rows))) @ asked.T
            for start in range(0, rows, BLOCK)
        ]
    )
    found = []
    for question, cosines in zip(asked, exact.T, strict=True):
        best = np.argpartition(-cosines, NEAREST)[:NEAREST]
        found.append(len(np.intersect1d(best, vectors.nearest(question, NEAREST))) / NEAREST)
    return statistics.mean(found)


def save_seeds(_: Side, folder: Path) -> bool:
    """Save vectors of real lines and questions, those of benchmarks/recall_data. Returns False
    where MiniLM is not installed."""
    import numpy as np

    embedder = installed()
    if embedder is None:
        return False
    data = Path(__file__).parent / "recall_data"
    pages = sorted((data / "home").rglob("*.md"))
    lines = [line for page in pages for line in page.read_text("utf-8").splitlines()]
    lines = sorted({line for line in lines if len(line) > SHORTEST}, key=len)
    seeds = [embedder.documents(lines[at : at + 32]) for at in range(0, len(lines), 32)]
    np.save(folder / "seeds.npy", np.concatenate(seeds))
    told = (data / "questions.jsonl").read_text("utf-8").splitlines()
    asked = [str(json.loads(line)["question"]) for line in told][:ASKED]
    np.save(folder / "questions.npy", np.array([embedder.query(each) for each in asked]))
    return True


def edit(side: Side, path: Path, word: str) -> float:
    """Seconds from another last line of a file to the answer that holds it."""
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[-1] = f"- {word} is what the new line is about."
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    found: list[str] = []

    def answer() -> None:
        side.edited(path, len(lines))
        found.extend(side.ask(f"What is said of {word}?"))

    took = seconds(answer)
    if not any(word in text for text in found):
        raise SystemExit(f"the new line of {path.name} was not found")
    return took


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def installed() -> Embedder | None:
    """MiniLM, None where it is not installed."""
    from openclaw.models.catalog import embedding_files
    from openclaw.retrieval.embedder_choice import choose_embedder

    return choose_embedder("embedded", minilm=embedding_files(), ollama_host="").embedder


def _load(path: Path) -> NDArray[np.float32] | None:
    import numpy as np

    return np.load(path) if path.exists() else None


def _id(path: Path, number: int) -> str:
    return f"{path.name}:{number}"


SIDES: dict[str, Callable[[Path], Side]] = {"openclaw": Openclaw, "stock": Stock}
TASKS: dict[str, Callable[..., Any]] = {
    "build": build,
    "cold": cold,
    "warm": warm,
    "recall": recall,
    "seeds": save_seeds,
}


def main() -> None:
    task, side, folder, *questions = sys.argv[1:]
    path = Path(folder)
    print(json.dumps(TASKS[task](SIDES[side](path), path, *questions)))


if __name__ == "__main__":
    main()
