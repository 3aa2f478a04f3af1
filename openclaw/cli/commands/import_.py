"""`openclaw import DIR`: show what another agent's folder holds, ask, and take it over."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from openclaw.cli.commands.init import chosen_folder, make_home
from openclaw.cli.current_home import current_home, record_as_turn
from openclaw.cli.formatting import print_json, print_undo_hint, table
from openclaw.cli.options import AsJson, Unasked
from openclaw.cli.questions import can_ask, confirm, require_yes
from openclaw.errors import Damaged
from openclaw.maintenance.importers.plan import ImportPlan, carry_out, plan_import
from openclaw.maintenance.importers.steps import ImportStep
from openclaw.security.display import one_line
from openclaw.storage.home import Home
from openclaw.storage.program import expand_tilde

MAX_ALIKE = 8
"""Steps of one kind that are listed; of more the first ones stand for all. --json lists all."""
LONGEST_SHOWN = 36
_WORDS = {
    "write": "new",
    "append": "add",
    "install": "install",
    "hold": "wait",
    "known": "is there",
    "leave": "leave",
    "failed": "failed",
}


def import_(
    ctx: typer.Context,
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Of an OpenClaw, a nanobot, a Hermes; or notes.")
    ],
    format_: Annotated[
        str, typer.Option("--as", metavar="FORMAT", help="openclaw, nanobot, hermes or notes.")
    ] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be done.")
    ] = False,
    yes: Unasked = False,
    as_json: AsJson = False,
) -> int:
    """Take over another agent's files, or notes. DIR is only read; nothing here is overwritten."""
    folder = Path.cwd() / expand_tilde(directory)
    plan = plan_import(_home(ctx), folder, format_)
    if not as_json or not (yes or dry_run):
        for line in _plan_lines(plan):
            typer.echo(line, err=as_json)  # where the question is asked as well
    if dry_run or not plan.count():
        _finish(plan, as_json, done=False)
        return 0
    require_yes("Import this?", yes=yes, otherwise="nothing was imported")
    with record_as_turn(plan.transfer.home, f"import {folder.name}") as turn:
        result = carry_out(plan, recorder=turn)
    _finish(result, as_json, done=True, turn=turn.turn)
    return int(bool(result.count(("failed",))))


def _home(ctx: typer.Context) -> Home:
    """Return the home to import into; offer one where there is none and somebody can be asked."""
    try:
        return current_home(ctx)
    except Damaged as error:
        if not can_ask():
            raise
        target = chosen_folder(None, ctx.obj)
        typer.echo(str(error), err=True)
        if not confirm(f"Make a home in {target}?", yes=False):
            raise
        make_home(target)
        return current_home(ctx)


def _plan_lines(plan: ImportPlan) -> Iterator[str]:
    transfer = plan.transfer
    label = transfer.label
    what = label if label.startswith("a ") else f"the folder of {label}"
    yield one_line(f"{transfer.source.root} is {what}; the home is {transfer.home.root}")
    yield ""
    yield from _rows(plan.steps)
    yield ""


def _rows(steps: Iterable[ImportStep]) -> Iterator[str]:
    order = list(_WORDS)
    listed = sorted(steps, key=lambda step: (order.index(step.deed), step.item.kind))
    rows: list[tuple[str, str, str]] = []
    for (deed, _), group in groupby(listed, key=lambda step: (step.deed, step.item.kind)):
        alike = list(group)
        shown = alike if len(alike) <= MAX_ALIKE + 1 else alike[:MAX_ALIKE]
        for step in shown:
            note = f" ({step.detail})" if step.target and step.detail else step.detail
            rows.append((_WORDS[deed], _short(step.item.path), _short(step.target) + note))
        if more := len(alike) - len(shown):
            rows.append((_WORDS[deed], f"... and {more:,} more", ""))
    if rows:
        yield table(rows, ("", "FROM", "TO, OR WHY NOT"))


def _short(path: str) -> str:
    """Shorten a path for a line of a terminal; elsewhere return it as it is."""
    if len(path) <= LONGEST_SHOWN or not sys.stdout.isatty():
        return path
    return f"...{path[3 - LONGEST_SHOWN :]}"


def _finish(plan: ImportPlan, as_json: bool, *, done: bool, turn: str = "") -> None:
    if as_json:
        print_json(plan.as_json(done=done) | ({"turn": turn} if done else {}))
        return
    if done:
        for line in _rows(step for step in plan.steps if step.deed == "failed"):
            typer.echo(line)
    taken, known = plan.count(), plan.count(("known",))
    left, failed = plan.count(("leave",)), plan.count(("failed",))
    did = "imported" if done else "would import"
    more = f", {failed} failed" if failed else ""
    said = f"{did} {taken}, {known} there already, {left} left{more}"
    typer.echo(said if taken or failed else "there is nothing new to import")
    if turn:
        print_undo_hint()
    if done and plan.count(("hold",)):
        typer.echo("look at the skills that wait: openclaw skills review")
