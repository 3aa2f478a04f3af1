"""`openclaw acp`: the agent for an editor that starts it."""

from __future__ import annotations

import os
import stat
from importlib.util import find_spec

import typer

from openclaw.cli.current_home import current_home
from openclaw.cli.questions import refuse_inside_agent
from openclaw.errors import OpenclawError, UsageError

INSTALL = "pip install 'openclaw[acp]'"


def acp(ctx: typer.Context) -> None:
    """Be the agent of an editor that starts this, by the Agent Client Protocol.

    It works in the home that the editor's folder lies in, else in yours.
    """
    if find_spec("acp") is None:
        raise OpenclawError("the SDK of the Agent Client Protocol is not installed", INSTALL)
    refuse_inside_agent("what an editor asks for")
    named = ctx.obj
    if named:
        current_home(ctx)
    for stream, name in enumerate(("input", "output")):
        kind = os.fstat(stream).st_mode
        if stat.S_ISREG(kind) or (stat.S_ISCHR(kind) and not os.isatty(stream)):
            told = f"standard {name} is no pipe of an editor"
            raise UsageError(told, "to talk here: openclaw chat")
    from openclaw.server.acp.editor_agent import serve_editor

    serve_editor(named)
