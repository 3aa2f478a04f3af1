"""What was read of each SKILL.md, kept in one JSON file: a thousand skills need not be read again.

An entry counts while the file's times, size and inode are the same. The file may be deleted at any
time; a damaged one, or one of another version of the program, is as good as none.
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openclaw import __version__
from openclaw.errors import OpenclawError
from openclaw.files.beneath import read_bytes
from openclaw.files.json_reading import from_json
from openclaw.files.text import write_text
from openclaw.skills.gates import OPEN, Gate, Hint
from openclaw.skills.problems import Problem
from openclaw.skills.triggers import FILE as TRIGGERS

if TYPE_CHECKING:
    from openclaw.skills.load import Skill

VERSION = f"3 {__version__}"
"""The number changes with what is read of a skill, or how."""

Read = tuple["Skill | None", list[Problem]]


class Cache:
    """What is known of the skills, from the file (None: of nothing) and to it."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._old = _entries(file) if file else {}
        self._new: dict[str, Any] = {}
        self._changed = False

    def get(self, path: str) -> Read | None:
        """The skill of a SKILL.md and its problems, None when it must be read."""
        entry = self._old.get(path)
        stamp = _stamp(path) if entry is not None else None
        if entry is None or stamp is None:
            return None
        try:
            if entry["stamp"] != stamp:
                return None
            read = _unpacked(Path(path), entry)
        except (LookupError, TypeError, ValueError):
            return None
        self._new[path] = entry
        return read

    def put(self, path: str, skill: Skill | None, problems: list[Problem]) -> Read:
        """Keep what was just read, unless the file may still change unseen."""
        stamp = _stamp(path) if self._file else None
        passing = any(problem.code == "unreadable" for problem in problems)
        if stamp and not passing and _settled(stamp):
            self._new[path] = {"stamp": stamp, **_packed(skill, problems)}
            self._changed = True
        return skill, problems

    def save(self) -> None:
        """Write the file if anything changed; where it cannot be written, do without."""
        if self._file is None or not (self._changed or self._new.keys() != self._old.keys()):
            return
        import json

        text = json.dumps({"version": VERSION, "skills": self._new}, separators=(",", ":"))
        with suppress(OpenclawError):
            write_text(self._file, text + "\n")


def _entries(file: Path) -> dict[str, Any]:

    try:
        found = from_json(read_bytes(file))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict) or found.get("version") != VERSION:
        return {}
    skills = found.get("skills")
    return skills if isinstance(skills, dict) else {}


def _stamp(path: str) -> list[list[int]] | None:
    """What changes when the file or the skill's examples do; None for a link, whose target could
    change unseen."""
    own = _one_stamp(path)
    if own is None:
        return None
    tests = _one_stamp(f"{os.path.dirname(path)}/{TRIGGERS}")  # noqa: PTH120 - asked for 1,000
    return [own, tests] if tests else [own]


def _one_stamp(path: str) -> list[int] | None:
    try:
        info = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISREG(info.st_mode):
        return None
    return [info.st_mtime_ns, info.st_size, info.st_ctime_ns, info.st_ino]


def _settled(stamps: list[list[int]]) -> bool:
    """Whether another change would get another time: clocks of file systems tick every 10 ms, and
    every 2 s where times are whole seconds (FAT)."""
    now = time.time()
    for mtime, _, ctime, _ in stamps:
        tick = 0.05 if mtime % 1_000_000_000 else 2.0
        if -tick < now - max(mtime, ctime) / 1e9 < tick:
            return False
    return True


def _packed(skill: Skill | None, problems: list[Problem]) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    if problems:
        entry["problems"] = [[p.level, p.code, p.message] for p in problems]
    if skill is None:
        return entry
    gate = skill.gate
    entry["skill"] = [
        skill.name,
        skill.description,
        skill.source,
        None if gate == OPEN else _packed_gate(gate),
        skill.model_invocable,
        skill.user_invocable,
        list(skill.allowed_tools),
        skill.compatibility,
        None if skill.about == skill.description else skill.about,
        list(skill.examples),
    ]
    return entry


def _packed_gate(gate: Gate) -> list[Any]:
    hints = [[hint.bins, hint.os, hint.text] for hint in gate.hints]
    return [gate.os, gate.bins, gate.any_bins, gate.env, gate.config, gate.always, hints]


def _unpacked(path: Path, entry: dict[str, Any]) -> Read:
    from openclaw.skills.load import Skill

    problems = [Problem(path, *problem) for problem in entry.get("problems", ())]
    if "skill" not in entry:
        return None, problems
    name, description, source, gate, model, user, tools, *texts = entry["skill"]
    compatibility, about, examples = texts
    skill = Skill(
        name,
        description,
        path,
        source,
        _unpacked_gate(gate) if gate else OPEN,
        model,
        user,
        tuple(tools),
        compatibility,
        about or description,
        tuple(examples),
    )
    return skill, problems


def _unpacked_gate(packed: list[Any]) -> Gate:
    os_, bins, any_bins, env, config, always, hints = packed
    made = tuple(Hint(tuple(names), tuple(systems), text) for names, systems, text in hints)
    return Gate(tuple(os_), tuple(bins), tuple(any_bins), tuple(env), tuple(config), always, made)
