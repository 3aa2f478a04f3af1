"""Tools of MCP servers. Their lists come from a cache; a call starts its server on demand.

The descriptions and results of a server are untrusted. Each call goes through the policy as "send",
whatever the server claims, unless the user has marked the server as trusted.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from openclaw.config import Settings
from openclaw.config.mcp_settings import Server, read_servers
from openclaw.errors import AwayError, CallFailedError
from openclaw.security.display import some_of
from openclaw.storage.home import Home
from openclaw.tools.mcp.schema import (
    ServerCache,
    ServerTool,
    nest,
    plain_key,
    read_cache,
    read_list,
)
from openclaw.tools.mcp.start import ServerStarter, fault_line
from openclaw.tools.tool import CallForm, Tool
from openclaw.types import Action, Effect, ForeignProblem, ToolProblem

if TYPE_CHECKING:
    from openclaw.tools.mcp.client import Connection, McpConnector


MAX_OPTIONAL = 4
"""Optional arguments of a tool that a step in JSON offers: each is a chance to make one up."""


class McpServers:
    """The MCP servers of a home, without disabled ones. `close` ends the running ones. `tell`
    receives what openclaw waits for, and "" when the wait is over. `settings` are those that name
    the servers, `notices` lines for the user."""

    def __init__(
        self,
        servers: Sequence[Server],
        cache: ServerCache,
        new_connector: Callable[[], McpConnector],
        tell: Callable[[str], None] = lambda what: None,
        settings: Mapping[str, Any] | None = None,
        notices: Sequence[str] = (),
    ) -> None:
        self.settings = settings
        self.tell = tell
        self._servers = [server for server in servers if not server.disabled]
        self._cache = cache
        self._new_connector = new_connector
        self._connector: McpConnector | None = None
        self._connections: dict[str, Connection] = {}
        self._away: dict[str, AwayError] = {}
        self._notices = [*notices]
        self._lock = threading.Lock()

    def begin(self) -> Iterator[str]:
        """Begin a turn: try unreachable servers again, read the lists that are missing or have
        changed. Yields notices for the user."""
        self._away.clear()
        for connection in [*self._connections.values()]:
            if connection.alive and connection.listing_changed:
                try:
                    connection.list()
                    self._take_list(connection)
                except AwayError as error:
                    self._lose(connection.server, error)
        if missing := self.unlisted():
            yield f"asking for their tools: {', '.join(server.name for server in missing)}"
            self.list_missing()
        yield from self.take_notices()

    def unlisted(self) -> list[Server]:
        """The servers whose tools are unknown and that are worth a try."""
        cache = self._cache
        return [
            each for each in self._servers if cache.tools(each) is None and not cache.rests(each)
        ]

    def list_missing(self) -> None:
        """Ask these servers for their tools, all at once."""
        if missing := self.unlisted():
            self._get_connector()
            with ThreadPoolExecutor(len(missing)) as pool:
                try:
                    list(pool.map(self._try, missing))
                except BaseException:  # Ctrl-C: end the servers that we wait for
                    self.close()
                    raise
            self._cache.save()

    def tools(self) -> list[Tool]:
        """The known tools of all servers. Starts nothing."""
        return [self._tool(server, listed) for server, listed in self._allowed()]

    def take_notices(self) -> list[str]:
        notices, self._notices = self._notices, []
        return notices

    def refresh(self) -> None:
        """Start the servers and read their lists anew. Raises AwayError."""
        for server in self._servers:
            self._connect(server)

    def close(self) -> None:
        if self._connector is not None:
            self._connector.close()
            self._connector = None
        self._connections.clear()

    # -------- tools

    def _allowed(self) -> list[tuple[Server, ServerTool]]:
        found = []
        for server in self._servers:
            only = None if server.tools is None else set(map(plain_key, server.tools))
            for listed in self._cache.tools(server) or ():
                names = (listed.raw, listed.name, listed.name.partition("__")[2])
                if only is None or only.intersection(map(plain_key, names)):
                    found.append((server, listed))
        return found

    def _tool(self, server: Server, listed: ServerTool) -> Tool:
        required = tuple(listed.flat.parameters["required"])
        rest = [name for name in listed.flat.parameters["properties"] if name not in required]
        offered = tuple(rest[:MAX_OPTIONAL])
        effect: Effect = "get" if server.trusted and listed.reads else "send"
        return Tool(
            name=listed.name,
            description=listed.about,
            parameters=listed.flat.parameters,
            forms=tuple(CallForm(e, arguments=required, optional=offered) for e in listed.seems),
            run=lambda **arguments: self._call(server, listed, arguments),
            does=Action(
                self._cache.granted_as(listed),
                effect,
                text=server.url or server.command,
                program="" if server.url else server.name,
            ),
            foreign=f"mcp {server.name}",
            available=lambda: server.name not in self._away,
            masks="text",
        )

    def _call(self, server: Server, listed: ServerTool, arguments: Mapping[str, Any]) -> str:
        nested = nest(listed.flat, arguments)
        try:
            connection = self._connect(server)
            self._check_same(server, listed)
            result = connection.call(listed.raw, nested)
        except CallFailedError as error:
            raise ForeignProblem(f"{listed.name} did not work: {error}") from error
        except AwayError as error:
            self._lose(server, error)
            kind = ForeignProblem if error.foreign else ToolProblem
            raise kind(
                f"{server.name} is not reachable: {error}. Its tools cannot be used in this turn; "
                "go on without them, or tell the user."
            ) from error
        text = text_of(result)
        if result.is_error:
            raise ForeignProblem(f"{listed.name} did not work: {text}")
        return text

    def _check_same(self, server: Server, listed: ServerTool) -> None:
        """Check that the tool is still the one that was offered and allowed: a server that starts
        may list a tool differently."""
        now = {tool.raw: tool.digest for tool in self._cache.tools(server) or ()}
        if now.get(listed.raw) == listed.digest:
            return
        what = "has changed" if listed.raw in now else "is gone"
        raise ToolProblem(
            f"{listed.name} {what} since it was listed; it was not run. Tell the user to ask again."
        )

    # -------- servers

    def _try(self, server: Server) -> None:
        try:
            self._connect(server)
        except AwayError as error:
            self._lose(server, error)

    def _connect(self, server: Server) -> Connection:
        """A running connection; the list of a new one is read."""
        if server.name in self._away:
            raise self._away[server.name]
        connection = self._connections.get(server.name)
        if connection is None or not connection.alive:
            doing = "connecting to" if server.url else "starting"
            self.tell(f"{doing} MCP server {server.name}")
            try:
                connection = self._connections[server.name] = self._get_connector().open(server)
                self._take_list(connection)
            finally:
                self.tell("")
        return connection

    def _get_connector(self) -> McpConnector:
        if self._connector is None:
            self._connector = self._new_connector()
        return self._connector

    def _take_list(self, connection: Connection) -> None:
        server = connection.server
        tools, unusable = read_list(server, connection.tools)
        with self._lock:
            changed = self._cache.take(server, tools)
            self._cache.save()
        if changed:
            self._notices.append(
                f"MCP server {server.name} now describes {some_of(changed, 5)} otherwise than "
                "before; what was allowed for good is asked again"
            )
        if unusable:
            self._notices.append(
                f"MCP server {server.name}: cannot be used: {some_of(unusable, 5)}"
            )
        if connection.left_out:
            self._notices.append(
                f"MCP server {server.name} lists {len(tools) + connection.left_out:,} tools or "
                f"more; the first {len(tools)} are used"
            )

    def _lose(self, server: Server, why: AwayError) -> None:
        if server.name not in self._away:
            self._away[server.name] = why
            self._notices.append(f"MCP server {server.name} is not reachable: {why}")
        if self._cache.tools(server) is None:
            self._cache.fail(server, rests=why.rests)


LONGEST = 200_000  # characters of a result that are passed on; the model sees far fewer


def text_of(result: Any) -> str:
    """The content of an `mcp_types.CallToolResult`: its texts, and type and size of other content.
    Structured content only when there is no text, which would say the same."""
    parts = [_block_text(block) for block in result.content]
    has_text = any(block.type == "text" and block.text.strip() for block in result.content)
    if result.structured_content is not None and not has_text:
        parts.append(json.dumps(result.structured_content, ensure_ascii=False, indent=1))
    return "\n".join(part for part in parts if part)[:LONGEST] or "It gave back nothing."


def _block_text(block: Any) -> str:
    match block.type:
        case "text":
            return str(block.text)
        case "image" | "audio":
            return f"[{block.type}, {block.mime_type}, {_decoded_size(block.data):,} bytes]"
        case "resource_link":
            size = f", {block.size:,} bytes" if block.size else ""
            return f"[resource {block.uri}, {block.mime_type or 'of unknown type'}{size}]"
        case "resource":
            return _resource_text(block.resource)
    return f"[{block.type}]"


def _resource_text(resource: Any) -> str:
    kind = resource.mime_type or "of unknown type"
    text = getattr(resource, "text", None)
    size = _decoded_size(resource.blob) if text is None else len(text.encode())
    head = f"[resource {resource.uri}, {kind}, {size:,} bytes]"
    return head if text is None else f"{head}\n{text}"


def _decoded_size(base64: str) -> int:
    return len(base64.rstrip("=")) * 3 // 4


def open_servers(home: Home, settings: Settings, tell: Callable[[str], None]) -> McpServers:
    """The servers that the settings name. Nothing is started; `tell` is passed to `McpServers`."""
    servers, faults = read_servers(settings.mcp or {})
    cache = read_cache(home.private / "cache" / "mcp.json")
    notices = [fault_line(home, fault) for fault in faults]
    return McpServers(
        servers, cache, lambda: make_connector(home, servers), tell, settings.mcp, notices
    )


def make_connector(home: Home, servers: Sequence[Server]) -> McpConnector:
    """Make the connector to the servers of a home. It gets all servers, as one yes is for all."""
    from openclaw.tools.mcp.client import McpConnector

    return McpConnector(ServerStarter(home, servers))


def describe_server(
    server: Server, home: Home, cache: ServerCache, waits: str = ""
) -> dict[str, Any]:
    """Return a server and the tools that it was last known to have, for programs; `waits` is why it
    may not start yet."""
    tools = McpServers([server], cache, lambda: make_connector(home, ())).tools()
    known = cache.tools(server) is not None
    state = f"{len(tools)} tools" if known else "not asked yet"
    if cache.failed(server):
        tried = "not reachable when last tried"
        state = f"{state}, {tried}" if known else tried
    return {
        "name": server.name,
        "state": "disabled" if server.disabled else waits or state,
        "where": server.url or " ".join((server.command, *server.args)),
        "trusted": server.trusted,
        "tools": [
            {
                "name": tool.name,
                "effect": tool.does.effect if tool.does else "",
                "description": tool.description,
            }
            for tool in tools
        ],
    }
