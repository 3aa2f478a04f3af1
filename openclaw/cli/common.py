"""Functions that several commands share: options, the home, tables and JSON, playing a turn."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from openclaw.cli.formatting import warn
from openclaw.cli.render import DoneJson, JsonLines, Listener, PlainText, exit_code
from openclaw.errors import OpenclawError, UsageError
from openclaw.events import Done, Error, Event

if TYPE_CHECKING:
    from openclaw.agent.agent import App
    from openclaw.config import Settings
    from openclaw.history.history import Command
    from openclaw.memory.notes import Note, Notes
    from openclaw.sessions.session import Session
    from openclaw.sessions.store import SessionStore
    from openclaw.storage.home import Home


class Modes(StrEnum):
    read_only = "read-only"
    ask = "ask"
    edit = "edit"
    full = "full"


_GENERATED_ID = re.compile(r"\d{4}-\d\d-\d\d-\d")
Continue = Annotated[
    bool, typer.Option("-c", "--continue", help="Continue the latest conversation.")
]
SessionName = Annotated[
    str | None,
    typer.Option(
        "--session", "-s", metavar="NAME", help="Continue a named one, made when missing."
    ),
]
ModelName = Annotated[
    str | None,
    typer.Option("--model", "-m", metavar="NAME", help="The model, e.g. ollama/qwen3:4b."),
]
ModeName = Annotated[Modes | None, typer.Option("--mode", help="What tools may do.")]
Yes = Annotated[bool, typer.Option("--yes", help="Answer every question of a tool with yes.")]
NoMemory = Annotated[bool, typer.Option("--no-memory", help="Without memory and to-dos.")]
SkillName = Annotated[
    str, typer.Option("--skill", metavar="NAME", help="Follow this skill.", show_default=False)
]


@dataclass(frozen=True, slots=True)
class Options:
    """The options that stand before the command."""

    home: str | None = None
    debug: bool = False


def options(ctx: typer.Context) -> Options:
    """The options that the main callback stored; the defaults when a command is run by itself."""
    return ctx.find_object(Options) or Options()


def current_home(ctx: typer.Context, *, notes: bool = False, reading: bool = False) -> Home:
    """The home that the command works in; with `notes` a folder that only has memory/ counts.

    The user is asked whether to trust a home that came from elsewhere. A command that is only
    `reading` gets it untrusted instead. Raises Damaged when there is no home, Refused for a no.
    """
    from openclaw.storage.home import is_trusted
    from openclaw.storage.safe_open import follow

    home = found_home(ctx, notes=notes)
    if not is_trusted(home):
        from openclaw.cli.approval import settle

        home = settle(home, reading=reading)
    follow(home.root, lambda: _allowed_links(home))
    return home


def found_home(ctx: typer.Context, *, notes: bool = False) -> Home:
    """The home that the command names, trusted or not."""
    from openclaw.storage.home import find_home

    return find_home(options(ctx).home, Path.cwd(), os.environ, notes=notes)


def _allowed_links(home: Home) -> Sequence[str]:
    """The folders that links in the home may lead to; none when its settings cannot be read."""
    from openclaw.config import load_settings
    from openclaw.errors import OpenclawError

    try:
        return load_settings(home).links
    except OpenclawError:
        return ()


@contextmanager
def as_turn(home: Home, words: str) -> Iterator[Command]:
    """Record the changes made in here as one turn; see `openclaw.history.history`."""
    from openclaw.history.history import command

    with command(home, words) as made:
        yield made
    warn(made.notices)


def tell_undo() -> None:
    """Print how to take back what was just done."""
    sys.stderr.write("  take it back: openclaw undo\n")


def print_json(value: Any) -> None:
    """Print one JSON value, for programs."""
    import json

    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n")


def table(rows: Iterable[Sequence[object]], headers: Sequence[str]) -> str:
    """Rows as aligned text below their headers, without a newline at the end. Control characters
    are made visible; on a terminal lines are cut at its width."""
    import shutil

    from openclaw.cli.formatting import columns, one_line

    lines = [list(headers), *([one_line(str(cell)) for cell in row] for row in rows)]
    widths = [max(columns(cell) for cell in column) for column in zip(*lines, strict=True)]
    limit = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    return "\n".join(
        one_line("  ".join(_pad(*pair) for pair in zip(line, widths, strict=True)).rstrip(), limit)
        for line in lines
    )


def _pad(text: str, width: int) -> str:
    from openclaw.cli.formatting import columns

    return text + " " * (width - columns(text))


def is_made_id(session_id: str) -> bool:
    """Return True when a session's id was made from the time, so is no name the user gave."""
    return bool(_GENERATED_ID.match(session_id))


def open_session(store: SessionStore, latest: bool, name: str | None, model: str) -> Session:
    """The latest session, the one with this name or title (made when missing), or a new one. A name
    that looks like a generated id must exist."""
    if latest and name:
        raise UsageError("--continue and --session exclude each other")
    if latest or (name and is_made_id(name)):
        return store.load("latest" if latest else str(name))
    if name is None:
        return store.new(None, model)
    with contextlib.suppress(UsageError):
        if store.find(name) == name:
            return store.load(name)
    titled = [s.id for s in store.list() if s.title.casefold() == name.strip().casefold()]
    return store.load(titled[0]) if titled else store.new(name, model)


def play(
    events: Iterator[Event],
    listener: Listener,
    seen: Callable[[Event], Event] = lambda event: event,
) -> Done | Error | None:
    """Let the listener hear a whole turn, each event as changed by `seen`; returns the event that
    ended the turn.

    A Ctrl-C while the listener works goes to the turn, which ends as interrupted. When the turn
    raises an OpenclawError, the listener is closed and the error goes on to the caller.
    """
    end: Done | Error | None = None
    try:
        listener.begin("getting ready")
        for event in _interruptible(events, lambda event: listener(seen(event))):
            if isinstance(event, Done | Error):
                end = event
    finally:
        listener.close()
        if close := getattr(events, "close", None):
            close()
    return end


def code_of(end: Done | Error | None) -> int:
    """The exit code for the event that ended a turn."""
    if isinstance(end, Done):
        return exit_code(end)
    return end.exit_code if end else OpenclawError.exit_code


def _interruptible(events: Iterator[Event], hear: Callable[[Event], None]) -> Iterator[Event]:
    try:
        for event in events:
            hear(event)
            yield event
    except KeyboardInterrupt as interrupt:
        throw = getattr(events, "throw", None)
        if not throw:
            raise
        with contextlib.suppress(StopIteration):
            event = throw(interrupt)
            hear(event)
            yield event
        for event in events:
            hear(event)
            yield event


def by_name(skill: str) -> str:
    """The prompt when the user names a skill and nothing else."""
    return f"Do what the skill {skill} says."


def notes_of(home: Home) -> Notes:
    """The notes of a home; those that a command adds have the source "typed"."""
    from openclaw.memory.notes import Notes

    return Notes(home.memory, source=lambda: "typed")


@contextmanager
def problems_as_usage() -> Iterator[None]:
    """Turn what a store refuses into a UsageError."""
    from openclaw.errors import UsageError
    from openclaw.types import ToolProblem

    try:
        yield
    except ToolProblem as problem:
        raise UsageError(str(problem)) from None


def where(home: Home, note: Note) -> str:
    """PATH:LINE of a note."""
    return f"{home.relative(note.path)}:{note.line}"


def shape(home: Home, note: Note) -> dict[str, Any]:
    """A note as JSON."""
    return {
        "path": home.relative(note.path),
        "line": note.line,
        "text": note.text,
        "category": note.category,
        "date": note.date or None,
        "source": note.source or None,
        "importance": note.importance,
        "superseded": note.superseded,
        "until": note.until or None,
    }


def past_day(text: str) -> str:
    """The ISO day that a phrase such as "last week" means; "" for none."""
    from datetime import date

    from openclaw.errors import UsageError
    from openclaw.nlp.dates import day_of

    day = day_of(text, date.today(), "past") if text else None
    if text and day is None:
        raise UsageError(f"{text} is not a date", "write it as 2026-11-01, yesterday or last week")
    return day.isoformat() if day else ""


def settings_of(ctx: typer.Context) -> Settings:
    """The settings of the home; the defaults without one, as a model can be fetched before."""
    from openclaw.config import Settings, load_settings
    from openclaw.errors import Damaged

    try:
        return load_settings(current_home(ctx, reading=True))
    except Damaged:
        return Settings()


def choose_listener(
    output: str,
    out: TextIO,
    err: TextIO,
    environ: Mapping[str, str],
    *,
    quiet: bool = False,
    bell: float = 0.0,
    typed: Callable[[], str] | None = None,
) -> Listener:
    """The listener for an output format ("text", "json", "stream-json") and these streams. For
    `bell` and `typed` see `Screen`."""
    if output == "json":
        return DoneJson(out)
    if output == "stream-json":
        return JsonLines(out)
    capable = environ.get("TERM") != "dumb"
    if out.isatty() and capable:
        from openclaw.cli.terminal import Screen

        animated = not environ.get("NO_COLOR")
        return Screen(out, err, notes=not quiet, typed=typed, animated=animated, bell=bell)
    person = err.isatty()
    dim = person and capable and not environ.get("NO_COLOR")
    return PlainText(out, err, tools=person and not quiet, notes=not quiet, dim=dim)


def open_app(ctx: typer.Context, *, reading: bool = False) -> App:
    """Open the home with its history, without a model. See `current_home`."""
    from openclaw.agent.agent import App
    from openclaw.config import load_settings

    home = current_home(ctx, reading=reading)
    return App.open(home, load_settings(home))
