"""Names the SQLite files in which other agents keep conversations. They are counted, not read."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.request import pathname2url

from openclaw.app.imports.source import Source

SUFFIXES = (".db", ".sqlite", ".sqlite3")
_TABLES = ("sessions", "session_nodes", "conversations")


def databases(source: Source) -> None:
    """Leave the SQLite files at the top and below agents/, each with the number of conversations
    where a table of the usual name tells it."""
    for path in _found(source):
        count = _count(source.root / path)
        told = f"; about {count} conversations" if count else ""
        source.left.pop(path, None)
        source.leave(path, f"SQLite, which is not read{told}")


def _found(source: Source) -> Iterator[str]:
    tops = [name for name in source.names() if name.endswith(SUFFIXES)]
    yield from (name for name in tops if source.is_file(name))
    for folder in ("agents", "state"):
        if source.is_folder(folder):
            for path in Source(source.root).files(folder):
                if path.endswith(SUFFIXES):
                    yield path


def _count(path: Path) -> int:
    """How many conversations a file holds, 0 when it cannot be told. It is opened as one that
    nobody changes, so that SQLite makes no file beside it; what its log holds is not counted."""
    address = f"file:{pathname2url(str(path))}?mode=ro&immutable=1"
    with (
        contextlib.suppress(sqlite3.Error, OSError, ValueError),
        contextlib.closing(sqlite3.connect(address, uri=True)) as opened,
    ):
        for table in _TABLES:
            with contextlib.suppress(sqlite3.Error):
                return int(opened.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608
    return 0
