"""`openclaw trust`: the yes that a home from elsewhere needs before it may do anything."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from openclaw.app.trusted import allow, judged, revoke, what_it_turns_on
from openclaw.cli.common import can_ask, confirmed, found_home, warn
from openclaw.cli.visible import folded, one_line, rows
from openclaw.errors import Refused
from openclaw.files.trust import is_trusted

if TYPE_CHECKING:
    from openclaw.files.home import Home

ROWS_AROUND = 6
"""Rows of the screen for the name of the home, the question and the reply."""


def trust(
    ctx: typer.Context,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    keep_private: Annotated[
        bool,
        typer.Option(
            "--keep-private", help="Keep its .openclaw/: the home is mine, I moved or copied it."
        ),
    ] = False,
    take_back: Annotated[bool, typer.Option("--revoke", help="Stop trusting it.")] = False,
) -> None:
    """Say that this home is yours: its settings count, and the agent may work in it.

    A home that was cloned, unpacked or copied is only read until then. Your trust is kept
    outside of it and holds for this folder; a new address for a key of the environment needs
    another yes.
    """
    home = found_home(ctx)
    if take_back:
        typer.echo("the home is not trusted any more" if revoke(home) else "it was not trusted")
        return
    check_by_hand("a home")
    if not _agreed(home, yes=yes, keep_private=keep_private):
        raise typer.Exit(Refused.exit_code)


def settle(home: Home, *, reading: bool) -> Home:
    """The home when it may be used as it is; else the user is asked. Refused for a no, and where
    nobody can be asked."""
    home = judged(home)
    if home.trusted:
        return home
    say_yes = f'openclaw --home "{home.root}" trust'
    if reading:
        warn([f"this home is not trusted yet: its settings do not count ({say_yes})"])
        return home
    if not can_ask() or of_an_agent():
        raise Refused(
            f"{home.root} came from elsewhere and is not trusted yet",
            f"see what it would turn on, and trust it: {say_yes}",
        )
    if not _agreed(home, yes=False, keep_private=False):
        raise Refused(
            "this home is not trusted yet",
            "doctor, context, log, memory search and todo list show what is in it",
        )
    return judged(home)


def of_an_agent() -> bool:
    """Whether this process was started by a tool or a hook of ours."""
    from openclaw.app.hook_run import WITHIN
    from openclaw.tools.process import MARK

    return bool(os.environ.get(MARK) or os.environ.get(WITHIN))


def check_by_hand(what: str) -> None:
    """Refused when this process was started by a tool or a hook of ours."""
    if of_an_agent():
        raise Refused(f"a program that the agent or a hook has started cannot allow {what}")


def _agreed(home: Home, *, yes: bool, keep_private: bool) -> bool:
    """Show what a yes turns on, ask for it, and keep it."""
    for line in _shown(home):
        typer.echo(line, err=True)
    if not confirmed("Is this home yours, and may it do that?", yes=yes):
        return False
    private = not is_trusted(home) and os.path.lexists(home.root / ".openclaw")
    if private and not yes and not keep_private:
        question = "Was its .openclaw/ (secrets, records for undo) made by you as well?"
        keep_private = confirmed(question, yes=False)
    aside = allow(home, keep_private=keep_private)
    if aside:
        typer.echo(f"its private folder is kept as {aside}", err=True)
    typer.echo(f"{home.root} is trusted from now on", err=True)
    return True


def _shown(home: Home) -> Iterator[str]:
    """What a yes turns on. On a terminal nothing of it scrolls away: what is too long for the
    screen is told in a row each, the end of which is left out."""
    from openclaw.cli.permission import screen

    lines = [f"  {folded(one_line(line))}" for line in what_it_turns_on(home)]
    yield f"The home {one_line(str(home.root))} would turn on:"
    width, height = screen()
    room = height - ROWS_AROUND
    if sys.stderr.isatty() and sum(len([*rows(line, width)]) for line in lines) > room:
        yield from (one_line(line, width) for line in lines[: room - 1])
        left_out = f"and {len(lines) - room + 1} more; " if len(lines) >= room else ""
        lines = [f"  {left_out}this is not all of it: read openclaw.yaml before you say yes"]
    yield from lines
    if not lines:
        yield "  nothing but the agent itself, which reads and changes the files in it"
