"""The MCP servers that openclaw.yaml names, in the shape that other programs use too.

    mcp:
      notes: {command: npx, args: [-y, notes-mcp], env: {TOKEN: "${NOTES_TOKEN}"}}
      web: {url: "https://example.org/mcp", headers: {Authorization: "Bearer ${WEB_KEY}"}}

A block `mcpServers:` copied from a server's README may stand at the top of the file or below
`mcp:`. A server that is written wrongly is left out and reported; the others work.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, field
from typing import Any

from openclaw.frozen import frozen

NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_. -]{0,38}[A-Za-z0-9])?")
NAMED = "a server's name is made of letters, digits, '-', '_', '.' and blanks; at most 40, no '__'"
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
CALL_SECONDS = 60.0
TRANSPORTS = ("stdio", "http", "streamable-http", "streamable_http")
IGNORED = frozenset({"autoApprove", "alwaysAllow", "description", "icon"})
"""Keys of other programs that would take away a question, or are only for show."""


@frozen
class Server:
    """An MCP server: a `command` to start or a `url` to reach.

    `args`, `env`, `url` and `headers` may hold `${NAME}`, filled from the environment when the
    server is started. `tools` are the only ones in use, None for all. `trusted` servers are
    believed when they say that a tool only reads. `timeout` is in seconds, for one call.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    tools: tuple[str, ...] | None = None
    trusted: bool = False
    disabled: bool = False
    timeout: float = CALL_SECONDS

    @property
    def fingerprint(self) -> str:
        """A hash of what decides which tools the server has; `${NAME}` as it is written."""
        facts = {key: value for key, value in asdict(self).items() if key in STARTS}
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


STARTS = ("command", "args", "env", "cwd", "url", "headers")


@frozen
class ServerFault:
    """A mistake in the settings of a server; `path` are the keys below `mcp` that lead to it."""

    server: str
    path: tuple[str, ...]
    text: str


class WrongValueError(Exception):
    """A value of a server or a hook that cannot be used: its key ("" for all of it), and why."""

    def __init__(self, key: str, text: str) -> None:
        super().__init__(text)
        self.key = key


def read_servers(given: Mapping[str, Any]) -> tuple[list[Server], list[ServerFault]]:
    """The servers of `mcp:` in their order, and what is wrong with the others."""
    inner = given.get("mcpServers")
    above: tuple[str, ...] = ()
    if isinstance(inner, Mapping) and not {"command", "url"} & inner.keys():
        given, above = inner, ("mcpServers",)
    servers: list[Server] = []
    faults: list[ServerFault] = []
    for name, value in given.items():
        try:
            servers.append(_server(name, value, {tool_name_part(each.name) for each in servers}))
        except WrongValueError as wrong:
            path = (*above, name, *filter(None, (wrong.key,)))
            faults.append(ServerFault(name, path, str(wrong)))
    return servers, faults


def tool_name_part(name: str) -> str:
    """A server's name as it stands in the names of its tools."""
    return re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_")


def fill_variables(text: str, environment: Mapping[str, str]) -> str:
    """The text with each `${NAME}` as the environment has it. Raises KeyError(NAME)."""
    return VARIABLE.sub(lambda found: environment[found[1]], text)


def _server(name: str, value: Any, taken: set[str]) -> Server:
    if not NAME.fullmatch(name) or "__" in name:
        raise WrongValueError("", NAMED)
    if tool_name_part(name) in taken:
        raise WrongValueError("", "another server has nearly the same name")
    known = read_entry(value, READ, "server", "command: npx")
    kinds = [known.pop(key, "") for key in ("type", "transport")]
    server = Server(name, **known)
    _check(server, kinds[0] or kinds[1])
    return server


def read_entry(
    value: Any, readers: Mapping[str, Callable[[str, Any], Any]], what: str, example: str
) -> dict[str, Any]:
    """The values of a server or a hook by key, each read by its reader; null counts as left out.
    Raises WrongValueError."""
    if not isinstance(value, Mapping):
        raise WrongValueError("", f"expected keys and values, such as '{example}'")
    known = {str(key): each for key, each in value.items() if each is not None}
    for key in known:
        if key not in readers and key not in IGNORED:
            raise WrongValueError(key, f"unknown key; a {what} takes {', '.join(readers)}")
    return {key: readers[key](key, each) for key, each in known.items() if key in readers}


def _check(server: Server, kind: str) -> None:
    if kind and kind not in TRANSPORTS:
        raise WrongValueError("type", f"{kind} is not spoken here; stdio and streamable HTTP are")
    if bool(server.command) == bool(server.url):
        raise WrongValueError("", "expected one of 'command' (to start) and 'url' (to reach)")
    if server.url and not re.match(r"https?://[^/\s]", server.url):
        raise WrongValueError("url", "expected an address that begins with https:// or http://")
    wrong = ("headers",) if server.command else ("args", "env", "cwd")
    for key in wrong:
        if getattr(server, key):
            beside = "command" if server.command else "url"
            raise WrongValueError(key, f"has no meaning beside '{beside}'")


def read_text(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float) or "\0" in str(value):
        raise WrongValueError(key, "expected text")
    return str(value)


def _texts(key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise WrongValueError(key, "expected a list of texts")
    return tuple(read_text(key, each) for each in value)


def _pairs(key: str, value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise WrongValueError(key, "expected names and texts")
    return {read_text(key, name): read_text(key, each) for name, each in value.items()}


def read_switch(key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise WrongValueError(key, "expected true or false")
    return value


def seconds_up_to(most: float) -> Callable[[str, Any], float]:
    """The reader of a time in seconds."""

    def read(key: str, value: Any) -> float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 < value <= most:
            raise WrongValueError(key, f"expected seconds, at most {most:g}")
        return float(value)

    return read


READ: dict[str, Callable[[str, Any], Any]] = {
    "command": read_text,
    "args": _texts,
    "env": _pairs,
    "cwd": read_text,
    "url": read_text,
    "headers": _pairs,
    "tools": _texts,
    "trusted": read_switch,
    "disabled": read_switch,
    "timeout": seconds_up_to(3600),
    "type": read_text,
    "transport": read_text,
}
