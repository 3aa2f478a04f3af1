"""`openclaw mcp`: the MCP servers that openclaw.yaml names, and their tools."""

from __future__ import annotations

from typing import Annotated

import typer

from openclaw.cli.current_home import current_home
from openclaw.cli.formatting import print_listing, print_result, table, warn
from openclaw.cli.options import AsJson, Revoke, Unasked
from openclaw.cli.trust_questions import STATES, trust_programs
from openclaw.config import load_settings
from openclaw.config.mcp_settings import Server, read_servers, tool_name_part
from openclaw.errors import AwayError, OpenclawError, UsageError
from openclaw.storage.home import Home
from openclaw.tools.mcp.schema import ServerCache, read_cache
from openclaw.tools.mcp.start import KIND, ServerStarter, fault_line
from openclaw.tools.mcp.tools import McpServers, describe_server, make_connector


def list_(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List the servers and the tools that they were last known to have. Starts nothing."""
    home = current_home(ctx, reading=True)
    servers, faults = _read(home)
    cache = _cache(home)
    starts = ServerStarter(home, servers)
    now = starts.asked()
    state = starts.state(now)
    waiting = () if state == "trusted" else now.servers
    described = [
        describe_server(server, home, cache, STATES[state] if server in waiting else "")
        for server in servers
    ]
    warn(faults.values())
    print_listing(
        described,
        {"NAME": "name", "STATE": "state", "WHERE": "where"},
        as_json=as_json,
        empty="" if faults else "no MCP servers yet: name one below `mcp:` in openclaw.yaml",
    )


def trust(ctx: typer.Context, yes: Unasked = False, revoke: Revoke = False) -> int:
    """Let the servers run that run files of this home, until one of them or a file changes.

    This is kept outside of the home: one that comes from elsewhere does not bring it along.
    Servers that are programs of the system do not need it.
    """
    home = current_home(ctx)
    servers, faults = _read(home)
    warn(faults.values())
    starts = ServerStarter(home, servers)
    return trust_programs("MCP servers", starts, KIND, yes=yes, revoke=revoke)


def test(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="SERVER", help="Its name.")],
    as_json: AsJson = False,
) -> None:
    """Start a server, or reach it, and read the list of its tools again."""
    home = current_home(ctx)
    servers, faults = _read(home)
    server = next((server for server in servers if server.name == name), None)
    if name in faults:
        raise UsageError(faults[name], "fix that line; openclaw config path names the file")
    if server is None:
        known = ", ".join(server.name for server in servers) or "none yet"
        raise UsageError(f"there is no MCP server {name}", f"servers: {known}")
    if server.disabled:
        raise UsageError(f"{name} is disabled", "take `disabled: true` out of openclaw.yaml")
    cache = _cache(home)
    used = McpServers([server], cache, lambda: make_connector(home, servers))
    try:
        used.refresh()
        warn(used.take_notices())
    except AwayError as error:
        cache.fail(server, rests=False)
        cache.save()
        log = home.private / "logs" / f"mcp-{tool_name_part(name)}.log"
        hint = f"what it wrote: {log}" if log.is_file() and log.stat().st_size else ""
        raise OpenclawError(f"{name} cannot be used: {error}", hint) from error
    finally:
        used.close()
    shape = describe_server(server, home, cache)
    rows = (tool.values() for tool in shape["tools"])
    print_result(shape, table(rows, ("TOOL", "EFFECT", "ABOUT")), as_json=as_json)


def _read(home: Home) -> tuple[list[Server], dict[str, str]]:
    """Return the servers, and by its name the fault of each that is written wrongly."""
    servers, faults = read_servers(load_settings(home).mcp or {})
    return servers, {fault.server: fault_line(home, fault) for fault in faults}


def _cache(home: Home) -> ServerCache:
    return read_cache(home.private / "cache" / "mcp.json")
