"""`openclaw skills review`: skills that the agent has written and that wait for the user's yes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any

import typer

from openclaw.cli.current_home import current_home, record_as_turn
from openclaw.cli.formatting import print_json, print_result
from openclaw.cli.options import AsJson
from openclaw.cli.questions import read_letter
from openclaw.security.display import harmless, one_line
from openclaw.skills.proposals import (
    Proposal,
    accept_proposal,
    find_proposal,
    proposals,
    reject_proposal,
)
from openclaw.storage.home import Home


def review(
    ctx: typer.Context,
    accept: Annotated[
        list[str] | None, typer.Option("--accept", metavar="NAME", help="Use this one; repeatable.")
    ] = None,
    reject: Annotated[
        list[str] | None,
        typer.Option("--reject", metavar="NAME", help="Delete this one; repeatable."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the skills that the agent has written. On a terminal it asks for each one."""
    home = current_home(ctx)
    chosen = [(name, "accept") for name in accept or ()] + [(n, "reject") for n in reject or ()]
    for name, _ in chosen:
        find_proposal(home, name)  # before anything is done
    if chosen:
        done = [_apply_verdict(home, name, verdict) for name, verdict in chosen]
        _print_results(done, as_json)
        return
    waiting = proposals(home)
    if as_json:
        print_json([proposal.as_json(home) for proposal in waiting])
    elif not waiting:
        typer.echo("nothing to review", err=True)
    for proposal in () if as_json else waiting:
        _show(proposal)
        if sys.stdin.isatty() and sys.stdout.isatty():
            with suppress(EOFError):
                if verdict := VERDICTS.get(read_letter(QUESTION, "yns", "s")):
                    _print_results([_apply_verdict(home, proposal.name, verdict)], as_json)


QUESTION = "Use it from now on? [y]es  [n]o, delete it  [S]kip for now "
VERDICTS = {"y": "accept", "n": "reject"}


def _apply_verdict(home: Home, name: str, verdict: str) -> dict[str, Any]:
    with record_as_turn(home, f"skills review --{verdict} {name}") as turn:
        if verdict == "reject":
            reject_proposal(home, name, turn)
            return {"name": name, "state": "deleted"}
        folder = accept_proposal(home, name, turn)
    return {"name": name, "state": "accepted", "path": home.relative(folder)}


def _print_results(done: Sequence[dict[str, Any]], as_json: bool) -> None:
    lines = [one_line(f"{one['state']}: {one.get('path', one['name'])}") for one in done]
    print_result(list(done), *lines, as_json=as_json)


def _show(proposal: Proposal) -> None:
    typer.echo(one_line(f"skill {proposal.name}:"))
    for line in proposal.diff:
        typer.echo(f"  {harmless(line)}")
    for problem in proposal.problems:
        typer.echo(one_line(f"  {problem.level}: {problem.message}"))
    for look in proposal.looks:
        typer.echo(one_line(f"  look: {look}"))
