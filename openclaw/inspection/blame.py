"""Which turn wrote each line of a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openclaw.errors import OpenclawError, UsageError
from openclaw.frozen import frozen
from openclaw.history.differences import lines_of
from openclaw.history.turns import Turn
from openclaw.home.open_home import OpenHome
from openclaw.inspection.why import find_exchange
from openclaw.storage.home import Home
from openclaw.storage.merge import blocks
from openclaw.storage.safe_open import read_bytes
from openclaw.types import ToolProblem

_LINES = re.compile(r"(.+):(\d+)(?:-(\d+))?")


@frozen
class Line:
    """One line of a file, from 1. `turn` is the entry of the history that wrote it, None for one
    that is in no entry yet."""

    number: int
    text: str
    turn: Turn | None


@dataclass(slots=True)
class _Trail:
    """Lines that are followed together: where in the content `lines` each line of today stands, by
    its index. `turn` has them unless an older version has them as well. A trail that is `lost` is
    that of an undo, whose lines may turn up again in any older version."""

    lines: list[bytes]
    places: dict[int, int]
    turn: Turn | None
    lost: bool = False


@dataclass(slots=True)
class _Search:
    """The lines whose writer is found, and the trails of the others."""

    found: dict[int, Turn | None] = field(default_factory=dict)
    trails: list[_Trail] = field(default_factory=list)

    def compare(self, older: _Trail) -> None:
        """Let an older version take over the lines that it has; the others are their writers'."""
        left: list[_Trail] = []
        for trail in self.trails:
            kept = {
                a + n: c + n
                for kind, a, b, c, _ in blocks(trail.lines, older.lines)
                if kind == "equal"
                for n in range(b - a)
            }
            for line, at in list(trail.places.items()):
                if at in kept:
                    older.places[line] = kept[at]
                    del trail.places[line]
            if trail.lost or (trail.turn and trail.turn.kind in ("undo", "redo")):
                trail.lost = True
                left.append(trail)
            else:
                self.found.update(dict.fromkeys(trail.places, trail.turn))
        self.trails = [trail for trail in (*left, older) if trail.places]


def blame(versions: Iterable[tuple[Turn | None, bytes | None]], now: bytes) -> list[Line]:
    """The lines of `now`, each with its writer. `versions` are the file's, newest first, each with
    the entry that made it; no more of them are read than are needed."""
    lines = lines_of(now)
    search = _Search(trails=[_Trail(lines, {n: n for n in range(len(lines))}, None)])
    for turn, content in versions if lines else ():
        search.compare(_Trail(lines_of(content or b""), {}, turn))
        if not search.trails:
            break
    for trail in search.trails:
        search.found.update(dict.fromkeys(trail.places, trail.turn))
    return [
        Line(number + 1, line.decode("utf-8", "replace").rstrip("\r\n"), search.found.get(number))
        for number, line in enumerate(lines)
    ]


def find_blame(open_home: OpenHome, where: str) -> tuple[str, list[Line]]:
    """The file that `where` names, relative to the home, and its lines with their writers. Raises
    UsageError when the file or the lines do not exist."""
    file, first, last = _parse_place(open_home.home, where)
    path = open_home.home.relative(file)
    try:
        data = read_bytes(file)
    except OSError as error:
        raise OpenclawError(f"{path} cannot be read: {error.strerror}") from error
    if b"\0" in data:
        raise OpenclawError(f"{path} is no text", f"its turns: openclaw log --file {path}")
    lines = blame(open_home.history.versions(path), data)
    if first > len(lines) or last < first:
        raise UsageError(f"{path} has {len(lines)} lines, not {where.rpartition(':')[2]}")
    return path, lines[first - 1 : last] if first else lines


def _parse_place(home: Home, where: str) -> tuple[Path, int, int]:
    """File, first and last line that `where` names; 0 and 0 for the whole file. A name that ends
    like a range of lines is a name when such a file exists."""
    file = _find_file(home, where)
    if file is not None:
        return file, 0, 0
    found = _LINES.fullmatch(where)
    file = _find_file(home, found.group(1)) if found else None
    if found is None or file is None:
        raise UsageError(
            f"there is no file '{found.group(1) if found else where}' in the home",
            f"a path is relative to {home.root}, or to the current folder in it",
        )
    first = int(found.group(2))
    if not first:
        raise UsageError("lines are counted from 1")
    return file, first, int(found.group(3) or first)


def _find_file(home: Home, name: str) -> Path | None:
    """The file of this name: in the current folder when that lies in the home, else in the home's
    top folder. Links are followed only inside the home."""
    cwd = Path.cwd()
    inside = cwd == home.root or home.root in cwd.parents
    for path in ((cwd / name,) if inside else ()) + (home.root / name,):
        try:
            file = home.inside(str(path))
            if file.is_file():
                return file
        except (ToolProblem, OSError, ValueError):
            continue
    return None


def writer_of(turn: Turn | None) -> str:
    """Who wrote a line: the id of a turn, "you", or "not recorded" before the next turn."""
    if turn is None:
        return "not recorded"
    return "you" if turn.kind == "outside" else turn.id


def blame_json(open_home: OpenHome, path: str, lines: Sequence[Line]) -> list[dict[str, Any]]:
    """The lines as JSON, each with its writer, and the prompt when a turn wrote it."""
    prompts: dict[str, str] = {}
    found: list[dict[str, Any]] = []
    for line in lines:
        turn = line.turn
        told = {"path": path, "line": line.number, "text": line.text, "by": writer_of(turn)}
        told |= {"turn": "", "kind": "", "at": "", "session": "", "number": 0, "commit": ""}
        if turn is not None:
            if turn.id and turn.id not in prompts:
                prompts[turn.id] = find_exchange(open_home, turn).prompt or turn.subject
            told |= {"turn": turn.id, "kind": turn.kind, "at": turn.at, "session": turn.session}
            told |= {"number": turn.number, "commit": turn.commit}
        found.append(told | {"prompt": prompts.get(turn.id, "") if turn else ""})
    return found
