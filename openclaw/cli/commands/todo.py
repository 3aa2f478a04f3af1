"""`openclaw todo`: the to-do lists of memory/TODO.md. No model is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Annotated

import typer

from openclaw.cli.current_home import current_home, record_as_turn
from openclaw.cli.day_option import DATES, parse_iso_day
from openclaw.cli.formatting import Column, print_listing, print_result
from openclaw.cli.options import AsJson
from openclaw.errors import UsageError
from openclaw.memory.todos import Todo, is_overdue, todo_file, without_due
from openclaw.security.display import count_of, one_line

Everything = Annotated[bool, typer.Option("--all", "-a", help="Show done ones too.")]
Words = Annotated[list[str], typer.Argument(metavar="ID|TEXT", help="Its id or its text.")]
ListName = Annotated[
    str, typer.Option("--list", "-l", metavar="NAME", help="The list; made when missing.")
]
Due = Annotated[
    str,
    typer.Option(
        "--due",
        metavar="WHEN",
        help="Only what is due: today, week (the next 7 days), overdue, or a date.",
    ),
]
Overdue = Annotated[bool, typer.Option("--overdue", help="Only what should have been done.")]
COLUMNS: Mapping[str, Column] = {
    "ID": "id",
    "DONE": lambda todo: "x" if todo["done"] else "",
    "LIST": "list",
    "DUE": lambda todo: (todo["due"] or "") + (" overdue" if todo["overdue"] else ""),
    "TEXT": lambda todo: without_due(todo["text"]),
}


def list_(
    ctx: typer.Context,
    as_json: AsJson = False,
    everything: Everything = False,
    due: Due = "",
    overdue: Overdue = False,
) -> None:
    """List what is open. JSON holds done ones too, unless --due or --overdue is given."""
    home = current_home(ctx, reading=True)
    chosen = bool(due or overdue)
    file = todo_file(home)
    todos = _due(file.items(), due, overdue)
    shown = [todo for todo in todos if everything or (as_json and not chosen) or not todo.done]
    if chosen:
        none = "nothing is overdue" if due in ("", "overdue") else "nothing is due then"
    else:
        none = "no to-dos yet" if everything else "nothing to do"
    print_listing(file.as_json(shown), COLUMNS, as_json=as_json, empty=none)


def add(
    ctx: typer.Context,
    text: Annotated[list[str], typer.Argument(help="What is to be done.")],
    list_name: ListName = "",
    due: Annotated[
        str, typer.Option("--due", metavar="DATE", help=f"A date: {DATES['future']}.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Add a to-do; several words are one to-do. `due:friday` in it is written as a date."""
    words = " ".join(text)
    if due:
        words = f"{words} due:{parse_iso_day(due, 'future')}"
    home = current_home(ctx)
    file = todo_file(home)
    with record_as_turn(home, f"todo add {words}", file):
        added = file.add(list_name, [words])
    lines = (one_line(f"added to {todo.list}: {todo.text} ({todo.id})") for todo in added)
    print_result(file.as_json(added), *lines, as_json=as_json)


def done(ctx: typer.Context, words: Words, as_json: AsJson = False) -> None:
    """Mark a to-do as done."""
    _mark(ctx, words, True, as_json)


def undone(ctx: typer.Context, words: Words, as_json: AsJson = False) -> None:
    """Mark a to-do as open again."""
    _mark(ctx, words, False, as_json)


def move(ctx: typer.Context, words: Words, list_name: ListName, as_json: AsJson = False) -> None:
    """Move a to-do, and what is indented below it, to another list."""
    home = current_home(ctx)
    file = todo_file(home)
    said = f"{' '.join(words)} --list {list_name}"
    with record_as_turn(home, f"todo move {said}", file):
        todo = file.move(file.find_one(" ".join(words)).id, list_name)
    line = one_line(f"moved to {todo.list}: {todo.text}")
    print_result(file.as_json([todo]), line, as_json=as_json)


def rm(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="ID|TEXT", help="Its id or its text.")
    ] = None,
    list_name: Annotated[
        str, typer.Option("--list", "-l", metavar="NAME", help="Remove this whole list.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Remove a to-do, or a whole list with --list."""
    if bool(words) == bool(list_name):
        raise UsageError("say what to remove", "openclaw todo rm ID, or rm --list NAME")
    home = current_home(ctx)
    file = todo_file(home)
    said = f"--list {list_name}" if list_name else " ".join(words or ())
    with record_as_turn(home, f"todo rm {said}", file):
        if words:
            todo = file.find_one(" ".join(words))
            file.remove(todo.id)
            gone, told = [todo], f"removed: {todo.text}"
        else:
            gone = file.remove_list(list_name)
            told = f"removed {list_name} with {count_of(len(gone), 'to-do')}"
    print_result(file.as_json(gone), one_line(told), as_json=as_json, undo=True)


def _mark(ctx: typer.Context, words: list[str], state: bool, as_json: bool) -> None:
    home = current_home(ctx)
    file = todo_file(home)
    verb = "done" if state else "undone"
    with record_as_turn(home, f"todo {verb} {' '.join(words)}", file):
        todo = file.find_one(" ".join(words), state)
        file.set_done(todo.id, state)
    line = one_line(f"{'done' if state else 'open'}: {todo.text}")
    print_result(file.as_json([replace(todo, done=state)]), line, as_json=as_json)


def _due(todos: Sequence[Todo], when: str, overdue: bool) -> Sequence[Todo]:
    """Return the to-dos of these days; with `overdue` also those whose day is over."""
    if not when and not overdue:
        return todos
    today = date.today()
    late = overdue or when == "overdue"
    first = last = ""
    if when in ("today", "week"):
        first, last = str(today), str(today + timedelta(days=6 if when == "week" else 0))
    elif when not in ("", "overdue"):
        first = last = parse_iso_day(when, "future")
    return [
        todo
        for todo in todos
        if (late and is_overdue(todo, today)) or (todo.due and first <= todo.due <= last)
    ]
