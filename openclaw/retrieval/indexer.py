"""Keeps the index equal to the files: reads only the files that changed."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openclaw import __version__
from openclaw.errors import OpenclawError
from openclaw.frozen import frozen
from openclaw.retrieval import chunking, vector_upkeep
from openclaw.retrieval.database import KnownFile, Stamp
from openclaw.retrieval.documents import Unreadable, read_data, too_large
from openclaw.retrieval.index_store import IndexStore, Stamped
from openclaw.retrieval.index_writer import FileReading, Writer, postings
from openclaw.retrieval.scan import MANY, FoundFile, IgnoreCache, IndexOptions, Scan
from openclaw.storage.file_kinds import kind_by_name
from openclaw.storage.home import Home
from openclaw.storage.lock import hold_lock, owner
from openclaw.storage.safe_open import md5, open_file

if TYPE_CHECKING:
    from openclaw.retrieval.chunking import Chunk


ATTEMPTS = 3
SLOW = "pdf"  # the kind of files that may take seconds to read
MAX_BREAKS = 3  # processes that may end while they read the same slow file
BROKEN_OFF = "reading it was interrupted each time; openclaw memory reindex tries it again"
# A transaction ends after this many chunks or seconds, so that a killed process loses little.
BATCH_CHUNKS = 4000
BATCH_SECONDS = 1.0
TOTALS = (
    "SELECT count(*), total(chunks) FROM files",
    "SELECT path, problem FROM files WHERE problem <> ''",
)
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)

Split = Callable[[str, str, str], "list[Chunk]"]
Progress = Callable[[int, int], None]


@frozen
class IndexReport:
    """The result of a refresh: numbers of files, (path, reason) of unreadable files, all chunks of
    the index, the duration in seconds, and the new files that were left to another process."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)
    chunks: int = 0
    seconds: float = 0.0
    left: int = 0


@dataclass(frozen=True, slots=True)
class _PreparedFile:
    """A file that was read, ready for the index.

    old     the file as the index knew it before
    chunks  None when the text has not changed or the file gives no text
    """

    reading: FileReading
    old: KnownFile | None
    chunks: Sequence[Chunk] | None = None
    postings: Mapping[str, Any] = field(default_factory=dict)
    lengths: Any = None


class Indexer:
    """Updates the index of one home. Several threads may call it; one works at a time.

    split    makes chunks of (text, kind, path)
    made_by  names it when it is not the default; files are read again when it or the limit of
             their size changes
    clock    returns the time in nanoseconds
    """

    def __init__(
        self,
        home: Home,
        store: IndexStore,
        options: IndexOptions,
        *,
        split: Split = chunking.split,
        made_by: str = "",
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.home = home
        self.store = store
        self.options = options
        self._split = split
        self._made_by = f"{made_by or recipe()} {options.max_bytes}"
        self._clock = clock
        self._turn = threading.RLock()
        # The stamps at the last look, and what was seen while they were the same.
        self._known: Mapping[str, Stamped] | None = None
        self._looks: dict[int, str] = {}
        self._reading_lock = home.private / "locks" / "index.lock"

    def refresh(
        self, *, force: bool = False, on_progress: Progress | None = None, leave_many: bool = False
    ) -> IndexReport:
        """Bring the index up to date. `force` also reads files that look unchanged.
        `on_progress` is called with (files read, files to read). With `leave_many` many new files
        are left to another process that is reading them, and the report leaves out the totals.
        Never raises for a file or for the index: see `IndexReport.problems` and
        `IndexStore.notices`."""
        started = time.perf_counter()
        with self._turn:
            for _ in range(ATTEMPTS):
                try:
                    return self._refresh(force, on_progress, started, leave_many=leave_many)
                except sqlite3.Error as error:
                    problem = ("", f"the memory index cannot be used: {error}")
                    self.store.recover(error)
        return IndexReport(problems=[problem], seconds=time.perf_counter() - started)

    def contexts(self, path: str) -> list[tuple[str, ...]]:
        """The parts of a file's chunks; none when the file has changed since it was indexed."""
        known = self.store.known(path)
        if known is None:
            return []
        try:
            content = read_file(str(self.home.root / path), self.options.max_bytes, 0)
            if content.md5 != known.md5:
                return []
            return [chunk.parts for chunk in self._chunks(path, content)]
        except (OSError, Unreadable):
            return []

    def _refresh(
        self, force: bool, on_progress: Progress | None, started: float, *, leave_many: bool
    ) -> IndexReport:
        known = self.store.stamps(self._made_by, self._clock())
        if known is not self._known:
            self._known, self._looks = known, {}
        last = IgnoreCache.of(self.store.read_meta("scan"))
        scan = Scan(self.home, self.options, {} if force else known, last, self._looks)
        found = scan.files()
        stale = [file for file in found if force or known.get(file.path) != Stamp.of(file.stat)]
        # With nothing stale all that was seen is known.
        gone = known.keys() - scan.seen if stale or len(scan.seen) < len(known) else set()
        if gone or scan.memo != last:
            self._remove(gone, scan.memo)
        left, counts = 0, Counter[str]()
        with ExitStack() as stack:
            if len(stale) > MANY:
                try:
                    stack.enter_context(hold_lock(self._reading_lock, timeout=0))
                except OpenclawError:  # held, or the folder cannot be written
                    if leave_many and owner(self._reading_lock):
                        left, stale = len(stale), []
            self._read_all(stale, force, on_progress, counts)
        added, changed = counts["added"], counts["changed"]
        if leave_many:
            return IndexReport(added, changed, len(gone), left=left)
        ((files, chunks),), unread = map(self.store.query, TOTALS)
        return IndexReport(
            added,
            changed,
            len(gone),
            files - len(unread) - added - changed,
            sorted([*scan.problems, *unread]),
            int(chunks),
            time.perf_counter() - started,
            left,
        )

    def _remove(self, paths: set[str], memo: IgnoreCache) -> None:
        with self.store.write() as writer:
            for path in sorted(paths):
                writer.remove(path)
            writer.write_meta("scan", memo.text())
            if writer.lost_contexts:
                vector_upkeep.prune(writer)

    def _read_all(
        self,
        stale: Sequence[FoundFile],
        force: bool,
        on_progress: Progress | None,
        counts: Counter[str],
    ) -> None:
        """Read files and write them in batches. Counts how many were added and changed."""
        batch: list[_PreparedFile] = []
        begun, chunks = time.monotonic(), 0
        # Slow files come last, after all others are written: the next prompt may end this process.
        for done, found in enumerate(sorted(stale, key=_is_slow), 1):
            full = chunks >= BATCH_CHUNKS or time.monotonic() - begun > BATCH_SECONDS
            if full or _is_slow(found):
                self._write(batch, counts)
                begun, chunks = time.monotonic(), 0
            if prepared := self._prepare(found, force):
                batch.append(prepared)
                chunks += len(prepared.chunks or ())
            if on_progress:
                on_progress(done, len(stale))
        self._write(batch, counts)

    def _prepare(self, found: FoundFile, force: bool) -> _PreparedFile | None:
        """Read and split a file; None when it is gone or another process has just read it."""
        now, stamp = self._clock(), Stamp.of(found.stat)
        old = self.store.known(found.path)
        if self.store.stamps(self._made_by, now).get(found.path) == stamp and not force:
            return None
        digest, read_at_ns, problem = "", 0, ""  # without an MD5 it is tried again next time
        chunks: Sequence[Chunk] | None = None
        try:
            content = read_file(found.name, self.options.max_bytes, now)
            stamp, digest, read_at_ns = content.stamp, content.md5, content.read_at_ns
            if old and (old.md5, old.recipe) == (digest, self._made_by) and not force:
                problem = old.problem
            elif _is_slow(found) and self._count_attempt(digest) > MAX_BREAKS and not force:
                problem = BROKEN_OFF
            else:
                try:
                    chunks = self._chunks(found.path, content)
                finally:
                    if _is_slow(found):
                        self._remember_attempt("")
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None
        except OSError as error:
            problem = f"cannot be read: {error.strerror or error}"
        except Unreadable as error:
            problem = str(error)
        reading = FileReading(found.path, stamp, digest, read_at_ns, self._made_by, problem)
        if chunks is None:
            return _PreparedFile(reading, old)
        return _PreparedFile(reading, old, chunks, *postings(chunks))

    def _count_attempt(self, md5: str) -> int:
        """Count the unfinished attempts to read a slow file, including this one. A prompt that ends
        also ends its search, so that each prompt would begin again."""
        last, _, times = self.store.read_meta("begun").partition(" ")
        count = int(times) + 1 if last == md5 else 1
        self._remember_attempt(f"{md5} {count}")
        return count

    def _remember_attempt(self, text: str) -> None:
        with self.store.write() as writer:
            writer.write_meta("begun", text)

    def _chunks(self, path: str, content: Content) -> Sequence[Chunk]:
        kind = kind_by_name(path)
        return self._split(read_data(content.data, kind), kind, path)

    def _write(self, batch: list[_PreparedFile], counts: Counter[str]) -> None:
        """Write and empty a batch."""
        if not batch:
            return
        with self.store.write() as writer:
            before = writer.known(prepared.reading.path for prepared in batch)
            for prepared in batch:
                now = before.get(prepared.reading.path)
                read_later = now and now.read_at_ns > prepared.reading.read_at_ns
                if now == prepared.old or not read_later:  # else by another process
                    counts[_write_one(writer, prepared, now)] += 1
            if writer.lost_contexts:
                vector_upkeep.prune(writer)
        batch.clear()


def _is_slow(found: FoundFile) -> bool:
    return kind_by_name(found.path) == SLOW


def _write_one(writer: Writer, prepared: _PreparedFile, now: KnownFile | None) -> str:
    """Write a file that was read. Returns "added", "changed", or "" for neither."""
    reading = prepared.reading
    if prepared.chunks is not None:
        writer.put(reading, prepared.chunks, prepared.postings, prepared.lengths)
        return "changed" if now and not now.problem else "added"
    if reading.problem:
        writer.put_problem(reading)
    elif now and now.md5 == reading.md5:
        writer.touch(now, reading)
    return ""


MODULES = (
    "../nlp/calendar_days",
    "../nlp/date_patterns",
    "../nlp/dates",
    "../security/credentials",  # which names are closed
    "../storage/file_kinds",
    "../storage/foreign_readers",
    "chunking",
    "documents",
    "index_writer",
    "tokens",
    "units",
)


@cache
def recipe() -> str:
    """Twelve hex digits of the source of `MODULES`; the program's version without the source."""
    folder = Path(__file__).parent
    try:
        return md5(b"".join((folder / f"{name}.py").read_bytes() for name in MODULES))[:12]
    except OSError:
        return __version__


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes of a file with its stamp. `read_at_ns` is 0 when the file was written while it was
    read, so that it is read again."""

    data: bytes
    stamp: Stamp
    md5: str
    read_at_ns: int


def read_file(name: str, max_bytes: int, now_ns: int) -> Content:
    """Read the whole file. Raises Unreadable when it is too large, OSError when it is gone."""
    for _ in range(ATTEMPTS):
        with os.fdopen(open_file(name, _FLAGS), "rb", buffering=0) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise FileNotFoundError(name)
            if status.st_size > max_bytes:
                raise too_large(max_bytes)
            data = file.read() or b""
            unchanged = Stamp.of(os.fstat(file.fileno())) == Stamp.of(status)
        if len(data) > max_bytes:
            raise too_large(max_bytes)
        if unchanged:
            return Content(data, Stamp.of(status), md5(data), now_ns)
    return Content(data, Stamp.of(status), md5(data), 0)
