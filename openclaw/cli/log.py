"""`openclaw log`: what tools did, from the record that each turn writes."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from openclaw.cli.common import current_home, print_json, table


def log(
    ctx: typer.Context,
    actions: Annotated[
        bool, typer.Option("--actions", help="What tools did; there is nothing else yet.")
    ] = True,
    number: Annotated[
        int, typer.Option("-n", min=1, metavar="N", help="The newest N of them.")
    ] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Answer as JSON.")] = False,
) -> None:
    """Show the newest actions: what each would do, who allowed it, and what came of it."""
    from openclaw.safety.audit import ACTIONS, read_actions

    home = current_home(ctx)
    found = read_actions(home.private / "logs" / ACTIONS, number)
    if as_json:
        print_json(found)
    elif not found:
        typer.echo("no actions yet", err=True)
    else:
        headers = ("AT", "TOOL", "EFFECT", "TARGET", "DECISION", "BY", "RESULT", "SECONDS", "BYTES")
        typer.echo(table([_row(action) for action in found], headers))


def _row(action: dict[str, Any]) -> tuple[object, ...]:
    words = [str(action.get(name) or "") for name in ("tool", "effect", "target", "decision", "by")]
    at = str(action.get("at") or "")[:19].replace("T", " ")
    return (at, *words, _result(action), action.get("seconds", ""), action.get("bytes", ""))


def _result(action: dict[str, Any]) -> str:
    if action.get("exit") is not None:
        return f"exit {action['exit']}"
    return "ok" if action.get("ok") else "failed"
