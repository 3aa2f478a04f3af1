"""Homes with MCP servers that are Python scripts beside this one."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from openclaw.config.mcp_settings import Server
from openclaw.storage.home import Home
from openclaw.tools.mcp.client import McpConnector
from openclaw.tools.mcp.schema import read_cache
from openclaw.tools.mcp.start import ServerStarter
from openclaw.tools.mcp.tools import McpServers

HERE = Path(__file__).parent
needs_mcp = pytest.mark.skipif(not find_spec("mcp"), reason="the SDK of MCP is not installed")


def bare(how: str, *words: str, name: str = "bare", **more: Any) -> Server:
    """A server that speaks bare JSON lines; it starts in a few hundredths of a second."""
    args = ("-S", str(HERE / "bare_mcp_server.py"), how, *words)
    return Server(name, command=sys.executable, args=args, **more)


def real(name: str = "notes", **more: Any) -> Server:
    """A server that is written with the SDK."""
    path = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    args = (str(HERE / "mcp_server.py"),)
    return Server(name, command=sys.executable, args=args, env=path, **more)


def as_settings(*servers: Server) -> dict[str, Any]:
    """The servers as openclaw.yaml would hold them."""
    return {
        server.name: {
            "command": server.command,
            "args": list(server.args),
            "env": dict(server.env),
            "trusted": server.trusted,
        }
        for server in servers
    }


@contextmanager
def used(folder: Path, *servers: Server, seconds: float = 60.0) -> Iterator[McpServers]:
    """The servers as the program uses them; all are ended in the end."""
    home = Home(folder / "home")
    home.root.mkdir(exist_ok=True)
    cache = read_cache(folder / "mcp.json")
    starter = ServerStarter(home, servers)
    found = McpServers(servers, cache, lambda: McpConnector(starter, seconds))
    try:
        yield found
    finally:
        found.close()


def listed(folder: Path, *tools: dict[str, Any]) -> str:
    """A file with the tools that a bare server lists; its path."""
    path = folder / "tools.json"
    path.write_text(json.dumps(tools), "utf-8")
    return str(path)


def described(name: str, about: str = "", **properties: Any) -> dict[str, Any]:
    """A tool as a server lists it, all arguments required."""
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": about, "inputSchema": schema}
