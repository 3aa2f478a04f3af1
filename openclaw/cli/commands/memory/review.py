"""`openclaw memory review`: candidates in memory/inbox that wait for the user's yes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from openclaw.cli.current_home import current_home, record_as_turn
from openclaw.cli.formatting import print_listing, print_result
from openclaw.cli.options import AsJson
from openclaw.cli.questions import read_letter
from openclaw.errors import UsageError
from openclaw.memory.notes import Note, Notes, choose_candidates, typed_notes
from openclaw.security.display import one_line
from openclaw.storage.home import Home


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
    as_json: AsJson = False,
) -> None:
    """Show what is in memory/inbox to review. On a terminal it asks for each one."""
    home = current_home(ctx)
    notes = typed_notes(home)
    waiting = notes.candidates()
    if accept or reject:
        _decide(home, notes, waiting, accept or [], reject or [], as_json)
    elif waiting and not as_json and sys.stdin.isatty() and sys.stdout.isatty():
        _ask(home, notes, waiting)
    else:
        print_listing(
            [{"n": n, **note.as_json(home)} for n, note in enumerate(waiting, 1)],
            {"N": "n", "DATE": "date", "SOURCE": "source", "TEXT": "text"},
            as_json=as_json,
            empty="nothing to review",
        )


QUESTION = "Remember it? [y]es  [n]o, take it out  [S]kip for now  [q]uit "


def _decide(
    home: Home,
    notes: Notes,
    waiting: Sequence[Note],
    accept: Sequence[str],
    reject: Sequence[str],
    as_json: bool,
) -> None:
    yes = dict.fromkeys(note for word in accept for note in choose_candidates(waiting, word))
    no = dict.fromkeys(note for word in reject for note in choose_candidates(waiting, word))
    if yes.keys() & no.keys():
        raise UsageError("the same one cannot be accepted and rejected")
    done = []
    with record_as_turn(home, "memory review", notes):
        for note in waiting:
            if note in yes or note in no:
                done += _decide_one(home, notes, note, note in yes)
    print_result(done, *map(_line, done), as_json=as_json)


def _decide_one(home: Home, notes: Notes, note: Note, yes: bool) -> list[dict[str, Any]]:
    """Accept or reject a candidate, and say so; ignore one that is gone."""
    if decided := notes.decide(note, yes, home):
        return [decided]
    typer.echo(one_line(f"no longer in {note.place(home)}"), err=True)
    return []


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
        try:
            reply = read_letter(QUESTION, "ynsq", "s")
        except EOFError:
            return
        if reply == "q":
            return
        if reply in ("y", "n"):
            with record_as_turn(home, f"memory review: {note.text}", notes):
                done = _decide_one(home, notes, note, reply == "y")
            for one in done:
                typer.echo(_line(one))
