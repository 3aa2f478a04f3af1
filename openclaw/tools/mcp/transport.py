"""An MCP server as a child process: one JSON message a line, in and out.

The SDK's own transport takes lines of any length, gives the child more of our environment than it
needs, and its log to the terminal. This one ends with a server that says too much at once. Only
imported where a server is really started.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
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

from openclaw.models.base import mend_json
from openclaw.storage.safe_open import make_folder, writing

LONGEST_MESSAGE = 8_000_000
"""Bytes of one message; a result is cut to 12,000 characters for the model anyway."""
LARGEST_LOG = 1_000_000
MOST_NOISE = 100
"""Lines that are no message; some servers greet on stdout."""
_ID = re.compile(r'"id"\s*:\s*(?:\d{1,15}|"[\w-]{1,100}")')
PATIENCE = 0.7
"""Seconds a server has to end by itself, and again after SIGTERM."""


@dataclass(slots=True)
class Pipe:
    """A running server process. `fault` says why it was given up, if it was."""

    child: asyncio.SubprocessTransport
    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader
    fault: str = ""

    def kill(self) -> None:
        """End the process and all that it started; from any thread, at once."""
        end_group(self.child.get_pid(), hard=True)


def end_group(leader: int, *, hard: bool) -> None:
    """End a process that leads a group, and the group."""
    if sys.platform == "win32":
        words = ["taskkill", "/T", "/F", "/PID", str(leader)]
        subprocess.run(words, capture_output=True, check=False)
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL if hard else signal.SIGTERM)


@asynccontextmanager
async def open_pipe(
    words: Sequence[str], environment: Mapping[str, str], folder: Path, log: Path
) -> AsyncIterator[tuple[Pipe, Any]]:
    """Start a server; gives the process and a transport for the SDK's `Client`."""
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
            await _end(pipe)


@asynccontextmanager
async def _transport(pipe: Pipe, log: Path) -> AsyncIterator[tuple[Any, Any]]:
    heard, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, said = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks, heard, read, write, said:
        tasks.start_soon(_hear, pipe, heard)
        tasks.start_soon(_say, pipe, said, heard)
        tasks.start_soon(_keep_log, pipe, log)
        try:
            yield read, write
        finally:
            tasks.cancel_scope.cancel()


async def _hear(pipe: Pipe, heard: ObjectSendStream[SessionMessage | Exception]) -> None:
    """Hand on messages until there are no more; the closed stream fails what still waits."""
    noise = 0
    async with heard:
        while noise <= MOST_NOISE:
            try:
                line = await pipe.stdout.readuntil(b"\n")
            except asyncio.LimitOverrunError:
                pipe.fault = f"it sent more than {LONGEST_MESSAGE // 1_000_000} MB at once"
                pipe.kill()
                return
            except (asyncio.IncompleteReadError, OSError):
                return
            try:
                message = _message(line)
            except ValueError:
                noise += bool(line.strip())
                continue
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                await heard.send(SessionMessage(message))
        pipe.fault = "it does not speak MCP: too many lines that are no messages"
        pipe.kill()


def _message(line: bytes) -> Any:
    """The message in a line. An answer that is none by the book fails the call that waits for it,
    which would wait to its end. ValueError for what is no message."""
    text = mend_json(line.decode("utf-8", "replace"))
    try:
        return jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValueError:
        call = _answered(text)
        if call is None:
            raise
        error = {"code": INVALID_REQUEST, "message": "its answer is not what MCP allows"}
        return jsonrpc_message_adapter.validate_python(
            {"jsonrpc": "2.0", "id": call, "error": error}, by_name=False
        )


def _answered(text: str) -> str | int | None:
    """The id of the call that a line seems to answer, None when it seems to be no answer."""
    if '"jsonrpc"' not in text or '"method"' in text:
        return None
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        found = _ID.search(text)
        told = json.loads(f"{{{found[0]}}}") if found else None
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
    """What the server writes to stderr, the first part of it."""
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
    """Begun anew, for the user's eyes only: a server may log what it was given."""
    file = writing(log, 0o600)
    if os.name != "nt":
        os.fchmod(file.fileno(), 0o600)  # one of an older version
    return file


async def _end(pipe: Pipe) -> None:
    """Close its input, wait, and end what is left of the group, as the protocol asks for."""
    leader = pipe.child.get_pid()
    pipe.stdin.close()
    if not await _ended(pipe):
        end_group(leader, hard=False)
        await _ended(pipe)
    end_group(leader, hard=True)
    await _ended(pipe)
    pipe.child.close()
    await asyncio.sleep(0)


async def _ended(pipe: Pipe) -> bool:
    """Whether it ends soon. Not `wait()`: a grandchild that holds the pipes would keep it."""
    for _ in range(int(PATIENCE / 0.01)):
        if pipe.child.get_returncode() is not None:
            return True
        await asyncio.sleep(0.01)
    return False


SECONDS = 20.0
STREAM_SECONDS = 300.0
"""How long a server may be silent on an open stream."""


@asynccontextmanager
async def open_web(address: str, headers: Mapping[str, str]) -> AsyncIterator[Any]:
    """A transport for the SDK's `Client`. Redirects stay on the same origin (the SDK sees to it),
    so that the headers go to nobody else."""
    async with httpx2.AsyncClient(
        headers={"Accept-Encoding": "identity", **headers},
        timeout=httpx2.Timeout(SECONDS, read=STREAM_SECONDS),
        event_hooks={"response": [_limit]},
    ) as client:
        yield streamable_http_client(
            address, http_client=client, max_sse_event_size=LONGEST_MESSAGE
        )


async def _limit(response: httpx2.Response) -> None:
    """Let a reply that is no event stream break off where it gets too long. A packed one may be a
    thousand times as long as it looks."""
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise httpx2.DecodingError("it packs its reply, which was not asked for")
    if not response.headers.get("content-type", "").startswith("text/event-stream"):
        response.stream = _Limited(response.stream)


class _Limited(httpx2.AsyncByteStream):
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
