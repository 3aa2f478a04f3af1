"""The index of a home, opened when first needed and kept equal to the files."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from openclaw.errors import OpenclawError
from openclaw.retrieval import ranking
from openclaw.retrieval.database import ENGINE, KnownFile, Stamp
from openclaw.retrieval.embedder_choice import Embedder, EmbedderChoice
from openclaw.retrieval.index_store import IndexStore
from openclaw.retrieval.indexer import Indexer, IndexReport, Progress
from openclaw.retrieval.question import without_instructions
from openclaw.retrieval.ranking import RowScores
from openclaw.retrieval.scan import IndexOptions
from openclaw.retrieval.shared_store import KEPT_DAYS, LazyStore
from openclaw.retrieval.snapshot import Rows, Snapshot, SnapshotView, question_vector
from openclaw.retrieval.vector_upkeep import VectorFiller, is_behind, keep_only, missing
from openclaw.storage.home import Home
from openclaw.storage.lock import hold_lock, owner

if TYPE_CHECKING:
    from openclaw.retrieval.shared_vectors import SharedVectors

TRIED = 16  # so many passages tell how fast an embedder is
AHEAD_SECONDS = 1.0  # a refresh ahead of the first question counts for so long
BACKGROUND = "vectors.lock"
"""Names the lock of the process that makes missing vectors in the background."""


class LiveIndex:
    """The index of a home with its files, words and vectors. Several threads may use it.

    embedder    called when a search first needs vectors; None or an `EmbedderChoice` without an
                embedder means search by words only
    private     the home's folder for derived files
    notices     lines for the user, each added once; whoever shows them may empty the list
    on_reading  called with the files read and all files
    meaning     the embedder and the vectors it has still to make
    shared      the vector store that the settings name, if any
    """

    def __init__(
        self,
        home: Home,
        options: IndexOptions,
        embedder: Callable[[], Embedder | EmbedderChoice | None],
        private: Path,
        *,
        shared: LazyStore[SharedVectors] | None = None,
    ) -> None:
        self.notices: list[str] = []
        self.missing = 0  # passages that had no vector at the last look
        self.options = options
        self.on_reading: Progress | None = None
        self.meaning = LazyEmbedder(embedder, self.tell)
        self.shared = shared or LazyStore()
        self.shared.tell = lambda error: self.tell(ENGINE, f"{ENGINE}: {to_line(error)}")
        self._home, self._folder = home, private / "index"
        self._said_keys: set[str] = set()
        self._lock = threading.RLock()
        self._opened: Indexer | None = None
        self._refreshed_ahead = float("-inf")

    def refresh_ahead(self) -> None:
        """Refresh before the first question, which follows in a moment and then needs not do so.
        Meanwhile a thread chooses the embedder, and loads it unless no passage has a vector yet."""
        threading.Thread(target=self.meaning.load, args=(self._open().store,), daemon=True).start()
        began = time.monotonic()
        self.refresh(leave_many=True)
        self._refreshed_ahead = began

    def refresh(self, *, force: bool = False, leave_many: bool = False) -> IndexReport:
        """Read what changed since the last time; `force` reads all files anew. With `leave_many`
        many new files are left to another process that is reading them."""
        report = self._open().refresh(
            force=force, on_progress=self.on_reading, leave_many=leave_many
        )
        if report.left:
            self.tell(LEFT, f"memory is still being read: {report.left:,} files are not known yet")
        return report

    def embed(self, *, seconds: float | None = None, on_progress: Progress | None = None) -> int:
        """Embed passages without a vector, for at most `seconds` (None: all of them), and bring
        the vector store up to date. A failure becomes a notice; vectors made before it are kept.

        Returns how many passages still have none; 0 also when none could be embedded.
        """
        try:
            made = self._fill(seconds, on_progress)[1]
        except sqlite3.Error as error:
            self.recover(error)
            return 0
        return self.missing if made else 0

    def embed_alone(self, on_progress: Progress | None = None) -> None:
        """Embed all that is missing, in place of a process that does so in the background: kills
        it, which costs a batch. Holds no lock: else another `memory index` would be killed so."""
        lock = self._folder / BACKGROUND
        try:
            with hold_lock(lock, timeout=0):
                pass
        except OpenclawError:
            if (other := owner(lock)) and other.host == socket.gethostname():
                with suppress(OSError):
                    os.kill(other.pid, signal.SIGTERM)
        self.embed(on_progress=on_progress)

    def embed_in_background(self) -> None:
        """Embed all that is missing, unless another process does."""
        with suppress(OpenclawError), hold_lock(self._folder / BACKGROUND, timeout=0):
            self.embed()

    def current(self, seconds: float) -> Snapshot:
        """Read changed files, embed passages for at most `seconds`, and return a snapshot.
        Raises sqlite3.Error, which the caller hands to `recover`."""
        ahead, self._refreshed_ahead = self._refreshed_ahead, float("-inf")
        if time.monotonic() - ahead > AHEAD_SECONDS:
            self.refresh(leave_many=True)
        return self._fill(seconds)[0]

    def _fill(
        self, seconds: float | None, on_progress: Progress | None = None
    ) -> tuple[Snapshot, bool]:
        """Embed passages for at most `seconds`, and say how many have no vector then. Returns the
        index then, and True when some got a vector."""
        upkeep = self._open()
        store = upkeep.store
        snapshot = store.snapshot()
        before, wanted = self.meaning.counts(snapshot)
        self.missing, made = wanted - before, False
        if embedder := self.meaning.embedder():
            self._note_change(store, embedder.name)
        if self.missing or (embedder and is_behind(store, embedder.name, self.shared)):
            began = time.monotonic()
            self.meaning.fill(upkeep, self.shared, seconds, on_progress)
            snapshot = store.snapshot()
            have, wanted = self.meaning.counts(snapshot)
            self.missing, made = wanted - have, have > before
            if self.missing and seconds is not None:
                self.meaning.tell_missing(before, have, wanted, time.monotonic() - began)
        return snapshot, made

    def tell_cost(self) -> None:
        """Say how many passages the embedder has still to embed, and how long that takes by the
        time that `TRIED` of them take."""
        upkeep, embedder = self._open(), self.meaning.embedder()
        snapshot = upkeep.store.snapshot()
        have, wanted = self.meaning.counts(snapshot)
        if embedder is None or have == wanted:
            return
        paths = [path for path, _ in missing(snapshot, embedder.name)[:TRIED]]
        texts = [parts[0] for path in paths for parts in upkeep.contexts(path)][:TRIED]
        try:
            embedder.documents(texts[:1])  # loads the model
            began = time.monotonic()
            embedder.documents(texts)
        except Exception as error:  # noqa: BLE001 - whatever an embedder raises
            self.meaning.failed(error)
            return
        self.meaning.tell_missing(have - len(texts), have, wanted, time.monotonic() - began)
        self._tell_change(upkeep.store, embedder.name, wanted - have)

    def files(self) -> dict[str, KnownFile]:
        """All files of the index by path, including those that could not be read."""
        return self._open().store.files()

    def known(self, path: str) -> KnownFile | None:
        return self._open().store.known(path)

    def held(self) -> tuple[int, int, int]:
        """(files, passages, passages with a vector) in the index as it is, without a refresh."""
        snapshot = self._open().store.snapshot()
        return len(self.files()), snapshot.count, self.meaning.counts(snapshot)[0]

    def real(self, path: str) -> Path:
        """The absolute path of a file of the index."""
        return self._home.root / path

    def is_fresh(self, path: str) -> bool:
        """Return True when the file has not changed since it was read."""
        known = self.known(path)
        try:
            # Its size, times and inode.
            return known is not None and known[2:6] == Stamp.of(self.real(path).stat())
        except OSError:
            return False

    def nearest(
        self, view: SnapshotView, embedder: Embedder, vector: list[float], others: Rows
    ) -> RowScores | None:
        """`ranking.nearest`, in the vector store where the index keeps no vectors; None when it
        cannot be asked."""
        if self.shared.keeps:
            return ranking.nearest(view, embedder, vector, others)
        ask = self.shared.ask
        given = (view, embedder, vector, others)
        found = ask(embedder, lambda shared: ranking.nearest_shared(shared, *given))
        scores, lost = found or (None, False)
        if lost:
            with suppress(sqlite3.Error), self._open().store.write() as writer:
                writer.execute("DELETE FROM shared")  # the next search looks for all
        return scores

    def sweep(self) -> bool:
        """Remove the vectors from the vector store that no clone has named for `KEPT_DAYS`. Returns
        False when it cannot be asked."""
        last = self.shared.today() - KEPT_DAYS
        embedder = self.meaning.embedder()
        return bool(embedder and self.shared.ask(embedder, lambda shared: shared.sweep(last)))

    def recover(self, error: sqlite3.Error) -> None:
        """Make the index usable again after SQLite failed."""
        self._open().store.recover(error)

    def tell(self, key: str, line: str) -> None:
        """Add a notice for the user, unless one of the same `key` was added before."""
        with self._lock:
            if key not in self._said_keys:
                self._said_keys.add(key)
                self.notices.append(line)

    def hide_standing_notices(self) -> None:
        """Add no more notices about a missing embedder, which stay true until the user changes
        something."""
        with self._lock:
            self._said_keys.add(NONE)

    def close(self) -> None:
        with self._lock:
            self.meaning.close()
            self.shared.close()
            if self._opened:
                self._opened.store.close()
            self._opened = None

    def _note_change(self, store: IndexStore, name: str) -> None:
        """Keep the vectors of the last embedder beside those of the one in use, so that the user
        can go back, and drop all others."""
        if name != (last := store.read_meta(LAST_NAME)):
            self._tell_change(store, name, self.missing)
            with store.write() as writer:
                writer.write_meta(LAST_NAME, name)
                keep_only(writer, name, last)

    def _tell_change(self, store: IndexStore, name: str, count: int) -> None:
        """Say that another model embeds so many passages again, and how to go back."""
        if count and (last := store.read_meta(LAST_NAME)):
            self.tell(
                f"model {name}",
                f"the embedding model is now {name}, before it was {last}: {count:,} passages are "
                "embedded again; the vectors of before are kept (back: openclaw config set "
                f"embedding {last.partition('@')[0]})",
            )

    def _open(self) -> Indexer:
        with self._lock:
            if self._opened is None:
                store = IndexStore(self._folder / "index.sqlite", notices=self.notices)
                self._opened = Indexer(self._home, store, self.options)
            return self._opened


# The embedder is not asked again for this long after a failure.
REST_SECONDS = 30.0
LAST_NAME = "embedder"
LEFT = "files left"
NONE, MISSING = "no embedder", "no vectors yet"

Tell = Callable[[str, str], None]


def to_line(error: Exception) -> str:
    hint = f" ({error.hint})" if isinstance(error, OpenclawError) and error.hint else ""
    return " ".join((str(error) or type(error).__name__).split())[:300] + hint


class LazyEmbedder:
    """The embedder of an index: chosen at first use, and not asked for a while after a failure.

    choose  returns the embedder; None or an `EmbedderChoice` without one means search by words only
    tell    takes a key and a line for the user; only the first line of each key is shown
    """

    def __init__(self, choose: Callable[[], Embedder | EmbedderChoice | None], tell: Tell) -> None:
        self._choose, self._tell = choose, tell
        self._lock = threading.RLock()
        self._filling = threading.Lock()
        self._choice: EmbedderChoice | None = None
        self._rest_until = 0.0

    def embedder(self) -> Embedder | None:
        """The embedder; None when there is none, or when it failed a moment ago."""
        with self._lock:
            if time.monotonic() < self._rest_until:
                return None
            if self._choice is None:
                choice = self._make_choice()
                if choice.why_not:
                    self._rest_until = time.monotonic() + REST_SECONDS
                    return None
                self._choice = choice
            return self._choice.embedder

    def load(self, store: IndexStore) -> None:
        """Choose the embedder, which may ask a server; load it if the index has vectors. The first
        text tells what failed."""
        with suppress(Exception):
            if (embedder := self.embedder()) and store.query("SELECT 1 FROM embedders LIMIT 1"):
                embedder.load()

    def question(self, text: str, snapshot: Snapshot) -> tuple[Embedder, list[float]] | None:
        """The embedder and the question's vector; None when the question or all passages lack a
        vector."""
        embedder = self.embedder() if text.strip() else None
        if embedder is None or not snapshot.vectors(embedder.name).known.any():
            return None
        try:
            return embedder, question_vector(embedder, without_instructions(text)).tolist()
        except Exception as error:  # noqa: BLE001 - whatever an embedder raises: the words answer
            self.failed(error)
            return None

    def fill(
        self,
        upkeep: Indexer,
        shared: LazyStore[SharedVectors],
        seconds: float | None,
        on_progress: Progress | None,
    ) -> None:
        """Embed passages without a vector, for at most `seconds` (None: all of them).

        When another thread is embedding already, only a call without a time limit waits for it.
        """
        embedder = self.embedder()
        if embedder is None or not self._filling.acquire(blocking=seconds is None):
            return
        try:
            VectorFiller(upkeep.store, embedder, upkeep.contexts, shared).run(seconds, on_progress)
        except sqlite3.Error:
            raise
        except Exception as error:  # noqa: BLE001 - whatever an embedder raises: the words answer
            self.failed(error)
        finally:
            self._filling.release()

    def counts(self, snapshot: Snapshot) -> tuple[int, int]:
        """(passages with a vector, passages that need one); (0, 0) without an embedder."""
        embedder = self.embedder()
        if embedder is None:
            return 0, 0
        wanted = snapshot.contexts != 0
        return int((wanted & snapshot.vectors(embedder.name).known).sum()), int(wanted.sum())

    def tell_missing(self, before: int, have: int, wanted: int, seconds: float) -> None:
        """Say how many passages have no vector yet, and how long that will take by what was done in
        the last `seconds`, `before` which so many had one."""
        minutes = seconds / 60 * (wanted - have) / max(have - before, 1)
        took = f" in about {minutes:,.0f} min" if have > before and minutes >= 1 else ""
        self._tell(
            MISSING,
            f"{have:,} of {wanted:,} passages have vectors, the others are found by their words "
            f"only; all get one{took} in the background (now: openclaw memory index)",
        )

    def failed(self, error: Exception) -> None:
        """Do not ask the embedder for `REST_SECONDS`, and tell the user why."""
        with self._lock:
            self._rest_until = time.monotonic() + REST_SECONDS
        self._tell("embedder", f"search goes by words only: {to_line(error)}")

    def close(self) -> None:
        with self._lock:
            if self._choice and self._choice.embedder:
                self._choice.embedder.close()

    def _make_choice(self) -> EmbedderChoice:
        try:
            chosen = self._choose()
        except OpenclawError as error:
            chosen = EmbedderChoice(None, f"search goes by words only: {error}", error.hint)
        choice = chosen if isinstance(chosen, EmbedderChoice) else EmbedderChoice(chosen)
        if choice.why_not:
            advice = f" ({choice.advice})" if choice.advice else ""
            self._tell(NONE, f"{choice.why_not}{advice}")
        return choice
