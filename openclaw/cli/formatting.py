"""Text for a terminal: harmless text of models, tools and files, and lines about a turn.

Escape sequences in the text of others are made visible, so that the terminal does not obey them.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TextIO
from unicodedata import combining, east_asian_width

from openclaw.security.untrusted import show_hidden, show_hidden_in_piece
from openclaw.storage.text import replace_bad_bytes

MOST_BLANKS = 40
_LINES = str.maketrans(
    {"\n": "\u240a", "\r": "\u240d", "\t": "\u2409", "\u2028": "<U+2028>", "\u2029": "<U+2029>"}
)
_BLANK = r"[^\S\n]|\u2800"  # a braille pattern without dots looks blank too
_EMPTY = re.compile(rf"^(?:{_BLANK})+$", re.MULTILINE)
_BLANKS = re.compile(rf"(?:{_BLANK}){{{MOST_BLANKS + 1},}}")
_EMPTY_LINES = re.compile(r"\n{4,}")


def harmless(text: str) -> str:
    """The text, or a piece of one, with visible signs for hidden characters. Newlines and tabs
    stay; carriage returns, which could overwrite a line, are dropped."""
    return show_hidden_in_piece(text)


def one_line(text: str, width: int = 0) -> str:
    """The text on one line, every control character visible, cut to `width` characters if given."""
    flat = show_hidden_in_piece(text.translate(_LINES))
    return flat if not width or len(flat) <= width else flat[: width - 1] + "\u2026"


def first_line(text: str, width: int) -> str:
    """The first line that is not blank, cut to `width` characters."""
    return one_line(next((line for line in text.splitlines() if line.strip()), ""), width)


def main_argument(arguments: Mapping[str, Any], width: int = 60) -> str:
    """The values of a call in a few words, by which a person recognises it."""
    values = (value for value in arguments.values() if value not in (None, "", []))
    words = [
        ", ".join(map(_value, each)) if isinstance(each, list) else _value(each) for each in values
    ]
    return one_line(" ".join(words), width)


def whole_call(tool: str, arguments: Mapping[str, Any]) -> str:
    """The call with every argument in full, one below the other, nothing hidden."""
    lines = [one_line(tool)]
    for name, value in arguments.items():
        shown = show_hidden(_value(value)).split("\n")
        lines += [f"  {one_line(name)}: {shown[0]}", *(f"    {line}" for line in shown[1:])]
    return "\n".join(lines)


def fold_blanks(text: str) -> str:
    """The text with a count instead of many blanks or empty lines, which could push the rest out of
    sight."""
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


def columns(text: str) -> int:
    """The columns that the text takes on a terminal; East Asian characters take two."""
    if text.isascii():
        return len(text)
    return sum((2 if east_asian_width(c) in "WF" else 1) for c in text if not combining(c))


def _counter(what: str, around: str) -> Callable[[re.Match[str]], str]:
    return lambda found: f"{around}\u27e8{len(found[0]):,} {what}\u27e9{around}"


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


DIFF_COLOURS = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m"}
_HEAD_COLOUR = "\x1b[1m"
_DIFF_HEADS = ("+++ ", "--- ", "new file", "d", "Binary files")  # d: "diff", "deleted file"


def has_colours(out: TextIO, environ: Mapping[str, str]) -> bool:
    """Return True when the stream shows colours and the user wants them (https://no-color.org)."""
    return out.isatty() and environ.get("TERM") != "dumb" and not environ.get("NO_COLOR")


def colour_diff(lines: Iterable[str]) -> Iterator[str]:
    """Lines of a diff in git's colours; lines before the first diff stay as they are."""
    inside = False
    for line in lines:
        inside = inside or line.startswith("diff --git ")
        head = line.startswith(_DIFF_HEADS)
        colour = _HEAD_COLOUR if head else DIFF_COLOURS.get(line[:1], "")
        yield f"{colour}{line}\x1b[m" if inside and colour else line


def for_stdout(lines: Iterable[str]) -> Iterator[str]:
    """Lines for stdout: on a terminal harmless, and coloured if wanted; else unchanged, so that a
    diff can be applied."""
    if sys.stdout.isatty():
        lines = (harmless(replace_bad_bytes(line)) for line in lines)
    return colour_diff(lines) if has_colours(sys.stdout, os.environ) else iter(lines)


def print_lines(lines: Iterable[str]) -> None:
    """Print lines on stdout; see `for_stdout`."""
    raw = None if sys.stdout.isatty() else getattr(sys.stdout, "buffer", None)
    sys.stdout.flush()
    for line in for_stdout(lines):
        if raw:  # a diff may hold bytes that are not UTF-8
            raw.write(line.encode("utf-8", "surrogateescape") + b"\n")
        else:
            sys.stdout.write(f"{line}\n")


def warn(lines: Iterable[str]) -> None:
    """Print lines on stderr, for example about what was skipped in a listing."""
    for line in lines:
        sys.stderr.write(f"openclaw: {one_line(line)}\n")
