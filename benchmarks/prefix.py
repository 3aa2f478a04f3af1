"""Time to the first token with the embedded model: cold, same process, new process.

    python benchmarks/prefix.py [--model PATH] [--runs 3]

Each cold and each new process is a real one. The reference is the cold prefill of the same run:
the head is read from its first token on. Loading the model is told apart, it is the same for all.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
HEAD_CHARACTERS = 3300
WINDOW = 4096


def main() -> None:
    words = argparse.ArgumentParser(description="Time to the first token, embedded model.")
    words.add_argument("--model", type=Path, help="a GGUF file (default: the installed one)")
    words.add_argument("--runs", type=int, default=3)
    words.add_argument("--measure", type=Path, metavar="CACHE", help=argparse.SUPPRESS)
    said = words.parse_args()
    model = said.model or installed_model()
    if said.measure:
        print(json.dumps(measure(model, said.measure)))
    else:
        report(model, said.runs)


def report(model: Path, runs: int) -> None:
    cold, saved = [], []
    for _ in range(runs):
        with tempfile.TemporaryDirectory(prefix="openclaw-bench-") as cache:
            cold.append(in_new_process(model, cache))
            saved.append(in_new_process(model, cache))
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


def in_new_process(model: Path, cache: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--model", str(model), "--measure", cache]
    run = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    if run.returncode:
        raise SystemExit(run.stderr)
    result: dict[str, Any] = json.loads(run.stdout)
    return result


def measure(model: Path, cache: Path) -> dict[str, Any]:
    """In one process: load, ask, ask again. Seconds and tokens."""
    sys.path.insert(0, str(REPOSITORY))
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
    from openclaw.models.base import Reply, Request, Text
    from openclaw.shapes import Message

    request = Request((Message("system", head()), Message("user", question)), max_tokens=4)
    began, first = time.perf_counter(), 0.0
    for chunk in engine.stream(request):
        if isinstance(chunk, Text):
            first = first or time.perf_counter() - began
        if isinstance(chunk, Reply):
            usage = chunk.usage
    return first, usage.prompt_tokens, usage.cached_tokens


def head() -> str:
    """A system message of about 1,200 tokens: the starter's texts, then made-up notes."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(REPOSITORY.glob("workspace/*.md"))]
    notes = [
        f"- Note {n}: the meeting of team {n % 7} is in room {n * 3 % 40} on day {n % 28 + 1}."
        for n in range(200)
    ]
    return "\n".join([*texts, *notes])[:HEAD_CHARACTERS]


def installed_model() -> Path:
    sys.path.insert(0, str(REPOSITORY))
    from openclaw.models.catalog import default_installed

    found = default_installed()
    if found is None:
        raise SystemExit("no embedded model is installed: openclaw models pull")
    return found


def median(results: list[dict[str, Any]], key: str) -> float:
    return float(statistics.median(result[key] for result in results))


if __name__ == "__main__":
    main()
