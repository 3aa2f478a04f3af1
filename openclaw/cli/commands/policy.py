"""`openclaw policy`: what tools may do here, and what the user has granted."""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from typing import Annotated

import typer

from openclaw.cli.current_home import current_home, record_as_turn
from openclaw.cli.formatting import print_json, table
from openclaw.cli.options import AsJson
from openclaw.config import add_line, drop_line, load_settings
from openclaw.errors import UsageError
from openclaw.inspection.policy_report import describe_policy
from openclaw.security.display import one_line
from openclaw.security.grants import make_grant, read_grant, read_grants
from openclaw.security.policy import EFFECTS, RULES, TABLE

BY_SITUATION = "ask in a chat, edit for a single prompt"


def show(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Show the mode, the table of modes, the sandbox and the grants."""
    settings = load_settings(current_home(ctx, reading=True))
    shown = describe_policy(settings)
    if as_json:
        print_json(shown)
        return
    grants, missing = shown["grants"], shown["sandbox"]["reason"]
    rows = [[effect, *(TABLE[mode][effect] for mode in TABLE)] for effect in EFFECTS]
    typer.echo(f"Mode: {settings.mode or BY_SITUATION}\n")
    typer.echo(table(rows, ("EFFECT", *TABLE)))
    typer.echo("\nOver this table:")
    for rule in RULES:
        typer.echo(f"  {rule.decision}: {rule.about}")
    typer.echo(f"\nCommands run {f'without a sandbox: {missing}' if missing else 'in a sandbox'}.")
    typer.echo("\nGrants:" if grants else "\nNo grants.")
    if grants:
        cells = [(g["number"], g["since"], g["kind"], g["value"], g["problem"]) for g in grants]
        typer.echo(table(cells, ("#", "SINCE", "KIND", "VALUE", "")))


def allow(
    ctx: typer.Context,
    kind: Annotated[str, typer.Argument(help="command, prefix, host or tool.")],
    value: Annotated[list[str], typer.Argument(help="For example git log, or docs.python.org.")],
) -> None:
    """Let tools do this without a question, from now on."""
    home = current_home(ctx)
    try:
        grant = make_grant(kind, " ".join(value), date.today().isoformat())
    except ValueError as error:
        raise UsageError(f"this cannot be granted: {error}", EXAMPLES) from error
    known = read_grants(load_settings(home).grants)[0]
    same = next((g for g in known if (g.kind, g.value) == (grant.kind, grant.value)), None)
    if same is None:
        with record_as_turn(home, f"policy allow {grant.kind} {grant.value}") as turn:
            add_line(home, "grants", str(grant), turn.keep)
    typer.echo(f"{'granted' if same is None else 'granted already'}: {same or grant}")


def revoke(
    ctx: typer.Context,
    which: Annotated[
        list[str], typer.Argument(metavar="NUMBER|VALUE", help="As `openclaw policy show` has it.")
    ],
) -> None:
    """Take a grant back."""
    home = current_home(ctx)
    lines = load_settings(home).grants
    wanted = " ".join(which).strip()
    found = [number for number, line in enumerate(lines) if wanted in _names(number, line)]
    if not found:
        raise UsageError(f"no grant '{wanted}'", "openclaw policy show lists them with numbers")
    if len(found) > 1:
        numbers = ", ".join(str(number + 1) for number in found)
        raise UsageError(f"'{wanted}' is several grants", f"say which by its number: {numbers}")
    with record_as_turn(home, f"policy revoke {wanted}") as turn:
        drop_line(home, "grants", lines[found[0]], turn.keep)
    typer.echo(f"revoked: {one_line(lines[found[0]])}")


EXAMPLES = """\
openclaw policy allow command make test
openclaw policy allow prefix git log
openclaw policy allow host docs.python.org
openclaw policy allow tool notes__search"""


def _names(number: int, line: str) -> set[str]:
    """Return the names that a grant may be called by; a line may be no grant."""
    names = {str(number + 1), line}
    with suppress(ValueError):
        grant = read_grant(line)
        names |= {grant.value, f"{grant.kind} {grant.value}"}
    return names
