"""`openclaw config`: what is set, where it comes from, and changing it."""

from __future__ import annotations

from typing import Annotated

import typer

from openclaw.cli.commands.memory.search import opened
from openclaw.cli.current_home import current_home, record_as_turn
from openclaw.cli.formatting import print_listing, print_result, warn
from openclaw.cli.options import AsJson
from openclaw.config import find_key, origins, render, set_value
from openclaw.models.registry import check_setting
from openclaw.security.trust import allow_keys
from openclaw.storage.program import is_started_by_agent

Name = Annotated[str, typer.Argument(help="For example model or ollama.host.")]


def show(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Show every key with its value and where that comes from."""
    found = origins(current_home(ctx, reading=True))
    shapes = [{"key": key, "value": value, "origin": origin} for key, value, origin in found]
    print_listing(
        shapes,
        {"KEY": "key", "VALUE": lambda shape: render(shape["value"]), "FROM": "origin"},
        as_json=as_json,
    )


def get(ctx: typer.Context, key: Name, as_json: AsJson = False) -> None:
    """Print the value of one key."""
    name = find_key(key).name
    value = next(
        value for known, value, _ in origins(current_home(ctx, reading=True)) if known == name
    )
    print_result(value, value if isinstance(value, str) else render(value), as_json=as_json)


def set_(
    ctx: typer.Context,
    key: Name,
    value: Annotated[str, typer.Argument(help="Lists as a, b; none as null.")],
) -> None:
    """Set one key in openclaw.yaml; comments and other lines stay."""
    home = current_home(ctx)
    check_setting(key, value)
    with record_as_turn(home, f"config set {key} {value}") as turn:
        set_value(home, key, value, turn.keep)
    if not is_started_by_agent():
        allow_keys(home)
    got, origin = next((v, origin) for known, v, origin in origins(home) if known == key)
    typer.echo(f"{key}: {render(got)} ({origin})")
    if key == "embedding":
        with opened(ctx) as found:
            found.tell_cost()
            warn(found.notices)


def path(ctx: typer.Context) -> None:
    """Print where the settings file is."""
    typer.echo(str(current_home(ctx, reading=True).settings))
