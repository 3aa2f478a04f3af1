"""How soon another program has its first answer of `openclaw mcp serve` and of `openclaw acp`.

    python -m benchmarks.programs [RUNS]

Prints one Markdown table: medians of RUNS runs (default 9), interleaved. The first answer is that
to `initialize`; then the tools are listed, and 1,000 notes are searched by their words, at once or
two seconds later. Of `acp` the second time is that of a new conversation. Beside them stands the
import of each SDK alone, which nothing that answers can do without.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.startup import OPENCLAW, environment, seconds, write_notes

Ask = Callable[[int, str, dict[str, Any]], None]
NOTES = 1_000
PAUSE_SECONDS = 2.0
IMPORT = "import mcp.server.lowlevel, mcp.server.stdio, mcp.server.subscriptions, mcp_types"
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}
ACP_IMPORT = "import acp"
ACP_INITIALIZE = {"protocolVersion": 1}
SEARCH = {"name": "search", "arguments": {"query": "price of the boat"}}


def answer_times(environ: dict[str, str], pause: float) -> tuple[float, float]:
    """Seconds from exec to the answer to `initialize`, and from a search to its answer, `pause`
    seconds after the tools were listed."""
    began = time.perf_counter()
    with started(environ, "mcp", "serve") as ask:
        ask(1, "initialize", INITIALIZE)
        ready = time.perf_counter() - began
        ask(2, "tools/list", {})
        time.sleep(pause)
        began = time.perf_counter()
        ask(3, "tools/call", SEARCH)
        searched = time.perf_counter() - began
    return ready, searched


def editor_times(environ: dict[str, str]) -> tuple[float, float]:
    """Seconds from exec to the answer to `initialize`, and until a conversation is open."""
    began = time.perf_counter()
    with started(environ, "acp") as ask:
        ask(1, "initialize", ACP_INITIALIZE)
        ready = time.perf_counter() - began
        began = time.perf_counter()
        ask(2, "session/new", {"cwd": environ["OPENCLAW_HOME"], "mcpServers": []})
        opened = time.perf_counter() - began
    return ready, opened


@contextmanager
def started(environ: dict[str, str], *words: str) -> Iterator[Ask]:
    """Start a command; what is yielded sends it a request and waits for the answer."""
    with subprocess.Popen(
        [*OPENCLAW, *words], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        out, answers = process.stdin, process.stdout

        def ask(number: int, method: str, params: dict[str, Any]) -> None:
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            out.write(json.dumps(message).encode() + b"\n")
            out.flush()
            answer = answers.readline()
            if f'"id":{number}'.encode() not in answer or b'"error"' in answer:
                raise SystemExit(f"no answer to {method}: {answer!r}")

        yield ask
        out.close()


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    names = ["the SDK's import", "first answer", "a search at once", "a search later"]
    editor = ["the SDK's import, acp", "first answer, acp", "a new conversation, acp"]
    found: dict[str, list[float]] = {name: [] for name in (*names, *editor)}
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        environ = environment(home, "http://127.0.0.1:1")
        subprocess.run([*OPENCLAW, "init", str(home)], env=environ, check=True, capture_output=True)
        (home / "openclaw.yaml").write_text("embedding: none\n", encoding="utf-8")
        write_notes(home / "memory", NOTES)
        answer_times(environ, 0.0)  # makes the index
        for _ in range(runs):
            found["the SDK's import"].append(seconds([sys.executable, "-c", IMPORT], environ))
            for what, pause in (("at once", 0.0), ("later", PAUSE_SECONDS)):
                ready, searched = answer_times(environ, pause)
                found["first answer"].append(ready)
                found[f"a search {what}"].append(searched)
            found[editor[0]].append(seconds([sys.executable, "-c", ACP_IMPORT], environ))
            ready, opened = editor_times(environ)
            found[editor[1]].append(ready)
            found[editor[2]].append(opened)
    print("| what | s | to the SDK's import |\n|---|---|---|")
    for what, values in found.items():
        base = statistics.median(found[editor[0] if what in editor else names[0]])
        middle = statistics.median(values)
        print(f"| {what} | {middle:.3f} | {middle / base:.2f} |")


if __name__ == "__main__":
    main()
