"""What a running server saves a person, beside the same command without it.

    python -m benchmarks.serve [RUNS] [--model NAME]

Prints one Markdown table: medians of RUNS runs (default 9), all interleaved in the same minutes,
with modules byte-compiled, and the ratio to `import ollama` of the same round. A loopback server
that speaks Ollama's API is the model. With --model (embedded/NAME, installed) a second table has
the seconds from exec to the first token of the second of two prompts, by that model.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.startup import (
    HELLO,
    OPENCLAW,
    Server,
    environment,
    prompt_times,
    seconds,
    write_notes,
)
from openclaw.server.server_client import RunningServer, find_server
from openclaw.storage.home import Home

NOTES = 1_700  # of six lines: about 10,000 passages
QUESTION = "price of the boat"
AIMS = {
    "exec to the prompt's request, with a server": "0.50",
    "memory search, 10,000 passages, with a server": "0.83",
}
"""The aims of the issue in units of `import ollama`, which takes 0.3 s on its machine."""


@contextmanager
def running(home: Path, environ: Mapping[str, str]) -> Iterator[tuple[RunningServer, float]]:
    """A server in a process of its own, and the seconds until it answered."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [*OPENCLAW, "serve", "--port", "0"], env=environ, stderr=subprocess.DEVNULL
    )
    while (found := find_server(Home(home))) is None:
        if process.poll() is not None:
            raise SystemExit("the server did not start")
        time.sleep(0.005)
    ready = time.perf_counter() - began
    try:
        yield found, ready
    finally:
        process.terminate()
        process.wait()


def memory_mib(process: int) -> float:
    """Resident memory of a process and its children, in MiB."""
    import psutil

    parent = psutil.Process(process)
    found = [parent, *parent.children(recursive=True)]
    return float(sum(each.memory_info().rss for each in found)) / 1024 / 1024


def measure(runs: int) -> Iterator[tuple[str, str, str, str]]:
    """Rows of the table: what, the median, its ratio to `import ollama`, and the aim of that."""
    times: dict[str, list[float]] = {}
    sizes: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        home, model = Path(folder) / "home", Server()
        environ = {**environment(home, model.host), "XDG_DATA_HOME": str(Path(folder) / "data")}
        os.environ["XDG_DATA_HOME"] = environ["XDG_DATA_HOME"]
        seconds([*OPENCLAW, "init", str(home)], environ)
        seconds([*OPENCLAW, "config", "set", "embedding", "none"], environ)
        seconds([*OPENCLAW, "config", "set", "model", "ollama/bench:4b"], environ)
        write_notes(home / "memory", NOTES)
        seconds([*OPENCLAW, "memory", "index"], environ)
        prompt, search = [*OPENCLAW, HELLO], [*OPENCLAW, "memory", "search", QUESTION]
        alone = [*OPENCLAW, "--no-server"]
        with running(home, environ) as (found, _):
            sizes["memory of the server, before a model is used"] = memory_mib(found.pid)
            for number in range(runs + 1):
                round_ = {
                    "import ollama": seconds([sys.executable, "-c", "import ollama"], environ),
                    "memory search, 10,000 passages, without": seconds(
                        [*search, "--no-server"], environ
                    ),
                    "memory search, 10,000 passages, with a server": seconds(search, environ),
                }
                for name, words in (("without", [*alone, HELLO]), ("with a server", prompt)):
                    _, asked, after, whole = prompt_times(words, model, environ)
                    round_[f"exec to the prompt's request, {name}"] = asked
                    round_[f"last byte to the end, {name}"] = after
                    round_[f"the whole prompt, {name}"] = whole
                round_["first event of a run"] = first_event(found)
                if number:
                    for name, value in round_.items():
                        times.setdefault(name, []).append(value)
            sizes["memory of the server, after these turns"] = memory_mib(found.pid)
        for _ in range(runs):
            with running(home, environ) as (_, ready):
                times.setdefault("server ready", []).append(ready)
        model.close()
    imported = times["import ollama"]
    for name, values in times.items():
        ratio = statistics.median(a / b for a, b in zip(values, imported, strict=True))
        yield name, f"{statistics.median(values):.3f} s", f"{ratio:.2f}", AIMS.get(name, "")
    for name, size in sizes.items():
        yield name, f"{size:.0f} MiB", "", ""


def first_event(server: RunningServer) -> float:
    """Seconds from a prompt over HTTP to the first event of its run."""
    import httpx

    headers = {"Authorization": f"Bearer {server.token}"}
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", headers=headers) as client:
        client.get("/api/health")
        began = time.perf_counter()
        with client.stream("POST", "/api/chat", json={"message": HELLO}) as response:
            lines = response.iter_lines()
            next(lines)
            took = time.perf_counter() - began
            for _ in lines:
                pass
    return took


def first_token(words: Sequence[str], environ: Mapping[str, str]) -> float:
    """Seconds from exec to the first token of an answer."""
    began, first = time.perf_counter(), 0.0
    process = subprocess.Popen(
        [*words, "--output", "stream-json"],
        env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if not first and json.loads(line)["event"] == "token":
            first = time.perf_counter() - began
    process.wait()
    return first


def measure_model(runs: int, name: str) -> Iterator[tuple[str, str, str, str]]:
    """Rows of the second table, in units of the way without a server."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        environ = {**environment(home, ""), "XDG_CONFIG_HOME": folder}
        seconds([*OPENCLAW, "init", str(home)], environ)
        seconds([*OPENCLAW, "config", "set", "model", name], environ)
        words = [*OPENCLAW, "What is two and two?"]
        first_token([*words, "--no-server"], environ)  # reads the instructions, for both ways
        without = [first_token([*words, "--no-server"], environ) for _ in range(runs)]
        with running(home, environ):
            first_token(words, environ)
            beside = [first_token(words, environ) for _ in range(runs)]
    base = statistics.median(without)
    yield "first token, without", f"{base:.2f} s", "1.00", ""
    served = statistics.median(beside)
    yield "first token, with a server", f"{served:.2f} s", f"{served / base:.2f}", "0.25"


def main() -> None:
    words = sys.argv[1:]
    name = words[words.index("--model") + 1] if "--model" in words else ""
    runs = int(words[0]) if words and words[0].isdigit() else 9
    print("| what | median | to `import ollama` | aim |\n|---|---:|---:|---:|")
    for row in measure(runs):
        print("|", " | ".join(row), "|", flush=True)
    if name:
        print(f"\n| {name} | median | to without | aim |\n|---|---:|---:|---:|")
        for row in measure_model(min(runs, 5), name):
            print("|", " | ".join(row), "|", flush=True)


if __name__ == "__main__":
    main()
