"""`openclaw mcp serve`: the memory, the to-dos and the agent for other programs."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

import typer

from openclaw.cli.current_home import current_home
from openclaw.errors import OpenclawError
from openclaw.server.mcp_server import INSTALL, serve_stdio


def serve(
    ctx: typer.Context,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Leave out what changes something.")
    ] = False,
    sessions: Annotated[
        bool, typer.Option("--sessions", help="Let it search earlier conversations.")
    ] = False,
    ask: Annotated[bool, typer.Option("--ask", help="Let it ask the agent itself.")] = False,
    trust: Annotated[
        list[str] | None,
        typer.Option("--trust", metavar="NAME", help="A program whose words count as yours."),
    ] = None,
) -> None:
    """Serve your memory and to-dos on standard input and output, for a program that starts this.

    What it wants to be remembered waits for `openclaw memory review`; its to-dos stand on a list
    with its name.
    """
    if find_spec("mcp") is None:
        raise OpenclawError("the MCP SDK is not installed", INSTALL)
    home = current_home(ctx)
    given = {"read": True, "write": not read_only, "sessions": sessions, "ask": ask}
    may = frozenset(name for name, yes in given.items() if yes)
    serve_stdio(home, may, frozenset(trust or ()))
