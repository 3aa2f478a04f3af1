"""How soon another program has its first answer of `openclaw mcp serve`.

    python benchmarks/programs.py [RUNS]

Prints one Markdown table: medians of RUNS runs (default 9), interleaved. The first answer is that
to `initialize`; then the tools are listed, and 1,000 notes are searched by their words, at once or
two seconds later. Beside them stands the import of the SDK's server alone, which nothing that
answers can do without.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TOP = Path(__file__).parent.parent
sys.path.insert(0, str(TOP))  # for `python benchmarks/programs.py`

from benchmarks.startup import OPENCLAW, environment, seconds, write_notes  # noqa: E402

NOTES = 1_000
PAUSE_SECONDS = 2.0
IMPORT = "import mcp.server.lowlevel, mcp.server.stdio, mcp.server.subscriptions, mcp_types"
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}
SEARCH = {"name": "search", "arguments": {"query": "price of the boat"}}


def answer_times(environ: dict[str, str], pause: float) -> tuple[float, float]:
    """Seconds from exec to the answer to `initialize`, and from a search to its answer, `pause`
    seconds after the tools were listed."""
    began = time.perf_counter()
    with subprocess.Popen(
        [*OPENCLAW, "mcp", "serve"], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:

        def ask(number: int, method: str, params: dict[str, Any]) -> None:
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            process.stdin.write(json.dumps(message).encode() + b"\n")  # type: ignore[union-attr]
            process.stdin.flush()  # type: ignore[union-attr]
            answer = process.stdout.readline()  # type: ignore[union-attr]
            if f'"id":{number}'.encode() not in answer:
                raise SystemExit(f"no answer to {method}: {answer!r}")

        ask(1, "initialize", INITIALIZE)
        ready = time.perf_counter() - began
        ask(2, "tools/list", {})
        time.sleep(pause)
        began = time.perf_counter()
        ask(3, "tools/call", SEARCH)
        searched = time.perf_counter() - began
        process.stdin.close()  # type: ignore[union-attr]
    return ready, searched


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    found: dict[str, list[float]] = {"the SDK's import": [], "first answer": []}
    found |= {"a search at once": [], "a search later": []}
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
    base = statistics.median(found["the SDK's import"])
    print("| what | s | to the SDK's import |\n|---|---|---|")
    for what, values in found.items():
        middle = statistics.median(values)
        print(f"| {what} | {middle:.3f} | {middle / base:.2f} |")


if __name__ == "__main__":
    main()
