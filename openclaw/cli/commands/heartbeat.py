"""`openclaw heartbeat`: what workspace/HEARTBEAT.md says, once, for cron or a timer.

It says nothing when there is nothing to say: what it prints is worth a mail from cron.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from datetime import datetime
from typing import Annotated

import typer

from openclaw.cli.current_home import current_home
from openclaw.cli.formatting import for_stream, print_json
from openclaw.cli.options import AsJson, ModelName
from openclaw.cli.unattended_prompt import ask_unattended
from openclaw.jobs.unattended import (
    HEARTBEAT,
    UnattendedResult,
    is_within,
    parse_hours,
    prompt_of,
    read_tasks,
    run_lock,
)
from openclaw.storage.home import Home


def heartbeat(
    ctx: typer.Context,
    as_json: AsJson = False,
    quiet_hours: Annotated[
        str, typer.Option("--quiet-hours", metavar="22-7", help="Do nothing in these hours.")
    ] = "",
    model: ModelName = None,
) -> int:
    """Do once what workspace/HEARTBEAT.md says, for cron or a timer.

    Prints what you should know, and nothing when there is nothing: without that file, or with
    headings alone in it, no model is asked. What needs a yes is refused and named.
    """
    beat = _beat(current_home(ctx), quiet_hours, model)
    if as_json:
        shape = {key: value for key, value in asdict(beat).items() if key != "code"}
        print_json({"silent": not beat.answer, **shape})
    elif beat.answer:
        typer.echo(for_stream(beat.answer, sys.stdout))
    elif (
        sys.stdout.isatty() and not beat.code
    ):  # who has typed it wants to know why it says nothing
        typer.echo(f"openclaw: {beat.why}", err=True)
    return beat.code


def _beat(home: Home, quiet_hours: str, model: str | None) -> UnattendedResult:
    if quiet_hours and is_within(datetime.now().time(), parse_hours(quiet_hours)):
        return UnattendedResult(why="it is a quiet hour")
    tasks = read_tasks(home)
    if not tasks:
        return UnattendedResult(
            why="nothing to do: workspace/HEARTBEAT.md is not there or names no task"
        )
    with run_lock(home) as mine:
        if not mine:
            return UnattendedResult(why="another heartbeat runs")
        return ask_unattended(home, HEARTBEAT, prompt_of(tasks), model)
