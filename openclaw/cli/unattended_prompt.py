"""Asks the agent for a job or a heartbeat, when nobody can answer a question."""

from __future__ import annotations

from contextlib import closing

from openclaw.agent.agent import Agent
from openclaw.cli.formatting import warn
from openclaw.cli.render import Listener, exit_code, show_turn
from openclaw.config import load_settings
from openclaw.errors import OpenclawError
from openclaw.events import Done, Error, Event, Trouble
from openclaw.inspection.turn_lines import verdict_lines
from openclaw.jobs.unattended import (
    UnattendedResult,
    result_of,
    text_for_user,
    todays_session,
    unattended_mode,
    unattended_settings,
)
from openclaw.sessions.session import Session
from openclaw.stopping import stopped_after
from openclaw.storage.home import Home


def ask_unattended(home: Home, job: str, prompt: str, model: str | None = None) -> UnattendedResult:
    """Answer a prompt in today's conversation of a job, ended when it takes too long
    (OpenclawError). What is not true in the answer is told on stderr."""
    settings = load_settings(home)
    agent = Agent.open(
        home, unattended_settings(settings), model=model, mode=unattended_mode(settings)
    )
    with closing(agent):
        end = _run_turn(agent, prompt, todays_session(agent, job))
    if not isinstance(end, Done):
        return UnattendedResult(why="the turn did not end", code=exit_code(end))
    if text_for_user(end.answer) or end.stop_reason != "empty":
        warn(verdict_lines(end))
    return result_of(end, exit_code(end))


def _run_turn(agent: Agent, prompt: str, session: Session) -> Done | Error | None:
    seconds = agent.settings.heartbeat.timeout
    end = None
    with stopped_after(seconds) as over:
        try:
            end = show_turn(agent.ask(prompt, session), _Unheard())
        except KeyboardInterrupt:  # it comes out of a turn that has not asked the model yet
            if not over.is_set():
                raise
    if over.is_set() and getattr(end, "stop_reason", "interrupted") == "interrupted":
        raise OpenclawError(
            f"the heartbeat took longer than {seconds:g} s and was ended; what was done is kept",
            "allow it more time: openclaw config set heartbeat.timeout SECONDS",
        )
    return end


class _Unheard(Listener):
    """A listener that shows nothing of a turn but, on stderr, what is wrong around it: that hooks
    do not run, the memory is not looked through, git keeps nothing. Its end is told when it is
    there."""

    def __call__(self, event: Event) -> None:
        if isinstance(event, Trouble):
            warn([event.text])
