"""What is lost when the program dies, or when the disk fails, at any moment.

    python -m tests.crash.harness [--quick] [--seed N] [--only SCENARIO [--number N]]
                               [--results FILE] [--workers N]

Each run plays commands (turns with a scripted model, to-dos, memories, undo ...) in a home of its
own. It is killed with SIGKILL: at a chosen change of a file, at a random moment, or right after a
line that it has printed; or its writes fail: full disk, I/O error, read-only. Then the next start,
a normal turn and `doctor --fix`, must find everything that was told done, and nothing for a person
to put right. In a fifth of the runs that next start is killed as well.

`--results` keeps a JSON line a run; with the same seed the benchmark goes on where it was. A run is
repeated by seed, scenario and number. POSIX only.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from tests.crash.faults import LIBRARY, inside, library
from tests.crash.model import Obedient
from tests.crash.naive import NAIVE
from tests.crash.run import Scenario
from tests.crash.stores import STORES
from tests.crash.turns import TURNS

TOP = Path(__file__).resolve().parent.parent.parent
SCENARIOS = (*STORES, *TURNS)
SETTINGS = """\
model: ollama/fake:1b
protocol: native
recall: tool
embedding: none
preload: false
ollama:
  host: {url}
"""
QUICK = ("todo", "files")
KINDS = ("lost", "unloadable", "repairs", "unclear")
COLUMNS = ("lost", "do not load", "by hand", "unclear errors")
Row = dict[str, Any]


@dataclass(slots=True)
class Player:
    """One worker process, that plays one run at a time."""

    process: subprocess.Popen[str]

    def play(self, task: Row) -> Row:
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin and stdout
        stdin.write(json.dumps(task) + "\n")
        stdin.flush()
        line = stdout.readline()
        if not line:
            raise RuntimeError(f"the worker ended at {task}")
        answer: Row = json.loads(line)
        return answer

    def end(self) -> None:
        with self.process:  # closes its input, which it ends at
            pass


@dataclass(slots=True)
class Bench:
    """Plays tasks on several workers and keeps what came of them."""

    seed: int
    results: IO[str] | None = None
    rows: list[Row] = field(default_factory=list)
    failed: str = ""

    def run(self, tasks: Iterable[Row], workers: int, folder: Path) -> None:
        waiting: queue.SimpleQueue[Row] = queue.SimpleQueue()
        for task in tasks:
            waiting.put(task)
        with Obedient() as server:
            settings = SETTINGS.format(url=server.url)
            players = [started(folder / f"w{number}", settings) for number in range(workers)]
            threads = [threading.Thread(target=self._work, args=(p, waiting)) for p in players]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for player in players:
                player.end()
        if self.failed:
            raise RuntimeError(self.failed)

    def _work(self, player: Player, waiting: queue.SimpleQueue[Row]) -> None:
        try:
            while not self.failed:
                row = player.play(waiting.get_nowait())
                self.rows.append(row)
                if self.results:
                    self.results.write(json.dumps(row) + "\n")
                    self.results.flush()
                self._tell(row)
        except queue.Empty:
            return
        except (RuntimeError, OSError) as error:
            self.failed = str(error)

    def _tell(self, row: Row) -> None:
        if row["scenario"] == NAIVE.name:
            return
        for kind in KINDS:
            for what in row[kind]:
                sys.stderr.write(f"{name_of(row)}: {row['what']}: {kind}: {what}\n")


def name_of(row: Row) -> str:
    """How a run is repeated."""
    errors = " --errors" if row["kind"] == "error" else ""
    return f"--seed {row['seed']} --only '{row['scenario']}' --number {row['number']}{errors}"


def started(folder: Path, settings: str) -> Player:
    """A worker with a folder of its own; the user's git and openclaw settings do not reach it."""
    folder.mkdir(parents=True)
    (folder / "user").mkdir()
    (folder / "models").mkdir()
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "OPENCLAW_"))}
    environ |= {
        "HOME": str(folder / "user"),
        "XDG_CONFIG_HOME": str(folder / "user"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "OPENCLAW_MODELS": str(folder / "models"),
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": str(TOP),
        "NO_COLOR": "1",
    }
    if built := library(folder):
        environ |= {LIBRARY: str(built), "LD_PRELOAD": str(built)}
    outer = inside()
    words = [sys.executable, "-m", "tests.crash.worker", str(folder), settings]
    process = subprocess.Popen(
        [*outer, *words, "disk" if outer else ""],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environ,
        cwd=TOP,
    )
    return Player(process)


# -------- which runs


def tasks_of(scenarios: Sequence[Scenario], seed: int, share: float) -> list[Row]:
    """The runs of these scenarios, by turns, so that any beginning of the list has some of all."""
    found = []
    for scenario in scenarios:
        for kind, count in (("kill", scenario.kills), ("error", scenario.errors)):
            most = max(1, round(count * share)) if count else 0
            for number in range(most):
                place = number / most
                task = {"scenario": scenario.name, "kind": kind, "number": number, "seed": seed}
                found.append((place, task))
    return [task for _, task in sorted(found, key=lambda each: each[0])]


def quick_tasks(seed: int) -> list[Row]:
    """A few runs of two scenarios, and enough of the naive writer to show that kills tell."""
    some = [s for s in SCENARIOS if s.name in QUICK]
    return [*tasks_of(some, seed, 0.04), *tasks_of([NAIVE], seed, 0.2)]


def key_of(row: Row) -> tuple[Any, ...]:
    return row["scenario"], row["kind"], row["number"], row["seed"]


# -------- what is printed


def table(rows: Sequence[Row], kind: str) -> str:
    """A line a scenario, and one for all but the naive writer."""
    hit = "killed in the middle" if kind == "kill" else "commands failed"
    columns = COLUMNS[:3] if kind == "kill" else COLUMNS
    lines = [f"| scenario | runs | {hit} | told | {' | '.join(columns)} |"]
    lines.append("|---" * (4 + len(columns)) + "|")
    chosen = [row for row in rows if row["kind"] == kind]
    for scenario in (*SCENARIOS, NAIVE):
        own = [row for row in chosen if row["scenario"] == scenario.name]
        if own:
            lines.append(_line(scenario.name, own, len(columns)))
    ours = [row for row in chosen if row["scenario"] != NAIVE.name]
    if ours:
        lines.append(_line("all but the naive writer", ours, len(columns)))
    return "\n".join(lines)


def _line(name: str, rows: Sequence[Row], count: int) -> str:
    """Items lost are counted, of the others the runs."""
    figures = [len(rows), sum(row["hit"] for row in rows), sum(row["told"] for row in rows)]
    figures.append(sum(len(row["lost"]) for row in rows))
    figures += [sum(bool(row[kind]) for row in rows) for kind in KINDS[1:count]]
    return f"| {name} | {' | '.join(map(str, figures))} |"


def faults_in(rows: Iterable[Row]) -> int:
    """Runs of openclaw with anything to complain of."""
    return sum(any(row[kind] for kind in KINDS) for row in rows if row["scenario"] != NAIVE.name)


def read_arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.crash.harness")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", metavar="SCENARIO", default="")
    parser.add_argument("--number", type=int, help="one run of that scenario")
    parser.add_argument("--errors", action="store_true", help="with --number: one with errors")
    parser.add_argument("--results", type=Path, help="a file to keep runs in and to go on from")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="a few runs of some scenarios")
    return parser.parse_args(words)


def main(words: Sequence[str]) -> int:
    given = read_arguments(words)
    chosen = [s for s in (*SCENARIOS, NAIVE) if given.only in ("", s.name)]
    tasks = quick_tasks(given.seed) if given.quick else tasks_of(chosen, given.seed, 1.0)
    if given.number is not None:
        kind = "error" if given.errors else "kill"
        numbered = {"scenario": given.only, "kind": kind, "number": given.number}
        tasks = [{**numbered, "seed": given.seed}]
    bench = Bench(given.seed)
    if given.results:
        known = given.results.read_text("utf-8") if given.results.exists() else ""
        bench.rows = [json.loads(line) for line in known.splitlines()]
        have = {key_of(row) for row in bench.rows}
        tasks = [task for task in tasks if key_of(task) not in have]
        bench.results = given.results.open("a", encoding="utf-8")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        bench.run(tasks, min(given.workers, max(1, len(tasks))), Path(folder).resolve())
    for kind in ("kill", "error"):
        print(f"\n{table(bench.rows, kind)}")
    bad = faults_in(bench.rows)
    print(f"\nseed {given.seed}: {bad} runs with a fault")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
