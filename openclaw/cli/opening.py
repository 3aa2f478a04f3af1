"""Opens a home as an agent, for a command."""

from __future__ import annotations

from dataclasses import replace

import typer

from openclaw.agent.agent import Agent
from openclaw.cli.common import SEARCH, current_home
from openclaw.cli.options import Modes
from openclaw.config import load_settings
from openclaw.server.remote_agent import RemoteAgent
from openclaw.server.server_client import RunningServer


def open_app(
    ctx: typer.Context,
    model: str | None = None,
    mode: Modes | None = None,
    no_memory: bool = False,
    max_steps: int | None = None,
    no_save: bool = False,
    *,
    reading: bool = False,
    server: RunningServer | None = None,
) -> Agent:
    """Open the home as an agent, one whose prompts `server` answers if there is one. See
    `current_home`."""
    home = current_home(ctx, reading=reading)
    settings = load_settings(home)
    if max_steps:
        settings = replace(settings, max_steps=max_steps)
    agent = (RemoteAgent if server else Agent).open(
        home,
        settings,
        model=model,
        mode=mode.value if mode else None,
        use_memory=not no_memory,
        saving=not no_save,
        recall=ctx.meta.get(SEARCH),
    )
    if isinstance(agent, RemoteAgent):
        agent.server = server
    return agent
