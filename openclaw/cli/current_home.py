"""The home that a command works in: finding it, its settings, and its changes as one turn."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from openclaw.cli.formatting import warn
from openclaw.errors import Damaged, OpenclawError, UsageError
from openclaw.storage.home import Home, find_home
from openclaw.storage.safe_open import follow
from openclaw.storage.trust_store import is_trusted
from openclaw.types import KeepsWrites, ToolProblem

if TYPE_CHECKING:
    from openclaw.config import Settings
    from openclaw.history.history import Command
    from openclaw.home.search_client import SearchClient


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
    search: SearchClient | None = ctx.meta.get(SEARCH)  # begun only in a trusted home
    home = search.home if search else find_named_home(ctx, notes=notes)
    if search or is_trusted(home):
        ctx.meta[HOME] = home
    else:
        from openclaw.cli.trust_questions import ensure_trusted

        home = ensure_trusted(home, reading=reading)
    follow(home.root, lambda: _allowed_links(home))
    return home


def find_named_home(ctx: typer.Context, *, notes: bool = False) -> Home:
    """The home that --home names (the object of the context) or that is found, trusted or not."""
    try:
        here = Path.cwd()
    except FileNotFoundError:
        raise UsageError("the current folder was removed", "go to another one: cd ~") from None
    return find_home(ctx.obj, here, os.environ, notes=notes)


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
