"""Memories in a Markdown text: list items, each with its metadata in a comment at its end.

`- I take the 7:40 train. <!-- preference, 2026-11-21, session 4f2a9c turn 3, importance 0.7 -->`

A corrected one stays, struck through: `- ~~I take the 7:20 train.~~ (until 2026-11-21) <!-- .. -->`
Pure functions on text; lines that a person typed without a comment are entries like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import get_args

from openclaw.frozen import frozen
from openclaw.memory.markdown import (
    Bullet,
    Page,
    block_end,
    end_line,
    indent_width,
    insert_block,
    read_page,
)
from openclaw.storage.text import comments, join_surrogates, without_comments
from openclaw.types import Category, ToolProblem

CATEGORIES: tuple[Category, ...] = get_args(Category)
MAX_SOURCE = 200

_STRUCK = re.compile(r"~~(?P<text>(?:(?!~~).)+)~~[ \t]*(?:\((?P<note>[^()]*)\))?[ \t]*$", re.DOTALL)
_DAY = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_DATE_PART = re.compile(r"(?:date|on)?[ :=]*(\d{4}-\d{2}-\d{2})", re.IGNORECASE)
_IMPORTANCE = re.compile(r"importance[ :=]*(\d{0,9}\.?\d{1,9})(?:/(\d{1,9}))?", re.IGNORECASE)
_SOURCE = re.compile(r"(?:source|from)[ :=]+(?P<source>\S.*)", re.IGNORECASE)
_CATEGORY = re.compile(rf"(?:category[ :=]+)?({'|'.join(CATEGORIES)})s?", re.IGNORECASE)


@frozen
class Meta:
    """The metadata in an entry's comment; empty where it says nothing.

    date: an ISO day
    importance: 0 to 1
    """

    category: str = ""
    date: str = ""
    source: str = ""
    importance: float | None = None


@frozen
class MemoryEntry:
    """A remembered list item.

    at: index of its first line
    end: index of the line after its own text
    below: index of the line after everything that is indented beneath it
    text: without marks and comments
    until: the ISO day of its correction, "" when unknown
    """

    at: int
    end: int
    below: int
    depth: int
    start: int
    text: str
    meta: Meta = Meta()
    superseded: bool = False
    until: str = ""


@lru_cache(maxsize=8)  # each change of a file reads the same text several times
def entries_of(text: str) -> Sequence[MemoryEntry]:
    """The list items of a text outside of comments, code and front matter, in its order."""
    page = read_page(text)
    starts = {bullet.at for bullet in page.bullets}
    starts.update(section.start for section in page.sections if section.level)
    found = (_entry(page, bullet, starts) for bullet in page.bullets if bullet.mark in "-*+")
    return tuple(entry for entry in found if entry is not None)


@lru_cache(maxsize=4096)  # lines hardly change from one reading to the next
def parse_meta(comment: str) -> Meta | None:
    """Read the metadata inside a comment, its parts in any order.

    None when it names neither category, date nor importance: a comment of the user's own.
    """
    for pattern in (r",(?=\s|$)", r"[,;]"):
        meta = _meta([part.strip() for part in re.split(pattern, comment) if part.strip()])
        if meta is not None:
            return meta
    return None


def format_entry(text: str, meta: Meta) -> str:
    """Return an entry's line without the bullet: text and metadata in the canonical order."""
    number = "" if meta.importance is None else f"importance {meta.importance:g}"
    source = break_comment_marks(meta.source)[:MAX_SOURCE].strip()
    parts = [part for part in (meta.category, meta.date, source, number) if part]
    return f"{text} <!-- {', '.join(parts)} -->" if parts else text


def break_comment_marks(text: str) -> str:
    """Return a text as one line that neither begins nor ends a comment."""
    line = " ".join(join_surrogates(text).split())
    while "<!--" in line or "-->" in line or "--!>" in line:
        line = line.replace("<!--", "<!-").replace("-->", "->").replace("--!>", "-!>")
    return line


def strip_marks(text: str) -> str:
    """Return a new entry's text without comments and without a strike through all of it."""
    line = without_comments(text).strip()
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


def _entry(page: Page, bullet: Bullet, starts: set[int]) -> MemoryEntry | None:
    # The text goes on in lines that are indented below its mark, up to the next item or heading.
    end = bullet.at + 1
    while end < len(page.lines) and not (
        end in page.opaque or end in starts or indent_width(page.lines[end]) <= bullet.indent
    ):
        end += 1
    content = _content(page, bullet.at, end, bullet.start)
    text = without_comments(content).strip()
    if not text:
        return None
    metas = [meta for found in comments(content) if (meta := parse_meta(found.inner))]
    struck = _STRUCK.match(text)
    until = _DAY.search((struck and struck["note"]) or "")
    return MemoryEntry(
        bullet.at,
        end,
        block_end(page, bullet.at, bullet.indent, end, len(page.lines)),
        bullet.depth,
        bullet.start,
        join_surrogates(struck["text"] if struck else text).strip(),
        metas[-1] if metas else Meta(),
        struck is not None,
        until[0] if until else "",
    )


def _content(page: Page, at: int, end: int, start: int) -> str:
    """Return what stands in an item's own lines on one line, comments and marks included."""
    first, *more = (line.rstrip("\r\n") for line in page.lines[at:end])
    return " ".join(line.strip(" \t") for line in (first[start:], *more))


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


def append_entry(text: str, line: str) -> tuple[str, int]:
    """Return the text with a new item at the end of the part below its title, and the item's line.

    The part ends at the next heading; blank lines before that stay behind the item.
    """
    for at in _insertion_points(read_page(text)):
        new, number = _insert_item(read_page(text), at, line)
        if _adds_only(text, new, number):
            return new, number
    raise ToolProblem("There is no place for a new line in this file; fix it in an editor.")


def insert_below(text: str, entry: MemoryEntry, line: str) -> tuple[str, int]:
    """Return the text with a new item directly below an entry, with its bullet; and its line."""
    page = read_page(text)
    end_line(page, entry.below)
    page.lines.insert(entry.below, f"{_bullet_of(page, entry)}{line}{page.newline}")
    new, number = "".join(page.lines), entry.below + 1
    return (new, number) if _adds_only(text, new, number) else append_entry(text, line)


def strike_through(text: str, entry: MemoryEntry, day: str) -> str:
    """Return the text with an entry struck through that held until `day` (ISO). Its comment stays.

    Raises ToolProblem when more than its own text stands beneath it.
    """
    page = read_page(text)
    if entry.below > entry.end:
        raise ToolProblem("Other lines are indented below it; change it in an editor.")
    body, tail = split_tail(_content(page, entry.at, entry.end, entry.start))
    bullet = _bullet_of(page, entry)
    line = f"{bullet}~~{body.replace('~~', '').strip()}~~ (until {day}){tail}"
    last = page.lines[entry.end - 1]
    line += last[len(last.rstrip(" \t\r\n")) :]
    new = "".join([*page.lines[: entry.at], line, *page.lines[entry.end :]])
    expected = [
        (key[0].replace("~~", ""), key[1], True) if at == entry.at else key
        for at, key in _keys(text)
    ]
    if [key for _, key in _keys(new)] != expected:
        raise ToolProblem("It cannot be struck through as it stands; change it in an editor.")
    return new


def remove_entry(text: str, entry: MemoryEntry) -> str:
    """Return the text without an entry and everything indented below it."""
    page = read_page(text)
    for end in (entry.below, entry.end):
        new = "".join([*page.lines[: entry.at], *page.lines[end:]])
        left = [key for at, key in _keys(text) if not entry.at <= at < end]
        if [key for _, key in _keys(new)] == left:
            return new
    raise ToolProblem("It cannot be taken out as it stands; change it in an editor.")


def _insertion_points(page: Page) -> Iterator[int]:
    """Yield the line indexes where a new entry may go, the best one first."""
    lines = page.lines
    first = next((at for at, old in enumerate(lines) if old.strip()), 0)
    ends = [section.start for section in page.sections if section.level and section.start > first]
    end = min([*ends, len(lines) if page.open_at is None else page.open_at])
    if end < len(lines) and end in ends and not lines[end].lstrip().startswith("#"):
        while end > first + 1 and lines[end - 1].strip() and end - 1 not in page.opaque:
            end -= 1  # an underlined heading may have several lines
    yield end
    if page.open_at is not None:
        yield page.open_at
    yield len(lines)
    yield 0


def _insert_item(page: Page, at: int, line: str) -> tuple[str, int]:
    """Insert an item before line index `at`, after the last line that is not blank."""
    while at and not page.lines[at - 1].strip():
        at -= 1
    in_list = any(bullet.at == at - 1 for bullet in page.bullets)
    tight = in_list or (at > 0 and page.lines[at - 1].startswith((" ", "\t")))
    at = insert_block(page, at, [f"- {line}{page.newline}"], tight=tight)
    return "".join(page.lines), at + 1


def _bullet_of(page: Page, entry: MemoryEntry) -> str:
    """Return an item's indent, bullet and gap as they stand."""
    found = re.match(r"[ \t]*[-*+][ \t]+", page.lines[entry.at][: entry.start])
    return found[0] if found else "- "


def _keys(text: str) -> list[tuple[int, tuple[str, Meta, bool]]]:
    """Return the line index of each entry, and what no change of another entry may change."""
    return [(e.at, (e.text, e.meta, e.superseded)) for e in entries_of(text)]


def _adds_only(old: str, new: str, number: int) -> bool:
    """Return True when line `number` is a new entry and all others are as they were."""
    before = [key for _, key in _keys(old)]
    after = _keys(new)
    others = [key for at, key in after if at != number - 1]
    return (number - 1) in [at for at, _ in after] and others == before
