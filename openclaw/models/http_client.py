"""Shared by all providers over HTTP: retries, waiting, errors, stopping a call, limits of a reply.

Only a refused connection is tried again: a server that is starting refuses. Any other error is
raised at once, because a new request would cancel a model that is loading.
"""

from __future__ import annotations

import contextvars
import json
import math
import queue
import re
import selectors
import socket
import ssl
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, TypeVar, cast
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from openclaw import __version__
from openclaw.config.settings import is_loopback
from openclaw.errors import (
    ModelFailed,
    OpenclawError,
    PromptTooLarge,
    ServerAway,
    UsageError,
    describe_unexpected,
)
from openclaw.messages import Waiting
from openclaw.models.base import ReplyBuilder, is_patient
from openclaw.stopping import check_stop
from openclaw.storage.safe_open import json_or_none, parse_foreign_json, replace_surrogates

T = TypeVar("T")

SILENT_SECONDS = 3.0
RETRY_WAITS = (0.5, 1.0, 2.0)  # seconds
CONNECT_SECONDS = 5.0
END_SECONDS = 0.5
BEAT_SECONDS = 0.05
LONGEST_ERROR = 300  # characters
MAX_BYTES = 64_000_000  # of one reply, unless the request sets a lower limit
MAX_LINE = 16_000_000
MAX_ERROR = 64_000
BYTES_A_TOKEN = 2_000  # a token is sent in some hundred bytes of JSON

_TOO_LARGE = re.compile(
    r"exceed_context_size|context_length_exceeded|maximum context length"
    r"|exceeds?\b.{0,40}\bcontext|longer than the context|context (length|size|window) exceeded",
    re.IGNORECASE,
)


def run_beside(
    attempt: Callable[[], T], cut: Callable[[], object], silent: str = ""
) -> Generator[Waiting, None, T]:
    """The value of `attempt()`, which a thread runs. Once it lasts some seconds, a chunk says
    `silent`; without that text there is a beat every 0.05 s. Closing the generator calls `cut`,
    which ends the attempt."""
    due, found = time.monotonic() + SILENT_SECONDS, None
    try:  # Ctrl-C may come while the thread starts
        call = BackgroundCall(lambda feed: feed((attempt(),)), name="server")
        for piece in call.pieces():  # its last piece is the value
            if piece:
                found = piece
            elif not silent:
                yield Waiting("")
            elif time.monotonic() > due:
                due = math.inf
                yield Waiting(silent)
    except (KeyboardInterrupt, GeneratorExit):
        cut()
        raise
    return cast("tuple[T]", found)[0]


def check_url(url: str) -> None:
    """Raise UsageError unless this is the URL of a server."""
    with suppress(ValueError):  # of a port, of brackets, of a name that is none
        parts = urlsplit(url)
        _, name = parts.port, (parts.hostname or "").encode("idna")
        if name and parts.scheme in ("http", "https") and not re.search(r"\s", url):
            return
    hint = "write it like http://localhost:8000/v1 or https://HOST/v1"
    raise UsageError(f"not the address of a server: {url!r}", hint)


class ConnectFailed(OSError):
    """No connection to a server came about; its cause says why."""


def connect(url: str, seconds: float) -> tuple[HTTPConnection, str, dict[str, str]]:
    """An open connection to the server of a URL, the URL's path as the server or the proxy of the
    environment wants it, and headers with the credentials in the URLs of both. No proxy is used for
    loopback. Raises ConnectFailed, after `seconds` at the latest."""
    parts = urlsplit(url)
    is_secure = parts.scheme == "https"
    host, port, path = parts.hostname or "127.0.0.1", parts.port, parts.path
    port = port or (443 if is_secure else 80)
    headers = _authorization("Authorization", parts)
    proxy = None if is_loopback(url) else _find_proxy(parts.scheme, host)
    at = (proxy.hostname or "", proxy.port) if proxy else (host, port)
    try:
        if is_secure:
            context = trusted_authorities()
            connection: HTTPConnection = HTTPSConnection(*at, timeout=seconds, context=context)
            if proxy:
                connection.set_tunnel(host, port, _authorization("Proxy-Authorization", proxy))
        else:
            connection = HTTPConnection(*at, timeout=seconds)
            if proxy:
                path = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
                headers |= _authorization("Proxy-Authorization", proxy)
        connection.connect()
    except OSError as error:
        raise ConnectFailed(*error.args) from error
    return connection, path, headers


def _find_proxy(scheme: str, host: str) -> SplitResult | None:
    import urllib.request

    if urllib.request.proxy_bypass(host):
        return None
    proxies = urllib.request.getproxies()
    found = proxies.get(scheme) or proxies.get("all")
    if found and found.startswith("socks"):
        kind = found.partition(":")[0]
        raise ConnectFailed(f"all_proxy names a {kind} proxy; set {scheme}_proxy to one of HTTP")
    return urlsplit(found if "://" in found else f"http://{found}") if found else None


def _authorization(header: str, url: SplitResult) -> dict[str, str]:
    """The header for the name and password in a URL, if it has them."""
    if not url.username:
        return {}
    named = f"{unquote(url.username)}:{unquote(url.password or '')}"
    return {header: f"Basic {b64encode(named.encode()).decode()}"}


def trusted_authorities() -> ssl.SSLContext:
    """The certificates of the system and, as some systems show none to OpenSSL, of certifi."""
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


def refused(error: BaseException | None) -> bool:
    """Return True when the root cause of an error is a refused connection."""
    while error is not None:
        if isinstance(error, ConnectionRefusedError):
            return True
        error = error.__cause__ or error.__context__
    return False


def error_line(text: str) -> str:
    """A server's error text as one short line, without the JSON around it."""
    said = json_or_none(replace_surrogates(text)) or text
    while isinstance(said, Mapping):
        said = said.get("error") or said.get("message") or said.get("detail") or json.dumps(said)
    if isinstance(said, str) and said != text and said.lstrip().startswith("{"):
        return error_line(said)
    line = " ".join(str(said).split())
    return line if len(line) <= LONGEST_ERROR else line[:LONGEST_ERROR] + "..."


def _too_large(text: str, line: str) -> PromptTooLarge:
    """The error for a prompt that is too long, with the server's own counts if it gives them."""
    counts = [re.search(rf'\b{key}\\*"\s*:\s*(\d+)', text) for key in ("n_prompt_tokens", "n_ctx")]
    hint = "raise `window` in openclaw.yaml, or start a new conversation"
    if not all(counts):
        return PromptTooLarge(f"the prompt does not fit the model's window: {line}", hint)
    tokens, window = (int(count[1]) for count in counts if count)
    more = tokens - window
    told = f"the prompt has {tokens} tokens, the model's window {window}: {more} too many"
    return PromptTooLarge(told, hint, counted=tokens)


def is_too_large(text: str) -> bool:
    return _TOO_LARGE.search(text) is not None


def _has_input(line: socket.socket) -> bool:
    """Return True when a socket can be read: an idle one only when the server has closed it."""
    with selectors.DefaultSelector() as ready:  # select() has a limit of 1,024 descriptors
        ready.register(line, selectors.EVENT_READ)
        return bool(ready.select(0))


def bytes_for(tokens: int) -> int:
    """The most bytes that a reply of so many tokens may have."""
    return min(MAX_BYTES, 2_000_000 + BYTES_A_TOKEN * tokens)


class ServerRefusal(Exception):
    """An error that a server reports: its text, and the HTTP status (0 within a stream)."""

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


class HttpClient:
    """A client of one server, with one connection, which the first call opens.

    headers          of each request
    connect_seconds  how long connecting may take
    read_seconds     how long the server may be silent; None for ever, as the first token of a cold
                     model takes minutes
    Raises UsageError for what is no URL. A call raises ServerRefusal, ConnectFailed, HTTPException
    or another OSError for a connection that breaks, UnicodeEncodeError for a text that cannot be
    sent, and another ValueError for an answer that is no JSON object.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        connect_seconds: float = CONNECT_SECONDS,
        read_seconds: float | None = None,
    ) -> None:
        check_url(url)
        self._url, self._seconds, self._read_seconds = url, connect_seconds, read_seconds
        self._headers = {
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",  # a compressed reply may expand a thousand times
            "User-Agent": f"openclaw/{__version__}",
            **headers,
        }
        self._connection: HTTPConnection | None = None
        self._response: HTTPResponse | None = None
        self._socket: socket.socket | None = None
        self._path, self._credentials = "", dict[str, str]()

    def send(self, method: str, path: str, value: object = None) -> HTTPResponse:
        """The response to a request, its body unread."""
        for header in self._headers.values():
            if not (header.isascii() and header.isprintable()):  # the error does not tell a key
                raise UnicodeEncodeError("ascii", "", 0, 1, "no header can hold it")
        body = None if value is None else dump(value)
        try:
            connection = self._connected()
            headers = {**self._headers, **self._credentials}
            connection.request(method, self._path + path, body, headers)
            self._response = response = connection.getresponse()
            if response.status >= 300:
                moved = response.getheader("Location")
                text = response.read(MAX_ERROR).decode(errors="replace")
                raise ServerRefusal(f"it has moved to {moved}" if moved else text, response.status)
            if response.getheader("Content-Encoding", "identity").lower() != "identity":
                raise HTTPException("it packs its reply, which was not asked for")
        except BaseException:
            self.close()
            raise
        return response

    def ask(self, method: str, path: str, value: object = None) -> Mapping[str, Any]:
        """The object that the server answers to a call without a stream."""
        response = self.send(method, path, value)
        try:
            with response:  # one whose length was not told holds its socket open
                data = response.read(MAX_LINE + 1)
            if len(data) > MAX_LINE:
                raise HTTPException(f"it sent more than {MAX_LINE:,} bytes")
            if response.length:
                raise HTTPException("its answer is cut off")
            return read_object(data.decode("utf-8", "replace"))
        except BaseException:
            self.close()
            raise

    def lines(self, response: HTTPResponse, most: int) -> Generator[str, None, None]:
        """The lines of a streamed reply. Closing the generator early hangs up on the server.
        HTTPException when the reply has more than `most` bytes, or a line has more than MAX_LINE.
        """
        left, complete = most, False
        try:
            while line := response.readline(min(left, MAX_LINE) + 1):
                left -= len(line)
                if left < 0:
                    raise HTTPException(f"it sent more than {most:,} bytes")
                if len(line) > MAX_LINE:
                    raise HTTPException(f"it sent a line of more than {MAX_LINE:,} bytes")
                if line.strip():
                    yield line.decode("utf-8", "replace")
            response.read()  # ends a response whose length was told, which `readline` does not
            complete = True
        finally:
            if not complete:
                self.close()

    def end(self, lines: Generator[str, None, None]) -> None:
        """Take the end of a reply of which all that counts has come: the connection is free for the
        next call then. Hangs up when something else comes, or nothing for END_SECONDS."""
        with closing(lines), suppress(OSError, HTTPException):
            if line := self._socket:
                line.settimeout(END_SECONDS)
                next(lines, None)
                line.settimeout(self._read_seconds)

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

    def _connected(self) -> HTTPConnection:
        """The connection, opened anew when the server has closed it meanwhile."""
        if self._connection is not None:
            line = self._connection.sock
            if line is None or _has_input(line):
                self.close()
        if self._connection is None:
            found = connect(self._url, self._seconds)
            self._connection, self._path, self._credentials = found
            self._connection.sock.settimeout(self._read_seconds)
            self._socket = self._connection.sock
        return self._connection


class ServerModel:
    """What the models of a server share: `server` is its name for the user, `advice` what to do
    when it is away. `waits` are the seconds between tries while it refuses the connection."""

    advice = ""

    def __init__(
        self, server: str, client: HttpClient, waits: Sequence[float] = RETRY_WAITS
    ) -> None:
        self._server, self._client, self._waits = server, client, waits
        self.reading_rate = 0.0

    def retry_refused(
        self, attempt: Callable[[], T], expected: str = ""
    ) -> Generator[Waiting, None, T]:
        """The value of `attempt()`. While the connection is refused, yields a chunk that says so
        and tries again. Raises the last ServerAway. See `without_retries`.

        A chunk also says when the server is silent for some seconds; `expected` is how long that
        may take."""
        silent = f"waiting for {self._server}{f' ({expected})' if expected else ''}"
        left = iter(self._waits if is_patient() else ())
        while True:
            try:
                return (yield from run_beside(attempt, self.cut, silent))
            except ServerAway as error:
                seconds = next(left, None) if refused(error) else None
                if seconds is None:
                    raise
            yield Waiting(f"{self._server} refuses the connection, trying again in {seconds:g} s")
            time.sleep(seconds)

    def cut(self) -> None:
        """Break the connection off, from any thread."""
        self._client.cut()

    def close(self) -> None:
        self._client.close()

    def _open(self, parts: Generator[T, None, None]) -> tuple[Generator[T, None, None], T | None]:
        """A stream and its first part. Only reading the first part connects."""
        with self._translate_errors():
            return parts, next(parts, None)

    def _follow(self, first: T | None, parts: Generator[T, None, None]) -> Generator[T, None, None]:
        """All parts of an opened stream. A thread reads them, so that a turn can be stopped while
        the server says nothing."""

        def read(feed: Feed) -> None:
            for part in parts:
                feed(part)

        with closing(parts):
            if first is None:
                return
            yield first
            call = BackgroundCall(read, self.cut, "server")
            try:
                with closing(call.pieces()) as pieces:
                    yield from (part for part in pieces if part is not None)
            finally:
                call.join()  # the next call uses the same connection

    @contextmanager
    def _translate_errors(self, heard: ReplyBuilder | None = None) -> Iterator[None]:
        """Turn the client's exceptions into our errors; `heard` is what has come of a stream."""
        try:
            yield
        except ServerRefusal as error:
            raise self._to_openclaw_error(error) from error
        except ConnectFailed as error:
            why = error_line(str(error)) or type(error).__name__
            why = "connection refused" if refused(error) else why
            raise ServerAway(f"{self._server} does not answer ({why})", self.advice) from error
        except UnicodeEncodeError as error:
            said, hint, _ = describe_unexpected(error)
            raise UsageError(said, hint or "") from error
        except (OSError, HTTPException) as error:
            pieces = heard.pieces if heard else 0
            raise self._broken_stream(pieces, str(error)) from error
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise ModelFailed(
                f"{self._server} sent what is not a chat reply: {error_line(str(error))}",
                "ask again; if it stays, look at its log or at what stands between",
            ) from error

    def _broken_stream(self, pieces: int, why: str = "") -> ModelFailed:
        """The error for a stream that ended before the reply did."""
        reason = f" ({error_line(why)})" if why else ""
        what = f"broke the reply off after {pieces} pieces" if pieces else "gave no answer"
        return ModelFailed(f"{self._server} {what}{reason}", "ask again; see its log")

    def _to_openclaw_error(self, refusal: ServerRefusal) -> OpenclawError:
        line = error_line(str(refusal)) or "nothing"
        if is_too_large(str(refusal)):
            return _too_large(str(refusal), line)
        code = f" (HTTP {refusal.status})" if refusal.status > 0 else ""
        hint = "the server's own log says more"
        if "does not support tools" in line or "tool choice requires" in line:
            hint = "set `protocol: json` in openclaw.yaml"
        elif "does not support chat" in line:
            hint = (
                "it is a model for embedding: set `model` to one that chats (openclaw models list)"
            )
        return ModelFailed(f"{self._server} said{code}: {line}", hint)


def read_object(text: str) -> dict[str, Any]:
    """The JSON object that a text is, without lone surrogates. ValueError for anything else."""
    value = parse_foreign_json(replace_surrogates(text))
    if not isinstance(value, dict):
        raise ValueError(f"no object: {text[:80]!r}")
    return value


def dump(value: object) -> bytes:
    """JSON as the `ollama` and `openai` libraries write it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


Feed = Callable[[Any], None]
_END = object()


class Stopped(Exception):
    """The call was stopped by another thread while its next piece was waited for."""


class BackgroundCall(threading.Thread):
    """A thread that runs `work`, which feeds its pieces. `cancel` ends its wait from another
    thread; an OSError of `cancel` means that it has ended. A daemon: the process may exit."""

    def __init__(
        self,
        work: Callable[[Feed], None],
        cancel: Callable[[], object] | None = None,
        name: str = "llama.cpp",
    ) -> None:
        super().__init__(daemon=True, name=name)
        self._work, self._cancel = work, cancel
        self._context = contextvars.copy_context()
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._error: BaseException | None = None
        self.is_stopped = False
        self.start()

    def run(self) -> None:
        try:
            self._context.run(self._work, self._queue.put)
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            self._error = error
        self._queue.put(_END)

    def stop(self) -> None:
        if self._cancel is not None and self.is_alive():
            self.is_stopped = True
            with suppress(OSError):
                self._cancel()

    def pieces(self) -> Generator[Any, None, None]:
        """The pieces of the call as they come, and None after each 0.05 s without one. Closing the
        generator stops the call. Raises the exception of `work`, or Stopped."""
        ended = False
        try:
            while not ended:
                check_stop()
                try:
                    # Without a time limit Ctrl-C would not end the wait on Windows.
                    piece = self._queue.get(timeout=BEAT_SECONDS)
                except queue.Empty:
                    piece = None
                ended = piece is _END
                if not ended:
                    yield piece
        finally:
            if not ended:
                self.stop()
        if self.is_stopped:
            raise Stopped
        if self._error:
            raise self._error
