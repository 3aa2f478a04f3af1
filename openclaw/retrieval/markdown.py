"""Markdown (and text that looks like it) as units: items, paragraphs, tables, code, front matter.

One pass over the lines; what begins at a line is told by its first character. Not a renderer: a
construct that is read wrongly costs a worse chunk, never a lost line.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from openclaw.retrieval.units import WINDOW_BYTES, Unit, bare, day_in, read

_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)(.*)")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_FENCE = re.compile(r"[ \t]*(`{3,}+(?!.*`)|~{3,})")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_RST_UNDERLINE = re.compile(r"([=\-~^\"'#*+.`:_])\1{2,}[ \t]*$")
_TABLE_RULE = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?$")
_TITLE = re.compile(r"(?:title|name):[ \t]*[\"']?(.*?)[\"']?[ \t]*$")
_FRONT_LINES = 200
_WRAP = 60  # columns: nobody wraps prose narrower than this
_WIDE = 120  # columns: nor wider than this


def scan(lines: list[str], plain: bool = False) -> list[Unit]:
    """The units of Markdown lines in their order; `plain`: text without Markdown's code rules."""
    return _Scanner(lines, plain).scan()


class _Scanner:
    """Where the pass stands: the next line, the headings above it, the list items around it."""

    def __init__(self, lines: list[str], plain: bool) -> None:
        self.lines, self.plain = lines, plain
        self.at = 0
        self.units: list[Unit] = []
        self._title = ""
        self._headings: list[tuple[int, str]] = []
        self._above: tuple[str, ...] = ()
        self._items: list[tuple[int, str]] = []
        self._unclosed: set[str] = set()
        self._begins: dict[str, Callable[[str], bool]] = {
            "#": self._heading,
            "`": self._fence,
            "~": self._fence,
            "<": self._comment,
            **dict.fromkeys("-*+0123456789_", self._item_or_rule),
        }

    def scan(self) -> list[Unit]:
        if not self.plain:
            self._front_matter()
        lines, count = self.lines, len(self.lines)
        while self.at < count:
            line = lines[self.at]
            start = line.lstrip()
            if not start:
                self.at += 1
                continue
            begin = self._begins.get(start[0])
            if begin is not None and begin(line):
                continue
            if "|" in line and self._table():
                continue
            if line[0] in " \t" and not self.plain and self._indented(line):
                continue
            self._paragraph(line)
        return self.units

    def _add(self, end: int, said: str, alone: bool = False) -> None:
        """A block that stays as it is, from the current line to before `end`."""
        self.units.append(Unit(self.at, end - 1, said, self._above, alone=alone))
        self.at = end

    def _front_matter(self) -> None:
        if not self.lines or self.lines[0].rstrip() != "---":
            return
        for end in range(1, min(len(self.lines), _FRONT_LINES)):
            if self.lines[end].rstrip() in ("---", "..."):
                block = self.lines[1:end]
                if title := next((t for line in block if (t := _TITLE.match(line))), None):
                    self._title = title[1]
                    self._above = (title[1],) if title[1] else ()
                self._add(end + 1, "\n".join(block), not block)
                if day := next((line for line in block if line.startswith("date:")), ""):
                    self.units[-1].date = day_in(day)
                return

    def _heading(self, line: str) -> bool:
        found = _HEADING.match(line)
        if found is None:
            return False
        name = found[2].strip()
        before = name.rstrip("#")
        if not before or before[-1] in " \t":
            name = before
        self._begin_section(len(found[1]), bare(name), self.at + 1)
        return True

    def _begin_section(self, level: int, name: str, end: int) -> None:
        self._headings = [(at, old) for at, old in self._headings if at < level]
        self._items.clear()
        if name:
            self._headings.append((level, name))
        titles = [text for _, text in self._headings]
        first = [self._title] if self._title and self._title not in titles else []
        self._above = (*first, *titles)
        heading = Unit(self.at, end - 1, "", self._above, alone=True, heading=True)
        heading.date = day_in(name)
        self.units.append(heading)
        self.at = end

    def _fence(self, line: str) -> bool:
        found = _FENCE.match(line)
        if found is None or found[1][0] in self._unclosed:
            return False
        mark = found[1]
        for end in range(self.at + 1, len(self.lines)):
            bare_line = self.lines[end].strip()
            if bare_line.startswith(mark) and not bare_line.strip(mark[0]):
                said = "\n".join([line.strip().lstrip(mark[0]), *self.lines[self.at + 1 : end]])
                self._add(end + 1, said.strip("\n"))
                return True
        self._unclosed.add(mark[0])
        return False

    def _comment(self, line: str) -> bool:
        start = line.lstrip()
        if not start.startswith("<!--") or "<!--" in self._unclosed:
            return False
        end = self.at
        while "-->" not in (self.lines[end] if end > self.at else start[4:]):
            end += 1
            if end >= len(self.lines):
                self._unclosed.add("<!--")
                return False
        said = bare(self.lines[end].rpartition("-->")[2])
        self._add(end + 1, said, alone=not said)
        return True

    def _table(self) -> bool:
        if self.at + 1 >= len(self.lines) or "-" not in (rule := self.lines[self.at + 1]):
            return False
        if "|" not in rule or not _TABLE_RULE.match(rule.strip()):
            return False
        end = self.at + 2
        while end < len(self.lines) and self.lines[end].strip() and "|" in self.lines[end]:
            end += 1
        header = bare(self.lines[self.at].replace("|", " "))
        rows = [bare(row.replace("|", " ")) for row in self.lines[self.at + 2 : end]]
        self._add(end, "\n".join([header, *rows]))
        self.units[-1].header = header
        return True

    def _indented(self, line: str) -> bool:
        """Indented code: four columns more than the list around it."""
        inner = self._items[-1][0] + 2 if self._items else 0
        if _width(line) < inner + 4:
            return False
        end = last = self.at + 1
        while end < len(self.lines):
            text = self.lines[end]
            if text.strip():
                if _width(text) < inner + 4:
                    break
                last = end + 1
            end += 1
        self._add(last, "\n".join(self.lines[self.at : last]))
        return True

    def _item_or_rule(self, line: str) -> bool:
        if line.lstrip()[0] in "-*_" and _RULE.match(line):
            self._add(self.at + 1, "", alone=True)
            return True
        if not _ITEM.match(line):
            return False
        indent = _width(line)
        while self._items and self._items[-1][0] >= indent:
            self._items.pop()
        if indent >= 4 and not self._items and not self.plain:
            return False
        end = self.at + 1
        while end < len(self.lines) and self._goes_on(self.lines[end]):
            end += 1
        parent = self._items[-1][1] if self._items else ""
        unit = read(self.at, self.lines[self.at : end], self._above, parent)
        self._items.append((indent, "" if unit.struck else unit.said))
        self.units.append(unit)
        self.at = end
        return True

    def _goes_on(self, line: str) -> bool:
        """Whether a line continues the item or paragraph above it."""
        start = line.lstrip()
        if not start:
            return False
        if start[0] in "-*+0123456789":
            return not (_ITEM.match(line) or _RULE.match(line))
        if start[0] == "#":
            return not _HEADING.match(line)
        if start[0] in "`~":
            return not _FENCE.match(line)
        return not start.startswith("<!--")

    def _paragraph(self, line: str) -> None:
        if line[0] not in " \t":
            self._items.clear()
        end = self.at + 1
        while end < len(self.lines) and self._goes_on(self.lines[end]):
            if _underlines(self.lines[end], self.lines[end - 1], self.plain):
                break
            end += 1
        if end < len(self.lines) and _underlines(self.lines[end], self.lines[end - 1], self.plain):
            if end - 1 > self.at:
                self._prose(end - 1)
            name = bare(self.lines[self.at])
            self._begin_section(_level(self.lines[end]), name, end + 1)
            return
        self._prose(end)

    def _prose(self, end: int) -> None:
        """Lines up to `end`: those that an editor wrapped together, the others each alone."""
        block = self.lines[self.at : end]
        parent = self._items[-1][1] if self._items else ""
        for start, stop in _wrapped(block):
            self.units.append(read(self.at + start, block[start:stop], self._above, parent))
        self.at = end


def _width(line: str) -> int:
    """Columns of the blanks that a line begins with; tabs stop at every fourth."""
    blanks = line[: len(line) - len(line.lstrip(" \t"))]
    return len(blanks.expandtabs(4)) if "\t" in blanks else len(blanks)


def _underlines(line: str, above: str, plain: bool) -> bool:
    if line[:1] in "=-" and _UNDERLINE.match(line):
        return not plain or len(line.rstrip()) >= 3
    if not plain or not _RST_UNDERLINE.match(line):
        return False
    return len(line.rstrip()) + 1 >= len(above.strip())


def _level(underline: str) -> int:
    """Markdown's two levels; reStructuredText's marks in the order that most documents use."""
    return "=-~^\"'#*+.`:_".index(underline.strip()[0]) + 1


def _wrapped(block: list[str]) -> list[tuple[int, int]]:
    """The line ranges of a block that are one text each.

    A line break that was not needed (the next word would have fitted) was meant, unless the
    sentence goes on with a small letter. Pieces longer than half a window end at a full stop.
    """
    if len(block) == 1:
        return [(0, 1)]
    longest = max(map(len, block))
    width = max(longest, _WRAP) if longest <= _WIDE else 10**9
    ranges, start, size = [], 0, len(block[0])
    for at in range(1, len(block)):
        above, line = block[at - 1].rstrip(), block[at].lstrip()
        ended = above[-1:] in ".!?:;"
        meant = len(above) + 1 + len(line.split(None, 1)[0]) <= width
        small = line[0].islower() and not ended
        size += len(line)
        if (meant and not small) or size > WINDOW_BYTES or (size > WINDOW_BYTES // 2 and ended):
            ranges.append((start, at))
            start, size = at, len(line)
    return [*ranges, (start, len(block))]
