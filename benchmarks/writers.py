"""The processes of `benchmarks.concurrency`: who adds, who edits by hand, who reads.

    python -m benchmarks.writers add|command|edit|edit-in-place|read|plain HOME NAME COUNT

`add` adds COUNT to-dos and as many memories by the stores, `command` by the command line, each in a
process of its own. Both editors and the reader go on until the file HOME/stop is there. Each prints
one line of JSON at its end. `plain` appends COUNT lines to a file under flock: the reference.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from openclaw.memory.notes import Notes
from openclaw.memory.todos import TodoFile
from openclaw.storage.atomic import read_settled, swap
from openclaw.storage.home import Home

PAUSE = 0.25
"""Seconds between two saves of an editor, two lists of the reader."""


def todo_text(name: str, number: int) -> str:
    return f"job {name}n{number}"


def fact_text(name: str, number: int) -> str:
    """Words that no other memory has, so that none is taken for a correction of another."""
    words = hashlib.sha256(f"{name} {number}".encode()).hexdigest()
    return f"f{name}n{number} {words[:12]} {words[12:24]}"


def add(home: Path, name: str, count: int) -> dict[str, Any]:
    todos, notes = TodoFile(home / "memory" / "TODO.md"), Notes(home / "memory")
    longest = 0.0
    for number in range(count):
        start = time.monotonic()
        todos.add("", [todo_text(name, number)])
        notes.remember(fact_text(name, number), "today")
        longest = max(longest, time.monotonic() - start)
    return {"longest": longest}


def command(home: Path, name: str, count: int) -> dict[str, Any]:
    start = [sys.executable, "-m", "openclaw", "--home", str(home)]
    for number in range(count):
        for words in (
            ["todo", "add", todo_text(name, number)],
            ["memory", "add", "--today", fact_text(name, number)],
        ):
            subprocess.run([*start, *words], check=True, capture_output=True)
    return {}


def edit(home: Path, name: str, _: int) -> dict[str, Any]:
    """As an editor that renames into place and looks, before and after, at what it replaces."""
    return _edited(home, name, lambda path, old, new: swap(path, old, new))


def edit_in_place(home: Path, name: str, _: int) -> dict[str, Any]:
    """As one that writes into the file, having looked whether it still is the one it read."""
    return _edited(home, name, _written_in_place)


def _written_in_place(path: Path, old: bytes, new: bytes) -> bool:
    with path.open("r+b") as file:
        if file.read() != old or not _is(path, file.fileno()):
            return False
        file.seek(0)
        file.truncate()
        file.flush()
        file.write(new)
        file.flush()
        # When the name has gone to another file meanwhile, it has to save again.
        return _is(path, file.fileno())


def _is(path: Path, number: int) -> bool:
    return path.stat().st_ino == os.fstat(number).st_ino


def _edited(home: Path, name: str, save: Callable[[Path, bytes, bytes], bool]) -> dict[str, Any]:
    """Put a line of one's own into one file after the other, each time at another place."""
    marks: list[str] = []
    again = 0
    paths = _files(home)
    while not (home / "stop").exists():
        path = paths[len(marks) % len(paths)]
        if not path.exists():
            time.sleep(PAUSE)
            continue
        mark = f"({name}{len(marks)})"
        while mark.encode() not in (old := read_settled(path) or b""):
            lines = old.splitlines(keepends=True)
            at = max(1, len(lines) * (len(marks) % 7) // 7)
            lines.insert(at, f"Edited by hand {mark}\n\n".encode())
            again += not save(path, old, b"".join(lines))
        marks.append(mark)
        time.sleep(PAUSE)
    return {"marks": marks, "again": again}


def read(home: Path, name: str, _: int) -> dict[str, Any]:
    """List all the time; count the lists that lack what was seen before: in the middle of a save in
    place, or when a save was put back (see `openclaw.storage.atomic`)."""
    todos, notes = TodoFile(home / "memory" / "TODO.md"), Notes(home / "memory")
    seen: set[str] = set()
    times, gone = 0, 0
    slowest = 0.0
    while not (home / "stop").exists():
        start = time.monotonic()
        now = {todo.text for todo in todos.items()} | {note.text for note in notes.list()}
        slowest = max(slowest, time.monotonic() - start)
        times, gone, seen = times + 1, gone + bool(seen - now), seen | now
        time.sleep(PAUSE)
    return {"times": times, "gone": gone, "slowest": slowest}


def plain(home: Path, name: str, count: int) -> dict[str, Any]:
    import fcntl

    for number in range(2 * count):
        with (home / "plain.md").open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(f"- [ ] {todo_text(name, number)}\n".encode())
            file.flush()
            os.fsync(file.fileno())
    return {}


def _files(home: Path) -> list[Path]:
    return [home / "memory" / "TODO.md", Notes(Home(home).memory).target("today")]


ROLES = {
    "add": add,
    "command": command,
    "edit": edit,
    "edit-in-place": edit_in_place,
    "read": read,
    "plain": plain,
}


if __name__ == "__main__":
    role, folder, who, number = sys.argv[1:]
    print(json.dumps(ROLES[role](Path(folder), who, int(number))))
