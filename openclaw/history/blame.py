"""Finds which turn wrote each line of a file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from openclaw.frozen import frozen
from openclaw.history.differences import lines_of
from openclaw.storage.merge import blocks

if TYPE_CHECKING:
    from openclaw.history.turns import Turn


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
