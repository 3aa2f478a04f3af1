"""Asks whether a home that came from elsewhere is trusted, and whether its hooks and MCP servers
may run."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import typer

from openclaw.cli.approval import screen_size
from openclaw.cli.formatting import warn
from openclaw.cli.questions import can_ask, confirm, refuse_inside_agent
from openclaw.errors import OpenclawError, Refused, UsageError
from openclaw.security.display import fold_blanks, one_line, rows
from openclaw.security.program_trust import list_effects
from openclaw.security.trust import allow, check_trust, list_effects_of_trust
from openclaw.storage.home import Home
from openclaw.storage.program import is_started_by_agent
from openclaw.storage.trust_store import is_trusted

if TYPE_CHECKING:
    from openclaw.hooks.hooks import Hooks
    from openclaw.tools.mcp.start import ServerStarter


ROWS_AROUND = 6  # rows of the screen for the name of the home, the question and the reply


def ensure_trusted(home: Home, *, reading: bool) -> Home:
    """The home if it is trusted; else ask the user. Raises Refused for a no, and when nobody can be
    asked. A command that is only `reading` gets the untrusted home and a warning."""
    home = check_trust(home)
    if home.trusted:
        return home
    say_yes = f'openclaw --home "{home.root}" trust'
    if reading:
        warn([f"this home is not trusted yet: its settings do not count ({say_yes})"])
        return home
    if not can_ask() or is_started_by_agent():
        raise Refused(
            f"{home.root} came from elsewhere and is not trusted yet",
            f"see what it would turn on, and trust it: {say_yes}",
        )
    if not confirm_trust(home, yes=False, keep_private=False):
        raise Refused(
            "this home is not trusted yet",
            "doctor, context, log, memory search and todo list show what is in it",
        )
    return check_trust(home)


def confirm_trust(home: Home, *, yes: bool, keep_private: bool) -> bool:
    """Show what a yes turns on, ask for it, and store it. Return True for a yes."""
    for line in _trust_lines(home):
        typer.echo(line, err=True)
    if not confirm("Is this home yours, and may it do that?", yes=yes):
        return False
    private = not is_trusted(home) and os.path.lexists(home.root / ".openclaw")
    if private and not yes and not keep_private:
        question = "Was its .openclaw/ (secrets, records for undo) made by you as well?"
        keep_private = confirm(question, yes=False)
    aside = allow(home, keep_private=keep_private)
    if aside:
        typer.echo(f"its private folder is kept as {aside}", err=True)
    typer.echo(f"{home.root} is trusted from now on", err=True)
    return True


def _trust_lines(home: Home) -> Iterator[str]:
    """What a yes turns on. On a terminal nothing may scroll out of sight: a text too long for the
    screen gets one row for each line, with the line's end left out."""

    lines = [f"  {fold_blanks(one_line(line))}" for line in list_effects_of_trust(home)]
    yield f"The home {one_line(str(home.root))} would turn on:"
    width, height = screen_size()
    room = height - ROWS_AROUND
    if sys.stderr.isatty() and sum(len([*rows(line, width)]) for line in lines) > room:
        yield from (one_line(line, width) for line in lines[: room - 1])
        left_out = f"and {len(lines) - room + 1} more; " if len(lines) >= room else ""
        lines = [f"  {left_out}this is not all of it: read openclaw.yaml before you say yes"]
    yield from lines
    if not lines:
        yield "  nothing but the agent itself, which reads and changes the files in it"


# -------- hooks and MCP servers

STATES = {"trusted": "runs", "new": "to review", "changed": "changed, to review"}
Read = Callable[[str], str]
Say = Callable[[str], None]


def trust_programs(
    what: str, programs: Hooks | ServerStarter, kind: str, *, yes: bool, revoke: bool
) -> int:
    """Show what is to be trusted, and save the trust, or take it back; returns the exit code.
    Refused when none is possible."""
    if revoke:
        taken = programs.trust.revoke(programs.home, kind)
        typer.echo(f"the {what} of this home run no more" if taken else "they were not allowed")
        return 0
    refuse_inside_agent(what)
    now = programs.asked()
    if not (now.hooks or now.servers):
        raise UsageError(f"there are no {what} to allow", f"docs/{kind}.md tells which need it")
    if trouble := now.programs.trouble:
        raise Refused(
            f"these {what} cannot be allowed: {trouble}",
            f"keep the programs of {what} in hooks/, and other files in workspace/ (docs/hooks.md)",
        )
    for line in list_effects(now):
        typer.echo(line)
    if programs.state(now) == "trusted":
        typer.echo("they run already")
    elif confirm("Let them run?", yes=yes):
        programs.allow(now)
        typer.echo("they run from now on, until one of them changes")
    else:
        return Refused.exit_code
    return 0


def ask_for_programs(what: str, programs: Hooks | ServerStarter, read: Read, say: Say) -> None:
    """Ask for trust, if it is missing and possible. No reply means no, and the chat goes on without
    them."""
    now = programs.asked()
    state = programs.state(now)
    if not now.mark or state == "trusted":
        return
    if state == "changed":
        say(f"The {what} of this home have changed since you allowed them.")
    for line in list_effects(now):
        say(line)
    try:
        reply = read("Let them run, until one of them changes? [y]es  [N]o ")
        if reply.strip().lower() in ("y", "yes"):
            programs.allow(now)
    except (EOFError, KeyboardInterrupt):
        return
    except OpenclawError as error:
        say(f"openclaw: {one_line(str(error))}")
