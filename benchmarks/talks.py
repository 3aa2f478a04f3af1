"""Time to the first token within conversations, in one process and resumed in a new one.

    python -m benchmarks.prefix --only-talks [--model PATH] [--runs 3]

A conversation of 20 turns is played with the real model, all in one process: the rows "one
process". Before its turns 2 and 20 the home is copied. On such a copy the same turn is asked by the
command line, in a new process: once as the home is ("new process"), once without anything that the
model has kept ("read cold": llama.cpp's states deleted, Ollama's model unloaded). By turns, each on
a copy of its own; medians. Seconds count from the start of the command, so they hold Python, the
loading of the model and the reading; "of the model" are those in which the prompt was read. The
rows "one process" count from the request on.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from openclaw.storage.home import Home
from openclaw.storage.trust_store import trust_home

REPOSITORY = Path(__file__).resolve().parent.parent
TURNS = (2, 20)
NAME = "trip"
SETTINGS = "recall: tool\nprotocol: json\nwindow: 8192\nmax_tokens: 24\nmax_steps: 1\n"
PLACES = "Bergen Oslo Turku Riga Gdansk Kiel Aarhus Malmo Lubeck Visby Tartu Narva".split()


class Shot(NamedTuple):
    """Seconds to the first token, those in which the prompt was read; tokens, those reused."""

    first: float
    reading: float
    tokens: int
    reused: int


def main() -> None:
    words = argparse.ArgumentParser(description="Play turns in one process.")
    words.add_argument("home", type=Path)
    words.add_argument("model")
    words.add_argument("turns", type=int, nargs=2)
    said = words.parse_args()
    print(json.dumps(play(said.home, said.model, *said.turns)))


def report(model: str, runs: int) -> None:
    print(f"\nconversations, {Path(model).name}, {runs} runs, medians")
    print("turn                     first token, s   of cold  of the model, s   tokens   reused")
    with tempfile.TemporaryDirectory(prefix="openclaw-bench-") as folder:
        home, begun = Path(folder) / "home", 1
        new_home(home)
        for turn in TURNS:
            talked = in_one_process(home, model, begun, turn - 1)
            kept = Path(folder) / "kept"
            shutil.copytree(home, kept)
            rows = shots(kept, model, turn, runs)
            shutil.rmtree(kept)
            talked += in_one_process(home, model, turn, turn) if turn == TURNS[0] else []
            begun = turn + 1
            _print(turn, rows, talked)
    print("\naim: a new process at most 15 % of cold")


def _print(turn: int, rows: dict[str, list[Shot]], talked: list[Shot]) -> None:
    rows = {"one process": talked[-1:], **rows}
    cold = statistics.median(shot.first for shot in rows["read cold"])
    for name, taken in rows.items():
        first = statistics.median(shot.first for shot in taken)
        reading = statistics.median(shot.reading for shot in taken)
        shot = taken[0]
        print(
            f"{turn:>4}, {name:<16}{first:17.2f}{first / cold:10.1%}{reading:17.2f}"
            f"{shot.tokens:9,}{shot.reused:9,}"
        )


def shots(home: Path, model: str, turn: int, runs: int) -> dict[str, list[Shot]]:
    """The same turn asked in new processes, by turns with and without what the model has kept."""
    taken: dict[str, list[Shot]] = {"new process": [], "read cold": []}
    for run in range(runs):
        for name, shots_of in taken.items():
            copy = home.with_name(f"{name}-{run}")
            shutil.copytree(home, copy)
            trust_home(Home(copy), keep_id=True)  # a copy is another place
            if name == "read cold":
                forget(copy, model)
            shots_of.append(one_shot(copy, model, "-c", question(turn)))
            shutil.rmtree(copy)
    return taken


def one_shot(home: Path, model: str, *words: str) -> Shot:
    """When the first token came: at the end less the time of the reply, plus the time to its first
    token, as the model measured both."""
    began = time.perf_counter()
    options = ("--home", str(home), "--output", "stream-json", "--model", model)
    for event in map(json.loads, openclaw(*options, *words)):
        if event["event"] == "notice" and "memory" in event["text"]:
            raise SystemExit(event["text"])
        if event["event"] == "done":
            usage, ended = event["usage"], time.perf_counter() - began
    first = ended - usage["total_seconds"] + usage["first_token_seconds"]
    return Shot(first, usage["read_seconds"], usage["prompt_tokens"], usage["cached_tokens"])


def openclaw(*words: str, **variables: str) -> Iterator[str]:
    """Run openclaw to its end and give its lines as they come."""
    run = subprocess.Popen(
        [sys.executable, "-m", "openclaw", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), **variables},
    )
    with run:
        yield from run.stdout or ()
    if run.returncode:
        raise SystemExit(f"openclaw {words[0]} ended with {run.returncode}")


def in_one_process(home: Path, model: str, first: int, last: int) -> list[Shot]:
    played = in_new_process("benchmarks.talks", str(home), model, str(first), str(last))
    return [Shot(*row) for row in played]


def in_new_process(*words: str) -> Any:
    """The JSON that a module of ours prints."""
    command = [sys.executable, "-m", *words]
    run = subprocess.run(
        command, capture_output=True, encoding="utf-8", check=False, cwd=REPOSITORY
    )
    if run.returncode:
        raise SystemExit(run.stderr)
    return json.loads(run.stdout)


def play(home: Path, model: str, first: int, last: int) -> list[Shot]:
    """Ask the turns from `first` to `last`, the first one of a talk in a new conversation."""
    from openclaw.agent.agent import Agent
    from openclaw.config import load_settings
    from openclaw.events import Done

    app = Agent.open(Home(home), load_settings(Home(home)), model=model)
    store = app.sessions
    session = store.new(NAME, model) if first == 1 else store.load(NAME)
    taken = []
    try:
        for turn in range(first, last + 1):
            done = [e for e in app.ask(question(turn), session) if isinstance(e, Done)]
            u = done[0].usage
            row = (u.first_token_seconds, u.read_seconds, u.prompt_tokens, u.cached_tokens)
            taken.append(Shot(*row))
    finally:
        app.close()
    return taken


def question(turn: int) -> str:
    place, next_one = PLACES[turn % len(PLACES)], PLACES[(turn * 5 + 1) % len(PLACES)]
    return (
        f"On day {turn} of the trip we came to {place}: {turn * 3} euros for the room, {turn + 4}"
        f" for the ferry, and the train to {next_one} leaves at {turn % 12 + 6}:{turn % 4}5. "
        f"The others want to stay in {place} a little longer, I would rather go on to {next_one}. "
        "What do you think?"
    )


def new_home(home: Path) -> None:
    from openclaw.storage.new_home import create_home

    create_home(home)
    (home / "openclaw.yaml").write_text(SETTINGS, encoding="utf-8")


def forget(home: Path, model: str) -> None:
    """Take away what the model has kept of earlier requests."""
    if not model.startswith("ollama/"):
        shutil.rmtree(home / ".openclaw" / "cache" / "kv", ignore_errors=True)
        return
    import ollama

    ollama.Client().generate(model.removeprefix("ollama/"), "", keep_alive=0)


if __name__ == "__main__":
    main()
