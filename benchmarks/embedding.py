"""How fast passages are embedded, beside raw onnxruntime on the same file, in one run.

    python -m benchmarks.embedding [--rounds 5]

Prints passages a second over the texts of `recall_data`, each once:

- raw: a session of onnxruntime with its default options, given ready token ids in our batches;
- raw, our options: the same with the session that we open;
- embedder: `MiniLM.documents`, from text to vector;
- index: `Search.embed` over the home, from waiting files to saved vectors.

They take turns, and the best of all rounds is told: what each can do undisturbed. The aim of the
last two is 0.9 of the better raw one.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.recall import DATA
from benchmarks.recall_score import Corpus
from openclaw.models.catalog import embedding_files
from openclaw.retrieval.chunking import split
from openclaw.retrieval.embedder_choice import EmbedderChoice
from openclaw.retrieval.minilm import (
    MAX_THREADS,
    MINILM_BATCH,
    MiniLM,
    batches,
    open_session,
    open_tokenizer,
)
from openclaw.retrieval.scan import IndexOptions
from openclaw.retrieval.search import Search
from openclaw.storage.home import Home

AIM = 0.9
Say = Callable[[str], object]


def main(say: Say = print) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    files = embedding_files()
    if files is None:
        raise SystemExit("all-minilm-l6-v2 is not installed: openclaw models pull all-minilm-l6-v2")
    texts = texts_of(Corpus(DATA / "home"))
    model, tokenizer = files
    embedder = MiniLM(model, tokenizer)
    embedder.load()
    inputs = [batch for _, batch in batches(open_tokenizer(tokenizer), texts)]
    threads = min(os.cpu_count() or 1, MAX_THREADS)
    ways = {
        "raw onnxruntime": run_raw(default_session(model), inputs),
        "raw, our options": run_raw(open_session(model, threads), inputs),
        "embedder": lambda: embedder.documents(texts),
        "index": lambda: fill_index(embedder),
    }
    seconds = take_turns(ways, rounds)
    say(f"{len(texts):,} texts, batches of {MINILM_BATCH}, {rounds} rounds\n")
    say("| | passages a second | beside raw |")
    say("|---|---:|---:|")
    raw = min(seconds[name] for name in list(ways)[:2])
    for name, each in seconds.items():
        say(f"| {name} | {len(texts) / each:.1f} | {raw / each:.2f} |")
    say(f"\nThe aim is {AIM} of raw.")


def texts_of(corpus: Corpus) -> list[str]:
    """What the index embeds."""
    return sorted(
        {
            part
            for path, lines in corpus.lines.items()
            for chunk in split("\n".join(lines), "markdown", path)
            for part in chunk.parts
        }
    )


def default_session(model: Path) -> Any:
    import onnxruntime

    return onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])


def run_raw(session: Any, inputs: Sequence[Mapping[str, Any]]) -> Callable[[], object]:
    """The network alone."""
    names = [given.name for given in session.get_inputs()]
    ready = [{name: batch[name] for name in names} for batch in inputs]
    return lambda: [session.run(None, batch) for batch in ready]


def fill_index(embedder: MiniLM) -> float:
    """Embed a home that has its words already; gives the seconds of that alone."""
    with tempfile.TemporaryDirectory(prefix="openclaw-bench-") as folder:
        home = Home(Path(folder).resolve() / "home")
        shutil.copytree(DATA / "home", home.root)
        search = Search(home, IndexOptions(), lambda: EmbedderChoice(embedder), home.private)
        try:
            search.refresh()
            began = time.perf_counter()
            if search.embed() or search.notices:
                raise SystemExit(f"not all is embedded: {search.notices}")
            return time.perf_counter() - began
        finally:
            search.close()


def take_turns(ways: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The fewest seconds of each way."""
    found = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, run in ways.items():
            began = time.perf_counter()
            given = run()
            took = given if isinstance(given, float) else time.perf_counter() - began
            found[name] = min(found[name], took)
    return found


if __name__ == "__main__":
    main()
