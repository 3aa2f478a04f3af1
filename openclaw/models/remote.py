"""What the providers that speak HTTP share: reaching a server, waiting for it, reading its errors.

Only a refused connection is tried again: a server that is just starting refuses. Everything else
is said at once, because closing a connection and asking anew would cancel a model that loads.
"""

from __future__ import annotations

import http.client
import json
import math
import re
import selectors
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from openclaw.errors import ModelFailed, PromptTooLarge, ServerAway
from openclaw.files.replies import MOST_BYTES, ask_plain, bound
from openclaw.models.base import Waiting
from openclaw.models.call import Call

T = TypeVar("T")

_patient: ContextVar[bool] = ContextVar("patient", default=True)

SILENT_SECONDS = 3.0
RETRY_WAITS = (0.5, 1.0, 2.0)  # seconds
CONNECT_SECONDS = 5.0
BEAT_SECONDS = 0.05
LONGEST_ERROR = 300  # characters

_TOO_LARGE = re.compile(
    r"exceed_context_size|context_length_exceeded|maximum context length"
    r"|exceeds?\b.{0,40}\bcontext|longer than the context|context (length|size|window) exceeded",
    re.IGNORECASE,
)


def patiently(
    attempt: Callable[[], T],
    server: str,
    waits: Sequence[float],
    cut: Callable[[], object] | None = None,
    expected: str = "",
) -> Generator[Waiting, None, T]:
    """The value of `attempt()`, tried again after each of `waits` seconds while the connection is
    refused, with a chunk that says so. The last ServerAway is raised. See `asked_once`.

    With `cut`, which ends an attempt from another thread, a server that is silent for some seconds
    is told of too; `expected` is how long that may take."""
    why = f" ({expected})" if expected else ""
    silent = f"waiting for {server}{why}"
    for seconds in waits if is_patient() else ():
        try:
            return (yield from _heard(attempt, cut, silent)) if cut else attempt()
        except ServerAway as error:
            if not refused(error):
                raise
        yield Waiting(f"{server} refuses the connection, trying again in {seconds:g} s")
        time.sleep(seconds)
    return (yield from _heard(attempt, cut, silent)) if cut else attempt()


def _heard(
    attempt: Callable[[], T], cut: Callable[[], object], silent: str
) -> Generator[Waiting, None, T]:
    """The value of `attempt()`, and after some seconds without one a chunk that says `silent`."""
    due, found = time.monotonic() + SILENT_SECONDS, None
    try:
        call = Call(lambda feed: feed((attempt(),)), name="server")
        for piece in call.pieces():  # to its end, which comes with the value
            found = piece or found
            if found is None and time.monotonic() > due:
                due = math.inf
                yield Waiting(silent)
    except (KeyboardInterrupt, GeneratorExit):
        cut()
        raise
    return cast("tuple[T]", found)[0]


@contextmanager
def asked_once() -> Iterator[None]:
    """Within it this thread does not ask a server again that refuses the connection: for work that
    nobody waits for, but may have to be waited for."""
    token = _patient.set(False)
    try:
        yield
    finally:
        _patient.reset(token)


def is_patient() -> bool:
    return _patient.get()


def posted(
    url: str, body: Mapping[str, Any], headers: Mapping[str, str]
) -> Generator[Waiting, None, bytes]:
    """POST an object as JSON and wait for the answer, which it returns, with a beat every
    0.05 s. Leaving closes the connection, by which a server ends its work. Raises OSError or
    HTTPException. By http.client: a wait of httpx cannot be left and taken up again."""
    parts = urlsplit(url)
    is_secure = parts.scheme == "https"
    kind = http.client.HTTPSConnection if is_secure else http.client.HTTPConnection
    connection = kind(parts.hostname or "127.0.0.1", parts.port, timeout=CONNECT_SECONDS)
    with closing(connection), selectors.DefaultSelector() as ready:
        sent = {"Content-Type": "application/json", **headers}
        connection.request("POST", parts.path, json.dumps(body), sent)
        ready.register(connection.sock, selectors.EVENT_READ)
        while not ready.select(BEAT_SECONDS):
            yield Waiting("")
        connection.sock.settimeout(None)
        return connection.getresponse().read(MOST_BYTES)


def refused(error: BaseException | None) -> bool:
    """Whether a refused connection stands at the bottom of an error's causes."""
    while error is not None:
        if isinstance(error, ConnectionRefusedError):
            return True
        error = error.__cause__ or error.__context__
    return False


def away(server: str, error: Exception, hint: str) -> ServerAway:
    """The error for a server that could not be reached."""
    why = "connection refused" if refused(error) else one_line(str(error)) or type(error).__name__
    return ServerAway(f"{server} does not answer ({why})", hint)


def lighten_httpx() -> None:
    """To be called before httpx is imported for the first time, by ourselves or by ollama: its
    package would load its own command line, and with it click, rich and pygments (70 ms), where
    those are installed. It does well without."""
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]


def client_options(url: str, *hooks: Callable[[Any], None]) -> dict[str, Any]:
    """Arguments for `httpx.Client`: short to connect, endless to read, since the first token of a
    cold model takes minutes. A proxy of the environment must not catch loopback, and reading the
    certificate store (35 ms) is left out where no TLS is spoken. `hooks` are told of requests."""
    import httpx

    secure = url.startswith("https://")
    return {
        "timeout": httpx.Timeout(None, connect=CONNECT_SECONDS),
        "verify": secure,
        "follow_redirects": secure,
        "trust_env": not is_loopback(url),
        "event_hooks": {"request": [ask_plain, *hooks], "response": [bound]},
    }


def is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def one_line(text: str) -> str:
    """An error of a server as one short line, unwrapped from the JSON it came in."""
    try:
        said: Any = json.loads(text)
    except ValueError:
        said = text
    while isinstance(said, Mapping):
        said = said.get("error") or said.get("message") or said.get("detail") or json.dumps(said)
    if isinstance(said, str) and said != text and said.lstrip().startswith("{"):
        return one_line(said)
    line = " ".join(str(said).split())
    return line if len(line) <= LONGEST_ERROR else line[:LONGEST_ERROR] + "..."


def failure(server: str, text: str, status: int = 0) -> ModelFailed:
    """The error for what a server said instead of a reply; `status` 0 when it came mid-stream."""
    line = one_line(text) or "nothing"
    if is_too_large(text):
        return _too_large(text, line)
    code = f" (HTTP {status})" if status > 0 else ""
    hint = "the server's own log says more"
    if "does not support tools" in line or "tool choice requires" in line:
        hint = "set `protocol: json` in openclaw.yaml"
    elif "does not support chat" in line:
        hint = "it is a model for embedding: set `model` to one that chats (openclaw models list)"
    return ModelFailed(f"{server} said{code}: {line}", hint)


def _too_large(text: str, line: str) -> PromptTooLarge:
    """The error for a prompt that is too long, with the server's own counts where it tells them."""
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


def broken_off(server: str, pieces: int, why: str = "") -> ModelFailed:
    """The error for a stream that ended before the reply did."""
    reason = f" ({one_line(why)})" if why else ""
    return ModelFailed(
        f"{server} broke the reply off after {pieces} pieces{reason}", "ask again; see its log"
    )
