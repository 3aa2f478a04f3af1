"""Runs llama.cpp in a process of its own, and speaks to it. `main` is that process.

Requests go over HTTP, on a UNIX socket in a folder that only this user can enter; without UNIX
sockets, on a loopback port. Both need a random key.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping
from dataclasses import asdict
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from typing import Any

from openclaw.errors import ModelFailed, ModelMissing, OpenclawError
from openclaw.frozen import frozen
from openclaw.models.http_client import BackgroundCall, Feed, Stopped
from openclaw.storage.program import python_command

Chunks = Generator[dict[str, Any], None, None]

_LONGEST_SOCKET_PATH = 100
_LAST_SECONDS = 10.0  # between the end of a process's output and the end of the process
_DATA = b"data: "


class EngineError(Exception):
    """The engine refused a request; `detail` is its own error object."""

    def __init__(self, detail: Mapping[str, Any]) -> None:
        super().__init__(str(detail.get("message", "the engine gave no reason")))
        self.detail = detail


class Engine:
    """A loaded model with one slot. One call at a time; a further one waits for the last to end."""

    def __init__(self, path: Path, threads: int) -> None:
        self.version = ""
        self.address = ""
        self._path, self._threads = path, threads
        self._key = secrets.token_hex(24)
        self._folder: Path | None = None
        self._process: subprocess.Popen[str] | None = None
        self._loading: BackgroundCall | None = None
        self._start_report: Mapping[str, Any] = {}
        self._call: BackgroundCall | None = None

    @property
    def is_alive(self) -> bool:
        """Return True when the model is loaded; False from the first sign that its process died."""
        return bool(self.address) and self._process is not None and self._process.poll() is None

    def load(self, window: int, states: Path | None) -> Generator[None, None, None]:
        """Load the model with this window, with a beat every 0.05 s. A caller may stop at any beat:
        loading goes on, and another `load` waits for its end. Raises ModelMissing without
        xllamacpp, ModelFailed when the model cannot be loaded."""
        if importlib.util.find_spec("xllamacpp") is None:
            raise ModelMissing(
                "the embedded engine is not installed (no module xllamacpp)",
                "pip install 'openclaw[embedded]', or use Ollama",
            )
        if self._loading is None:
            self._start_report = {}
            self._process = self._start(window, str(states or ""))
            self._loading = BackgroundCall(self._listen)
        for _ in self._loading.pieces():
            yield
        if not self.address:
            self.close()
            raise self._not_loaded(window)

    def _not_loaded(self, window: int) -> OpenclawError:
        if "missing" in self._start_report:
            return ModelMissing(
                f"the embedded engine cannot be used: {self._start_report['missing']}",
                "pip install --force-reinstall 'openclaw[embedded]', or use Ollama",
            )
        reason = f": {self._start_report['error']}" if "error" in self._start_report else ""
        return ModelFailed(
            f"llama.cpp cannot load {self._path} with a window of {window:,} tokens{reason}",
            "the file is damaged, of an unknown kind or too large for this memory; "
            "`openclaw models pull` fetches a good one, `window` in openclaw.yaml is the size",
        )

    def chat(self, body: Mapping[str, Any]) -> Chunks:
        """The chunks of one chat completion, with `prompt_progress` while it reads the prompt, and
        an empty chunk after each 0.05 s without one."""
        return self._generate("/v1/chat/completions", body)

    def complete(self, body: Mapping[str, Any]) -> Chunks:
        """The chunks of a completion of plain text, as in `chat`."""
        return self._generate("/completions", body)

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """End the running call and send one request. Raises EngineError when it is refused."""
        self._end_last_call()
        with contextlib.closing(self._connection()) as connection:
            try:
                return dict(json.loads(self._send(connection, path, body).read()))
            except (OSError, ValueError, HTTPException) as error:
                self.address = ""
                raise EngineError({"message": f"no answer to {path}: {error}"}) from error

    def close(self) -> None:
        """Kill the process and remove the socket. May be called again."""
        atexit.unregister(self.close)
        process, self._process = self._process, None
        self._end_last_call()
        if process is not None:
            process.kill()
            process.wait()
            for pipe in filter(None, (process.stdin, process.stdout)):
                with contextlib.suppress(OSError):
                    pipe.close()
        self.address, self._loading = "", None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _start(self, window: int, states: str) -> subprocess.Popen[str]:
        """Start the process and send it the model to load."""
        atexit.register(self.close)
        try:
            place = self._make_address()
            process = start_process()
        except OSError as error:
            self.close()
            raise ModelFailed(
                f"the embedded engine cannot be started: {error}",
                "it needs a writable folder for temporary files, and memory for a process",
            ) from error
        request = LoadRequest(str(self._path), window, self._threads, states, place, self._key)
        if process.stdin is not None:
            with contextlib.suppress(OSError):  # it has died already; `_listen` notices
                process.stdin.write(json.dumps(asdict(request)) + "\n")
                process.stdin.flush()
        return process

    def _listen(self, feed: Feed) -> None:
        """Wait for the line that the process writes after loading. No line means that it died."""
        process = self._process
        if process is None or process.stdout is None:
            return
        with contextlib.suppress(OSError, ValueError, subprocess.TimeoutExpired):
            if line := process.stdout.readline():
                self._start_report = json.loads(line)
            else:
                exit_code = process.wait(_LAST_SECONDS)
                self._start_report = {
                    "error": f"the engine process died at once (exit {exit_code})"
                }
        self.version = self._start_report.get("version", "")
        self.address = self._start_report.get("address", "")

    def _make_address(self) -> str:
        if not hasattr(socket, "AF_UNIX"):
            return "127.0.0.1"
        self._folder = Path(tempfile.mkdtemp(prefix="openclaw-"))
        address = str(self._folder / "engine.sock")
        if len(address.encode()) < _LONGEST_SOCKET_PATH:
            return address
        self._folder.rmdir()
        self._folder = None
        return "127.0.0.1"

    def _connection(self) -> HTTPConnection:
        """An open connection. Raises EngineError when the process is gone."""
        if not self.address:
            raise EngineError({"message": "the engine was closed"})
        is_socket = self.address.startswith("unix://")
        connection = HTTPConnection("localhost" if is_socket else self.address[len("http://") :])
        try:
            if is_socket:
                connection.sock = socket.socket(socket.AF_UNIX)
                connection.sock.connect(self.address.removeprefix("unix://"))
            else:
                connection.connect()
        except OSError as error:
            connection.close()
            self.address = ""
            raise EngineError({"message": f"the engine is gone ({error})"}) from error
        return connection

    def _generate(self, path: str, body: Mapping[str, Any]) -> Chunks:
        self._end_last_call()
        connection = self._connection()
        sock = connection.sock
        self._call = BackgroundCall(
            lambda feed: self._stream(connection, path, body, feed),
            lambda: sock.shutdown(socket.SHUT_RDWR),
        )
        with contextlib.closing(self._call.pieces()) as pieces:
            try:
                for chunk in pieces:
                    if chunk and "error" in chunk:
                        raise EngineError(chunk["error"])
                    yield chunk or {}
            except Stopped:
                raise EngineError({"message": "the reply was stopped from here"}) from None
            except (OSError, ValueError, HTTPException) as error:
                self.address = ""
                raise ModelFailed(
                    f"llama.cpp failed: {_one_line(error)}",
                    "`openclaw models pull` fetches a damaged model file again",
                ) from error

    def _stream(
        self, connection: HTTPConnection, path: str, body: Mapping[str, Any], feed: Feed
    ) -> None:
        """Send a request and feed its answer: one object for each server-sent event."""
        with contextlib.closing(connection):
            for line in self._send(connection, path, body):
                if line.startswith(_DATA + b"{"):
                    feed(json.loads(line[len(_DATA) :]))

    def _send(self, connection: HTTPConnection, path: str, body: Mapping[str, Any]) -> HTTPResponse:
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        connection.request("POST", path, wire(body), headers)
        response = connection.getresponse()
        if response.status != 200:
            raise EngineError(json.loads(response.read()).get("error", {}))
        return response

    def _end_last_call(self) -> None:
        """End the last call. The engine finishes its current batch before the next call."""
        call, self._call = self._call, None
        if call is not None:
            call.stop()
            call.join()


def wire(body: Mapping[str, Any]) -> bytes:
    """The bytes of a request to the engine."""
    return json.dumps(body).encode()


# The engine checks for a cancelled request between two batches. A batch of 128 tokens takes about a
# second, and on a CPU is as fast as the usual 2,048.
_BATCH = 128


@frozen
class LoadRequest:
    """The model to load.

    states   the folder of saved states, "" for none
    address  a host or the path of a socket
    key      the key that every request must send
    """

    path: str
    window: int
    threads: int
    states: str
    address: str
    key: str


def start_process() -> subprocess.Popen[str]:
    """Start the process, which then waits for its load request. Ctrl-C in the terminal does not
    reach it. Raises OSError."""
    apart: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        apart = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return subprocess.Popen(
        python_command("openclaw.models.llama_server"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        **apart,
    )


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    request = LoadRequest(**json.loads(sys.stdin.readline()))
    try:
        _serve(request)
    finally:  # also when the parent is gone
        _remove_socket(request.address)
        os._exit(0)  # without waiting for calls that still run in the engine


def _serve(request: LoadRequest) -> None:
    """Load the model, write the address, and serve until standard input ends."""
    try:
        import xllamacpp

        server = xllamacpp.Server(_parameters(xllamacpp, request))
    except ImportError as error:
        _write_line({"missing": _one_line(error)})
    except Exception as error:  # noqa: BLE001 - told to the parent, which raises its own
        _write_line({"error": _one_line(error)})
    else:
        version = str(xllamacpp.__version__)
        _write_line({"address": str(server.listening_address), "version": version})
        sys.stdin.read()


def _parameters(xllamacpp: Any, request: LoadRequest) -> Any:
    p = xllamacpp.CommonParams()
    p.model.path = request.path
    p.n_ctx, p.n_parallel = request.window, 1
    p.n_batch = p.n_ubatch = _BATCH
    p.cpuparams.n_threads = request.threads or _cores()
    p.use_jinja = True
    p.warmup = p.ui = False
    # Trying what fits takes a third of the start, and is useless without a GPU.
    p.fit_params = any("GPU" in str(device["type"]) for device in xllamacpp.get_device_info())
    p.verbosity, p.cache_ram_mib, p.n_threads_http = -1, 0, 2
    p.api_keys = [request.key]
    p.hostnames = [request.address]
    if request.states:
        p.slot_save_path = request.states + os.sep
    return p


def _cores() -> int:
    """Threads to use: the cores of this process, or half of them if probably hyper-threads."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 2
    return cores if cores <= 4 else max(4, cores // 2)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _remove_socket(address: str) -> None:
    """Remove a socket and its folder, in case the parent was killed."""
    path = Path(address)
    if path.is_absolute():
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
            path.parent.rmdir()


def _write_line(what: dict[str, str]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
