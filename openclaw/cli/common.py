"""What the commands share: the options of every command, the home, and how lists are shown."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from openclaw.app.command import Command
    from openclaw.files.home import Home


@dataclass(frozen=True, slots=True)
class Options:
    """The options that stand before the command."""

    home: str | None = None
    debug: bool = False


def options(ctx: typer.Context) -> Options:
    """What the main callback left, or nothing said when a command is run by itself."""
    return ctx.find_object(Options) or Options()


def current_home(ctx: typer.Context, *, notes: bool = False, reading: bool = False) -> Home:
    """The home that the command works in; with `notes` a folder that only has memory/ will do.

    One that came from elsewhere is asked about, but for a command that is only `reading`: that one
    gets it as it is, untrusted. Raises Damaged when there is no home, Refused without the yes.
    """
    from openclaw.files.beneath import follow
    from openclaw.files.trust import is_trusted

    home = found_home(ctx, notes=notes)
    if not is_trusted(home):
        from openclaw.cli.trust import settle

        home = settle(home, reading=reading)
    follow(home.root, lambda: _links_of(home))
    return home


def found_home(ctx: typer.Context, *, notes: bool = False) -> Home:
    """The home that the command names, whether it is trusted or not."""
    from openclaw.files.home import find_home

    return find_home(options(ctx).home, Path.cwd(), os.environ, notes=notes)


def _links_of(home: Home) -> Sequence[str]:
    """The folders that links of the home may lead to; none while its settings cannot be read."""
    from openclaw.config import load_settings
    from openclaw.errors import OpenclawError

    try:
        return load_settings(home).links
    except OpenclawError:
        return ()


@contextmanager
def as_turn(home: Home, words: str) -> Iterator[Command]:
    """What is changed in here is one turn of the history; see `openclaw.app.command`."""
    from openclaw.app.command import command

    with command(home, words) as made:
        yield made
    warn(made.notices)


def tell_undo() -> None:
    """Say how what was just done is taken back."""
    sys.stderr.write("  take it back: openclaw undo\n")


def print_json(value: Any) -> None:
    """One JSON value on stdout, for programs."""
    import json

    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n")


def table(rows: Iterable[Sequence[object]], headers: Sequence[str]) -> str:
    """Rows as aligned text below their headers, without a newline at the end.

    Control characters are made visible; on a terminal lines are cut at its width.
    """
    import shutil

    from openclaw.cli.visible import columns, one_line

    lines = [list(headers), *([one_line(str(cell)) for cell in row] for row in rows)]
    widths = [max(columns(cell) for cell in column) for column in zip(*lines, strict=True)]
    limit = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    return "\n".join(
        one_line(
            "  ".join(_padded(*pair) for pair in zip(line, widths, strict=True)).rstrip(), limit
        )
        for line in lines
    )


def warn(lines: Iterable[str]) -> None:
    """Lines on stderr, for what was skipped while a listing went on."""
    from openclaw.cli.visible import one_line

    for line in lines:
        sys.stderr.write(f"openclaw: {one_line(line)}\n")


def can_ask() -> bool:
    """Whether a question reaches the user: a terminal to read from and one to ask on."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def confirmed(question: str, *, yes: bool) -> bool:
    """Whether the user agrees: `--yes`, or asked on a terminal; UsageError when nobody can be."""
    if yes:
        return True
    if not can_ask():
        from openclaw.errors import UsageError

        raise UsageError("this asks first, and there is no terminal to ask on", "add --yes")
    from openclaw.cli.reply import read_reply

    with suppress(EOFError):
        while True:
            reply = read_reply(f"{question} [y/N]: ", sys.stderr).strip().lower()
            if reply in ("", "n", "no", "y", "yes"):
                return reply[:1] == "y"
    return False


def _padded(text: str, width: int) -> str:
    from openclaw.cli.visible import columns

    return text + " " * (width - columns(text))
