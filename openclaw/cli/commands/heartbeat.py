"""`openclaw heartbeat`: what workspace/HEARTBEAT.md says, once, for cron or a timer.

It says nothing when there is nothing to say: what it prints is worth a mail from cron.
"""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from openclaw.agent.agent import Agent
from openclaw.cli.common import current_home, print_json
from openclaw.cli.formatting import warn
from openclaw.cli.options import AsJson, ModelName
from openclaw.cli.play import play, turn_exit_code
from openclaw.cli.render import Listener
from openclaw.config import load_settings
from openclaw.errors import OpenclawError
from openclaw.events import Done, Error, Event, Trouble
from openclaw.inspection.turn_lines import verdict_lines
from openclaw.jobs.heartbeat import (
    HEARTBEAT,
    UnattendedResult,
    interrupt_after,
    is_within,
    parse_hours,
    prompt_of,
    read_tasks,
    result_of,
    run_lock,
    text_for_user,
    todays_session,
    unattended_mode,
    unattended_settings,
)
from openclaw.security.display import harmless

if TYPE_CHECKING:
    from openclaw.sessions.session import Session
    from openclaw.storage.home import Home


def heartbeat(
    ctx: typer.Context,
    as_json: AsJson = False,
    quiet_hours: Annotated[
        str, typer.Option("--quiet-hours", metavar="22-7", help="Do nothing in these hours.")
    ] = "",
    model: ModelName = None,
) -> None:
    """Do once what workspace/HEARTBEAT.md says, for cron or a timer.

    Prints what you should know, and nothing when there is nothing: without that file, or with
    headings alone in it, no model is asked. What needs a yes is refused and named.
    """
    beat = _beat(current_home(ctx), quiet_hours, model)
    if as_json:
        shape = {key: value for key, value in asdict(beat).items() if key != "code"}
        print_json({"silent": not beat.answer, **shape})
    elif beat.answer:
        typer.echo(harmless(beat.answer) if sys.stdout.isatty() else beat.answer)
    elif (
        sys.stdout.isatty() and not beat.code
    ):  # who has typed it wants to know why it says nothing
        typer.echo(f"openclaw: {beat.why}", err=True)
    raise typer.Exit(beat.code)


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


def ask_unattended(home: Home, job: str, prompt: str, model: str | None = None) -> UnattendedResult:
    """Answer a prompt in today's conversation of a job, ended when it takes too long
    (OpenclawError). What is not true in the answer is told on stderr."""
    settings = load_settings(home)
    agent = Agent.open(
        home, unattended_settings(settings), model=model, mode=unattended_mode(settings)
    )
    with closing(agent) as app:
        end = _run_turn(app, prompt, todays_session(app, job))
    if not isinstance(end, Done):
        return UnattendedResult(why="the turn did not end", code=turn_exit_code(end))
    if text_for_user(end.answer) or end.stop_reason != "empty":
        warn(verdict_lines(end))
    return result_of(end, turn_exit_code(end))


def _run_turn(app: Agent, prompt: str, session: Session) -> Done | Error | None:
    seconds = app.settings.heartbeat.timeout
    late = OpenclawError(
        f"the heartbeat took longer than {seconds:g} s and was ended; what was done is kept",
        "allow it more time: openclaw config set heartbeat.timeout SECONDS",
    )
    with interrupt_after(seconds) as passed:
        try:
            end = play(app.ask(prompt, session), _Unheard())
        except KeyboardInterrupt:
            if not passed.is_set():
                raise
            raise late from None
    if passed.is_set() and getattr(end, "stop_reason", "interrupted") == "interrupted":
        raise late
    return end


class _Unheard(Listener):
    """A listener that shows nothing of a turn but, on stderr, what is wrong around it: that hooks
    do not run, the memory is not looked through, git keeps nothing. Its end is told when it is
    there."""

    def __call__(self, event: Event) -> None:
        if isinstance(event, Trouble):
            warn([event.text])
