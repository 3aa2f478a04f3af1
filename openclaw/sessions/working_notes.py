"""The working notes of a conversation, `<id>.notes.md`: what a summary of it must not lose.

A Markdown file that the program only appends to and any editor may change: what the user deleted
stays away, what he wrote or changed stays as it is, under whatever heading.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from openclaw.storage.text import read_text, write_text

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
MOST_FINDINGS = 60
MOST_LINES = 200
MOST_BYTES = 2_000_000
"""A larger file is left alone: it is no longer notes."""
SUFFIX = ".notes.md"
FIRST, LATEST = "First: ", "Latest: "

_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.*)")
_ITEM = re.compile(r" {0,3}[-*+][ \t]+(.*\S)")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_WORD = re.compile(r"\w+(?:[./:@_-]+\w+)*")
_FILLER_WORDS = frozenset("a an the so and also well ok okay please just now then i".split())
_SAYS = re.compile(r"\s(?:is|are|was|will be|=|ist|sind|est|sont|es|son)\s|\s?[:=]\s")


def notes_path(sessions: Path, session_id: str) -> Path:
    """Where the notes of a session stand, in the sessions folder."""
    return sessions / f"{session_id}{SUFFIX}"


@dataclass(slots=True)
class Section:
    """A heading as it stands in the file ("" for what is above the first) and the lines below."""

    name: str
    heading: str = ""
    lines: list[str] = field(default_factory=list)

    def items(self) -> list[str]:
        """The list items, without their bullets; a continued one is its first line."""
        return [found[1] for line in self.lines if (found := _ITEM.match(line))]


class WorkingNotes:
    """The notes of one conversation. `read` never fails; `add` changes what was read, `save` writes
    it when something changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.exists = False
        self._sections = [Section("")]
        self._changed = False
        self._too_large = False

    @classmethod
    def read(cls, path: Path) -> WorkingNotes:
        """The notes in a file; empty when it is missing, as far as it goes when it is damaged."""
        notes = cls(path)
        try:
            notes._too_large = path.stat().st_size > MOST_BYTES
            text = read_text(path, MOST_BYTES)
        except (OSError, ValueError):
            return notes
        notes.exists = bool(text.strip())
        if notes.exists:
            notes._sections = _sections(text)
        return notes

    @property
    def sections(self) -> dict[str, list[str]]:
        """The items under each of the known headings, in their order."""
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
        """Append what a turn brought; whether that changed anything.

        `previous` is the request before this one, None in the first turn or when it is not known:
        where the notes hold another as the latest, the user has written it, and it stays.
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

    def save(self) -> bool:
        """Write the file if something was added to it; whether it was. Raises OpenclawError when
        it cannot be written."""
        if not self._changed or self._too_large:
            return False
        write_text(self.path, self.text())
        self._changed, self.exists = False, True
        return True

    def text(self) -> str:
        """The notes as they stand in the file."""
        lines: list[str] = []
        for section in self._sections:
            lines += [section.heading] if section.heading else []
            lines += section.lines
        return "\n".join(lines)

    def brief(
        self, tokens: int, count: Callable[[str], int], lasting: Callable[[str], object] = bool
    ) -> str:
        """The notes for a prompt in at most so many tokens, the most telling first; "" when there
        are none or nothing fits. `count` tells the tokens of a line, `lasting` whether a fact is
        one that holds for long: such facts stay when not all of them fit."""
        known = self.sections
        own = [
            (section.heading.strip(), [line for line in section.lines if line.strip()])
            for section in self._sections
            if section.heading and not _known_heading(section.name)
        ]
        place = f"{self.path.parent.name}/{self.path.name}"
        return _format_brief(known, own, tokens, count, place, lasting)

    def essential(self) -> tuple[str, ...]:
        """What a summary must not lose: the decisions and facts."""
        return tuple(self._lines(FACTS))

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
        lines = section.items()
        if any(line in (LATEST + request, FIRST + request) for line in lines[-1:]):
            return
        ours = None if previous is None else LATEST + _one_line(previous)
        last = lines[-1] if lines else ""
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
        """Whether a later line says something else of the same subject, so that `item`, said again,
        has to stand below it."""
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
        most = MOST_FINDINGS if heading == FINDINGS else MOST_LINES
        if heading == FACTS:  # of these the ones without an exact string go first
            items.sort(key=_has_exact_string)
        for old in items[: max(len(items) - most, 0)]:
            self._drop_anywhere(heading, old)

    def _section(self, name: str) -> Section:
        """The section of a known heading, made in its place when there is none."""
        for section in self._sections:
            if _known_heading(section.name) == name:
                return section
        if not self.exists and len(self._sections) == 1 and not self._sections[0].lines:
            self._sections[0].lines = [ABOUT, ""]
        made = Section(name, f"## {name}", ["", ""])
        before = HEADINGS[HEADINGS.index(name) + 1 :]
        at = next(
            (n for n, s in enumerate(self._sections) if _known_heading(s.name) in before), None
        )
        if at is None:
            last = self._sections[-1].lines
            if last and last[-1].strip():
                last.append("")  # the file does not end in a line feed
            self._sections.append(made)
        else:
            self._sections.insert(at, made)
        return made

    def _insert(self, section: Section, item: str) -> None:
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

    def _drop(self, section: Section, item: str) -> bool:
        for number, line in enumerate(section.lines):
            found = _ITEM.match(line)
            if found and found[1] == item:
                del section.lines[number]
                self._changed = True
                return True
        return False


def _sections(text: str) -> list[Section]:
    """The sections of a file. Headings inside of fenced code are none."""
    sections = [Section("")]
    fenced = False
    for line in text.split("\n"):
        plain = line.removesuffix("\r")
        if _FENCE.match(plain):
            fenced = not fenced
        heading = None if fenced else _HEADING.match(plain)
        if heading:
            sections.append(Section(heading[1].strip("# \t"), line))
        else:
            sections[-1].lines.append(line)
    return sections


def _known_heading(name: str) -> str:
    """The known heading that a heading is, whatever its case; "" for others."""
    folded = name.casefold().rstrip(":")
    return next((known for known in HEADINGS if known.casefold() == folded), "")


def _one_line(text: str) -> str:
    return " ".join(text.split())


@lru_cache(maxsize=2048)
def _comparison_key(text: str) -> str:
    """What two lines that say the same have in common: the words without the empty ones."""
    words = _WORD.findall(text.casefold())
    return " ".join(word for word in words if word not in _FILLER_WORDS) or text.strip()


def _subject_of(text: str) -> str:
    """What a line speaks of: the words before "is", without the empty ones; "" when it has none."""
    found = _SAYS.search(text)
    return _comparison_key(text[: found.start()]) if found and found.start() else ""


Count = Callable[[str], int]

_EXACT = re.compile(r"\d|[/@`\"_\u201c\u201e]|[a-z][A-Z]|(?<=[a-z,] )[A-Z][a-z]")
"""Roughly: a line that has a number, a path, a quoted word or a name in it."""
_NEWEST_FIRST = ("To-dos", "Files", "Findings")
_BY_WORTH = ("Open questions", *_NEWEST_FIRST)
_LEFT_OUT_TOKENS = 32
"""Kept free for the line that says what is left out."""


def _has_exact_string(line: str) -> bool:
    """Whether a line has an exact string in it."""
    return bool(_EXACT.search(line))


def _format_brief(
    sections: Mapping[str, Sequence[str]],
    own: Sequence[tuple[str, Sequence[str]]],
    tokens: int,
    count: Count,
    place: str,
    lasting: Callable[[str], object] = bool,
) -> str:
    """The notes in at most so many tokens. `own` are headings and lines that the user has added;
    `place` says where the notes stand whole.

    The goal comes first, then what the user has written under headings of his own, then decisions
    and facts before anything else. When these do not fit,
    the lasting ones stay, then those with an exact string in them, the newest first.
    """
    blocks: list[str] = []
    left = _add_block(
        blocks, "## Goal", _bullets(sections["Goal"]), tokens, count, most_first=False
    )
    for heading, lines in own:
        left = _add_block(blocks, heading, lines, left, count, most_first=False)
    facts = _bullets(sections["Decisions and facts"])
    left, whole = _add_facts(blocks, facts, left, count, place, lasting)
    if whole:
        for name in _BY_WORTH:
            newest = name in _NEWEST_FIRST
            lines = _bullets(sections[name])
            left = _add_block(blocks, f"## {name}", lines, left, count, most_first=newest)
    return "\n".join(blocks)


def _bullets(lines: Sequence[str]) -> list[str]:
    return [f"- {line}" for line in lines]


def _add_block(
    blocks: list[str],
    heading: str,
    lines: Sequence[str],
    left: int,
    count: Count,
    *,
    most_first: bool,
) -> int:
    """Add as many lines as fit below their heading, in their order; the tokens that are left. With
    `most_first` the last lines are the ones that count most."""
    if not lines:
        return left
    cost = count(heading + "\n")
    kept: set[int] = set()
    for number in range(len(lines) - 1, -1, -1) if most_first else range(len(lines)):
        if (size := count(lines[number] + "\n")) > left - cost:
            break
        cost += size
        kept.add(number)
    if not kept:
        return left
    blocks.append("\n".join((heading, *(lines[number] for number in sorted(kept)))))
    return left - cost


def _add_facts(
    blocks: list[str],
    facts: Sequence[str],
    left: int,
    count: Count,
    place: str,
    lasting: Callable[[str], object],
) -> tuple[int, bool]:
    """Add the decisions and facts; the tokens that are left, and whether all of them fitted."""
    heading = "## Decisions and facts"
    sizes = [count(line + "\n") for line in facts]
    needed = count(heading + "\n") + sum(sizes) if facts else 0
    if needed <= left:
        if facts:
            blocks.append("\n".join((heading, *facts)))
        return left - needed, True
    room = left - count(heading + "\n") - _LEFT_OUT_TOKENS
    worth = [(not lasting(line[2:]), not _has_exact_string(line)) for line in facts]
    newest = sorted(range(len(facts)), key=lambda number: (*worth[number], -number))
    kept: list[int] = []
    for number in newest:
        if sizes[number] <= room:
            room -= sizes[number]
            kept.append(number)
    if kept:
        more = f"({len(facts) - len(kept)} more stand in {place})"
        blocks.append("\n".join((heading, *(facts[number] for number in sorted(kept)), more)))
    return 0, False
