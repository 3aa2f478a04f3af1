"""An MCP server behind an address (streamable HTTP). Only imported where one is really reached."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client

from openclaw.tools.mcp_pipe import LONGEST_MESSAGE

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
