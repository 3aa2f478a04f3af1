"""Time to the first token with the embedded model: cold, same process, new process, with recall;
and what a server of Ollama's kind loads and reads until then.

    python -m benchmarks.prefix [--model PATH] [--runs 3] [--only-ollama | --only-talks]

Each cold and each new process is a real one. The reference is the cold prefill of the same run:
the head is read from its first token on. Loading the model is told apart, it is the same for all.

The second table is of whole one-shot commands in a home of 10,000 passages, from their start on, by
turns without and with recall. A question that nothing answers shows what the looking up costs; one
that notes answer adds the reading of the passages themselves, whose tokens are told.

The table of the Ollama path needs no model: whole commands are run against the stand-in, which
loads and reads as the real server was seen to, and counts what it read (`tests/fakes`).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import notes, talks
from tests.fakes.ollama_server import VERSION, Answer, FakeOllama

REPOSITORY = Path(__file__).resolve().parent.parent
HEAD_CHARACTERS = 3300
WINDOW = 4096
CHUNKS = 10_000


def main() -> None:
    words = argparse.ArgumentParser(description="Time to the first token, embedded model.")
    words.add_argument("--model", type=Path, help="a GGUF file (default: the installed one)")
    words.add_argument("--runs", type=int, default=3)
    words.add_argument("--only-talks", action="store_true", help="the last tables alone")
    words.add_argument("--only-ollama", action="store_true", help="that table alone")
    words.add_argument("--measure", type=Path, metavar="CACHE", help=argparse.SUPPRESS)
    said = words.parse_args()
    if said.only_ollama:
        report_ollama()
        return
    model = said.model or installed_model()
    if said.measure:
        print(json.dumps(measure(model, said.measure)))
        return
    if not said.only_talks:
        report(model, said.runs)
        report_recall(model, said.runs)
        report_ollama()
    talks.report(str(model), said.runs)
    if name := ollama_model():
        talks.report(name, said.runs)


def report(model: Path, runs: int) -> None:
    cold, saved = [], []
    for _ in range(runs):
        with tempfile.TemporaryDirectory(prefix="openclaw-bench-") as cache:
            words = ("benchmarks.prefix", "--model", str(model), "--measure", cache)
            cold.append(talks.in_new_process(*words))
            saved.append(talks.in_new_process(*words))
    reference = median(cold, "first")
    tokens, kept = cold[0]["tokens"], saved[0]["kept"]
    print(f"model            {model.name}")
    print(f"first request    {tokens} tokens, {kept} of them kept in the saved prefix")
    print(f"loading          {median(cold + saved, 'load'):.2f} s (not counted below)")
    print(f"runs             {runs}, medians\n")
    print("time to first token           s      of the cold prefill")
    rows = (
        ("cold, head read and saved", reference),
        ("same process, next request", median(cold, "next")),
        ("new process, saved prefix", median(saved, "first")),
    )
    for name, seconds in rows:
        print(f"{name:<27}{seconds:8.3f}{seconds / reference:12.1%}")
    print("\naim: new process at most 15 %")


def measure(model: Path, cache: Path) -> dict[str, Any]:
    """In one process: load, ask, ask again. Seconds and tokens."""
    from openclaw.models.embedded import EmbeddedModel

    engine = EmbeddedModel(model, window=WINDOW, cache_folder=cache)
    began = time.perf_counter()
    engine.load()
    load = time.perf_counter() - began
    first, tokens, kept = ask(engine, "What is the capital of France?")
    following, _, _ = ask(engine, "Name a colour of the rainbow.")
    engine.close()
    return {"load": load, "first": first, "next": following, "tokens": tokens, "kept": kept}


def ask(engine: Any, question: str) -> tuple[float, int, int]:
    """Seconds to the first token, tokens of the request, tokens that were there already."""
    from openclaw.messages import Message
    from openclaw.models.base import Reply, Request, Text

    request = Request((Message("system", head()), Message("user", question)), max_tokens=4)
    began, first = time.perf_counter(), 0.0
    for chunk in engine.stream(request):
        if isinstance(chunk, Text):
            first = first or time.perf_counter() - began
        if isinstance(chunk, Reply):
            usage = chunk.usage
    return first, usage.prompt_tokens, usage.cached_tokens


def report_recall(model: Path, runs: int) -> None:
    answered = notes.questions(1, CHUNKS)[0]
    unanswered = "What is the capital of France?"
    with tempfile.TemporaryDirectory(prefix="openclaw-bench-") as folder:
        home = Path(folder)
        list(talks.openclaw("--home", str(home), "init", str(home)))
        notes.make_home(home, CHUNKS)
        chunks = notes.give_vectors(home)
        kinds = [(recall, asked) for asked in (unanswered, answered) for recall in ("tool", "auto")]
        one_shot(home, model, *kinds[0])  # saves the head, which later ones find
        taken: dict[tuple[str, str], list[talks.Shot]] = {kind: [] for kind in kinds}
        for _ in range(runs):
            for kind in kinds:
                taken[kind].append(one_shot(home, model, *kind))
    print(f"\none-shot, {chunks} passages      first token, s    later    reading, s    tokens")
    for question in (unanswered, answered):
        without = statistics.median(shot.first for shot in taken["tool", question])
        for recall in ("tool", "auto"):
            shots = taken[recall, question]
            first = statistics.median(shot.first for shot in shots)
            found = "notes answer" if question == answered else "nothing found"
            name = f"{found}, recall {recall}"
            reading = statistics.median(shot.reading for shot in shots)
            later = first - without
            print(f"{name:<32}{first:13.2f}{later:+9.2f}{reading:14.2f}{shots[0].tokens:10}")
    print("\naim: 0.3 s later at most, but for the reading of what was found")


def one_shot(home: Path, model: Path, recall: str, question: str) -> talks.Shot:
    """Ask once, in one step."""
    (home / "openclaw.yaml").write_text(f"recall: {recall}\n", encoding="utf-8")
    return talks.one_shot(home, str(model), "--max-steps", "1", question)


class Row(NamedTuple):
    """Of one command until its first token: its requests, how often the model was loaded for them,
    tokens of the request that is answered, tokens read in all."""

    name: str
    requests: int
    loads: int
    tokens: int
    read: int


class Answering(FakeOllama):
    """Answers everything in one step."""

    def next_answer(self, body: dict[str, Any]) -> Answer:
        return Answer('{"kind":"answer","answer":"On Thursday, at ten."}')


def report_ollama() -> None:
    print(f"\nOllama ({VERSION}, stand-in)      requests  loads    tokens      read   of turn 1")
    with tempfile.TemporaryDirectory(prefix="openclaw-bench-") as folder, Answering() as server:
        rows = ollama_rows(Path(folder), server)
    for row in rows:
        share = f"{row.read / rows[0].read:.1%}"
        print(
            f"{row.name:<30}{row.requests:11}{row.loads:7}{row.tokens:10,}{row.read:10,}{share:>12}"
        )
    print("\naim: one load in all; later turns and conversations read at most 15 %")


def ollama_rows(home: Path, server: FakeOllama) -> list[Row]:
    """Three commands, each a process of its own; all look into the memory first."""
    list(talks.openclaw("--home", str(home), "init", str(home)))
    (home / "memory" / "2026-11-18.md").write_text(
        "# 2026-11-18\n\n- The plumber comes on Thursday at ten.\n", encoding="utf-8"
    )
    (home / "openclaw.yaml").write_text("embedding: none\nprotocol: json\n", encoding="utf-8")
    words = ("--home", str(home), "--model", f"ollama/{server.models[0].name}")
    asked = (
        ("turn 1", ("When does the plumber come?",)),
        ("turn 2, new process", ("-c", "And on which day was that said?")),
        ("new conversation", ("Who comes on Thursday?",)),
    )
    rows = []
    for name, more in asked:
        before = len(server.served)
        list(talks.openclaw(*words, *more, OLLAMA_HOST=server.host))
        new = server.served[before:]
        loads, read = sum(s.loaded for s in new), sum(s.read for s in new)
        rows.append(Row(name, len(new), loads, new[-1].tokens, read))
    return rows


def head() -> str:
    """A system message of about 1,200 tokens: the starter's texts, then made-up notes."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(REPOSITORY.glob("workspace/*.md"))]
    notes = [
        f"- Note {n}: the meeting of team {n % 7} is in room {n * 3 % 40} on day {n % 28 + 1}."
        for n in range(200)
    ]
    return "\n".join([*texts, *notes])[:HEAD_CHARACTERS]


def ollama_model() -> str:
    """The chat model of the Ollama at OLLAMA_HOST, "" when none answers there."""
    from openclaw.errors import OpenclawError
    from openclaw.models.ollama_models import find_chat_model

    try:
        found = find_chat_model("") if os.environ.get("OLLAMA_HOST") else None
    except OpenclawError:
        return ""
    return f"ollama/{found}" if found else ""


def installed_model() -> Path:
    from openclaw.models.catalog import default_installed

    found = default_installed()
    if found is None:
        raise SystemExit("no embedded model is installed: openclaw models pull")
    return found


def median(results: list[dict[str, Any]], key: str) -> float:
    return float(statistics.median(result[key] for result in results))


if __name__ == "__main__":
    main()
