"""`openclaw memory`: what is remembered. No model is needed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openclaw.cli.commands.memory.lint import lint
from openclaw.cli.commands.memory.search import index, reindex, search
from openclaw.cli.commands.memory.test import test
from openclaw.cli.common import (
    as_turn,
    current_home,
    notes_of,
    past_day,
    print_json,
    problems_as_usage,
    shape,
    table,
    tell_undo,
    where,
)
from openclaw.cli.formatting import one_line
from openclaw.cli.questions import confirmed, read_reply

if TYPE_CHECKING:
    from openclaw.memory.notes import Note, Notes
    from openclaw.storage.home import Home


app = typer.Typer(
    help="Show, add to and forget what is remembered.",
    add_completion=False,
    rich_markup_mode=None,
)

CATEGORIES = "preference, fact, decision, entity or other"

app.command("search")(search)


def review(
    ctx: typer.Context,
    accept: Annotated[
        list[str] | None,
        typer.Option("--accept", metavar="N|TEXT|all", help="Remember this one; repeatable."),
    ] = None,
    reject: Annotated[
        list[str] | None,
        typer.Option("--reject", metavar="N|TEXT|all", help="Take this one out; repeatable."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what is in memory/inbox to review. On a terminal it asks for each one."""
    home = current_home(ctx)
    notes = notes_of(home)
    waiting = notes.candidates()
    if accept or reject:
        _decide(home, notes, waiting, accept or [], reject or [], as_json)
    elif as_json:
        print_json([{"n": n, **shape(home, note)} for n, note in enumerate(waiting, 1)])
    elif not waiting:
        typer.echo("nothing to review", err=True)
    elif sys.stdin.isatty() and sys.stdout.isatty():
        _ask(home, notes, waiting)
    else:
        rows = [(n, note.date, note.source, note.text) for n, note in enumerate(waiting, 1)]
        typer.echo(table(rows, ("N", "DATE", "SOURCE", "TEXT")))


app.command("review")(review)
app.command("index")(index)
app.command("reindex")(reindex)
app.command("test")(test)
app.command("lint")(lint)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Category = Annotated[str, typer.Option("--category", metavar="NAME", help=f"{CATEGORIES}.")]


@app.command("list")
def show_all(
    ctx: typer.Context,
    as_json: AsJson = False,
    everything: Annotated[
        bool, typer.Option("--all", "-a", help="Show superseded ones too.")
    ] = False,
    category: Category = "",
    since: Annotated[
        str, typer.Option("--since", metavar="DATE", help="Only from this day on.")
    ] = "",
) -> None:
    """List what is remembered: lasting facts, then the days, newest first."""
    home = current_home(ctx, reading=True)
    _check_category(category)
    first = past_day(since)
    notes = [
        note
        for note in notes_of(home).list(everything)
        if category in ("", note.category) and first <= note.date
    ]
    if as_json:
        print_json([shape(home, note) for note in notes])
    elif notes:
        typer.echo(table(_rows(home, notes), ("WHERE", "DATE", "CATEGORY", "TEXT")))
    else:
        chosen = bool(category or first)
        typer.echo(
            f"nothing {'like that is remembered' if chosen else 'is remembered yet'}", err=True
        )


@app.command("add")
def add(
    ctx: typer.Context,
    text: Annotated[list[str], typer.Argument(metavar="TEXT...", help="One fact.")],
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
    from openclaw.memory.entries import Meta
    from openclaw.memory.notes import Known, Remembered

    home = current_home(ctx)
    _check_category(category)
    meta = Meta(category, importance=importance)
    fact = " ".join(text)
    with problems_as_usage(), as_turn(home, f"memory add {fact}") as turn:
        notes = notes_of(home)
        notes.keep = turn.keep
        try:
            kept = notes.remember(
                fact, "today" if today else "lasting", meta=meta, replaces=replaces
            )
        except Known as known:
            kept = Remembered(known.note, known=True)
    if as_json:
        replaced = [shape(home, note) for note in kept.superseded]
        more = {"replaced": replaced, "known": kept.known, "turn": turn.turn}
        print_json({**shape(home, kept.note), **more})
        return
    typer.echo(f"{'already' if kept.known else 'remembered'} in {where(home, kept.note)}")
    for note in kept.superseded:
        typer.echo(one_line(f"superseded {where(home, note)}: {note.text}"))


@app.command("forget")
def forget(
    ctx: typer.Context,
    words: Annotated[
        list[str], typer.Argument(metavar="TEXT|PATH:LINE", help="Its text, or where it stands.")
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take one memory out, with what is indented below it. Shows it and asks first."""
    home = current_home(ctx)
    notes = notes_of(home)
    note = _one(home, notes.find(" ".join(words)), " ".join(words))
    with problems_as_usage():
        lines = notes.lines(note)
        if not (yes and as_json):
            for number, line in enumerate(lines, note.line):
                typer.echo(one_line(f"{home.relative(note.path)}:{number}: {line}"), err=True)
        if not confirmed("Forget this?", yes=yes):
            typer.echo("nothing was changed", err=True)
            raise typer.Exit(1)
        with as_turn(home, f"memory forget {where(home, note)}") as turn:
            notes.keep = turn.keep
            notes.forget(note)
    if as_json:
        print_json([{**shape(home, note), "lines": list(lines)}])
    else:
        typer.echo(one_line(f"forgotten: {note.text}"))
        tell_undo()


def _rows(home: Home, notes: Sequence[Note]) -> Iterator[tuple[str, ...]]:
    for note in notes:
        gone = f" (until {note.until})" if note.until else " (superseded)"
        text = note.text + (gone if note.superseded else "")
        yield where(home, note), note.date, note.category, text


def _one(home: Home, found: Sequence[Note], text: str) -> Note:
    from openclaw.errors import UsageError

    if not found:
        raise UsageError(f"nothing remembered fits {text}", "see it all: openclaw memory list")
    if len(found) > 1:
        places = "\n".join(f"{where(home, note)}  {note.text}" for note in found)
        raise UsageError(f"{text} fits {len(found)} memories", f"give path and line:\n{places}")
    return found[0]


def _check_category(name: str) -> None:
    from openclaw.errors import UsageError
    from openclaw.memory.entries import CATEGORIES as KNOWN

    if name and name not in KNOWN:
        raise UsageError(f"{name} is no category", f"take one of: {', '.join(KNOWN)}")


QUESTION = "Remember it? [y]es  [n]o, take it out  [S]kip for now  [q]uit "
REPLIES = ("y", "yes", "n", "no", "s", "", "q", "quit")


def _decide(
    home: Home,
    notes: Notes,
    waiting: Sequence[Note],
    accept: Sequence[str],
    reject: Sequence[str],
    as_json: bool,
) -> None:
    from openclaw.errors import UsageError

    yes = dict.fromkeys(note for word in accept for note in _find_candidates(waiting, word))
    no = dict.fromkeys(note for word in reject for note in _find_candidates(waiting, word))
    if yes.keys() & no.keys():
        raise UsageError("the same one cannot be accepted and rejected")
    done = []
    with as_turn(home, "memory review") as turn:
        notes.keep = turn.keep
        for note in waiting:
            if note in yes or note in no:
                done += _decide_one(home, notes, note, note in yes)
    if as_json:
        print_json(done)
    else:
        for one in done:
            typer.echo(_line(one))


def _find_candidates(waiting: Sequence[Note], word: str) -> Sequence[Note]:
    """Return the candidates that a number, a text or "all" means. UsageError unless one or all."""
    from openclaw.errors import UsageError
    from openclaw.memory.notes import find

    if word == "all":
        return waiting
    if word.isdecimal():
        found = [note for n, note in enumerate(waiting, 1) if n == int(word)]
    else:
        found = [*find(word, waiting)]
    if not found:
        raise UsageError(f"there is no {word} to review", "see them all: openclaw memory review")
    if len(found) > 1:
        lines = "\n".join(f"{waiting.index(note) + 1}  {note.text}" for note in found)
        raise UsageError(f"{word} fits {len(found)} of them", f"give the number:\n{lines}")
    return found


def _decide_one(home: Home, notes: Notes, note: Note, yes: bool) -> list[dict[str, Any]]:
    """Accept or reject a candidate where it stands by now, and say so; ignore one that is gone."""
    for now in notes.candidates():
        if (now.path, now.text) == (note.path, note.text):
            with problems_as_usage():
                return [_accepted(home, notes, now) if yes else _rejected(notes, now)]
    typer.echo(one_line(f"no longer in {where(home, note)}"), err=True)
    return []


def _accepted(home: Home, notes: Notes, note: Note) -> dict[str, Any]:
    kept = notes.accept(note)
    did = "known" if kept.known else "accepted"
    replaced = [shape(home, old) for old in kept.superseded]
    return {"did": did, **shape(home, kept.note), "replaced": replaced}


def _rejected(notes: Notes, note: Note) -> dict[str, Any]:
    notes.reject(note)
    return {"did": "rejected", "text": note.text}


def _line(one: dict[str, Any]) -> str:
    if one["did"] == "rejected":
        return one_line(f"rejected: {one['text']}")
    words = "remembered in" if one["did"] == "accepted" else "known already in"
    old = "".join(f"; superseded: {each['text']}" for each in one["replaced"])
    return one_line(f"{words} {one['path']}:{one['line']}: {one['text']}{old}")


def _ask(home: Home, notes: Notes, waiting: Sequence[Note]) -> None:
    for note in waiting:
        source = f" (from {note.source})" if note.source else ""
        typer.echo(one_line(f"{note.text}{source}"))
        reply = _reply()
        if reply == "q":
            return
        if reply in ("y", "n"):
            with as_turn(home, f"memory review: {note.text}") as turn:
                notes.keep = turn.keep
                done = _decide_one(home, notes, note, reply == "y")
            for one in done:
                typer.echo(_line(one))


def _reply() -> str:
    """Return the first letter of the reply: y, n, s or q; end of input means q."""
    while True:
        try:
            reply = read_reply(QUESTION, sys.stderr).strip().lower()
        except EOFError:
            return "q"
        if reply in REPLIES:
            return reply[:1] or "s"
