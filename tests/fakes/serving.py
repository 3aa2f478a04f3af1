"""A server of a home in a thread of the test, listening on loopback."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

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
        until = time.monotonic() + 10
        while (found := find_server(home)) is None:
            assert time.monotonic() < until
            time.sleep(0.01)
        yield server, found
    finally:
        server.stop()
        thread.join()
