"""`openclaw diff`, `show` and `blame`: what a turn changed, and who wrote a line."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from typing import Annotated

import typer

from openclaw.cli.formatting import print_json, print_lines, warn
from openclaw.cli.history_lines import blame_lines, blamed_turn_lines, diff_lines, show_lines
from openclaw.cli.open_agent import open_history
from openclaw.cli.options import AsJson
from openclaw.history.differences import turn_differences, turn_json
from openclaw.inspection.blame import blame_json, find_blame
from openclaw.inspection.why import find_exchange

Ref = Annotated[
    str,
    typer.Argument(
        help="Its id or the beginning of it, a commit, or SESSION:N. Default: the newest.",
    ),
]


def diff(
    ctx: typer.Context,
    turn: Ref = "",
    whole: Annotated[
        bool, typer.Option("--all", help="Show the files of the conversation too, line by line.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what a turn changed, as git does."""
    with closing(open_history(ctx, reading=True)) as agent:
        found = agent.history.find(turn)
        files = turn_differences(agent.history, found)
        if as_json:
            print_json(turn_json(found, files, diff=True))
        elif files:
            print_lines(diff_lines(files, whole=whole))
        else:
            warn([f"{found.id or found.commit[:8]} changed no files"])


def show(ctx: typer.Context, turn: Ref = "", as_json: AsJson = False) -> None:
    """Show all of a turn: what was said, what tools did, and the diff."""
    with closing(open_history(ctx, reading=True)) as agent:
        found = agent.history.find(turn)
        if not as_json:
            print_lines(show_lines(agent, found))
            return
        spoken = find_exchange(agent, found)
        print_json(
            turn_json(found, turn_differences(agent.history, found), diff=True) | asdict(spoken)
        )


def blame(
    ctx: typer.Context,
    where: Annotated[
        str, typer.Argument(metavar="FILE", help="A file; FILE:12 or FILE:5-9 for some lines.")
    ],
    whole: Annotated[
        bool, typer.Option("--open", help="Show the turn that wrote the line, as show does.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show which turn wrote each line, from which prompt, in which conversation."""
    with closing(open_history(ctx, reading=True)) as agent:
        path, lines = find_blame(agent, where)
        if as_json:
            print_json(blame_json(agent, path, lines))
        elif whole:
            print_lines(blamed_turn_lines(agent, lines))
        else:
            print_lines(blame_lines(agent, path, lines))
