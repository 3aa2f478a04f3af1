"""Keeps the index equal to the files: whatever changed since is read again, nothing else."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openclaw import __version__
from openclaw.retrieval.documents import (
    Content,
    Unreadable,
    is_young,
    kind_of,
    read_data,
    read_file,
)
from openclaw.retrieval.index_store import Store
from openclaw.retrieval.records import Known, Stamp
from openclaw.retrieval.scan import Found, IndexOptions, Memo, Scan
from openclaw.retrieval.writer import Reading, Writer
from openclaw.storage.home import Home
from openclaw.storage.text import md5

if TYPE_CHECKING:
    from openclaw.retrieval.chunking import Chunk
    from openclaw.retrieval.embedders import Embedder


ATTEMPTS = 3
SLOW = "pdf"
"""The kind of files of which one may take seconds to read."""
MOST_BREAKS = 3
"""Processes that may end, or be ended, while they read one slow file."""
BROKEN_OFF = "reading it was interrupted each time; openclaw memory reindex tries it again"
# A transaction ends after as many chunks or seconds, so that little is lost when we are killed.
BATCH_CHUNKS = 4000
BATCH_SECONDS = 1.0

Split = Callable[[str, str, str], "list[Chunk]"]
# For each word the ordinals of the chunks that have it and its counts there; all chunks' lengths.
CountWords = Callable[["Sequence[Chunk]"], tuple[Mapping[str, Any], Any]]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What a refresh found: numbers of files, (path, reason) of what could not be read, the chunks
    the index holds now, and the seconds it took."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)
    chunks: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A file that was read, ready to be written. `old` is what the index knew of it before;
    `chunks` is None when the file says the same as then or gives no text."""

    reading: Reading
    old: Known | None
    chunks: Sequence[Chunk] | None = None
    postings: Mapping[str, Any] = field(default_factory=dict)
    lengths: Any = None


class Upkeep:
    """The upkeep of one home's index. Many threads may call it; they take turns.

    `split` makes chunks of (text, kind, path) and `count_words` postings of chunks; when they are
    not the usual ones, `made_by` names them, as files are read anew when that name changes.
    `clock` gives the time in nanoseconds.
    """

    def __init__(
        self,
        home: Home,
        store: Store,
        options: IndexOptions,
        *,
        split: Split | None = None,
        count_words: CountWords | None = None,
        made_by: str = "",
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.home = home
        self.store = store
        self.options = options
        self._split = split
        self._count_words = count_words
        self._made_by = made_by or recipe()
        self._clock = clock
        self._turn = threading.RLock()
        self._memo = ("", Memo())

    def refresh(self, *, force: bool = False, on_progress: Progress | None = None) -> IndexReport:
        """Bring the index up to date. `force` reads all files anew, also those that look the same.
        `on_progress` is told how many of the files to read are done. Never raises for a file or for
        the index: see `IndexReport.problems` and `Store.notices`."""
        started = time.perf_counter()
        with self._turn:
            for _ in range(ATTEMPTS):
                try:
                    return self._refresh(force, on_progress, started)
                except sqlite3.Error as error:
                    problem = ("", f"the memory index cannot be used: {error}")
                    self.store.recover(error)
        return IndexReport(problems=[problem], seconds=time.perf_counter() - started)

    def embed_pending(
        self,
        embedder: Embedder,
        *,
        seconds: float | None = None,
        on_progress: Progress | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> int:
        """Give vectors to the chunks that have none yet; returns how many contexts still have none.

        Ends after `seconds`, or when `stop` says so. What is done is kept at once, also when the
        embedder raises its OpenclawError, which is passed on.
        """
        from openclaw.retrieval.vector_upkeep import Pending

        pending = Pending(self.store, embedder, self.contexts)
        return pending.run(seconds, on_progress, stop)

    def contexts(self, path: str) -> list[str]:
        """The contexts of a file's chunks, none when it is no longer as the index knows it."""
        known = self.store.known(path)
        if known is None:
            return []
        try:
            content = read_file(str(self.home.root / path), self.options.max_bytes, 0)
            if content.md5 != known.md5:
                return []
            return [chunk.context for chunk in self._chunks(path, content)]
        except (OSError, Unreadable):
            return []

    def _refresh(self, force: bool, on_progress: Progress | None, started: float) -> IndexReport:
        known = self.store.files()
        scan = Scan(self.home, self.options, known, self._last_memo())
        now, seen, stale = self._clock(), set(), []
        for found in scan.files():
            seen.add(found.path)
            if force or not self._is_current(known.get(found.path), found, now):
                stale.append(found)
        gone = known.keys() - seen
        if gone or scan.memo != self._memo[1]:
            self._remove(gone, scan.memo)
        counts = self._read_all(stale, force, on_progress)
        return self._report(counts, len(gone), scan.problems, started)

    def _last_memo(self) -> Memo:
        text = self.store.recall("scan")
        if text != self._memo[0]:
            self._memo = (text, Memo.of(text))
        return self._memo[1]

    def _is_current(self, known: Known | None, found: Found, now: int) -> bool:
        if known is None or not known.md5 or known.recipe != self._made_by:
            return False
        return known[2:6] == Stamp.of(found.stat) and not is_young(known, now)

    def _remove(self, paths: set[str], memo: Memo) -> None:
        with self.store.write() as writer:
            for path in sorted(paths):
                writer.remove(path)
            writer.remember("scan", memo.text())
            _prune(writer)

    def _read_all(
        self, stale: Sequence[Found], force: bool, on_progress: Progress | None
    ) -> dict[str, int]:
        """Read files and write them in batches; how many were added and changed."""
        counts = {"added": 0, "changed": 0}
        batch: list[_Prepared] = []
        begun, chunks = time.monotonic(), 0
        # What is slow comes last, when all else is written: the next prompt may end this process.
        for done, found in enumerate(sorted(stale, key=_is_slow), 1):
            if _is_slow(found):
                self._write(batch, counts)
                batch, chunks = [], 0
            prepared = self._prepare(found, force)
            if prepared:
                batch.append(prepared)
                chunks += len(prepared.chunks or ())
            full = chunks >= BATCH_CHUNKS or time.monotonic() - begun > BATCH_SECONDS
            if full or done == len(stale):
                self._write(batch, counts)
                batch, begun, chunks = [], time.monotonic(), 0
            if on_progress:
                on_progress(done, len(stale))
        return counts

    def _prepare(self, found: Found, force: bool) -> _Prepared | None:
        """Read and split a file, None when it is gone or another process has just done it."""
        now = self._clock()
        old = self.store.known(found.path)
        if not force and self._is_current(old, found, now):
            return None
        try:
            content = read_file(found.name, self.options.max_bytes, now)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None
        except (OSError, Unreadable) as error:
            return _Prepared(self._failed(found, error), old)
        same = old and old.md5 == content.md5 and old.recipe == self._made_by
        if same and old and not force:
            return _Prepared(self._reading(found, content, old.problem), old)
        if _is_slow(found) and self._begun(content.md5) > MOST_BREAKS and not force:
            return _Prepared(self._reading(found, content, BROKEN_OFF), old)
        try:
            chunks = self._chunks(found.path, content)
        except Unreadable as error:
            return _Prepared(self._reading(found, content, str(error)), old)
        finally:
            if _is_slow(found):
                self._remember_begun("")
        postings, lengths = self._words(chunks)
        return _Prepared(self._reading(found, content), old, chunks, postings, lengths)

    def _begun(self, md5: str) -> int:
        """How often a slow file was begun to be read and not brought to an end, this time with
        it. A prompt ends its search, which would begin anew with each of them."""
        last, _, times = self.store.recall("begun").partition(" ")
        count = int(times) + 1 if last == md5 else 1
        self._remember_begun(f"{md5} {count}")
        return count

    def _remember_begun(self, text: str) -> None:
        with self.store.write() as writer:
            writer.remember("begun", text)

    def _failed(self, found: Found, error: OSError | Unreadable) -> Reading:
        """Not settled: it is tried again next time."""
        reason = str(error)
        if isinstance(error, OSError):
            reason = f"cannot be read: {error.strerror or error}"
        return Reading(found.path, Stamp.of(found.stat), "", 0, self._made_by, reason)

    def _reading(self, found: Found, content: Content, problem: str = "") -> Reading:
        read = (content.stamp, content.md5, content.read_at_ns)
        return Reading(found.path, *read, self._made_by, problem)

    def _chunks(self, path: str, content: Content) -> Sequence[Chunk]:
        if self._split is None:
            from openclaw.retrieval.chunking import split

            self._split = split
        document = read_data(content.data, kind_of(path))
        return self._split(document.text, document.kind, path)

    def _words(self, chunks: Sequence[Chunk]) -> tuple[Mapping[str, Any], Any]:
        if self._count_words is None:
            from openclaw.retrieval.snapshot import postings

            self._count_words = postings
        return self._count_words(chunks)

    def _write(self, batch: Sequence[_Prepared], counts: dict[str, int]) -> None:
        if not batch:
            return
        with self.store.write() as writer:
            before = writer.known(prepared.reading.path for prepared in batch)
            for prepared in batch:
                now = before.get(prepared.reading.path)
                if now == prepared.old or not _is_newer(now, prepared.reading):
                    kind = _write_one(writer, prepared, now)
                    if kind:
                        counts[kind] += 1
            _prune(writer)

    def _report(
        self,
        counts: dict[str, int],
        removed: int,
        problems: list[tuple[str, str]],
        started: float,
    ) -> IndexReport:
        files = self.store.files().values()
        unread = [(known.path, known.problem) for known in files if known.problem]
        new = counts["added"] + counts["changed"]
        return IndexReport(
            counts["added"],
            counts["changed"],
            removed,
            len(files) - len(unread) - new,
            sorted([*problems, *unread]),
            sum(known.chunks for known in files),
            time.perf_counter() - started,
        )


def _is_slow(found: Found) -> bool:
    return kind_of(found.path) == SLOW


def _is_newer(known: Known | None, reading: Reading) -> bool:
    """Whether another process has meanwhile read the file later than we did."""
    return known is not None and known.read_at_ns > reading.read_at_ns


def _prune(writer: Writer) -> None:
    """Let go of old vectors, when there is something to let go of; numpy stays out otherwise."""
    if writer.lost_contexts:
        from openclaw.retrieval import vector_upkeep

        vector_upkeep.prune(writer)


def _write_one(writer: Writer, prepared: _Prepared, now: Known | None) -> str:
    """Write a file that was read; "added", "changed", or "" for neither."""
    reading = prepared.reading
    if prepared.chunks is not None:
        writer.put(reading, prepared.chunks, prepared.postings, prepared.lengths)
        return "changed" if now and not now.problem else "added"
    if reading.problem:
        writer.put_problem(reading)
    elif now and now.md5 == reading.md5:
        writer.touch(now, reading)
    return ""


MODULES = ("../storage/child", "chunking", "documents", "snapshot", "tokens", "units")


@cache
def recipe() -> str:
    """Twelve hex digits of the source of `MODULES`; the version where the source is not there."""
    folder = Path(__file__).parent
    try:
        return md5(b"".join((folder / f"{name}.py").read_bytes() for name in MODULES))[:12]
    except OSError:
        return __version__
