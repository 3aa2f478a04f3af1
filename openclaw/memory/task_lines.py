"""Reads the task lines of Markdown ("- [ ] Buy milk ^1a2b3c4d") and gives them ids."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from datetime import date

from openclaw.frozen import frozen
from openclaw.memory.markdown import Page, Section, read_page
from openclaw.storage.text import join_surrogates

_BOX = re.compile(r"\[(?P<mark>[ xX])\][ \t]+(?P<text>\S.*)")
_ID = re.compile(r"(?:^|(?<![ \t])[ \t]+)\^(?P<id>[A-Za-z0-9-]+)$")
DUE = (
    r"(?<![\w:-])(?:(?P<opens>\(due:? ?|@due\()|due:|\U0001f4c5\ufe0f? ?)"
    r"(?P<due>\d{4}-\d{2}-\d{2})(?![\w-])(?(opens)\))"
)
"""The date of a to-do: `due:2026-12-01`, or as other programs and people write it: "(due
2026-12-01)", "@due(2026-12-01)" (TaskPaper), "\U0001f4c5 2026-12-01" (Obsidian Tasks)."""
_DUE = re.compile(DUE)


@frozen
class Todo:
    """A task line.

    at: index of the line in the page
    indent: in columns
    text: as written, with `due:...` and without the id
    given: the id stands in the text; else it is computed, and is the same while the text is
    """

    at: int
    indent: int
    bullet: str
    done: bool
    text: str
    id: str
    given: bool
    list: str

    @property
    def line(self) -> int:
        """The number of its line, from 1."""
        return self.at + 1

    @property
    def due(self) -> str | None:
        """Its date, None without one or for no real date."""
        return due_of(self.text)


@dataclass(slots=True)
class TaskPage(Page):
    """A page with its task lines."""

    items: list[Todo] = field(default_factory=list)

    def items_of(self, section: Section) -> list[Todo]:
        return [item for item in self.items if section.start <= item.at < section.end]


def read_task_page(text: str) -> TaskPage:
    """Find the task lines and sections of a Markdown text."""
    page = read_page(text)
    tasks = [
        (bullet, box)
        for bullet in page.bullets
        if (box := _BOX.match(page.lines[bullet.at].rstrip(" \t\r\n"), bullet.start))
    ]
    taken = {found["id"].casefold() for _, box in tasks if (found := _ID.search(box["text"]))}
    items, used = [], set()
    starts = [section.start for section in page.sections]
    made: Counter[tuple[str, str]] = Counter()
    for bullet, box in tasks:
        name = join_surrogates(page.sections[bisect_right(starts, bullet.at) - 1].name)
        found = _ID.search(box["text"])
        given = found is not None and found["id"].casefold() not in used
        text = join_surrogates(box["text"][: found.start()] if found else box["text"])
        if found and given:
            ident = found["id"]
        else:
            ident = new_id(name, text, taken, made[name, text])
            made[name, text] += 1
        used.add(ident.casefold())
        taken.add(ident)
        done = box["mark"] != " "
        items.append(Todo(bullet.at, bullet.indent, bullet.mark, done, text, ident, given, name))
    return TaskPage(page.lines, page.bullets, page.sections, page.opaque, page.open_at, items)


def new_id(list_name: str, text: str, taken: set[str], had: int = 0) -> str:
    """Compute an id of eight hex digits from list and text that is not among `taken`.

    `had` counts the ids of the same text in `taken`; so many tries are skipped.
    """
    for count in range(had, had + len(taken) + 1):
        seed = f"{list_name}\n{text}\n{count}".encode("utf-8", "surrogatepass")
        ident = hashlib.md5(seed, usedforsecurity=False).hexdigest()[:8]
        if ident not in taken:
            return ident
    raise AssertionError("more ids than to-dos")


def due_of(text: str) -> str | None:
    """The date of a to-do's text as in `DUE`, None without one or for no real date."""
    found = _DUE.search(text)
    if found is None:
        return None
    try:
        return date.fromisoformat(found["due"]).isoformat()
    except ValueError:
        return None


def without_due(text: str) -> str:
    """A to-do's text without the date that `due_of` finds."""
    return _DUE.sub("", text, count=1).strip() if due_of(text) else text


def write_ids(page: TaskPage) -> None:
    for item in page.items:
        if not item.given:
            line = page.lines[item.at]
            bare = line.rstrip(" \t\r\n")
            page.lines[item.at] = f"{_ID.sub('', bare)} ^{item.id}{line[len(bare) :]}"
