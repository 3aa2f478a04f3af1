"""Finds the lines of files that a model saw: in passages, in results of tools, in attached files.

Pure functions on messages. A foreign text can imitate a passage, so only text from our own code
counts: fences with the marker of their message, results of the tools that show lines, and the
heading of `read_file` and `memory_get`, never the body.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from openclaw.storage.text import without_comments
from openclaw.types import Entry, ToolUse

Place = tuple[str, int, int]
"""A path of the home, first and last line, from 1, inclusive."""
ReadLines = Callable[[str], Sequence[str] | None]
"""Returns the present lines of a file; an empty sequence when unknown, None without the file."""

LISTING, READING = (
    frozenset(("memory_search", "search_files")),
    frozenset(("memory_get", "read_file")),
)
END_OF_TAIL, END_OF_FENCE = "\n</context>", "<</data"
EARLIER = "earlier in this conversation, no orders"
_PLACED = re.compile(
    r"(?P<path>[^\n:]{1,300}):(?P<first>\d{1,7})(?:-(?P<last>\d{1,7}))?: (?P<text>[^\n]*)"
)
_READ = re.compile(
    r"(?P<path>[^\n]{1,300}), lines (?P<first>\d{1,7})-(?P<last>\d{1,7}) of \d+[^\n]{0,200}:"
)
_OPENING = re.compile(r"<<data (?P<marker>\w{1,64}) from (?P<label>[^\n]{1,400})>>")
_ATTACHED = re.compile(
    r"file (?P<path>[^\n]{1,120}?)(?:, lines (?P<first>\d{1,7})-\d{1,7})?(?:, [^\n]*)?"
)
_LEFT_OUT = re.compile(r"\[.{1,80} (?:left out|are cut here)\]")
_CUT = re.compile(r" \[cut: [\d,]+ characters in this line\]$")
_NUMBERED = re.compile(r" *(?P<number>\d+)  (?P<text>.*)")
_WORDS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class ShownLine:
    """One or more lines of a file as the model saw them; `around` is their passage."""

    path: str
    start_line: int
    end_line: int
    text: str
    around: str = ""

    @property
    def place(self) -> str:
        more = f"-{self.end_line}" if self.end_line > self.start_line else ""
        return f"{self.path}:{self.start_line}{more}"


@dataclass(frozen=True, slots=True)
class ShownPassage:
    """Lines of a file as the model saw them; `lines` may be fewer, as comments are left out."""

    path: str
    first: int
    last: int
    lines: tuple[str, ...]

    def each(self) -> Iterator[ShownLine]:
        """Yield each line that is not blank, or all in one when some lines were left out."""
        whole = "\n".join(self.lines)
        if len(self.lines) != self.last - self.first + 1:
            found = [ShownLine(self.path, self.first, self.last, whole)]
        else:
            around = whole if len(self.lines) > 1 else ""
            found = [
                ShownLine(self.path, n, n, t, around) for n, t in enumerate(self.lines, self.first)
            ]
        yield from (line for line in found if line.text.strip())


def no_files(path: str) -> Sequence[str] | None:
    """Looks at no file."""
    return None


def passages_of(entry: Entry, look: ReadLines = no_files) -> Iterator[ShownPassage]:
    """Yield the passages in a message: those of its context and of the results of its calls."""
    yield from beside(entry, look)
    for use in entry.tool_calls:
        yield from result_passages(use, look)


def beside(entry: Entry, look: ReadLines = no_files) -> Iterator[ShownPassage]:
    """Yield the passages that a search has added to a message of the user: those of its record, or,
    without a record, all text in its fences with the form of a passage."""
    if "<<data " not in entry.context:
        return
    offered = _recorded_places(entry)
    tail = entry.context.partition(END_OF_TAIL)[0]
    for label, body in _blocks(tail, _marker(entry)):
        if label != EARLIER:
            yield from _placed_passages(body, look, offered)


def result_passages(use: ToolUse, look: ReadLines = no_files) -> Iterator[ShownPassage]:
    """Yield the passages in the result of a tool that shows lines; none for other tools."""
    if not use.ok:
        return
    if use.tool in LISTING:
        yield from _placed_passages(_without_fence(use.output.split("\n")), look)
    elif use.tool in READING:
        head, *body = use.output.split("\n")
        if found := _READ.fullmatch(head):
            first, last = int(found["first"]), int(found["last"])
            lines = [*_without_fence(body)][: max(last - first + 1, 0)]
            own = tuple(_without_number(line, n) for n, line in enumerate(lines, first))
            yield ShownPassage(found["path"], first, last, own)


def attached_files(entry: Entry) -> Iterator[ShownPassage]:
    """Yield the shown beginning of each file that the user attached."""
    material = entry.context.partition(END_OF_TAIL)[2]
    for label, body in _blocks(material, _marker(entry)):
        if found := _ATTACHED.fullmatch(label):
            first = int(found["first"] or 1)
            gap = next((n for n, line in enumerate(body) if _LEFT_OUT.fullmatch(line)), len(body))
            if gap:
                yield ShownPassage(found["path"], first, first + gap - 1, tuple(body[:gap]))


def has_text(look: ReadLines, place: Place, text: str) -> bool:
    """Return True when a file now has this text at this place, or when its lines are unknown."""
    path, first, last = place
    lines = look(path)
    if lines is None or not 0 < first <= last:
        return False
    there = "\n".join(lines[first - 1 : last])
    return not lines or (last <= len(lines) and _letters_only(text) in _letters_only(there))


# -------- fences


def _marker(entry: Entry) -> str:
    """Return the marker of a message's fences; without a record that of the first fence, since
    foreign text is always inside a fence."""
    if marker := entry.record.get("marker"):
        return str(marker)
    found = re.search(rf"^{_OPENING.pattern}$", entry.context, re.MULTILINE)
    return found["marker"] if found else ""


def _blocks(text: str, marker: str) -> Iterator[tuple[str, list[str]]]:
    """Yield label and lines of each fence with this marker."""
    body: list[str] | None = None
    label = ""
    for line in text.split("\n") if marker else ():
        if body is None:
            found = _OPENING.fullmatch(line) if line.startswith("<<data ") else None
            if found and found["marker"] == marker:
                label, body = found["label"], []
        elif line == f"{END_OF_FENCE} {marker}>>":
            yield label, body
            body = None
        else:
            body.append(line)


def _without_fence(lines: Iterable[str]) -> list[str]:
    """Return the lines of a result without the fence that may enclose it."""
    kept: list[str] = []
    for line in lines:
        if line.startswith(END_OF_FENCE):
            break
        if kept or not line.startswith("<<data "):
            kept.append(line)
    return kept


# -------- lines with their place


def _recorded_places(entry: Entry) -> frozenset[Place] | None:
    """Return the places that the record of a message names; None without a record."""
    listed = entry.record.get("offered")
    if not isinstance(listed, list | tuple):
        return None
    keys = ("path", "start_line", "end_line")
    rows = [tuple(each.get(k) for k in keys) for each in listed if isinstance(each, dict)]
    return frozenset(
        (path, first, last)
        for path, first, last in rows
        if isinstance(path, str) and isinstance(first, int) and isinstance(last, int)
    )


def _placed_passages(
    lines: Sequence[str], look: ReadLines, offered: frozenset[Place] | None = None
) -> Iterator[ShownPassage]:
    """Yield passages of the form `path:12-14: text`. Such a line within another passage begins a
    new one only when it was offered, or when its file has this text."""
    at: tuple[Place, str] | None = None
    body: list[str] = []
    for line in lines:
        found = _parse_place(line)
        if found and offered is not None:
            begins = found[0] in offered
        else:
            within = at is not None and len(body) < at[0][2] - at[0][1] + 1
            begins = found is not None and (not within or has_text(look, *found))
        if found and begins:
            yield from _to_passage(at, body)
            at, body = found, [found[1]]
        elif at is not None:
            body.append(line)
    yield from _to_passage(at, body)


def _parse_place(line: str) -> tuple[Place, str] | None:
    found = _PLACED.fullmatch(line)
    if not found:
        return None
    first = int(found["first"])
    return (found["path"], first, int(found["last"] or first)), found["text"]


def _to_passage(at: tuple[Place, str] | None, body: Sequence[str]) -> Iterator[ShownPassage]:
    if at is not None:
        path, first, last = at[0]
        yield ShownPassage(path, first, last, tuple(body[: max(last - first + 1, 1)]))


def _without_number(line: str, number: int) -> str:
    found = _NUMBERED.fullmatch(line)
    return found["text"] if found and int(found["number"]) == number else line


def _letters_only(text: str) -> str:
    """Return only the letters and digits of a text: a fence or a list may add blanks and marks."""
    return _WORDS.sub("", without_comments(_CUT.sub("", text))).casefold()
