"""Memories as list items: daily notes in YYYY-MM-DD.md, lasting facts in MEMORY.md."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal

from openclaw.files.lock import locked
from openclaw.files.text import read_text, write_text
from openclaw.memory.similar import same
from openclaw.shapes import ToolProblem

MAX_CHARS = 500
LOCK_SECONDS = 5.0
LASTING = "MEMORY.md"

Where = Literal["today", "lasting"]

_ITEM = re.compile(r"^[ ]{0,3}[-*+][ \t]+(?P<text>\S.*?)[ \t]*$")
_START = re.compile(r"^(?:[-*+#>]+\s+)+")
_HEADING = re.compile(r"^#{1,6}\s")
_DAILY = re.compile(r"\d{4}-\d{2}-\d{2}\.md")


@dataclass(frozen=True, slots=True)
class Note:
    """One remembered line; `line` counts from 1."""

    path: Path
    line: int
    text: str


class Notes:
    """The memory folder. Changes are made under a lock; OpenclawError when it stays held or a
    file cannot be written."""

    def __init__(
        self, folder: Path, today: Callable[[], date] = date.today, lock: Path | None = None
    ) -> None:
        self.folder = folder
        self._today = today
        self._lock = lock or folder.parent / ".openclaw" / "locks" / "notes.lock"

    def target(self, where: Where) -> Path:
        """The file that a memory goes to."""
        name = LASTING if where == "lasting" else f"{self._today().isoformat()}.md"
        return self.folder / name

    def remember(self, text: str, where: Where = "lasting") -> tuple[Path, int]:
        """Write a memory as one line; returns the file and the line's number.

        Raises ToolProblem when nothing is left of the text, when it is longer than 500 characters,
        or when the same is known: a lasting fact need not be noted for today again.
        """
        line = one_line(text)
        path = self.target(where)
        with locked(self._lock, LOCK_SECONDS):
            for known in dict.fromkeys((path, self.target("lasting"))):
                self._refuse_known(line, known)
            old = _text(path)
            title = "Memory" if where == "lasting" else path.stem
            new, number = with_item(old or f"# {title}\n\n", line)
            write_text(path, new)
        return path, number

    def list(self) -> list[Note]:
        """All remembered lines: lasting facts first, then the days, newest first."""
        days = sorted(self.folder.glob("*.md"), reverse=True) if self.folder.is_dir() else []
        paths = [self.folder / LASTING, *(path for path in days if _DAILY.fullmatch(path.name))]
        return [
            Note(path, number, text) for path in paths for number, text in items_of(_text(path))
        ]

    def forget(self, note: Note) -> None:
        """Take a remembered line out again. Raises ToolProblem when it is no longer there."""
        with locked(self._lock, LOCK_SECONDS):
            text = _text(note.path)
            if (note.line, note.text) not in items_of(text):
                raise ToolProblem(f"{note.path.name}:{note.line} has changed; list them again.")
            lines = _lines(text)
            del lines[note.line - 1]
            write_text(note.path, "".join(lines))

    def _refuse_known(self, line: str, path: Path) -> None:
        for number, text in items_of(_text(path)):
            if same(text, line):
                raise ToolProblem(f'Already known, {path.name}:{number}: "{text}"')


def one_line(text: str) -> str:
    """A memory as one line. Raises ToolProblem when it is empty or too long."""
    line = _START.sub("", " ".join(text.split()) + " ").strip()
    if not line:
        raise ToolProblem("There is nothing to remember: give the fact as one line.")
    if len(line) > MAX_CHARS:
        raise ToolProblem(f"Too long: a memory is one line of at most {MAX_CHARS} characters.")
    return line


def items_of(text: str) -> list[tuple[int, str]]:
    """The list items of a text outside of comments and code fences, with line numbers."""
    items, closing = [], ""
    for number, line in enumerate(_lines(text), 1):
        bare = line.strip()
        if closing:
            closing = "" if closing in bare else closing
        elif bare.startswith(("```", "~~~")):
            closing = bare[:3]
        elif bare.startswith("<!--"):
            closing = "" if "-->" in bare else "-->"
        elif found := _ITEM.match(line.rstrip("\r\n")):
            items.append((number, found["text"]))
    return items


def with_item(text: str, line: str) -> tuple[str, int]:
    """The text with a list item at the end of the part below its title, and the item's line.

    The part ends at the next heading; blank lines before that stay behind the item.
    """
    lines = _lines(text)
    newline = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    numbers = [number for number, _ in items_of(text)]
    first = next((at for at, old in enumerate(lines) if old.strip()), 0)
    end = next((at for at in range(first + 1, len(lines)) if _is_heading(lines, at)), len(lines))
    at = end
    while at and not lines[at - 1].strip():
        at -= 1
    if at and not lines[at - 1].endswith(("\n", "\r")):
        lines[at - 1] += newline
    block = [f"- {line}{newline}"]
    if at and at not in numbers and not lines[at - 1].startswith((" ", "\t")):
        if at < len(lines) and not lines[at].strip():
            at += 1
        else:
            block.insert(0, newline)
    if at < len(lines) and lines[at].strip():
        block.append(newline)
    lines[at:at] = block
    return "".join(lines), lines.index(f"- {line}{newline}", at) + 1


def _is_heading(lines: list[str], at: int) -> bool:
    return (
        bool(_HEADING.match(lines[at]))
        and sum(old.lstrip().startswith(("```", "~~~")) for old in lines[:at]) % 2 == 0
    )


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z", text)


def _text(path: Path) -> str:
    try:
        return read_text(path)
    except FileNotFoundError:
        return ""
