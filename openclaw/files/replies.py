"""Bounds what a server of models may send, and makes its JSON text that can be written down.

The two hooks are for clients of httpx, also for those inside of other libraries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, AnyStr

if TYPE_CHECKING:
    import httpx

MOST_BYTES = 64_000_000
"""Of one reply, where the request does not say less."""
MOST_LINE = 16_000_000
MOST_ERROR = 64_000
BYTES_A_TOKEN = 2_000
"""A token is sent in some hundred bytes of JSON."""
LIMIT = "openclaw.most_bytes"

_ESCAPE = (
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
_ESCAPES = re.compile(_ESCAPE, re.DOTALL)
_BYTE_ESCAPES = re.compile(_ESCAPE.encode(), re.DOTALL)


def mend_json(text: AnyStr) -> AnyStr:
    """JSON whose lone halves of surrogate pairs, which no file can hold, are U+FFFD; as long as
    before."""
    if isinstance(text, bytes):
        if b"\\u" not in text:
            return text
        return _BYTE_ESCAPES.sub(lambda m: b"\\ufffd" if m[1] else m[0], text)
    if "\\u" not in text:
        return text
    return _ESCAPES.sub(lambda m: "\\ufffd" if m[1] else m[0], text)


def bytes_for(tokens: int) -> int:
    """How much a reply of so many tokens may be on the line."""
    return min(MOST_BYTES, 2_000_000 + BYTES_A_TOKEN * tokens)


def ask_plain(request: httpx.Request) -> None:
    """Ask for a reply that is not packed: a packed one may be a thousand times as long."""
    request.headers["Accept-Encoding"] = "identity"


def bound(response: httpx.Response) -> None:
    """Let a reply break off where it gets too long, or is packed nevertheless."""
    import httpx

    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise httpx.DecodingError("it packs its reply, which was not asked for")
    most = response.request.extensions.get(LIMIT, MOST_BYTES)

    class Bounded(httpx.SyncByteStream):
        def __init__(self, stream: httpx.SyncByteStream) -> None:
            self._stream = stream

        def __iter__(self) -> Iterator[bytes]:
            return _lines(self._stream, most)

        def close(self) -> None:
            self._stream.close()

    response.stream = Bounded(response.stream)  # type: ignore[arg-type]


def _lines(stream: httpx.SyncByteStream, most: int) -> Iterator[bytes]:
    """Whole lines, mended."""
    import httpx

    held: list[bytes] = []
    total = size = 0
    for chunk in stream:
        total, size = total + len(chunk), size + len(chunk)
        if total > most:
            raise httpx.ReadError(f"it sent more than {most:,} bytes")
        if size > MOST_LINE:
            raise httpx.ReadError(f"it sent a line of more than {MOST_LINE:,} bytes")
        lines, end, rest = chunk.rpartition(b"\n")
        held.append(lines + end)
        if end:
            yield mend_json(b"".join(held))
            held, size = [], len(rest)
        held.append(rest)
    yield mend_json(b"".join(held))
