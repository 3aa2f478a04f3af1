"""A synchronous interface to the official MCP SDK: open, list, call and close servers.

The SDK is asyncio throughout. Its event loop runs in one thread, with one task per server; the rest
of the program does not see it. The first `open` imports the SDK (0.6 s).
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import os
import shutil
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from openclaw import __version__
from openclaw.config.mcp_settings import Server, fill_variables, tool_name_part
from openclaw.errors import AwayError, CallFailedError
from openclaw.frozen import frozen
from openclaw.storage.scratch import scratch
from openclaw.tools.mcp.start import Start
from openclaw.tools.shell.shell import program_path

if TYPE_CHECKING:
    from openclaw.tools.mcp.transport import Pipe


START_SECONDS = 20.0
CLOSE_SECONDS = 4.0
MAX_PAGES = 50
MAX_TOOLS = 500
"""Tools of one server; nobody needs more, and a longer list may be an attack."""
T = TypeVar("T")


class McpConnector:
    """Opens connections to the servers of a home. Nothing is started or imported before `open`."""

    def __init__(self, around: StartContext, start_seconds: float = START_SECONDS) -> None:
        self.around = around
        self.start_seconds = start_seconds
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._connections: list[Connection] = []

    def open(self, server: Server) -> Connection:
        """Start or reach a server and read its list of tools. Raises AwayError. Several threads may
        open several servers at once."""
        _check_installed()
        connection = Connection(server, self)
        with self._lock:
            self._connections.append(connection)
            self._start_loop()
        connection.open()
        return connection

    def run(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Run a coroutine in the thread of the servers."""
        if self._loop is None:
            raise AwayError("the program is about to end")
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def soon(self, what: Callable[[], None]) -> None:
        """Call a function in that thread soon."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(what)

    def close(self) -> None:
        """End all servers and the thread. May be called twice."""
        for connection in self._connections:
            connection.leave()
        for connection in self._connections:
            connection.close()
        self._connections.clear()
        loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(CLOSE_SECONDS)
            if not thread.is_alive():
                loop.close()

    def _start_loop(self) -> None:
        if self._loop is None:
            # What the SDK warns of would stand in the user's terminal.
            logging.getLogger("mcp").setLevel(logging.CRITICAL + 1)
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=self._loop.run_forever, name="mcp servers", daemon=True
            )
            self._thread.start()


class Connection:
    """A connection to a server. `tools` is its list, as the protocol's plain JSON; `left_out`
    counts the tools beyond the limit. `alive` is false once the server cannot be used."""

    def __init__(self, server: Server, door: McpConnector) -> None:
        self.server = server
        self.tools: list[dict[str, Any]] = []
        self.left_out = 0
        self.alive = False
        self.listing_changed = False
        self._door = door
        self._client: Any = None  # the SDK's
        self._pipe: Pipe | None = None  # of a process; None for a server of the web
        self._stop: asyncio.Event | None = None
        self._ready: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._task: concurrent.futures.Future[None] | None = None
        self._over = threading.Event()

    def open(self) -> None:
        self._task = self._door.run(self._run_session())
        seconds = self._door.start_seconds
        try:
            self._ready.result(seconds)
        except TimeoutError:
            self._give_up()
            raise AwayError(f"it did not answer within {seconds:g} s") from None
        except BaseException:
            self.close()
            raise
        self.alive = True

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Call a tool. Returns an `mcp_types.CallToolResult`. Raises CallFailedError, or AwayError,
        after which the connection is closed."""
        return self._wait_for(self._call(tool, dict(arguments)), self.server.timeout)

    def list(self) -> None:
        """Read the list of tools again. Raises AwayError, after which the connection is closed."""
        self.listing_changed = False
        self._wait_for(self._list(), self._door.start_seconds)

    def leave(self) -> None:
        """Ask the server to end, without waiting."""
        self.alive = False
        if self._stop is not None:
            self._door.soon(self._stop.set)

    def close(self) -> None:
        """End the server. May be called twice."""
        self.leave()
        task, self._task = self._task, None
        if task is None:
            return
        if not self._ready.done():
            task.cancel()
        self._over.wait(CLOSE_SECONDS)
        if self._pipe is not None:
            self._pipe.kill()

    def _give_up(self) -> None:
        """Kill a server that hangs: it would not obey a request to end either."""
        if self._pipe is not None:
            self._pipe.kill()
        self.close()

    # -------- in the thread of the servers

    def _wait_for(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        future = self._door.run(work)
        try:
            return future.result(seconds)
        except TimeoutError:
            future.cancel()
            self._give_up()
            raise AwayError(f"it did not answer within {seconds:g} s") from None
        except KeyboardInterrupt:
            future.cancel()
            raise
        except CallFailedError:
            raise
        except Exception as error:  # whatever a server may do to the SDK
            self.close()
            raise self._away(error) from error

    async def _run_session(self) -> None:
        """The life of a server, in one task: the SDK must be left in the task that entered it."""
        self._stop = asyncio.Event()
        try:
            async with self._reach():
                await self._list()
                self._ready.set_result(None)
                await self._stop.wait()
        except (Exception, asyncio.CancelledError) as error:
            if not self._ready.done():
                self._ready.set_exception(self._away(error))
            if isinstance(error, asyncio.CancelledError):
                raise
        finally:
            self._over.set()

    @asynccontextmanager
    async def _reach(self) -> AsyncIterator[None]:
        """Start or reach the server, which then speaks MCP."""
        from mcp import Client, Implementation

        from openclaw.tools.mcp import transport

        async with AsyncExitStack() as stack:
            reach = self._open_web if self.server.url else self._start
            streams = await reach(stack, transport)
            info = Implementation(name="openclaw", version=__version__)
            self._client = await stack.enter_async_context(
                Client(streams, client_info=info, message_handler=self._handle_message, cache=None)
            )
            yield

    async def _start(self, stack: AsyncExitStack, transport: Any) -> Any:
        server, around = self.server, self._door.around
        root = os.path.realpath(around.root)
        ours = {**around.environment, "PATH": program_path(around.environment, root)}
        environment = clean_environment(server, ours)
        words = (server.command, *(_fill_variables(word, ours) for word in server.args))
        # Not the home, where the agent may write: programs read code and settings from the folder
        # that they are started in.
        folder = Path(root, server.cwd) if server.cwd else stack.enter_context(scratch(around.root))
        start = stack.enter_context(around.prepare(server, Start(words, folder, environment)))
        program = shutil.which(start.words[0], path=start.environment.get("PATH"))
        if program is None:
            raise AwayError(f"there is no program {server.command}")
        own = start.words[0] == server.command
        if own and Path(os.path.realpath(program)).is_relative_to(root):
            raise AwayError(
                f"{server.command} lies in the home: give its whole path as the command"
            )
        log = around.logs / f"mcp-{tool_name_part(server.name)}.log"
        self._pipe, streams = await stack.enter_async_context(
            transport.open_pipe([program, *start.words[1:]], start.environment, start.folder, log)
        )
        return streams

    async def _open_web(self, stack: AsyncExitStack, transport: Any) -> Any:
        server, environment = self.server, self._door.around.environment
        headers = {
            name: _fill_variables(text, environment) for name, text in server.headers.items()
        }
        address = _fill_variables(server.url, environment)
        return await stack.enter_async_context(transport.open_web(address, headers))

    async def _list(self) -> None:
        from mcp_types import PaginatedRequestParams

        tools: list[dict[str, Any]] = []
        cursor, left_out = None, 0
        for _ in range(MAX_PAGES):
            params = PaginatedRequestParams(cursor=cursor)
            page = await self._client.session.list_tools(params=params)
            room = MAX_TOOLS - len(tools)
            tools += [tool.model_dump(mode="json", by_alias=True) for tool in page.tools[:room]]
            left_out += max(0, len(page.tools) - room)
            cursor = page.next_cursor
            if not cursor or left_out:
                break
        self.tools, self.left_out = tools, left_out

    async def _call(self, tool: str, arguments: dict[str, Any]) -> Any:
        from mcp import MCPError
        from mcp_types import (
            CONNECTION_CLOSED,
            CallToolRequest,
            CallToolRequestParams,
            CallToolResult,
        )

        params = CallToolRequestParams(name=tool, arguments=arguments)
        try:
            # Not `call_tool`, which runs the server's own patterns over the result: a malicious one
            # would take for ever.
            return await self._client.session.send_request(
                CallToolRequest(params=params), CallToolResult
            )
        except MCPError as error:
            if error.code == CONNECTION_CLOSED or self.server.url:
                raise self._away(error) from error
            raise CallFailedError(str(error)) from error
        except ValueError as error:
            raise CallFailedError("its answer is not what MCP allows") from error
        except Exception as error:
            raise self._away(error) from error

    async def _handle_message(self, message: Any) -> None:
        """Handle a message that the server sends unasked."""
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            self.listing_changed = True

    def _away(self, error: BaseException) -> AwayError:
        pipe = self._pipe
        return AwayError(pipe.fault) if pipe and pipe.fault else to_away_error(error, self.server)


def _check_installed() -> None:
    if find_spec("mcp") is None:
        raise AwayError("MCP is not installed: pip install 'openclaw[mcp]'")


INHERITED = ("PATH", "HOME", "LANG")
ON_WINDOWS = (
    *("SYSTEMROOT", "SYSTEMDRIVE", "PATHEXT", "COMSPEC", "TEMP", "USERPROFILE", "APPDATA"),
    *("LOCALAPPDATA", "PROGRAMDATA"),
)


Prepare = Callable[[Server, Start], AbstractContextManager[Start]]
"""Changes how a server is started, and keeps its files until it has ended. Raises AwayError for a
server that may not start."""


@frozen
class StartContext:
    """Where a server is started: the home, the folder of its log, and our environment."""

    root: Path
    logs: Path
    environment: Mapping[str, str]
    prepare: Prepare = lambda server, start: nullcontext(start)


def clean_environment(server: Server, environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a server process: parts of ours, and the variables of its settings. Raises
    AwayError for a variable that is not set."""
    names = (*INHERITED, *ON_WINDOWS) if os.name == "nt" else INHERITED
    kept = {name: environment[name] for name in names if name in environment}
    return kept | {name: _fill_variables(value, environment) for name, value in server.env.items()}


def _fill_variables(text: str, environment: Mapping[str, str]) -> str:
    try:
        value = fill_variables(text, environment)
    except KeyError as missing:
        raise AwayError(f"the environment variable {missing.args[0]} is not set") from None
    if any(c in value for c in "\0\r\n"):
        raise AwayError("a value that it is given holds a line break")
    return value


def to_away_error(error: BaseException, server: Server) -> AwayError:
    """Convert an error into one that tells in a few words why a server cannot be used."""
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
