"""`openclaw memory`: what is remembered. No model is needed."""

from __future__ import annotations

from typing import Annotated

import typer

from openclaw.cli.current_home import current_home, raise_usage_errors, record_as_turn
from openclaw.cli.day_option import parse_iso_day
from openclaw.cli.formatting import Shape, print_listing, print_result
from openclaw.cli.options import AsJson, Since, Unasked
from openclaw.cli.questions import require_yes
from openclaw.errors import UsageError
from openclaw.memory.entries import CATEGORIES as KNOWN
from openclaw.memory.entries import Meta
from openclaw.memory.notes import AlreadyKnownError, SavedNote, typed_notes
from openclaw.security.display import one_line

CATEGORIES = "preference, fact, decision, entity or other"


Category = Annotated[str, typer.Option("--category", metavar="NAME", help=f"{CATEGORIES}.")]


def list_(
    ctx: typer.Context,
    as_json: AsJson = False,
    everything: Annotated[
        bool, typer.Option("--all", "-a", help="Show superseded ones too.")
    ] = False,
    category: Category = "",
    since: Since = "",
) -> None:
    """List what is remembered: lasting facts, then the days, newest first."""
    home = current_home(ctx, reading=True)
    _check_category(category)
    first = parse_iso_day(since)
    notes = [
        note
        for note in typed_notes(home).list(everything)
        if (not category or category == note.category) and first <= note.date
    ]
    print_listing(
        [note.as_json(home) for note in notes],
        {"WHERE": _place, "DATE": "date", "CATEGORY": "category", "TEXT": _text},
        as_json=as_json,
        empty=f"nothing {'like that is remembered' if category or first else 'is remembered yet'}",
    )


def add(
    ctx: typer.Context,
    text: Annotated[list[str], typer.Argument(help="One fact.")],
    today: Annotated[
        bool, typer.Option("--today", help="Note it for today, not as a lasting fact.")
    ] = False,
    category: Category = "",
    importance: Annotated[
        float | None, typer.Option("--importance", metavar="X", min=0, max=1, help="0 to 1.")
    ] = None,
    replaces: Annotated[
        str,
        typer.Option(
            "--replaces", metavar="TEXT|PATH:LINE", help="What it corrects; that is struck through."
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Remember a lasting fact, or with --today a note of the day. A known fact that it corrects
    stays in the file, struck through."""
    home = current_home(ctx)
    _check_category(category)
    meta = Meta(category, importance=importance)
    fact = " ".join(text)
    notes = typed_notes(home)
    with record_as_turn(home, f"memory add {fact}", notes) as turn:
        try:
            kept = notes.remember(
                fact, "today" if today else "lasting", meta=meta, replaces=replaces
            )
        except AlreadyKnownError as known:
            kept = SavedNote(known.note, known=True)
    replaced = [note.as_json(home) for note in kept.superseded]
    more = {"replaced": replaced, "known": kept.known, "turn": turn.turn}
    print_result(
        {**kept.note.as_json(home), **more},
        f"{'already' if kept.known else 'remembered'} in {kept.note.place(home)}",
        *(one_line(f"superseded {old.place(home)}: {old.text}") for old in kept.superseded),
        as_json=as_json,
    )


def forget(
    ctx: typer.Context,
    words: Annotated[
        list[str], typer.Argument(metavar="TEXT|PATH:LINE", help="Its text, or where it stands.")
    ],
    yes: Unasked = False,
    as_json: AsJson = False,
) -> None:
    """Take one memory out, with what is indented below it. Shows it and asks first."""
    home = current_home(ctx)
    notes = typed_notes(home)
    note = notes.find_one(" ".join(words), home)
    with raise_usage_errors():
        lines = notes.lines(note)
        if not (yes and as_json):
            for number, line in enumerate(lines, note.line):
                typer.echo(one_line(f"{home.relative(note.path)}:{number}: {line}"), err=True)
        require_yes("Forget this?", yes=yes, otherwise="nothing was changed")
        with record_as_turn(home, f"memory forget {note.place(home)}", notes):
            notes.forget(note)
    shape = {**note.as_json(home), "lines": list(lines)}
    print_result([shape], one_line(f"forgotten: {note.text}"), as_json=as_json, undo=True)


def _place(note: Shape) -> str:
    return f"{note['path']}:{note['line']}"


def _text(note: Shape) -> str:
    gone = f" (until {note['until']})" if note["until"] else " (superseded)"
    return f"{note['text']}{gone if note['superseded'] else ''}"


def _check_category(name: str) -> None:
    if name and name not in KNOWN:
        raise UsageError(f"{name} is no category", f"take one of: {', '.join(KNOWN)}")
