"""`openclaw memory gather`: bring the pages of persons up to date. No model is needed."""

from __future__ import annotations

import typer

from openclaw.cli.current_home import current_home, record_as_turn
from openclaw.cli.formatting import print_json, print_undo_hint
from openclaw.cli.options import AsJson
from openclaw.memory.pages import gather as gather_pages
from openclaw.security.display import one_line


def gather(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Gather what the memory says of each person in memory/people, and the lines of each #tag in
    memory/topics. After a turn that changes the memory this is done by itself."""
    home = current_home(ctx)
    with record_as_turn(home, "memory gather") as turn:
        changed = [home.relative(path) for path in gather_pages(home, turn.keep)]
    if as_json:
        print_json({"changed": changed, "turn": turn.turn})
    elif changed:
        typer.echo(one_line(f"changed: {', '.join(changed)}"))
        print_undo_hint()
    else:
        typer.echo("nothing has changed", err=True)
