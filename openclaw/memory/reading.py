"""Reads memories from files, and finds those that a few words mean."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from openclaw.memory.entries import Entry, entries_of
from openclaw.memory.rewrite import text_of
from openclaw.shapes import ToolProblem

DAILY = re.compile(r"(\d{4}-\d{2}-\d{2})\.md")
_PLACE = re.compile(r"(?P<path>\S.*\.md):(?P<line>\d+)")


@dataclass(frozen=True, slots=True)
class Note:
    """A remembered line; `line` counts from 1. `category` is guessed where the line names none;
    `date` is an ISO day, `importance` 0 to 1; a superseded one held until the day `until`."""

    path: Path
    line: int
    text: str
    category: str = ""
    date: str = ""
    source: str = ""
    importance: float | None = None
    superseded: bool = False
    until: str = ""


def notes_in(path: Path) -> list[Note]:
    """The notes of one file, superseded ones too."""
    return [note for _, note in pairs_in(path)]


def find(text: str, notes: Iterable[Note]) -> Sequence[Note]:
    """Those of the notes that path:line, a text, or all of its words mean."""
    known = [*notes]
    wanted = " ".join(text.split())
    if place := _PLACE.fullmatch(wanted):
        tail = Path(place["path"]).parts
        return [
            note
            for note in known
            if note.line == int(place["line"]) and note.path.parts[-len(tail) :] == tail
        ]
    words = set(re.findall(r"\w+", wanted.casefold()))
    exact = [note for note in known if _plain(note.text) == _plain(wanted)]
    found = exact or [
        note for note in known if words and words <= set(re.findall(r"\w+", note.text.casefold()))
    ]
    return [note for note in found if not note.superseded] or found


def _plain(text: str) -> str:
    return text.casefold().strip(" .")


def pairs_in(path: Path) -> list[tuple[Entry, Note]]:
    """The entries of a file, each with the note that it is."""
    return pairs_of(text_of(path), path)


def pairs_of(text: str, path: Path) -> list[tuple[Entry, Note]]:
    """The entries of a text that stands in the file `path`, each with the note that it is."""
    from openclaw.memory.category import guess_category

    daily = DAILY.fullmatch(path.name)
    pairs = []
    for entry in entries_of(text):
        meta = entry.meta
        note = Note(
            path,
            entry.at + 1,
            entry.text,
            meta.category or guess_category(entry.text),
            meta.date or (daily[1] if daily else ""),
            meta.source,
            meta.importance,
            entry.superseded,
            entry.until,
        )
        pairs.append((entry, note))
    return pairs


def entry_of(text: str, note: Note) -> Entry:
    """The note's entry in the text as it is now. Raises ToolProblem when it is not there."""
    for entry in entries_of(text):
        if (entry.at + 1, entry.text) == (note.line, note.text):
            return entry
    raise ToolProblem(f"{note.path.name}:{note.line} has changed; list them again.")
