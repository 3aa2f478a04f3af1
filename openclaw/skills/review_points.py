"""Finds lines of a skill that the user should see before trusting it. A finding is no verdict."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

from openclaw.frozen import frozen
from openclaw.security.untrusted import find_hidden
from openclaw.skills.review_rules import (
    CODE,
    DATA,
    FENCE,
    NAMES_IN_PIECES,
    PROSE,
    RULES,
    SCRIPT,
    Rule,
)
from openclaw.storage.safe_open import read_bytes, reading

MAX_FILE = 1024 * 1024
MAX_ALL = 12 * 1024 * 1024
MAX_LINE = 10_000
MAX_SHOWN = 3
MAX_TEXT = 120
SCRIPTS = frozenset(
    ".sh .bash .zsh .fish .py .pyw .js .mjs .cjs .ts .rb .pl .php .lua .ps1 .psm1 .bat .cmd .vbs "
    ".exe .dll .so .dylib .jar .app .com .scr .msi .command .applescript .scpt .r .go .rs".split()
)
PROGRAMS = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
ARCHIVES = (b"PK\x03\x04", b"\x1f\x8b", b"7z\xbc\xaf", b"Rar!", b"BZh", b"\xfd7zXZ")

TEXTS = frozenset(("", ".md", ".mdx", ".markdown", ".txt", ".rst"))
"""Suffixes of what people and models read."""

PLAIN = frozenset(("", "text", "txt", "md", "markdown"))  # languages of a fence that may hold text
_LINE_END = re.compile(r"\r\n|\n|\r")
_FENCE = re.compile(r"[>\s]{0,9}(?:```+|~~~+)[ \t]{0,4}([\w+-]{0,20})")
_PIECE = r"(?:\"[^\"\n]{0,60}\"|'[^'\n]{0,60}')"
_SUM = re.compile(rf"{_PIECE}(?:\s?\+\s?{_PIECE}){{1,20}}")
_JOINED = re.compile(rf"\[(\s?{_PIECE}(?:\s?,\s?{_PIECE}){{1,20}},?\s?)\](?:\.join\(({_PIECE})\))?")


@frozen
class ReviewPoint:
    """A line that the user should see.

    path: relative, with slashes
    line: counted from 1; 0 for the whole file
    note: of lower rank, since many ordinary skills do it as well
    """

    path: str
    line: int
    kind: str
    text: str
    note: bool = False

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.kind}: {self.text}"


def find_review_points(folder: Path, names: Sequence[str]) -> list[ReviewPoint]:
    """Return what deserves a look in the files of these relative names, a few per kind and file."""
    found: list[ReviewPoint] = []
    left = MAX_ALL
    for name in names:
        path = folder / name
        size = path.stat().st_size
        if size > min(MAX_FILE, left):
            found.append(ReviewPoint(name, 0, "not looked into", f"{size:,} bytes"))
            continue
        left -= size
        found += _inspect_file(name, read_bytes(path))
    return found


def is_script(path: Path) -> bool:
    """Return True when a file can be run: by its suffix, its first bytes or its mode."""
    if path.suffix.lower() in SCRIPTS:
        return True
    with reading(path) as file:
        head = file.read(4)
    is_program = head.startswith((b"#!", *PROGRAMS))
    return is_program or (os.name != "nt" and bool(path.stat().st_mode & 0o111))


def _inspect_file(name: str, data: bytes) -> list[ReviewPoint]:
    if data.startswith(PROGRAMS):
        return [ReviewPoint(name, 0, "program", "compiled; its text cannot be read")]
    if data.startswith(ARCHIVES):
        return [ReviewPoint(name, 0, "archive", "what is in it was not looked at")]
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        data = data.decode("utf-16", "replace").encode()
    elif b"\0" in data and not (data.startswith(b"#!") or Path(name).suffix.lower() in SCRIPTS):
        return []
    return _limit_each_kind(list(_inspect_text(name, data.decode("utf-8", "replace"))))


def _inspect_text(name: str, text: str) -> Iterator[ReviewPoint]:
    lines = _LINE_END.split(text.removeprefix("\ufeff"))
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_LINE:
            yield ReviewPoint(name, number, "very long line", f"{len(line):,} characters")
            lines[number - 1] = line = line[:MAX_LINE]
        if found := find_hidden(line):
            codes = ", ".join(f"U+{ord(c):04X}" for c in sorted(set(found))[:5])
            yield ReviewPoint(name, number, "hidden characters", f"{len(found)}: {codes}")
            lines[number - 1] = line.translate(dict.fromkeys(map(ord, found)))
    yield from _apply_rules(name, lines)


def _apply_rules(name: str, lines: list[str]) -> Iterator[ReviewPoint]:
    """Apply the rules; yield at most one finding of each kind a line, in order of lines."""
    text = "\n".join(lines)
    places = _line_kinds(name, lines)
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    found: dict[tuple[int, str], ReviewPoint] = {}
    for rule in RULES:
        if rule.along and not rule.along.search(text):
            continue
        for match in rule.pattern.finditer(text):
            at = bisect_right(starts, match.start()) - 1
            line, column = lines[at], match.start() - starts[at]
            if rule.where & places[at] and _applies(rule, line, column):
                look = ReviewPoint(name, at + 1, rule.kind, _excerpt(line, column), rule.note)
                found.setdefault((at + 1, rule.kind), look)
    for at, line in enumerate(lines):
        if places[at] & CODE and (column := _find_pieces(line)) >= 0:
            kind = "put together at run time"
            look = ReviewPoint(name, at + 1, kind, _excerpt(line, column))
            found.setdefault((at + 1, kind), look)
    yield from sorted(found.values(), key=lambda look: look.line)


def _line_kinds(name: str, lines: Sequence[str]) -> list[int]:
    """Return the place of each line; a fence without a language may hold text or code."""
    suffix = Path(name).suffix.lower()
    if suffix in SCRIPTS or lines[0].startswith("#!"):
        return [SCRIPT] * len(lines)
    if suffix not in TEXTS:
        return [DATA] * len(lines)
    places: list[int] = []
    here, opened = PROSE, 0
    for line in lines:
        if fence := _FENCE.match(line):
            inside = FENCE | PROSE if fence[1].lower() in PLAIN else FENCE
            here, opened = (inside, len(places)) if here == PROSE else (PROSE, 0)
        places.append(here)
    if here != PROSE:  # a fence that nothing ends
        places[opened:] = [FENCE | PROSE] * (len(places) - opened)
    return places


def _applies(rule: Rule, line: str, column: int) -> bool:
    if rule.unless and rule.unless.search(line):
        return False
    if rule.beside and not rule.beside.search(line):
        return False
    return not (rule.unquoted and _is_quoted(line[:column]))


def _is_quoted(before: str) -> bool:
    """Return True when a quotation mark is open at the end of this part of a line."""
    if before.count('"') % 2 or before.count("`") % 2:
        return True
    return before.count("\u201c") > before.count("\u201d") or bool(
        re.search(r"(?:^|[\s(])'[^']*$", before)
    )


def _find_pieces(line: str) -> int:
    """Return where a line writes one of NAMES_IN_PIECES in pieces ("ev" + "al"); -1 for none."""
    found = [(match.start(), match[0], "") for match in _SUM.finditer(line)]
    found += [(m.start(), m[1], (m[2] or "")[1:-1]) for m in _JOINED.finditer(line)]
    for at, written, between in found:
        pieces = [piece[1:-1] for piece in re.findall(_PIECE, written)]
        if NAMES_IN_PIECES.fullmatch(between.join(pieces)) and not any(
            map(NAMES_IN_PIECES.fullmatch, pieces)
        ):
            return at
    return -1


def _excerpt(line: str, at: int) -> str:
    """The line, or the part of a long one where the words stand."""
    plain = line.strip()
    if len(plain) <= MAX_TEXT:
        return plain
    start = max(0, at - 20)
    return ("..." if start else "") + line[start : start + MAX_TEXT].strip() + "..."


def _limit_each_kind(found: list[ReviewPoint]) -> list[ReviewPoint]:
    """Return the first findings of each kind, and how many more there are."""
    kinds: dict[str, list[ReviewPoint]] = {}
    for look in found:
        kinds.setdefault(look.kind, []).append(look)
    more = [
        replace(looks[0], line=0, text=f"{len(looks) - MAX_SHOWN} more lines")
        for looks in kinds.values()
        if len(looks) > MAX_SHOWN
    ]
    return [look for look in found if look in kinds[look.kind][:MAX_SHOWN]] + more
