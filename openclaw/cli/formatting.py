"""What commands print: results as lines, tables or JSON, diffs in colours, and warnings."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, TextIO, TypeVar

import typer

from openclaw.security.display import columns, harmless, one_line
from openclaw.storage.text import replace_bad_bytes

Item = TypeVar("Item")
Shape = Mapping[str, Any]  # a thing that was found, as its JSON
Column = str | Callable[[Shape], object]  # the key of a shape, or a function of it

DIFF_COLOURS = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m"}
LEAST_WIDTH = 40
PIPED_WIDTH = 100
_HEAD_COLOUR = "\x1b[1m"
_DIFF_HEADS = ("+++ ", "--- ", "new file", "d", "Binary files")  # d: "diff", "deleted file"


def has_colours(out: TextIO) -> bool:
    """Return True when the stream shows colours and the user wants them (https://no-color.org)."""
    environ = os.environ
    return out.isatty() and environ.get("TERM") != "dumb" and not environ.get("NO_COLOR")


def paint(text: str, code: str) -> str:
    """The text for stdout in a colour, where there are any."""
    return f"{code}{text}\x1b[m" if code and has_colours(sys.stdout) else text


def colour_diff(lines: Iterable[str]) -> Iterator[str]:
    """Lines of a diff in git's colours; lines before the first diff stay as they are."""
    inside = False
    for line in lines:
        inside = inside or line.startswith("diff --git ")
        head = line.startswith(_DIFF_HEADS)
        colour = _HEAD_COLOUR if head else DIFF_COLOURS.get(line[:1], "")
        yield f"{colour}{line}\x1b[m" if inside and colour else line


def for_stream(text: str, out: TextIO) -> str:
    """The text for a stream: harmless on a terminal, unchanged elsewhere."""
    return harmless(text) if out.isatty() else text


def for_stdout(lines: Iterable[str]) -> Iterator[str]:
    """Lines for stdout: on a terminal harmless, and coloured if wanted; else unchanged, so that a
    diff can be applied."""
    if sys.stdout.isatty():
        lines = (harmless(replace_bad_bytes(line)) for line in lines)
    return colour_diff(lines) if has_colours(sys.stdout) else iter(lines)


def print_lines(lines: Iterable[str]) -> None:
    """Print lines on stdout; see `for_stdout`."""
    raw = None if sys.stdout.isatty() else getattr(sys.stdout, "buffer", None)
    sys.stdout.flush()
    for line in for_stdout(lines):
        if raw:  # a diff may hold bytes that are not UTF-8
            raw.write(line.encode("utf-8", "surrogateescape") + b"\n")
        else:
            sys.stdout.write(f"{line}\n")


def line_width(out: TextIO, otherwise: int = 0) -> int:
    """The columns of the terminal; `otherwise` when the stream is none."""
    return shutil.get_terminal_size().columns if out.isatty() else otherwise


def wrap(text: str, width: int, indent: str) -> list[str]:
    """Break a line into lines of `width` columns, 0 for no end; those after the first are
    indented."""
    if not width:
        return [text]
    return textwrap.wrap(
        text,
        max(width, LEAST_WIDTH),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def warn(lines: Iterable[str]) -> None:
    """Print lines on stderr, for example about what was skipped in a listing."""
    for line in lines:
        sys.stderr.write(f"openclaw: {one_line(line)}\n")


def print_undo_hint() -> None:
    sys.stderr.write("  take it back: openclaw undo\n")


def print_json(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=2, default=str)
    sys.stdout.write(for_stream(text, sys.stdout) + "\n")


def print_each(
    items: Iterable[Item], describe: Callable[[Item], str], *, as_json: bool
) -> list[Item]:
    """Return all items; each is printed as it comes, because a model takes its time."""
    done = []
    for item in items:
        done.append(item)
        if not as_json:
            typer.echo(describe(item))
    return done


def print_result(value: Any, *lines: str, as_json: bool, undo: bool = False) -> None:
    """Print the result of a command as JSON or in lines; with `undo` also how to take it back."""
    if as_json:
        print_json(value)
        return
    for line in lines:
        typer.echo(line)
    if undo:
        print_undo_hint()


def print_listing(
    shapes: Sequence[Shape],
    columns: Mapping[str, Column],
    *,
    as_json: bool,
    empty: str = "",
) -> None:
    """Print what was found: its `shapes` as JSON, or as a table with these columns, each below its
    head; that it is `empty` on stderr."""
    if as_json:
        print_json(shapes)
    elif shapes:
        rows = ([_cell(shape, column) for column in columns.values()] for shape in shapes)
        sys.stdout.write(f"{table(rows, [*columns])}\n")
    elif empty:
        sys.stderr.write(f"{empty}\n")


def _cell(shape: Shape, column: Column) -> object:
    value = column(shape) if callable(column) else shape.get(column)
    return "" if value is None else value


def table(
    rows: Iterable[Sequence[object]],
    headers: Sequence[str],
    right: Container[int] = (),
    indent: str = "",
) -> str:
    """Rows as aligned text below their headers, without a newline at the end; the columns `right`
    end below each other. Control characters are made visible; on a terminal lines are cut at its
    width. A table of rich takes longer to import (35 ms) than most commands that print one."""
    lines = [list(headers), *([one_line(str(cell)) for cell in row] for row in rows)]
    widths = [max(columns(cell) for cell in column) for column in zip(*lines, strict=True)]
    limit = line_width(sys.stdout)

    def pad(at: int, cell: str) -> str:
        blanks = " " * (widths[at] - columns(cell))
        return blanks + cell if at in right else cell + blanks

    joined = ("  ".join(pad(*cell) for cell in enumerate(line)).rstrip() for line in lines)
    return "\n".join(indent + one_line(line, max(limit - len(indent), 0)) for line in joined)
