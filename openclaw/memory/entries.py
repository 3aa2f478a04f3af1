"""Memories in a Markdown text: list items, with what is known of each in a comment at its end.

`- I take the 7:40 train. <!-- preference, 2026-11-21, session 4f2a9c turn 3, importance 0.7 -->`

A corrected one stays, struck through: `- ~~I take the 7:20 train.~~ (until 2026-11-21) <!-- .. -->`
Pure functions on text; lines that a person typed without a comment are entries like any other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from openclaw.files.comments import comments
from openclaw.files.comments import without_comments as outside_comments
from openclaw.memory.page import Bullet, Page, read_page, width
from openclaw.memory.tasklist import shown

Category = Literal["preference", "fact", "decision", "entity", "other"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
MAX_SOURCE = 200

_STRUCK = re.compile(r"~~(?P<text>(?:(?!~~).)+)~~[ \t]*(?:\((?P<note>[^()]*)\))?[ \t]*$", re.DOTALL)
_DAY = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_DATE_PART = re.compile(r"(?:date|on)?[ :=]*(\d{4}-\d{2}-\d{2})", re.IGNORECASE)
_IMPORTANCE = re.compile(r"importance[ :=]*(\d*\.?\d+)(?:/(\d+))?", re.IGNORECASE)
_SOURCE = re.compile(r"(?:source|from)[ :=]+(?P<source>\S.*)", re.IGNORECASE)
_CATEGORY = re.compile(rf"(?:category[ :=]+)?({'|'.join(CATEGORIES)})s?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Meta:
    """What the comment of an entry says; empty where it says nothing. `date` is an ISO day,
    `importance` 0 to 1."""

    category: str = ""
    date: str = ""
    source: str = ""
    importance: float | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A remembered list item. `text` is without marks and comments. Line indexes: `at` its first,
    before `end` its own text, before `below` also what is indented beneath it. `until` is the ISO
    day it was corrected, when it says so."""

    at: int
    end: int
    below: int
    depth: int
    start: int
    text: str
    meta: Meta = Meta()
    superseded: bool = False
    until: str = ""


def entries_of(text: str) -> list[Entry]:
    """The list items of a text outside of comments, code and front matter, in its order."""
    return [*_entries(text)]


@lru_cache(maxsize=8)  # each change of a file reads the same text several times
def _entries(text: str) -> tuple[Entry, ...]:
    page = read_page(text)
    starts = {bullet.at for bullet in page.bullets}
    starts.update(section.start for section in page.sections if section.level)
    found = (_entry(page, bullet, starts) for bullet in page.bullets if bullet.mark in "-*+")
    return tuple(entry for entry in found if entry is not None)


@lru_cache(maxsize=4096)  # lines hardly change from one reading to the next
def parse_meta(comment: str) -> Meta | None:
    """The metadata that the inside of a comment holds, its parts in any order.

    None when it names neither category, date nor importance: a comment of the user's own.
    """
    for pattern in (r",(?=\s|$)", r"[,;]"):
        meta = _meta([part.strip() for part in re.split(pattern, comment) if part.strip()])
        if meta is not None:
            return meta
    return None


def written(text: str, meta: Meta) -> str:
    """An entry's line without the bullet: the text and its metadata, in the canonical order."""
    number = "" if meta.importance is None else f"importance {meta.importance:g}"
    source = harmless(meta.source)[:MAX_SOURCE].strip()
    parts = [part for part in (meta.category, meta.date, source, number) if part]
    return f"{text} <!-- {', '.join(parts)} -->" if parts else text


def harmless(text: str) -> str:
    """A text as one line that begins or ends no comment."""
    line = " ".join(shown(text).split())
    while "<!--" in line or "-->" in line or "--!>" in line:
        line = line.replace("<!--", "<!-").replace("-->", "->").replace("--!>", "-!>")
    return line


def without_comments(text: str) -> str:
    return outside_comments(text).strip()


def unmarked(text: str) -> str:
    """A new entry's text without comments, and not struck through as a whole."""
    line = without_comments(text)
    while found := _STRUCK.match(line):
        line = found["text"].strip()
    return line


def split_tail(content: str) -> tuple[str, str]:
    """An entry's content and the comments and blanks at its end."""
    text = content.removesuffix("\n")
    at = len(text.rstrip(" \t"))
    for comment in reversed([*comments(text)]):
        if comment.end != at:
            break
        at = comment.start
    return content[:at], content[at:]


def _entry(page: Page, bullet: Bullet, starts: set[int]) -> Entry | None:
    end = _own_end(page, bullet, starts)
    content = " ".join(
        line.rstrip("\r\n")[bullet.start if n == 0 else 0 :].strip(" \t")
        for n, line in enumerate(page.lines[bullet.at : end])
    )
    text = without_comments(content)
    if not text:
        return None
    metas = [meta for found in comments(content) if (meta := parse_meta(found.inner))]
    struck = _STRUCK.match(text)
    until = _DAY.search((struck and struck["note"]) or "")
    return Entry(
        bullet.at,
        end,
        _below(page, bullet, end),
        bullet.depth,
        bullet.start,
        shown(struck["text"] if struck else text).strip(),
        metas[-1] if metas else Meta(),
        struck is not None,
        until[0] if until else "",
    )


def _own_end(page: Page, bullet: Bullet, starts: set[int]) -> int:
    """The line after an item's own text: it goes on in lines that are indented below its mark, to
    the next of `starts`, where items and headings begin."""
    end = bullet.at + 1
    while end < len(page.lines) and not (
        end in page.opaque or end in starts or width(page.lines[end]) <= bullet.indent
    ):
        end += 1
    return end


def _below(page: Page, bullet: Bullet, end: int) -> int:
    """The line after all that is indented beneath an item; blank lines behind it are not its."""
    below = end
    for at in range(end, len(page.lines)):
        line = page.lines[at]
        if not line.strip():
            continue
        began = page.opaque.get(at, at)
        if width(line) <= bullet.indent and not bullet.at < began < at:
            break
        below = at + 1
    return below


def _meta(parts: Sequence[str]) -> Meta | None:
    category = date = ""
    importance: float | None = None
    rest: list[str] = []
    for part in parts:
        if not category and (found := _CATEGORY.fullmatch(part)):
            category = found[1].lower()
        elif not date and (found := _DATE_PART.fullmatch(part)):
            date = found[1]
        elif importance is None and (found := _IMPORTANCE.fullmatch(part)):
            importance = min(float(found[1]) / (float(found[2] or 1) or 1), 1.0)
        else:
            rest.append(part)
    if not (category or date or importance is not None):
        return None
    source = ", ".join(rest)
    named = _SOURCE.fullmatch(source)
    return Meta(category, date, named["source"] if named else source, importance)
