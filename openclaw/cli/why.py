"""`openclaw why` and /why: what an answer is made of, step by step. No model is needed."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from openclaw.cli.common import print_json

if TYPE_CHECKING:
    from openclaw.app.why import Why
    from openclaw.history.history import History
    from openclaw.sessions.store import Session, SessionStore

FULL = "--full"
_NUMBER = re.compile(r"[1-9]\d{0,6}")


class Asked(Protocol):
    """What is asked of an open home here; see openclaw.app.App."""

    @property
    def history(self) -> History: ...
    @property
    def sessions(self) -> SessionStore: ...


def why(
    ctx: typer.Context,
    turn: Annotated[
        str,
        typer.Argument(
            metavar="TURN",
            show_default=False,
            help="Its number, SESSION:N, or its id as `log` shows it. Default: the last.",
        ),
    ] = "",
    session: Annotated[
        str, typer.Option("--session", "-s", metavar="ID", help="Of this conversation.")
    ] = "",
    full: Annotated[bool, typer.Option(FULL, help="Shorten nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show why an answer is what it is: passages offered and not used, what was cut, each step of
    the model, and what the answer rests on."""
    from openclaw.cli.past import open_app

    with closing(open_app(ctx, reading=True)) as app:
        found = found_turn(app, turn, session)
        if as_json:
            print_json(found.as_json())
            return
        for line in styled(_lines(found, full=full)):
            typer.echo(line)


def in_talk(app: Asked, session: Session, rest: str, say: Callable[[str], None]) -> None:
    """/why in a talk: of its last answer, or of the turn that is named."""
    words = rest.split()
    ref = " ".join(word for word in words if word != FULL)
    found = found_turn(app, ref, session.id, session)
    for line in styled(_lines(found, full=FULL in words)):
        say(line)


def found_turn(app: Asked, ref: str, session_id: str = "", here: Session | None = None) -> Why:
    """What is known of the turn that `ref` means: a number of the session (the latest, or that of
    a talk), SESSION:N, or an id of the history. UsageError when there is none."""
    from openclaw.cli.said import talk_of
    from openclaw.errors import UsageError

    store = app.sessions
    name, colon, number = ref.rpartition(":")
    if not ref or _NUMBER.fullmatch(ref):
        session = here or store.load(session_id or "latest")
        return _why(store, session, int(ref or 0) or session.turns)
    if colon and _NUMBER.fullmatch(number):
        return _why(store, store.load(name), int(number))
    turn = app.history.find(ref)
    if not (turn.session and turn.number):
        raise UsageError(
            f"{ref} is no answer: it is of the kind '{turn.kind}'", "see the turns: openclaw log"
        )
    kept = talk_of(turn, app.history)
    return _why(store, kept or store.load(store.find(turn.session)), turn.number)


def _why(store: SessionStore, session: Session, number: int) -> Why:
    """Of a turn of this session; the archive is read only when it lies there."""
    from openclaw.app.why import why as told

    live = sum(entry.role == "user" for entry in session.messages)
    archived = session.turns - live
    if number > archived:
        return told(session.id, session.messages, number - archived, number)
    return told(session.id, [entry for _, entry in store.messages(session)], number)


def _lines(found: Why, *, full: bool) -> Iterator[str]:
    from openclaw.cli.why_lines import why_lines

    columns = shutil.get_terminal_size().columns
    return why_lines(found, min(columns, 140), full=full)


def styled(lines: Iterable[str], environ: Mapping[str, str] = os.environ) -> Iterator[str]:
    """The lines, their headings bold where the terminal shows it."""
    from openclaw.cli.past_lines import colours

    if not colours(sys.stdout, environ):
        yield from lines
        return
    for line in lines:
        yield f"\x1b[1m{line}\x1b[m" if line and line[0] != " " else line
