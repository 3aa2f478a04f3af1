"""The process of `openclaw serve`: its sockets, its file, its idleness and its end."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import uvicorn

from openclaw import __version__
from openclaw.errors import OpenclawError, UsageError
from openclaw.server.access import Access
from openclaw.server.runs import Runs
from openclaw.server.served_jobs import ServedJobs
from openclaw.server.service import Service
from openclaw.storage.home import Home
from openclaw.storage.safe_open import read_text
from openclaw.storage.text import remove_file, write_private

STOP_SECONDS = 5
IDLE_TICK = 1.0


class HttpServer:
    """Serves one home over HTTP until it is stopped, or idle for `idle` seconds (0: never).

    token    the owner's; "" makes one
    origins  sites whose pages may call `/v1/`
    """

    def __init__(
        self, home: Home, *, token: str = "", idle: float = 0.0, origins: Sequence[str] = ()
    ) -> None:
        self._idle, self._origins = idle, origins
        self.service = Service(home, token, self.stop)
        self._touched_at = time.monotonic()
        self._uvicorn: _Uvicorn | None = None

    def app(self, hosts: Sequence[str]) -> Access:
        """Return the ASGI app, which goes by these hosts ("name:port")."""
        names = [host.lower() for host in hosts]
        return Access(self.service, names, self._origins, self._touch)

    def run(self, sockets: Sequence[socket.socket], hosts: Sequence[str]) -> None:
        """Serve until a signal, `stop` or idleness ends it. The first socket is loopback's."""
        service = self.service
        service.port = sockets[0].getsockname()[1]
        config = uvicorn.Config(
            self.app(hosts),
            log_level="warning",
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            timeout_graceful_shutdown=STOP_SECONDS,
        )
        self._uvicorn = _Uvicorn(config, service.runs)
        for line in service.shared.recover():
            sys.stderr.write(f"{line}\n")
        self._write_file()
        jobs = ServedJobs(service)
        jobs.start()
        if self._idle:
            threading.Thread(target=self._watch_idle, daemon=True).start()
        try:
            self._uvicorn.run(sockets=list(sockets))
        finally:
            jobs.end()
            with suppress(OSError, OpenclawError):
                if service.tokens.terminal in read_text(service.home.server_file):
                    remove_file(service.home.server_file)
            service.close()

    def stop(self) -> None:
        """End the server soon: runs end as interrupted."""
        if self._uvicorn is not None:
            self._uvicorn.end()

    def _touch(self) -> None:
        self._touched_at = time.monotonic()

    def _write_file(self) -> None:
        service = self.service
        shape = {
            "version": __version__,
            "pid": os.getpid(),
            "port": service.port,
            "token": service.tokens.terminal,
        }
        write_private(service.home.server_file, json.dumps(shape) + "\n")

    def _watch_idle(self) -> None:
        while True:
            time.sleep(min(IDLE_TICK, self._idle))
            if self.service.runs.running():
                self._touch()
            elif time.monotonic() - self._touched_at > self._idle:
                self.stop()
                return


class _Uvicorn(uvicorn.Server):
    """Stops the runs when it ends, so that their streams end."""

    def __init__(self, config: uvicorn.Config, runs: Runs) -> None:
        super().__init__(config)
        self._runs = runs

    def end(self) -> None:
        self._runs.stop_all(0)
        self.should_exit = True

    def handle_exit(self, sig: int, frame: Any) -> None:
        self.end()
        super().handle_exit(sig, frame)


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket. UsageError when the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol named asyncio sends small pieces at once; else each waits 40 ms.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name != "nt":
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise UsageError(
            f"port {port} of {host} cannot be used ({error.strerror})",
            "see what runs: openclaw serve --status; or choose another: --port N",
        ) from error
    bound.listen(128)
    return bound


def hosts_of(addresses: Sequence[tuple[str, int]]) -> list[str]:
    """Return what the header `Host` may be for a server at these addresses."""
    hosts = []
    for host, port in addresses:
        hosts.append(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
        if host in ("127.0.0.1", "::1"):
            hosts.append(f"localhost:{port}")
    return hosts
