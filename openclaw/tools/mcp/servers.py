"""The MCP servers of a home, and the choice of their tools for one turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openclaw.config import Settings
from openclaw.nlp.relevance import SHORTLIST, Blurb, match_tools
from openclaw.storage.home import Home
from openclaw.tools.shortlist import MAX_LISTED, Shortlist
from openclaw.tools.tool import Tool

if TYPE_CHECKING:
    from openclaw.tools.mcp.tools import McpServers


@dataclass(slots=True)
class McpTools:
    """The tools of the MCP servers that the settings of a home name."""

    home: Home
    settings: Settings
    tell: Callable[[str], None] = lambda what: None
    _servers: McpServers | None = None
    _begun: bool = False

    def begin(self) -> Iterator[str]:
        """Begin a turn: read the missing lists. Yields notices for the user."""
        if not self._begun:
            self._begun = True
            yield from self._open()
        if self._servers is None:
            return
        self._servers.begin()
        if missing := self._servers.unlisted():
            yield f"asking for their tools: {', '.join(missing)}"
            self._servers.list_missing()
        yield from self.take_notices()

    def _open(self) -> list[str]:
        """Open the servers; returns what is wrong with some."""
        from openclaw.tools.mcp.tools import open_servers

        self._servers, faults = open_servers(self.home, self.settings, lambda what: self.tell(what))
        return faults

    def take_notices(self) -> list[str]:
        return self._servers.take_notices() if self._servers else []

    def share(self, built_in: Sequence[Tool], request: str) -> tuple[list[Tool], Shortlist | None]:
        """See `shared_out`."""
        if self._servers is None:
            self._open()
        return split_tools(built_in, self._servers.tools() if self._servers else (), request)

    def close(self) -> None:
        if self._servers is not None:
            self._servers.close()


def split_tools(
    built_in: Sequence[Tool], served: Sequence[Tool], request: str
) -> tuple[list[Tool], Shortlist | None]:
    """The tools that the head lists, and a shortlist of the others. With few tools the head lists
    all; with many, the shortlist has all that come from servers."""
    if not served:
        return list(built_in), None
    if sum(tool.listed for tool in built_in) + len(served) <= MAX_LISTED:
        return [*built_in, *served], None
    near = nearest(request, served)[:SHORTLIST]
    shortlist = Shortlist({tool.name: tool for tool in served}, near, nearest)
    return [*built_in, *shortlist.gateway()], shortlist


def nearest(words: str, tools: Sequence[Tool]) -> list[Tool]:
    """The tools that some words may be about, best first."""
    by_name = {tool.name: tool for tool in tools}
    blurbs = [Blurb(t.name, t.description, tuple(t.parameters["properties"])) for t in tools]
    return [by_name[blurb.name] for blurb in match_tools(words, blurbs)]
