"""`openclaw todo`: the to-do lists of memory/TODO.md. No model is needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from openclaw.cli.common import current_home, print_json, table
from openclaw.cli.visible import one_line

if TYPE_CHECKING:
    from openclaw.files.home import Home
    from openclaw.memory.todos import Todo, TodoFile

app = typer.Typer(
    help="Show and change the to-do lists.", add_completion=False, rich_markup_mode=None
)

AsJson = Annotated[bool, typer.Option("--json", help="Answer as JSON.")]
Everything = Annotated[bool, typer.Option("--all", "-a", help="Show done ones too.")]
Words = Annotated[list[str], typer.Argument(metavar="ID|TEXT", help="Its id or its text.")]


@app.callback(invoke_without_command=True)
def default(ctx: typer.Context, as_json: AsJson = False, everything: Everything = False) -> None:
    """Show and change the to-do lists; alone it lists what is open."""
    if ctx.invoked_subcommand is None:
        show_all(ctx, as_json, everything)


@app.command("list")
def show_all(ctx: typer.Context, as_json: AsJson = False, everything: Everything = False) -> None:
    """List what is open. JSON always holds all to-dos."""
    home = current_home(ctx)
    todos = _file(home).items()
    if as_json:
        print_json([_json(home, todo) for todo in todos])
        return
    shown = [todo for todo in todos if everything or not todo.done]
    if not shown:
        typer.echo("nothing to do" if not everything else "no to-dos yet", err=True)
        return
    rows = [
        (todo.id, "x" if todo.done else "", todo.list, todo.due or "", todo.text) for todo in shown
    ]
    typer.echo(table(rows, ("ID", "DONE", "LIST", "DUE", "TEXT")))


@app.command("add")
def add(
    ctx: typer.Context,
    text: Annotated[list[str], typer.Argument(metavar="TEXT...", help="What is to be done.")],
    list_name: Annotated[
        str, typer.Option("--list", "-l", metavar="NAME", help="The list; made when missing.")
    ] = "",
    due: Annotated[
        str, typer.Option("--due", metavar="DATE", help="A date such as 2026-12-01.")
    ] = "",
) -> None:
    """Add a to-do; several words are one to-do."""
    words = " ".join(text)
    if due:
        words = f"{words} due:{_date(due)}"
    file = _file(current_home(ctx))
    with _problems_as_usage():
        for todo in file.add(list_name, [words]):
            typer.echo(one_line(f"added to {todo.list}: {todo.text} ({todo.id})"))


@app.command("done")
def done(ctx: typer.Context, words: Words) -> None:
    """Mark a to-do as done."""
    _mark(ctx, words, True)


@app.command("undone")
def undone(ctx: typer.Context, words: Words) -> None:
    """Mark a to-do as open again."""
    _mark(ctx, words, False)


@app.command("rm")
def remove(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="ID|TEXT", help="Its id or its text.")
    ] = None,
    list_name: Annotated[
        str, typer.Option("--list", "-l", metavar="NAME", help="Remove this whole list.")
    ] = "",
) -> None:
    """Remove a to-do, or a whole list with --list."""
    from openclaw.errors import UsageError

    if bool(words) == bool(list_name):
        raise UsageError("say what to remove", "openclaw todo rm ID, or rm --list NAME")
    file = _file(current_home(ctx))
    with _problems_as_usage():
        if list_name:
            gone = file.remove_list(list_name)
            typer.echo(one_line(f"removed {list_name} with {len(gone)} to-dos"))
        elif words:
            todo = _meant(file, words)
            file.remove(todo.id)
            typer.echo(one_line(f"removed: {todo.text}"))


def _mark(ctx: typer.Context, words: list[str], state: bool) -> None:
    file = _file(current_home(ctx))
    with _problems_as_usage():
        todo = _meant(file, words, state)
        file.set_done(todo.id, state)
    typer.echo(one_line(f"{'done' if state else 'open'}: {todo.text}"))


def _meant(file: TodoFile, words: list[str], state: bool | None = None) -> Todo:
    """The one to-do that id or text mean; of several the one that is not in the wanted state."""
    from openclaw.errors import UsageError

    text = " ".join(words)
    found = file.find(text)
    if len(found) > 1:
        found = [todo for todo in found if todo.done != state] or found
    if not found:
        raise UsageError(f"there is no to-do {text}", "see them all: openclaw todo list --all")
    if len(found) > 1:
        ids = "\n".join(f"{todo.id}  {todo.text} ({todo.list})" for todo in found)
        raise UsageError(f"{text} fits {len(found)} to-dos", f"give the id:\n{ids}")
    return found[0]


def _file(home: Home) -> TodoFile:
    from openclaw.memory.todos import TodoFile

    return TodoFile(home.memory / "TODO.md")


def _json(home: Home, todo: Todo) -> dict[str, object]:
    return {
        "id": todo.id,
        "list": todo.list,
        "text": todo.text,
        "done": todo.done,
        "due": todo.due,
        "path": home.relative(home.memory / "TODO.md"),
        "line": todo.line,
    }


def _date(text: str) -> str:
    from datetime import date

    from openclaw.errors import UsageError

    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise UsageError(f"{text} is not a date", "write it as 2026-12-01") from None


@contextmanager
def _problems_as_usage() -> Iterator[None]:
    from openclaw.errors import UsageError
    from openclaw.shapes import ToolProblem

    try:
        yield
    except ToolProblem as problem:
        raise UsageError(str(problem)) from None
