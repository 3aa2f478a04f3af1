"""How long a person waits for the program itself, beside bare Python, Typer and ollama.

    python -m benchmarks.startup [RUNS]

Prints two Markdown tables: medians of RUNS runs (default 9), all interleaved in the same minutes,
with modules byte-compiled. "first request" is the time from exec to the first byte of the first
request at a loopback server that speaks Ollama's API; "chat request" to that of the prompt itself;
"after the answer" is the time from the last byte of the reply to the exit.

The second table is of homes with notes, indexed but for the last one, and without an embedding
model. Its ratios are medians over the rounds of the time until the chat request, divided by that of
`import ollama` and by that of bare Python which sends the same bytes, both of the same round. The
third table is of homes that have grown otherwise; its ratio is to an empty home in the same round.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.notes import note_lines, questions

TOP = Path(__file__).parent.parent
OPENCLAW = [sys.executable, "-m", "openclaw"]
PEAK = (
    "import resource, subprocess, sys;"
    "code = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)"
    ".returncode;"
    "peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss;"
    "sys.stderr.write(f'\\n{code} {peak}')"
)
ANSWER = "Hello."


class Server:
    """A loopback Ollama that answers at once and keeps the times of its requests."""

    def __init__(self) -> None:
        self.first = self.chat = self.last = 0.0
        self.body = b""
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._http.server_port}"

    def forget(self) -> None:
        self.first = self.chat = self.last = 0.0

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def parse_request(self) -> bool:  # its first line has been read
            server.first = server.first or time.perf_counter()
            return super().parse_request()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is logged."""

        def do_GET(self) -> None:
            listing = [{"name": "bench:4b", "model": "bench:4b", "size": 1, "details": {}}]
            self._send({"models": [] if self.path == "/api/ps" else listing, "version": "0.12.6"})

        def do_POST(self) -> None:
            came = time.perf_counter()
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.loads(data or "{}")
            if self.path != "/api/chat":
                facts = {"qwen3.context_length": 32768, "general.architecture": "qwen3"}
                details = {"family": "qwen3", "parameter_size": "4B"}
                able = ["completion", "tools"]
                self._send({"capabilities": able, "model_info": facts, "details": details})
                return
            if body.get("stream"):  # else only the beginning is read ahead
                server.chat, server.body = server.chat or came, data
            said = ANSWER
            if body.get("format"):
                said = json.dumps({"thought": "A greeting.", "answer": ANSWER})
            read = len(json.dumps(body)) // 4
            message = {"role": "assistant", "content": said}
            end = {"done": True, "done_reason": "stop", "prompt_eval_count": read, "eval_count": 2}
            self._send({"model": "bench:4b", "message": message, **end})
            server.last = time.perf_counter()

        def _send(self, value: Mapping[str, Any]) -> None:
            data = json.dumps(value).encode() + b"\n"
            self.send_response(200)
            self.send_header("Content-Type", "application/x-ndjson")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            self.wfile.flush()

    return Handler


def environment(home: Path, host: str) -> dict[str, str]:
    """The children's: this checkout, a home of their own, modules compiled once."""
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    paths = filter(None, (str(TOP), environ.get("PYTHONPATH", "")))
    return {
        **environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "OPENCLAW_HOME": str(home),
        "OLLAMA_HOST": host,
        "NO_PROXY": "127.0.0.1",
    }


def seconds(words: list[str], environ: Mapping[str, str]) -> float:
    began = time.perf_counter()
    done = subprocess.run(
        words, env=environ, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    took = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(f"{words} left with {done.returncode}:\n{done.stderr.decode()}")
    return took


def prompt_times(
    words: list[str], server: Server, environ: Mapping[str, str]
) -> tuple[float, float, float, float]:
    """Seconds to the first request, to the prompt's request, after the answer, and in all."""
    server.forget()
    began = time.perf_counter()
    seconds(words, environ)
    end = time.perf_counter()
    return server.first - began, server.chat - began, end - server.last, end - began


def peak_mib(words: list[str], environ: Mapping[str, str]) -> float:
    """Peak memory of a command in MiB, 0.0 where it cannot be measured (Windows)."""
    if sys.platform == "win32":
        return 0.0
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *words], env=environ, capture_output=True, check=True
    )
    code, peak = done.stderr.decode().rsplit("\n", 1)[-1].split()
    if code != "0":
        raise SystemExit(f"{words} left with {code}")
    return int(peak) / (1024 * 1024 if sys.platform == "darwin" else 1024)


def measure(runs: int) -> list[tuple[str, str, str]]:
    """Rows of the table: what, seconds or MiB, aim."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        server = Server()
        environ = environment(home, server.host)
        seconds([*OPENCLAW, "init", str(home)], environ)
        prompt = [*OPENCLAW, "--model", "ollama/bench:4b", "Say hello."]
        plain: dict[str, list[str]] = {
            "python -c pass": [sys.executable, "-c", "pass"],
            'python -c "import typer"': [sys.executable, "-c", "import typer"],
            'python -c "import ollama"': [sys.executable, "-c", "import ollama"],
            "openclaw --version": [*OPENCLAW, "--version"],
            "openclaw --help": [*OPENCLAW, "--help"],
            "openclaw todo list": [*OPENCLAW, "todo", "list"],
        }
        for words in (*plain.values(), prompt):
            seconds(words, environ)  # compiles what is not compiled yet
        times: dict[str, list[float]] = {name: [] for name in plain}
        asked = []
        for _ in range(runs):
            for name, words in plain.items():
                times[name].append(seconds(words, environ))
            asked.append(prompt_times(prompt, server, environ))
        rows = [
            (name, f"{statistics.median(t):.3f} s", AIMS.get(name, "")) for name, t in times.items()
        ]
        medians = [statistics.median(column) for column in zip(*asked, strict=True)]
        rows += [(n, f"{m:.3f} s", AIMS.get(n, "")) for n, m in zip(PARTS, medians, strict=True)]
        rows.append(("peak memory, one prompt", f"{peak_mib(prompt, environ):.0f} MiB", "100 MiB"))
        server.close()
    return rows


@dataclass(frozen=True, slots=True)
class NotedHome:
    """A home with notes of some lines each, and a prompt in it.

    aim  of the time until the chat request, divided by that of `import ollama`
    """

    name: str
    notes: int
    prompt: str
    aim: str = ""
    indexed: bool = True

    def make(self, root: Path, host: str) -> dict[str, str]:
        """Make the home unless it is there; return the environment of its commands."""
        home = root / f"{self.notes}{'' if self.indexed else ' unread'}"
        environ = {**environment(home, host), "XDG_DATA_HOME": str(root / "data")}
        if not home.exists():
            seconds([*OPENCLAW, "init", str(home)], environ)
            write_notes(home / "memory", self.notes)
            if self.notes and self.indexed:
                seconds([*OPENCLAW, "memory", "index"], environ)
        return environ


def write_notes(folder: Path, count: int) -> None:
    """Write notes of six lines each, 100 in a folder."""
    lines = islice(note_lines(count * LINES, seed=1), count * LINES)
    for number, page in enumerate(zip(*[lines] * LINES, strict=True)):
        path = folder / f"{number // 100}" / f"note-{number}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(page), encoding="utf-8", newline="\n")


LINES = 6
BARE = (
    "import http.client, sys; body = open(sys.argv[2], 'rb').read();"
    "line = http.client.HTTPConnection(sys.argv[1]); line.request('POST', '/api/chat', body);"
    "line.getresponse().read()"
)
HELLO = "Say hello."
HOMES = (
    NotedHome("no note", 0, HELLO, "0.9"),
    NotedHome("1 note", 1, HELLO, "0.9"),
    NotedHome("1,000 notes", 1_000, HELLO, "0.9"),
    NotedHome("1,000 notes, a question that they answer", 1_000, ""),
    NotedHome("10,000 notes", 10_000, HELLO, "1.2"),
    NotedHome("10,000 notes, a question that they answer", 10_000, ""),
    NotedHome("10,000 notes, a question that names a day", 10_000, "What did I note on Monday?"),
    NotedHome("10,000 notes, not indexed yet (1 run)", 10_000, HELLO, "", indexed=False),
)


SKILL = """---
name: skill-{number}
description: Tells about {what}. Use when the user asks about {what}, its parts or its price.
---

# Skill {number}

1. Call `search_files` with the part that the user names.
2. Answer with what was found about {what}.
"""


@dataclass(frozen=True, slots=True)
class GrownHome:
    """A home with so many skills, or with a conversation of so many turns that is continued."""

    name: str
    skills: int = 0
    turns: int = 0

    def make(self, root: Path, host: str) -> dict[str, str]:
        """Make the home unless it is there; return the environment of its commands."""
        home = root / self.name
        environ = {**environment(home, host), "XDG_DATA_HOME": str(root / "data")}
        if not home.exists():
            seconds([*OPENCLAW, "init", str(home)], environ)
            for number in range(self.skills):
                folder = home / "skills" / f"skill-{number}"
                folder.mkdir()
                what = f"machine {number}"
                (folder / "SKILL.md").write_text(SKILL.format(number=number, what=what), "utf-8")
            if self.turns:
                seconds([*OPENCLAW, "--model", "ollama/bench:4b", "--no-memory", HELLO], environ)
                _lengthen(next((home / "sessions").glob("*.json")), self.turns)
        return environ


def _lengthen(session: Path, turns: int) -> None:
    """Repeat the first exchange of a conversation."""
    stored = json.loads(session.read_text("utf-8"))
    stored["messages"] = stored["messages"][:2] * turns
    session.write_text(json.dumps(stored), "utf-8")


GROWN = (
    GrownHome("12 skills", skills=12),
    GrownHome("200 skills", skills=200),
    GrownHome("a conversation of 300 turns, continued", turns=300),
)
MAX_GROWTH = "1.2"


def measure_growth(runs: int) -> Iterator[Sequence[str]]:
    """Rows of the third table."""
    homes = (GrownHome("empty"), *GROWN)
    times: dict[str, list[float]] = {home.name: [] for home in homes}
    with tempfile.TemporaryDirectory() as folder:
        root, server = Path(folder), Server()
        for number in range(runs + 1):
            for home in homes:
                environ = home.make(root, server.host)
                words = [*OPENCLAW, "--model", "ollama/bench:4b", *(["-c"] if home.turns else [])]
                _, chat, _, _ = prompt_times([*words, HELLO], server, environ)
                if number:
                    times[home.name].append(chat)
        server.close()
    for home in GROWN:
        pairs = zip(times[home.name], times["empty"], strict=True)
        ratio = statistics.median(grown / empty for grown, empty in pairs)
        yield home.name, f"{statistics.median(times[home.name]):.3f} s", f"{ratio:.2f}", MAX_GROWTH


def measure_homes(runs: int) -> Iterator[Sequence[str]]:
    """Rows of the second table."""
    times: dict[str, list[tuple[float, ...]]] = {home.name: [] for home in HOMES}
    with tempfile.TemporaryDirectory() as folder:
        root, server = Path(folder), Server()
        for number in range(runs + 1):
            imported = seconds([sys.executable, "-c", "import ollama"], environment(root, ""))
            for home in HOMES:
                if number != 1 and not home.indexed:
                    continue  # one prompt leaves a process that makes the index
                environ = home.make(root, server.host)
                prompt = home.prompt or questions(1, home.notes * LINES)[0]
                words = [*OPENCLAW, "--model", "ollama/bench:4b", prompt]
                _, chat, after, _ = prompt_times(words, server, environ)
                (root / "body").write_bytes(server.body)
                bare = [sys.executable, "-c", BARE, server.host, str(root / "body")]
                _, plain, _, _ = prompt_times(bare, server, environ)
                if number:  # the first round compiles
                    times[home.name].append((chat, chat / imported, chat / plain, after))
                if not home.indexed:
                    seconds([*OPENCLAW, "memory", "index"], environ)
        server.close()
    for home in HOMES:
        columns = zip(*times[home.name], strict=True)
        chat, to_import, to_bare, after = map(statistics.median, columns)
        yield (
            home.name,
            f"{chat:.3f} s",
            f"{to_import:.2f}",
            home.aim,
            f"{to_bare:.1f}",
            f"{after:.3f} s",
        )


PARTS = ("exec to first request", "exec to chat request", "after the answer", "one prompt in all")
AIMS = {
    "openclaw --version": "0.05 s",
    "openclaw --help": "0.12 s",
    "openclaw todo list": "0.20 s",
    "exec to first request": "0.40 s",
}


def main(report: Callable[[str], object] = print) -> None:
    """Print the table."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    report(f"| median of {runs} | | aim |\n|---|---:|---:|")
    for row in measure(runs):
        report("| " + " | ".join(row) + " |")
    heads = (
        "home",
        "chat request",
        "to `import ollama`",
        "aim",
        "to bare Python",
        "after the answer",
    )
    report("\n| " + " | ".join(heads) + " |\n|---|" + "---:|" * (len(heads) - 1))
    for each in measure_homes(runs):
        report("| " + " | ".join(each) + " |")
    report("\n| home | chat request | to an empty home | aim |\n|---|---:|---:|---:|")
    for grown in measure_growth(runs):
        report("| " + " | ".join(grown) + " |")


if __name__ == "__main__":
    main()
