"""A server of a home on loopback: in a thread of the test, or in a process of its own."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from openclaw.server.http_server import HttpServer, bind, hosts_of
from openclaw.server.server_client import RunningServer, find_server
from openclaw.storage.home import Home


@contextlib.contextmanager
def serving(
    root: Path, idle: float = 0.0, origins: Sequence[str] = (), port: int = 0
) -> Iterator[tuple[HttpServer, RunningServer]]:
    """The server of the home at `root`, and what a client finds of it."""
    home = Home(root)
    server = HttpServer(home, idle=idle, origins=origins)
    listening = bind("127.0.0.1", port)
    hosts = hosts_of([("127.0.0.1", listening.getsockname()[1])])
    thread = threading.Thread(target=server.run, args=([listening], hosts))
    thread.start()
    try:
        while (found := find_server(home)) is None:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        yield server, found
    finally:
        server.stop()
        thread.join()


def start_server(home: Path, port: int = 0) -> tuple[subprocess.Popen[bytes], RunningServer]:
    """A server in a process of its own."""
    words = [sys.executable, "-m", "openclaw", "--home", str(home), "serve"]
    words += ["--port", str(port)]
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 120
    while (found := find_server(Home(home))) is None:
        if process.poll() is not None or time.monotonic() > until:
            process.kill()
            pytest.fail("the server did not start")
        time.sleep(0.02)
    return process, found
