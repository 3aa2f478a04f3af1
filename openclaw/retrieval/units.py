"""Splits texts into units: the smallest pieces that can be cited, with their text without marks."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

# MiniLM reads 256 tokens, about four characters each in English; other scripts take about a token
# a character and three bytes a character, so bytes are the better measure for both.
WINDOW_BYTES = 1000

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_LINK = re.compile(
    r"!?\[([^\[\]]*)\]"
    r"(?:\([^()\s]*(?:\([^()]*\)[^()]*)*(?:\s+[\"'][^)]*)?\)|\[[^\]]*\])"
)
_WIKI = re.compile(r"!?\[\[([^\[\]|]*)(?:\|([^\[\]]*))?\]\]")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_STRUCK = re.compile(r"~~(?=\S)[^~]*(?:~(?!~)[^~]*)*(?<=\S)~~")
_BLOCK_ID = re.compile(r"(?:^|\s)\^[A-Za-z0-9-]+\s*$", re.MULTILINE)
_START = re.compile(r"\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)?(?:\[[ xX]\]\s+)?")
_QUOTE = re.compile(r"^\s*>[>\s]*", re.MULTILINE)
_DAY = re.compile(r"(?<!\d)(\d{4})([-/.])(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])(?!\d)")
# A label, after the time of a message: "[19:44] Nimmi:", "12/03/26, 7:44 PM - Nimmi:".
_LABEL = re.compile(
    r"([\[(]?(?:\d{1,4}[-/.]\d\d?[-/.]\d{1,4}[T, ]*)?\d\d?:\d\d(?::\d\d)?(?: ?[AP]M)?[\])]?[- ]+)?"
    r"[\"']?((?:[^\W\d_][\w.'\u2019-]*)(?: [\w.'\u2019()-]+){0,2})[\"']?\s?[:=]\s*(?=\S)"
)
_ASIDE = re.compile(r"\([^()]*\)")


@dataclass(slots=True)
class Unit:
    """Lines `start` to `end` (0-based, inclusive) of a file.

    said      the text without marks
    headings  the headings above, outermost first
    parent    the line they belong to: an outer list item, an outer definition
    date      an ISO day or ""
    struck    the line is struck through as a whole
    alone     neighbours do not get this text as context
    heading   the lines are the last of `headings`
    piece     the part of an over-long line that this unit covers
    """

    start: int
    end: int
    said: str
    headings: tuple[str, ...] = ()
    parent: str = ""
    date: str = ""
    label: str = ""
    struck: bool = False
    alone: bool = False
    heading: bool = False
    piece: str = ""


def read(
    start: int, lines: list[str], headings: tuple[str, ...], parent: str = "", alone: bool = False
) -> Unit:
    """A unit of prose: a list item, a paragraph, a record."""
    raw = "\n".join(lines)
    text = raw[_START.match(raw).end() :] if raw[:1] in " -*+0123456789\t" else raw  # type: ignore[union-attr]
    struck = "~~" in text and is_struck(text)
    said = bare(text.replace("~~", "") if struck else text)
    label = _LABEL.match(said) if ":" in said or "=" in said else None
    return Unit(
        start,
        start + len(lines) - 1,
        said,
        headings,
        parent,
        day_of(text),
        label[2] if label else "",
        struck,
        alone or struck or not said,
    )


def size(text: str) -> int:
    """Bytes of a text in UTF-8: about four a token, in every script."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def bare(text: str) -> str:
    """The text without comments, struck words, link targets, tags, block ids and emphasis."""
    if "<" in text:
        text = _TAG.sub(" ", _COMMENT.sub(" ", text))
    if "[[" in text:
        text = _WIKI.sub(lambda found: found[2] or found[1], text)
    if "](" in text or "][" in text:
        text = _LINK.sub(r"\1", text)
    if "~~" in text:
        text = _STRUCK.sub(" ", text)
    if "^" in text:
        text = _BLOCK_ID.sub("", text)
    if ">" in text:
        text = _QUOTE.sub("", text)
    if "*" in text or "`" in text:
        text = text.replace("**", "").replace("`", "").replace(" *", " ").replace("* ", " ")
    return " ".join(text.split())


def is_struck(text: str) -> bool:
    """Return True when a line is struck through but for a date or a remark in brackets."""
    rest = _COMMENT.sub(" ", text)
    if not _STRUCK.search(rest):
        return False
    rest = _ASIDE.sub(" ", _BLOCK_ID.sub("", _STRUCK.sub(" ", rest)))
    return not any(char.isalpha() for char in rest)


def day_of(text: str) -> str:
    """The day of an entry: in its comment (metadata), else at its beginning, else ""."""
    for comment in _COMMENT.findall(text):
        if day := day_in(comment):
            return day
    found = _DAY.match(text.lstrip('[("'))
    return day_in(found[0]) if found else ""


def day_in(text: str) -> str:
    """The first ISO day in a heading or a file's name, "" without one."""
    found = _DAY.search(text)
    return f"{found[1]}-{found[3]}-{found[4]}" if found else ""


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
# A table of at most so many bytes is one unit: its rows explain each other, and a prompt has
# room for it. Of a longer one each row is.
SHORT_TABLE = WINDOW_BYTES // 2


class _Scanner:
    """One pass over Markdown lines: the next line, the headings above it, the list items around it.
    `plain`: text without Markdown's code rules."""

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
        """Add a block as it is, from the current line to before `end`."""
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
        cells = [line.replace("|", " ") for line in self.lines[self.at : end]]
        header, _, *rows = map(bare, cells)
        said = "\n".join([header, *rows])
        if size(said) <= SHORT_TABLE or not rows:
            self._add(end, said)
            return True
        first = self.at + 2
        self._add(first, "", alone=True)  # each row is found with the header
        for at, row in enumerate(cells[2:], first):
            self.units.append(read(at, [row], self._above, header, True))
        self.at = end
        return True

    def _indented(self, line: str) -> bool:
        """Read indented code: four columns more than the list around it."""
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
        """Return True when a line continues the item or paragraph above it."""
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
            # Markdown's two levels; reStructuredText's in the order that most documents use.
            level = "=-~^\"'#*+.`:_".index(self.lines[end].strip()[0]) + 1
            self._begin_section(level, name, end + 1)
            return
        self._prose(end)

    def _prose(self, end: int) -> None:
        """Add lines up to `end`: wrapped lines as one unit, each other line as its own."""
        block = self.lines[self.at : end]
        parent = self._items[-1][1] if self._items else ""
        for start, stop in _wrapped_ranges(block):
            self.units.append(read(self.at + start, block[start:stop], self._above, parent))
        self.at = end


def _width(line: str) -> int:
    """Columns of the blanks at the start of a line; a tab goes to the next fourth column."""
    blanks = line[: len(line) - len(line.lstrip(" \t"))]
    return len(blanks.expandtabs(4)) if "\t" in blanks else len(blanks)


def _underlines(line: str, above: str, plain: bool) -> bool:
    if line[:1] in "=-" and _UNDERLINE.match(line):
        return not plain or len(line.rstrip()) >= 3
    if not plain or not _RST_UNDERLINE.match(line):
        return False
    return len(line.rstrip()) + 1 >= len(above.strip())


def _wrapped_ranges(block: list[str]) -> list[tuple[int, int]]:
    """The line ranges of a block that are one text each.

    A line break is intended when the next word would have fitted, unless the next line begins with
    a small letter in mid-sentence. A range longer than half a window ends at a full stop.
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
        meant = meant or bool((message := _LABEL.match(line)) and message[1])
        small = line[0].islower() and not ended
        size += len(line)
        if (meant and not small) or size > WINDOW_BYTES or (size > WINDOW_BYTES // 2 and ended):
            ranges.append((start, at))
            start, size = at, len(line)
    return [*ranges, (start, len(block))]


_TABLES = (".csv", ".tsv")
_RECORDS = (*_TABLES, ".log", ".jsonl", ".ndjson")
_SETTINGS = (
    *(".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".env", ".properties", ".json"),
    *(".editorconfig", ".gitconfig"),
)
_STAMP = re.compile(
    r"[\[(<\"']?(?:\d{4}[-/.]\d\d[-/.]\d\d|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}[ T,]"
    r"|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* +\d"
    r"|\d\d:\d\d:\d\d|\d{10,13}\b|<\d+>|(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL)\b)"
)
_SAMPLE = 400
_FOREWORDS = ("@", "#", "//", "/*", "*", "--")
_DEFINES = re.compile(
    r"\s*(?:(?:export|public|private|protected|static|async|abstract|final|default|pub)\s+)*"
    r"(?:class|def|func|function|fn|impl|struct|enum|interface|trait|module|namespace|type)\b"
)


def scan(lines: list[str], kind: str, path: str) -> list[Unit]:
    """The units of a document in their order. Settings are read line by line, source code by groups
    between blank lines; plain text is records when its lines are stamped or its name says so."""
    name = path.lower()
    if kind == "session":
        return [read(at, [line], ()) for at, line in enumerate(lines) if line.strip()]
    if kind == "code":
        return _settings(lines) if name.endswith(_SETTINGS) else _groups(lines)
    if kind != "markdown" and (name.endswith(_RECORDS) or _stamped(lines)):
        first = next(filter(str.strip, lines), "")
        return _records(lines, bare(first) if name.endswith(_TABLES) else "")
    return _Scanner(lines, plain=kind != "markdown").scan()


def _stamped(lines: list[str]) -> bool:
    """Return True when at least three lines and half of those not indented begin like a log's."""
    heads = [line for line in lines[:_SAMPLE] if line[:1].strip()]
    stamped = sum(_STAMP.match(line) is not None for line in heads)
    return stamped >= 3 and stamped * 2 >= len(heads)


def _records(lines: list[str], header: str) -> list[Unit]:
    """One unit a line, with the header of a table as its parent in place of neighbours, which tell
    of other things; indented lines (a stack trace) belong to the line above them."""
    units: list[Unit] = []
    start, size = -1, 0
    for at, line in enumerate(lines):
        if not line.strip():
            continue
        size += len(line)
        if start >= 0 and line[0] in " \t" and at == units[-1].end + 1 and size <= WINDOW_BYTES:
            units[-1] = read(start, lines[start : at + 1], (), units[-1].parent, bool(header))
            continue
        start, size = at, len(line)
        units.append(read(at, [line], (), header if units else "", bool(header)))
    return units


def _settings(lines: list[str]) -> list[Unit]:
    """One unit a line, with the keys above it as its parent."""
    units: list[Unit] = []
    outer: list[tuple[int, str]] = []
    for at, line in enumerate(lines):
        bare = line.strip()
        if not bare:
            continue
        indent = len(line) - len(line.lstrip())
        while outer and (outer[-1][0] >= indent or bare[0] == "["):
            outer.pop()
        only_marks = not any(char.isalnum() for char in bare)
        unit = read(at, [line], (), " ".join(text for _, text in outer), only_marks)
        units.append(unit)
        if bare[-1] in ":{[" or (bare[0] == "[" and bare[-1] == "]"):
            outer.append((-1 if bare[0] == "[" else indent, unit.said.strip('"{[]:, ')))
    return units


def _groups(lines: list[str]) -> list[Unit]:
    """Groups between blank lines, cut before a definition; `parent` names what is around them."""
    units: list[Unit] = []
    outer: list[tuple[int, str]] = []
    at, count = 0, len(lines)
    while at < count:
        if not lines[at].strip():
            at += 1
            continue
        end = _group_end(lines, at)
        indent = len(lines[at]) - len(lines[at].lstrip())
        while outer and outer[-1][0] >= indent:
            outer.pop()
        parent = " ".join(text for _, text in outer)
        units.append(Unit(at, end - 1, "\n".join(lines[at:end]), parent=parent))
        for line in lines[at:end]:
            if _DEFINES.match(line):
                depth = len(line) - len(line.lstrip())
                outer = [(old, text) for old, text in outer if old < depth]
                outer.append((depth, line.strip().rstrip(":{ ")))
        at = end
    return units


def _group_end(lines: list[str], at: int) -> int:
    """The end of the group that begins at line `at`: a blank line, or a definition with the
    comments and decorators above it."""
    end, body = at + 1, not lines[at].lstrip().startswith(_FOREWORDS)
    while end < len(lines) and lines[end].strip():
        if body and _DEFINES.match(lines[end]):
            break
        body = body or not lines[end].lstrip().startswith(_FOREWORDS)
        end += 1
    return end
