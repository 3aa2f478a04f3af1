"""What the memory index costs, beside LlamaIndex's stock stores in the same run.

    python -m benchmarks.index [--sizes 1000,10000,100000] [--runs 3] [--builds 1] [--no-stock]

Prints a Markdown table for each number of passages, over made-up notes (`benchmarks.notes`) and
ready vectors, so that no side waits for an embedding model while it builds: ours are mixed from
those of 1,300 real lines, stock's are random. What is told:

- build: from the files to the saved index, the import of libraries not counted;
- cold search: a whole process, `openclaw memory search QUESTION --json`; files are in the page
  cache and modules byte-compiled. The question is embedded by the real MiniLM on both sides;
- warm question: median of 20 different ones in one process, each with its look at all files;
- edited file: in the same process, from the moment that the last line of a file is another until
  an answer holds it. The embedder is wrapped: the time in its calls for documents is left out;
- memory: peak resident size of the whole process (not on Windows);
- recall: of the 20 nearest passages by exact cosine the share that our index finds, mean of 60 real
  questions.

All figures are medians of as many runs (or edits). Stock does not look at files: it is told which
line was edited, replaces that node, makes BM25 anew and saves. With 100,000 passages stock takes a
quarter of an hour a run: --runs 1, or --no-stock. 1,000,000 build in 5 minutes and take 3 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from benchmarks.notes import make_home, questions
from benchmarks.startup import OPENCLAW, environment
from openclaw.storage.program import models_folder

QUESTIONS = 20
NOWHERE = "127.0.0.1:9"
# The aims at these numbers of passages; beyond 10,000 nothing may grow faster than the notes.
AIMS = {
    10_000: {"cold": "0.8 s", "warm": "30 ms", "edit": "0.15 s", "size": "40 MiB"},
    100_000: {"warm": "300 ms"},
    1_000_000: {"cold": "1.5 s", "warm": "150 ms", "edit": "0.3 s", "cold peak": "250 MiB"},
}
RECALL_AIM = 0.98
COLD_AIM = 0.5
ROWS = (
    ("build", "build without embedding", "s", 1.0),
    ("build peak", "build, peak memory", "MiB", 1.0),
    ("cold", "cold search, whole process", "s", 1.0),
    ("cold cpu", "cold search, processor time", "s", 1.0),
    ("cold peak", "cold search, peak memory", "MiB", 1.0),
    ("warm", "warm question", "ms", 1e3),
    ("edit", "edited file until its answer", "s", 1.0),
    ("size", "index on disk", "MiB", 1.0),
)

Figures = Mapping[str, float]
Say = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Ran:
    """What a process cost (seconds, MiB; the latter two 0 on Windows) and what it printed."""

    wall: float
    cpu: float
    peak: float
    output: str


def main(say: Say = print) -> None:
    """Print the tables."""
    words = argparse.ArgumentParser(description="What the memory index costs.")
    words.add_argument("--sizes", default="1000,10000", help="numbers of passages")
    words.add_argument("--runs", type=int, default=3, help="runs of each process (default: 3)")
    words.add_argument("--builds", type=int, help="runs of the build (default: as --runs)")
    words.add_argument("--no-stock", action="store_true", help="leave the reference out")
    said = words.parse_args()
    sides = ["openclaw"] if said.no_stock else ["openclaw", "stock"]
    sizes = [int(size) for size in said.sizes.split(",")]
    builds = said.builds or said.runs
    measured = [measure(size, builds, said.runs, sides, say) for size in sizes]
    for before, after in pairwise(zip(sizes, measured, strict=True)):
        growth(before, after, say)


def measure(chunks: int, builds: int, runs: int, sides: Sequence[str], say: Say) -> Figures:
    """Print the table of one home; our figures."""
    with tempfile.TemporaryDirectory(prefix="openclaw-bench-") as folder:
        bench = Bench(Path(folder).resolve(), chunks)
        found = {side: bench.built(side, builds) for side in sides}
        imports = bench.cold(found, runs)
        for side in sides:
            found[side].update(bench.warm(side, runs))
        say(f"\n{chunks:,} passages, {bench.describe()}; medians of {runs}\n")
        table(chunks, found, say)
        times = found["openclaw"]["cold"] / imports
        say(f"\nImport of llama_index.core alone: {imports:.2f} s, a whole cold search of openclaw")
        say(f"{times:.2f} times that (aim at most {COLD_AIM})")
        embedding = ", ".join(f"{side} {found[side]['embedding']:.3f} s" for side in sides)
        say(f"Left out of the edit: embedding what changed, {embedding}")
        if bench.embeds:
            say(f"Recall of the 20 nearest: {bench.recall():.3f} (aim at least {RECALL_AIM})")
        else:
            say("MiniLM is not installed: openclaw goes by words only, stock by a random vector")
        return found["openclaw"]


class Bench:
    """A made-up home in a folder, and the processes that work on it."""

    def __init__(self, folder: Path, chunks: int) -> None:
        self.folder, self.home = folder, folder / "home"
        make_home(self.home, chunks)
        self.questions = questions(QUESTIONS + 1, chunks)
        # A yes to this home, in a list of its own: the index of a home that is not trusted is
        # kept in memory, and made again by every search.
        self.environ = {
            **environment(self.home, NOWHERE),
            "XDG_DATA_HOME": str(folder / "data"),
            "OPENCLAW_MODELS": str(models_folder()),
        }
        self.embeds = json.loads(self._run(self._child("seeds", "openclaw")).output)
        setting = "embedded" if self.embeds else "none"
        settings = self.home / "openclaw.yaml"
        settings.write_text(f"embedding: {setting}\n", encoding="utf-8", newline="\n")
        self._run([*OPENCLAW, "trust", "--yes"])

    def describe(self) -> str:
        sizes = [page.stat().st_size for page in self.home.glob("memory/*.md")]
        return f"{len(sizes):,} files, {sum(sizes) / 2**20:.1f} MiB together"

    def built(self, side: str, runs: int) -> dict[str, float]:
        """Seconds, peak memory and size of the index."""
        every = [self._run(self._child("build", side)) for _ in range(runs)]
        told = [json.loads(ran.output) for ran in every]
        place = self.folder / "stock" if side == "stock" else self.home / ".openclaw" / "index"
        files = [path for path in place.rglob("*") if path.is_file()]
        return {
            "build": statistics.median(one["seconds"] for one in told),
            "build peak": statistics.median(ran.peak for ran in every),
            "size": sum(path.stat().st_size for path in files) / 2**20,
            "chunks": told[0]["chunks"],
        }

    def cold(self, found: Mapping[str, dict[str, float]], runs: int) -> float:
        """Add what a cold search costs; the seconds of LlamaIndex's import. Sides take turns."""
        imports = [sys.executable, "-c", "import llama_index.core"]
        every: dict[str, list[Ran]] = {side: [] for side in found}
        imported = []
        self._cold("openclaw")  # compiles what is not compiled yet
        for _ in range(runs):
            for side in found:
                every[side].append(self._cold(side))
            imported.append(self._run(imports).wall)
        for side, costs in every.items():
            found[side]["cold"] = statistics.median(ran.wall for ran in costs)
            found[side]["cold cpu"] = statistics.median(ran.cpu for ran in costs)
            found[side]["cold peak"] = statistics.median(ran.peak for ran in costs)
        return statistics.median(imported)

    def warm(self, side: str, edits: int) -> dict[str, float]:
        """Seconds of a question and of an edit."""
        ran = self._run(self._child("warm", side, str(edits), *self.questions))
        told: dict[str, float] = json.loads(ran.output)
        return told

    def recall(self) -> float:
        """The share of the exactly nearest passages that our index finds."""
        return float(self._run(self._child("recall", "openclaw")).output)

    def _cold(self, side: str) -> Ran:
        question = self.questions[0]
        ours = [*OPENCLAW, "memory", "search", question, "--json"]
        ran = self._run(ours if side == "openclaw" else self._child("cold", side, question))
        if not json.loads(ran.output):
            raise SystemExit(f"{side} found nothing for {question!r}")
        return ran

    def _child(self, task: str, side: str, *words: str) -> list[str]:
        return [sys.executable, "-m", "benchmarks.sides", task, side, str(self.folder), *words]

    def _run(self, command: Sequence[str]) -> Ran:
        return run(command, self.environ, self.folder)


def run(command: Sequence[str], environ: Mapping[str, str], folder: Path) -> Ran:
    """Run a process to its end. Its messages go to a file in `folder`."""
    messages = folder / "stderr"
    began = time.perf_counter()
    with messages.open("wb") as errors:
        process = subprocess.Popen(
            command,
            env=dict(environ),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        output, cpu, peak = waited(process)
    wall = time.perf_counter() - began
    if process.returncode:
        said = messages.read_text(encoding="utf-8", errors="replace")
        raise SystemExit(f"{command} left with {process.returncode}:\n{said}")
    return Ran(wall, cpu, peak, output.decode("utf-8"))


def waited(process: subprocess.Popen[bytes]) -> tuple[bytes, float, float]:
    """Output, processor seconds and peak MiB of a process that ends."""
    if sys.platform == "win32":
        return process.communicate()[0], 0.0, 0.0
    assert process.stdout is not None
    with process.stdout as pipe:
        output = pipe.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return output, used.ru_utime + used.ru_stime, used.ru_maxrss / unit


def table(chunks: int, found: Mapping[str, Figures], say: Say) -> None:
    """A row for each figure: ours, stock's and how many times ours that is, the aim."""
    aims = AIMS.get(chunks, {})
    stock = ["LlamaIndex stock", "times"] if "stock" in found else []
    names = ["", "openclaw", *stock, "aim at most"]
    say(f"|{' | '.join(names)} |\n|---|{'---:|' * (len(names) - 1)}")
    for key, name, unit, scale in ROWS:
        cells = [f"{shown(figures[key] * scale)} {unit}" for figures in found.values()]
        if stock:
            ours = found["openclaw"][key]
            cells.append(f"{found['stock'][key] / ours:.1f}" if ours else "")
        say(f"| {' | '.join([name, *cells, aims.get(key, '')])} |")
    counts = {side: int(figures["chunks"]) for side, figures in found.items()}
    if set(counts.values()) != {chunks}:
        say(f"\nnot {chunks:,} passages, but {counts}")


def growth(small: tuple[int, Figures], large: tuple[int, Figures], say: Say) -> None:
    """How our figures grew from one number of passages to another."""
    (few, before), (many, after) = small, large
    say(f"\nFrom {few:,} to {many:,} passages, {many / few:.0f} times as many\n")
    say("| | times as much | aim at most |\n|---|---:|---:|")
    for key, name, _, _ in ROWS:
        if before[key]:
            say(f"| {name} | {after[key] / before[key]:.1f} | {many / few:.0f} |")


def shown(number: float) -> str:
    """Three figures, whole numbers from a hundred on."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


if __name__ == "__main__":
    main()
