"""Check of the index: whether its file can be used, and holds what its own lists say."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from openclaw.app.health.finding import Finding, Kept
from openclaw.app.health.view import View
from openclaw.files.beneath import NotOrdinary, checked_database, remove
from openclaw.files.text import unwritable
from openclaw.retrieval.schema import VERSION
from openclaw.retrieval.store import HINDRANCES

SMALL = 20_000_000
"""Bytes of an index that is looked through as a whole without `deep`: 0.1 s."""
ROW_BYTES = 20
"""Of a row of openclaw.retrieval.schema.ROW."""
MISMATCH = """
SELECT count(*) FROM files LEFT JOIN file_rows ON file_rows.file = files.id
WHERE files.chunks > 0 AND coalesce(length(file_rows.rows), 0) != files.chunks * ?
"""
NO_TEXT = "SELECT (SELECT count(*) FROM chunks) - (SELECT coalesce(sum(chunks), 0) FROM files)"


def index(view: View) -> Iterator[Finding]:
    """An index that is damaged, or whose list of files names passages that it does not hold. Being
    behind the files is no fault: each search brings it up to date."""
    folder = view.home.private / "index"
    path = folder / "index.sqlite"
    if not path.is_file():
        yield Finding("not built yet", "ok")
        return
    if reason := _trouble(path, view.deep):
        fix = "drops it; the next search builds it again"
        repair = partial(_drop, path)
        yield Finding(f"{view.home.relative(path)}: {reason}", fix=fix, repair=repair)
        return
    files = [each for each in folder.rglob("*") if each.is_file()]
    size = sum(each.stat().st_size for each in files)
    yield Finding(f"{len(files)} files, {size:,} bytes", "ok")


def _trouble(path: Path, deep: bool) -> str:
    try:
        with closing(_opened(path)) as db:
            version = int(db.execute("PRAGMA user_version").fetchone()[0])
            if version != VERSION:
                return f"it has version {version}, this openclaw makes {VERSION}" if version else ""
            if deep or path.stat().st_size < SMALL:
                said = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
                if said != "ok":
                    return f"it is damaged ({said.splitlines()[-1]})"
            for statement, values in ((MISMATCH, (ROW_BYTES,)), (NO_TEXT, ())):
                if db.execute(statement, values).fetchone()[0]:
                    return "it lists passages that it does not hold"
    except NotOrdinary as error:
        return str(error.strerror)
    except sqlite3.Error as error:
        name = str(getattr(error, "sqlite_errorname", ""))
        passing = any(name.startswith(prefix) for prefix in HINDRANCES)
        return "" if passing else f"it is damaged ({error})"
    return ""


def _opened(path: Path) -> sqlite3.Connection:
    """The index to read. Without a write-ahead log nothing is made beside it, as it is to be left
    as it is."""
    rest = "" if path.with_name(f"{path.name}-wal").exists() else "&immutable=1"
    checked_database(path)
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro{rest}", uri=True, timeout=1.0)


def _drop(path: Path, kept: Kept) -> str:
    """The log goes before the file: an empty file beside an old log drops the log. No copy is kept
    of what is derived."""
    try:
        for suffix in ("-wal", "-shm", ""):
            remove(path.with_name(path.name + suffix))
    except OSError as error:
        raise unwritable(path, error) from error
    return f"{kept.home.relative(path)} was dropped; the next search builds it again"
