"""llama.cpp in this process, through `xllamacpp`: load, generate, save and restore the slot.

Generation is a direct call. Only what has no call (the rendered template, saving and restoring the
slot) goes over the engine's own HTTP, on a UNIX socket in a folder that only this user can enter;
where there are no UNIX sockets, on a loopback port. Both ask for a random key.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import queue
import secrets
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from openclaw.errors import ModelFailed, ModelMissing, OpenclawError

if TYPE_CHECKING:
    from http.client import HTTPConnection

Feed = Callable[[Any], bool]
Chunks = Generator[dict[str, Any], None, None]

# The engine looks for a cancelled request between two batches: 128 tokens are a second or so, and
# on a CPU as fast as the usual 2,048.
_BATCH = 128
_LONGEST_SOCKET_PATH = 100
_PATIENCE_SECONDS = 15.0


class EngineError(Exception):
    """The engine refused a request; `detail` is its own error object."""

    def __init__(self, detail: Mapping[str, Any]) -> None:
        super().__init__(str(detail.get("message", "the engine gave no reason")))
        self.detail = detail


class Engine:
    """A loaded model with one slot. One call at a time; a further one waits for the last to end."""

    def __init__(self, path: Path, *, window: int, threads: int, states: Path | None) -> None:
        self.version = ""
        self._path, self._window, self._threads, self._states = path, window, threads, states
        self._server: Any = None
        self._key = secrets.token_hex(24)
        self._room: Path | None = None
        self._calls: list[_Call] = []

    @property
    def loaded(self) -> bool:
        return self._server is not None

    def load(self) -> None:
        """Load the model; ModelMissing without xllamacpp, ModelFailed when it cannot be loaded.
        Ctrl-C leaves at once, the loading thread then ends by itself."""
        xllamacpp = _xllamacpp()
        atexit.register(self.close)
        try:
            parameters = self._parameters(xllamacpp)
            for server in self._run(lambda feed: feed(xllamacpp.Server(parameters))):
                self._server = server
        except ModelFailed as error:
            self.close()
            raise ModelFailed(
                f"llama.cpp cannot load {self._path} with a window of {self._window:,} tokens",
                "the file is damaged, of an unknown kind or too large for this memory; "
                "`openclaw models pull` fetches a good one, `window` in openclaw.yaml is the size",
            ) from error
        self.version = str(xllamacpp.__version__)

    def chat(self, body: Mapping[str, Any]) -> Chunks:
        """The chunks of one chat completion, among them `prompt_progress` while it reads."""
        return self._generate("handle_chat_completions", body)

    def complete(self, body: Mapping[str, Any]) -> Chunks:
        """The chunks of a completion of a plain text."""
        return self._generate("handle_completions", body)

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """One request to the engine's HTTP; EngineError when refused."""
        connection = self._connection()
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        try:
            connection.request("POST", path, json.dumps(body), headers)
            response = connection.getresponse()
            answer = json.loads(response.read())
        except (OSError, ValueError) as error:
            raise EngineError({"message": f"no answer to {path}: {error}"}) from error
        finally:
            connection.close()
        if response.status != 200:
            raise EngineError(answer.get("error", {}))
        return dict(answer)

    def close(self) -> None:
        """End what runs, give the memory back, remove the socket. May be called again."""
        atexit.unregister(self.close)
        self._wait()
        self._server = None
        if self._room is not None:
            shutil.rmtree(self._room, ignore_errors=True)
            self._room = None

    def _parameters(self, xllamacpp: Any) -> Any:
        p = xllamacpp.CommonParams()
        p.model.path = str(self._path)
        p.n_ctx, p.n_parallel = self._window, 1
        p.n_batch = p.n_ubatch = _BATCH
        p.cpuparams.n_threads = self._threads or _cores()
        p.use_jinja = True
        p.warmup = p.ui = False
        # Trying what fits costs a third of a start, and there is nothing to fit without a GPU.
        p.fit_params = any("GPU" in str(device["type"]) for device in xllamacpp.get_device_info())
        p.verbosity, p.cache_ram_mib, p.n_threads_http = -1, 0, 2
        p.api_keys = [self._key]
        p.hostnames = [self._address()]
        if self._states is not None:
            p.slot_save_path = str(self._states) + os.sep
        return p

    def _address(self) -> str:
        if not hasattr(socket, "AF_UNIX"):
            return "127.0.0.1"
        self._room = Path(tempfile.mkdtemp(prefix="openclaw-"))
        address = str(self._room / "engine.sock")
        return address if len(address.encode()) < _LONGEST_SOCKET_PATH else "127.0.0.1"

    def _connection(self) -> HTTPConnection:
        from http.client import HTTPConnection

        address = str(self._server.listening_address)
        if not address.startswith("unix://"):
            return HTTPConnection(address.removeprefix("http://"))
        connection = HTTPConnection("localhost")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(address.removeprefix("unix://"))
        return connection

    def _generate(self, name: str, body: Mapping[str, Any]) -> Chunks:
        call, text = getattr(self._server, name), json.dumps(body)
        with contextlib.closing(self._run(lambda feed: call(text, feed))) as pieces:
            for piece in pieces:
                chunk = json.loads(piece)
                if "error" in chunk:
                    raise EngineError(chunk["error"])
                yield chunk

    def _run(self, work: Callable[[Feed], object]) -> Generator[Any, None, None]:
        self._wait()
        call = _Call(work)
        self._calls.append(call)
        return call.pieces()

    def _wait(self) -> None:
        for call in self._calls:
            call.stop()
            call.join(_PATIENCE_SECONDS)
        self._calls.clear()


class _Call(threading.Thread):
    """A blocking call of the engine in a thread of its own, so that Ctrl-C reaches the caller."""

    def __init__(self, work: Callable[[Feed], object]) -> None:
        super().__init__(daemon=True, name="llama.cpp")
        self._work = work
        self._queue: queue.SimpleQueue[tuple[Literal["piece", "error", "end"], Any]]
        self._queue = queue.SimpleQueue()
        self._stopped = threading.Event()
        self.start()

    def run(self) -> None:
        try:
            self._work(self._feed)
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            self._queue.put(("error", error))
        self._queue.put(("end", None))

    def _feed(self, piece: Any) -> bool:
        """Called by the engine; True tells it to stop."""
        self._queue.put(("piece", piece))
        return self._stopped.is_set()

    def stop(self) -> None:
        self._stopped.set()

    def pieces(self) -> Generator[Any, None, None]:
        """What the call fed, as it comes. Leaving early stops the call."""
        try:
            while True:
                kind, value = self._next()
                if kind == "end":
                    return
                if kind == "error":
                    raise _as_failure(value)
                yield value
        finally:
            self.stop()

    def _next(self) -> tuple[Literal["piece", "error", "end"], Any]:
        while True:
            # Without a time limit Ctrl-C would not end the wait on Windows.
            with contextlib.suppress(queue.Empty):
                return self._queue.get(timeout=0.2)


def _as_failure(error: BaseException) -> BaseException:
    if isinstance(error, OpenclawError) or not isinstance(error, Exception):
        return error
    reason = " ".join(str(error).split()) or type(error).__name__
    return ModelFailed(f"llama.cpp failed: {reason}", "`openclaw doctor` checks the model file")


def _xllamacpp() -> Any:
    try:
        import xllamacpp
    except ImportError as error:
        raise ModelMissing(
            f"the embedded engine is not installed ({error})",
            "pip install 'openclaw[embedded]', or use Ollama",
        ) from error
    return xllamacpp


def _cores() -> int:
    """Threads worth using: the cores open to this process, half of them where they are likely
    hyper-threads."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 2
    return cores if cores <= 4 else max(4, cores // 2)
