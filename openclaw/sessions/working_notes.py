"""The working notes of a conversation, `<id>.notes.md`: facts that a summary must not lose.

The notes are a Markdown file. The program only appends to it, the user may edit it: deleted lines
stay away, and lines that the user wrote or changed stay as they are, under any heading.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import neg
from pathlib import Path
from typing import Any

from openclaw.storage.safe_open import read_text
from openclaw.storage.text import write_text

ABOUT = (
    "Working notes of this conversation, kept by openclaw. You may edit or delete any line; what "
    "stands here is what the agent goes by when older messages are left out."
)
GOAL = "Goal"
FACTS = "Decisions and facts"
FINDINGS = "Findings"
FILES = "Files"
TODOS = "To-dos"
QUESTIONS = "Open questions"
HEADINGS = (GOAL, FACTS, FINDINGS, FILES, TODOS, QUESTIONS)
MAX_FINDINGS = 60
MAX_LINES = 200
MAX_BYTES = 2_000_000  # a larger file is not changed: these are no notes
Count = Callable[[str], int]  # counts the tokens of a line
FIRST, LATEST = "First: ", "Latest: "

_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.*)")
_ITEM = re.compile(r" {0,3}[-*+][ \t]+(.*\S)")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_WORD = re.compile(r"\w+(?:[./:@_-]+\w+)*")
_FILLER_WORDS = frozenset("a an the so and also well ok okay please just now then i".split())
_SAYS = re.compile(r"\s(?:is|are|was|will be|=|ist|sind|est|sont|es|son)\s|\s?[:=]\s")


@dataclass(slots=True)
class NotesSection:
    """A heading of the file and the lines below it."""

    name: str
    heading: str = ""  # the whole line of the heading; "" for the lines above the first one
    lines: list[str] = field(default_factory=list)

    def items(self) -> list[str]:
        """Return the list items without their bullets; of a longer one the first line."""
        return [found[1] for line in self.lines if (found := _ITEM.match(line))]


class WorkingNotes:
    """The notes of one conversation. `read` never fails, `add` changes them in memory, `save`
    writes them when something changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.exists = False
        self._sections = [NotesSection("")]
        self._changed = False
        self._too_large = False

    @classmethod
    def read(cls, path: Path) -> WorkingNotes:
        """Read notes from a file: none when it is missing, the readable part when it is damaged."""
        notes = cls(path)
        try:
            notes._too_large = path.stat().st_size > MAX_BYTES
            text = read_text(path, MAX_BYTES)
        except (OSError, ValueError):
            return notes
        notes.exists = bool(text.strip())
        if notes.exists:
            notes._sections = _sections(text)
        return notes

    @property
    def sections(self) -> dict[str, list[str]]:
        """The items under each known heading, in order."""
        return {name: self._lines(name) for name in HEADINGS}

    def add(
        self,
        request: str = "",
        facts: Sequence[str] = (),
        findings: Sequence[str] = (),
        files: Sequence[str] = (),
        todos: Sequence[str] = (),
        questions: Sequence[str] = (),
        previous: str | None = None,
    ) -> bool:
        """Append the results of a turn; returns True when the notes have changed.

        `previous` is the request before this one, None in the first turn or when it is unknown. If
        the notes have another latest request, the user wrote it, and it stays.
        """
        self._set_goal(_one_line(request), previous)
        for heading, lines in (
            (FACTS, facts),
            (QUESTIONS, questions),
            (TODOS, todos),
            (FINDINGS, findings),
            (FILES, files),
        ):
            self._append(heading, map(_one_line, lines))
        return self._changed

    def save(self) -> None:
        """Write the file if something was added. OpenclawError when it cannot be written."""
        if self._changed and not self._too_large:
            write_text(self.path, self.text())
            self._changed, self.exists = False, True

    def text(self) -> str:
        lines: list[str] = []
        for section in self._sections:
            lines += [section.heading] if section.heading else []
            lines += section.lines
        return "\n".join(lines)

    def brief(self, tokens: int, count: Count, lasting: Callable[[str], object] = bool) -> str:
        """Return the notes for a prompt in at most `tokens` tokens; "" when nothing fits.

        The goal comes first, then the user's own headings, then decisions and facts, then the rest.
        If not all facts fit, the lasting ones are kept first, then those with an exact string, the
        newest first; the rest is then left out. `lasting` tells whether a fact holds for long.
        """
        brief, known = _Brief(tokens, count), self.sections
        brief.add(f"## {GOAL}", _bullets(known[GOAL]))
        for section in self._sections:
            if section.heading and not _known_heading(section.name):
                lines = [line for line in section.lines if line.strip()]
                brief.add(section.heading.strip(), lines)
        facts = _bullets(known[FACTS])

        def worth(number: int) -> tuple[bool, bool, int]:
            line = facts[number]
            return not lasting(line[2:]), not _has_exact_string(line), -number

        place = f"{self.path.parent.name}/{self.path.name}"
        if brief.add(f"## {FACTS}", facts, worth, place):
            for name in _BY_WORTH:
                brief.add(f"## {name}", _bullets(known[name]), neg if name != QUESTIONS else None)
        return "\n".join(brief.blocks)

    def _lines(self, name: str) -> list[str]:
        return [i for s in self._sections if _known_heading(s.name) == name for i in s.items()]

    def _set_goal(self, request: str, previous: str | None) -> None:
        if not request:
            return
        fresh = not self.exists and previous is None and not self._lines(GOAL)
        section = self._section(GOAL)
        if fresh:
            self._insert(section, FIRST + request)
            return
        last = (section.items() or [""])[-1]
        if last in (LATEST + request, FIRST + request):
            return
        ours = None if previous is None else LATEST + _one_line(previous)
        if last.startswith(LATEST) and (ours is None or last == ours):
            self._drop(section, last)
        self._insert(section, LATEST + request)

    def _append(self, heading: str, lines: Iterable[str]) -> None:
        new = [line for line in lines if line]
        if not new:
            return
        section = self._section(heading)
        kept = {_comparison_key(item): item for item in self._lines(heading)}
        for line in new:
            old = kept.pop(_comparison_key(line), None)
            if old is not None and not self._is_outdated(heading, old):
                kept[_comparison_key(line)] = old
                continue
            if old is not None:
                self._drop_anywhere(heading, old)
            if heading == FILES:
                self._drop_other_actions(heading, line)
            self._insert(section, line)
            kept[_comparison_key(line)] = line
        self._limit(heading)

    def _is_outdated(self, heading: str, item: str) -> bool:
        """Return True when a later line says something else of the same subject. `item`, if said
        again, must then move below it."""
        lines = self._lines(heading)
        later = lines[len(lines) - lines[::-1].index(item) :]
        subject = _subject_of(item)
        return bool(subject) and any(_subject_of(line) == subject for line in later)

    def _drop_other_actions(self, heading: str, line: str) -> None:
        path = line.rpartition(" ")[0]
        for old in self._lines(heading):
            if old != line and old.rpartition(" ")[0] == path:
                self._drop_anywhere(heading, old)

    def _limit(self, heading: str) -> None:
        items = self._lines(heading)
        most = MAX_FINDINGS if heading == FINDINGS else MAX_LINES
        if heading == FACTS:  # facts without an exact string are dropped first
            items.sort(key=_has_exact_string)
        for old in items[: max(len(items) - most, 0)]:
            self._drop_anywhere(heading, old)

    def _section(self, name: str) -> NotesSection:
        """Return the section of a known heading, and insert it in its place when it is missing."""
        for section in self._sections:
            if _known_heading(section.name) == name:
                return section
        if not self.exists and len(self._sections) == 1 and not self._sections[0].lines:
            self._sections[0].lines = [ABOUT, ""]
        made = NotesSection(name, f"## {name}", ["", ""])
        before = HEADINGS[HEADINGS.index(name) + 1 :]
        end = len(self._sections)
        at = next(
            (n for n, s in enumerate(self._sections) if _known_heading(s.name) in before), end
        )
        last = self._sections[-1].lines
        if at == end and last and last[-1].strip():
            last.append("")  # the file does not end in a line feed
        self._sections.insert(at, made)
        return made

    def _insert(self, section: NotesSection, item: str) -> None:
        at = len(section.lines)
        while at and not section.lines[at - 1].strip():
            at -= 1
        if not at and section.lines:
            at = 1
        section.lines.insert(at, f"- {item}")
        if at + 1 == len(section.lines):
            section.lines.append("")
        self._changed = True

    def _drop_anywhere(self, heading: str, item: str) -> None:
        for section in self._sections:
            if _known_heading(section.name) == heading and self._drop(section, item):
                return

    def _drop(self, section: NotesSection, item: str) -> bool:
        for number, line in enumerate(section.lines):
            found = _ITEM.match(line)
            if found and found[1] == item:
                del section.lines[number]
                self._changed = True
                return True
        return False


def _sections(text: str) -> list[NotesSection]:
    """Split a file into sections. Lines of fenced code are no headings."""
    sections = [NotesSection("")]
    fenced = False
    for line in text.split("\n"):
        plain = line.removesuffix("\r")
        if _FENCE.match(plain):
            fenced = not fenced
        heading = None if fenced else _HEADING.match(plain)
        if heading:
            sections.append(NotesSection(heading[1].strip("# \t"), line))
        else:
            sections[-1].lines.append(line)
    return sections


def _known_heading(name: str) -> str:
    """Return the known heading of that name, whatever its case; "" for others."""
    folded = name.casefold().rstrip(":")
    return next((known for known in HEADINGS if known.casefold() == folded), "")


def _one_line(text: str) -> str:
    return " ".join(text.split())


@lru_cache(maxsize=2048)
def _comparison_key(text: str) -> str:
    """Return the words of a line without filler words: lines that say the same share this key."""
    words = _WORD.findall(text.casefold())
    return " ".join(word for word in words if word not in _FILLER_WORDS) or text.strip()


def _subject_of(text: str) -> str:
    """Return the subject of a line: the words before "is" without filler words; "" for none."""
    found = _SAYS.search(text)
    return _comparison_key(text[: found.start()]) if found and found.start() else ""


_EXACT = re.compile(r"\d|[/@`\"_\u201c\u201e]|[a-z][A-Z]|(?<=[a-z,] )[A-Z][a-z]")
"""Finds, roughly, a number, a path, a quoted word or a name."""
_BY_WORTH = (QUESTIONS, TODOS, FILES, FINDINGS)
_LEFT_OUT_TOKENS = 32  # reserved for the line that says how many facts are left out


def _has_exact_string(line: str) -> bool:
    return bool(_EXACT.search(line))


def _bullets(lines: Sequence[str]) -> list[str]:
    return [f"- {line}" for line in lines]


@dataclass(slots=True)
class _Brief:
    """The notes for a prompt: the blocks so far, and the tokens that are left for more."""

    left: int
    count: Count
    blocks: list[str] = field(default_factory=list)

    def add(
        self,
        heading: str,
        lines: Sequence[str],
        worth: Callable[[int], Any] | None = None,
        place: str = "",
    ) -> bool:
        """Add a heading and the lines that fit, in order; returns True when all do. Else the lines
        of the lowest `worth`, which is told their number, are kept first, and a line says how many
        more stand in `place`."""
        sizes = [self.count(line + "\n") for line in lines]
        room = self.left - self.count(heading + "\n")
        kept = [*range(len(lines))]
        if sum(sizes) > room:
            rest = room - (_LEFT_OUT_TOKENS if place else 0)
            kept = []
            for number in sorted(range(len(lines)), key=worth):
                if sizes[number] <= rest:
                    rest -= sizes[number]
                    kept.append(number)
        left_out = len(lines) - len(kept)
        if kept:
            more = [f"({left_out} more stand in {place})"] if left_out and place else []
            self.blocks.append("\n".join((heading, *(lines[n] for n in sorted(kept)), *more)))
            self.left = room - sum(sizes[number] for number in kept)
        return not left_out
