"""Text that is no Markdown as units: logs and other records line by line, source by its groups."""

from __future__ import annotations

import re

from openclaw.retrieval import markdown
from openclaw.retrieval.units import WINDOW_BYTES, Unit, read

_RECORDS = (".log", ".csv", ".tsv", ".jsonl", ".ndjson")
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


def scan_text(lines: list[str], path: str) -> list[Unit]:
    """Plain text: records when its lines are stamped or its name says so, else prose."""
    if path.lower().endswith(_RECORDS) or _stamped(lines):
        return _records(lines)
    return markdown.scan(lines, plain=True)


def scan_code(lines: list[str], path: str) -> list[Unit]:
    """Source code by blank-line groups and definitions; settings files line by line."""
    if path.lower().endswith(_SETTINGS):
        return _settings(lines)
    return _groups(lines)


def scan_lines(lines: list[str]) -> list[Unit]:
    """Every line alone."""
    return [read(at, [line], ()) for at, line in enumerate(lines) if line.strip()]


def _stamped(lines: list[str]) -> bool:
    """Whether at least three lines and half of those not indented begin like a log's."""
    heads = [line for line in lines[:_SAMPLE] if line[:1].strip()]
    stamped = sum(_STAMP.match(line) is not None for line in heads)
    return stamped >= 3 and stamped * 2 >= len(heads)


def _records(lines: list[str]) -> list[Unit]:
    """One unit a line; indented lines (a stack trace) belong to the line above them."""
    units: list[Unit] = []
    start, size = -1, 0
    for at, line in enumerate(lines):
        if not line.strip():
            continue
        size += len(line)
        if start >= 0 and line[0] in " \t" and at == units[-1].end + 1 and size <= WINDOW_BYTES:
            units[-1] = read(start, lines[start : at + 1], ())
            continue
        start, size = at, len(line)
        units.append(read(at, [line], ()))
    return units


def _settings(lines: list[str]) -> list[Unit]:
    """One unit a line, told with the keys it stands under."""
    units: list[Unit] = []
    outer: list[tuple[int, str]] = []
    for at, line in enumerate(lines):
        bare = line.strip()
        if not bare:
            continue
        indent = len(line) - len(line.lstrip())
        while outer and (outer[-1][0] >= indent or bare[0] == "["):
            outer.pop()
        unit = read(at, [line], (), " ".join(text for _, text in outer))
        if not any(char.isalnum() for char in bare):
            unit.alone = True
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
    """Where the group that begins at a line ends: at a blank line, or before a definition, whose
    comments and decorators stay with it."""
    end, body = at + 1, not lines[at].lstrip().startswith(_FOREWORDS)
    while end < len(lines) and lines[end].strip():
        if body and _DEFINES.match(lines[end]):
            break
        body = body or not lines[end].lstrip().startswith(_FOREWORDS)
        end += 1
    return end
