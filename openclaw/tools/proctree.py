"""Finds processes by Linux's /proc; elsewhere there are none to be found."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    parent: int
    session: int
    threads: int
    zombie: bool


def processes() -> Iterator[Process]:
    """All processes that this user can see."""
    try:
        names = [entry.name for entry in os.scandir(PROC) if entry.name.isdigit()]
    except OSError:
        return
    for name in names:
        try:
            text = (PROC / name / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        # The name in brackets may hold anything, so that only what follows the last one counts.
        state, parent, _group, session, *rest = text.rpartition(")")[2].split()
        yield Process(int(name), int(parent), int(session), int(rest[13]), state == "Z")


def marked(session: int, mark: str) -> list[int]:
    """Living processes of a session, or with this `NAME=value` in their environment."""
    wanted = mark.encode()
    return [
        process.pid
        for process in processes()
        if not process.zombie
        and process.pid != os.getpid()
        and (process.session == session or wanted in _environment(process.pid))
    ]


def threads_below(ancestor: int) -> int:
    """Threads of a process and of all that descend from it."""
    children: dict[int, list[Process]] = {}
    count = 0
    for process in processes():
        children.setdefault(process.parent, []).append(process)
        count += process.threads if process.pid == ancestor else 0
    waiting = [ancestor]
    while waiting:
        for process in children.get(waiting.pop(), ()):
            count += process.threads
            waiting.append(process.pid)
    return count


def _environment(pid: int) -> list[bytes]:
    try:
        return (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return []
