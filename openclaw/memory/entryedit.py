"""Change the memories of a Markdown text: text in, text out, all other bytes as they were.

Each change is read again before it is given back: exactly what was meant may differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from openclaw.memory.entries import Entry, Meta, entries_of, split_tail
from openclaw.memory.page import Page, ending, read_page
from openclaw.shapes import ToolProblem

_Key = tuple[str, Meta, bool]


def with_entry(text: str, line: str) -> tuple[str, int]:
    """The text with a list item at the end of the part below its title, and the item's line.

    The part ends at the next heading; blank lines before that stay behind the item.
    """
    page = read_page(text)
    for at in _places(page):
        new, number = _put(page, at, line)
        if _only_more(text, new, number):
            return new, number
    raise ToolProblem("There is no place for a new line in this file; fix it in an editor.")


def below_entry(text: str, entry: Entry, line: str) -> tuple[str, int]:
    """The text with a list item directly below an entry, in its manner, and the item's line."""
    page = read_page(text)
    lines = [*page.lines]
    first = lines[entry.at].rstrip("\r\n")
    lines[entry.below - 1] = _closed(lines[entry.below - 1], page.newline)
    lines.insert(entry.below, f"{_mark(first, entry)}{line}{page.newline}")
    new, number = "".join(lines), entry.below + 1
    return (new, number) if _only_more(text, new, number) else with_entry(text, line)


def struck(text: str, entry: Entry, day: str) -> str:
    """The text with an entry struck through, as it held until `day` (ISO); its comment stays.

    Raises ToolProblem when more than its own text stands beneath it.
    """
    page = read_page(text)
    if entry.below > entry.end:
        raise ToolProblem("Other lines are indented below it; change it in an editor.")
    lines = [line.rstrip("\r\n") for line in page.lines[entry.at : entry.end]]
    content = " ".join(line.strip(" \t") for line in (lines[0][entry.start :], *lines[1:]))
    body, tail = split_tail(content)
    line = f"{_mark(lines[0], entry)}~~{body.replace('~~', '').strip()}~~ (until {day}){tail}"
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


def without(text: str, entry: Entry) -> str:
    """The text without an entry and what is indented below it."""
    page = read_page(text)
    for end in (entry.below, entry.end):
        new = "".join([*page.lines[: entry.at], *page.lines[end:]])
        left = [key for at, key in _keys(text) if not entry.at <= at < end]
        if [key for _, key in _keys(new)] == left:
            return new
    raise ToolProblem("It cannot be taken out as it stands; change it in an editor.")


def block_of(text: str, entry: Entry) -> list[str]:
    """The lines that `without` would take out, without their newlines."""
    lines = read_page(text).lines[entry.at : entry.below]
    return [line.rstrip("\r\n") for line in lines]


def _places(page: Page) -> Iterator[int]:
    """Line indexes where a new entry may go, the best one first."""
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


def _put(page: Page, end: int, line: str) -> tuple[str, int]:
    """The text with the item before line index `end`, behind the last line that is not blank."""
    lines, newline = [*page.lines], page.newline
    at = end
    while at and not lines[at - 1].strip():
        at -= 1
    if at:
        lines[at - 1] = _closed(lines[at - 1], newline)
    item, block = f"- {line}{newline}", []
    in_list = any(bullet.at == at - 1 for bullet in page.bullets)
    if at and not in_list and not lines[at - 1].startswith((" ", "\t")):
        if at < len(lines) and not lines[at].strip():
            lines[at] = _closed(lines[at], newline)
            at += 1
        else:
            block.append(newline)
    number = at + len(block) + 1
    block.append(item)
    if at < len(lines) and lines[at].strip():
        block.append(newline)
    lines[at:at] = block
    return "".join(lines), number


def _closed(line: str, newline: str) -> str:
    return line if ending(line) else line + newline


def _mark(first: str, entry: Entry) -> str:
    """An item's indent, bullet and one gap, as they stand."""
    found = re.match(r"[ \t]*[-*+][ \t]+", first[: entry.start])
    return found[0] if found else "- "


def _keys(text: str) -> list[tuple[int, _Key]]:
    return [(e.at, (e.text, e.meta, e.superseded)) for e in entries_of(text)]


def _only_more(old: str, new: str, number: int) -> bool:
    """Whether line `number` is a new entry and all others are as they were."""
    before = [key for _, key in _keys(old)]
    after = _keys(new)
    return (number - 1) in [at for at, _ in after] and _rest(after, number - 1) == before


def _rest(keys: Sequence[tuple[int, _Key]], but: int) -> list[_Key]:
    return [key for at, key in keys if at != but]
