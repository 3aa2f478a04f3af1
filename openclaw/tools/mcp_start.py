"""How an MCP server is started or reached, and why it could not be."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openclaw import __version__
from openclaw.config.servers import Server, filled, short
from openclaw.files.scratch import scratch
from openclaw.tools.environment import program_path
from openclaw.tools.mcp_errors import AwayError

if TYPE_CHECKING:
    from openclaw.tools.mcp_pipe import Pipe

INHERITED = ("PATH", "HOME", "LANG")
ON_WINDOWS = (
    *("SYSTEMROOT", "SYSTEMDRIVE", "PATHEXT", "COMSPEC", "TEMP", "USERPROFILE", "APPDATA"),
    *("LOCALAPPDATA", "PROGRAMDATA"),
)


@dataclass(frozen=True, slots=True)
class Start:
    """How a server process is started: its words, the folder that it runs in, its variables."""

    words: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]


Prepare = Callable[[Server, Start], AbstractContextManager[Start]]
"""Changes how a server is started, and holds what it is started from until it has ended; raises
AwayError for one that may not be."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a server is started in: the home, the folder of its log, and our environment."""

    root: Path
    logs: Path
    environment: Mapping[str, str]
    prepare: Prepare = lambda server, start: nullcontext(start)


@dataclass(slots=True)
class Reached:
    """A server that speaks MCP: the SDK's client, and its process if it has one."""

    client: Any = None
    pipe: Pipe | None = None


@asynccontextmanager
async def reach(
    server: Server,
    around: Surroundings,
    reached: Reached,
    heard: Callable[..., Coroutine[Any, Any, None]],
) -> AsyncIterator[None]:
    """Fill `reached` as far as it comes; `heard` is told what the server says by itself."""
    from mcp import Client, Implementation

    async with AsyncExitStack() as stack:
        if server.url:
            transport = await _web(server, around, stack)
        else:
            transport = await _local(server, around, reached, stack)
        info = Implementation(name="openclaw", version=__version__)
        reached.client = await stack.enter_async_context(
            Client(transport, client_info=info, message_handler=heard, cache=None)
        )
        yield


async def _local(
    server: Server, around: Surroundings, reached: Reached, stack: AsyncExitStack
) -> Any:
    from openclaw.tools.mcp_pipe import open_pipe

    root = os.path.realpath(around.root)
    ours = {**around.environment, "PATH": program_path(around.environment, root)}
    environment = clean_environment(server, ours)
    words = (server.command, *(_filled(word, ours) for word in server.args))
    # Not the home, where the agent may write: programs take code and settings from their folder.
    folder = Path(root, server.cwd) if server.cwd else stack.enter_context(scratch(around.root))
    start = stack.enter_context(around.prepare(server, Start(words, folder, environment)))
    program = shutil.which(start.words[0], path=start.environment.get("PATH"))
    if program is None:
        raise AwayError(f"there is no program {server.command}")
    if start.words[0] == server.command and Path(os.path.realpath(program)).is_relative_to(root):
        raise AwayError(f"{server.command} lies in the home: give its whole path as the command")
    log = around.logs / f"mcp-{short(server.name)}.log"
    reached.pipe, transport = await stack.enter_async_context(
        open_pipe([program, *start.words[1:]], start.environment, start.folder, log)
    )
    return transport


async def _web(server: Server, around: Surroundings, stack: AsyncExitStack) -> Any:
    from openclaw.tools.mcp_web import open_web

    headers = {name: _filled(text, around.environment) for name, text in server.headers.items()}
    address = _filled(server.url, around.environment)
    return await stack.enter_async_context(open_web(address, headers))


def clean_environment(server: Server, environment: Mapping[str, str]) -> dict[str, str]:
    """What a server process gets of our environment, and what its settings give it. Raises
    AwayError for a variable that is not set."""
    names = (*INHERITED, *ON_WINDOWS) if os.name == "nt" else INHERITED
    kept = {name: environment[name] for name in names if name in environment}
    return kept | {name: _filled(value, environment) for name, value in server.env.items()}


def _filled(text: str, environment: Mapping[str, str]) -> str:
    try:
        value = filled(text, environment)
    except KeyError as missing:
        raise AwayError(f"the environment variable {missing.args[0]} is not set") from None
    if any(c in value for c in "\0\r\n"):
        raise AwayError("a value that it is given holds a line break")
    return value


def away(error: BaseException, server: Server) -> AwayError:
    """An error as one that says in a few words why a server cannot be used."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    if isinstance(error, AwayError):
        return error
    if isinstance(error, asyncio.CancelledError):
        return AwayError("it was stopped")
    if type(error).__name__ in ("ConnectError", "ConnectTimeout"):
        return AwayError("nobody answers at its address")
    if type(error).__name__ == "ValidationError":
        return AwayError("its answer is not what MCP allows")
    if isinstance(error, OSError):
        what = error.strerror or str(error)
        return AwayError(f"{server.command or 'the address'}: {what.lower()}")
    text = " ".join(str(error).split())[:160] or type(error).__name__
    if text == "Connection closed":
        return AwayError("it has ended")
    return AwayError(text, foreign=True)
