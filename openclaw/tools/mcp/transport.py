"""Transports to an MCP server: a child process with one JSON message a line, or HTTP.

The SDK's own transport accepts lines of any length, gives the child more of our environment than it
needs, and sends its log to the terminal. This one ends a server that sends too much at once. It is
only imported when a server is really started.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
from asyncio.subprocess import SubprocessStreamProtocol
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import anyio
import httpx2
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, jsonrpc_message_adapter

from openclaw.storage.safe_open import json_or_none, make_folder, replace_surrogates, writing
from openclaw.tools.shell.process import end_group

LONGEST_MESSAGE = 8_000_000
"""Bytes of one message; a result is cut to 12,000 characters for the model anyway."""
LARGEST_LOG = 1_000_000
MAX_NOISE = 100  # lines that are not a message; some servers greet on stdout
_ID = re.compile(r'"id"\s*:\s*(?:\d{1,15}|"[\w-]{1,100}")')
PATIENCE = 0.7  # seconds that a server has to end by itself, and again after SIGTERM


@dataclass(slots=True)
class Pipe:
    """A running server process. `fault` tells why it was given up, "" when it was not."""

    child: asyncio.SubprocessTransport
    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader
    fault: str = ""

    def kill(self) -> None:
        """Kill the process and all that it started, at once. May be called from any thread."""
        end_group(self.child.get_pid(), hard=True)


@asynccontextmanager
async def open_pipe(
    words: Sequence[str], environment: Mapping[str, str], folder: Path, log: Path
) -> AsyncIterator[tuple[Pipe, Any]]:
    """Start a server; yields the process and a transport for the SDK's `Client`."""
    loop = asyncio.get_running_loop()
    child, streams = await loop.subprocess_exec(
        lambda: SubprocessStreamProtocol(limit=LONGEST_MESSAGE, loop=loop),
        *words,
        env=dict(environment),
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    if streams.stdin is None or streams.stdout is None or streams.stderr is None:
        raise OSError("no pipes")  # cannot be: all three were asked for
    pipe = Pipe(child, streams.stdin, streams.stdout, streams.stderr)
    try:
        yield pipe, _transport(pipe, log)
    finally:
        with anyio.CancelScope(shield=True):
            await _end_server(pipe)


@asynccontextmanager
async def _transport(pipe: Pipe, log: Path) -> AsyncIterator[tuple[Any, Any]]:
    heard, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, said = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks, heard, read, write, said:
        tasks.start_soon(_pass_on_messages, pipe, heard)
        tasks.start_soon(_say, pipe, said, heard)
        tasks.start_soon(_keep_log, pipe, log)
        try:
            yield read, write
        finally:
            tasks.cancel_scope.cancel()


async def _pass_on_messages(
    pipe: Pipe, heard: ObjectSendStream[SessionMessage | Exception]
) -> None:
    """Pass on messages until the end; the closed stream then fails the calls that still wait."""
    noise = 0
    async with heard:
        while noise <= MAX_NOISE:
            try:
                line = await pipe.stdout.readuntil(b"\n")
            except asyncio.LimitOverrunError:
                pipe.fault = f"it sent more than {LONGEST_MESSAGE // 1_000_000} MB at once"
                pipe.kill()
                return
            except (asyncio.IncompleteReadError, OSError):
                return
            try:
                message = _parse_message(line)
            except ValueError:
                noise += bool(line.strip())
                continue
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                await heard.send(SessionMessage(message))
        pipe.fault = "it does not speak MCP: too many lines that are no messages"
        pipe.kill()


def _parse_message(line: bytes) -> Any:
    """Parse the message in a line. A malformed answer becomes an error for the call that waits for
    it, which would otherwise time out. Raises ValueError for a line that is not a message."""
    text = replace_surrogates(line.decode("utf-8", "replace"))
    try:
        return jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValueError:
        call = _answered_id(text)
        if call is None:
            raise
        error = {"code": INVALID_REQUEST, "message": "its answer is not what MCP allows"}
        return jsonrpc_message_adapter.validate_python(
            {"jsonrpc": "2.0", "id": call, "error": error}, by_name=False
        )


def _answered_id(text: str) -> str | int | None:
    """The id of the call that a line seems to answer, None when it does not look like an answer."""
    if '"jsonrpc"' not in text or '"method"' in text:
        return None
    told = json_or_none(text)
    if told is None and (found := _ID.search(text)):
        told = json.loads(f"{{{found[0]}}}")
    call = told.get("id") if isinstance(told, dict) else None
    return call if type(call) in (str, int) else None


async def _say(
    pipe: Pipe,
    said: ObjectReceiveStream[SessionMessage],
    heard: ObjectSendStream[SessionMessage | Exception],
) -> None:
    try:
        async for message in said:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            pipe.stdin.write(text.encode() + b"\n")
            await pipe.stdin.drain()
    except OSError:
        await heard.aclose()


async def _keep_log(pipe: Pipe, log: Path) -> None:
    """Write the first part of the server's stderr to its log."""
    left = LARGEST_LOG
    with suppress(OSError):
        make_folder(log.parent)
        with _open_log(log) as file:
            while chunk := await pipe.stderr.read(65_536):
                if left <= 0:
                    continue
                file.write(chunk[:left])
                left -= len(chunk)
                if left <= 0:
                    file.write(b"\n[the rest is left out]\n")
                file.flush()


def _open_log(log: Path) -> BinaryIO:
    """Open an empty log, readable by the user only: a server may log its arguments."""
    file = writing(log, 0o600)
    if os.name != "nt":
        os.fchmod(file.fileno(), 0o600)  # a file of an older version had more
    return file


async def _end_server(pipe: Pipe) -> None:
    """Close its input, wait, and end the rest of the group, as the protocol demands."""
    leader = pipe.child.get_pid()
    pipe.stdin.close()
    if not await _ends_soon(pipe):
        end_group(leader, hard=False)
        await _ends_soon(pipe)
    end_group(leader, hard=True)
    await _ends_soon(pipe)
    pipe.child.close()
    await asyncio.sleep(0)


async def _ends_soon(pipe: Pipe) -> bool:
    """Wait a little; return True when it has ended. Not `wait()`: a grandchild that has the pipes
    open would block it."""
    for _ in range(int(PATIENCE / 0.01)):
        if pipe.child.get_returncode() is not None:
            return True
        await asyncio.sleep(0.01)
    return False


SECONDS = 20.0
STREAM_SECONDS = 300.0  # the longest time that a server may be silent on an open stream


@asynccontextmanager
async def open_web(address: str, headers: Mapping[str, str]) -> AsyncIterator[Any]:
    """A transport for the SDK's `Client`. The SDK follows redirects on the same origin only, so
    that nobody else gets the headers."""
    async with httpx2.AsyncClient(
        headers={"Accept-Encoding": "identity", **headers},
        timeout=httpx2.Timeout(SECONDS, read=STREAM_SECONDS),
        event_hooks={"response": [_limit]},
    ) as client:
        yield streamable_http_client(
            address, http_client=client, max_sse_event_size=LONGEST_MESSAGE
        )


async def _limit(response: httpx2.Response) -> None:
    """Break off a too long reply that is not an event stream. A compressed reply may be a thousand
    times as long as it looks."""
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise httpx2.DecodingError("it packs its reply, which was not asked for")
    if not response.headers.get("content-type", "").startswith("text/event-stream"):
        response.stream = _LimitedStream(response.stream)


class _LimitedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = LONGEST_MESSAGE
        async for chunk in self._stream:
            left -= len(chunk)
            if left < 0:
                raise httpx2.ReadError("it sent more than is read at once")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
