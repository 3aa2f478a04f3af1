"""How much code a reader meets on the way of one prompt, beside llm.

    python -m benchmarks.one_prompt [--list]

Counts from the start of the program until the request with the prompt arrives at a loopback server
that speaks Ollama's API, in a home with one to-do that has answered a prompt before. Counted are
calls of the package's own Python functions in all threads, but not comprehensions, what runs while
a module is imported, and the methods of frozen classes.

    files      files of the package with a function that was called
    functions  functions that were called
    moves      calls into another file than the call before
    opened     how often the file of the home was opened that was opened most
    policy     questions to the policy
    schemas    times that a schema of a call or of a step was made

llm (with llm-ollama) is counted where this Python can import it. `--list`
prints the files in the order in which they were entered, with the functions of each and how often
each was called, and the commonest moves.
"""

from __future__ import annotations

import importlib.util
import json
import os
import runpy
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from benchmarks.startup import TOP, Server, environment, seconds

MODEL = "bench:4b"
PROMPT = "Say hello."
AIMS = {"files": 45, "functions": 250, "moves": 350, "opened": 1}
GENERATED = "openclaw/frozen.py"
OPENER = "Folder.open"
POLICY = ("Policy.decide", "Policy.refuses")
SCHEMAS = ("closed_object", "step_schema")
PEERS: Mapping[str, tuple[str, Sequence[str]]] = {
    "llm": ("llm", ("-m", MODEL, PROMPT)),
}


@dataclass(slots=True)
class Way:
    """The calls within a folder, counted by `sys.setprofile`."""

    folder: str
    home: str
    over: Callable[[], bool]
    functions: Counter[tuple[str, str]] = field(default_factory=Counter)
    opened: Counter[str] = field(default_factory=Counter)
    moves: Counter[tuple[str, str]] = field(default_factory=Counter)
    _last: dict[int, str] = field(default_factory=dict)
    _imports: Counter[int] = field(default_factory=Counter)

    def start(self) -> None:
        threading.setprofile(self._see)
        sys.setprofile(self._see)

    def _see(self, frame: FrameType, event: str, value: Any) -> None:
        code = frame.f_code
        if (
            event not in ("call", "return")
            or not code.co_filename.startswith(self.folder)
            or code.co_filename.endswith(GENERATED)
        ):
            return
        thread = threading.get_ident()
        if code.co_name == "<module>" and frame.f_globals.get("__name__") != "__main__":
            self._imports[thread] += 1 if event == "call" else -1
        elif event == "return" or code.co_name[0] == "<" or self._imports[thread] or self.over():
            return
        else:
            self.functions[code.co_filename, code.co_qualname] += 1
            if code.co_filename != (last := self._last.get(thread, "")):
                self.moves[last, code.co_filename] += 1
            self._last[thread] = code.co_filename
            if code.co_qualname == OPENER:
                path = str(Path(frame.f_locals["self"].path, frame.f_locals["name"]))
                self.opened[path.removeprefix(self.home + os.sep)] += 1

    def counts(self) -> dict[str, int]:
        """The row of the table."""
        calls: Counter[str] = Counter()
        for (_, name), count in self.functions.items():
            calls[name] += count
        return {
            "files": len({path for path, _ in self.functions}),
            "functions": len(self.functions),
            "moves": self.moves.total(),
            "opened": max(self.opened.values(), default=0),
            "policy": sum(calls[name] for name in POLICY),
            "schemas": sum(calls[name] for name in SCHEMAS),
        }

    def lines(self) -> list[str]:
        """The files in the order in which they were entered, each with its functions and how often
        each was called; the moves, most first; the files of the home that were opened."""
        start = len(self.folder) + 1
        files = dict.fromkeys(path for path, _ in self.functions)
        lines: list[str] = []
        for file in files:
            called = {name: n for (path, name), n in self.functions.items() if path == file}
            lines.append(f"{file[start:]} {len(called)}")
            lines += [f"    {name} {n}" for name, n in called.items()]
        moves = self.moves.most_common(40)
        lines += [f"{old[start:]} > {new[start:]} {n} times" for (old, new), n in moves]
        return [*lines, *(f"{path} {n} times" for path, n in self.opened.items())]


def count(package: str, module: str, words: Sequence[str], out: Path) -> None:
    """Run a module in this process and write what was counted. The body of `module` itself counts
    as its main function."""
    spec = importlib.util.find_spec(package)
    folder = Path(str(spec and spec.origin)).parent
    server = Server()
    os.environ["OLLAMA_HOST"] = server.host
    os.environ["OPENAI_API_BASE"] = os.environ["OPENAI_BASE_URL"] = f"http://{server.host}/v1"
    way = Way(str(folder), os.environ["OPENCLAW_HOME"], lambda: bool(server.chat))
    sys.argv = [module, *words]

    def write() -> None:
        sys.setprofile(None)
        found = {"counts": way.counts(), "lines": way.lines()}
        out.write_text(json.dumps(found), "utf-8")

    leave = os._exit

    def write_and_leave(status: int) -> NoReturn:
        write()
        leave(status)

    os._exit = write_and_leave
    way.start()
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        write()


def counted(
    package: str, module: str, words: Sequence[str], environ: Mapping[str, str], out: Path
) -> dict[str, Any]:
    """Count in a process of its own. Raises SystemExit when no request came."""
    call = [sys.executable, "-m", "benchmarks.one_prompt", "--count", package, module, str(out)]
    done = subprocess.run(
        [*call, *words], env=environ, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if not out.exists():
        raise SystemExit(f"{package} could not be counted:\n{done.stderr.decode()[-2000:]}")
    found: dict[str, Any] = json.loads(out.read_text("utf-8"))
    return found


def main(report: Callable[[str], object] = print) -> None:
    """Print the table."""
    if sys.argv[1:2] == ["--count"]:
        package, module, out, *words = sys.argv[2:]
        count(package, module, words, Path(out))
        return
    names = ("files", "functions", "moves", "opened", "policy", "schemas")
    report("| until the request | " + " | ".join(names) + " |\n|---|" + "---:|" * len(names))
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        environ = {**environment(home, ""), "OPENAI_API_KEY": "none", "PYTHONPATH": str(TOP)}
        openclaw = [sys.executable, "-m", "openclaw"]
        asked = ("--model", f"ollama/{MODEL}", PROMPT)
        seconds([*openclaw, "init", str(home)], environ)
        seconds([*openclaw, "todo", "add", "buy milk"], environ)
        lists: list[str] = []

        def row(title: str, package: str, module: str, words: Sequence[str]) -> None:
            found = counted(package, module, words, environ, Path(folder) / f"{title}.json")
            report(f"| {title} | " + " | ".join(str(found["counts"][n]) for n in names) + " |")
            lists[:] = found["lines"]

        for name, (module, asking) in PEERS.items():
            if importlib.util.find_spec(name):
                row(name, name, module, asking)
        for protocol in ("json", "native"):
            seconds([*openclaw, "config", "set", "protocol", protocol], environ)
            server = Server()
            seconds([*openclaw, *asked], {**environ, "OLLAMA_HOST": server.host})
            server.close()
            row(f"openclaw, {protocol}", "openclaw", "openclaw", asked)
        report("| aim | " + " | ".join(str(AIMS.get(name, "")) for name in names) + " |")
        if "--list" in sys.argv:
            report("\n".join(("", *lists)))


if __name__ == "__main__":
    main()
