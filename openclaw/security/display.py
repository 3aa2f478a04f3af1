"""Text of models, tools and files as a person may see it: hidden characters are made visible.

Escape sequences are visible too, so that a terminal does not obey them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from unicodedata import combining, east_asian_width

from openclaw.security.untrusted import ALWAYS_HIDDEN, show_hidden, visible_sign

MAX_BLANKS = 40
_LINES = str.maketrans(
    {"\n": "\u240a", "\r": "\u240d", "\t": "\u2409", "\u2028": "<U+2028>", "\u2029": "<U+2029>"}
)
_BLANK = r"[^\S\n]|\u2800"  # a braille pattern without dots looks blank too
_EMPTY = re.compile(rf"^(?:{_BLANK})+$", re.MULTILINE)
_BLANKS = re.compile(rf"(?:{_BLANK}){{{MAX_BLANKS + 1},}}")
_EMPTY_LINES = re.compile(r"\n{4,}")


def harmless(text: str) -> str:
    """The text, or a piece of a stream, with visible signs for hidden characters. Newlines and tabs
    stay, and joiners and variants, whose neighbours may be in another piece; soft breaks are
    dropped, and carriage returns, which could overwrite a line."""
    plain = re.sub("[\r\u00ad\u200b]", "", text)
    return ALWAYS_HIDDEN.sub(lambda found: visible_sign(found[0]), plain)


def one_line(text: str, width: int = 0) -> str:
    """The text on one line, every control character visible, cut to `width` characters if given."""
    flat = harmless(text.translate(_LINES))
    return flat if not width or len(flat) <= width else flat[: width - 1] + "\u2026"


def first_line(text: str, width: int) -> str:
    """The first line that is not blank, cut to `width` characters."""
    return one_line(next((line for line in text.splitlines() if line.strip()), ""), width)


def first_words(text: str, most: int, least: int) -> str:
    """The first words of a text on one line, without control characters: at most `most` characters,
    cut between words where more than `least` are left."""
    words = " ".join("".join(c if c.isprintable() else " " for c in text[:2000]).split())
    if len(words) <= most:
        return words
    cut = words[: most - 3]
    return (cut[: cut.rindex(" ")] if " " in cut[least:] else cut).rstrip(" ,;:") + "..."


def main_argument(arguments: Mapping[str, Any], width: int = 60) -> str:
    """The values of a call in a few words, by which a person recognises it."""
    values = (value for value in arguments.values() if value not in (None, "", []))
    words = [
        ", ".join(map(value_text, each)) if isinstance(each, list) else value_text(each)
        for each in values
    ]
    return one_line(" ".join(words), width)


def whole_call(tool: str, arguments: Mapping[str, Any]) -> str:
    """The call with every argument in full, one below the other, nothing hidden."""
    lines = [one_line(tool)]
    for name, value in arguments.items():
        shown = show_hidden(value_text(value)).split("\n")
        lines += [f"  {one_line(name)}: {shown[0]}", *(f"    {line}" for line in shown[1:])]
    return "\n".join(lines)


def fold_blanks(text: str) -> str:
    """The text with a count of many blanks or empty lines, which could hide the rest."""
    text = _BLANKS.sub(_counter("blanks", " "), _EMPTY.sub("", text))
    return _EMPTY_LINES.sub(_counter("line ends", "\n"), text)


def rows(text: str, width: int) -> Iterator[str]:
    """The text in rows, broken as a terminal of `width` columns breaks its lines."""
    for line in text.expandtabs(4).split("\n"):
        row, used = "", 0
        for character in line:
            needed = columns(character)
            # A mark over a letter takes no column; their number is limited all the same.
            if used + needed > width or len(row) >= 4 * width:
                yield row
                row, used = "", 0
            row += character
            used += needed
        yield row


def minute(at: str) -> str:
    """An ISO time without its seconds."""
    return at[: len("2026-11-21T15:30")].replace("T", " ")


def count_of(number: int, what: str) -> str:
    """A number with its noun: "1 turn", "2 turns"."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def some_of(names: Sequence[str], most: int = 3, between: str = ", ") -> str:
    """The first of these names, and how many more there are."""
    and_more = " and " if between == ", " else f"{between}and "
    more = f"{and_more}{len(names) - most:,} more" if len(names) > most else ""
    return between.join(names[:most]) + more


def some_lines(lines: Sequence[str], most: int, what: str = "more") -> list[str]:
    """The first of these lines, and a line with the number of the rest; an indent as theirs."""
    if len(lines) <= most:
        return [*lines]
    indent = " " * (len(lines[0]) - len(lines[0].lstrip()))
    return [*lines[:most], f"{indent}and {len(lines) - most:,} {what}"]


def columns(text: str) -> int:
    """The columns that the text takes on a terminal; East Asian characters take two."""
    if text.isascii():
        return len(text)
    return sum((2 if east_asian_width(c) in "WF" else 1) for c in text if not combining(c))


def _counter(what: str, around: str) -> Callable[[re.Match[str]], str]:
    return lambda found: f"{around}\u27e8{len(found[0]):,} {what}\u27e9{around}"


def value_text(value: Any) -> str:
    """A JSON value in words: a text as it is."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
