"""`openclaw memory`: what is remembered. No model is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from openclaw.cli.common import current_home, print_json, table

if TYPE_CHECKING:
    from openclaw.files.home import Home
    from openclaw.memory.notes import Notes

app = typer.Typer(
    help="Show and add to what is remembered.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.command("list")
def show_all(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Answer as JSON.")] = False,
) -> None:
    """List what is remembered: lasting facts, then the days, newest first."""
    home = current_home(ctx)
    found = [(home.relative(note.path), note.line, note.text) for note in _notes(home).list()]
    if as_json:
        print_json([{"path": path, "line": line, "text": text} for path, line, text in found])
    elif found:
        rows = [(f"{path}:{line}", text) for path, line, text in found]
        typer.echo(table(rows, ("WHERE", "TEXT")))
    else:
        typer.echo("nothing is remembered yet", err=True)


@app.command("add")
def add(
    ctx: typer.Context,
    text: Annotated[list[str], typer.Argument(metavar="TEXT...", help="One fact.")],
    today: Annotated[
        bool, typer.Option("--today", help="Note it for today, not as a lasting fact.")
    ] = False,
) -> None:
    """Remember a lasting fact, or with --today a note of the day."""
    from openclaw.errors import UsageError
    from openclaw.shapes import ToolProblem

    home = current_home(ctx)
    try:
        path, line = _notes(home).remember(" ".join(text), "today" if today else "lasting")
    except ToolProblem as problem:
        raise UsageError(str(problem)) from None
    typer.echo(f"remembered in {home.relative(path)}:{line}")


def _notes(home: Home) -> Notes:
    from openclaw.memory.notes import Notes

    return Notes(home.memory)
