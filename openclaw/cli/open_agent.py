"""Opens a home as an agent, for a command."""

from __future__ import annotations

from dataclasses import replace

import typer

from openclaw.agent.agent import Agent
from openclaw.cli.current_home import SEARCH, current_home
from openclaw.cli.formatting import warn
from openclaw.config import Settings, load_settings
from openclaw.errors import OpenclawError
from openclaw.server.remote_agent import RemoteAgent
from openclaw.server.server_client import RunningServer
from openclaw.server.wire import PromptRequest

AS_SET = PromptRequest("")  # no options: all is as the settings say


def open_agent(
    ctx: typer.Context,
    request: PromptRequest = AS_SET,
    *,
    server: RunningServer | None = None,
) -> Agent:
    """Open the home as an agent with the options of a request; `server`, if there is one, answers
    its prompts."""
    home = current_home(ctx)
    settings = load_settings(home)
    search = ctx.meta.get(SEARCH)
    if search and settings.recall == "off":
        search.close()
    if request.max_steps:
        settings = replace(settings, max_steps=request.max_steps)
    agent = (RemoteAgent if server else Agent).open(
        home,
        settings,
        model=request.model,
        mode=request.mode,
        use_memory=request.use_memory,
        saving=request.saving,
        recall=search,
    )
    if isinstance(agent, RemoteAgent):
        agent.server = server
    return agent


def open_history(ctx: typer.Context, *, reading: bool = False) -> Agent:
    """Open the home to look at its turns or to take them back. The default settings count where
    openclaw.yaml cannot be used: the turn that broke it must be found and undone, too. See
    `current_home`."""
    home = current_home(ctx, reading=reading)
    try:
        settings = load_settings(home)
    except OpenclawError as error:
        warn([f"{error}; the default settings count here ({error.hint})"])
        settings = Settings()
    return Agent.open(home, settings)
