"""A synchronous interface to the official MCP SDK: open, list, call and close servers.

The SDK is asyncio throughout. Its event loop runs in one thread, with one task per server; the rest
of the program does not see it. The first `open` imports the SDK (0.6 s).
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import os
import threading
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from openclaw import __version__
from openclaw.config.mcp_settings import Server, tool_name_part
from openclaw.errors import AwayError, CallFailedError
from openclaw.tools.mcp.start import ServerStarter, fill_or_fail

if TYPE_CHECKING:
    from openclaw.tools.mcp.transport import Pipe


START_SECONDS = 20.0
CLOSE_SECONDS = 4.0
MAX_PAGES = 50
MAX_TOOLS = 500  # tools of one server; nobody needs more, and a longer list may be an attack
T = TypeVar("T")


class McpConnector:
    """Opens connections to the servers of a home. Nothing is started or imported before `open`."""

    def __init__(self, starter: ServerStarter, start_seconds: float = START_SECONDS) -> None:
        self.starter = starter
        self.start_seconds = start_seconds
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._connections: list[Connection] = []

    def open(self, server: Server) -> Connection:
        """Start or reach a server and read its list of tools. Raises AwayError. Several threads may
        open several servers at once."""
        if find_spec("mcp") is None:
            raise AwayError("MCP is not installed: pip install 'openclaw[mcp]'")
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

    def __init__(self, server: Server, connector: McpConnector) -> None:
        self.server = server
        self.tools: list[dict[str, Any]] = []
        self.left_out = 0
        self.alive = False
        self.listing_changed = False
        self._connector = connector
        self._client: Any = None  # the SDK's
        self._pipe: Pipe | None = None  # of a process; None for a server of the web
        self._stop: asyncio.Event | None = None
        self._ready: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._task: concurrent.futures.Future[None] | None = None
        self._over = threading.Event()

    def open(self) -> None:
        self._task = self._connector.run(self._run_session())
        try:
            self._wait_for(self._ready, self._connector.start_seconds)
        except BaseException:  # Ctrl-C too: it would run on beside the next one
            self.close()
            raise
        self.alive = True

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Call a tool. Returns an `mcp_types.CallToolResult`. Raises CallFailedError, or AwayError,
        after which the connection is closed."""
        return self._wait_for(
            self._connector.run(self._call(tool, dict(arguments))), self.server.timeout
        )

    def list(self) -> None:
        """Read the list of tools again. Raises AwayError, after which the connection is closed."""
        self.listing_changed = False
        self._wait_for(self._connector.run(self._list()), self._connector.start_seconds)

    def leave(self) -> None:
        """Ask the server to end, without waiting."""
        self.alive = False
        if self._stop is not None:
            self._connector.soon(self._stop.set)

    def close(self) -> None:
        """End the server. May be called twice."""
        self.leave()
        task, self._task = self._task, None
        if task is None:
            return
        if not self._ready.done() or self._ready.cancelled():
            task.cancel()
        self._over.wait(CLOSE_SECONDS)
        if self._pipe is not None:
            self._pipe.kill()

    def _wait_for(self, future: concurrent.futures.Future[T], seconds: float) -> T:
        try:
            return future.result(seconds)
        except TimeoutError:
            future.cancel()
            if self._pipe is not None:  # it would not obey a request to end either
                self._pipe.kill()
            self.close()
            raise AwayError(f"it did not answer within {seconds:g} s") from None
        except KeyboardInterrupt:
            future.cancel()
            raise
        except CallFailedError:
            raise
        except Exception as error:  # whatever a server may do to the SDK
            self.close()
            raise self._away(error) from error

    # -------- in the thread of the servers

    async def _run_session(self) -> None:
        """The life of a server, in one task: the SDK must be left in the task that entered it."""
        self._stop = asyncio.Event()
        try:
            async with AsyncExitStack() as stack:
                await self._reach(stack)
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

    async def _reach(self, stack: AsyncExitStack) -> None:
        """Start or reach the server, which then speaks MCP, until the end of the stack."""
        from mcp import Client, Implementation

        from openclaw.tools.mcp import transport

        server, starter = self.server, self._connector.starter
        if server.url:
            headers = {name: fill_or_fail(t, os.environ) for name, t in server.headers.items()}
            web = transport.open_web(fill_or_fail(server.url, os.environ), headers)
            streams = await stack.enter_async_context(web)
        else:
            words, folder, variables = stack.enter_context(starter.prepare(server))
            log = starter.home.private / "logs" / f"mcp-{tool_name_part(server.name)}.log"
            pipe = transport.open_pipe(words, variables, folder, log)
            self._pipe, streams = await stack.enter_async_context(pipe)
        info = Implementation(name="openclaw", version=__version__)
        self._client = await stack.enter_async_context(
            Client(streams, client_info=info, message_handler=self._handle_message, cache=None)
        )

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
