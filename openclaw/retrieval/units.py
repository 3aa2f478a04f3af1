"""A unit: the smallest piece of a text that can be cited, and what its lines say without marks."""

from __future__ import annotations

import re
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
_LABEL = re.compile(
    r"[\"']?((?:[^\W\d_][\w.'\u2019-]*)(?: [\w.'\u2019()-]+){0,2})[\"']?\s?[:=]\s*(?=\S)"
)
_ASIDE = re.compile(r"\([^()]*\)")


@dataclass(slots=True)
class Unit:
    """Lines `start` to `end` (0-based, inclusive) of a file.

    `said` is what they say, without marks; `headings` stand above them, `parent` is the line they
    belong to (an outer list item, an outer definition), `header` a table's first row. `piece` is
    the part of an over-long line that the unit stands for, `alone` means that no neighbour is told
    of it, `heading` that the lines are the last of `headings`. `date` is an ISO day or "".
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
    header: str = ""
    piece: str = ""


def read(start: int, lines: list[str], headings: tuple[str, ...], parent: str = "") -> Unit:
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
        label[1] if label else "",
        struck,
        struck or not said,
    )


def bare(text: str) -> str:
    """What a reader sees: no comments, struck words, link targets, tags, block ids, emphasis."""
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
    """Whether a line is struck through as a whole; a date or a remark in brackets may stand by."""
    rest = _COMMENT.sub(" ", text)
    struck = _STRUCK.search(rest)
    if struck is None:
        return False
    rest = _ASIDE.sub(" ", _BLOCK_ID.sub("", _STRUCK.sub(" ", rest)))
    return not any(char.isalpha() for char in rest)


def day_of(text: str) -> str:
    """The day that an entry is of: in its comment (metadata), else where it begins, else ""."""
    found = None
    if "<!--" in text:
        for comment in _COMMENT.finditer(text):
            found = found or _DAY.search(comment[0])
    if found is None:
        found = _DAY.match(text.lstrip('[("'))
    return day_in(found[0]) if found else ""


def day_in(text: str) -> str:
    """The first ISO day in a heading or a file's name, "" without one."""
    found = _DAY.search(text)
    return f"{found[1]}-{found[3]}-{found[4]}" if found else ""
