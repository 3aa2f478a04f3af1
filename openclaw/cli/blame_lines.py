"""Tells who wrote the lines of a file: finds file and lines that words name, puts them in lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from openclaw.cli.past_lines import Past, kind_of, minute, place_of, show_lines
from openclaw.cli.said import said
from openclaw.cli.visible import first_line, harmless, one_line
from openclaw.errors import OpenclawError, UsageError
from openclaw.files.beneath import read_bytes
from openclaw.shapes import ToolProblem

if TYPE_CHECKING:
    from openclaw.files.home import Home
    from openclaw.history.blame import Line
    from openclaw.history.turn import Turn

NOT_RECORDED = "not recorded"
YOU = "you"
_LINES = re.compile(r"(.+):(\d+)(?:-(\d+))?")
_PROMPT = 40


class PastHome(Past, Protocol):
    """What is asked of an open home here; see openclaw.app.App."""

    @property
    def home(self) -> Home: ...


def blamed(app: PastHome, where: str) -> tuple[str, list[Line]]:
    """The file that the words name, relative to the home, and its lines with their writers.
    UsageError when there is no such file, or it has no such lines."""
    from openclaw.history.blame import blame

    file, first, last = _named(app.home, where)
    path = app.home.relative(file)
    data = _content(file, path)
    lines = blame(app.history.versions(path), data)
    if first > len(lines) or last < first:
        raise UsageError(f"{path} has {len(lines)} lines, not {where.rpartition(':')[2]}")
    return path, lines[first - 1 : last] if first else lines


def blame_lines(
    app: Past, path: str, lines: Sequence[Line], show: str = "openclaw show"
) -> Iterator[str]:
    """Each line with its writer in front; of a single one its turn, and `show`, which shows it in
    full."""
    if len(lines) == 1 and lines[0].turn is not None:
        yield from _one_line(app, path, lines[0], lines[0].turn, show)
        return
    rows = [_writer(line.turn) for line in lines]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    digits = len(str(lines[-1].number)) if lines else 0
    for row, line in zip(rows, lines, strict=True):
        cells = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield f"{cells}  {line.number:>{digits}}| {harmless(line.text)}"


def opened(app: Past, lines: Sequence[Line]) -> Iterator[str]:
    """All of each turn that wrote one of the lines. OpenclawError when none of them did."""
    turns: dict[str, Turn] = {}
    for line in lines:
        if line.turn is not None:
            turns.setdefault(line.turn.id or line.turn.commit, line.turn)
    if not turns:
        raise OpenclawError("these lines are not in the history yet", "the next turn records them")
    for number, turn in enumerate(turns.values()):
        yield from ("",) * (number > 0)
        yield from show_lines(app, turn)


def blame_json(app: Past, path: str, lines: Sequence[Line]) -> list[dict[str, Any]]:
    """The lines as JSON, each with its writer, and its prompt where a turn has written it."""
    prompts: dict[str, str] = {}
    found = []
    for line in lines:
        turn = line.turn
        if turn is not None and turn.id and turn.id not in prompts:
            prompts[turn.id] = said(turn, app.history, app.sessions).prompt or turn.subject
        of = (turn.id, turn.kind, turn.at, turn.session, turn.number, turn.commit) if turn else (
            "", "", "", "", 0, ""
        )  # fmt: skip
        names = ("turn", "kind", "at", "session", "number", "commit")
        told = {"path": path, "line": line.number, "text": line.text, "by": _writer(turn)[0]}
        prompt = prompts.get(turn.id, "") if turn else ""
        found.append(told | dict(zip(names, of, strict=True)) | {"prompt": prompt})
    return found


def _named(home: Home, where: str) -> tuple[Path, int, int]:
    """File, first and last line of what was written; 0 and 0 for the whole file. A name that ends
    like lines is taken as a name when there is such a file."""
    file = _file(home, where)
    if file is not None:
        return file, 0, 0
    found = _LINES.fullmatch(where)
    file = _file(home, found.group(1)) if found else None
    if found is None or file is None:
        raise UsageError(
            f"there is no file '{found.group(1) if found else where}' in the home",
            f"a path is relative to {home.root}, or to the current folder in it",
        )
    first = int(found.group(2))
    if not first:
        raise UsageError("lines are counted from 1")
    return file, first, int(found.group(3) or first)


def _file(home: Home, name: str) -> Path | None:
    """The file of this name: from the current folder when that lies in the home, else from the
    home's top. Its links are followed as far as the home."""
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


def _content(file: Path, path: str) -> bytes:
    try:
        data = read_bytes(file)
    except OSError as error:
        raise OpenclawError(f"{path} cannot be read: {error.strerror}") from error
    if b"\0" in data:
        raise OpenclawError(f"{path} is no text", f"its turns: openclaw log --file {path}")
    return data


def _writer(turn: Turn | None) -> tuple[str, str, str, str]:
    """Who, when, in which conversation, from which prompt."""
    if turn is None:
        return NOT_RECORDED, "", "", ""
    if turn.kind == "outside":
        return YOU, minute(turn.at), "", first_line(turn.subject, _PROMPT)
    return turn.id, minute(turn.at), one_line(place_of(turn)), first_line(turn.subject, _PROMPT)


def _one_line(app: Past, path: str, line: Line, turn: Turn, show: str) -> Iterator[str]:
    yield f"{one_line(path)}:{line.number}  {harmless(line.text)}"
    if turn.kind == "outside":
        yield f"  by you, {minute(turn.at)}: {one_line(turn.subject)}"
        yield f"  commit {turn.commit}" if turn.commit else "  not in a commit yet"
        return
    kind = kind_of(turn)
    if kind == "command":
        yield f"  by command {turn.id}, {minute(turn.at)}: {one_line(turn.subject)}"
        yield f"  all of it: {show} {turn.id}"
        return
    yield f"  by {kind} {turn.id}, {minute(turn.at)}, {one_line(turn.model) or 'no model'}"
    if turn.session:
        yield f"  in {one_line(turn.session)}" + (f", turn {turn.number}" if turn.number else "")
    prompt = said(turn, app.history, app.sessions).prompt or turn.subject
    first, *rest = harmless(prompt).splitlines() or [""]
    yield from (f"  prompt: {first}", *(f"          {each}" for each in rest))
    yield f"  all of it: {show} {turn.id}"
