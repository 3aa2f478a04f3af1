"""Many at once on one home: is anything lost, double or slow?

    python -m benchmarks.concurrency [--quick]

32 processes (4 of them by the command line) add 50 to-dos and 50 memories each, while one editor
saves both files by renaming, another one in place, and a reader lists all the time. Then 4 talks in
one home, each of 25 turns that append to the same file, with git committing each turn. Exit code 1
when anything is missing. An editor that overwrites without a look what it has not read cannot be
helped by anybody; the two here look, see `benchmarks.writers`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.writers import fact_text, todo_text
from openclaw.memory.notes import Notes
from openclaw.memory.todos import TodoFile
from openclaw.storage.new_home import create_home
from tests.fakes.ollama_server import Answer, FakeOllama

MINUTES = 10
REQUESTS_A_TURN = 4

Report = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Size:
    """`processes` that add `items` to-dos and memories each, `commands` of them by the command line
    (`command_items` each); `talks` of `turns`."""

    processes: int = 32
    items: int = 50
    commands: int = 4
    command_items: int = 50
    talks: int = 4
    turns: int = 25


QUICK = Size(processes=6, items=5, commands=1, command_items=1, talks=2, turns=2)


def start(role: str, home: Path, name: str, count: int = 0) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "benchmarks.writers", role, str(home), name, str(count)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = process.communicate(timeout=60 * MINUTES)
    if process.returncode:
        return {"failed": err.strip().splitlines()[-1:]}
    found: dict[str, Any] = json.loads(out)
    return found


def many_writers(home: Path, size: Size, report: Report) -> bool:
    """Adders, editors and a reader at once; whether all is there."""
    adders = size.processes - size.commands
    beside = {role: start(role, home, role[-5:]) for role in ("edit", "edit-in-place", "read")}
    began = time.monotonic()
    running = [start("add", home, f"w{number}", size.items) for number in range(adders)]
    running += [
        start("command", home, f"c{number}", size.command_items) for number in range(size.commands)
    ]
    results = [ended(process) for process in running]
    seconds = time.monotonic() - began
    (home / "stop").touch()
    told = {role: ended(process) for role, process in beside.items()}
    wanted = [(f"w{who}", n) for who in range(adders) for n in range(size.items)]
    wanted += [(f"c{who}", n) for who in range(size.commands) for n in range(size.command_items)]
    good = counted(home, wanted, report)
    good &= outside(home, [told["edit"], told["edit-in-place"]], report)
    failures = [said for result in (*results, *told.values()) for said in result.get("failed", ())]
    longest = max((result.get("longest", 0.0) for result in results), default=0.0)
    report(f"| failed processes | {len(failures)} {' '.join(sorted(set(failures)))} |")
    report(f"| seconds, adds a second | {seconds:.1f}, {2 * len(wanted) / seconds:.0f} |")
    report(f"| longest wait for one to-do and one memory | {longest:.2f} s |")
    reader = told["read"]
    report(f"| lists by the reader, slowest | {reader['times']}, {reader['slowest']:.3f} s |")
    report(f"| lists in which something known was missing | {reader['gone']} |")
    return good and not failures


def counted(home: Path, wanted: Sequence[tuple[str, int]], report: Report) -> bool:
    """Whether each item is there once, and no id twice."""
    items = TodoFile(home / "memory" / "TODO.md").items()
    todos = Counter(todo.text for todo in items)
    notes = Counter(note.text for note in Notes(home / "memory").list(everything=True))
    texts = [(todos[todo_text(*each)], notes[fact_text(*each)]) for each in wanted]
    there = sum((todo > 0) + (note > 0) for todo, note in texts)
    double = sum((todo > 1) + (note > 1) for todo, note in texts)
    ids = len(items) - len({todo.id for todo in items})
    report(f"| to-dos and memories present | {there} of {2 * len(wanted)} |")
    report(f"| double, ids given twice | {double}, {ids} |")
    return there == 2 * len(wanted) and not double and not ids


def outside(home: Path, editors: Sequence[Mapping[str, Any]], report: Report) -> bool:
    """Whether each line that the editors saved is there once."""
    text = "".join(path.read_text("utf-8") for path in (home / "memory").glob("*.md"))
    marks = [mark for editor in editors for mark in editor.get("marks", ())]
    lost = [mark for mark in marks if text.count(mark) != 1]
    again = [str(editor.get("again")) for editor in editors]
    report(f"| edits by hand lost or double | {len(lost)} of {len(marks)} |")
    report(f"| saves that the editors had to do again | {', '.join(again)} |")
    return not lost


def references(home: Path, size: Size, report: Report) -> None:
    """The same number of adds by one process, and appended lines under flock by all."""
    began = time.monotonic()
    ended(start("add", home, "alone", size.items))
    rate = 2 * size.items / (time.monotonic() - began)
    report(f"| reference: adds a second, one process | {rate:.0f} |")
    if os.name == "nt":
        return
    began = time.monotonic()
    running = [start("plain", home, f"p{number}", size.items) for number in range(size.processes)]
    for process in running:
        ended(process)
    rate = 2 * size.items * size.processes / (time.monotonic() - began)
    report(f"| reference: lines a second appended under flock, all | {rate:.0f} |")


# ---- talks


def reply(body: Mapping[str, Any]) -> str | Answer:
    """Append the number that the user names; say so when that is done."""
    last = body["messages"][-1]
    asked = re.findall(r"Append (\w+)", json.dumps(body["messages"]))
    if last["role"] == "tool" or last["content"].startswith("Result of") or not asked:
        return "It is done."
    call = ("append_file", {"path": "workspace/log.md", "text": asked[-1]})
    return Answer(calls=[call])


def many_talks(home: Path, size: Size, report: Report) -> bool:
    """Several talks at once, each in a session of its own; whether every turn is there."""
    environment = {**os.environ, "OPENCLAW_MODEL": "ollama/fake:1b"}
    began = time.monotonic()
    with FakeOllama() as server, ExitStack() as open_files:
        server.say(*[reply] * (size.talks * size.turns * REQUESTS_A_TURN))
        environment["OLLAMA_HOST"] = server.url
        running = []
        for number in range(size.talks):
            lines = "".join(f"Append t{number}x{turn}\n" for turn in range(size.turns))
            typed = open_files.enter_context(tempfile.TemporaryFile("w+"))
            typed.write(lines)
            typed.seek(0)
            words = ["--home", str(home), "chat", "--yes", "--session", f"talk{number}"]
            running.append(
                subprocess.Popen(
                    [sys.executable, "-m", "openclaw", *words],
                    stdin=typed,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    env=environment,
                )
            )
        said = [process.communicate(timeout=60 * MINUTES)[0] for process in running]
    seconds = time.monotonic() - began
    for text, process in zip(said, running, strict=True):
        if process.returncode:
            report(f"a talk ended with {process.returncode}: {text.strip()[-300:]}")
    return _talked(home, size, seconds, report)


def _talked(home: Path, size: Size, seconds: float, report: Report) -> bool:
    turns = 0
    for number in range(size.talks):
        path = home / "sessions" / f"talk{number}.json"
        messages = json.loads(path.read_text("utf-8"))["messages"] if path.exists() else []
        turns += sum(message["role"] == "user" for message in messages)
    log = home / "workspace" / "log.md"
    lines = Counter(log.read_text("utf-8").split() if log.exists() else [])
    wanted = [f"t{who}x{turn}" for who in range(size.talks) for turn in range(size.turns)]
    once = sum(lines[each] == 1 for each in wanted)
    words = ["git", "-C", str(home), "log", "--format=%(trailers:key=Openclaw,valueonly)"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    commits = done.stdout.split().count("turn")
    report(f"| turns in the sessions of {size.talks} talks | {turns} of {len(wanted)} |")
    report(f"| lines that they appended to one file, each once | {once} of {len(wanted)} |")
    report(f"| commits of turns | {commits} of {len(wanted)} |")
    report(f"| seconds, turns a second | {seconds:.1f}, {len(wanted) / seconds:.1f} |")
    return turns == once == commits == len(wanted)


def main(words: Sequence[str] = (), report: Report = print) -> int:
    """Print the tables; 1 when anything is lost."""
    size = QUICK if "--quick" in words else Size()
    with tempfile.TemporaryDirectory() as folder:
        homes = [Path(folder) / name for name in ("stores", "talks")]
        for home in homes:
            create_home(home)
        report(f"| {size.processes} processes, 2 editors, 1 reader | |\n|---|---:|")
        good = many_writers(homes[0], size, report)
        references(homes[0], size, report)
        report(f"\n| {size.talks} talks of {size.turns} turns | |\n|---|---:|")
        good &= many_talks(homes[1], size, report)
    report("\nNothing was lost." if good else "\nSOMETHING WAS LOST.")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
