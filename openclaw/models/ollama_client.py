"""Ollama's API over `http.client`, for the calls that a prompt waits for.

Importing the `ollama` library takes as long as everything else before a prompt's request, so it is
left to what nobody waits for: pulling models and embedding. The body of a chat is the one that the
library writes, byte for byte, except that `truncate` asks for an error instead of a silent cut.
"""

from __future__ import annotations

import json
import os
import select
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any

from openclaw.models.base import MOST_ERROR, MOST_LINE, bytes_for, replace_surrogates
from openclaw.models.http_client import CONNECT_SECONDS, connect


class OllamaRefusal(Exception):
    """An error that the server reports: its text, and the HTTP status (0 within a stream)."""

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


class OllamaClient:
    """A client with one connection, which the first call opens.

    connect_seconds  how long connecting may take
    read_seconds     how long the server may be silent; None for ever, as the first token of a cold
                     model takes minutes

    A call raises OllamaRefusal, ConnectFailed, HTTPException or another OSError of a connection
    that breaks, and ValueError for an answer that is no JSON object.
    """

    def __init__(
        self,
        url: str,
        connect_seconds: float = CONNECT_SECONDS,
        read_seconds: float | None = None,
    ) -> None:
        self._url, self._seconds, self._read_seconds = url, connect_seconds, read_seconds
        self._connection: HTTPConnection | None = None
        self._response: HTTPResponse | None = None
        self._socket: socket.socket | None = None
        self._path = ""

    def show(self, name: str) -> Mapping[str, Any]:
        """The answer of `/api/show`."""
        return self.ask("POST", "/api/show", {"model": name})

    def running(self) -> list[Mapping[str, Any]]:
        """The running models, as `/api/ps` lists them."""
        models = self.ask("GET", "/api/ps").get("models") or []
        return [each for each in models if isinstance(each, Mapping)]

    def chat(self, body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """The parts of a streamed chat. Closing the iterator early hangs up on the server."""
        response = self._send("POST", "/api/chat", body)
        most, complete = bytes_for(body["options"]["num_predict"]), False
        try:
            for line in _lines(response, most):
                part = _object(line)
                if error := part.get("error"):
                    raise OllamaRefusal(error if isinstance(error, str) else json.dumps(error))
                yield part
            response.read()  # ends a response whose length was told, which `readline` does not
            complete = True
        finally:
            if not complete:
                self.close()

    def cut(self) -> None:
        """Break the connection off, from any thread: a read from it fails at once."""
        if line := self._socket:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        response, connection = self._response, self._connection
        self._response = self._connection = self._socket = None
        if response is not None:
            response.close()
        if connection is not None:
            connection.close()

    def ask(self, method: str, path: str, value: object = None) -> Mapping[str, Any]:
        """The object that the server answers to any call but a chat."""
        response = self._send(method, path, value)
        try:
            data = response.read(MOST_LINE + 1)
            if len(data) > MOST_LINE:
                raise HTTPException(f"it sent more than {MOST_LINE:,} bytes")
            return _object(replace_surrogates(data))
        except BaseException:
            self.close()
            raise

    def _send(self, method: str, path: str, value: object = None) -> HTTPResponse:
        """The response to a request, its body unread."""
        body = None if value is None else dump(value)
        headers = {
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",  # a compressed reply may expand a thousand times
            **authorization(),
        }
        try:
            connection = self._connected()
            connection.request(method, self._path + path, body, headers)
            self._response = response = connection.getresponse()
            if response.status >= 300:
                moved = response.getheader("Location")
                text = f"it has moved to {moved}" if moved else _text(response.read(MOST_ERROR))
                raise OllamaRefusal(text, response.status)
            if response.getheader("Content-Encoding", "identity").lower() != "identity":
                raise HTTPException("it packs its reply, which was not asked for")
        except BaseException:
            self.close()
            raise
        return response

    def _connected(self) -> HTTPConnection:
        """The connection, opened anew when the server has closed it meanwhile."""
        if self._connection is not None:
            line = self._connection.sock
            if line is None or select.select([line], [], [], 0)[0]:
                self.close()
        if self._connection is None:
            self._connection, self._path = connect(self._url, self._seconds)
            self._connection.sock.settimeout(self._read_seconds)
            self._socket = self._connection.sock
        return self._connection


def authorization() -> dict[str, str]:
    """The header with the key of OLLAMA_API_KEY, if there is one."""
    key = os.environ.get("OLLAMA_API_KEY", "")
    return {"Authorization": f"Bearer {key}"} if key else {}


def dump(value: object) -> bytes:
    """JSON as the `ollama` library writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _object(data: bytes) -> Mapping[str, Any]:
    value = json.loads(data)
    if not isinstance(value, dict):
        raise ValueError(f"no object: {_text(data[:80])!r}")
    return value


def _lines(response: HTTPResponse, most: int) -> Iterator[bytes]:
    """The lines of a reply, without lone surrogates. HTTPException when it has more than `most`
    bytes, or a line has more than MOST_LINE."""
    left = most
    while line := response.readline(min(left, MOST_LINE) + 1):
        left -= len(line)
        if left < 0:
            raise HTTPException(f"it sent more than {most:,} bytes")
        if len(line) > MOST_LINE:
            raise HTTPException(f"it sent a line of more than {MOST_LINE:,} bytes")
        if line.strip():
            yield replace_surrogates(line)
