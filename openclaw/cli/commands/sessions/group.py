"""`openclaw sessions`: list, read, search and manage conversations. No model is needed."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from openclaw.cli.current_home import current_home, record_as_turn
from openclaw.cli.formatting import for_stream, print_listing, print_undo_hint, warn
from openclaw.cli.options import AsJson, Replace, Unasked
from openclaw.cli.questions import require_yes
from openclaw.errors import UsageError
from openclaw.security.display import harmless, minute, one_line
from openclaw.sessions.export import export_markdown
from openclaw.sessions.store import SessionStore, open_store
from openclaw.storage.safe_open import read_text
from openclaw.storage.text import write_text

Ref = Annotated[
    str, typer.Argument(metavar="ID", help="Its id, the start or end of it, its title, or latest.")
]


def list_(
    ctx: typer.Context,
    number: Annotated[
        int | None, typer.Option("-n", min=1, metavar="N", help="The last used N of them.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List all conversations, the last used first."""
    store = _store(ctx)
    shapes = [asdict(summary) for summary in store.list()[:number]]
    print_listing(
        shapes,
        {
            "ID": "id",
            "UPDATED": lambda session: minute(session["updated_at"]),
            "MESSAGES": "messages",
            "TITLE": "title",
        },
        as_json=as_json,
        empty="no conversations yet",
    )
    warn(store.problems)


def show(
    ctx: typer.Context,
    ref: Ref,
    raw: Annotated[
        bool, typer.Option("--raw", "--json", help="Show the session file as it is.")
    ] = False,
) -> None:
    """Show one conversation as Markdown."""
    store = _store(ctx)
    session = store.load(ref)
    if raw:
        text = read_text(store.folder / f"{session.id}.json")
        typer.echo(for_stream(text, sys.stdout), nl=False)
    else:
        typer.echo(harmless(export_markdown(session, store.archived(session))), nl=False)
        warn(store.problems)


def search(
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(help='Words; "..." for words that stand together.')],
    as_json: AsJson = False,
) -> None:
    """Find messages, archived ones and results of tools too.

    Those that hold all words are shown, the newest first; when there are none, those that hold most
    of them, the best first.
    """
    store = _store(ctx)
    hits = [asdict(hit) for hit in store.search(query)]
    print_listing(
        hits,
        {
            "MESSAGE": lambda hit: f"{hit['id']} #{hit['number']}",
            "AT": lambda hit: minute(hit["at"]),
            "ROLE": lambda hit: hit["tool"] or hit["role"],
            "TEXT": "snippet",
        },
        as_json=as_json,
        empty="nothing found",
    )
    if hits and hits[0]["missing"] and not as_json:
        typer.echo("no message holds all of the words", err=True)
    warn(store.problems)


def restore(ctx: typer.Context, ref: Ref) -> None:
    """Undo the last compaction of a conversation."""
    home = current_home(ctx)
    store = open_store(home)
    session_id = store.load(ref).id
    with (
        record_as_turn(home, f"sessions restore {session_id}", store),
        store.writing(session_id, 1.0),
    ):
        session = store.load(session_id)
        count = store.restore(session)
    left = f", {session.archived} are still in the archive" if session.archived else ""
    typer.echo(f"{session_id}: {count} messages are back{left}")


def rename(
    ctx: typer.Context,
    ref: Ref,
    title: Annotated[str, typer.Argument(help="The new title.")],
) -> None:
    """Give a conversation another title."""
    home = current_home(ctx)
    store = open_store(home)
    with record_as_turn(home, f"sessions rename {ref} {title}", store):
        session = store.rename(ref, title)
    typer.echo(one_line(f"{session.id}: {session.title}"))


def delete(ctx: typer.Context, ref: Ref, yes: Unasked = False) -> None:
    """Remove a conversation. `openclaw undo` puts it back: the history still has it."""
    home = current_home(ctx)
    store = open_store(home)
    session_id = store.find(ref)
    require_yes(f"Delete conversation {session_id}?", yes=yes, otherwise=f"kept {session_id}")
    with record_as_turn(home, f"sessions delete {session_id}", store):
        store.delete(session_id)
    typer.echo(f"deleted {session_id}")
    print_undo_hint()
    warn(store.problems)


def export(
    ctx: typer.Context,
    ref: Ref,
    output: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Where to write it.")
    ] = None,
    force: Replace = False,
) -> None:
    """Write a conversation as Markdown, to stdout or a file."""
    store = _store(ctx)
    if output and os.path.lexists(output) and not (force and output.is_file()):
        hint = "choose another name, or add --force" if output.is_file() else "name a file"
        raise UsageError(f"{output} is there already", hint)
    session = store.load(ref)
    text = export_markdown(session, store.archived(session))
    warn(store.problems)
    if output:
        write_text(output, text)
        typer.echo(f"wrote {output}", err=True)
    else:
        typer.echo(for_stream(text, sys.stdout), nl=False)


def fork(
    ctx: typer.Context,
    ref: Ref,
    at: Annotated[
        int | None,
        typer.Option("--at", metavar="N", help="The last message to take along; from 1."),
    ] = None,
) -> None:
    """Begin a new conversation with the first messages of another."""
    home = current_home(ctx)
    store = open_store(home)
    with record_as_turn(home, f"sessions fork {ref}", store):
        session = store.fork(ref, at)
    typer.echo(one_line(f"{session.id}: {session.title}"))
    typer.echo(f"  go on with it: openclaw --session {session.id}", err=True)
    warn(store.problems)


def _store(ctx: typer.Context) -> SessionStore:
    """The conversations, to be read."""
    return open_store(current_home(ctx, reading=True))
