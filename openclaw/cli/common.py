"""Functions that several commands share: options, the home, tables and JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from openclaw.cli.formatting import for_stream, line_width, warn
from openclaw.errors import Damaged, OpenclawError, UsageError
from openclaw.security.display import columns, one_line
from openclaw.storage.home import Home, find_home
from openclaw.storage.safe_open import follow
from openclaw.storage.trust_store import is_trusted
from openclaw.types import KeepsWrites, ToolProblem

if TYPE_CHECKING:
    from openclaw.config import Settings
    from openclaw.history.history import Command
    from openclaw.home.recall import Recall


Item = TypeVar("Item")

SEARCH, HOME = "openclaw.search", "openclaw.home"
"""Keys in the context of a command: a search of memory that was started early, and the home."""


def current_home(ctx: typer.Context, *, notes: bool = False, reading: bool = False) -> Home:
    """The home that the command works in; with `notes` a folder that only has memory/ counts.

    The user is asked whether to trust a home that came from elsewhere. A command that is only
    `reading` gets it untrusted instead. Raises Damaged when there is no home, Refused for a no.
    """
    found: Home | None = ctx.meta.get(HOME)
    if found is not None:
        return found
    search: Recall | None = ctx.meta.get(SEARCH)  # begun only in a trusted home
    home = search.home if search else find_named_home(ctx, notes=notes)
    if search or is_trusted(home):
        ctx.meta[HOME] = home
    else:
        from openclaw.cli.home_trust import ensure_trusted

        home = ensure_trusted(home, reading=reading)
    follow(home.root, lambda: _allowed_links(home))
    return home


def find_named_home(ctx: typer.Context, *, notes: bool = False) -> Home:
    """The home that --home names (the object of the context) or that is found, trusted or not."""
    return find_home(ctx.obj, Path.cwd(), os.environ, notes=notes)


def _allowed_links(home: Home) -> Sequence[str]:
    """The folders that links in the home may lead to; none when its settings cannot be read."""
    try:
        return _read_settings(home).links
    except OpenclawError:
        return ()


def load_settings_or_defaults(ctx: typer.Context) -> Settings:
    """The settings of the home; the defaults without one, as a model can be fetched before."""
    try:
        return _read_settings(current_home(ctx, reading=True))
    except Damaged:
        return _read_settings(None)


def _read_settings(home: Home | None) -> Settings:
    from openclaw.config import Settings, load_settings

    return load_settings(home) if home else Settings()


@contextmanager
def record_as_turn(home: Home, words: str, store: KeepsWrites | None = None) -> Iterator[Command]:
    """Record the changes made in here as one turn; see `openclaw.home.command_turns`. What a store
    refuses is a UsageError."""
    from openclaw.home.command_turns import record_command

    with raise_usage_errors(), record_command(home, words, store) as made:
        yield made
    warn(made.notices)


@contextmanager
def raise_usage_errors() -> Iterator[None]:
    """Turn what a store refuses into a UsageError."""
    try:
        yield
    except ToolProblem as problem:
        raise UsageError(str(problem)) from None


def print_undo_hint() -> None:
    """Print how to take back what was just done."""
    sys.stderr.write("  take it back: openclaw undo\n")


def print_json(value: Any) -> None:
    """Print one JSON value, for programs."""
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
    shapes: Sequence[Any],
    rows: Iterable[Sequence[object]],
    headers: Sequence[str],
    *,
    as_json: bool,
    empty: str = "",
) -> None:
    """Print what was found: its `shapes` as JSON, or its rows as a table; that it is `empty` on
    stderr."""
    if as_json:
        print_json(shapes)
    elif shapes:
        sys.stdout.write(f"{table(rows, headers)}\n")
    elif empty:
        sys.stderr.write(f"{empty}\n")


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
