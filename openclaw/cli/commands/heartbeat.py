"""`openclaw heartbeat`: what workspace/HEARTBEAT.md says, once, for cron or a timer.

It says nothing when there is nothing to say: what it prints is worth a mail from cron.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import Annotated

import typer

from openclaw.cli.current_home import current_home
from openclaw.cli.formatting import for_stream, print_json
from openclaw.cli.options import AsJson, ModelName
from openclaw.cli.unattended_prompt import ask_unattended
from openclaw.jobs.unattended import run_heartbeat


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
    home = current_home(ctx)
    ask = partial(ask_unattended, home, model=model)
    beat = run_heartbeat(home, quiet_hours, ask, datetime.now().time())
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
