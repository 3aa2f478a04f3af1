"""The index of a home, opened when first needed and kept equal to the files."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from openclaw.files.home import Home
from openclaw.retrieval.embeddings import Choice, Embedder
from openclaw.retrieval.engines import ENGINE, Attached
from openclaw.retrieval.meaning import Meaning, Progress, told
from openclaw.retrieval.records import Known, Stamp
from openclaw.retrieval.scan import IndexOptions
from openclaw.retrieval.store import Store
from openclaw.retrieval.upkeep import IndexReport, Upkeep

if TYPE_CHECKING:
    from openclaw.retrieval.engines import Engine
    from openclaw.retrieval.snapshot import Snapshot


class LiveIndex:
    """Files, words, vectors and, where one is set, the engine. May be used by several threads.

    `notices` are lines for the user, each told once. `on_reading` is told how many files of how
    many are read, where a refresh has no other listener.
    """

    def __init__(
        self,
        home: Home,
        options: IndexOptions,
        embedder: Callable[[], Embedder | Choice | None],
        folder: Path,
        make_engine: Callable[[], Engine] | None,
    ) -> None:
        self.notices: list[str] = []
        self.options = options
        self.on_reading: Progress | None = None
        self.meaning = Meaning(embedder, self.tell)
        self.engine = Attached(make_engine)
        self._home, self._folder = home, folder
        self._told: set[str] = set()
        self._lock = threading.RLock()
        self._opened: tuple[Store, Upkeep] | None = None

    def refresh(self, *, force: bool = False, on_progress: Progress | None = None) -> IndexReport:
        """Read what changed since the last time; `force` reads all files anew."""
        store, upkeep = self._open()
        report = upkeep.refresh(force=force, on_progress=on_progress or self.on_reading)
        self._pass_on(store)
        return report

    def embed(
        self,
        seconds: float | None,
        on_progress: Progress | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> int:
        """See `Search.embed`. The engine, where there is one, is brought up to date as well when
        there is no hurry."""
        store, upkeep = self._open()
        try:
            before, wanted = self.meaning.counts(store.snapshot())
            if before < wanted:
                self.meaning.fill(store, upkeep, seconds, on_progress, stop)
            have, wanted = self.meaning.counts(store.snapshot())
            if seconds is None:
                self._fill_engine(store.snapshot())
        except sqlite3.Error as error:
            self.recover(error)
            return 0
        finally:
            self._pass_on(store)
        return wanted - have if have > before else 0

    def current(self, seconds: float | None, on_progress: Progress | None = None) -> Snapshot:
        """The index as the files are now, passages without a vector given one as `embed` does.
        Raises sqlite3.Error, to be handed to `recover`."""
        self.refresh()
        store, upkeep = self._open()
        snapshot = store.snapshot()
        have, wanted = self.meaning.counts(snapshot)
        if have < wanted:
            self.meaning.fill(store, upkeep, seconds, on_progress)
            self._pass_on(store)
            snapshot = store.snapshot()
            self.meaning.tell_missing(snapshot)
        return snapshot

    def files(self) -> dict[str, Known]:
        """What the index knows of files, by path; those that could not be read are among them."""
        return self._open()[0].files()

    def held(self) -> tuple[int, int, int]:
        """How many files and passages there are, and how many of those have a vector."""
        snapshot = self._open()[0].snapshot()
        return len(self.files()), snapshot.count, self.meaning.counts(snapshot)[0]

    def real(self, path: str) -> Path:
        """Where a file of the index lies."""
        return self._home.root / path

    def is_fresh(self, path: str) -> bool:
        """Whether the file is still the one that was read."""
        known = self.files().get(path)
        try:
            return known is not None and known.stamp == Stamp.of(self.real(path).stat())
        except OSError:
            return False

    def engine_failed(self, error: Exception) -> None:
        """Go on without the engine for a while, and say why."""
        self.engine.failed()
        self.tell(ENGINE, f"the {ENGINE} failed and is not used for now: {told(error)}")

    def recover(self, error: sqlite3.Error) -> None:
        """Make the index usable again after an error of its file."""
        store, _ = self._open()
        store.recover(error)
        self._pass_on(store)

    def tell(self, key: str, line: str) -> None:
        """Say a line, the first one of each `key` only."""
        with self._lock:
            if key not in self._told:
                self._told.add(key)
                self.notices.append(line)

    def hush(self, key: str) -> None:
        """Say nothing of this key."""
        with self._lock:
            self._told.add(key)

    def close(self) -> None:
        with self._lock:
            self.meaning.close()
            self.engine.close()
            if self._opened:
                self._opened[0].close()
            self._opened = None

    def _fill_engine(self, snapshot: Snapshot) -> None:
        embedder = self.meaning.embedder()
        if not self.engine.is_ready or embedder is None or not snapshot.count:
            return
        from openclaw.retrieval.view import View

        try:
            self.engine.vectors(View(snapshot), embedder, patient=True)
        except sqlite3.Error:
            raise
        except Exception as error:  # noqa: BLE001 - whatever an engine raises: it is only a copy
            self.engine_failed(error)

    def _open(self) -> tuple[Store, Upkeep]:
        with self._lock:
            if self._opened is None:
                store = Store(self._folder / "index.sqlite")
                self._opened = store, Upkeep(self._home, store, self.options)
            return self._opened

    def _pass_on(self, store: Store) -> None:
        with self._lock:
            while store.notices:
                self.notices.append(store.notices.pop(0))
